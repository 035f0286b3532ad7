"""The application: addresses, states of the lake, and a cache of pages."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from pipeline.api import Lake, reopened
from pipeline.errors import LakeError, PipelineError
from pipeline.pages import MENU, NAMES, page
from pipeline.pages.page import TEMPLATES
from pipeline.pages.render import Link, carrying, environment
from pipeline.server.links import link
from pipeline.server.security import Guard, Token, fault_answer, may_be_foreign
from pipeline.server.worker import Form, Made, Task, fault
from pipeline.server.workers import NICE, Workers
from pipeline.version import __version__

if TYPE_CHECKING:
    from collections.abc import Collection

STATIC = TEMPLATES.parent / "static"
CACHE_CHARACTERS = 64 * 2**20
_TYPES: Mapping[Form, str] = {
    "html": "text/html; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
}
_Key = tuple[object, ...]


class Cache:
    """The pages made last, up to a number of characters."""

    def __init__(self, most: int = CACHE_CHARACTERS) -> None:
        self._most = most
        self._n_characters = 0
        self._pages: OrderedDict[_Key, Made] = OrderedDict()

    def get(self, key: _Key) -> Made | None:
        """The page, None if it is not there."""
        if key in self._pages:
            self._pages.move_to_end(key)
        return self._pages.get(key)

    def put(self, key: _Key, made: Made) -> None:
        """Keeps a page that was made without an error, instead of those not seen for longest."""
        if made.status != 200 or len(made.text) > self._most // 8:
            return
        self._pages[key] = made
        self._n_characters += len(made.text)
        while self._n_characters > self._most:
            self._n_characters -= len(self._pages.popitem(last=False)[1].text)


class Site:
    """The pages of one lake."""

    def __init__(self, lake: Lake, name: str, workers: Workers, token: Token | None) -> None:
        self._lake = lake
        self._name = name
        self._workers = workers
        self._token = token
        self._cache = Cache()
        self._begun: dict[_Key, asyncio.Task[Made]] = {}

    def app(self, hosts: "Collection[str]") -> Starlette:
        """The application; `hosts` are those that requests can be for."""
        routes = [
            Route("/", self.root),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/{page}.{form}", self.page),
            Route("/{page}", self.page),
        ]
        guard = Middleware(Guard, hosts=hosts, token=self._token)
        return Starlette(
            routes=routes,
            middleware=[guard],
            lifespan=self._lifespan,
            exception_handlers={404: self._missing, 500: self._defect},
        )

    async def root(self, request: Request) -> Response:
        """To the leaderboard."""
        return RedirectResponse("/leaderboard", 303)

    async def page(self, request: Request) -> Response:
        """A page in one of its forms."""
        name, form = request.path_params["page"], request.path_params.get("form", "html")
        if name not in NAMES or form not in _TYPES:
            return await self._missing(request, None)
        lane = page(name).LANE
        is_of_user = lane in NICE and request.query_params
        if is_of_user and may_be_foreign(request.headers, self._token):
            return self._asks_first(request, name, form)
        given = dict(request.query_params)
        try:
            lake = await asyncio.to_thread(self._newest)
            made = await self._made(lake, Task(name, form, given), lane)
        except PipelineError as error:
            return self._fault(name, form, fault(500, str(error)))
        return self._answer(request, lake, name, form, made)

    async def _made(self, lake: Lake, task: Task, lane: str) -> Made:
        """The page from the cache, or made now; one that several ask for is made once."""
        key = (lake.state, task.page, task.form, tuple(sorted(task.given.items())))
        if (found := self._cache.get(key)) is not None:
            return found
        if key not in self._begun:
            self._begun[key] = asyncio.create_task(self._workers.made(lake, task, lane))
            self._begun[key].add_done_callback(lambda _: self._begun.pop(key, None))
        made = await asyncio.shield(self._begun[key])
        if lane not in NICE and self._cache.get(key) is None:
            self._cache.put(key, made)
        return made

    def _newest(self) -> Lake:
        """The lake in its newest state; it is opened again only if that has changed."""
        try:
            is_newest = self._lake.is_newest()
        except LakeError:  # it is gone, or damaged; to open it says which
            is_newest = False
        if not is_newest:
            self._lake = reopened(self._lake)
        return self._lake

    def _answer(self, request: Request, lake: Lake, name: str, form: Form, made: Made) -> Response:
        headers = {"cache-control": "no-cache"}
        if made.is_fault:
            return self._fault(name, form, made)
        if form == "html":
            query = f"?{request.url.query}" if request.url.query else ""
            forms = {one: f"/{name}.{one}{query}" for one in ("json", "csv")}
            lead_on = carrying(link, request.query_params)
            text = self._frame(
                name, made.title, made.text, lake.ingest_id, forms=forms, lead_on=lead_on
            )
            return Response(text, made.status, headers, _TYPES["html"])
        if form == "csv":
            headers["content-disposition"] = f'attachment; filename="{name}.csv"'
        return Response(made.text, made.status, headers, _TYPES[form])

    def _frame(
        self,
        name: str,
        title: str,
        body: str,
        state: int | None,
        *,
        forms: Mapping[str, str],
        lead_on: Link = link,
    ) -> str:
        """A page with the menu, whose links keep the page's edition and system."""
        from markupsafe import Markup

        return (
            environment()
            .get_template("frame.html")
            .render(
                name=name,
                title=title,
                body=Markup(body),
                state=state,
                forms=forms,
                lake=self._name,
                menu=MENU,
                link=lead_on,
                version=__version__,
            )
        )

    def _fault(self, name: str, form: str, made: Made) -> Response:
        """Why something is not shown, in the form that was asked for."""
        if form in ("json", "csv"):
            return fault_answer(form, made.status, made.title, made.text)
        return self._framed(name, made.title, made.text, made.status)

    def _framed(self, name: str, title: str, message: str, status: int, **more: str) -> Response:
        """A page that says why another is not shown."""
        body = (
            environment()
            .get_template("fault.html")
            .render(title=title, message=message, go_on=more.get("go_on"), label=more.get("label"))
        )
        state = self._lake.ingest_id
        return Response(
            self._frame(name, title, body, state, forms={}), status, None, _TYPES["html"]
        )

    def _asks_first(self, request: Request, name: str, form: str) -> Response:
        """A query that another site's page leads to runs only after a click here."""
        if form != "html":
            reason = "A page of another site led here: start from a page of this server."
            return self._fault(name, form, fault(403, reason, "Not run"))
        return self._framed(
            name,
            "Run this?",
            "A page of another site led here. Look at the address before you run it.",
            403,
            go_on=f"/{name}?{request.url.query}",
            label="Run it",
        )

    async def _missing(self, request: Request, error: Exception | None) -> Response:
        reason = fault(404, "There is no page at this address.", "No such page")
        return self._fault("", request.url.path.rpartition(".")[2], reason)

    async def _defect(self, request: Request, error: Exception) -> Response:
        reason = fault(500, f"a defect of the server: {type(error).__name__}")
        return self._fault("", request.url.path.rpartition(".")[2], reason)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        for lane in ("long", "quick"):
            await asyncio.to_thread(self._workers.warm, lane)
        yield
        self._workers.close()
