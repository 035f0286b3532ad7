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
from pipeline.metrics.registry import use_lake_metrics
from pipeline.pages.content import describe_slice
from pipeline.pages.templating import TEMPLATES, bind_links, template_environment
from pipeline.registry import MENU
from pipeline.version import __version__

# What a browser may send here, and what it may do with an answer.

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
LONGEST_ADDRESS = 16_000
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
    def cookie(self) -> str:
        """Name of the cookie that contains the token."""
        return f"magic-token-{self.port}"

    def is_in_request(self, headers: Headers) -> bool:
        """Return whether the cookie or the Authorization header contains the token."""
        sent = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        return matches(sent, self.text) or self.is_of_program(headers)

    def is_of_program(self, headers: Headers) -> bool:
        """Return whether the Authorization header, which no link can set, has the token."""
        return matches(headers.get("authorization", ""), f"Bearer {self.text}")


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

        sent = QueryParams(scope["query_string"]).get("token") if self._token else None
        if refusal := self._refusal(scope, Headers(scope=scope), sent):
            await _refusal_response(scope, refusal)(scope, receive, send)
        elif self._token and sent is not None:
            # To the same address without the token, which the browser keeps.
            answer = RedirectResponse(_address_after_login(scope), 303)
            answer.set_cookie(self._token.cookie, self._token.text, httponly=True, samesite="lax")
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers, sent: str | None) -> Refusal | None:
        """Return why the request is rejected; None if it is accepted."""
        if scope["method"] not in ("GET", "HEAD"):
            return Refusal(405, "This server only shows pages: use GET.")
        if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return Refusal(414, f"The address is longer than {LONGEST_ADDRESS:,} characters.")
        if self._token is None and headers.get("host", "").lower() not in self._hosts:
            return Refusal(421, "This server has another name: use the address that it printed.")
        if not _is_from_allowed_source(headers):
            return Refusal(403, "The request comes from a page of another site.")
        # The address has the token, or the cookie or a header has it.
        if self._token is not None and sent is None and not self._token.is_in_request(headers):
            return Refusal(401, NO_TOKEN)
        if self._token is not None and sent is not None and not matches(sent, self._token.text):
            return Refusal(401, WRONG_TOKEN)
        return None


def is_foreign(headers: Headers) -> bool:
    """Return whether the browser declares that another site caused the request."""
    return headers.get("sec-fetch-site", "none") not in _SAME_SITE_VALUES


def may_be_foreign(headers: Headers, token: Token | None) -> bool:
    """Return whether another site may have caused the request.

    Over plain HTTP to another machine, browsers send only the Referer header, and possibly not even
    that. Only a Referer of this server, or a token in the Authorization header, is trusted then.
    """
    if token is None or "sec-fetch-site" in headers:
        return is_foreign(headers)
    return not (
        token.is_of_program(headers) or _is_address_of_server(headers.get("referer", ""), headers)
    )


def matches(text: str, token: str) -> bool:
    """Return whether the text equals the token, in constant time against timing attacks."""
    return hmac.compare_digest(text.encode(), token.encode())


def _is_address_of_server(address: str, headers: Headers) -> bool:
    """Return whether the address that the browser sent belongs to this server."""
    host = headers.get("host", "").lower()
    try:
        return bool(host) and urlsplit(address).netloc.lower() == host
    except ValueError:
        return False


def _is_from_allowed_source(headers: Headers) -> bool:
    """Return whether the user, a page of this server or a plain link caused the request."""
    origin = headers.get("origin")
    if origin is not None and not _is_address_of_server(origin, headers):
        return False
    is_led = (
        headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    )
    return not is_foreign(headers) or is_led


def local(address: str) -> str:
    r"""Return the address if it is a path of this server, otherwise `/`.

    Browsers treat `//host` and `/\host` as another host, and ignore some characters before them.
    """
    is_path = address.startswith("/") and not address.startswith("//")
    is_plain = all("!" <= sign <= "~" and sign != "\\" for sign in address)
    return address if is_path and is_plain else "/"


