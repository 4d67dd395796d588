"""A key and a ticket for a cell of our own, without Kerberos: the ticket of rxkad is ours to write, as the server's key is ours.

Layout: Kerberos 4's ticket (create_ticket in its library, tkt_MakeTicket in OpenAFS), in PCBC of DES under the server's key,
which is the first block, too. PCBC is CBC of a text whose blocks were XORed with the block before, so openssl's CBC makes it.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence

from assay.catalogue import Host
from assay.frozen import dataclass

BLOCK, VERSION, RXKAD, FORMAT = 8, 1, 2, 1
"""Bytes of a DES block; the number of the server's key; the kind of security, and of the key's own layout, in the kernel."""
LIFE, LASTS_S = 120, 36_000
"""Ten hours, in units of five minutes and in seconds."""
TOOLS = ("openssl", "keyctl", "base64")
DES = ("openssl", "enc", "-des-cbc", "-nopad", "-provider", "legacy", "-provider", "default", "-base64", "-A")


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """The server's key and the session's, each of eight bytes of odd parity."""

    server: bytes
    session: bytes


def odd(key: bytes) -> bytes:
    """Return a key of DES: the lowest bit of each byte makes its number of ones odd."""
    return bytes((byte & 0xFE) | (not (byte & 0xFE).bit_count() % 2) for byte in key)


def key_file(key: bytes) -> bytes:
    """Return the file KeyFile with one key."""
    return struct.pack(">ii8s", 1, VERSION, key)


def plain_ticket(name: str, cell: str, session: bytes, now_s: int) -> bytes:
    """Return the ticket of a user of a cell for the service afs, before it is encrypted."""
    words = b"".join(word.encode() + b"\0" for word in (name, "", cell))
    made = b"\0" + words + struct.pack(">I8sBI", 0, session, LIFE, now_s) + b"afs\0\0"
    return made.ljust(-(-len(made) // BLOCK) * BLOCK, b"\0")


def chained(plain: bytes) -> bytes:
    """Return the text whose CBC is the PCBC of this one."""
    blocks = [plain[at : at + BLOCK] for at in range(0, len(plain), BLOCK)]
    before = [bytes(BLOCK), *blocks]
    return b"".join(bytes(one ^ other for one, other in zip(*pair, strict=True)) for pair in zip(blocks, before, strict=False))


def encrypted(host: Host, key: bytes, plain: bytes) -> bytes:
    """Return the PCBC of a text under a key, which is also its first block. Raises TrialError where openssl has no DES."""
    text = _base64(chained(plain))
    words = ("sh", "-c", 'base64 -d | "$@"', "sh", *DES, "-K", key.hex(), "-iv", key.hex())
    return base64.b64decode(host.run(words, input_text=text).stdout)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def kernel_key(ticket: bytes, session: bytes, now_s: int) -> bytes:
    """Return the payload of a key of the type rxrpc (struct rxrpc_key_data_v1 after its version)."""
    return struct.pack("=IHHII8s", FORMAT, RXKAD, len(ticket), now_s + LASTS_S, VERSION, session) + ticket


def give(host: Host, within: Sequence[str], cell: str, payload: bytes) -> None:
    """Add the key to the user's keyring from a network namespace: it is found there alone, and ends with the namespace."""
    script = 'base64 -d | keyctl padd rxrpc "afs@$1" @u'
    host.run([*within, "sh", "-c", script, "sh", cell], input_text=_base64(payload))
