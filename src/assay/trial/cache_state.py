"""Puts the caches into the state that a phase asks for, and proves by cachestat(2) which state they are in.

Cold: the pages of the data files, and of the image files below, are given back; where that does not do, the target does it
itself. Warm: the files are read in. Unchanged: nothing is touched. The proof is taken in every case.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from assay.catalogue import Host, Syscalls, Target
from assay.errors import AssayError
from assay.machine import files
from assay.machine.stack import mount_of
from assay.records import CacheState, PhasePlan, Place
from assay.trial import trees

COLD_SHARE = 0.01
"""At most this share of the pages resident counts as cold: one page in a hundred (AUDIT.md, 0.5: counter noise)."""
WARM_SHARE = 0.99


@dataclass(frozen=True, kw_only=True)
class Proof:
    """In which state the caches were found, None where it is neither cold nor warm or cannot be seen."""

    proved: CacheState | None
    share: float | None
    """Share of the data files' pages that are resident, 0..1; None where there are no files or nobody may ask."""
    refusal: str | None = None
    """Why the state that was asked for could not be made, in words."""


def establish(host: Host, target: Target, place: Place, plan: PhasePlan) -> Proof:
    """Make the caches as the phase asks and look. Raises TrialError where reading the files in fails."""
    refusal = None
    if plan.cache is CacheState.COLD:
        refusal = _drop_caches(host, target, place, plan)
    elif plan.cache is CacheState.WARM:
        _read_in(host, plan.data_files)
    return look(host, place, plan, refusal)


def look(host: Host, place: Place, plan: PhasePlan, refusal: str | None = None) -> Proof:
    """Which state the data files are in; a cold file above an image that is not cold is not cold."""
    share = resident_share(host, plan.data_files)
    below = resident_share(host, place.backing_files) if place.backing_files else 0.0
    return Proof(proved=_state(share, below), share=share, refusal=refusal)


def resident_share(host: Host, paths: Sequence[str]) -> float | None:
    """Pages in the page cache over pages of these files; files that are not there yet have none. None: unknown."""
    calls = host.syscalls
    if calls is None or not paths:
        return None
    cached = total = 0
    for path in paths:
        if not host.exists(path):
            continue
        try:
            found = calls.cachestat(path)
        except OSError:
            return None
        cached += found.cached
        total += -(-found.file_bytes // found.page_bytes)
    return min(1.0, cached / total) if total else 0.0


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
    if plan.tree is None and look(host, place, plan).proved is CacheState.COLD:
        return None
    try:
        if plan.tree is not None and not trees.is_below(host.real_path(plan.tree), place.address):
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
