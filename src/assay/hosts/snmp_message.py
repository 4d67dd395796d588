"""Messages of SNMP as bytes: the part of BER (X.690) that RFC 3416 uses, GET and GETBULK, versions 2c and 3.

Pure functions; nothing here touches a network. Every length is held against what is there, so a wrong message is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.frozen import dataclass

INTEGER, OCTETS, NULL, OBJECT, SEQUENCE = 0x02, 0x04, 0x05, 0x06, 0x30
UNSIGNED = (0x41, 0x42, 0x43, 0x46)
"""Counter32, Gauge32, TimeTicks, Counter64."""
ABSENT = (0x80, 0x81, 0x82)
"""noSuchObject, noSuchInstance, endOfMibView: there is no such value."""
ADDRESS, OPAQUE = 0x40, 0x44
GET, RESPONSE, GET_BULK, REPORT = 0xA0, 0xA2, 0xA5, 0xA8
VERSION_2C, VERSION_3 = 1, 3
TOO_BIG = 1
LONGEST_BYTES = 65507
"""No UDP datagram is longer."""
Value = int | str | None


class MessageError(ValueError):
    """Bytes that are no message of this kind."""


@dataclass(frozen=True, kw_only=True)
class Pdu:
    """A question or an answer: OID and value pairs."""

    kind: int
    request: int
    error: int
    """Of an answer: why it failed; of GETBULK: how many values are no rows."""
    index: int
    """Of an answer: which value failed; of GETBULK: how many rows are wanted."""
    values: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Security parameters of version 3 (RFC 3414)."""

    engine: bytes = b""
    boots: int = 0
    time: int = 0
    user: bytes = b""
    authentication: bytes = b""
    privacy: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """A message of version 3 as it came: what follows the parameters may be encrypted."""

    number: int
    flags: int
    parameters: Parameters
    content: bytes


def element(tag: int, body: bytes) -> bytes:
    """Return a tag, a length and a body."""
    if len(body) < 0x80:
        return bytes((tag, len(body))) + body
    length = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + body


def integer(number: int) -> bytes:
    """Return a whole number as the shortest two's complement."""
    return element(INTEGER, number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True))


def oid(text: str) -> bytes:
    """Return an object identifier such as 1.3.6.1. Raises ValueError where it is none."""
    first, second, *rest = (int(part) for part in text.strip(".").split("."))
    return element(OBJECT, b"".join(map(_base128, (40 * first + second, *rest))))


def _base128(number: int) -> bytes:
    parts = [number & 0x7F]
    while number := number >> 7:
        parts.append(0x80 | number & 0x7F)
    return bytes(reversed(parts))


def question(pdu: Pdu) -> bytes:
    """Return a question as bytes; its values are OIDs alone."""
    pairs = b"".join(element(SEQUENCE, oid(name) + element(NULL, b"")) for name, _ in pdu.values)
    return element(pdu.kind, integer(pdu.request) + integer(pdu.error) + integer(pdu.index) + element(SEQUENCE, pairs))


def community_message(community: bytes, pdu: Pdu) -> bytes:
    """Return a message of version 2c."""
    return element(SEQUENCE, integer(VERSION_2C) + element(OCTETS, community) + question(pdu))


def secured_message(number: int, flags: int, parameters: Parameters, content: bytes) -> bytes:
    """Return a message of version 3 with the user-based security model."""
    head = integer(number) + integer(LONGEST_BYTES) + element(OCTETS, bytes((flags,))) + integer(3)
    texts = (parameters.user, parameters.authentication, parameters.privacy)
    body = element(OCTETS, parameters.engine) + integer(parameters.boots) + integer(parameters.time)
    security = element(SEQUENCE, body + b"".join(element(OCTETS, text) for text in texts))
    return element(SEQUENCE, integer(VERSION_3) + element(SEQUENCE, head) + element(OCTETS, security) + content)


def scoped(engine: bytes, pdu: Pdu) -> bytes:
    """Return the scoped PDU of version 3: engine, no context, question."""
    return element(SEQUENCE, element(OCTETS, engine) + element(OCTETS, b"") + question(pdu))


def elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and body of all elements. Raises MessageError."""
    at = 0
    while at < len(data):
        tag, body, at = _element(data, at)
        yield tag, body


def _element(data: bytes, at: int) -> tuple[int, bytes, int]:
    if at + 2 > len(data):
        raise MessageError("found the end of the message; expected a tag and a length")
    tag, length, start = data[at], data[at + 1], at + 2
    if length >= 0x80:
        size = length & 0x7F
        if not 0 < size <= 4:
            raise MessageError(f"found a length of {size} bytes; expected 1 to 4")
        length, start = int.from_bytes(data[start : start + size], "big"), start + size
    if start + length > len(data):
        raise MessageError(f"found {len(data) - start} bytes; expected {length}")
    return tag, data[start : start + length], start + length


def fields(data: bytes, *tags: int) -> list[bytes]:
    """Return the bodies of elements with exactly these tags. Raises MessageError."""
    found = list(elements(data))
    if [tag for tag, _ in found] != list(tags):
        raise MessageError(f"found tags {[hex(tag) for tag, _ in found]}; expected {[hex(tag) for tag in tags]}")
    return [body for _, body in found]


def parse_community(data: bytes) -> Pdu:
    """Parse a message of version 2c. Raises MessageError."""
    (body,) = fields(data, SEQUENCE)
    found = list(elements(body))
    if len(found) != 3 or [tag for tag, _ in found[:2]] != [INTEGER, OCTETS] or signed(found[0][1]) != VERSION_2C:
        raise MessageError("found another message; expected version, community and answer of SNMP 2c")
    return pdu_of(*found[2])


def parse_secured(data: bytes) -> Envelope:
    """Parse a message of version 3. Raises MessageError."""
    (body,) = fields(data, SEQUENCE)
    found = list(elements(body))
    if len(found) != 4 or [tag for tag, _ in found[:3]] != [INTEGER, SEQUENCE, OCTETS] or signed(found[0][1]) != VERSION_3:
        raise MessageError("found another message; expected version, header, parameters and answer of SNMP 3")
    number, _, flags, _ = fields(found[1][1], INTEGER, INTEGER, OCTETS, INTEGER)
    (security,) = fields(found[2][1], SEQUENCE)
    engine, boots, time, user, authentication, privacy = fields(security, OCTETS, INTEGER, INTEGER, OCTETS, OCTETS, OCTETS)
    parameters = Parameters(
        engine=engine, boots=signed(boots), time=signed(time), user=user, authentication=authentication, privacy=privacy
    )
    tag, content = found[3]
    return Envelope(number=signed(number), flags=flags[0] if flags else 0, parameters=parameters, content=element(tag, content))


def parse_scoped(data: bytes) -> Pdu:
    """Parse a scoped PDU; what follows it is padding. Raises MessageError."""
    tag, body, _ = _element(data, 0)
    found = list(elements(body)) if tag == SEQUENCE else []
    if len(found) != 3:
        raise MessageError("found no scoped PDU; expected engine, context and answer")
    return pdu_of(*found[2])


def pdu_of(kind: int, body: bytes) -> Pdu:
    """Parse an answer. Raises MessageError."""
    request, error, index, listed = fields(body, INTEGER, INTEGER, INTEGER, SEQUENCE)
    pairs = [list(elements(pair)) for tag, pair in elements(listed) if tag == SEQUENCE]
    if any(len(pair) != 2 or pair[0][0] != OBJECT for pair in pairs):
        raise MessageError("found a value without an OID; expected pairs")
    values = tuple((_oid_of(name), _value(*value)) for (_, name), value in pairs)
    return Pdu(kind=kind, request=signed(request), error=signed(error), index=signed(index), values=values)


def signed(body: bytes) -> int:
    """Return a whole number."""
    return int.from_bytes(body, "big", signed=True)


def _oid_of(body: bytes) -> str:
    numbers: list[int] = []
    number = 0
    for byte in body:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    if not numbers:
        raise MessageError("found an empty OID; expected numbers")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _value(tag: int, body: bytes) -> Value:
    if tag == INTEGER:
        return signed(body)
    if tag in UNSIGNED:
        return int.from_bytes(body, "big")
    if tag == OBJECT:
        return _oid_of(body)
    if tag in ABSENT or tag == NULL:
        return None
    return _text(body)


def _text(body: bytes) -> str:
    try:
        text = body.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        return body.hex()
    return " ".join(text.split()) if text.isprintable() or text.split() else body.hex()


def rows(values: Sequence[tuple[str, Value]]) -> str:
    """Return lines of OID and value, separated by a blank; values that are not there are left out."""
    return "".join(f"{name} {value}\n" for name, value in values if value is not None)
