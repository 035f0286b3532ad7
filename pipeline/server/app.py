"""The application: addresses, and the frame around each page."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from pipeline.api import Lake, reopened
from pipeline.errors import LakeError, PipelineError
from pipeline.pages import MENU, NAMES, address, page, page_link
from pipeline.pages.page import TEMPLATES
from pipeline.pages.render import carrying, environment
from pipeline.server.making import USER_LANES, Form, Making, Reply, Task, fault
from pipeline.server.security import Guard, Token, fault_answer, may_be_foreign
from pipeline.version import __version__

STATIC = TEMPLATES.parent / "static"
_TYPES: Mapping[Form, str] = {
    "html": "text/html; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_FILES = ("csv", "svg", "png")
"""Forms that a browser saves."""


FORMS = {"json": "JSON", "csv": "CSV"}


def framed(name: str, lake: Lake, reply: Reply, task: Task | None = None) -> str:
    """Return the page with the menu, whose links keep its edition and system.

    `name` is the lake's. Without a task it is a page of the server itself.
    """
    page, query = (task.page, task.query) if task else ("", {})
    context = {
        "lake": name,
        "name": page,
        "title": ", ".join((reply.title, *reply.slice)),
        "body": Markup(reply.text),  # made by templates, which escape what they insert
        "state": _state_text(name, lake),
        "forms": {FORMS[form]: address(f"{page}.{form}", query) for form in FORMS},
        "menu": MENU,
        "link": carrying(page_link, query),
        "version": __version__,
    }
    return environment().get_template("frame.html").render(context)


def _state_text(name: str, lake: Lake) -> str:
    """Return the lake's name, and the number and time of its last ingest."""
    began = (lake.last_ingest or {}).get("started_at")
    time = f" of {began:%Y-%m-%d %H:%M} UTC" if isinstance(began, datetime) else ""
    return f"{name} after ingest {lake.ingest_id}{time}"


async def _left(request: Request) -> None:
    """Return when the connection of the request is closed."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def part(template: str, **context: object) -> str:
    """Return a page of the server itself, without a lake's content."""
    return environment().get_template(template).render(context)


class Site:
    """The pages of one lake."""

    def __init__(self, lake: Lake, name: str, token: Token | None) -> None:
        self._lake = lake
        self._name = name
        self._token = token
        self._making = Making()

    def app(self, hosts: Collection[str]) -> Starlette:
        """Return the application; `hosts` are those that requests can be for."""
        guard = Middleware(Guard, hosts=hosts, token=self._token)
        return Starlette(
            routes=[
                Route("/", self.root),
                Mount("/static", StaticFiles(directory=STATIC)),
                Route("/{page}.{form}", self.page),
                Route("/{page}", self.page),
            ],
            middleware=[guard],
            lifespan=self._lifespan,
            exception_handlers={404: self._missing, 500: self._defect},
        )

    async def root(self, request: Request) -> Response:
        """Redirect to the leaderboard that the address asks for."""
        asked = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/leaderboard{asked}", 303)

    async def page(self, request: Request) -> Response:
        """Return a page in one of its forms."""
        name, form = request.path_params["page"], request.path_params.get("form", "html")
        if name not in NAMES or form not in _TYPES:
            return await self._missing(request, None)
        lane = page(name).lane
        query = dict(request.query_params)
        given = [one for one, _ in request.query_params.multi_items()]
        if twice := [one for one in query if given.count(one) > 1]:
            text = (
                f"the address has {', '.join(twice)} more than once: a page takes one value of each"
            )
            return self._fault(form, fault(400, text))
        task = Task(name, form, query)
        if lane in USER_LANES and query and may_be_foreign(request.headers, self._token):
            return self._asks_first(task)
        leaving = asyncio.create_task(_left(request))
        try:
            lake = await asyncio.to_thread(self._newest)
            reply = await self._making.reply(lake, task, lane, [leaving])
        except PipelineError as error:
            return self._fault(form, fault(500, str(error)))
        finally:
            leaving.cancel()
        if reply is None:
            return Response(status_code=499)  # nobody reads it
        return self._answer(lake, task, reply)

    def _newest(self) -> Lake:
        """Return the lake in its newest state; it is opened again only if that has changed."""
        try:
            is_newest = self._lake.is_newest()
        except LakeError:  # it is gone, or damaged; to open it says which
            is_newest = False
        if not is_newest:
            self._lake = reopened(self._lake)
        return self._lake

    def _answer(self, lake: Lake, task: Task, reply: Reply) -> Response:
        """Return the page in its form, or why there is none."""
        headers = {"cache-control": "no-cache"}
        if reply.is_fault:
            return self._fault(task.form, reply)
        if task.form == "html":
            text = framed(self._name, lake, reply, task)
            return Response(text, reply.status, headers, _TYPES["html"])
        if task.form in _FILES:
            headers["content-disposition"] = f'attachment; filename="{task.page}.{task.form}"'
        return Response(reply.data or reply.text, reply.status, headers, _TYPES[task.form])

    def _fault(self, form: str, reply: Reply, go_on: str = "", label: str = "") -> Response:
        """Return why something is not shown, in the requested form, with a link that leads on."""
        if form != "html" and form in _TYPES:
            return fault_answer(form, reply.status, reply.title, reply.text)
        body = part("fault.html", title=reply.title, message=reply.text, go_on=go_on, label=label)
        text = framed(self._name, self._lake, Reply(reply.status, reply.title, body))
        return Response(text, reply.status, None, _TYPES["html"])

    def _asks_first(self, task: Task) -> Response:
        """Return a page that asks, because another site's page can lead to a query."""
        led = "A page of another site led here"
        if task.form != "html":
            return self._fault(task.form, fault(403, f"{led}: start from a page here.", "Not run"))
        reason = fault(403, f"{led}. Look at the address before you run it.", "Run this?")
        return self._fault("html", reason, address(task.page, task.query), "Run it")

    async def _missing(self, request: Request, error: Exception | None) -> Response:
        form = request.url.path.rpartition(".")[2]
        return self._fault(form, fault(404, "There is no page at this address.", "No such page"))

    async def _defect(self, request: Request, error: Exception) -> Response:
        form = request.url.path.rpartition(".")[2]
        return self._fault(form, fault(500, f"a defect of the server: {type(error).__name__}"))

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Make the first page before a browser requests it."""
        first = Task("leaderboard", "html", {})
        making = asyncio.create_task(self._making.reply(self._lake, first, page(first.page).lane))
        yield
        making.cancel()
