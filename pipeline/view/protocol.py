"""Connections to the server: how many there can be, and how long each can take to ask.

The library bounds neither. So clients that never end their requests could take all connections
that the system has for this process, and nobody else would be answered.
"""

import asyncio
import resource
from contextlib import suppress

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

SECONDS_TO_ASK = 10.0
"""A connection is closed if its request is not complete after this time."""
MOST_CONNECTIONS = 512
BACKLOG = 32
"""So many connections at most are taken before the first of them is looked at."""
# What else the process has open: the lake's files, and two ends for each worker.
_OTHER_FILES = 48 + BACKLOG


def most_connections() -> int:
    """How many connections this process can have; raises its own limit of open files if it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _OTHER_FILES
    if soft < wanted <= hard or hard == resource.RLIM_INFINITY:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(BACKLOG // 4, min(MOST_CONNECTIONS, soft - _OTHER_FILES))


class Protocol(H11Protocol):
    """A connection that is closed if it does not ask in time, or if newer ones need its place."""

    most = MOST_CONNECTIONS
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        waiting = [one for one in self.connections if isinstance(one, Protocol) and one.is_waiting]
        if len(self.connections) > self.most:
            # The one that has waited for longest; timers are as old as what they wait for.
            min(waiting, key=Protocol._waits_until, default=self).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_waiting:
            self._wait()
        else:
            self._end_wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.is_waiting:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    @property
    def is_waiting(self) -> bool:
        """Whether no request is complete, so that there is nothing to answer."""
        cycle: RequestResponseCycle | None = self.cycle
        is_answering = cycle is not None and not cycle.response_complete
        return not is_answering and self.conn.their_state in (h11.IDLE, h11.ERROR, h11.DONE)

    def _waits_until(self) -> float:
        return self._deadline.when() if self._deadline else 0.0

    def _wait(self) -> None:
        """Begins to wait for a request, unless it has begun."""
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(SECONDS_TO_ASK, self.transport.abort)

    def _end_wait(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