def fault_answer(form: str, status: int, title: str, reason: str) -> Response:
    """Return an error response as JSON or plain text.

    Args:
        form: "json" for JSON; any other form gives plain text.
        status: HTTP status code.
        title: Title of the error; only JSON contains it.
        reason: Sentence for the user.

    Returns:
        A response that contains nothing of the lake and is not cached.
    """
    headers = {"cache-control": "no-store"} | ({"allow": "GET, HEAD"} if status == 405 else {})
    if form == "json":
        body = json.dumps({"error": reason, "title": title, "status": status}) + "\n"
        return Response(body, status, headers, "application/json; charset=utf-8")
    return PlainTextResponse(f"{reason}\n", status, headers)


def _refusal_response(scope: Scope, refusal: Refusal) -> Response:
    """Return the response to a rejected request: a form if a browser lacks the token."""
    accepted = Headers(scope=scope).get("accept", "")
    if refusal.status == 401 and "text/html" in accepted:
        template = template_environment().get_template("token.html")
        body = template.render(reason=refusal.reason, next=_address_after_login(scope))
        return HTMLResponse(body, refusal.status, {"cache-control": "no-store"})
    form = "json" if scope["path"].endswith(".json") else "text"
    return fault_answer(form, refusal.status, "Refused", refusal.reason)


def _address_after_login(scope: Scope) -> str:
    """Return the address to open after login: `next`, or the address without the token."""
    query = QueryParams(scope["query_string"])
    if "next" in query:
        return local(query["next"])
    rest = urlencode([(name, value) for name, value in query.multi_items() if name != "token"])
    path = "/" + quote(scope["path"].lstrip("/\\"))  # `//host` would be another host
    return path + (f"?{rest}" if rest else "")


# Make pages in threads of the server process, and keep the latest ones.
#
# `Site` gets each page from `Making`. A query of the SQL page runs in a process of its own
# (`pipeline.query_processes`), with limits of time and memory.

Form = Literal["html", "json", "csv", "svg", "png"]
LANES: Mapping[str, int] = {"quick": 4, "long": 2, "search": 2, "free": 2}
"""The number of pages of each lane that are made at once, so that slow pages of one lane do not
delay the others."""
USER_LANES = ("search", "free")
"""The lanes of searches and queries. Their pages are not kept."""
MOST_CHARACTERS = 64 * 2**20
"""The size of all pages that are kept."""


