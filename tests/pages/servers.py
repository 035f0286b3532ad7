"""A server of a lake, for tests: started, asked and stopped."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

TOP = Path(__file__).resolve().parents[2]


class Answer(NamedTuple):
    """What came back for a request."""

    status: int
    headers: dict[str, str]
    text: str


class Served(NamedTuple):
    """A server of a lake."""

    lake: Path
    port: int
    process: subprocess.Popen[str]
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


def start(lake: Path, *options: str, under: Sequence[str] = ()) -> Served:
    """The server, as soon as it says its address; `under` is the command that runs it."""
    command = [sys.executable, "-m", "pipeline.cli", "view", "--no-browser", "--port", "0"]
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
    served.process.send_signal(signal.SIGINT)
    code = served.process.wait(10)
    assert served.process.stderr
    served.process.stderr.close()
    return code
