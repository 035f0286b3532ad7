"""What a browser may send here, and what it may do with an answer."""

import hmac
import json
from collections.abc import Collection, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from starlette.datastructures import Headers, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
LONGEST_ADDRESS = 16_000
NO_TOKEN = "Open the address that the server printed: it has the token."
WRONG_TOKEN = f"The token is wrong: each start of the server has another. {NO_TOKEN}"
_OWN = ("same-origin", "none")


class Refusal(NamedTuple):
    """Why a request is refused, with the status of the answer."""

    status: int
    reason: str


class Token(NamedTuple):
    """What a browser has to know beyond this machine. Servers of a host have cookies apart."""

    text: str
    port: int

    @property
    def cookie(self) -> str:
        return f"magic-token-{self.port}"

    def is_in(self, headers: Headers) -> bool:
        """Whether the request has it: in its cookie, or as what a program sends."""
        sent = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        return matches(sent, self.text) or self.is_of_program(headers)

    def is_of_program(self, headers: Headers) -> bool:
        """Whether it is in a header that no link makes a browser send."""
        return matches(headers.get("authorization", ""), f"Bearer {self.text}")


class Guard:
    """The application behind checks of each request."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], token: Token | None) -> None:
        """`hosts` are those that a request can be for; with a token, it can be for any."""
        self._app = app
        self._hosts = hosts
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        sent = QueryParams(scope["query_string"]).get("token") if self._token else None
        if refusal := self._refusal(scope, Headers(scope=scope), sent):
            await _refused(scope, refusal)(scope, receive, send)
        elif self._token and sent is not None:
            await _with_cookie(scope, self._token)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers, sent: str | None) -> Refusal | None:
        if scope["method"] not in ("GET", "HEAD"):
            return Refusal(405, "This server only shows pages: use GET.")
        if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return Refusal(414, f"The address is longer than {LONGEST_ADDRESS:,} characters.")
        if self._token is None and headers.get("host", "").lower() not in self._hosts:
            return Refusal(421, "This server has another name: use the address that it printed.")
        if not _is_own(headers):
            return Refusal(403, "The request comes from a page of another site.")
        # The address has the token, or the cookie or a header has it.
        if self._token is not None and sent is None and not self._token.is_in(headers):
            return Refusal(401, NO_TOKEN)
        if self._token is not None and sent is not None and not matches(sent, self._token.text):
            return Refusal(401, WRONG_TOKEN)
        return None


def is_foreign(headers: Headers) -> bool:
    """Whether the browser says that a page of another site led here."""
    return headers.get("sec-fetch-site", "none") not in _OWN


def may_be_foreign(headers: Headers, token: Token | None) -> bool:
    """Whether a page of another site can have led here.

    To another machine without encryption, browsers send only where the user comes from, and for
    pages of other sites perhaps not even that: only what comes from a page here is surely wanted.
    """
    if token is None or "sec-fetch-site" in headers:
        return is_foreign(headers)
    return not (token.is_of_program(headers) or _is_here(headers.get("referer", ""), headers))


def matches(text: str, token: str) -> bool:
    """Whether it is the token; the time taken does not depend on how similar they are."""
    return hmac.compare_digest(text.encode(), token.encode())


def _is_here(address: str, headers: Headers) -> bool:
    """Whether an address that a browser sends is of this server."""
    host = headers.get("host", "").lower()
    try:
        return bool(host) and urlsplit(address).netloc.lower() == host
    except ValueError:
        return False


def _is_own(headers: Headers) -> bool:
    """Whether one of our pages or the user sends it; another site can only lead here by a link."""
    origin = headers.get("origin")
    if origin is not None and not _is_here(origin, headers):
        return False
    is_led = (
        headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    )
    return not is_foreign(headers) or is_led


def local(address: str) -> str:
    """The address if it is of this server, and that of the first page if it leads elsewhere.

    Browsers take `//host`, `/\\host` and signs that they skip before these for another host.
    """
    is_path = address.startswith("/") and not address.startswith("//")
    is_plain = all("!" <= sign <= "~" and sign != "\\" for sign in address)
    return address if is_path and is_plain else "/"


def fault_answer(form: str, status: int, title: str, reason: str) -> Response:
    """Why there is no page, in the requested form; it has no content of the lake."""
    headers = {"cache-control": "no-store"} | ({"allow": "GET, HEAD"} if status == 405 else {})
    if form == "json":
        body = json.dumps({"error": reason, "title": title, "status": status}) + "\n"
        return Response(body, status, headers, "application/json; charset=utf-8")
    return PlainTextResponse(f"{reason}\n", status, headers)


def _refused(scope: Scope, refusal: Refusal) -> Response:
    accepted = Headers(scope=scope).get("accept", "")
    if refusal.status == 401 and "text/html" in accepted:
        from pipeline.pages.render import environment

        page = environment().get_template("token.html")
        body = page.render(reason=refusal.reason, next=_target(scope))
        return HTMLResponse(body, refusal.status, {"cache-control": "no-store"})
    form = "json" if scope["path"].endswith(".json") else "text"
    return fault_answer(form, refusal.status, "Refused", refusal.reason)


def _target(scope: Scope) -> str:
    """The address that a request with a token leads to, or that one without it was for."""
    query = QueryParams(scope["query_string"])
    if "next" in query:
        return local(query["next"])
    rest = urlencode([(name, value) for name, value in query.multi_items() if name != "token"])
    path = "/" + quote(scope["path"].lstrip("/\\"))  # `//host` would be another host
    return path + (f"?{rest}" if rest else "")


def _with_cookie(scope: Scope, token: Token) -> Response:
    """To the same address without the token, which the browser keeps."""
    answer = RedirectResponse(_target(scope), 303)
    answer.set_cookie(token.cookie, token.text, httponly=True, samesite="lax")
    return answer
