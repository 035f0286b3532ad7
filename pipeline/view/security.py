"""What a browser may send here, and what it may do with an answer."""

import hmac
from collections.abc import Collection, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
COOKIE = "magic-token"
LONGEST_ADDRESS = 16_000
_OWN = ("same-origin", "none")


class Refusal(NamedTuple):
    """Why a request is refused, with the status of the answer."""

    status: int
    reason: str


class Guard:
    """The application behind checks of each request; each answer has the headers."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], token: str | None) -> None:
        """`hosts` are those that a request can be for; with a token, it can be for any."""
        self._app = app
        self._hosts = hosts
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal:
            await _answer(refusal, send_guarded)
        else:
            await self._app(scope, receive, send_guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        if scope["method"] not in ("GET", "HEAD"):
            return Refusal(405, "This server only shows pages: use GET.")
        if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return Refusal(414, f"The address is longer than {LONGEST_ADDRESS:,} characters.")
        if self._token is None and headers.get("host", "").lower() not in self._hosts:
            return Refusal(421, "This server has another name: use the address that it printed.")
        if not _is_own(headers):
            return Refusal(403, "The request comes from a page of another site.")
        if self._token is not None and not self._has_token(scope, headers):
            return Refusal(401, "Open the address that the server printed: it has the token.")
        return None

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        """Whether the cookie has the token; that in an address is for the page that sets it."""
        if scope["path"] == "/":
            return True
        return matches(cookie_of(headers), self._token or "")


def is_foreign(headers: Headers) -> bool:
    """Whether a page of another site led here."""
    return headers.get("sec-fetch-site", "none") not in _OWN


def matches(given: str, token: str) -> bool:
    """Whether it is the token, in a time that says nothing of how near it is."""
    return hmac.compare_digest(given.encode(), token.encode())


def cookie_of(headers: Headers) -> str:
    """The token in the request's cookie, empty if there is none."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _is_own(headers: Headers) -> bool:
    """Whether a page of ours or the user asks: another site can only lead here by a link."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        return False
    is_led = (
        headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    )
    return not is_foreign(headers) or is_led


async def _answer(refusal: Refusal, send: Send) -> None:
    body = f"{refusal.reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    if refusal.status == 405:
        headers.append((b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
