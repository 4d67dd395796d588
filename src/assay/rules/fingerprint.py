"""Finds differences between the arms besides the factor: kernel, settings, mounts, devices, versions.

The rule compares the performance facts of all runs before their first phase.
It also compares the versions of the tools, external programs, and the files that knobs name.
A fact differs if its sets of values in the arms differ; a missing fact counts as `not there`. Facts of identity and noise do
not count.
Performance facts are read again after the last phase, and changes during a run are named.
- A fact differs that does not follow from the factor: invalid; for two notebooks (`assay compare LAB_A LAB_B`) it qualifies.
- A fact changed during a run: qualified.
- The factor is changed by hand: pass as a "comparison of bundles" with all differences listed.
- The factor `hosts` (a number of load hosts): hosts of one arm alone do not count, those of both arms do.
- The factor is changed by hand, and no fact differs or those of its name are equal: qualified.
- Two targets are directories of one file system: a note.
- A run has no facts: unverified.

`target.*`, `mount.*`, `filesystem.*`, `mkfs.*`, `semantics.*` and ext4's facts of the first device follow from a target or its
knobs. So do an end's interfaces that one arm alone has, and `target.path.NAME.*` from a knob of the path.
If two targets have different numbers of ends (a server on another server), those behind the load's cannot be matched and follow.
`device.*` and `limit.*` follow only if the arms use different device stacks. Declare other consequences of the factor by key:

```toml
implied = ["sysctl.vm.dirty_ratio", "network.*"]
```

Declare only differences that cannot be removed. With `network.*` the comparison says nothing about the network cards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from assay.catalogue import ComparisonCase, Rule, Runs
from assay.records import MACHINE, Change, FactClass, Finding, Meaning, Observations, Run, Scope, Severity, State, When
from assay.rulekit import contrasts, pairs
from assay.rulekit.applicability import took_part
from assay.rulekit.findings import change, found, shortened
from assay.rulekit.pairs import NOTEBOOK
from assay.units import counted

OF_THE_TARGET = ("target.", "mount.", "filesystem.", "mkfs.", "semantics.", "device.0.ext4")
"""Facts that follow from another target, or from one of its knobs; its file system is on the first device."""
OF_THE_STACK = ("device.", "limit.")
"""Facts that follow from it only where it stands on other devices."""
OF_THE_MACHINE = {
    "governor": ("speed.", "cpu."),
    "boost": ("speed.", "cpu."),
    "smt": ("cpu.", "network.", "process.", "ulimit."),
    "transparent_huge_pages": ("memory.",),
    "swappiness": ("sysctl.vm.swappiness",),
    "dirty_bytes": ("sysctl.vm.dirty",),
    "dirty_background_bytes": ("sysctl.vm.dirty",),
    "irq_affinity": ("network.", "device."),
}
"""Knob of `[machine]` -> facts that follow from it, beside what the lab says of its own settings."""
SET_BY_THE_LAB = "setting."
OF_AN_INTERFACE = re.compile(r"end\.\d+\.interface\.\d+\.")
"""Facts of an end's interface: a target with a further path gives both ends one more."""
OF_AN_END = re.compile(r"end\.(\d+)\.")
"""Facts of an end by its number; a target whose server stands on another server has one more end."""
OF_THE_LOAD = "0"
MOUNT_SOURCE, MOUNT_POINT = "mount.target.source", "mount.target.point"
MOST_SHOWN = 12
COUNTED = ("differing", "implied", "drifted", "compared")
NOT_THERE = "not there"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One fact with the values that it had in each arm."""

    key: str
    baseline: tuple[str, ...]
    candidate: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.key}: {shown(self.baseline)} against {shown(self.candidate)}"


@dataclass(frozen=True, kw_only=True, order=True)
class Drift:
    """One fact that became another during a run."""

    key: str
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.key} ({change(self.was, self.now)})"


def shown(values: tuple[str, ...]) -> str:
    """The values of one arm, shortened."""
    return " or ".join(shortened(value) for value in values)


def check(case: ComparisonCase) -> Finding:
    """Fail where facts of the class performance differ and do not follow from the factor."""
    every = (*case.baseline, *case.candidate)
    if not (all(case.arms) and all(observations.facts for _, observations in every)):
        unknown = "not every run has facts" if all(case.arms) else "an arm has no run that counts"
        return found(RULE, case, State.UNVERIFIED, f"Environment of the arms unknown: {unknown}.")
    added = hosts_of_one_arm(case)
    of_all = [one for one in differences(*case.arms) if one.key.partition(": ")[0] not in added]
    follows = following(case)
    implied, alien = ([one for one in of_all if follows(one) is wanted] for wanted in (True, False))
    drifted = sorted({one for _, observations in every for one in drift(observations)})
    bundle = is_bundle(case)
    if not (drifted or (alien and not bundle)) and (unseen := without_trace(case, of_all) or within_one(case)):
        return unseen
    failed = bool(drifted or (alien and not bundle))
    held = Severity.QUALIFIES if case.comparison.factor == NOTEBOOK else Severity.INVALIDATES  # of what it comes is open
    return found(
        RULE,
        case,
        State.FAIL if failed else State.PASS,
        in_words(case, alien, implied, drifted),
        severity=held if alien and not bundle else Severity.QUALIFIES if drifted else RULE.severity,
        observed=dict(zip(COUNTED, (len(alien), len(implied), len(drifted), len(compared(every))), strict=True))
        | {one.key: str(one) for one in alien}
        | {f"{one.key} during a run": f"{one.was} -> {one.now}" for one in drifted},
        threshold={"differing": 0},
        relabel="comparison of bundles: the arms differ in more than the factor" if alien else None,
        short=("more than the factor differs" if alien else "a setting changed during a run") if failed else RULE.short,
        evidence=(
            *map(str, alien),
            *(f"changed during a run: {one}" for one in drifted),
            *(f"implied: {one}" for one in implied),
        ),
    )


def without_trace(case: ComparisonCase, of_all: list[Difference]) -> Finding | None:
    """A factor changed by hand of which no fact tells: none differs, or those of its name are equal."""
    if not pairs.by_hand(case) or case.comparison.factor == NOTEBOOK:
        return None
    factor, every = case.comparison.factor, compared((*case.baseline, *case.candidate))
    of_its_name = [key for key in every if bare(key).rpartition(".")[2] == factor.rpartition(".")[2]]
    if of_all and (not of_its_name or any(one.key in of_its_name for one in of_all)):
        return None
    equal = "; ".join(f"{key} is {shown(tuple(sorted(every[key])))} in both arms" for key in of_its_name)
    return found(
        RULE,
        case,
        State.FAIL,
        f"The factor {factor} is changed by hand, and no recorded fact shows a change{f': {equal}' if equal else ''}.",
        severity=Severity.QUALIFIES,
        observed={"differing": len(of_all), "compared": len(every)},
        bound=contrasts.interval_of(case.comparison),
        advice=f"Check that {factor} really differed. If no file of the host shows it, let a target of kind commands print it "
        "among its `facts`.",
        short="no trace of the factor",
    )


def within_one(case: ComparisonCase) -> Finding | None:
    """Two targets on one file system: the same device, the same export, or the same mount.

    Where a target brings a file system or a server of its own, the facts of mounts are those of what it stands on.
    """
    if case.comparison.factor != "target" or any(place.storage for runs in case.arms for run, _ in runs for place in run.places):
        return None
    sources, points = ([{seen.fact(key) for _, seen in runs} for runs in case.arms] for key in (MOUNT_SOURCE, MOUNT_POINT))
    # A loop device may have had another image in each trial.
    alone = all((str(one).startswith("/dev/") and "/loop" not in str(one)) or ":" in str(one) for one in sources[0])
    if sources[0] != sources[1] or None in sources[0] or not (alone or points[0] == points[1]):
        return None
    name = ", ".join(sorted(map(str, sources[0])))
    return found(
        RULE,
        case,
        State.FAIL,
        f"{case.comparison.baseline} and {case.comparison.candidate} are directories of one file system ({name}).",
        severity=Severity.NOTES,
        relabel="comparison within one file system",
        short="one file system",
    )


def in_words(case: ComparisonCase, alien: list[Difference], implied: list[Difference], drifted: list[Drift]) -> str:
    """The finding in words."""
    factor = case.comparison.factor
    declared = sum(case.experiment.implies(bare(one.key)) for one in implied)
    by_file = f", {declared} declared in the file" if declared else ""
    follow = f" Facts that follow from the factor {factor}: {len(implied)}{by_file}." if implied else ""
    changed = f" Changed during a run: {', '.join(map(str, drifted[:MOST_SHOWN]))}." if drifted else ""
    if not alien:
        return f"No relevant fact differs besides the factor {factor}.{changed}{follow}"
    more = f"; and {len(alien) - MOST_SHOWN} more" if len(alien) > MOST_SHOWN else ""
    listed = "; ".join(map(str, alien[:MOST_SHOWN])) + more
    if is_bundle(case):
        return f"The factor {factor} is a choice of whole machines or systems, which differ in: {listed}.{changed}{follow}"
    return f"The arms differ in {counted(len(alien), 'fact')} besides the factor {factor}: {listed}.{changed}{follow}"


def differences(baseline: Runs, candidate: Runs) -> Iterator[Difference]:
    """Facts of the class performance whose values are not the same in both arms, by key."""
    by_host = over_hosts((*baseline, *candidate))
    left, right = values_of(baseline, by_host=by_host), values_of(candidate, by_host=by_host)
    for key in sorted(left.keys() | right.keys()):
        one, other = left.get(key, {NOT_THERE}), right.get(key, {NOT_THERE})
        if one != other:
            yield Difference(key=key, baseline=tuple(sorted(one)), candidate=tuple(sorted(other)))


def compared(runs: Runs) -> dict[str, set[str]]:
    """All facts that are compared, each with the values that it has in any of these runs."""
    return values_of(runs, by_host=over_hosts(runs))


def over_hosts(runs: Runs) -> bool:
    """Whether any run has facts of more than one host."""
    return any(len({fact.host for fact in observations.facts}) > 1 for _, observations in runs)


def values_of(runs: Runs, *, by_host: bool) -> dict[str, set[str]]:
    """Every value that a fact had in an arm; a run that lacks a fact which another has counts as `not there`.

    `by_host`: the host's name is a part of the key. Versions of tools are facts too.
    """
    each = [facts_of(run, observations, by_host=by_host) for run, observations in runs]
    keys = {key for facts in each for key in facts}
    return {key: {facts.get(key, NOT_THERE) for facts in each} for key in keys}


def facts_of(run: Run, observations: Observations, *, by_host: bool) -> dict[str, str]:
    """Key -> value of the facts of one run that matter."""
    versions = {f"version.{tool}": version for tool, version in run.versions.items()}
    return versions | {
        f"{fact.host}: {fact.key}" if by_host else fact.key: fact.value
        for fact in observations.facts
        if fact.when is When.BEFORE and fact.fact_class is FactClass.PERFORMANCE
    }


def drift(observations: Observations) -> Iterator[Drift]:
    """Facts of the class performance that were another thing after the last phase than before the first."""
    before = {(fact.host, fact.key): fact.value for fact in observations.facts if fact.when is When.BEFORE}
    for fact in observations.facts:
        was = before.get((fact.host, fact.key), fact.value)
        if fact.when is When.AFTER and fact.fact_class is FactClass.PERFORMANCE and was != fact.value:
            yield Drift(key=fact.key, was=was, now=fact.value)


def is_bundle(case: ComparisonCase) -> bool:
    """Whether the factor is a choice of whole machines or systems: it is changed by hand."""
    return case.comparison.factor != NOTEBOOK and any(
        factor.path == case.comparison.factor and factor.change is Change.MANUAL for factor in case.experiment.factors
    )


def following(case: ComparisonCase) -> Callable[[Difference], bool]:
    """What tells of each fact whether it follows from the factor.

    It does where it is the target's own, a path's own, the stack's from another stack, of an end that has no counterpart, or
    declared.
    """
    first = case.comparison.factor.partition(".")[0]
    of_target = first == "target" or first in {target.name for target in case.experiment.targets}
    own_path = f"target.path.{first}." if first in {path.name for path in case.experiment.paths} else None
    of_machine = _of_machine(case)
    another_stack = stacks(case.baseline) != stacks(case.candidate)
    another_server = first == "target" and ends(case.baseline) != ends(case.candidate)

    def follows(one: Difference) -> bool:
        key = bare(one.key)
        stack = another_stack and key.startswith(OF_THE_STACK)
        further = OF_AN_INTERFACE.match(key) is not None and (NOT_THERE,) in (one.baseline, one.candidate)
        unmatched = another_server and (end := OF_AN_END.match(key)) is not None and end[1] != OF_THE_LOAD
        of_path = own_path is not None and key.startswith(own_path)
        own = of_target and (stack or further or unmatched or key.startswith(OF_THE_TARGET))
        return of_path or own or key.startswith(of_machine) or case.experiment.implies(key)

    return follows


def _of_machine(case: ComparisonCase) -> tuple[str, ...]:
    """How facts begin that follow from the factor where it is a setting of the machine; empty where it is none."""
    first, _, knob = case.comparison.factor.partition(".")
    if first != MACHINE or case.experiment.machine is None:
        return ()
    own = (knob, knob.replace("sysctl.", "end.0.sysctl.", 1)) if knob.startswith("sysctl.") else OF_THE_MACHINE.get(knob, ())
    return (SET_BY_THE_LAB, *own)


def ends(runs: Runs) -> frozenset[str]:
    """The numbers of the ends of which the runs have facts."""
    return frozenset(end[1] for key in compared(runs) if (end := OF_AN_END.match(bare(key))))


def hosts_of_one_arm(case: ComparisonCase) -> frozenset[str]:
    """The hosts that a factor of numbers of hosts adds: that their facts are there in one arm alone is the factor itself."""
    if case.comparison.factor != "hosts":
        return frozenset()
    baseline, candidate = map(took_part, case.arms)
    return baseline ^ candidate


def bare(key: str) -> str:
    """The key without the host that several hosts put before it."""
    return key.rpartition(": ")[2]


def stacks(runs: Runs) -> set[tuple[str, ...]]:
    """The stacks of devices below the targets; which loop device it was makes no difference."""
    return {tuple(re.sub(r"^loop\d+", "loop", device) for device in place.devices) for run, _ in runs for place in run.places}


RULE = Rule(
    id="C01",
    name="fingerprint",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="comparability",
    meaning=Meaning.DIFFERENCES,
    needs=("fact:*",),
    check=check,
    wrong="A and B were measured in different environments: another kernel, another `dirty_ratio`, another read-ahead. The "
    "difference may be right, and its cause is unknown.",
    alternatives=(
        (
            "A fact that follows from the factor by itself (a driver, a path). A fact that also differs between two runs of one "
            "arm is noise."
        ),
        "A setting that a daemon changes (governor, read-ahead rules of udev). It changes within one arm too.",
    ),
    advice="Make the named facts equal and run again. Or declare the bundle: as one factor (a target for each bundle), or by "
    "key if a fact can only follow from the factor (`implied = [...]`). Until then the comparison ranks bundles, not their "
    "parts.",
    sources=(
        "Mytkowicz et al., ASPLOS 2009: Producing wrong data without doing anything obviously wrong",
        "Hoefler and Belli, SC 2015, rule 9: document all varying factors",
        "MLPerf audit guidelines: same as documented, otherwise explain",
    ),
)
