"""Finds comparisons of systems that were set up once each: many runs of one set-up are one sample.

The rule reads the boot of each run (`host.boot`) and the set-up of its target.
A target of kind loopfs is made anew for every trial; one of kind commands reports `made = ID` among its facts.
- The arms share boots or set-ups: pass for that level, since it cancels in the difference.
- Each arm has its own, and fewer than `least_of_a_level` of them despite more runs: qualified, with the interval as bound.
- Nothing is reported: n/a.

Directories, files and existing targets are named by the user, so no level exists above them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.catalogue import ComparisonCase, Rule
from assay.measures.text import level as level_text
from assay.records import Finding, Observations, Run, Scope, Severity, State
from assay.rulekit import contrasts
from assay.rulekit.findings import found

BOOT, MADE = "host.boot", "target.made"
ANEW = ("loopfs",)
"""Kinds of targets that are made anew for every trial."""
Which = Callable[[ComparisonCase, Run, Observations], str | None]


@dataclass(frozen=True, kw_only=True)
class Level:
    """One level at which runs can be repeated: how often each arm has it, and whether the arms have some in common."""

    name: str
    baseline: int
    candidate: int
    common: bool

    def __str__(self) -> str:
        return f"{self.name} {self.baseline} and {self.candidate}"


def applies(case: ComparisonCase) -> str | None:
    """Comparisons whose runs record at least one level."""
    if not case.baseline or not case.candidate:
        return "one arm has no valid run"
    return None if levels(case) else "boots and set-ups unknown"


def check(case: ComparisonCase) -> Finding:
    """Fail where the arms have a level of their own, and too few of it."""
    least, known = int(case.thresholds["least_of_a_level"]), levels(case)
    runs = min(len(case.baseline), len(case.candidate))
    once = [level for level in known if not level.common and min(level.baseline, level.candidate) < min(least, runs)]
    observed = {f"{level.name}.{arm}": float(getattr(level, arm)) for level in known for arm in ("baseline", "candidate")}
    if not once:
        each = "; ".join(f"{level}{', in common' if level.common else ''}" for level in known)
        return found(RULE, case, State.PASS, f"Set-ups by arm: {each}.", observed=observed)
    arm = level_text(case.experiment, case.comparison.factor, case.comparison.candidate)
    each = "; ".join(f"{level.name}: {level.baseline} of the baseline, {level.candidate} of the candidate" for level in once)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Too few set-ups per arm ({each}; at least {least}). {runs} runs of one set-up are one sample of {arm}."
        " The interval does not cover the next set-up.",
        observed=observed,
        bound=contrasts.interval_of(case.comparison),
        relabel=f"of one {once[0].name} per arm" if min(once[0].baseline, once[0].candidate) == 1 else f"of few {once[0].name}s",
        evidence=tuple(f"fact {key} of each run" for key in (BOOT, MADE)),
    )


def levels(case: ComparisonCase) -> list[Level]:
    """The levels that every run records."""
    known: list[Level] = []
    for name, which in LEVELS:
        arms = [[which(case, run, seen) for run, seen in arm] for arm in case.arms]
        if all(one is not None for arm in arms for one in arm):
            first, second = (set(arm) for arm in arms)
            known.append(Level(name=name, baseline=len(first), candidate=len(second), common=bool(first & second)))
    return known


def making(case: ComparisonCase, run: Run, seen: Observations) -> str | None:
    """The making of the target that a run used: as recorded, else its own."""
    recorded = seen.fact(MADE)
    if recorded is not None:
        return recorded
    names = {place.target for place in run.places}
    kinds = {spec.kind for spec in case.experiment.targets if spec.name in names}
    return f"{run.trial.id}" if kinds and kinds <= set(ANEW) else None


def boots(_case: ComparisonCase, _run: Run, seen: Observations) -> str | None:
    """The boots of all hosts of a run; None where one is not known."""
    every = [seen.fact(BOOT, host=host) for host in sorted(seen.hosts)]
    return " ".join(one for one in every if one is not None) if every and None not in every else None


LEVELS: tuple[tuple[str, Which], ...] = (("boot", boots), ("set-up", making))


RULE = Rule(
    id="S10",
    name="one-level-repeated",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    short="too few set-ups",
    applies=applies,
    check=check,
    wrong="Each system is installed once and measured thirty times. The interval is narrow, and the next installation is 8 % "
    "off. The layout that mkfs chose, the addresses of that boot and the state of that server process are the same in all "
    "thirty runs. More runs narrow the interval around that set-up, not around the system.",
    alternatives=(
        "The level does not contribute to the spread. Make it anew several times and show that the figure does not change.",
        "The measured instance is the subject (this volume, that server). Then one of each is all there is.",
    ),
    advice="Repeat at the highest level that may differ, at least three times per arm. Boot, make the file system or the "
    "layout, or restart the server for every block. If that level is expensive, use the budget there with one run each.",
    sources=(
        "Kalibera and Jones, ISMM 2013: Rigorous benchmarking in reasonable time, on the levels of an experiment",
        "Mytkowicz et al., ASPLOS 2009: Producing wrong data without doing anything obviously wrong",
        "Curtsinger and Berger, ASPLOS 2013: STABILIZER, statistically sound performance evaluation",
    ),
)
