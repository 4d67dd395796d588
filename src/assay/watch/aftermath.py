"""Right after a command's end: what of its files is dirty, the last look, the flush of what it wrote, a look after that."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer
from assay.frozen import dataclass
from assay.observing.sampler import Sampler
from assay.records import Edge, Subject, Touched
from assay.watch import files as touched

LATE_FILES = 64
"""Of the files that were not known beforehand, so many are looked at by the observer of the page cache, large ones first."""
LATE_AT_ONCE = 16
"""As many as that observer looks at in one phase."""


@dataclass(frozen=True, kw_only=True)
class Aftermath:
    """What was found and done between the end of the last process and the look after the drain."""

    files: tuple[Touched, ...]
    drain: touched.Drain | None
    drained_bytes: int | None
    late: tuple[Sampler, ...]
    """What looked at the files that were not known beforehand."""

    def evidence(self, phase: str, t0_ns: int) -> Iterator[Evidence]:
        """What the late looks saw, without what those looks cost."""
        for sampler in self.late:
            yield sampler.seen(phase, t0_ns).evidence


def settle(
    host: Host, sampler: Sampler, was: Sequence[touched.Before], files: Mapping[str, bool], observers: Sequence[Observer]
) -> Aftermath:
    """Look, flush every written file, look again. `files` maps each touched path to whether it was written."""
    found = touched.after(host, was, files)
    late = tuple(Sampler(host, observers, Subject(paths=paths)) for paths in unknown(was, found))
    written = [one.path for one in found if one.written]
    _look((sampler, *late), Edge.LAST)
    drain = touched.drain(written)
    _look((sampler, *late), Edge.DRAINED)
    return Aftermath(files=found, drain=drain, drained_bytes=_drained(host, found) if drain else None, late=late)


def unknown(was: Sequence[touched.Before], found: Sequence[Touched]) -> Iterator[tuple[str, ...]]:
    """The paths of which nobody knew before the exec, in groups that one observer can look at."""
    known = {one.path for one in was if one.identity is not None}
    paths = iter([one.path for one in found if one.path not in known and touched.regular(one.path)][:LATE_FILES])
    while group := tuple(itertools.islice(paths, LATE_AT_ONCE)):
        yield group


def _look(samplers: Sequence[Sampler], edge: Edge) -> None:
    for sampler in samplers:
        sampler.edge(edge)


def _drained(host: Host, found: Sequence[Touched]) -> int | None:
    """Bytes that were dirty at the end and are not any more; None where that is not known of every written file."""
    pairs = [(one.dirty_bytes, touched.dirty(host, one.path)) for one in found if one.written]
    known = [(before, now) for before, now in pairs if before is not None and now is not None]
    return sum(max(0, before - now) for before, now in known) if len(known) == len(pairs) else None
