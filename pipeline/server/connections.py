"""Connections: how long each may keep the server waiting, and what is said of those that fail."""

import asyncio
import logging
import time
from collections.abc import Callable
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from pipeline.server.security import HEADERS

MOST = 400
"""Of more connections at once, those that are too many are refused."""
REQUEST_SECONDS = 10.0
"""A connection without a complete request is closed after this time, and one that is over."""
_QUIET_SECONDS = 60.0


class Connection(H11Protocol):
    """A connection that is closed if no request comes."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(REQUEST_SECONDS, self._end)

    def send_400_response(self, msg: str) -> None:
        """Answers what is no request with the headers of every answer, and closes."""
        headers = {**HEADERS, "content-type": "text/plain; charset=utf-8", "connection": "close"}
        named = [(name.encode(), value.encode()) for name, value in headers.items()]
        status = HTTPStatus.BAD_REQUEST
        answer = h11.Response(status_code=status, headers=named, reason=status.phrase.encode())
        text = b"This is no request that a browser sends.\n"
        for event in (answer, h11.Data(data=text), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _end(self) -> None:
        if self.conn.our_state is h11.IDLE:
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
