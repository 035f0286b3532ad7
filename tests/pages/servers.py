"""A server of a lake, for tests: started, asked and stopped."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple
from urllib.request import urlopen

import pytest

from pipeline import server as serving
from pipeline.api import open_lake

TOP = Path(__file__).resolve().parents[2]


class Answer(NamedTuple):
    """What came back for a request."""

    status: int
    headers: dict[str, str]
    text: str


class Served(NamedTuple):
    """A server of a lake; without a process, it is in this one."""

    lake: Path
    port: int
    process: subprocess.Popen[str] | None
    address: str

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=sent)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, names, text)

    def bytes(self, path: str) -> bytes:
        with urlopen(self.url(path), timeout=60) as answer:
            return bytes(answer.read())

    def json(self, path: str) -> Any:
        return json.loads(self.get(path).text)

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}{path}"


def check_headers(answer: Answer) -> None:
    """Asserts that the answer says to the browser what it may do."""
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"


def start(lake: Path, *options: str, under: Sequence[str] = ()) -> Served:
    """The server, as soon as it says its address; `under` is the command that runs it."""
    command = [sys.executable, "-m", "pipeline", "view", "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        [*under, *command, "--lake", str(lake), *options],
        stderr=subprocess.PIPE,
        text=True,
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TOP), *sys.path])},
    )
    assert process.stderr
    said = process.stderr.readline()
    address = re.search(r"http://\S+:(\d+)/\S*", said)
    assert address, said + process.stderr.read()
    return Served(lake, int(address[1]), process, address[0])


def stop(served: Served) -> int:
    """The exit code after Ctrl-C."""
    assert served.process
    served.process.send_signal(signal.SIGINT)
    code = served.process.wait(10)
    assert served.process.stderr
    served.process.stderr.close()
    return code


@contextmanager
def here(lake: Path, host: str = "127.0.0.1") -> Iterator[Served]:
    """The same server in a thread: for what is on pages and in headers, not for processes."""
    said: SimpleQueue[str] = SimpleQueue()
    servers: list[serving._Server] = []

    class Kept(serving._Server):
        def run(self, *arguments: Any, **options: Any) -> None:
            servers.append(self)
            super().run(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "_Server", Kept)
        asked = {"name": str(lake), "host": host, "port": 0, "print_message": said.put}
        thread = Thread(target=serving.serve, args=(open_lake(lake),), kwargs=asked)
        thread.start()
        address = re.search(r"http://\S+:(\d+)/\S*", said.get(timeout=60))
        while not servers:
            assert thread.is_alive()
            time.sleep(0.01)
    assert address
    try:
        yield Served(lake, int(address[1]), None, address[0])
    finally:
        servers[0].should_exit = True
        thread.join()
