"""When a soak is over before its time: a kernel error, a failed verification, a rate below a share of the first piece's."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from assay.audit import judge
from assay.errors import DamagedError
from assay.experiment.soak import RATES
from assay.measures import percent
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.records import Outcome, Run, Severity, SoakSpec, State, Verdict
from assay.units import Unit
from assay.units import format as formatted

KERNEL_LOG = "kernel-log"
"""The name of the rule that judges the kernel's log."""
WRONG, UNREADABLE = ("verify", "lost", "changed"), ("unreadable",)
"""Ways in which a record is not what was written, and in which nobody knows (Client.errors)."""

FAILED = "the piece ended as"


@dataclass(kw_only=True)
class SoakWatch:
    """Looks at each piece; keeps the rates of the first one and nothing else."""

    spec: SoakSpec
    pieces: int = 0
    reason: str | None = None
    _first: dict[str, float] = field(default_factory=dict)

    def look(self, run: Run, verdicts: Iterable[Verdict]) -> None:
        """Look at a piece that has ended; `reason` then says why the soak is over, where it is."""
        self.pieces += 1
        found = tuple(verdicts)
        causes = (*self._causes(run, found), *([f"{FAILED} {run.outcome.value}: {run.error}"] if run.error else []))
        rates = {one.measure: one.value for one in found if one.measure.rpartition(".")[2] in RATES and one.value}
        self._first = self._first or rates
        if causes and self.reason is None:
            after = formatted(self.pieces * self.spec.piece_ns, Unit.NANOSECONDS)
            self.reason = f"stopped at piece {self.pieces} of {self.spec.pieces}, after {after}: {causes[0]}"

    def _causes(self, run: Run, verdicts: tuple[Verdict, ...]) -> Iterator[str]:
        if self.spec.kernel_error:
            yield from dict.fromkeys(
                f"kernel error: {one.statement}"
                for verdict in verdicts
                for one in verdict.findings
                if one.name == KERNEL_LOG and one.state is State.FAIL and one.severity is not Severity.NOTES
            )
        if self.spec.verification:
            counts = ((records(run, WRONG), "are not what was written"), (records(run, UNREADABLE), "cannot be read"))
            if any(count for count, _ in counts):
                yield "failed verification: " + ", ".join(f"{count:,} records {what}" for count, what in counts if count)
        yield from self._slow(verdicts)

    def _slow(self, verdicts: tuple[Verdict, ...]) -> Iterator[str]:
        share = self.spec.least_rate_share
        for one in verdicts if share is not None else ():
            first = self._first.get(one.measure)
            if first and share and (one.value or 0.0) < share * first:
                now = (one.value or 0.0) / first
                yield f"rate: {one.measure} is {percent(now)} of the first piece's (limit {percent(share)})"


def records(run: Run, ways: Collection[str]) -> int:
    """How many records of a piece were found in one of these ways."""
    every = (error for phase in run.phases for client in phase.clients for error in client.errors)
    return sum(error.count for error in every if error.what in ways)


def watch_of(store: Store) -> SoakWatch | None:
    """Return the watch of a soak, which has looked at all pieces that the notebook holds; None of other experiments."""
    spec = store.experiment.soak
    return None if spec is None else _watch(store, spec, _runs(store))


def _runs(store: Store) -> Iterator[Run]:
    """Every attempt at a piece that can be read; the answer names the others, and those after them count all the same."""
    for path in notebook.attempts(store.folder):
        with contextlib.suppress(DamagedError):
            yield notebook.read_run(path)


def _watch(store: Store, spec: SoakSpec, runs: Iterable[Run]) -> SoakWatch:
    watch = SoakWatch(spec=spec)
    for run in runs:
        if run.outcome is Outcome.FINISHED:
            with contextlib.suppress(DamagedError):
                watch.look(run, _verdicts(store, run))
    return watch


def why_over(store: Store) -> str | None:
    """Why a soak ended before its time, also by a piece that failed and may be tried again; None of other experiments."""
    spec = store.experiment.soak
    if spec is None:
        return None
    runs = tuple(_runs(store))
    watch = _watch(store, spec, runs)
    if watch.reason is not None:
        return watch.reason
    last = {run.trial.id: run for run in runs}
    failed = next((run for run in last.values() if run.outcome is not Outcome.FINISHED), None)
    if failed is None:
        return None
    return f"stopped at piece {watch.pieces + 1} of {watch.spec.pieces}: {FAILED} {failed.outcome.value}: {failed.error}"


def _verdicts(store: Store, run: Run) -> Collection[Verdict]:
    """What the audit says of a piece: as it is kept, or, where other rules judged it, by those of today."""
    kept = notebook.one_result(store.folder, run.id, judge.ruleset())
    if kept is not None and kept.verdicts:
        return kept.verdicts.values()
    return judge.judge_run(store.experiment, run, notebook.observations(store.folder, run.id))
