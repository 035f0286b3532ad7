"""Web application of `magic view`: request checks, page computation in threads, routes and frame.

`pipeline.server.serve` runs it. It renders the pages of `pipeline.pages` with Starlette.
"""

import asyncio
import hmac
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from threading import Thread
from typing import Literal, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from markupsafe import Markup
from msgspec import Struct
from starlette.applications import Starlette
from starlette.datastructures import Headers, QueryParams
from starlette.middleware import Middleware
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline import pages
from pipeline.api import Lake
from pipeline.errors import LakeError, MissingExtraError, PipelineError, UsageError
from pipeline.lake import reopen_lake
from pipeline.metrics.registry import register_lake_metrics_temporarily
from pipeline.pages.content import describe_filters
from pipeline.pages.templating import (
    TEMPLATES,
    link_function_with_current_options,
    template_environment,
)
from pipeline.registry import MENU
from pipeline.version import __version__

# Checks of requests, and the security headers of responses.

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
MAX_ADDRESS_LENGTH = 16_000
NO_TOKEN = "Open the address that the server printed: it has the token."
WRONG_TOKEN = f"The token is wrong: each start of the server has another. {NO_TOKEN}"
_SAME_SITE_VALUES = ("same-origin", "none")


class Refusal(NamedTuple):
    """HTTP status and reason for rejecting a request.

    Attributes:
        status: HTTP status code of the response.
        reason: Sentence for the user.
    """

    status: int
    reason: str


class Token(NamedTuple):
    """Access token that a browser must send if the server listens beyond this machine.

    Attributes:
        text: The secret text.
        port: Port of the server; it is part of the cookie's name, so that several servers of one
            host use separate cookies.
    """

    text: str
    port: int

    @property
    def cookie_name(self) -> str:
        """Name of the cookie with the token; it contains the port."""
        return f"magic-token-{self.port}"

    def is_in_request(self, headers: Headers) -> bool:
        """Return whether the cookie or the Authorization header contains the token."""
        cookie = cookie_parser(headers.get("cookie", "")).get(self.cookie_name, "")
        return equals_in_constant_time(cookie, self.text) or self.is_in_authorization_header(
            headers
        )

    def is_in_authorization_header(self, headers: Headers) -> bool:
        """Return whether the Authorization header contains the token; no link can set it."""
        return equals_in_constant_time(headers.get("authorization", ""), f"Bearer {self.text}")


