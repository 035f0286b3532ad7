"""`make audit` passes where the versions were looked up, and nowhere else."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("pip_audit")

SCRIPT = Path(__file__).resolve().parent.parent / "requirements" / "audit.py"


@contextmanager
def service(*faulty: str) -> Iterator[str]:
    """The URL of an advisory service that knows of a fault in each version of these packages."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["package"]
            affected = [{"package": asked, "ranges": []}]
            fault = {"id": "FAULT-1", "summary": "a fault", "affected": affected}
            answer = {"vulns": [fault]} if asked["name"] in faulty else {}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()


def audit(url: str) -> tuple[int, str, str]:
    options = ["--vulnerability-service", "osv", "--osv-url", url]
    command = [sys.executable, str(SCRIPT), "run", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_fault_fails_and_is_named() -> None:
    """Versions without known faults pass."""
    with service("django") as url:
        assert audit(url)[0] == 0
    with service("django", "polars") as url:
        code, out, err = audit(url)
    assert (code, "FAULT-1" in out, "polars" in out) == (1, True, True), out
    assert err.startswith("audit: failed")


@pytest.mark.slow
def test_a_service_that_knows_nothing_fails() -> None:
    """Nor does it pass where there is no service."""
    with service() as url:
        answers = audit(url)
    for code, _, err in (answers, audit(url)):
        assert (code, err.count("\n")) == (1, 1)
        assert "nothing was audited" in err
