"""The state from which a phase starts: which files stand for its data, what of them is cached, and a quiet machine.

Cold: the pages of the data files, and of the image files below, are given back; where that does not do, the target does it
itself. Warm: the files are read in. Unchanged: nothing is touched. The proof by cachestat(2) is taken in every case.

Memory: a guest that reports free pages gives them to its hypervisor, and each page that the page cache then takes costs a fault
there. So the caches come last, and from the drop to the clock the lab holds as much memory as the phase will fill.

A large existing tree is represented by some of its files, drawn by a seed: to look at each would cost more than to read it. For
an unchanged cache the tree is not walked at all, for that would bring its names and inodes into memory.

Quiet, before the caches: the target's own dirty data are flushed first. Dirty data after that belong to others, who are waited
for as long as the dirty data shrink, not for ever.
"""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.catalogue import CacheStat, Host, Syscalls, Target
from assay.errors import AssayError, TrialError
from assay.machine import files, host_facts
from assay.machine.stack import mount_of
from assay.records import CacheState, EndpointKind, PhasePlan, Place

MOST_FILES, LEAST_FILES = 256, 16
"""The most that the page cache's observer looks at; and few of those of a small tree."""
ONE_OF = 50
"""A file in so many: to look at a file brings its inode into memory, and 2 % of them change no figure that T12 judges by 5 %."""
UNREADABLE = "\ufffd"
"""Stands in a name that is no UTF-8, which can be neither asked about nor written down."""
COLD_SHARE = 0.01
"""At most this share of the pages resident counts as cold: one page in a hundred (AUDIT.md, 0.5: counter noise)."""
WARM_SHARE = 0.99
GROUP_MEMORY = ("cgroup.memory.max", "cgroup.memory.limit_in_bytes")


def with_data_files(host: Host, place: Place, plan: PhasePlan, seed: int) -> PhasePlan:
    """The plan with some files of its tree as data files. Raises TrialError where the tree is not on the target's file system."""
    if plan.tree is None:
        return plan
    _refuse_elsewhere(host, place, plan.tree)
    if plan.cache is CacheState.UNCHANGED:
        return plan
    every = list(files_of(host, plan.tree))
    drawn = sample(every, seed)
    return replace(plan, data_files=drawn, data_share=len(drawn) / max(1, len(every)))


def files_of(host: Host, tree: str) -> Iterable[str]:
    """Every file of the tree that has content and a name that can be told, other file systems left out."""
    listed = host.run(["find", tree, "-xdev", "-type", "f", "-size", "+0", "-print0"], check=False).stdout
    return (path for path in listed.split("\0") if path and UNREADABLE not in path)


