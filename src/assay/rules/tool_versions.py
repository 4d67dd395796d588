"""Lists the versions of lab, load generator, kernel and commands of a comparison, and their differences.

The rule reads the versions that every run carries, kernel release and build, system, and C library.
It also reads the file of each external command, and target facts whose names end with `version`.
More than one version of a part, between the arms or within one, is a note: two versions are two instruments. C01 judges the
effect on the comparison.
A run without the version of lab or kernel is unverified. The notebook stores each verdict under its ruleset; `assay audit`
compares them (E06).
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.catalogue import ComparisonCase, Rule
from assay.records import Finding, Observations, Run, Scope, Severity, State, When
from assay.rulekit.findings import found, shortened

LAB, GENERATOR, KERNEL = "assay", "assay-engine", "kernel"
FACTS = {"kernel.release": KERNEL, "kernel.build": "kernel build", "host.system": "system", "tool.libc": "C library"}
PROGRAM, OF_TARGET, VERSION = "program.", "target.", "version"
FORMAT = "target.mkfs."
"""Versions of formats on disk are features of a file system, not of a tool."""


def check(case: ComparisonCase) -> Finding:
    """Fail (a note) where a part was there in more than one version; the versions are named in any case."""
    arms = [[dict(versions(run, seen)) for run, seen in runs] for runs in case.arms]
    every = [one for arm in arms for one in arm]
    unknown = [part for part in (LAB, KERNEL) if not all(arms) or not all(part in one for one in every)]
    if unknown:
        return found(RULE, case, State.UNVERIFIED, f"Versions of {' and '.join(unknown)} missing in some runs.")
    parts = sorted({part for one in every for part in one if all(part in another for another in every)})
    values = {part: [sorted({one[part] for one in arm}) for arm in arms] for part in parts}
    several = [part for part, (left, right) in values.items() if len({*left, *right}) > 1]
    pinned = ", ".join(f"{part} {shortened(values[part][0][0])}" for part in parts if part not in several)
    each = {part: version_words(both) for part, both in values.items()}
    statement = f"One version of everything: {pinned}."
    if several:
        statement = f"More than one version: {'; '.join(f'{part}: {each[part]}' for part in several)}. Equal: {pinned}."
    return found(
        RULE,
        case,
        State.FAIL if several else State.PASS,
        statement,
        observed=each,
        threshold={"versions": 1},
        evidence=tuple(f"{part}: {versions}" for part, versions in each.items()),
    )


def version_words(both: list[list[str]]) -> str:
    """The versions of both arms, once where they are the same."""
    left, right = (" and ".join(shortened(one) for one in arm) for arm in both)
    return left if left == right else f"{left} against {right}"


def versions(run: Run, observations: Observations) -> Iterator[tuple[str, str]]:
    """Part and version, as one run says them."""
    yield from run.versions.items()
    for fact in observations.facts:
        if fact.when is not When.BEFORE:
            continue
        if fact.key in FACTS:
            yield FACTS[fact.key], fact.value
        elif fact.key.startswith(PROGRAM):
            yield f"command of {fact.key.removeprefix(PROGRAM)}", fact.value
        elif fact.key.startswith(OF_TARGET) and fact.key.endswith(VERSION) and not fact.key.startswith(FORMAT):
            yield fact.key, fact.value


RULE = Rule(
    id="E07",
    name="tool-versions",
    scope=Scope.COMPARISON,
    severity=Severity.NOTES,
    part="evidence",
    needs=("fact:*",),
    check=check,
    wrong="The old figure was made with version 3.1 of the tool, the new one with 3.36, which opens its files in another way. "
    "Both are right, by different instruments. A figure without its versions cannot be compared with any other.",
    alternatives=(
        "The version is the factor (old against new). Then this list is as it should be.",
        "A package was updated between two sittings. C01 lists the other changes.",
    ),
    advice="Use one version of lab, generator and measured tool for both arms, or declare that the versions are compared. Keep "
    "the versions with every published figure.",
    sources=(
        "IO500, issue 109: versions of the tool alone made results not comparable",
        "Hoefler and Belli, SC 2015, rule 9: document all varying factors",
    ),
)
