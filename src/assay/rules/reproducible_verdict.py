"""Finds figures that cannot be recomputed from the stored run, so that other rules cannot judge them anew.

The counts, latencies, readings, series and facts of the lab's engines are stored whole, and every figure is computed from them.
The last 65,536 characters of each output stream of an external command are stored; today's parser reads the figure from them
again.
- The figure cannot be read, or today's parser gives another one: a note.
- The output was not stored (runs of earlier versions): unverified. Hosts' figures and commands under `assay stat` are n/a.

`assay audit` judges the raw data of a notebook again on any machine, and lists the verdicts that changed:

```
Rules 0.1.0-1a2b3c4d5e6f -> 0.1.0-66d41e0b9c1a: 2 of 40 verdicts changed.
    0003/1 stream.read.bytes_per_s: SOUND -> TAINTED (L01)
```
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose

from assay import catalogue
from assay.catalogue import About, Rule, TrialCase
from assay.errors import AssayError
from assay.evidence import reports
from assay.records import Client, Finding, Scope, Severity, State, Value, WorkloadSpec
from assay.rulekit.findings import found

EXACT = 1e-12
"""Relative: the same text read by the same parser is the same number."""
WATCHED = "stat"
"""What the place of a command is called that `assay stat` only watches: its output goes to whoever started it."""


def applies(case: TrialCase) -> str | None:
    """None for figures of runs that a lab made."""
    if case.value is None:
        return "no figure"
    if case.measure.figure.startswith("@"):
        return "a figure of a host, not of the load"
    return "the command was only observed" if any(place.target == WATCHED for place in case.run.places) else None


def check(case: TrialCase) -> Finding:
    """Fail (a note) where the figure cannot be read out of what is kept, or is another one by today's parser."""
    if not case.phase.values:
        statement = "The figure is computed from stored counts and latencies."
        return found(RULE, case, State.PASS, statement, observed={"kept": "counts, latencies, readings, series, facts"})
    printed = [client for client in case.phase.clients if client.printed is not None]
    if len(printed) < len(case.phase.clients):
        return found(RULE, case, State.UNVERIFIED, "The command's output was not stored, so its figure cannot be read again.")
    try:
        again = read_again(case, printed)
    except AssayError as error:
        cut = " Only the end of the output is stored." if any(one.printed and one.printed.cut for one in printed) else ""
        statement = f"The figure cannot be read again from the stored output.{cut} {error}"
        return found(RULE, case, State.FAIL, statement, observed={"read_then": len(case.phase.values), "read_now": 0.0})
    return compared(case, again)


def compared(case: TrialCase, again: Mapping[str, float]) -> Finding:
    """The finding on the figures as they were read then and as they are read now."""
    then = case.phase.values
    other = [name for name in then if name not in again or not isclose(then[name], again[name], rel_tol=EXACT)]
    changes = [f"{name} was {then[name]:,.6g}, is now {again[name]:,.6g}" for name in other if name in again]
    if gone := [name for name in other if name not in again]:
        changes.append(f"{', '.join(gone)} missing now")
    statement = "The stored output gives the same figure again."
    if changes:
        statement = f"Today's parser reads another figure from the same output: {'; '.join(changes)}."
    observed = {"read_then": float(len(then)), "read_now": float(len(again)), "differing": float(len(other))}
    return found(RULE, case, State.FAIL if other else State.PASS, statement, observed=observed, threshold={"differing": 0})


def read_again(case: TrialCase, clients: list[Client]) -> dict[str, float]:
    """OPERATION.FIGURE -> value by the workload's parser as it is today. Raises EvidenceError, MissingError."""
    spec = next(spec for spec in case.experiment.workloads if spec.name == case.measure.workload)
    parse = catalogue.find("workloads", spec.kind).parse
    if parse is None:
        return {}
    knobs = knobs_of(case, spec)
    return reports.joined(
        reports.parsed(parse, knobs, (one.printed.stdout, one.printed.stderr), sum(total.busy_ns for total in one.operations))
        for one in clients
        if one.printed is not None
    )


def knobs_of(case: TrialCase, spec: WorkloadSpec) -> dict[str, Value]:
    """The workload's knobs in this trial, with the catalogue's defaults."""
    own = f"{spec.name}."
    usual = {knob.name: knob.default for knob in catalogue.find("workloads", spec.kind).knobs if knob.default is not None}
    levels = {path.removeprefix(own): level for path, level in case.run.trial.levels.items() if path.startswith(own)}
    return {**usual, **spec.knobs, **levels}


RULE = Rule(
    id="E06",
    name="reproducible-verdict",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="evidence",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A result is a number in a table, made by a script that has changed since. The effect of another way of counting is "
    "unknown, and a mistake found later in the rules cannot be removed from old results.",
    alternatives=(
        "A command prints its result first and much output after it: only the end of the output is stored.",
        "A parser was corrected since. Then the old figure is wrong, and `assay audit` lists the changed verdicts.",
    ),
    advice="Let the tool print its result last, or less output. Run `assay audit` after a change of the rules: it judges the "
    "raw data again and lists the changes.",
    sources=(
        "IO500, issue 109: versions of the tool alone made results not comparable",
        "Collberg and Proebsting, CACM 59 (2016): Repeatability in computer systems research",
    ),
)
