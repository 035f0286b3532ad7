"""Run the web server of `magic view`: socket, time limits, connection limit and log messages.

The command `magic view` calls `serve`. The application itself is in `pipeline.server.app`;
uvicorn handles the connections.
"""

import asyncio
import errno
import logging
import secrets
import socket
import time
import webbrowser
from collections.abc import Callable
from threading import Timer
from types import FrameType
from urllib.parse import quote

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pipeline.api import Lake
from pipeline.errors import PipelineError, UsageError
from pipeline.server.app import HEADERS, LONGEST_ADDRESS, Site, Token

# Starts and stops the server, and says how long each connection may keep it waiting.

MOST = 400
"""Of more connections at once, those that are too many are refused."""
REQUEST_SECONDS = 10.0
"""A connection without a complete request is closed after this time, and one that is over."""
_QUIET_SECONDS = 60.0


class Connection(H11Protocol):
    """HTTP connection that is closed if a request is incomplete after the time limit."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit for the first request of the new connection."""
        super().connection_made(transport)
        self._set_deadline()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, and start or stop the time limit of the request."""
        super().data_received(data)
        self._set_deadline()

    def _set_deadline(self) -> None:
        """Start the time limit if a request is incomplete; cancel it if the request is complete."""
        is_complete = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        if self._deadline is None and not is_complete:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
        elif self._deadline is not None and is_complete:
            self._deadline.cancel()
            self._deadline = None


class OneLine(logging.Handler):
    """Log handler that reports each error of the server at most once a minute.

    An `OSError` is reported in one line, any other exception with its traceback. Nothing is
    reported after `is_over` is set, that is, while the server shuts down.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        super().__init__(logging.ERROR)
        self.is_over = False
        self._say = say
        self._reported_at: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Report the record, unless its message was reported within the last minute."""
        message = record.getMessage().strip().partition("\n")[0]
        now = time.monotonic()
        if self.is_over or now - self._reported_at.get(message, -_QUIET_SECONDS) < _QUIET_SECONDS:
            return
        self._reported_at[message] = now
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OSError) or error is None:
            self._say(f"{message}: {error}" if error else message)
        else:
            self._say(self.format(record))


# --- the server -------------------------------------------------------------------------------

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    lake: Lake,
    *,
    name: str,
    host: str = "127.0.0.1",
    port: int = 8765,
    opens_browser: bool = False,
    say: Callable[[str], object] = print,
) -> None:
    """Serve the pages of a lake until the user presses Ctrl-C.

    The address is reported first. If `host` is not a loopback address, the address contains an
    access token that the browser needs.

    Args:
        lake: The lake to display.
        name: Name of the lake on the pages.
        host: Host name or IP address to listen on.
        port: Port to listen on; 0 selects a free port.
        opens_browser: Whether to open the address in a web browser.
        say: Called with each message for the user.

    Raises:
        PipelineError: If the server cannot listen on the host and port.
        UsageError: If the port is not between 0 and 65535.
    """
    with _listening_socket(host, port) as listening:
        taken = listening.getsockname()[1]
        token = None if host in LOOPBACK else Token(secrets.token_urlsafe(24), taken)
        shown = reachable(host)
        shown = f"[{shown}]" if ":" in shown else shown
        address = f"http://{shown}:{taken}/" + (f"?token={quote(token.text)}" if token else "")
        # What a request from this machine can name as its host.
        names = ("127.0.0.1", "localhost", "[::1]")
        hosts = {f"{host}:{taken}" for host in names} | ({*names} if taken == 80 else set())
        app = Site(lake, name, token).app(hosts)
        log = OneLine(say)
        for logger in ("uvicorn.error", "asyncio"):
            logging.getLogger(logger).addHandler(log)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            http=Connection,
            headers=[*HEADERS.items()],
            limit_concurrency=MOST,
            timeout_keep_alive=int(REQUEST_SECONDS),
            ws="none",
            h11_max_incomplete_event_size=4 * LONGEST_ADDRESS,
            timeout_graceful_shutdown=0,
        )
        say(f"{name}: {address}  (Ctrl-C ends)")
        if opens_browser:
            Timer(0.5, webbrowser.open, [address]).start()
        try:
            _Server(config, log).run(sockets=[listening])
        except KeyboardInterrupt:
            pass  # how uvicorn ends by Ctrl-C
        finally:
            for logger in ("uvicorn.error", "asyncio"):
                logging.getLogger(logger).removeHandler(log)


class _Server(uvicorn.Server):
    """Uvicorn server that reports no errors of connections that its shutdown interrupts."""

    def __init__(self, config: uvicorn.Config, log: OneLine) -> None:
        super().__init__(config)
        self._log = log

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop reporting errors, then shut down as uvicorn does."""
        self._log.is_over = True  # what is cut off now is no news
        super().handle_exit(sig, frame)


def reachable(host: str) -> str:
    """Return a host address that a browser can open to reach the server.

    Args:
        host: Host on which the server listens.

    Returns:
        This machine's address in its network if `host` stands for all addresses ("", `0.0.0.0` or
        `::`), or its loopback address without a network; otherwise `host`.
    """
    family, elsewhere = {
        "0.0.0.0": (socket.AF_INET, "192.0.2.1"),
        "": (socket.AF_INET, "192.0.2.1"),
        "::": (socket.AF_INET6, "2001:db8::1"),
    }.get(host, (None, ""))
    if family is None:
        return host
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))  # sends nothing: the system only chooses a way
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1" if family == socket.AF_INET else "::1"


def _listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the port; raise PipelineError if it cannot listen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    accepts_both_families = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:  # whoever reads the address may ask at once
        return socket.create_server(
            (host, port), family=family, dualstack_ipv6=accepts_both_families
        )
    except OverflowError:
        raise UsageError(f"the port must be between 0 and 65535, not {port}") from None
    except OSError as error:
        is_of_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        hint = "choose another --port, or 0 for any that is free" if is_of_port else "check --host"
        why, _, _ = str(error.strerror).partition(" (while")
        raise PipelineError(f"cannot listen on {host}, port {port}: {why}; {hint}") from None