class Task(Struct, frozen=True):
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
        slice: Descriptions of the selected part of the lake, for the title of the HTML page.
    """

    status: int
    title: str
    text: str
    is_fault: bool = False
    data: bytes = b""
    slice: tuple[str, ...] = ()


def fault(status: int, text: str, title: str = "Not shown") -> Reply:
    """Return the reply with the error message for a page that cannot be displayed."""
    return Reply(status, title, text, is_fault=True)


@dataclass(eq=False)
class _Page:
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
        """Number of characters and bytes of the finished page."""
        reply = self.task.result()
        return len(reply.text) + len(reply.data)


class Making:
    """Cache of rendered pages, in which simultaneous requests share one computation."""

    def __init__(self) -> None:
        self._free = {lane: asyncio.Semaphore(n) for lane, n in LANES.items()}
        self._pages: OrderedDict[tuple[object, ...], _Page] = OrderedDict()

    async def reply(
        self,
        lake: Lake,
        task: Task,
        lane: str,
        leaving: Collection["asyncio.Task[None]"] = (),
    ) -> Reply | None:
        """Return the rendered page; None if its reader disconnects first.

        If no reader waits any longer, a page that is still queued is cancelled. A page that a
        thread already renders is completed, because polars cannot be interrupted.

        Args:
            lake: The lake to display.
            task: The page to render.
            lane: Name of the thread pool, a key of `LANES`.
            leaving: Tasks that finish when the reader disconnects.

        Returns:
            The page or its error; None if a task of `leaving` finished first.
        """
        key = (lake.state, task.page, task.form, *sorted(task.query.items()))
        if key not in self._pages:
            self._pages[key] = page = _Page(
                asyncio.create_task(self._render_in_thread(key, lake, task, lane))
            )
            page.task.add_done_callback(lambda made: self._cache_page(key, made, lane))
        page = self._pages[key]
        self._pages.move_to_end(key)
        page.n_readers += 1
        try:
            await asyncio.wait([page.task, *leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            page.n_readers -= 1
            if not page.n_readers and not page.is_started and not page.task.done():
                page.task.cancel()
                del self._pages[key]
        return page.task.result() if page.task.done() else None

    async def _render_in_thread(
        self, key: tuple[object, ...], lake: Lake, task: Task, lane: str
    ) -> Reply:
        """Render the page in a new thread, as soon as the thread pool has a free place."""
        loop = asyncio.get_running_loop()
        made: asyncio.Future[Reply] = loop.create_future()

        def make() -> None:
            reply = answer(lake, task)
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(made.set_result, reply)

        async with self._free[lane]:
            self._pages[key].is_started = True
            # As a daemon, it does not keep the server from ending.
            Thread(target=make, daemon=True).start()
            return await made

    def _cache_page(self, key: tuple[object, ...], made: "asyncio.Task[Reply]", lane: str) -> None:
        """Cache a page that has no error, and drop the least recently used pages if needed."""
        if made.cancelled():
            return
        page = self._pages[key]
        if lane in USER_LANES or made.result().status != 200 or page.size > MOST_CHARACTERS // 8:
            del self._pages[key]
        sizes = {key: page.size for key, page in self._pages.items() if page.task.done()}
        while sum(sizes.values()) > MOST_CHARACTERS:
            oldest = next(iter(sizes))
            del sizes[oldest], self._pages[oldest]


def answer(lake: Lake, task: Task) -> Reply:
    """Return the rendered page, or a reply with the error message if rendering fails."""
    try:
        with use_lake_metrics(lake):
            return reply(lake, task)
    except MissingExtraError as error:
        return fault(501, str(error), "Not installed")
    except PipelineError as error:
        return fault(400 if isinstance(error, UsageError) else 500, str(error))
    except MemoryError:
        return fault(500, "memory ran out: ask for less")
    except Exception as error:
        return fault(500, f"{type(error).__name__}: {error}")


def reply(lake: Lake, task: Task) -> Reply:
    """Render a page in its requested form.

    Raises:
        PipelineError: If the page cannot be rendered, for example because of a wrong parameter.
    """
    values = pages.parameters(task.page, task.query)
    if task.form == "csv":
        return Reply(200, task.page, pages.as_csv(pages.csv_parts(task.page, lake, values)))
    shown = pages.content(task.page, lake, values)
    status = 400 if shown.faults else 200
    if task.form == "json":
        return Reply(status, shown.title, pages.as_json(shown, values, lake.ingest_id))
    if task.form in ("svg", "png"):
        return Reply(
            status, shown.title, "", data=pages.picture(task.page, shown, values, task.form)
        )
    text = pages.fragment(
        task.page,
        shown,
        values,
        pages.page_link,
        picture_at=lambda form: pages.address(f"{task.page}.{form}", task.query),
    )
    return Reply(status, shown.title, str(text), slice=describe_slice(shown, values))


_CONTENT_TYPES: Mapping[Form, str] = {
    "html": "text/html; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_DOWNLOADED_FORMS = ("csv", "svg", "png")
"""Forms that a browser saves."""


FORMS = {"json": "JSON", "csv": "CSV"}


def framed(name: str, lake: Lake, reply: Reply, task: Task | None = None) -> str:
    """Return the complete HTML document of a page, with the menu.

    Args:
        name: Name of the lake.
        lake: The displayed lake.
        reply: The rendered fragment.
        task: The page, whose edition and system the menu's links keep; None for error pages.
    """
    page, query = (task.page, task.query) if task else ("", {})
    began = (lake.last_ingest or {}).get("started_at")
    time = f" of {began:%Y-%m-%d %H:%M} UTC" if isinstance(began, datetime) else ""
    context = {
        "lake": name,
        "name": page,
        "title": ", ".join((reply.title, *reply.slice)),
        "body": Markup(reply.text),  # made by templates, which escape what they insert
        "state": f"{name} after ingest {lake.ingest_id}{time}",
        "forms": {FORMS[form]: pages.address(f"{page}.{form}", query) for form in FORMS},
        "menu": MENU,
        "link": bind_links(pages.page_link, query),
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
        self._making = Making()

    def app(self, hosts: Collection[str]) -> Starlette:
        """Return the Starlette application.

        Args:
            hosts: Accepted values of the Host header.
        """
        guard = Middleware(Guard, hosts=hosts, token=self._token)
        return Starlette(
            routes=[
                Route("/", self.root),
                Mount("/static", StaticFiles(directory=TEMPLATES.parent / "static")),
                Route("/{page}.{form}", self.page),
                Route("/{page}", self.page),
            ],
            middleware=[guard],
            lifespan=self._lifespan,
            exception_handlers={404: self._missing_page_response, 500: self._server_error_response},
        )

    async def root(self, request: Request) -> Response:
        """Redirect `/` to the leaderboard, with the parameters of the address."""
        query = request.url.query
        return RedirectResponse("/leaderboard" + (f"?{query}" if query else ""), 303)

    async def page(self, request: Request) -> Response:
        """Return the response to a request for a page."""
        name, form = request.path_params["page"], request.path_params.get("form", "html")
        if name not in pages.NAMES or form not in _CONTENT_TYPES:
            return await self._missing_page_response(request, None)
        lane = pages.page(name).lane
        query = dict(request.query_params)
        parameter_names = [parameter for parameter, _ in request.query_params.multi_items()]
        if repeated_parameters := [
            parameter for parameter in query if parameter_names.count(parameter) > 1
        ]:
            text = (
                f"the address has {', '.join(repeated_parameters)} more than once: "
                "a page takes one value of each"
            )
            return self._error_response(form, fault(400, text))
        task = Task(name, form, query)
        if lane in USER_LANES and query and may_be_foreign(request.headers, self._token):
            return self._confirmation_response(task)
        leaving = asyncio.create_task(_wait_for_disconnect(request))
        try:
            lake = await asyncio.to_thread(self._reopen_lake_if_changed)
            reply = await self._making.reply(lake, task, lane, [leaving])
        except PipelineError as error:
            return self._error_response(form, fault(500, str(error)))
        finally:
            leaving.cancel()
        if reply is None:
            return Response(status_code=499)  # nobody reads it
        return self._page_response(lake, task, reply)

    def _reopen_lake_if_changed(self) -> Lake:
        """Return the lake in its newest state; open it again only if the state has changed."""
        try:
            is_newest = self._lake.is_newest()
        except LakeError:  # it is gone, or damaged; to open it says which
            is_newest = False
        if not is_newest:
            self._lake = reopen_lake(self._lake)
        return self._lake

    def _page_response(self, lake: Lake, task: Task, reply: Reply) -> Response:
        """Return the HTTP response that contains the rendered page or its error message."""
        headers = {"cache-control": "no-cache"}
        if reply.is_fault:
            return self._error_response(task.form, reply)
        if task.form == "html":
            text = framed(self._name, lake, reply, task)
            return Response(text, reply.status, headers, _CONTENT_TYPES["html"])
        if task.form in _DOWNLOADED_FORMS:
            headers["content-disposition"] = f'attachment; filename="{task.page}.{task.form}"'
        return Response(reply.data or reply.text, reply.status, headers, _CONTENT_TYPES[task.form])

    def _error_response(
        self, form: str, reply: Reply, go_on: str = "", label: str = ""
    ) -> Response:
        """Return an error response in the requested form; HTML can have a link to continue."""
        if form != "html" and form in _CONTENT_TYPES:
            return fault_answer(form, reply.status, reply.title, reply.text)
        template = template_environment().get_template("fault.html")
        body = template.render(title=reply.title, message=reply.text, go_on=go_on, label=label)
        text = framed(self._name, self._lake, Reply(reply.status, reply.title, body))
        return Response(text, reply.status, None, _CONTENT_TYPES["html"])

    def _confirmation_response(self, task: Task) -> Response:
        """Return a page that asks for confirmation, because another site may link to a query."""
        led = "A page of another site led here"
        if task.form != "html":
            return self._error_response(
                task.form, fault(403, f"{led}: start from a page here.", "Not run")
            )
        reason = fault(403, f"{led}. Look at the address before you run it.", "Run this?")
        return self._error_response("html", reason, pages.address(task.page, task.query), "Run it")

    async def _missing_page_response(self, request: Request, error: Exception | None) -> Response:
        """Return the response for an address without a page."""
        form = request.url.path.rpartition(".")[2]
        return self._error_response(
            form, fault(404, "There is no page at this address.", "No such page")
        )

    async def _server_error_response(self, request: Request, error: Exception) -> Response:
        """Return the response for an unexpected exception in the server."""
        form = request.url.path.rpartition(".")[2]
        return self._error_response(
            form, fault(500, f"a defect of the server: {type(error).__name__}")
        )

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Render the leaderboard at the start of the server, before a browser requests it."""
        first = Task("leaderboard", "html", {})
        making = asyncio.create_task(
            self._making.reply(self._lake, first, pages.page(first.page).lane)
        )
        yield
        making.cancel()