class Guard:
    """ASGI middleware that rejects requests from other sites and requests without the token."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], token: Token | None) -> None:
        """Wrap the application.

        Args:
            app: The application that handles accepted requests.
            hosts: Accepted values of the Host header; with a token, every host is accepted.
            token: The access token; None if the server is reachable only from this machine.
        """
        self._app = app
        self._hosts = hosts
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an accepted request to the application; otherwise send a refusal or a redirect."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        sent_token = QueryParams(scope["query_string"]).get("token") if self._token else None
        if refusal := self._refusal(scope, Headers(scope=scope), sent_token):
            await _refusal_response(scope, refusal)(scope, receive, send)
        elif self._token and sent_token is not None:
            # Redirects to the address without the token, which the browser stores as a cookie.
            response = RedirectResponse(_address_after_login(scope), 303)
            response.set_cookie(
                self._token.cookie_name, self._token.text, httponly=True, samesite="lax"
            )
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers, sent_token: str | None) -> Refusal | None:
        """Return why a request is rejected; None if it is accepted."""
        if scope["method"] not in ("GET", "HEAD"):
            return Refusal(405, "This server only shows pages: use GET.")
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_ADDRESS_LENGTH:
            return Refusal(414, f"The address is longer than {MAX_ADDRESS_LENGTH:,} characters.")
        if self._token is None and headers.get("host", "").lower() not in self._hosts:
            return Refusal(421, "This server has another name: use the address that it printed.")
        if not _is_from_allowed_source(headers):
            return Refusal(403, "The request comes from a page of another site.")
        if self._token is None:
            return None
        # The token is in the address, in the cookie or in a header.
        if sent_token is None:
            return None if self._token.is_in_request(headers) else Refusal(401, NO_TOKEN)
        is_right = equals_in_constant_time(sent_token, self._token.text)
        return None if is_right else Refusal(401, WRONG_TOKEN)


def is_from_another_site(headers: Headers) -> bool:
    """Return whether the browser says in a header that another site caused the request."""
    return headers.get("sec-fetch-site", "none") not in _SAME_SITE_VALUES


def may_be_from_another_site(headers: Headers, token: Token | None) -> bool:
    """Return whether another site may have caused the request; True if the headers do not tell.

    Over plain HTTP to another machine, browsers send only the Referer header, and possibly not even
    that. Then only requests with a Referer of this server, or with a token in the Authorization
    header, are trusted.
    """
    if token is None or "sec-fetch-site" in headers:
        return is_from_another_site(headers)
    return not (
        token.is_in_authorization_header(headers)
        or _is_address_of_server(headers.get("referer", ""), headers)
    )


def equals_in_constant_time(text: str, token: str) -> bool:
    """Compare a text with the token in a time that reveals nothing about the token."""
    return hmac.compare_digest(text.encode(), token.encode())


def _is_address_of_server(address: str, headers: Headers) -> bool:
    """Return whether the host of the address is the Host header of the request."""
    host = headers.get("host", "").lower()
    try:
        return bool(host) and urlsplit(address).netloc.lower() == host
    except ValueError:
        return False


def _is_from_allowed_source(headers: Headers) -> bool:
    """Return whether the user, a page of this server, or a link on any page caused the request."""
    origin = headers.get("origin")
    if origin is not None and not _is_address_of_server(origin, headers):
        return False
    is_link = (
        headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    )
    return not is_from_another_site(headers) or is_link


def local_address_or_root(address: str) -> str:
    r"""Return the address if it is a path of this server, or `/` if it can lead to another host.

    Browsers treat `//host` and `/\host` as another host, and ignore some characters before them.
    """
    is_path = address.startswith("/") and not address.startswith("//")
    is_printable_ascii = all("!" <= character <= "~" for character in address)
    return address if is_path and is_printable_ascii and "\\" not in address else "/"


def plain_error_response(form: str, status: int, title: str, reason: str) -> Response:
    """Return an error response as JSON or plain text, which nobody caches.

    Args:
        form: "json" for JSON; any other form gives plain text.
        status: HTTP status code.
        title: Title of the error; only JSON contains it.
        reason: Sentence for the user.
    """
    headers = {"cache-control": "no-store"} | ({"allow": "GET, HEAD"} if status == 405 else {})
    if form == "json":
        body = json.dumps({"error": reason, "title": title, "status": status}) + "\n"
        return Response(body, status, headers, "application/json; charset=utf-8")
    return PlainTextResponse(f"{reason}\n", status, headers)


def _refusal_response(scope: Scope, refusal: Refusal) -> Response:
    """Return a login form if a browser sent no valid token; otherwise return an error response."""
    accept_header = Headers(scope=scope).get("accept", "")
    if refusal.status == 401 and "text/html" in accept_header:
        template = template_environment().get_template("token.html")
        body = template.render(reason=refusal.reason, next=_address_after_login(scope))
        return HTMLResponse(body, refusal.status, {"cache-control": "no-store"})
    form = "json" if scope["path"].endswith(".json") else "text"
    return plain_error_response(form, refusal.status, "Refused", refusal.reason)


def _address_after_login(scope: Scope) -> str:
    """Return the parameter `next`, or the address of the request without the token."""
    query = QueryParams(scope["query_string"])
    if "next" in query:
        return local_address_or_root(query["next"])
    parameters = [(name, value) for name, value in query.multi_items() if name != "token"]
    path = "/" + quote(scope["path"].lstrip("/\\"))  # Browsers take `//host` for another host.
    return path + (f"?{urlencode(parameters)}" if parameters else "")


# Pages are rendered in threads of the server process, and the latest ones are cached.
#
# `Site` gets each page from `PageCache`. The query of the SQL page runs in a separate process
# (`pipeline.query_processes`), with limits of time and memory.

Form = Literal["html", "json", "csv", "svg", "png"]
THREAD_POOL_SIZES: Mapping[str, int] = {"quick": 4, "long": 2, "search": 2, "free": 2}
"""The number of pages that each thread pool renders at once. There are several, so that slow pages
do not delay other pages."""
UNCACHED_POOLS = ("search", "free")
"""The thread pools of searches and queries, whose pages are not cached."""
MAX_CACHED_CHARACTERS = 64 * 2**20
"""The largest size of all cached pages together."""


class PageRequest(Struct, frozen=True):
    """A page to render.

    Attributes:
        page: Name of the page.
        form: Format of the response.
        query: Parameters of the page by name.
    """

    page: str
    form: Form
    query: Mapping[str, str]


class Reply(Struct, frozen=True):
    """A rendered page, or the error that prevented it.

    Attributes:
        status: HTTP status code.
        title: Title of the page.
        text: HTML fragment, JSON or CSV of the page; the error message if `is_fault`.
        is_fault: Whether the page could not be rendered.
        data: Content of an image; empty for other forms.
        filters: Texts for the edition, system and filters, for the title of the HTML page.
    """

    status: int
    title: str
    text: str
    is_fault: bool = False
    data: bytes = b""
    filters: tuple[str, ...] = ()


def error_reply(status: int, text: str, title: str = "Not shown") -> Reply:
    """Return a reply with an error message in place of a page."""
    return Reply(status, title, text, is_fault=True)


@dataclass(eq=False)
class _CachedPage:
    """A page that is queued, being rendered, or finished.

    Attributes:
        task: The task that renders the page.
        n_readers: Number of requests that wait for the page.
        is_started: Whether a thread renders or has rendered the page.
    """

    task: "asyncio.Task[Reply]"
    n_readers: int = 0
    is_started: bool = False

    @property
    def size(self) -> int:
        """Number of characters of the page, and of bytes of its image; only if it is finished."""
        reply = self.task.result()
        return len(reply.text) + len(reply.data)


class PageCache:
    """Cache of rendered pages, in which simultaneous requests share one computation."""

    def __init__(self) -> None:
        self._semaphores = {
            thread_pool: asyncio.Semaphore(size) for thread_pool, size in THREAD_POOL_SIZES.items()
        }
        self._pages: OrderedDict[tuple[object, ...], _CachedPage] = OrderedDict()

    async def get_or_render(
        self,
        lake: Lake,
        task: PageRequest,
        thread_pool: str,
        disconnect_tasks: Collection["asyncio.Task[None]"] = (),
    ) -> Reply | None:
        """Return a page from the cache, or render it; return None if the client disconnects first.

        If no client waits any longer, a page that is still queued is cancelled. A page that a
        thread already renders is completed, because polars cannot be interrupted.

        Args:
            lake: The lake to display.
            task: The page to render.
            thread_pool: Name of the thread pool, a key of `THREAD_POOL_SIZES`.
            disconnect_tasks: Tasks that finish when the client disconnects.

        Returns:
            The page or its error; None if a task of `disconnect_tasks` finished first.
        """
        key = (lake.state, task.page, task.form, *sorted(task.query.items()))
        if key not in self._pages:
            self._pages[key] = page = _CachedPage(
                asyncio.create_task(self._render_in_thread(key, lake, task, thread_pool))
            )
            page.task.add_done_callback(
                lambda render_task: self._keep_or_drop_page(key, render_task, thread_pool)
            )
        page = self._pages[key]
        self._pages.move_to_end(key)
        page.n_readers += 1
        try:
            await asyncio.wait([page.task, *disconnect_tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            page.n_readers -= 1
            if not page.n_readers and not page.is_started and not page.task.done():
                page.task.cancel()
                del self._pages[key]
        return page.task.result() if page.task.done() else None

    async def _render_in_thread(
        self, key: tuple[object, ...], lake: Lake, task: PageRequest, thread_pool: str
    ) -> Reply:
        """Render the page in a new thread, as soon as the thread pool has a free place."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()

        def render() -> None:
            reply = render_or_report_error(lake, task)
            with suppress(RuntimeError):  # The server has stopped.
                loop.call_soon_threadsafe(future.set_result, reply)

        async with self._semaphores[thread_pool]:
            self._pages[key].is_started = True
            # A daemon thread does not prevent the server from stopping.
            Thread(target=render, daemon=True).start()
            return await future

    def _keep_or_drop_page(
        self, key: tuple[object, ...], render_task: "asyncio.Task[Reply]", thread_pool: str
    ) -> None:
        """Keep a rendered page that has no error; drop the oldest pages if the cache is too large.

        Results of searches and queries, and very large pages, are not kept either.
        """
        if render_task.cancelled():
            return
        page = self._pages[key]
        if (
            thread_pool in UNCACHED_POOLS
            or render_task.result().status != 200
            or page.size > MAX_CACHED_CHARACTERS // 8
        ):
            del self._pages[key]
        sizes = {key: page.size for key, page in self._pages.items() if page.task.done()}
        while sum(sizes.values()) > MAX_CACHED_CHARACTERS:
            oldest = next(iter(sizes))
            del sizes[oldest], self._pages[oldest]


