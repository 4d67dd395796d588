"""Addresses of far hosts as ssh takes them: `[USER@]HOST[:PORT]`, or a name of ssh's own configuration."""

from __future__ import annotations

import re

from assay.errors import UsageError
from assay.frozen import dataclass

HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Letters, digits, `.`, `_` and `-`: nothing that a shell or ssh's configuration could take for its own."""
BARE_IPV6 = re.compile(r"[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%[A-Za-z0-9_.-]+)?")
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@\\+-]*")
PORTS = range(1, 65536)
EXPECTED = "[USER@]HOST[:PORT] of letters, digits and . _ -"


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where sshd of a far host listens; None leaves the choice to ssh's configuration."""

    host: str
    user: str | None = None
    port: int | None = None

    @property
    def ssh(self) -> str:
        """The call of ssh(1) to it."""
        port = () if self.port is None else ("-p", str(self.port))
        return " ".join(("ssh", *port, self.host if self.user is None else f"{self.user}@{self.host}"))


def parsed(text: str) -> Address:
    """Return the address that a text gives. Raises UsageError."""
    user, at, rest = text.rpartition("@")
    host, port = _host_and_port(rest)
    number = int(port) if port.isdecimal() and port.isascii() else 0
    fits = (HOST.fullmatch(host) or BARE_IPV6.fullmatch(host)) and (not at or USER.fullmatch(user))
    if not fits or (port and number not in PORTS):
        raise UsageError(f"found address {text!r}; expected {EXPECTED}")
    return Address(host=host, user=user if at else None, port=number if port else None)


def _host_and_port(text: str) -> tuple[str, str]:
    """`[::1]:22`, `::1`, `filer:22` or `filer`; a port that is announced and missing makes no host."""
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        return (host, rest[1:]) if closed and (not rest or (rest[0] == ":" and rest[1:])) else ("", "")
    if BARE_IPV6.fullmatch(text):
        return text, ""
    host, colon, port = text.partition(":")
    return (host, port) if port or not colon else ("", "")
