"""The state from which a phase starts: which files stand for its data, and what of them is cached.

Cold: the pages of the data files, and of the image files below, are given back; where that does not do, the target does it
itself. A target with a server, or on another host than the clients, always does it: a client's pages tell nothing of a server's.
Warm: the files are read in. Unchanged: nothing is touched. The proof by cachestat(2) is taken in every case: on the clients'
hosts of the files that they name, on the server's hosts of the server's own.

Memory: a guest that reports free pages gives them to its hypervisor, and each page that the page cache then takes costs a fault
there. So the caches come last, and from the drop to the clock the lab holds as much memory as the phase will fill.

A large existing tree is represented by some of its files, drawn by a seed: to look at each would cost more than to read it. For
an unchanged cache the tree is not walked at all, for that would bring its names and inodes into memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from assay.catalogue import CacheStat, Host, Syscalls, Target
from assay.errors import AssayError, TrialError
from assay.machine import files, host_facts
from assay.machine.server import MOST_FILES as MOST_SERVER_FILES
from assay.machine.server import data_files
from assay.machine.stack import mount_of
from assay.records import CacheState, PhasePlan, Place
from assay.trial import quiet

MOST_FILES, LEAST_FILES = 256, 16
"""The most that the page cache's observer looks at; and few of those of a small tree."""
ONE_OF = 50
"""A file in so many: to look at a file brings its inode into memory, and 2 % of them change no figure that T12 judges by 5 %."""
UNREADABLE = "\ufffd"
"""Stands in a name that is no UTF-8, which can be neither asked about nor written down."""
COLD_SHARE = 0.01
"""At most this share of the pages resident counts as cold: one page in a hundred (AUDIT.md, 0.5: counter noise)."""
WARM_SHARE = 0.99
MOST_ASKED = 256
"""Of so many data files it is asked whether they are there: each question is a trip where the host is far."""
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
    server_share: float | None = None
    """Share of the pages of the server's data files on this host that are resident; None where there are none, or unknown."""


def of_clients(host: Host, plan: PhasePlan) -> None:
    """Make the caches of a client's host as the phase asks, and leave the target alone."""
    if plan.cache is CacheState.COLD and host.syscalls is not None:
        _drop(host, host.syscalls, plan.data_files)
    elif plan.cache is CacheState.WARM:
        _read_in(host, plan.data_files)


def of_target(host: Host, target: Target, place: Place) -> str | None:
    """Make the target cold; why it could not be, None where it was."""
    if host.syscalls is not None:
        _drop(host, host.syscalls, place.backing_files)
    try:
        target.drop_caches(host, place)
    except AssayError as error:
        return str(error)
    return None


def server_share(host: Host, place: Place) -> float | None:
    """Resident pages over pages of the data files of the server's node on this host; None without such files, or unknown."""
    nodes = place.server.on(host.name) if place.server else ()
    if not any(node.data for node in nodes):
        return None
    paths = data_files(host, nodes)
    return None if len(paths) > MOST_SERVER_FILES else resident_share(host, paths)


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
    there = {host.exists(path) for path in plan.data_files[:MOST_ASKED]}
    served = server_share(host, place)
    if served is not None and below is not None:
        below = max(below, served)
    return Proof(
        proved=_state(served if share is None else share, below),
        share=share,
        refusal=refusal,
        new_files=not there.pop() if len(there) == 1 else None,
        server_share=served,
    )


def resident_share(host: Host, paths: Sequence[str]) -> float | None:
    """Pages in the page cache over pages of these files; files that are not there yet have none. None: unknown."""
    found = _cached(host, paths)
    if found is None or not paths:
        return None
    total = sum(-(-one.content_bytes // one.page_bytes) for one in found)
    return min(1.0, sum(one.cached for one in found) / total) if total else 0.0


def _cached(host: Host, paths: Sequence[str]) -> Sequence[CacheStat] | None:
    """What the page cache holds of those files that are there. None: unknown."""
    calls = host.syscalls
    if calls is None:
        return None
    try:
        return calls.cachestats(paths)
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
    if not buffered or not host_facts.reports_free_pages(quiet.text(host, host_facts.PAGE_REPORTING)):
        return 0
    size = sum(one.file_bytes for one in _cached(host, plan.data_files) or ())
    return min(round(size / (plan.data_share or 1.0)), MOST_HELD_BYTES, _free_bytes(host) // SPARED)


def _free_bytes(host: Host) -> int:
    """Free memory, and no more than the control group of this process may have."""
    limits = (quiet.text(host, path).strip() for key, path in host_facts.cgroup_files(host).items() if key in GROUP_MEMORY)
    return min((quiet.meminfo(host).get("MemFree", 0), *(int(limit) for limit in limits if limit.isdigit())))


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
