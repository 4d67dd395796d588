"""Control groups that were stopped for their CPU quota under the clock, for the rules about quotas and about idle CPUs."""

from __future__ import annotations

from collections.abc import Iterator

from assay.catalogue import TrialCase
from assay.evidence import ladder
from assay.frozen import dataclass
from assay.measures import percent


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """A group that its quota stopped."""

    group: str
    source: str
    times: float
    share: float | None
    """Of the time of the phase; None where it was not counted."""

    @property
    def words(self) -> str:
        """How often it was stopped and for how long."""
        for_time = "" if self.share is None else f" for {percent(self.share)} of the time"
        return f"stopped {self.times:,.0f} time{'s' * (self.times != 1)}{for_time}"

    def reaches(self, share: float) -> bool:
        """Whether it was stopped for such a share of the time, or may have been."""
        return self.share is None or self.share >= share


def stopped_groups(case: TrialCase) -> Iterator[Stopped]:
    """Yield each group of the load or of its server on this host that was stopped."""
    for series in case.observations.over_time(case.phase.name, "cgroup", "nr_throttled"):
        times = ladder.known_rise(series, case.phase.start_ns, case.phase.end_ns)
        if not times:
            continue
        stopped = next(iter(case.observations.over_time(case.phase.name, "cgroup", "throttled_ns", series.subject)), None)
        stopped_ns = None if stopped is None else ladder.known_rise(stopped, case.phase.start_ns, case.phase.end_ns)
        share = None if stopped_ns is None else stopped_ns / max(1, case.phase.lasted_ns)
        yield Stopped(group=series.subject.removeprefix("cgroup:") or "/", source=series.source, times=times, share=share)
