"""Tape drives as the kernel's driver shows them (st(4)): nodes, serial numbers, counters, and the position that mt(1) prints."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.catalogue import Host
from assay.errors import AssayError
from assay.frozen import dataclass

CLASS = "/sys/class/scsi_tape"
COUNTERS = (
    *("read_cnt", "read_byte_cnt", "read_ns", "write_cnt", "write_byte_cnt", "write_ns"),
    *("other_cnt", "io_ns", "resid_cnt", "in_flight"),
)
"""Files below /sys/class/scsi_tape/NAME/stats, since Linux 4.2."""
MT = "mt"
PATIENCE_S = 30.0
"""A drive that loads a medium answers late."""
_DRIVE = re.compile(r"st\d+")
_NODE = re.compile(r"/dev/(n?)(st\d+)[lma]?")
_NUMBER = {name: re.compile(rf"\b{name} number ?= ?(-?\d+)", re.IGNORECASE) for name in ("file", "block")}
_BITS = re.compile(r"General status bits on \([0-9a-f]+\):\n((?: \S+)*)")
_BLOCK = re.compile(r"^(?:Tape block size (\d+) bytes|drive status ?= ?(-?\d+))", re.IGNORECASE | re.MULTILINE)
"""As mt-st prints it; mt of cpio prints the driver's word, whose lowest 24 bits it is (MT_ST_BLKSIZE_MASK in linux/mtio.h)."""
BLOCK_BITS = 0xFFFFFF
HEADER_LETTERS = 4
"""Of a page of vital product data (SPC): peripheral, page code and length, before its text."""
WRITE_PROTECTED, START, NO_MEDIUM, END_OF_DATA = "WR_PROT", "BOT", "DR_OPEN", "EOD"
"""Words of mt(1) for the status of a drive."""


@dataclass(frozen=True, kw_only=True)
class TapeNode:
    """A file below /dev that names a drive."""

    drive: str
    """As the kernel names it: `st0`."""
    rewinds: bool
    """Whether the drive rewinds when the file is closed."""


@dataclass(frozen=True, kw_only=True)
class TapeStatus:
    """What mt(1) printed of a drive."""

    file: int
    """Marks before the position; -1 where the driver does not know it."""
    block: int
    """Records after the last mark; -1 where the driver does not know it."""
    bits: tuple[str, ...]
    block_bytes: int | None = None
    """The fixed size of records that is set; 0 for variable ones, None where it is not told."""


def node(path: str) -> TapeNode | None:
    """Return the drive that a path without links names; None where it names none."""
    match = _NODE.fullmatch(path)
    return TapeNode(drive=match[2], rewinds=not match[1]) if match else None


def drives(host: Host) -> tuple[str, ...]:
    """Return the drives of a host: `st0`."""
    return tuple(name for name in host.list(CLASS) if _DRIVE.fullmatch(name))


def serial(host: Host, drive: str) -> str | None:
    """Return the serial number of a drive; None where it tells none."""
    try:
        text = host.read(f"{CLASS}/{drive}/device/vpd_pg80")
    except OSError:
        return None
    return "".join(letter for letter in text[HEADER_LETTERS:] if letter.isprintable()).strip() or None


def model(host: Host, drive: str) -> str:
    """Return vendor and model of a drive."""
    words = []
    for name in ("vendor", "model"):
        try:
            words.append(host.read(f"{CLASS}/{drive}/device/{name}").strip())
        except OSError:
            continue
    return " ".join(filter(None, words)) or "unknown model"


def status_text(host: Host, drive: str) -> str | Mapping[str, str]:
    """Return what mt(1) prints of a drive, asked without moving its tape; `{"error": reason}` where it prints nothing."""
    try:
        done = host.run([MT, "-f", f"/dev/n{drive}", "status"], check=False, timeout_s=PATIENCE_S)
    except (AssayError, OSError) as error:
        return {"error": str(error)}
    if done.status == 0 and status(done.stdout) is not None:
        return done.stdout
    return {"error": (done.stderr or done.stdout).strip() or f"{MT} ended with {done.status}"}


def status(text: str) -> TapeStatus | None:
    """Parse what mt(1) printed; None where it has no position."""
    found = {name: pattern.search(text) for name, pattern in _NUMBER.items()}
    file, block = found["file"], found["block"]
    if file is None or block is None:
        return None
    bits, size = _BITS.search(text), _BLOCK.search(text)
    return TapeStatus(
        file=int(file[1]),
        block=int(block[1]),
        bits=tuple(bits[1].split()) if bits else (),
        block_bytes=int(size[1] or size[2]) & BLOCK_BITS if size else None,
    )
