"""What a browser may send here, and what it may do with an answer."""

import hmac
import re
from collections.abc import Collection, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # Which page of ours led to another, and nothing for other sites.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
TOKEN = "token"
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

        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal and refusal.status == 401 and self._is_led_by_token(scope):
            await self._lead_on(scope, headers, send_guarded)
        elif refusal:
            await _answer(refusal, scope, send_guarded)
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
        if self._token is not None and not self._has_token(headers):
            return Refusal(401, "Open the address that the server printed: it has the token.")
        return None

    def _has_token(self, headers: Headers) -> bool:
        """Whether the cookie has the token, or the header that programs can send."""
        given = (cookie_of(headers), bearer_of(headers))
        return any(matches(one, self._token or "") for one in given)

    def _is_led_by_token(self, scope: Scope) -> bool:
        given = QueryParams(scope["query_string"]).get(TOKEN, "")
        return self._token is not None and matches(given, self._token)

    async def _lead_on(self, scope: Scope, headers: Headers, send: Send) -> None:
        """To the same address without the token, which becomes a cookie."""
        asked = QueryParams(scope["query_string"]).multi_items()
        query = urlencode([(name, value) for name, value in asked if name != TOKEN])
        # A path of two slashes would be the address of another host.
        path = quote("/" + scope["path"].lstrip("/\\"))
        answer = RedirectResponse(path + (f"?{query}" if query else ""), 303)
        answer.set_cookie(cookie_name(headers), self._token or "", httponly=True, samesite="lax")
        await answer(scope, _nothing, send)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def is_foreign(headers: Headers) -> bool:
    """Whether a page of another site may have led here.

    On plain http browsers say where a request comes from only to this machine; to others, a page
    of ours is known by its address as the referrer, which no other site can send.
    """
    if (site := headers.get("sec-fetch-site")) is not None:
        return site not in _OWN
    if bearer_of(headers) or is_of_this_machine(headers):
        return False
    return urlsplit(headers.get("referer", "")).netloc.lower() != headers.get("host", "").lower()


def is_of_this_machine(headers: Headers) -> bool:
    """Whether the request names this machine as its host: browsers then say where it is from."""
    name = urlsplit(f"//{headers.get('host', '')}").hostname
    return name in ("127.0.0.1", "localhost", "::1")


def matches(given: str, token: str) -> bool:
    """Whether it is the token, in a time that says nothing of how near it is."""
    return hmac.compare_digest(given.encode(), token.encode())


def cookie_name(headers: Headers) -> str:
    """The name of the cookie: a host's servers share its cookies, whatever their ports."""
    port = re.search(r":(\d+)$", headers.get("host", ""))
    return f"magic-token-{port[1] if port else 80}"


def cookie_of(headers: Headers) -> str:
    """The token in the request's cookie, empty if there is none."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(cookie_name(headers))
    except CookieError:
        return ""
    return found.value if found else ""


def bearer_of(headers: Headers) -> str:
    """The token that a program sends in a header, empty if there is none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _is_own(headers: Headers) -> bool:
    """Whether a page of ours or the user asks: another site can only lead here by a link."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        return False
    is_led = (
        headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    )
    return headers.get("sec-fetch-site", "none") in _OWN or is_led


async def _answer(refusal: Refusal, scope: Scope, send: Send) -> None:
    is_json = scope["path"].endswith(".json")
    body = f"{refusal.reason}\n".encode()
    if is_json:
        body = msgspec.json.encode({"error": refusal.reason})
    kind = b"application/json" if is_json else b"text/plain; charset=utf-8"
    headers = [(b"content-type", kind), (b"cache-control", b"no-store")]
    if refusal.status == 405:
        headers.append((b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
