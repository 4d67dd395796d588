"""Control groups that were stopped for their CPU quota under the clock, for the rules about quotas and about idle CPUs."""

from __future__ import annotations

from collections.abc import Iterator

from assay.catalogue import TrialCase
from assay.frozen import dataclass
from assay.measures import percent
from assay.records import Series


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
        times = under_clock(case, series)
        if not times:
            continue
        stopped = next(iter(case.observations.over_time(case.phase.name, "cgroup", "throttled_ns", series.subject)), None)
        share = None if stopped is None else under_clock(case, stopped) / max(1, case.phase.end_ns - case.phase.start_ns)
        yield Stopped(group=series.subject.removeprefix("cgroup:") or "/", source=series.source, times=times, share=share)


def under_clock(case: TrialCase, series: Series) -> float:
    """By how much a counter rose from the last sample before the clock to the first after it."""
    first = max((at for at in series.at_ns if at <= case.phase.start_ns), default=case.phase.start_ns)
    last = min((at for at in series.at_ns if at >= case.phase.end_ns), default=case.phase.end_ns)
    inside = [value for at, value in zip(series.at_ns, series.value, strict=True) if first <= at <= last]
    return inside[-1] - inside[0] if inside else 0.0
