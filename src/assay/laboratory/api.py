"""A notebook from Python: `assay.open("lab")` gives records, and numpy arrays for series and histograms.

Read only, by the current rules, as in `assay compare`; docs/python.md shows how. numpy is imported where an array is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.answer.wording import comparison, labels
from assay.errors import UsageError
from assay.laboratory.results import current
from assay.measures import latency
from assay.notebook import read as notebook
from assay.records import Comparison, Exclusion, Judged, Observations, Results, Series, Value, Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

CHOOSING = ("phase", "source", "layer", "host", "subject")
"""Fields that select among several series of one metric."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One measure of the valid runs, in the order of the cells; all sequences and the array have the same length."""

    name: str
    unit: str
    values: Floats
    runs: tuple[str, ...]
    """`0007/1`: trial and attempt."""
    levels: tuple[Mapping[str, Value], ...]
    verdicts: tuple[Verdict | None, ...]
    """The verdict of each value; None for a run that was not audited."""
    excluded: Mapping[str, Exclusion]
    """Run -> the reason why it is excluded."""


@dataclass(frozen=True, kw_only=True)
class Points:
    """A metric over time: gauges as read, counters cumulative since the first sample of the phase."""

    record: Series
    at_ns: Integers
    """Nanoseconds since T0 of the run."""
    value: Floats


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """The latency histogram of one operation in one phase of a run, all clients merged."""

    phase: str
    operation: str
    upper_ns: Integers
    """Highest value of each bucket, ascending."""
    count: Integers

    def percentile(self, share: float) -> float | None:
        """Return the latency (ns) of a share of the operations (0.99: 99th percentile); None without operations."""
        return latency.percentile(list(zip(self.upper_ns.tolist(), self.count.tolist(), strict=True)), share)


