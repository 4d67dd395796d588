"""Which files of an existing tree stand for it: some of them, drawn by a seed, whose pages and extents are looked at.

To look at every file of a tree would cost more than to read it. Where nothing is to be known beforehand (unchanged) the tree is
not walked at all, for that would bring its names and inodes into memory.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable
from dataclasses import replace

from assay.catalogue import Host
from assay.errors import TrialError
from assay.records import CacheState, PhasePlan, Place

MOST_FILES, LEAST_FILES = 256, 16
"""The most that the page cache's observer looks at; and few of those of a small tree."""
ONE_OF = 50
"""A file in so many: to look at a file brings its inode into memory, and 2 % of them change no figure that T12 judges by 5 %."""
UNREADABLE = "\ufffd"
"""Stands in a name that is no UTF-8, which can be neither asked about nor written down."""


def settled(host: Host, place: Place, plan: PhasePlan, seed: int) -> PhasePlan:
    """The plan with some files of its tree as data files. Raises TrialError where the tree is not on the target's file system."""
    if plan.tree is None:
        return plan
    _refuse_elsewhere(host, place, plan.tree)
    if plan.cache is CacheState.UNCHANGED:
        return plan
    return replace(plan, data_files=drawn(files(host, plan.tree), seed))


def files(host: Host, tree: str) -> Iterable[str]:
    """Every file of the tree that has content and a name that can be told, other file systems left out."""
    listed = host.run(["find", tree, "-xdev", "-type", "f", "-size", "+0", "-print0"], check=False).stdout
    return (path for path in listed.split("\0") if path and UNREADABLE not in path)


def drawn(paths: Iterable[str], seed: int) -> tuple[str, ...]:
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