def sample(paths: Iterable[str], seed: int) -> tuple[str, ...]:
    """Some of the paths, in order of name: the same ones for the same seed, whatever order they come in."""
    every = list(paths)

    def lot(path: str) -> bytes:
        return hashlib.blake2b(f"{seed}\0{path}".encode(), digest_size=8).digest()

    count = min(MOST_FILES, max(LEAST_FILES, len(every) // ONE_OF))
    return tuple(sorted(heapq.nsmallest(count, every, key=lot)))


def is_below(tree: str, place: str) -> bool:
    """Whether the tree is in the target's own place."""
    return f"{tree}/".startswith(f"{place.rstrip('/')}/")


def _refuse_elsewhere(host: Host, place: Place, tree: str) -> None:
    seen = host.run(["stat", "-L", "-c", "%d", "--", tree, place.address]).stdout.split()
    if len(set(seen)) > 1:
        raise TrialError(
            f"the tree {tree} is on another file system than the target's {place.address}. "
            f"Use a target of kind existing with path = {tree}."
        )


@dataclass(frozen=True, kw_only=True)
class Proof:
    """In which state the caches were found, None where it is neither cold nor warm or cannot be seen."""

    proved: CacheState | None
    share: float | None
    """Share of the data files' pages that are resident, 0..1; None where there are no files or nobody may ask."""
    refusal: str | None = None
    """Why the state that was asked for could not be made, in words."""
    new_files: bool | None = None
    """Whether none of the data files was there (True), or all were (False)."""


def establish(host: Host, target: Target, place: Place, plan: PhasePlan) -> Proof:
    """Make the caches as the phase asks and look. Raises TrialError where reading the files in fails."""
    refusal = None
    if plan.cache is CacheState.COLD:
        refusal = _drop_caches(host, target, place, plan)
    elif plan.cache is CacheState.WARM:
        _read_in(host, plan.data_files)
    return proof(host, place, plan, refusal)


def proof(host: Host, place: Place, plan: PhasePlan, refusal: str | None = None) -> Proof:
    """Which state the data files are in; a cold file above an image that is not cold is not cold."""
    share = resident_share(host, plan.data_files)
    below = resident_share(host, place.backing_files) if place.backing_files else 0.0
    there = {host.exists(path) for path in plan.data_files}
    return Proof(
        proved=_state(share, below), share=share, refusal=refusal, new_files=not there.pop() if len(there) == 1 else None
    )


def resident_share(host: Host, paths: Sequence[str]) -> float | None:
    """Pages in the page cache over pages of these files; files that are not there yet have none. None: unknown."""
    found = _cached(host, paths)
    if found is None or not paths:
        return None
    total = sum(-(-one.file_bytes // one.page_bytes) for one in found)
    return min(1.0, sum(one.cached for one in found) / total) if total else 0.0


def _cached(host: Host, paths: Sequence[str]) -> list[CacheStat] | None:
    """What the page cache holds of those files that are there. None: unknown."""
    calls = host.syscalls
    if calls is None:
        return None
    try:
        return [calls.cachestat(path) for path in paths if host.exists(path)]
    except OSError:
        return None


MOST_HELD_BYTES = 4 << 30
"""A page that the hypervisor took back costs 9 us (measured under Firecracker), so these cost 9 s at most."""
SPARED = 2
"""Of the free memory one byte in so many is held."""


@contextlib.contextmanager
def memory_held(host: Host, plan: PhasePlan) -> Iterator[None]:
    """Hold as much memory as the buffered cold reads of these files fill; it is free, and the guest's own, at the end.

    Only on a guest that reports free pages, and of free memory alone, so that nothing is reclaimed.
    """
    with contextlib.ExitStack() as held:
        if (length := _to_hold(host, plan)) and host.syscalls is not None:
            with contextlib.suppress(OSError):  # the reads may then be slower; L01 names the cause
                held.enter_context(host.syscalls.memory_held(length))
        yield


def _to_hold(host: Host, plan: PhasePlan) -> int:
    buffered = plan.cache is CacheState.COLD and any(not settings.get("direct") for settings in plan.settings)
    if not buffered or not host_facts.reports_free_pages(_text(host, host_facts.PAGE_REPORTING)):
        return 0
    size = sum(one.file_bytes for one in _cached(host, plan.data_files) or ())
    return min(round(size / (plan.data_share or 1.0)), MOST_HELD_BYTES, _free_bytes(host) // SPARED)


def _free_bytes(host: Host) -> int:
    """Free memory, and no more than the control group of this process may have."""
    limits = (_text(host, path).strip() for key, path in host_facts.cgroup_files(host).items() if key in GROUP_MEMORY)
    return min((_meminfo(host).get("MemFree", 0), *(int(limit) for limit in limits if limit.isdigit())))


def _state(share: float | None, below: float | None) -> CacheState | None:
    if share is None:
        return None
    if share >= WARM_SHARE:
        return CacheState.WARM
    return CacheState.COLD if share <= COLD_SHARE and below is not None and below <= COLD_SHARE else None


def _drop_caches(host: Host, target: Target, place: Place, plan: PhasePlan) -> str | None:
    """Give the pages of the files back; the target is asked where there are no files or some pages stay.

    The data files of a tree are some of its files only: there the target is always asked, and a tree that is not in its own place
    gives back the pages of every file.
    """
    if host.syscalls is not None:
        _drop(host, host.syscalls, (*plan.data_files, *place.backing_files))
    if plan.tree is None and proof(host, place, plan).proved is CacheState.COLD:
        return None
    try:
        if plan.tree is not None and not is_below(host.real_path(plan.tree), place.address):
            files.drop_files(host, plan.tree, mount_of(host, plan.tree).filesystem)
        else:
            target.drop_caches(host, place)
    except AssayError as error:
        return str(error)
    return None


def _drop(host: Host, calls: Syscalls, paths: Sequence[str]) -> None:
    # A file that we may not drop is still looked at afterwards: the proof says what came of it.
    for path in paths:
        if host.exists(path):
            with contextlib.suppress(OSError):
                calls.drop_file(path)


def _read_in(host: Host, paths: Sequence[str]) -> None:
    for path in paths:
        if host.exists(path):
            host.run(["dd", f"if={path}", "of=/dev/null", "bs=1M", "status=none"])


SECTOR_BYTES = 512
"""/proc/diskstats counts in units of 512 bytes whatever the device's own sector is (Linux admin guide, iostats)."""


@dataclass(frozen=True, kw_only=True)
class Patience:
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


def wait_for_quiet(host: Host, place: Place, plan: PhasePlan, patience: Patience | None = None) -> Quiet:
    """Flush the target, then wait for quiet. A `longest_ns` of 0 neither flushes nor waits. Raises OSError of syncfs."""
    rules = patience or Patience()
    started = host.monotonic_ns()
    if rules.longest_ns == 0:
        return Quiet(waited_ns=0, quiet=False, dirty_bytes=_look(host, place).dirty_bytes)
    if host.syscalls is not None and place.kind is EndpointKind.DIRECTORY:
        host.syscalls.syncfs(place.address)
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


def _calm(before: _Look, now: _Look, allowed: int, rules: Patience) -> bool:
    rate = (now.written_bytes - before.written_bytes) * 1e9 / max(1, now.at_ns - before.at_ns)
    clean = now.dirty_bytes is None or now.dirty_bytes <= allowed
    return clean and now.in_flight == 0 and rate <= rules.device_bytes_per_s


def _is_lower(dirty: int | None, lowest: int | None, by: int) -> bool:
    return dirty is not None and (lowest is None or dirty <= lowest - by)


def _look(host: Host, place: Place) -> _Look:
    written, in_flight = _devices(host, place.devices)
    return _Look(at_ns=host.monotonic_ns(), dirty_bytes=_dirty(host), written_bytes=written, in_flight=in_flight)


def _dirty(host: Host) -> int | None:
    found = _meminfo(host)
    return found["Dirty"] + found.get("Writeback", 0) if "Dirty" in found else None


def _meminfo(host: Host) -> dict[str, int]:
    """Every size of /proc/meminfo in bytes."""
    rows = (line.replace(":", " ").split() for line in _text(host, "/proc/meminfo").splitlines())
    return {row[0]: int(row[1]) * 1024 for row in rows if row[2:] == ["kB"]}


def _devices(host: Host, devices: tuple[str, ...]) -> tuple[int, int]:
    """Bytes written so far and requests in flight, summed over the stack."""
    lines = (line.split() for line in _text(host, "/proc/diskstats").splitlines())
    own = [words for words in lines if len(words) > 11 and words[2] in devices]
    return sum(int(words[9]) for words in own) * SECTOR_BYTES, sum(int(words[11]) for words in own)


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path)
    except OSError:
        return ""
