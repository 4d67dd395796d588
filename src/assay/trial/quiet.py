"""Waits until a machine is quiet: nothing of the target is dirty, and its devices rest.

The target's own dirty data are flushed first. Dirty data after that belong to others, who are waited for as long as the dirty
data shrink, not for ever.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from assay.catalogue import Host
from assay.records import PhasePlan, Place

SECTOR_BYTES = 512
"""/proc/diskstats counts in units of 512 bytes whatever the device's own sector is (Linux admin guide, iostats)."""


@dataclass(frozen=True, kw_only=True)
class QuietWait:
    """What counts as quiet and how long it is waited for."""

    dirty_share: float = 0.01
    """Dirty and being written, over the bytes that the phase plans to move (AUDIT.md, W07)."""
    least_dirty_bytes: int = 64 << 20
    """What the services of a host at work keep dirty for themselves (W07); a phase of metadata plans no bytes at all."""
    device_bytes_per_s: int = 4 << 20
    """Below this a device counts as idle: a file system's own journal commits."""
    longest_ns: int = 30_000_000_000
    unchanged_ns: int = 2_000_000_000
    """Given up after this long without a new low: others keep writing, and waiting does not help."""
    step_ns: int = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """How the wait ended."""

    waited_ns: int
    quiet: bool
    dirty_bytes: int | None
    """Dirty and being written on the whole host at the end of the wait; None where the host does not tell."""


@dataclass(frozen=True, kw_only=True)
class _Look:
    at_ns: int
    dirty_bytes: int | None
    written_bytes: int
    in_flight: int


def wait_for_quiet(host: Host, place: Place, plan: PhasePlan, patience: QuietWait | None = None) -> Quiet:
    """Flush the target, then wait for quiet. A `longest_ns` of 0 neither flushes nor waits. Raises OSError of syncfs."""
    rules = patience or QuietWait()
    started = host.monotonic_ns()
    if rules.longest_ns == 0:
        return Quiet(waited_ns=0, quiet=False, dirty_bytes=_look(host, place).dirty_bytes)
    if host.syscalls is not None and place.directory is not None:
        host.syscalls.syncfs(place.directory)
    allowed = max(rules.least_dirty_bytes, int(planned_bytes(plan) * rules.dirty_share))
    before = _look(host, place)
    lowest, lowest_ns = before.dirty_bytes, before.at_ns
    while True:
        time.sleep(rules.step_ns / 1e9)
        now = _look(host, place)
        calm = _calm(before, now, allowed, rules)
        if _is_lower(now.dirty_bytes, lowest, allowed):
            lowest, lowest_ns = now.dirty_bytes, now.at_ns
        if calm or now.at_ns - lowest_ns > rules.unchanged_ns or now.at_ns - started > rules.longest_ns:
            return Quiet(waited_ns=now.at_ns - started, quiet=calm, dirty_bytes=now.dirty_bytes)
        before = now


def planned_bytes(plan: PhasePlan) -> int:
    """How many bytes the clients of a phase will move, as far as their settings tell; 0 where they do not."""
    return sum(_planned(settings) for settings in plan.settings)


def _planned(settings: Mapping[str, object]) -> int:
    regions = settings.get("regions")
    if isinstance(regions, list | tuple):
        sizes = [region.get("size") for region in regions if isinstance(region, Mapping)]
        return sum(size for size in sizes if isinstance(size, int))
    count, each = settings.get("count"), settings.get("file_bytes")
    return count * each if isinstance(count, int) and isinstance(each, int) else 0


def _calm(before: _Look, now: _Look, allowed: int, rules: QuietWait) -> bool:
    rate = (now.written_bytes - before.written_bytes) * 1e9 / max(1, now.at_ns - before.at_ns)
    clean = now.dirty_bytes is None or now.dirty_bytes <= allowed
    return clean and now.in_flight == 0 and rate <= rules.device_bytes_per_s


def _is_lower(dirty: int | None, lowest: int | None, by: int) -> bool:
    return dirty is not None and (lowest is None or dirty <= lowest - by)


def _look(host: Host, place: Place) -> _Look:
    written, in_flight = _devices(host, place.devices)
    return _Look(at_ns=host.monotonic_ns(), dirty_bytes=_dirty(host), written_bytes=written, in_flight=in_flight)


def _dirty(host: Host) -> int | None:
    found = meminfo(host)
    return found["Dirty"] + found.get("Writeback", 0) if "Dirty" in found else None


def meminfo(host: Host) -> dict[str, int]:
    """Every size of /proc/meminfo in bytes."""
    rows = (line.replace(":", " ").split() for line in text(host, "/proc/meminfo").splitlines())
    return {row[0]: int(row[1]) * 1024 for row in rows if row[2:] == ["kB"]}


def _devices(host: Host, devices: tuple[str, ...]) -> tuple[int, int]:
    """Bytes written so far and requests in flight, summed over the stack."""
    lines = (line.split() for line in text(host, "/proc/diskstats").splitlines())
    own = [words for words in lines if len(words) > 11 and words[2] in devices]
    return sum(int(words[9]) for words in own) * SECTOR_BYTES, sum(int(words[11]) for words in own)


def text(host: Host, path: str) -> str:
    """Content of a file; empty where it cannot be read."""
    try:
        return host.read(path)
    except OSError:
        return ""
