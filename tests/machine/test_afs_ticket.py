"""afs_ticket: the ticket as the server takes it apart, with DES of openssl, block by block."""

import struct
import subprocess

import pytest

from assay.errors import TrialError
from assay.machine import afs_ticket
from stage.targets_host import HOST

SERVER, SESSION = (afs_ticket.odd(bytes.fromhex(text)) for text in ("0123456789abcdef", "ffeeddccbbaa9988"))


def test_a_key_has_odd_bytes():
    assert all(byte.bit_count() % 2 for key in (SERVER, SESSION, afs_ticket.odd(bytes(range(0, 256, 2)))) for byte in key)
    assert afs_ticket.odd(bytes.fromhex("0123456789abcdef")) == bytes.fromhex("0123456789abcdef")


def test_the_ticket_comes_back_under_the_servers_key():
    plain = afs_ticket.plain_ticket("user", "assay.example", SESSION, 1_800_000_000)
    try:
        sealed = afs_ticket.encrypted(HOST, SERVER, plain)
    except TrialError as error:
        pytest.skip(f"openssl has no DES here: {error}")
    assert len(sealed) == len(plain)
    assert unsealed(sealed) == plain
    assert plain.startswith(b"\0user\0\0assay.example\0" + bytes(4) + SESSION)
    assert plain.rstrip(b"\0").endswith(struct.pack(">BI", afs_ticket.LIFE, 1_800_000_000) + b"afs")


def unsealed(sealed):
    """PCBC undone: each block is decrypted, and XORed with both sides of the block before."""
    words = ["openssl", "enc", "-d", "-des-ecb", "-nopad", "-provider", "legacy", "-provider", "default", "-K", SERVER.hex()]
    opened = subprocess.run(words, input=sealed, capture_output=True, check=True).stdout
    before, found = SERVER, b""
    for at in range(0, len(sealed), 8):
        block = bytes(one ^ other for one, other in zip(opened[at : at + 8], before, strict=True))
        before = bytes(one ^ other for one, other in zip(block, sealed[at : at + 8], strict=True))
        found += block
    return found


def test_the_files_are_as_server_and_kernel_read_them():
    assert afs_ticket.key_file(SERVER) == bytes.fromhex("0000000100000001") + SERVER
    payload = afs_ticket.kernel_key(b"t" * 16, SESSION, 1000)
    assert struct.unpack("=IHHII8s", payload[:24]) == (1, 2, 16, 1000 + afs_ticket.LASTS_S, 1, SESSION)
    assert payload[24:] == b"t" * 16
