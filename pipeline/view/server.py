"""Starts and stops the server."""

import errno
import secrets
import socket
import webbrowser
from collections.abc import Callable
from threading import Timer
from types import FrameType
from urllib.parse import quote

import uvicorn

from pipeline.api import open_lake
from pipeline.errors import PipelineError, UsageError
from pipeline.view.app import Site
from pipeline.view.protocol import BACKLOG, Protocol, most_connections
from pipeline.view.security import LONGEST_ADDRESS
from pipeline.view.workers import Workers

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    lake: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    opens_browser: bool = False,
    say: Callable[[str], object] = print,
) -> None:
    """Serves the pages of the lake until Ctrl-C; says the address first.

    Port 0 is any that is free.

    Beyond this machine, the address has a token that a browser needs. Raises LakeError if there is
    no lake, and PipelineError if the port is taken.
    """
    open_lake(lake)
    token = None if host in LOOPBACK else secrets.token_urlsafe(24)
    with _listening(host, port) as listening:
        taken = listening.getsockname()[1]
        name = _reachable(host)
        shown = f"[{name}]" if ":" in name else name
        address = f"http://{shown}:{taken}/" + (f"?token={quote(token)}" if token else "")
        workers = Workers()
        Protocol.most = most_connections()
        app = Site(lake, workers, token).app(_hosts(taken))
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            log_level="critical",  # a line for each wrong request would fill a disk
            http=Protocol,
            backlog=BACKLOG,
            ws="none",
            h11_max_incomplete_event_size=4 * LONGEST_ADDRESS,
            timeout_graceful_shutdown=0,
        )
        say(f"{lake}: {address}  (Ctrl-C ends)")
        if opens_browser:
            Timer(0.5, webbrowser.open, [address]).start()
        try:
            _Server(config, workers).run(sockets=[listening])
        except KeyboardInterrupt:
            pass  # how uvicorn ends by Ctrl-C
        finally:
            workers.close()


class _Server(uvicorn.Server):
    """A server that ends pages in the making at once when it is to end."""

    def __init__(self, config: uvicorn.Config, workers: Workers) -> None:
        super().__init__(config)
        self._workers = workers

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._workers.close()
        super().handle_exit(sig, frame)


def _reachable(host: str) -> str:
    """The name for others of this machine: to listen on all addresses is no address."""
    if host not in ("0.0.0.0", "::", ""):
        return host
    is_newer = ":" in host
    family = socket.AF_INET6 if is_newer else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        try:
            # Nothing is sent: the system only chooses the address that it would send from.
            asking.connect(("2001:db8::1" if is_newer else "192.0.2.1", 9))
            return str(asking.getsockname()[0])
        except OSError:
            return "::1" if is_newer else "127.0.0.1"


def _hosts(port: int) -> set[str]:
    """What a request from this machine can name as its host."""
    names = ("127.0.0.1", "localhost", "[::1]")
    return {f"{name}:{port}" for name in names} | ({*names} if port == 80 else set())


def _listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections; raises PipelineError if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)  # whoever reads the address may ask at once
    except OverflowError:
        listening.close()
        raise UsageError(f"the port must be between 0 and 65535, not {port}") from None
    except OSError as error:
        listening.close()
        is_of_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        hint = "choose another --port, or 0 for any that is free" if is_of_port else "check --host"
        raise PipelineError(
            f"cannot listen on {host}, port {port}: {error.strerror}; {hint}"
        ) from None
    return listening
