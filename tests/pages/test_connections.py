"""Clients that never end their requests, and malformed ones."""

import logging
import signal
import socket
import time
from pathlib import Path

import pytest
from servers import Served, start, stop

from pipeline import server
from pipeline.server import RateLimitedErrorHandler

HALF = b"GET /leaderboard HTTP/1.1\r\nHost: x\r\nX-"


@pytest.mark.slow
@pytest.mark.parametrize(
    "begun",
    [
        HALF,
        b"GET /tables HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
        b"GET /tables HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
        b"GET /tables HTTP/1.1\r\nHost: x\r\n\r\n" + HALF,
    ],
    ids=["headers", "body", "chunks", "second request"],
)
def test_a_request_has_to_come_in_time(
    served: Served, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a byte comes now and then."""
    monkeypatch.setattr(server, "REQUEST_SECONDS", 1.0)
    with socket.create_connection(("127.0.0.1", served.port)) as slow:
        slow.sendall(begun)
        began = time.monotonic()
        slow.settimeout(0.2)
        while time.monotonic() - began < 10:
            try:
                slow.sendall(b"x")
                if not slow.recv(4096):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() - began < 5


def test_a_message_is_said_once_a_minute_and_never_at_the_end() -> None:
    said: list[object] = []
    log = RateLimitedErrorHandler(said.append)
    logger = logging.Logger("test")
    logger.addHandler(log)
    for _ in range(1000):
        error = OSError(24, "Too many open files")
        logger.error("accept failed\nmore", exc_info=error)
    assert said == ["accept failed: [Errno 24] Too many open files"]
    log.is_shutting_down = True
    logger.error("another")
    assert len(said) == 1


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_without_a_word(lake: Path, by: signal.Signals) -> None:
    """SIGHUP, too, which the end of a terminal sends."""
    served = start(lake)
    assert served.get("/tables").status == 200
    assert served.process.stderr
    served.process.send_signal(by)
    assert served.process.stderr.read() == ""
    assert stop(served) == 0
