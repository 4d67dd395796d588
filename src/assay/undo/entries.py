"""The entries of a ledger, and their file: JSON lines, only ever appended and synced.

`{"n":1,"host":"local","boot":"…","kind":"mount","details":{…}}` is written before the act, `{"struck":1}` after it was undone.
The last line may be torn by a kill and is then left out: what it announced never began.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

GONE_WITH_BOOT = frozenset({"mount", "loop", "throttle", "cgroup", "process", "family", "setting"})
"""Kinds that no reboot survives: after one, equal names belong to others."""


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One thing to undo, and the machine on which it was done."""

    n: int
    host: str
    boot: str
    kind: str
    details: Mapping[str, str]
    serial: str = ""
    """As `Machine.serial`; an older ledger does not say."""
    address: str = ""
    """Where the host was reached; empty for this machine."""
    names: Mapping[str, str] = field(default_factory=dict)
    """As `Machine.names`; an older ledger does not say."""
    note: str = ""
    """The file in which a far machine keeps the same note; empty where it keeps none."""

    def __str__(self) -> str:
        """Return what it is, in the words of who made it run: `server slapd (mark 7c445ac95edbd360)`, `mount of tank at /x`."""
        try:
            argv = shlex.join(map(str, json.loads(self.details.get("argv", "[]"))))
            return WORDS[self.kind].format_map({"what": WHAT.get(self.kind, ""), "of": "", **self.details, "argv": argv})
        except (KeyError, ValueError, TypeError):  # of a later version, or damaged
            return f"{self.kind} " + " ".join(f"{key}={value}" for key, value in sorted(self.details.items()))


WHAT = {"family": "processes of the lab", "process": "process of the lab"}
"""What an entry is that does not say it itself (detail `what`)."""
WORDS = {
    "directory": "directory {path}{of}",
    "file": "file {path}",
    "own_file": "file {path}",
    "mount": "mount of {device} at {path}",
    "loop": "loop device {device} of {image}",
    "throttle": "throttle rule of device {device} ({file})",
    "cgroup": "control group {path}",
    "process": "{what} (pid {pid})",
    "family": "{what} (mark {token})",
    "command": "command {argv}",
    "setting": "setting {back_path} = {back}",
}


@dataclass(frozen=True, kw_only=True)
class Orphan:
    """The file of an owner that is gone, and what it left."""

    file: str
    entries: tuple[LedgerEntry, ...]


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """What became of one entry of an orphan: undone, gone (not there or not ours any more), left or forgotten with the reason."""

    entry: LedgerEntry
    state: str
    reason: str = ""


def in_order(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Return the order of undoing: throttle rules first (a flush should not wait for them), then the latest first."""
    return sorted(entries, key=lambda entry: (entry.kind != "throttle", -entry.n))


def write_down(descriptor: int, entry: LedgerEntry) -> None:
    """Append an entry durably. Raises OSError where there is no room for all of it, and then leaves nothing of it."""
    _append(descriptor, vars(entry))


def strike(descriptor: int, entry: LedgerEntry) -> None:
    """Strike out what was undone. Where there is no room for that, the entry is found gone by whoever reads the file next."""
    with contextlib.suppress(OSError):
        _append(descriptor, {"struck": entry.n})


def left_in(descriptor: int) -> tuple[LedgerEntry, ...]:
    """Return what is in a file and not struck out. A torn last line is ended first, so that what is appended stays readable."""
    size = os.fstat(descriptor).st_size
    content = os.pread(descriptor, size, 0)
    if content and not content.endswith(b"\n"):
        os.write(descriptor, b"\n")
    found: dict[int, LedgerEntry] = {}
    for line in content.splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            fields = json.loads(line)
            if "struck" in fields:
                found.pop(fields["struck"], None)
            else:
                entry = LedgerEntry(**fields)
                found[entry.n] = entry
    return tuple(found.values())


def _append(descriptor: int, line: Mapping[str, object]) -> None:
    data = json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    before = os.fstat(descriptor).st_size
    if os.write(descriptor, data) < len(data):  # a file system that fills up within a line says no more than that
        os.ftruncate(descriptor, before)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)
