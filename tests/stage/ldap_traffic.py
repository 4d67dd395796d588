"""Conversations of LDAP with known truth, and the reader of captures on them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import assay
from stage import ldap_captures as made
from stage.ldap_captures import ANSWERS, MS, START_NS, Connection, Packet

ENGINE = Path(assay.__file__).parent / "bin" / "assay-engine"
NAMES = {
    0x60: "bind",
    0x63: "search",
    0x66: "modify",
    0x68: "add",
    0x4A: "delete",
    0x6C: "rename",
    0x6E: "compare",
    0x77: "extended",
    0x50: "abandon",
    0x42: "unbind",
}


@dataclass
class Truth:
    """What a conversation holds."""

    requests: dict[str, int] = field(default_factory=dict)
    answered: dict[str, int] = field(default_factory=dict)
    response_ns: dict[str, list[int]] = field(default_factory=dict)
    first_entry_ns: dict[str, list[int]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    messages: int = 0
    entries: int = 0
    references: int = 0

    def request(self, operation: bytes) -> str:
        name = NAMES[operation[0]]
        self.requests[name] = self.requests.get(name, 0) + 1
        self.messages += 1
        return name

    def answer(self, name: str, ns: int, code: int, first_ns: int | None) -> None:
        self.answered[name] = self.answered.get(name, 0) + 1
        self.response_ns.setdefault(name, []).append(ns)
        self.codes[str(code)] = self.codes.get(str(code), 0) + 1
        self.messages += 1
        if first_ns is not None:
            self.first_entry_ns.setdefault(name, []).append(first_ns)


@dataclass
class Talk:
    """A connection whose operations are counted as they are made."""

    connection: Connection = field(default_factory=Connection)
    truth: Truth = field(default_factory=Truth)
    t_ns: int = START_NS
    long: bool = False
    """Whether lengths take five bytes."""

    def open(self) -> None:
        self.connection.open(self.t_ns)
        self.t_ns += MS

    def operation(
        self,
        number: int,
        operation: bytes,
        took_ns: int = MS,
        *,
        code: int = 0,
        entries: int = 0,
        references: int = 0,
        pieces: Sequence[int] | None = None,
        gap_ns: int = MS,
    ) -> None:
        """Ask, and answer after a time; entries come half-way."""
        truth, name = self.truth, self.truth.request(operation)
        request = made.message(number, operation, long=self.long)
        self.connection.send(self.t_ns, 0, request, pieces=pieces)
        asked_ns = self.connection.packets[-1].t_ns
        first_ns = None
        parts = [made.entry(f"cn=e{place},dc=example") for place in range(entries)] + [made.reference()] * references
        if parts:
            body = b"".join(made.message(number, part, long=self.long) for part in parts)
            sent = len(self.connection.packets)
            self.connection.send(self.t_ns + took_ns // 2, 1, body, pieces=pieces)
            first_end = len(made.message(number, parts[0], long=self.long))
            first_ns = self._reached(sent, first_end) - asked_ns
        last = made.message(number, made.result(ANSWERS[operation[0]], code), long=self.long)
        self.connection.send(self.t_ns + took_ns, 1, last, pieces=pieces)
        truth.answer(name, self.connection.packets[-1].t_ns - asked_ns, code, first_ns)
        truth.entries += entries
        truth.references += references
        truth.messages += entries + references
        self.t_ns += took_ns + gap_ns

    def _reached(self, sent: int, size: int) -> int:
        """The time of the packet with this byte of those sent since."""
        for packet in self.connection.packets[sent:]:
            size -= len(packet.data)
            if size <= 0:
                return packet.t_ns
        raise AssertionError("fewer bytes than that")

    def alone(self, number: int, operation: bytes) -> None:
        """Send a request that is not answered."""
        self.truth.request(operation)
        self.connection.send(self.t_ns, 0, made.message(number, operation))
        self.t_ns += MS

    def from_server(self, number: int, operation: bytes) -> None:
        self.truth.messages += 1
        self.connection.send(self.t_ns, 1, made.message(number, operation))
        self.t_ns += MS


def everything(connection: Connection | None = None, *, long: bool = False, pieces: Sequence[int] | None = None) -> Talk:
    """A connection with every operation: 3 searches, the primitive ones, ids used again, intermediate answers, a notice."""
    talk = Talk(connection or Connection(), long=long)
    talk.open()
    equal = made.equal("uid", "secret-value")
    both = made.tlv(0xA0, made.equal("OU", "x"), made.equal("cn", "y"), made.equal("ou", "z"))
    talk.operation(1, made.BIND, 3 * MS, pieces=pieces)
    talk.operation(2, made.search(equal), 7 * MS, entries=2, pieces=pieces)
    talk.operation(1, made.search(both, scope=1), 9 * MS, code=32, pieces=pieces)  # an id used again
    talk.operation(2, made.search(equal, attributes=("1.1",)), 1_500 * MS, entries=1, references=1, pieces=pieces)
    for number, operation in enumerate((made.MODIFY, made.ADD, made.DELETE, made.RENAME, made.COMPARE, made.WHO_AM_I)):
        talk.operation(number + 3, operation, (number + 1) * MS, code=6 if operation is made.COMPARE else 0, pieces=pieces)
    talk.alone(20, made.search(equal))
    talk.from_server(20, made.INTERMEDIATE)
    talk.alone(21, made.abandon(20))
    talk.from_server(0, made.NOTICE)
    talk.alone(22, made.UNBIND)
    talk.connection.close(talk.t_ns)
    return talk


def dissected(*files: Path, **options: object) -> dict:
    """What the executable makes of files."""
    line = json.dumps({"files": [str(one) for one in files], **options})
    done = subprocess.run([ENGINE, "dissect", line], capture_output=True, check=True, timeout=300)
    return json.loads(done.stdout)


def of_bytes(directory: Path, content: bytes, **options: object) -> dict:
    path = directory / "capture"
    path.write_bytes(content)
    return dissected(path, **options)


def of_packets(directory: Path, packets: Sequence[Packet], **options: object) -> dict:
    return of_bytes(directory, made.pcap(made.frames(packets), nanoseconds=True), **options)


def rank(values: Sequence[int], permille: int) -> int:
    return sorted(values)[-(-len(values) * permille // 1000) - 1]


def times(values: Sequence[int]) -> dict:
    """The figures of response times."""
    if not values:
        return {"n": 0, "sum": 0, "max": 0, "p50": None, "p90": None, "p99": None, "p999": None, "exact": True}
    shares = {"p50": 500, "p90": 900, "p99": 990, "p999": 999}
    figures = {name: rank(values, permille) for name, permille in shares.items()}
    return {"n": len(values), "sum": sum(values), "max": max(values), **figures, "exact": True}


def agrees(found: dict, truth: Truth) -> None:
    """Hold every count of operations against the truth."""
    kinds = {one["operation"]: one for one in found["operations"]}
    assert {name: one["requests"] for name, one in kinds.items()} == truth.requests
    assert {name: one["answered"] for name, one in kinds.items() if one["answered"]} == truth.answered
    for name, one in kinds.items():
        assert one["response_ns"] == times(truth.response_ns.get(name, [])), name
        assert one["first_entry_ns"] == times(truth.first_entry_ns.get(name, [])), name
    assert found["result_codes"] == truth.codes
    assert (found["messages"], found["entries"], found["references"]) == (truth.messages, truth.entries, truth.references)
