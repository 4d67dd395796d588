"""Finds models that are tested on the data they were fitted to: the error there says nothing about other loads.

A target of kind `commands` gives the data of its model and of each run among its facts:

```toml
[targets.model]
facts = ["echo", "fitted_on = hour-1 hour-2 hour-3"]

[targets.server]
facts = ["echo", "data = hour-6"]
```

Digits are trial numbers of this experiment. The rule compares a model with the run of its own block, so leave-one-block-out is
correct.
If a person changes the level, the rule compares the model with every run of the other arm.
- A model is compared with data it was fitted on: invalid ("a fit, not a prediction").
- No run names fitted data: n/a.

The rule compares names only. It does not see data that shaped the model in other ways, such as terms chosen after a look at the
test data.
`assay predict` refuses a `holdout` with fitted trials for the same reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.catalogue import ComparisonCase, Rule
from assay.records import Finding, Observations, Run, Scope, Severity, State
from assay.rulekit import pairs
from assay.rulekit.findings import found

FITTED, DATA = "target.fitted_on", "target.data"
"""What `facts` of a target prints, as it stands among the facts of a run."""
MOST_NAMED = 6
Seen = tuple[Run, Observations]


@dataclass(frozen=True, kw_only=True)
class Test:
    """One run of a model and one that it is held against: what they have in common."""

    model: Run
    measured: Run
    shared: tuple[str, ...]
    is_known: bool
    """Whether the run says what its data are, or numbers of trials alone were fitted."""


def applies(case: ComparisonCase) -> str | None:
    """Comparisons in which at least one run says what it was fitted on."""
    is_named = any(seen.fact(FITTED) is not None for _, seen in (*case.baseline, *case.candidate))
    return None if is_named else "no run of a model: no target has a fact `fitted_on`"


def check(case: ComparisonCase) -> Finding:
    """Fail where a model is held against data that it was fitted on."""
    every = tuple(tests(case))
    if not every:
        return found(RULE, case, State.UNVERIFIED, "A model names its fitted data, and no run is compared with it.")
    same = [test for test in every if test.shared]
    observed = {"tests": float(len(every)), "tests_on_fitted_data": float(len(same))}
    if not same and not all(test.is_known for test in every):
        statement = f"Data of the measured runs unknown: no target has a fact `{DATA.rpartition('.')[2]}`."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if len(same) <= case.thresholds["shared_share"] * len(every):
        return found(RULE, case, State.PASS, f"0 of {len(every)} tests use data that the model was fitted on.", observed=observed)
    shared = list(dict.fromkeys(name for test in same for name in test.shared))
    more = f" and {len(shared) - MOST_NAMED} more" if len(shared) > MOST_NAMED else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{len(same)} of {len(every)} tests use data that the model was fitted on"
        f" ({', '.join(shared[:MOST_NAMED])}{more}): the error there predicts nothing.",
        observed=observed,
        relabel="a fit, not a prediction",
        evidence=(f"fact {FITTED} of each run of the model", f"fact {DATA} and the number of each run that it is held against"),
    )


def tests(case: ComparisonCase) -> Iterator[Test]:
    """Every run of a model with the runs of the other arm that it is held against."""
    by_hand = pairs.by_hand(case)
    for arm, other in ((case.baseline, case.candidate), (case.candidate, case.baseline)):
        for run, seen in arm:
            fitted = words(seen, FITTED)
            for against, data in other if fitted else ():
                if by_hand or place(against) == place(run):
                    is_known = bool(words(data, DATA)) or all(word.isdecimal() for word in fitted)
                    shared = tuple(sorted(fitted & names(against, data)))
                    yield Test(model=run, measured=against, shared=shared, is_known=is_known)


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
    applies=applies,
    check=check,
    wrong="A model (a regression, a queueing network, a simulator with parameters) is fitted to some trials. Beside the "
    "same trials it is within 2 %. With as many parameters as trials it would be exact, even if it is nonsense. Its error "
    "for an unseen load is another number, and the model is made for that load.",
    alternatives=(
        "The claim is that the model can describe these data at all. Then call it a fit, not a prediction.",
        "The same names were given to different data: a trial number of another experiment, an hour of another week.",
    ),
    advice="Hold data out: fit on some mixes, sizes or hours, and test on data that no parameter, choice of terms or threshold "
    "has seen. If data are few, leave each block out in turn; `assay predict` does that with `holdout`.",
    sources=(
        "Heiser: Systems benchmarking crimes, on the same dataset for calibration and validation",
        "Hastie, Tibshirani and Friedman: The elements of statistical learning, 2nd ed. 2009, 7.2 and 7.10",
        "Stone, J. Royal Statistical Society B 36 (1974) 111: cross-validatory choice and assessment of statistical predictions",
    ),
)
