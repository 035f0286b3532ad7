"""The application: addresses, states of the lake, and the frame around each page."""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from pipeline.api import Lake, reopened
from pipeline.errors import LakeError, PipelineError
from pipeline.pages import MENU, NAMES, address, links, page
from pipeline.pages.page import TEMPLATES
from pipeline.pages.render import carrying, environment
from pipeline.server.security import Guard, Token, fault_answer, local, may_be_foreign
from pipeline.server.worker import Form, Reply, Task, fault
from pipeline.server.workers import NICE, Late, Making, Workers
from pipeline.version import __version__

STATIC = TEMPLATES.parent / "static"
PATIENCE_SECONDS = 5.0
"""For a page that takes longer, a page is sent that reloads until it is ready."""
_AGAIN_SECONDS = 1
_TYPES: Mapping[Form, str] = {
    "html": "text/html; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_FILES = ("csv", "svg", "png")
"""Forms that a browser saves."""
_PAST = re.compile("/ingest/([0-9]{1,18})(?=/)")
_FIXED = 4
"""The number of past states that are open at once."""


FORMS = {"json": "JSON", "csv": "CSV"}


class State(NamedTuple):
    """The lake that a page shows, under its name, and the number of its newest ingest.

    `ingest` is the one after which the address wants the lake, None for the newest.
    """

    name: str
    lake: Lake
    newest: int
    ingest: int | None = None

    @property
    def shown(self) -> int:
        return self.lake.ingest_id

    @property
    def text(self) -> str:
        """The lake and the ingest after which it is shown, with its time."""
        began = (self.lake.last_ingest or {}).get("started_at")
        time = f" of {began:%Y-%m-%d %H:%M} UTC" if isinstance(began, datetime) else ""
        return f"{self.name} after ingest {self.shown}{time}"


def framed(state: State, reply: Reply, task: Task | None = None, again: int | None = None) -> str:
    """The page with the menu, whose links keep its edition, system and ingest.

    Without a task it is a page of the server itself. `again`: reload after so many seconds.
    """
    name, query = (task.page, task.query) if task else ("", {})
    context = {
        "name": name,
        "title": ", ".join((reply.title, *reply.slice)),
        "body": Markup(reply.text),  # made by templates, which escape what they insert
        "state": state,
        "forms": {FORMS[form]: address(f"{name}.{form}", query, state.ingest) for form in FORMS},
        "here": address(name, query, state.ingest),
        "newest": address(name, query),
        "menu": MENU,
        "link": carrying(links(state.ingest), query),
        "again": again,
        "version": __version__,
    }
    return environment().get_template("frame.html").render(context)


async def _left(request: Request) -> None:
    """Returns when the connection of the request is closed."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def part(template: str, **context: object) -> str:
    """A page of the server itself, without a lake's content."""
    return environment().get_template(template).render(context)


class StateError(LakeError):
    """There is no such state of the lake, or not any more."""


@lru_cache(_FIXED)
def _past(newest: Lake, ingest: int) -> Lake:
    """The lake as it was after that ingest; of another state of the newest, it is opened anew."""
    return reopened(newest, ingest)


class Site:
    """The pages of one lake."""

    def __init__(self, lake: Lake, name: str, workers: Workers, token: Token | None) -> None:
        self._lake = lake
        self._name = name
        self._workers = workers
        self._token = token
        self._making = Making(workers)

    def app(self, hosts: Collection[str]) -> Starlette:
        """The application; `hosts` are those that requests can be for."""
        routes = [
            Route("/", self.root),
            Route("/share", self.share),
            Mount("/static", StaticFiles(directory=STATIC)),
            *(
                Route(f"{before}/{{page}}{end}", self.page)
                for before in ("", "/ingest/{ingest:int}")
                for end in (".{form}", "")
            ),
        ]
        guard = Middleware(Guard, hosts=hosts, token=self._token)
        return Starlette(
            routes=routes,
            middleware=[guard],
            lifespan=self._lifespan,
            exception_handlers={404: self._missing, 500: self._defect},
        )

    async def root(self, request: Request) -> Response:
        """To the leaderboard that the address asks for."""
        asked = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/leaderboard{asked}", 303)

    async def page(self, request: Request) -> Response:
        """A page in one of its forms."""
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
        if re.fullmatch("[0-9]{1,18}", query.get("ingest", "")):
            ingest = int(query.pop("ingest"))
            file = name if form == "html" else f"{name}.{form}"
            return RedirectResponse(address(file, query, ingest), 303)
        task = Task(name, form, query, request.path_params.get("ingest"))
        if lane in NICE and query and may_be_foreign(request.headers, self._token):
            return self._asks_first(task)
        leaving = asyncio.create_task(_left(request))
        try:
            state = await asyncio.to_thread(self._state, task.ingest)
            # A program waits until the page is there, a reader so many seconds.
            is_of_reader = form == "html" and "text/html" in request.headers.get("accept", "")
            patience = PATIENCE_SECONDS if is_of_reader else None
            reply = await self._making.reply(state.lake, task, lane, patience, [leaving])
        except StateError as error:
            return self._gone(form, error, address(name, query))
        except PipelineError as error:
            return self._fault(form, fault(500, str(error)))
        finally:
            leaving.cancel()
        if isinstance(reply, Late):
            return self._late(state, task, reply)
        return self._answer(state, task, reply)

    async def share(self, request: Request) -> Response:
        """The addresses of a page, for others."""
        of = local(request.query_params.get("of", ""))
        past = _PAST.match(of)
        newest = of[past.end() :] if past else of
        try:
            state = await asyncio.to_thread(self._state, int(past[1]) if past else None)
        except StateError as error:
            return self._gone("html", error, newest)
        body = part(
            "share.html",
            of=of,
            newest=newest,
            origin=f"{request.url.scheme}://{request.url.netloc}",
            fixed=of if past else f"/ingest/{state.shown}{of}",
            state=state,
            token=self._token.text if self._token else None,
        )
        text = framed(state, Reply(200, "Share this page", body))
        return Response(text, 200, {"cache-control": "no-store"}, _TYPES["html"])

    def _state(self, ingest: int | None) -> State:
        """The lake in its newest state, or as it was after that ingest."""
        newest = self._newest()
        if ingest is None:
            return State(self._name, newest, newest.ingest_id)
        try:
            return State(self._name, _past(newest, ingest), newest.ingest_id, ingest)
        except LakeError as error:
            raise StateError(str(error)) from None

    def _newest(self) -> Lake:
        """The lake in its newest state; it is opened again only if that has changed."""
        try:
            is_newest = self._lake.is_newest()
        except LakeError:  # it is gone, or damaged; to open it says which
            is_newest = False
        if not is_newest:
            self._lake = reopened(self._lake)
        return self._lake

    def _answer(self, state: State, task: Task, reply: Reply) -> Response:
        """The page in its form, or why there is none."""
        headers = {"cache-control": "no-cache"}
        if reply.is_fault:
            return self._fault(task.form, reply, state=state)
        if task.form == "html":
            return Response(framed(state, reply, task), reply.status, headers, _TYPES["html"])
        if task.form in _FILES:
            headers["content-disposition"] = f'attachment; filename="{task.page}.{task.form}"'
        return Response(reply.data or reply.text, reply.status, headers, _TYPES[task.form])

    def _late(self, state: State, task: Task, late: Late) -> Response:
        """A page that reloads until the requested page is ready."""
        body = part(
            "late.html", seconds=round(late.seconds), has_process=page(task.page).lane in NICE
        )
        text = framed(state, Reply(202, "Still computing", body), task, again=_AGAIN_SECONDS)
        headers = {"cache-control": "no-store", "refresh": str(_AGAIN_SECONDS)}
        return Response(text, 202, headers, _TYPES["html"])

    def _fault(
        self,
        form: str,
        reply: Reply,
        go_on: str = "",
        label: str = "",
        state: State | None = None,
    ) -> Response:
        """Why something is not shown, in the requested form, with a link that leads on."""
        if form != "html" and form in _TYPES:
            return fault_answer(form, reply.status, reply.title, reply.text)
        body = part("fault.html", title=reply.title, message=reply.text, go_on=go_on, label=label)
        state = state or State(self._name, self._lake, self._lake.ingest_id)
        text = framed(state, Reply(reply.status, reply.title, body))
        return Response(text, reply.status, None, _TYPES["html"])

    def _gone(self, form: str, error: StateError, newest: str) -> Response:
        """That a state is not there, with a link to the page in the newest one."""
        moved = fault(404, str(error), "No such state of the lake")
        return self._fault(form, moved, newest, "Its newest state")

    def _asks_first(self, task: Task) -> Response:
        """A query that another site's page leads to runs only after a click here."""
        led = "A page of another site led here"
        if task.form != "html":
            return self._fault(task.form, fault(403, f"{led}: start from a page here.", "Not run"))
        reason = fault(403, f"{led}. Look at the address before you run it.", "Run this?")
        return self._fault("html", reason, address(task.page, task.query, task.ingest), "Run it")

    async def _missing(self, request: Request, error: Exception | None) -> Response:
        form = request.url.path.rpartition(".")[2]
        return self._fault(form, fault(404, "There is no page at this address.", "No such page"))

    async def _defect(self, request: Request, error: Exception) -> Response:
        form = request.url.path.rpartition(".")[2]
        return self._fault(form, fault(500, f"a defect of the server: {type(error).__name__}"))

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Makes the first page before a browser requests it."""
        self._workers.warm()
        first = Task("leaderboard", "html", {})
        making = asyncio.create_task(self._making.reply(self._lake, first, page(first.page).lane))
        yield
        self._workers.close()
        await making
