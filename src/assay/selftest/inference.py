"""`assay selftest --inference N`: N experiments with drawn values, through the analysis that every answer goes through.

Each has four levels with a baseline, six measures of which the first decides, and five blocks. Values are drawn with a spread of
3 % and a speed that a block shares; the truth is known, so each promise of an answer can be counted:
- equal levels: experiments in which the measure that decides is said to differ anywhere (the error of its family);
- three of five secondary measures differ: of all differences that are shown, those that are none (false discoveries);
- 95 % intervals that hold the true ratio, of measures that are compared once;
- a difference of 10 % in the measure that decides: how often it is shown.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.errors import UsageError
from assay.experiment import plan as planning
from assay.experiment import read
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.records import (
    Claim,
    Comparison,
    Conclusion,
    Experiment,
    Judged,
    Label,
    Nature,
    Observations,
    Outcome,
    Plan,
    Run,
    Trial,
    Verdict,
    VerdictState,
)
from assay.selftest import Request
from assay.selftest.counts import head, interval, percent
from assay.selftest.same import limit_state
from assay.statistics.intervals import Proportion, proportion
from assay.terminal.output import Row, deliver, table

VERB = "selftest-inference"
PROMISED = 0.05
SPREAD, SHARED = 0.03, 0.05
EFFECT = 0.10
SEED = 20260101
MEASURES = ("ops_per_s", "bytes_per_s", "latency_mean_ns", "latency_p50_ns", "latency_p90_ns", "latency_p99_ns")
EXPERIMENT = """
title = "Drawn values"
question = "Are the promises of an answer kept?"
compare = "{factor}"
repeats = 5
[targets.t]
kind = "directory"
path = "/"
[workloads.w]
kind = "bulk_io"
operations = ["read"]
[factors]
"w.record_size" = {levels}
[measures]
{measures}
"""


@dataclass(kw_only=True)
class Promises:
    """What was counted over all experiments."""

    experiments: int = 0
    equal_families: int = 0
    """Of equal levels: experiments in which the deciding measure is said to differ."""
    discoveries: int = 0
    shares: list[float] = field(default_factory=list)
    """Of each experiment: the share of its secondary differences that are none."""
    covered: int = 0
    intervals: int = 0
    shown: int = 0
    effects: int = 0

    @property
    def family(self) -> Proportion:
        """The error of the family of the measure that decides."""
        return proportion(self.equal_families, self.experiments)

    @property
    def coverage(self) -> Proportion:
        """Intervals that hold the truth."""
        return proportion(self.covered, self.intervals)

    @property
    def power(self) -> Proportion:
        """Differences of 10 % that are shown."""
        return proportion(self.shown, self.effects)

    @property
    def false_discoveries(self) -> float:
        """The mean share of false ones among the secondary differences that are shown."""
        return math.fsum(self.shares) / len(self.shares) if self.shares else 0.0


def check_inference(request: Request, experiments: int) -> int:
    """Draw so many experiments of each kind and print what was kept; 0, with a gate 3 where a promise is not.

    Raises UsageError where no number of experiments is asked for.
    """
    if experiments < 1:
        raise UsageError(f"found --inference {experiments}; expected 1 or more")
    found = counted(experiments)
    deliver(request.json_to, VERB, lambda: plain(found), lambda: text(found))
    return BAD_VERDICT if request.gate is not Gate.OFF and not kept(found) else 0


def kept(found: Promises) -> bool:
    """Whether no promise is shown to be broken."""
    family, coverage = found.family, found.coverage
    return (family.low or 0.0) <= PROMISED and (coverage.high or 1.0) >= 1 - PROMISED and found.false_discoveries <= PROMISED


def counted(experiments: int) -> Promises:
    """Count over so many experiments of each kind; the same numbers are drawn each time."""
    draw, found = random.Random(SEED), Promises(experiments=experiments)  # noqa: S311 - a simulation
    several, pair = scene(4), scene(2)
    for _ in range(experiments):
        found.equal_families += any(differ(one) for one in drawn(several, draw, {}) if one.measure == name_of(0))
        secondary = [one for one in drawn(several, draw, dict.fromkeys((1, 2, 3), EFFECT)) if one.measure != name_of(0)]
        claimed = [one for one in secondary if differ(one)]
        false = sum(one.measure in (name_of(4), name_of(5)) for one in claimed)
        found.discoveries += len(claimed)
        found.shares.append(false / len(claimed) if claimed else 0.0)
        for effect in (0.0, EFFECT):
            (one,) = drawn(pair, draw, {0: effect})
            found.intervals += 1
            found.covered += holds(one, math.exp(effect))
            if effect:
                found.effects += 1
                found.shown += differ(one)
    return found


def differ(one: Comparison) -> bool:
    """Whether a difference is shown, whatever it matters."""
    return one.conclusion in (Conclusion.MATTERS, Conclusion.IMMATERIAL)


def holds(one: Comparison, truth: float) -> bool:
    """Whether its interval has the true ratio."""
    ratio = one.ratio
    return ratio is not None and ratio.low is not None and ratio.high is not None and ratio.low <= truth <= ratio.high


Scene = tuple[Experiment, Plan, tuple[Run, ...]]


def scene(levels: int) -> Scene:
    """An experiment with so many levels, in which only the values are left open: one measure for two levels, else all."""
    names = MEASURES if levels > 2 else MEASURES[:1]
    file = EXPERIMENT.format(
        factor="w.record_size",
        levels=[f"{4 << at} KiB" for at in range(levels)],
        measures="\n".join(f'"w.read.{name}" = {{}}' for name in names),
    )
    experiment = read.parse(file, VERB)
    plan = planning.plan(experiment)
    due = [trial for trial in plan.trials if trial.block < plan.blocks]
    return experiment, plan, tuple(run_of(trial, number) for number, trial in enumerate(due))


def run_of(trial: Trial, minute: int) -> Run:
    """A run that finished, without evidence: one a minute."""
    begun, ended = (f"2026-01-01T{minute // 60:02d}:{minute % 60:02d}:{second:02d}+00:00" for second in (0, 30))
    none: dict[str, Any] = {"hosts": (), "places": (), "phases": (), "versions": {}}
    return Run(trial=trial, attempt=1, outcome=Outcome.FINISHED, started_utc=begun, ended_utc=ended, **none)


def name_of(at: int) -> str:
    """The name of a measure by its place."""
    return f"w.read.{MEASURES[at]}"


def drawn(about: Scene, draw: random.Random, effects: Mapping[int, float]) -> Sequence[Comparison]:
    """The comparisons of drawn values; `effects`: place of a measure -> logarithm by which the last level is above the others."""
    experiment, plan, runs = about
    last = experiment.factors[0].levels[-1]
    judged = []
    shared = {(run.trial.block, measure.name): draw.gauss(0, SHARED) for run in runs for measure in experiment.measures}
    for run in runs:
        verdicts = {
            measure.name: verdict(
                run, measure.name, measure_value(run, shared[run.trial.block, measure.name], draw, effects.get(at, 0.0), last)
            )
            for at, measure in enumerate(experiment.measures)
        }
        judged.append(Judged(run=run, verdicts=verdicts))
    return comparisons(experiment, cells(experiment, plan, judged, no_evidence), judged)


def measure_value(run: Run, shared: float, draw: random.Random, effect: float, last: object) -> float:
    """The value of one run."""
    is_last = run.trial.levels["w.record_size"] == last
    return 1000.0 * math.exp(shared + draw.gauss(0, SPREAD) + (effect if is_last else 0.0))


def verdict(run: Run, measure: str, value: float) -> Verdict:
    """A verdict without a finding."""
    return Verdict(
        subject=f"run:{run.trial.id}:{measure}",
        run=f"{run.trial.id:04d}/1",
        measure=measure,
        claim=Claim(),
        value=value,
        unit="",
        corrected=None,
        state=VerdictState.SOUND,
        label=Label(nature=Nature.AS_SEEN),
        bound=None,
        findings=(),
    )


def no_evidence(run: str) -> Observations:
    """Nothing is asked for: the verdicts have the values."""
    raise AssertionError(f"the verdict of {run} has the value")


def rows(found: Promises) -> Iterator[Row]:
    """A line for each promise."""
    family, coverage, power = found.family, found.coverage, found.power
    yield row(
        "equal levels shown to differ, in the measure that decides", family, f"at most {percent(PROMISED)}: {limit_state(family)}"
    )
    yield Row(
        cells=(
            "false ones among differences of other measures",
            f"{percent(found.false_discoveries)} of {found.discoveries:,}",
            "",
            f"at most {percent(PROMISED)}: {'met' if found.false_discoveries <= PROMISED else 'exceeded'}",
        )
    )
    yield row("95 % intervals that hold the true ratio", coverage, f"{percent(1 - PROMISED)}: {holds_promise(coverage)}")
    yield row(f"a difference of {percent(EFFECT)} shown by 5 blocks of spread {percent(SPREAD)}", power, "")


def holds_promise(share: Proportion) -> str:
    """Whether the exact interval of a share has what was promised."""
    low, high = share.low or 0.0, share.high or 1.0
    return "met" if low <= 1 - PROMISED <= high else "more" if low > 1 - PROMISED else "not met"


def row(name: str, share: Proportion, said: str) -> Row:
    """One promise."""
    return Row(cells=(name, f"{share.happened} of {share.of}", interval(share), said))


def answer(found: Promises) -> str:
    """In one sentence."""
    return (
        f"{found.experiments} drawn experiments of each kind: family error {percent(found.family.happened / found.family.of)}, "
        f"false discoveries {percent(found.false_discoveries)}, coverage {percent(found.coverage.happened / found.coverage.of)}, "
        f"power {percent(found.power.happened / found.power.of)}"
    )


def text(found: Promises) -> str:
    """For people."""
    return f"{answer(found)}\n\n{table(('promise', 'counted', '95 % interval', 'promised'), list(rows(found)), ())}"


def plain(found: Promises) -> dict[str, Any]:
    """The object for programs."""
    return {
        **head(answer(found), complete=True),
        "experiments": found.experiments,
        "promised": PROMISED,
        "false_discoveries": found.false_discoveries,
        "discoveries": found.discoveries,
        **{
            name: {"happened": share.happened, "of": share.of, "low": share.low, "high": share.high}
            for name, share in (("family", found.family), ("coverage", found.coverage), ("power", found.power))
        },
    }
