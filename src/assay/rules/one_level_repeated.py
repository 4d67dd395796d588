"""Finds comparisons of systems that were set up once each: many runs of one boot or one set-up are one sample of it.

Evidence: in which boot each run was (the fact `host.boot`), and on which making of its target: a target of kind loopfs is made
anew for every trial, one of kind commands says it (`made = ID` among its facts). Where both arms have boots or makings in
common, these are no part of the difference; where each arm has its own, there must be some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.catalogue import Case, ComparisonCase, Rule
from assay.measures.levels import level as level_text
from assay.records import Bound, Finding, Observations, Run, Scope, Severity, State
from assay.rulekit.findings import found

BOOT, MADE = "host.boot", "target.made"
ANEW = ("loopfs",)
"""Kinds of targets that are made anew for every trial."""
Runs = Sequence[tuple[Run, Observations]]
Which = Callable[[ComparisonCase, Run, Observations], str | None]
ALTERNATIVES = (
    "A level that has no part in the spread: make it anew some times and show that the figure does not care.",
    "What was measured is the very thing to be decided on (this volume, that server): then one of each is all there is.",
)
ADVICE = (
    "Repeat at the highest level that may differ: boot, make the file system or the layout, and start the server anew for every "
    "block, at least three times an arm, instead of running more of the same."
)


@dataclass(frozen=True, kw_only=True)
class Level:
    """One level at which runs can be repeated: how often each arm has it, and whether the arms have some in common."""

    name: str
    baseline: int
    candidate: int
    common: bool

    def __str__(self) -> str:
        return f"{self.name} {self.baseline} and {self.candidate}"


def applies(case: Case) -> str | None:
    """Comparisons whose runs tell at least one level."""
    if not isinstance(case, ComparisonCase):
        return "it judges comparisons"
    if not case.baseline or not case.candidate:
        return "no run of one arm counts"
    return None if levels(case) else "nothing tells in which boot the runs were, or how often their target was made"


def check(case: Case) -> Finding:
    """Fail where the arms have a level of their own, and too few of it."""
    assert isinstance(case, ComparisonCase)
    least, known = int(case.thresholds["least_of_a_level"]), levels(case)
    runs = min(len(case.baseline), len(case.candidate))
    once = [level for level in known if not level.common and min(level.baseline, level.candidate) < min(least, runs)]
    observed = {f"{level.name}.{arm}": float(getattr(level, arm)) for level in known for arm in ("baseline", "candidate")}
    threshold = {"of_a_level": float(least)}
    if not once:
        said = "; ".join(f"{level}{', in common' if level.common else ''}" for level in known)
        return found(RULE, case, State.PASS, f"What the runs stand on, by arm: {said}.", observed=observed, threshold=threshold)
    ratio = case.comparison.ratio
    arm = level_text(case.experiment, case.comparison.factor, case.comparison.candidate)
    told = "; ".join(f"{level.name}: {level.baseline} of the baseline, {level.candidate} of the candidate" for level in once)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Each arm was measured on its own and on too few ({told}): {runs} runs of one are one sample of"
        f" {arm}. The interval holds for what was measured, not for what is made next time.",
        observed=observed,
        threshold=threshold,
        bound=Bound(low=ratio.low, high=ratio.high, unit="ratio") if ratio is not None and ratio.low is not None else None,
        relabel=f"of one {once[0].name} an arm" if min(once[0].baseline, once[0].candidate) == 1 else f"of few {once[0].name}s",
        evidence=tuple(f"fact {key} of each run" for key in (BOOT, MADE)),
    )


def levels(case: ComparisonCase) -> list[Level]:
    """The levels of which every run tells which one it was on."""
    known: list[Level] = []
    for name, which in LEVELS:
        arms = [[which(case, run, seen) for run, seen in arm] for arm in (case.baseline, case.candidate)]
        if all(one is not None for arm in arms for one in arm):
            first, second = (set(arm) for arm in arms)
            known.append(Level(name=name, baseline=len(first), candidate=len(second), common=bool(first & second)))
    return known


def boot(_case: ComparisonCase, _run: Run, seen: Observations) -> str | None:
    """The boot in which a run was."""
    return seen.fact(BOOT)


def making(case: ComparisonCase, run: Run, seen: Observations) -> str | None:
    """The making of the target that a run was on: the one that it tells, or one of its own."""
    told = seen.fact(MADE)
    if told is not None:
        return told
    names = {place.target for place in run.places}
    kinds = {spec.kind for spec in case.experiment.targets if spec.name in names}
    return f"{run.trial.id}" if kinds and kinds <= set(ANEW) else None


LEVELS: tuple[tuple[str, Which], ...] = (("boot", boot), ("set-up", making))


RULE = Rule(
    id="S10",
    name="one-level-repeated",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    needs=(),
    applies=applies,
    check=check,
    alternatives=ALTERNATIVES,
    advice=ADVICE,
    sources=(
        "Kalibera and Jones, ISMM 2013: Rigorous benchmarking in reasonable time, on the levels of an experiment",
        "Mytkowicz et al., ASPLOS 2009: Producing wrong data without doing anything obviously wrong",
        "Curtsinger and Berger, ASPLOS 2013: STABILIZER, statistically sound performance evaluation",
    ),
)
