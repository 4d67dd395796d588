"""Finds arms that ran on different machines: the difference may be the machine's, not the factor's.

A machine is known by the fact `machine.serial` (a digest of the board's serial number, readable by root), else by `host.name`.
A remote target's machine is its host in the file, or a line `machine = NAME` in the `facts` of a target of kind commands.
- The arms ran on different machines: qualified.
- The arms ran on the same machines, were swapped, or the file declares it: pass.
- A run lacks its host's facts, or only the name is known and no boot is common to the arms: unverified.
- The factor `hosts` (a number of load hosts): only the hosts of both arms are compared.

C01 lists kernel, settings and devices that came with the other machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from assay.catalogue import ComparisonCase, Rule, Runs
from assay.records import Finding, Observations, Run, Scope, Severity, State, When
from assay.rulekit.applicability import took_part
from assay.rulekit.findings import found

SERIAL, NAME, BOOT, OF_TARGET = "machine.serial", "host.name", "host.boot", "target.machine"
NO_SERIAL = "Serial number unknown (not root, or a machine without DMI)"
LOCAL = "local"

Machine = tuple[str, ...]
"""All machines of one run: where the load ran, and where the target is if it is elsewhere."""


def of_both(case: ComparisonCase) -> ComparisonCase:
    """The case with the hosts of both arms alone, where the factor is how many load hosts there are."""
    if case.comparison.factor != "hosts":
        return case
    baseline, candidate = map(took_part, case.arms)
    common = baseline & candidate
    return replace(
        case,
        baseline=tuple((run, seen.on(*common)) for run, seen in case.baseline),
        candidate=tuple((run, seen.on(*common)) for run, seen in case.candidate),
    )


def check(case: ComparisonCase) -> Finding:
    """Fail where the two arms have no machine, or not all machines, in common."""
    case = of_both(case)
    every = (*case.baseline, *case.candidate)
    key = SERIAL if every and all(known(seen, SERIAL) for _, seen in every) else NAME
    if not all(case.arms) or not all(known(seen, key) for _, seen in every):
        unknown = "a run lacks the facts of its host" if all(case.arms) else "an arm has no run that counts"
        return found(RULE, case, State.UNVERIFIED, f"Machines of the arms unknown: {unknown}.")
    arms = [{machines(run, seen, key) for run, seen in runs} for runs in case.arms]
    first, second = (", ".join(dict.fromkeys(name for run, seen in runs for name in named(run, seen))) for runs in case.arms)
    observed: dict[str, float | str | None] = {"baseline": first, "candidate": second, "machines": len(arms[0] | arms[1])}
    if arms[0] == arms[1] and key == NAME and rebooted(case):
        words = f"Machine of both arms: {first} by name. {NO_SERIAL}, and no boot is in common: perhaps two machines of one name."
        return found(RULE, case, State.UNVERIFIED, words, observed=observed)
    if arms[0] == arms[1]:
        same = "the same machine" if len(arms[0]) == 1 else f"all {len(arms[0])} machines"
        by_name = f", by name. {NO_SERIAL}." if key == NAME else "."
        return found(RULE, case, State.PASS, f"Both arms ran on {same}{by_name}", observed=observed)
    if all(case.experiment.implies(one) for one in (differing(case) or (NAME,))):
        words = f"The machine belongs to the factor {case.comparison.factor}, as declared."
        return found(RULE, case, State.PASS, words, observed=observed)
    some = "share only some of their machines" if arms[0] & arms[1] else "ran on different machines"
    return found(
        RULE,
        case,
        State.FAIL,
        f"The arms {some}: {first} against {second}. Equal machines differ too, so the"
        f" difference may not come from {case.comparison.factor}.",
        observed=observed,
        threshold={"machines": 1},
        relabel="comparison of two machines and their systems",
        evidence=(f"facts {NAME}, {SERIAL}, {OF_TARGET} of each run",),
    )


def known(observations: Observations, key: str) -> bool:
    """Whether a run has this fact, of each of its hosts that tells its name."""
    having = hosts_with(observations, key)
    return bool(having) and having >= hosts_with(observations, NAME)


def hosts_with(observations: Observations, key: str) -> frozenset[str]:
    """The hosts of a run that tell this."""
    return frozenset(fact.host for fact in observations.facts if fact.key == key and fact.when is When.BEFORE)


def rebooted(case: ComparisonCase) -> bool:
    """Whether both arms record their boots and have none in common: one boot would prove one machine."""
    first, second = (values(runs, BOOT) for runs in case.arms)
    return None not in first | second and not first & second


def machines(run: Run, observations: Observations, key: str) -> Machine:
    """The machines of one run: identified by one fact for the load, by name for the target."""
    load = tuple(sorted({fact.value for fact in observations.facts if fact.key == key and fact.when is When.BEFORE}))
    return (*load, *elsewhere(run, observations))


def elsewhere(run: Run, observations: Observations) -> Iterator[str]:
    """The machines of targets that are not where the load is."""
    machine = observations.fact(OF_TARGET)
    if machine is not None:
        yield f"target on {machine}"
    yield from sorted({f"target on {place.host}" for place in run.places if place.host != LOCAL})


def named(run: Run, observations: Observations) -> Iterator[str]:
    """The machines of one run by their names, for people."""
    names = (fact.value for fact in observations.facts if fact.key == NAME and fact.when is When.BEFORE)
    yield from tuple(dict.fromkeys(names)) or ("a machine without a name",)
    yield from elsewhere(run, observations)


def differing(case: ComparisonCase) -> list[str]:
    """The keys of the facts by which the machines of the arms differ."""
    return [key for key in (SERIAL, NAME, OF_TARGET) if values(case.baseline, key) != values(case.candidate, key)]


def values(runs: Runs, key: str) -> set[tuple[str, ...] | None]:
    """The values of one fact in an arm, of all hosts of a run together; None for a run without it."""
    each = (sorted(fact.value for fact in seen.facts if fact.key == key and fact.when is When.BEFORE) for _, seen in runs)
    return {tuple(found) or None for found in each}


RULE = Rule(
    id="C05",
    name="hardware-instance",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="comparability",
    short="different machines",
    needs=("fact:*",),
    check=check,
    wrong="The old system runs on the old server, the new one on a new server of the same make. Two equal machines differ by "
    "some per cent in memory bandwidth and more in their disks: firmware, age, place in the rack. The comparison is right for "
    "these two machines and says nothing about the systems.",
    alternatives=(
        "One machine under two names (renamed, another container). Its serial number is the same; only root can read it.",
        "Equal machines. Show it with a comparison of the same system on both, which must be `equivalent`.",
    ),
    advice="Measure both arms on one machine, or swap: each arm on each machine, equally often. If the machine belongs to the "
    'factor, declare implied = ["host.name", "machine.*", "target.machine"].',
    sources=("Maricq et al., OSDI 2018: Taming performance variability (835 servers, supposedly identical ones differ)",),
)
