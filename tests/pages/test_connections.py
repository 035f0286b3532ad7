"""Clients that never end their requests or never take their answers, and malformed ones."""

import asyncio
import json
import logging
import os
import resource
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

import pytest
from servers import Served, start, stop

from pipeline.server import connections
from pipeline.server.connections import OneLine, limits

HALF = b"GET /leaderboard HTTP/1.1\r\nHost: x\r\nX-"


@pytest.fixture(scope="module")
def narrow(lake: Path) -> Iterator[Served]:
    """A server that can open 128 files."""
    served = start(lake, under=["bash", "-c", 'ulimit -n 128; exec "$@"', "bash"])
    yield served
    stop(served)


@pytest.mark.slow
def test_requests_that_never_end_leave_the_server_to_others(narrow: Served) -> None:
    assert narrow.get("/tables").status == 200
    with ExitStack() as opened:
        for _ in range(300):
            half = opened.enter_context(socket.socket())
            half.setblocking(False)
            half.connect_ex(("127.0.0.1", narrow.port))
            try:
                half.send(HALF)
            except OSError:
                continue  # it waits to be accepted
        for _ in range(3):
            began = time.monotonic()
            assert narrow.get("/tables").status == 200
            assert time.monotonic() - began < 5
            time.sleep(0.3)
        assert len(list(Path(f"/proc/{narrow.process.pid}/fd").iterdir())) < 120
    assert narrow.process.stderr
    os.set_blocking(narrow.process.stderr.fileno(), False)
    lines = narrow.process.stderr.read().splitlines()
    assert len(lines) <= 1, lines


@pytest.mark.slow
def test_a_request_has_to_come_in_time(served: Served) -> None:
    """Also where a byte comes now and then."""
    with socket.create_connection(("127.0.0.1", served.port)) as slow:
        slow.sendall(HALF)
        began, answer = time.monotonic(), b""
        slow.settimeout(1)
        while time.monotonic() - began < connections.REQUEST_SECONDS + 10 and not answer:
            try:
                slow.sendall(b"x")
                answer = slow.recv(4096)
            except TimeoutError:
                continue
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"content-security-policy: default-src 'none'" in answer


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"\x16\x03\x01\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_request_is_answered_with_the_headers(served: Served, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(sent)
        connection.settimeout(10)
        answer = connection.recv(4096)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"content-security-policy: default-src 'none'" in answer
    assert b"x-content-type-options: nosniff" in answer


def test_a_connection_can_be_used_again(served: Served) -> None:
    connection = HTTPConnection("127.0.0.1", served.port, timeout=60)
    for _ in range(3):
        connection.request("GET", "/tables.json")
        assert json.loads(connection.getresponse().read())["rows"]
    connection.close()


def test_an_answer_that_is_not_taken_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALLED_SECONDS", 0.2)
    aborted = []

    class Transport:
        left: int = 100

        def get_write_buffer_size(self) -> int:
            return self.left

        def abort(self) -> None:
            aborted.append(self.left)

    async def stalled() -> None:
        connection = connections.Connection.__new__(connections.Connection)
        connection.loop, connection.transport = asyncio.get_running_loop(), Transport()  # type: ignore[assignment]
        connection._look(100)
        connection.transport.left = 50  # type: ignore[attr-defined]
        await asyncio.sleep(0.3)
        assert not aborted
        await asyncio.sleep(0.3)

    asyncio.run(stalled())
    assert aborted == [50]


def test_there_are_fewer_connections_than_files() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        most, n_waiting = limits()
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert soft >= before[0]
        assert most + n_waiting + 40 < soft
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_message_is_said_once_a_minute_and_never_at_the_end() -> None:
    said: list[object] = []
    log = OneLine(said.append)
    logger = logging.Logger("test")
    logger.addHandler(log)
    for _ in range(1000):
        try:
            raise OSError(24, "Too many open files")
        except OSError:
            logger.exception("accept failed\nmore")
    assert said == ["accept failed: [Errno 24] Too many open files"]
    log.is_over = True
    logger.error("another")
    assert len(said) == 1


@pytest.mark.slow
def test_ctrl_c_says_nothing(lake: Path) -> None:
    """Also where pages are being made."""
    served = start(lake)
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        slow = "SELECT+count(*)+FROM+range(100000000)+a,range(100000)+b"
        host = f"127.0.0.1:{served.port}"
        connection.sendall(f"GET /sql?query={slow} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        time.sleep(1.5)
        served.process.send_signal(2)
        assert served.process.wait(10) == 0
    assert served.process.stderr
    with served.process.stderr as said:
        text = said.read()
        assert not text, text


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
