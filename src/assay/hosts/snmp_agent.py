"""Asks an agent of SNMP over UDP: GET and GETBULK alone, so nothing can be changed on a device."""

from __future__ import annotations

import errno
import itertools
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from assay.errors import UsageError
from assay.hosts.snmp_message import (
    GET,
    GET_BULK,
    REPORT,
    TOO_BIG,
    MessageError,
    Parameters,
    Pdu,
    Value,
    community_message,
    parse_community,
    parse_scoped,
    parse_secured,
    scoped,
    secured_message,
)
from assay.hosts.snmp_security import REPORTABLE, Credentials, opened, sealed

PORT = 161
FIRST_S, SECOND_S = 0.5, 1.0
"""How long an answer is waited for, at first and once more. A host that did not answer is asked once until it does."""
VALUES = 40
"""Values in one question: an answer then fits into a frame, which small devices want."""
ROWS = 20
MOST_ROWS = 100_000
ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]*))(?::(?P<port>[0-9]{1,5}))?")
NOT_IN_TIME = "1.3.6.1.6.3.15.1.1.2.0"
UNKNOWN_ENGINE = "1.3.6.1.6.3.15.1.1.4.0"
REASONS = {
    "1.3.6.1.6.3.15.1.1.1.0": "security level not supported",
    NOT_IN_TIME: "clock outside the time window",
    "1.3.6.1.6.3.15.1.1.3.0": "unknown user",
    UNKNOWN_ENGINE: "unknown name of the agent",
    "1.3.6.1.6.3.15.1.1.5.0": "wrong password (digest)",
    "1.3.6.1.6.3.15.1.1.6.0": "wrong password (decryption)",
}
"""What an agent counts when it refuses a question of version 3."""


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of HOST, HOST:PORT or [ADDRESS]:PORT. Raises UsageError."""
    match = ADDRESS.fullmatch(text)
    port = int(match["port"] or PORT) if match else 0
    if match is None or not 0 < port < 1 << 16:
        raise UsageError(f"found address {text!r}; expected HOST or HOST:PORT of an SNMP agent")
    return match["six"] or match["host"], port


class Agent:
    """Asks one agent; any thread may use it. Raises OSError where it does not answer or refuses."""

    def __init__(self, address: tuple[str, int], who: Credentials) -> None:
        """Open the socket. Raises OSError for an unknown name."""
        family, kind, protocol, _, where = socket.getaddrinfo(*address, type=socket.SOCK_DGRAM)[0]
        self._socket = socket.socket(family, kind, protocol)
        self._socket.connect(where)
        self._who = who
        self._numbers = itertools.count(secrets.randbelow(1 << 24))
        self._mutex = threading.Lock()
        self._agent = Parameters()
        self._agent_at_s = 0.0
        self._silent = False

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def get(self, oids: Sequence[str]) -> list[tuple[str, Value]]:
        """Return the values of these OIDs; None where there is none."""
        found: list[tuple[str, Value]] = []
        for at in range(0, len(oids), VALUES):
            found += self._get(oids[at : at + VALUES])
        return found

    def walk(self, root: str) -> Iterator[tuple[str, Value]]:
        """Yield all values below an OID."""
        at, count = root, 0
        while count < MOST_ROWS:
            answer = self._ask(Pdu(kind=GET_BULK, request=0, error=0, index=ROWS, values=((at, None),)))
            for name, value in answer.values:
                if not name.startswith(f"{root}.") or value is None:
                    return
                if _numbers(name) <= _numbers(at):
                    raise OSError(errno.EPROTO, f"found OID {name} after {at}; expected them to rise")
                yield name, value
                at, count = name, count + 1
            if not answer.values:
                return

    def _get(self, oids: Sequence[str]) -> list[tuple[str, Value]]:
        answer = self._ask(Pdu(kind=GET, request=0, error=0, index=0, values=tuple((name, None) for name in oids)))
        if answer.error == TOO_BIG and len(oids) > 1:
            return [*self._get(oids[: len(oids) // 2]), *self._get(oids[len(oids) // 2 :])]
        if answer.error:
            raise OSError(errno.EIO, f"the agent refused {oids[0]} (SNMP error {answer.error})")
        return list(answer.values)

    def _ask(self, pdu: Pdu) -> Pdu:
        with self._mutex:
            if self._who.community:
                return self._exchange(pdu)
            if not self._agent.engine:
                self._discover()
            answer = self._exchange(pdu)
            if _report(answer) == UNKNOWN_ENGINE:  # it began anew, under another name
                self._discover()
            if _report(answer) in (NOT_IN_TIME, UNKNOWN_ENGINE):  # the report has the time, which is known by now
                answer = self._exchange(pdu)
            if answer.kind == REPORT:
                reason = _report(answer)
                raise OSError(errno.EACCES, f"the agent refused the question: {REASONS.get(reason, reason)}")
            return answer

    def _exchange(self, pdu: Pdu) -> Pdu:
        """Ask once or twice. Raises TimeoutError."""
        wanted: set[int] = set()
        for patience_s in (FIRST_S,) if self._silent else (FIRST_S, SECOND_S):
            number = next(self._numbers)
            wanted.add(number)
            self._socket.send(self._message(replace(pdu, request=number), number))
            if (answer := self._answer(wanted, patience_s)) is not None:
                self._silent = False
                return answer
        self._silent = True
        raise TimeoutError(errno.ETIMEDOUT, "no answer to SNMP")

    def _message(self, pdu: Pdu, number: int) -> bytes:
        if self._who.community:
            return community_message(self._who.community, pdu)
        now = replace(self._agent, time=self._agent.time + int(time.monotonic() - self._agent_at_s))
        return sealed(self._who, number, now, scoped(self._agent.engine, pdu))

    def _answer(self, wanted: set[int], patience_s: float) -> Pdu | None:
        """The answer to one of these questions; anything else that comes is dropped."""
        for data in self._datagrams(patience_s):
            try:
                answer = parse_community(data) if self._who.community else self._secured(data, wanted)
            except MessageError:
                continue
            if answer is not None and (answer.request in wanted or answer.kind == REPORT):
                return answer
        return None

    def _datagrams(self, patience_s: float) -> Iterator[bytes]:
        deadline = time.monotonic() + patience_s
        while (left_s := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left_s)
            try:
                yield self._socket.recv(1 << 16)
            except TimeoutError:
                return
            except ConnectionRefusedError:  # nobody listens there, or not yet
                time.sleep(min(left_s, 0.05))

    def _secured(self, data: bytes, wanted: set[int]) -> Pdu | None:
        """An answer of version 3; a report of a wrong time sets the time, where it is provably the agent's."""
        envelope = parse_secured(data)
        if envelope.number not in wanted:
            return None
        if not envelope.flags & 1:  # a report about the question itself cannot be authenticated
            answer = parse_scoped(envelope.content)
            return answer if answer.kind == REPORT and answer.values[:1] and answer.values[0][0] != NOT_IN_TIME else None
        is_report = not envelope.flags & 2
        who = replace(self._who, privacy="") if is_report else self._who
        answer = parse_scoped(opened(who, data, envelope))
        if is_report and self._who.privacy and answer.kind != REPORT:
            raise MessageError("found an answer in clear text; expected an encrypted one")
        self._set(envelope.parameters)
        return answer

    def _discover(self) -> None:
        """Ask the agent for its name, its boots and its time (RFC 3414, section 4). Raises TimeoutError."""
        for patience_s in (FIRST_S, SECOND_S):
            number = next(self._numbers)
            empty = Pdu(kind=GET, request=number, error=0, index=0)
            self._socket.send(secured_message(number, REPORTABLE, Parameters(), scoped(b"", empty)))
            for data in self._datagrams(patience_s):
                try:
                    envelope = parse_secured(data)
                except MessageError:
                    continue
                if envelope.number == number and envelope.parameters.engine:
                    self._set(envelope.parameters)
                    return
        raise TimeoutError(errno.ETIMEDOUT, "no answer to SNMP 3")

    def _set(self, agent: Parameters) -> None:
        self._agent = Parameters(engine=agent.engine, boots=agent.boots, time=agent.time)
        self._agent_at_s = time.monotonic()


def _report(answer: Pdu) -> str:
    """What an agent counted when it refused a question; empty for an answer."""
    return answer.values[0][0] if answer.kind == REPORT and answer.values else ""


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split(".")))
