"""Finds models that are tested on what they were fitted to: their error there says nothing of any other load.

Evidence: what a run of a model says it was fitted on (`fitted_on = 3 7 hour-12` among the facts of its target: trials of the
experiment by number, or names of data), and which data each run of the other arm is (its own number, `data = hour-12`). A model
is held against the run of its own block; where the arms are not in pairs, against every run of the other arm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.catalogue import Case, ComparisonCase, Rule
from assay.records import Change, Finding, Observations, Run, Scope, Severity, State
from assay.rulekit.findings import found

FITTED, DATA = "target.fitted_on", "target.data"
"""What `facts` of a target prints, as it stands among the facts of a run."""
MOST_NAMED = 6
ALTERNATIVES = (
    "What is claimed is that the model can describe these data at all (a fit, not a prediction): then call it that.",
    "The same names were given to different data: a trial number of another experiment, an hour of another week.",
)
ADVICE = (
    "Hold data out: fit on some mixes, sizes or hours, and test on others that no parameter, choice of terms or threshold has "
    "seen. Where there are few, leave each block out in turn and predict it from the rest; `assay predict` does so by `holdout`."
)
Seen = tuple[Run, Observations]


@dataclass(frozen=True, kw_only=True)
class Test:
    """One run of a model and one that it is held against: what they have in common."""

    model: Run
    measured: Run
    shared: tuple[str, ...]


def applies(case: Case) -> str | None:
    """Comparisons in which at least one run says what it was fitted on."""
    if not isinstance(case, ComparisonCase):
        return "it judges comparisons"
    said = any(seen.fact(FITTED) is not None for _, seen in (*case.baseline, *case.candidate))
    return None if said else "no run is that of a model: none says what it was fitted on (a fact `fitted_on` of its target)"


def check(case: Case) -> Finding:
    """Fail where a model is held against data that it was fitted on."""
    assert isinstance(case, ComparisonCase)
    every = tuple(tests(case))
    if not every:
        return found(RULE, case, State.UNVERIFIED, "A model says what it was fitted on, and no run is held against it.")
    same = [test for test in every if test.shared]
    allowed = case.thresholds["shared_share"]
    observed = {"tests": float(len(every)), "tests_on_fitted_data": float(len(same))}
    threshold = {"share_of_tests": allowed}
    if len(same) <= allowed * len(every):
        said = f"None of the {len(every)} runs that a model is held against is among what it was fitted on."
        return found(RULE, case, State.PASS, said, observed=observed, threshold=threshold)
    shared = list(dict.fromkeys(name for test in same for name in test.shared))
    more = f" and {len(shared) - MOST_NAMED} more" if len(shared) > MOST_NAMED else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"The model was fitted on what it is tested on, in {len(same)} of {len(every)} tests"
        f" ({', '.join(shared[:MOST_NAMED])}{more}): how near it comes there says nothing of what it predicts.",
        observed=observed,
        threshold=threshold,
        relabel="a fit, not a prediction",
        evidence=(f"fact {FITTED} of each run of the model", f"fact {DATA} and the number of each run that it is held against"),
    )


def tests(case: ComparisonCase) -> Iterator[Test]:
    """Every run of a model with the runs of the other arm that it is held against."""
    paired = all(
        factor.change is not Change.MANUAL for factor in case.experiment.factors if factor.path == case.comparison.factor
    )
    for arm, other in ((case.baseline, case.candidate), (case.candidate, case.baseline)):
        for run, seen in arm:
            fitted = words(seen, FITTED)
            for against, data in other if fitted else ():
                if not paired or place(against) == place(run):
                    yield Test(model=run, measured=against, shared=tuple(sorted(fitted & names(against, data))))


def place(run: Run) -> tuple[int, int]:
    """Sitting and block."""
    return run.trial.sitting, run.trial.block


def words(seen: Observations, key: str) -> frozenset[str]:
    """The words of a fact, commas or blanks between them; numbers without leading zeros."""
    return frozenset(bare(word) for word in (seen.fact(key) or "").replace(",", " ").split())


def names(run: Run, seen: Observations) -> frozenset[str]:
    """What the data of a run may be called: its trial's number, and the names that it says."""
    return words(seen, DATA) | {str(run.trial.id)}


def bare(word: str) -> str:
    """`0007` is trial 7."""
    return str(int(word)) if word.isdecimal() else word


RULE = Rule(
    id="S13",
    name="calibration",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="statistics",
    needs=(),
    applies=applies,
    check=check,
    wrong="A model of a system (a regression, a queueing network, a simulator with parameters) is fitted to some trials and "
    "shown beside the same trials: it is within 2 %. With as many parameters as trials it would be exact, also where "
    "it is nonsense. What it predicts of a load that it has not seen is another number, and that is the one for which "
    "a model is made.",
    alternatives=ALTERNATIVES,
    advice=ADVICE,
    sources=(
        "Heiser: Systems benchmarking crimes, on the same dataset for calibration and validation",
        "Hastie, Tibshirani and Friedman: The elements of statistical learning, 2nd ed. 2009, 7.2 and 7.10",
        "Stone, J. Royal Statistical Society B 36 (1974) 111: cross-validatory choice and assessment of statistical predictions",
    ),
)