@dataclass(frozen=True, kw_only=True)
class Lab:
    """One experiment of a notebook: `results` has all its records, `experiments` the names of all experiments."""

    folder: Path
    experiments: tuple[str, ...]
    results: Results = field(repr=False)
    load: notebook.Load = field(repr=False, compare=False)
    """Run -> its evidence; the last runs stay in memory."""

    @property
    def runs(self) -> tuple[Judged, ...]:
        """Return all readable runs with their verdicts, in order of trial and attempt."""
        return self.results.runs

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Return each candidate against its baseline, with interval and conclusion."""
        return self.results.comparisons

    def sentence(self, one: Comparison | Verdict) -> str:
        """Return a comparison (measure, conditions, conclusion, ratio, interval) or a verdict (what the number is) in words."""
        return labels.label(one) if isinstance(one, Verdict) else comparison.statement(self.results.experiment, one)

    def verdicts(self, measure: str) -> Mapping[str, Verdict]:
        """Return run -> its verdict on this measure. Raises UsageError for an unknown measure."""
        self._require(measure)
        return {judged.id: judged.verdicts[measure] for judged in self.runs if measure in judged.verdicts}

    def measure(self, name: str, levels: Mapping[str, Value] | None = None) -> Measured:
        """Return a measure of the valid runs, or of those with these levels.

        Raises UsageError for a measure, a factor or a level that the experiment does not have.
        """
        import numpy as np

        self._require(name)
        wanted = dict(levels or {})
        self._require_levels(wanted)
        cells = [one for one in self.results.cells if one.measure == name and wanted.items() <= dict(one.levels).items()]
        counted = [(run, value, cell.levels) for cell in cells for run, value in cell.values.items()]
        known = self.verdicts(name)
        return Measured(
            name=name,
            unit=next((found.unit for cell in cells if (found := cell.estimate or cell.unfiltered)), ""),
            values=np.array([value for _, value, _ in counted], dtype=np.float64),
            runs=tuple(run for run, _, _ in counted),
            levels=tuple(at for _, _, at in counted),
            verdicts=tuple(known.get(run) for run, _, _ in counted),
            excluded={run: why for cell in cells for run, why in cell.excluded.items()},
        )

    def evidence(self, run: str, *hosts: str) -> Observations:
        """Return all evidence of a run (`0007/1`), or that of the named hosts together.

        If several hosts took part and none is named, `rung`, `over_time` and `fact` of it raise LookupError.
        Raises UsageError for an unknown run or host, DamagedError.
        """
        seen = self.load(run)
        if unknown := sorted(set(hosts) - seen.hosts):
            raise UsageError(f"found host {', '.join(unknown)}; expected some of: {', '.join(sorted(seen.hosts))}")
        return seen.on(*hosts) if hosts else seen

    def series(self, run: str, metric: str, **fields: str) -> tuple[Points, ...]:
        """Return the series of a metric of a run; `phase`, `source`, `layer`, `host`, `subject` select among several.

        Raises UsageError for an unknown metric or field, with the known ones.
        """
        if unknown := sorted(fields.keys() - CHOOSING):
            raise UsageError(f"found {', '.join(unknown)}; expected some of: {', '.join(CHOOSING)}")
        found = [
            one
            for one in self.evidence(run).series
            if one.metric == metric and all(getattr(one, name) == text for name, text in fields.items())
        ]
        if not found:
            there = sorted({one.metric for one in self.evidence(run).series})
            raise UsageError(f"found no series {metric!r} {fields or ''}in run {run}; expected one of: {', '.join(there)}")
        return tuple(Points(record=one, at_ns=_array(one.at_ns, "int64"), value=_array(one.value, "float64")) for one in found)

    def histogram(self, run: str, operation: str, phase: str | None = None) -> Latencies:
        """Return the latencies of an operation over all clients. Raises UsageError unless exactly one phase has them."""
        seen = self.evidence(run)
        there = dict.fromkeys((one.phase, one.operation) for one in seen.histograms)
        phases = [at for at, name in there if name == operation and phase in (None, at)]
        if len(phases) != 1:
            known = ", ".join(f"{name} in {at}" for at, name in there)
            raise UsageError(f"found {len(phases)} phases with latencies of {operation!r}; expected one of: {known or 'none'}")
        buckets = latency.merged(seen, phases[0], operation)
        uppers, counts = [upper for upper, _ in buckets], [count for _, count in buckets]
        return Latencies(phase=phases[0], operation=operation, upper_ns=_array(uppers, "int64"), count=_array(counts, "int64"))

    def _require(self, measure: str) -> None:
        known = [one.name for one in self.results.experiment.measures]
        if measure not in known:
            raise UsageError(f"found measure {measure!r}; expected one of: {', '.join(known)}")

    def _require_levels(self, wanted: Mapping[str, Value]) -> None:
        known: dict[str, list[Value]] = {factor.path: list(factor.levels) for factor in self.results.experiment.factors}
        for cell in self.results.cells:
            for path, level in cell.levels.items():
                known.setdefault(path, []).append(level)
        for path, level in wanted.items():
            if path not in known:
                raise UsageError(f"found factor {path!r}; expected one of: {', '.join(known) or 'none (no factor varies)'}")
            if level not in known[path]:
                there = ", ".join(map(repr, dict.fromkeys(known[path])))
                raise UsageError(f"found {path} = {level!r}; expected one of: {there}")


def opened(lab: str | Path, which: str | None = None) -> Lab:
    """Open one experiment of a notebook: the newest, or the one whose directory name begins with `which`.

    Raises UsageError with the existing names, DamagedError for an unreadable plan. Damaged runs are in `results.damaged`.
    """
    folder = notebook.choose(Path(lab), which)
    names = tuple(one.name for one in notebook.folders(Path(lab)))
    return Lab(folder=folder, experiments=names, results=current(folder), load=notebook.remembered(folder.absolute()))


def _array(values: Sequence[float], kind: str) -> Any:  # noqa: ANN401 - a numpy array, which is not imported for its type
    """Return the values as a read-only array: evidence does not change."""
    import numpy as np

    made = np.asarray(values, dtype=kind)
    made.flags.writeable = False
    return made