def render_or_report_error(lake: Lake, task: PageRequest) -> Reply:
    """Render a page; for any exception, return a reply with the error message."""
    try:
        with register_lake_metrics_temporarily(lake):
            return render_reply(lake, task)
    except MissingExtraError as error:
        return error_reply(501, str(error), "Not installed")
    except PipelineError as error:
        return error_reply(400 if isinstance(error, UsageError) else 500, str(error))
    except MemoryError:
        return error_reply(500, "memory ran out: ask for less")
    except Exception as error:
        return error_reply(500, f"{type(error).__name__}: {error}")


def render_reply(lake: Lake, task: PageRequest) -> Reply:
    """Render a page as HTML, JSON, CSV or an image, as the task requests.

    Raises:
        PipelineError: If the page cannot be rendered, for example because of a wrong parameter.
    """
    parameters = pages.parse_page_parameters(task.page, task.query)
    if task.form == "csv":
        return Reply(
            200, task.page, pages.as_csv(pages.all_rows_in_parts(task.page, lake, parameters))
        )
    content = pages.compute_page_content(task.page, lake, parameters)
    status = 400 if content.faults else 200
    if task.form == "json":
        return Reply(status, content.title, pages.as_json(content, parameters, lake.ingest_id))
    if task.form in ("svg", "png"):
        image = pages.export_page_plot(task.page, content, parameters, task.form)
        return Reply(status, content.title, "", data=image)
    text = pages.render_page_fragment(
        task.page,
        content,
        parameters,
        pages.page_link,
        picture_at=lambda form: pages.page_address(f"{task.page}.{form}", task.query),
    )
    return Reply(status, content.title, str(text), filters=describe_filters(content, parameters))


