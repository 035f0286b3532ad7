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
from pipeline.server.app import HEADERS, MAX_ADDRESS_LENGTH, Site, Token

MAX_CONNECTIONS = 400
"""The largest number of simultaneous connections; the server rejects further ones."""
REQUEST_SECONDS = 10.0
"""A connection is closed after this time without a complete request."""
_SECONDS_BETWEEN_REPEATED_MESSAGES = 60.0


class Connection(H11Protocol):
    """HTTP connection that is closed if a request is incomplete after the time limit."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Store the transport of a new connection, and start the time limit of its request."""
        super().connection_made(transport)
        self._start_or_cancel_time_limit()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, and start or cancel the time limit of the request."""
        super().data_received(data)
        self._start_or_cancel_time_limit()

    def _start_or_cancel_time_limit(self) -> None:
        is_complete = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        if self._deadline is None and not is_complete:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
        elif self._deadline is not None and is_complete:
            self._deadline.cancel()
            self._deadline = None


class RateLimitedErrorHandler(logging.Handler):
    """Log handler that prints each error message of the server at most once a minute.

    An `OSError` is printed in one line, any other exception with its traceback. Nothing is printed
    after `is_shutting_down` is set.
    """

    def __init__(self, print_message: Callable[[str], object]) -> None:
        super().__init__(logging.ERROR)
        self.is_shutting_down = False
        self._print_message = print_message
        self._printed_at: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record, unless its message was printed within the last minute."""
        message = record.getMessage().strip().partition("\n")[0]
        now = time.monotonic()
        is_recent = message in self._printed_at and (
            now - self._printed_at[message] < _SECONDS_BETWEEN_REPEATED_MESSAGES
        )
        if self.is_shutting_down or is_recent:
            return
        self._printed_at[message] = now
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OSError) or error is None:
            self._print_message(f"{message}: {error}" if error else message)
        else:
            self._print_message(self.format(record))


# --- the server -------------------------------------------------------------------------------

LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")


def serve(
    lake: Lake,
    *,
    name: str,
    host: str = "127.0.0.1",
    port: int = 8765,
    opens_browser: bool = False,
    print_message: Callable[[str], object] = print,
) -> None:
    """Print the address of the server, and serve the pages of a lake until Ctrl-C is pressed.

    If `host` is not a loopback address, the printed address contains an access token that the
    browser needs.

    Args:
        lake: The lake to display.
        name: Name of the lake on the pages.
        host: Host name or IP address to listen on.
        port: Port to listen on; 0 selects a free port.
        opens_browser: Whether to open the address in a web browser.
        print_message: Called with each message for the user.

    Raises:
        PipelineError: If the server cannot listen on the host and port.
        UsageError: If the port is not between 0 and 65535.
    """
    with _open_listening_socket(host, port) as server_socket:
        port = server_socket.getsockname()[1]  # The system has chosen a port if it was 0.
        token = None if host in LOOPBACK_HOSTS else Token(secrets.token_urlsafe(24), port)
        url_host = browser_host(host)
        url_host = f"[{url_host}]" if ":" in url_host else url_host
        address = f"http://{url_host}:{port}/" + (f"?token={quote(token.text)}" if token else "")
        # The values of the Host header in requests from this machine.
        names = ("127.0.0.1", "localhost", "[::1]")
        hosts = {f"{name}:{port}" for name in names} | ({*names} if port == 80 else set())
        app = Site(lake, name, token).create_app(hosts)
        log_handler = RateLimitedErrorHandler(print_message)
        for logger in ("uvicorn.error", "asyncio"):
            logging.getLogger(logger).addHandler(log_handler)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            http=Connection,
            headers=[*HEADERS.items()],
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=int(REQUEST_SECONDS),
            ws="none",
            h11_max_incomplete_event_size=4 * MAX_ADDRESS_LENGTH,
            timeout_graceful_shutdown=0,
        )
        print_message(f"{name}: {address}  (Ctrl-C ends)")
        if opens_browser:
            Timer(0.5, webbrowser.open, [address]).start()
        try:
            _Server(config, log_handler).run(sockets=[server_socket])
        except KeyboardInterrupt:
            pass  # Uvicorn raises it after Ctrl-C has stopped the server.
        finally:
            for logger in ("uvicorn.error", "asyncio"):
                logging.getLogger(logger).removeHandler(log_handler)


class _Server(uvicorn.Server):
    """Uvicorn server that reports no errors of connections that its shutdown interrupts."""

    def __init__(self, config: uvicorn.Config, log_handler: RateLimitedErrorHandler) -> None:
        super().__init__(config)
        self._log_handler = log_handler

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop printing errors, because a shutdown interrupts connections; then shut down."""
        self._log_handler.is_shutting_down = True
        super().handle_exit(sig, frame)


def browser_host(host: str) -> str:
    """Return the host with which a browser can reach a server that listens on `host`.

    Returns:
        `host`, unless it stands for all addresses ("", `0.0.0.0` or `::`). In this case the address
        of this machine in its network, or the loopback address without a network.
    """
    family, remote_address = {
        "0.0.0.0": (socket.AF_INET, "192.0.2.1"),
        "": (socket.AF_INET, "192.0.2.1"),
        "::": (socket.AF_INET6, "2001:db8::1"),
    }.get(host, (None, ""))
    if family is None:
        return host
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((remote_address, 9))  # Sends nothing; the system only selects a route.
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1" if family == socket.AF_INET else "::1"


def _open_listening_socket(host: str, port: int) -> socket.socket:
    """Open a socket that listens on the port; raise PipelineError if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    accepts_both_families = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:  # It listens before the address is printed, so that a browser can open it at once.
        return socket.create_server(
            (host, port), family=family, dualstack_ipv6=accepts_both_families
        )
    except OverflowError:
        raise UsageError(f"the port must be between 0 and 65535, not {port}") from None
    except OSError as error:
        is_of_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        hint = "choose another --port, or 0 for any that is free" if is_of_port else "check --host"
        reason, _, _ = str(error.strerror).partition(" (while")
        raise PipelineError(f"cannot listen on {host}, port {port}: {reason}; {hint}") from None
