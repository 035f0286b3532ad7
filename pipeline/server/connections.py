"""Connections: how many there can be, and how long each may keep the server waiting."""

import asyncio
import logging
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from pipeline.server.security import HEADERS

REQUEST_SECONDS = 10.0
"""A request that is not complete after this time is refused."""
STALLED_SECONDS = 30.0
"""A client that takes nothing of its answer for this time is gone."""
MOST = 400
_WANTED_FILES = 2048
_RESERVED_FILES = 48
"""Files of the lake, pipes to worker processes, and what Python needs."""
_QUIET_SECONDS = 60.0
_CROWDED = "too many connections: those that wait for a request are closed, the oldest first"
_log = logging.getLogger("uvicorn.error")


def limits() -> tuple[int, int]:
    """The most connections, and how many can wait to be accepted; raises the limit of open files.

    Closed connections keep their files for a moment, in which as many come as can wait.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(_WANTED_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    n_free = (wanted if soft == resource.RLIM_INFINITY else soft) - _RESERVED_FILES
    most = max(8, min(MOST, n_free // 2))
    return most, max(4, min(128, most // 2))


class Connection(H11Protocol):
    """A connection that is closed if its request or its answer does not go on."""

    most = MOST
    _ends: asyncio.TimerHandle | None = None
    _stalls: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = time.monotonic()
        self._wait()
        if len(self.connections) > self.most:
            _log.error(_CROWDED)
            waiting = [
                connection for connection in self.connections if isinstance(connection, Connection)
            ]
            idle = [connection for connection in waiting if connection.is_waiting()]
            min(idle, key=lambda connection: connection.since).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._ends, self._stalls):
            if timer:
                timer.cancel()
        super().connection_lost(exc)

    def is_waiting(self) -> bool:
        """Whether no request of the client is still to be answered."""
        is_over = getattr(self.cycle, "response_complete", True)  # there is no cycle at first
        return is_over and not self.transport.is_closing()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._ends and self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._ends.cancel()  # the request is complete

    def on_response_complete(self) -> None:
        self.since = time.monotonic()
        self._wait()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, "This is no request that a browser sends.")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalls:
            self._stalls.cancel()

    def _wait(self) -> None:
        """From now on a request has to come."""
        if self._ends:
            self._ends.cancel()
        self._ends = self.loop.call_later(REQUEST_SECONDS, self._end)

    def _end(self) -> None:
        if self.conn.our_state is h11.IDLE:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "The request was not complete in time.")
        elif self.is_waiting():
            self.transport.close()
        else:  # its body does not come; the page is made, and then all is over
            self.cycle.keep_alive = False

    def _look(self, n_before: int) -> None:
        """Ends the connection if nothing more was taken by the next look."""

        def look() -> None:
            n_now = self.transport.get_write_buffer_size()
            if n_now >= n_before:
                self.transport.abort()
            else:
                self._look(n_now)

        self._stalls = self.loop.call_later(STALLED_SECONDS, look)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        """Answers what is no request, with the headers of every answer, and closes."""
        if self.transport.is_closing():
            return
        headers = {**HEADERS, "content-type": "text/plain; charset=utf-8", "connection": "close"}
        named = [(name.encode(), value.encode()) for name, value in headers.items()]
        answer = h11.Response(status_code=status, headers=named, reason=status.phrase.encode())
        with suppress(h11.LocalProtocolError):  # an answer has begun
            for event in (answer, h11.Data(data=f"{reason}\n".encode()), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class OneLine(logging.Handler):
    """Says what the server's library reports, each message once a minute, and nothing at the end.

    A defect comes with its traceback, an error of the system without.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        super().__init__(logging.ERROR)
        self.is_over = False
        self._say = say
        self._said: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage().strip().partition("\n")[0]
        now = time.monotonic()
        if self.is_over or now - self._said.get(message, -_QUIET_SECONDS) < _QUIET_SECONDS:
            return
        self._said[message] = now
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OSError) or error is None:
            self._say(f"{message}: {error}" if error else message)
        else:
            self._say(self.format(record))