_CONTENT_TYPES: Mapping[Form, str] = {
    "html": "text/html; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_DOWNLOADED_FORMATS = ("csv", "svg", "png")
"""Formats that a browser saves as a file."""

LINKED_FORMATS = {"json": "JSON", "csv": "CSV"}


def render_document(name: str, lake: Lake, reply: Reply, task: PageRequest | None = None) -> str:
    """Return the HTML document of a page: the rendered fragment with the menu and the footer.

    Args:
        name: Name of the lake.
        lake: The displayed lake.
        reply: The rendered fragment.
        task: The page, whose edition and system the menu's links keep; None for error pages.
    """
    page, query = (task.page, task.query) if task else ("", {})
    started_at = (lake.last_ingest or {}).get("started_at")
    time = f" of {started_at:%Y-%m-%d %H:%M} UTC" if isinstance(started_at, datetime) else ""
    context = {
        "lake": name,
        "name": page,
        "title": ", ".join((reply.title, *reply.filters)),
        "body": Markup(reply.text),  # The templates have escaped the texts in it.
        "state": f"{name} after ingest {lake.ingest_id}{time}",
        "forms": {
            LINKED_FORMATS[form]: pages.page_address(f"{page}.{form}", query)
            for form in LINKED_FORMATS
        },
        "menu": MENU,
        "link": link_function_with_current_options(pages.page_link, query),
        "version": __version__,
    }
    return template_environment().get_template("frame.html").render(context)


async def _wait_for_disconnect(request: Request) -> None:
    """Wait until the client closes the connection of the request."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Site:
    """Routes of the web server for one lake."""

    def __init__(self, lake: Lake, name: str, token: Token | None) -> None:
        self._lake = lake
        self._name = name
        self._token = token
        self._page_cache = PageCache()

    def create_app(self, hosts: Collection[str]) -> Starlette:
        """Create the Starlette application.

        Args:
            hosts: Accepted values of the Host header.
        """
        guard = Middleware(Guard, hosts=hosts, token=self._token)
        return Starlette(
            routes=[
                Route("/", self.redirect_to_leaderboard),
                Mount("/static", StaticFiles(directory=TEMPLATES.parent / "static")),
                Route("/{page}.{form}", self.respond_with_page),
                Route("/{page}", self.respond_with_page),
            ],
            middleware=[guard],
            lifespan=self._render_leaderboard_at_start,
            exception_handlers={404: self._missing_page_response, 500: self._server_error_response},
        )

    async def redirect_to_leaderboard(self, request: Request) -> Response:
        """Redirect `/` to `/leaderboard`, with the parameters of the address."""
        query = request.url.query
        return RedirectResponse("/leaderboard" + (f"?{query}" if query else ""), 303)

    async def respond_with_page(self, request: Request) -> Response:
        """Render a page, and return the response to the request for it."""
        name, form = request.path_params["page"], request.path_params.get("form", "html")
        if name not in pages.NAMES or form not in _CONTENT_TYPES:
            return await self._missing_page_response(request, None)
        thread_pool = pages.page_definition(name).thread_pool
        query = dict(request.query_params)
        parameter_names = [parameter for parameter, _ in request.query_params.multi_items()]
        if repeated_parameters := [
            parameter for parameter in query if parameter_names.count(parameter) > 1
        ]:
            text = (
                f"the address has {', '.join(repeated_parameters)} more than once: "
                "a page takes one value of each"
            )
            return self._error_response(form, error_reply(400, text))
        task = PageRequest(name, form, query)
        if (
            thread_pool in UNCACHED_POOLS
            and query
            and may_be_from_another_site(request.headers, self._token)
        ):
            return self._confirmation_response(task)
        disconnect_task = asyncio.create_task(_wait_for_disconnect(request))
        try:
            lake = await asyncio.to_thread(self._reopen_lake_if_changed)
            reply = await self._page_cache.get_or_render(lake, task, thread_pool, [disconnect_task])
        except PipelineError as error:
            return self._error_response(form, error_reply(500, str(error)))
        finally:
            disconnect_task.cancel()
        if reply is None:
            return Response(status_code=499)  # The client has disconnected.
        return self._page_response(lake, task, reply)

    def _reopen_lake_if_changed(self) -> Lake:
        """Return the lake in its newest state, opened again only if the state has changed."""
        try:
            is_newest = self._lake.is_newest()
        except LakeError:  # The error of `reopen_lake` says whether it is missing or damaged.
            is_newest = False
        if not is_newest:
            self._lake = reopen_lake(self._lake)
        return self._lake

    def _page_response(self, lake: Lake, task: PageRequest, reply: Reply) -> Response:
        """Return the HTTP response that contains the rendered page or its error message."""
        headers = {"cache-control": "no-cache"}
        if reply.is_fault:
            return self._error_response(task.form, reply)
        if task.form == "html":
            text = render_document(self._name, lake, reply, task)
            return Response(text, reply.status, headers, _CONTENT_TYPES["html"])
        if task.form in _DOWNLOADED_FORMATS:
            headers["content-disposition"] = f'attachment; filename="{task.page}.{task.form}"'
        return Response(reply.data or reply.text, reply.status, headers, _CONTENT_TYPES[task.form])

    def _error_response(
        self, form: str, reply: Reply, link_address: str = "", link_label: str = ""
    ) -> Response:
        """Return an error response in the requested format; an HTML page can contain a link."""
        if form != "html" and form in _CONTENT_TYPES:
            return plain_error_response(form, reply.status, reply.title, reply.text)
        template = template_environment().get_template("fault.html")
        body = template.render(
            title=reply.title,
            message=reply.text,
            link_address=link_address,
            link_label=link_label,
        )
        text = render_document(self._name, self._lake, Reply(reply.status, reply.title, body))
        return Response(text, reply.status, None, _CONTENT_TYPES["html"])

    def _confirmation_response(self, task: PageRequest) -> Response:
        """Return a page that asks whether to run a query to which another site may link."""
        text = "A page of another site led here"
        if task.form != "html":
            return self._error_response(
                task.form, error_reply(403, f"{text}: start from a page here.", "Not run")
            )
        question = error_reply(403, f"{text}. Look at the address before you run it.", "Run this?")
        return self._error_response(
            "html", question, pages.page_address(task.page, task.query), "Run it"
        )

    async def _missing_page_response(self, request: Request, error: Exception | None) -> Response:
        """Return the error response (404) for an address that has no page."""
        form = request.url.path.rpartition(".")[2]
        return self._error_response(
            form, error_reply(404, "There is no page at this address.", "No such page")
        )

    async def _server_error_response(self, request: Request, error: Exception) -> Response:
        """Return the error response (500) for an unexpected exception in the server."""
        form = request.url.path.rpartition(".")[2]
        return self._error_response(
            form, error_reply(500, f"a defect of the server: {type(error).__name__}")
        )

    @asynccontextmanager
    async def _render_leaderboard_at_start(self, app: Starlette) -> AsyncIterator[None]:
        """Render the leaderboard into the cache when the server starts."""
        task = PageRequest("leaderboard", "html", {})
        render_task = asyncio.create_task(
            self._page_cache.get_or_render(
                self._lake, task, pages.page_definition(task.page).thread_pool
            )
        )
        yield
        render_task.cancel()
