"""Who gets an answer: only who knows the token, under a name of this machine, and only what reads.

A page of a stranger that a browser of this machine has open can make it ask us, under a name of the stranger that now leads
here (DNS rebinding). Such a question has a foreign name in its Host header, and no cookie of ours. Source: RFC 9110, section 7.2.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "token"
READING = ("GET", "HEAD")
MOST_FIELDS = 64
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page of ours may do: load our own files, and ask us."""
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
"""Of every answer that has no such header of its own."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """The door in front of all pages."""

    app: ASGIApp
    token: str
    cookie: str
    """Its name, which has the port: a browser sends the cookies of a host to all of its ports."""
    names: frozenset[str]
    """Names of this machine besides its addresses, in lower case."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a question through to the pages, or answer it here."""
        if scope["type"] != "http":
            return
        refusal = self.refusal(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                own = {name for name, _ in headers}
                headers += [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
            await send(message)

        await (refusal or self.app)(scope, receive, send_with_headers)

    def refusal(self, scope: Scope) -> Response | None:
        """Return the answer where the pages may not answer; None where they may."""
        headers = Headers(scope=scope)
        names = headers.getlist("host")
        if len(names) != 1 or not self.is_ours(names[0], scope):
            return PlainTextResponse("421: this is no name of this machine. Use the address that `assay serve` printed.\n", 421)
        given = self.given(headers)
        if (asked := dict(fields(scope)).get(TOKEN)) is not None:
            return self.welcome(scope, asked)
        if not any(self.is_right(one) for one in given):
            return PlainTextResponse("403: no token. Open the address that `assay serve` printed.\n", 403)
        if scope["method"] not in READING:
            return PlainTextResponse("405: these pages can only be read.\n", 405, {"allow": ", ".join(READING)})
        return None

    def is_ours(self, name: str, scope: Scope) -> bool:
        """Return whether a Host header names this machine: by a name of its own, or by the address that was connected to."""
        bare = name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() and not name.endswith("]") else name
        if bare.lower() in self.names:
            return True
        try:
            return ipaddress.ip_address(bare.strip("[]")) == ipaddress.ip_address(scope["server"][0])
        except (ValueError, TypeError):
            return False

    def given(self, headers: Headers) -> tuple[str, ...]:
        """Return the tokens of a question: of its cookies, and of its `Authorization: Bearer`."""
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        cookies = (cookie_parser(one).get(self.cookie) for one in headers.getlist("cookie"))
        return tuple(one for one in (*cookies, bearer if kind.lower() == "bearer" else None) if one)

    def is_right(self, given: str) -> bool:
        """Compare in a time that does not hang on how much of it is right."""
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self.token.encode())

    def welcome(self, scope: Scope, asked: str) -> Response:
        """Turn the token of an address into a cookie, and lead to the same page without it."""
        if not self.is_right(asked) or scope["method"] not in READING:
            return PlainTextResponse("403: another token. Open the address that `assay serve` printed.\n", 403)
        rest = [(key, value) for key, value in fields(scope) if key != TOKEN]
        path = "/" + quote(scope["path"].lstrip("/"))  # never `//HOST`, which would lead elsewhere
        answer = RedirectResponse(f"{path}?{urlencode(rest)}" if rest else path, 303)
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        return answer


def fields(scope: Scope) -> list[tuple[str, str]]:
    """Return the fields of an address; none where there are more than any page has."""
    try:
        return parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=MOST_FIELDS)
    except ValueError:
        return []


def own_names(bind: str) -> frozenset[str]:
    """Return the names under which this machine may be asked: `localhost`, its host name, and the name that was bound."""
    return frozenset(name.lower() for name in ("localhost", socket.gethostname(), socket.getfqdn(), bind) if name)
