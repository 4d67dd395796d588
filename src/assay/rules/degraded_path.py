"""Finds trials with I/O errors or a degraded path: an array without a member, a link below its own speed.

The observer `health` reads error counters before and after the trial: SCSI devices, ext4, btrfs.
It also reads the state of md arrays, and speed and width of the links of NVMe devices.
Under a wire claim, errors and half duplex of the network interfaces count too. An error in any phase counts for the whole run.
- Claims of the device, stable media or a wire: an error invalidates; a degraded array qualifies, and the figure is a lower
  bound.
- Other claims: both are notes. A slow link is always a note.

Retries inside a device are invisible to the kernel; smartctl shows some.
The rule is unverified without any error counter: xfs and virtual disks have none. Multipath devices are not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.measures import cost, far_end
from assay.records import Finding, Path, Scope, Severity, State, When
from assay.rulekit.applicability import rests_on_storage
from assay.rulekit.findings import found, held_back

HEALTH, ERRORS = "health.", "health.errors."
RESTING = ("idle", "frozen", "none")
"""What md does where it does nothing about an array."""
NETWORK = ("rx_errors", "tx_errors")


def applies(case: TrialCase) -> str | None:
    """Hosts on the path: that of the target, and where a wire is claimed those of the load."""
    on_path = case.holds_target or case.claim.path is Path.WIRE
    return None if on_path else "a load host without the target, and no wire claimed"


def check(case: TrialCase) -> Finding:
    """Errors that were counted, then what was not whole, then what could be faster."""
    errors, states, slow = [*counted_errors(case)], [*degraded(case)], [*slow_links(case)]
    if errors or states:
        return failed(case, errors, states)
    if slow:
        statement = f"Path below its possible speed: {'; '.join(slow)}."
        return found(RULE, case, State.FAIL, statement, severity=Severity.NOTES, observed=dict.fromkeys(slow, 1.0))
    keys = sorted({fact.key for fact in case.observations.facts if fact.key.startswith(ERRORS)})
    if not keys and case.holds_target:
        statement = "No error counters of devices or file system here. Check the kernel log of that time."
        return found(RULE, case, State.UNVERIFIED, statement)
    if unseen := [*uncounted(case)]:
        return found(RULE, case, State.UNVERIFIED, f"Errors not counted to the end: {', '.join(unseen)}.")
    counters = f"error counters on the path to the disk: {len(keys)}" if case.holds_target else "network interfaces of this host"
    statement = f"No I/O error ({counters})."
    return found(RULE, case, State.PASS, statement, observed={"counters": float(len(keys))}, evidence=tuple(keys))


def failed(case: TrialCase, errors: list[str], states: list[str]) -> Finding:
    """Errors invalidate, a degraded state bounds what rests on the path; of any other claim it is worth knowing."""
    claimed = rests_on_storage(case.claim) or case.claim.path is Path.WIRE
    statements = [f"I/O errors during the trial: {'; '.join(errors)}."] if errors else []
    statements += [f"Path to the disk degraded: {'; '.join(states)}."] if states else []
    return found(
        RULE,
        case,
        State.FAIL,
        " ".join(statements),
        severity=(Severity.INVALIDATES if errors else Severity.QUALIFIES) if claimed else Severity.NOTES,
        observed=dict.fromkeys((*errors, *states), 1.0),
        bound=held_back(case)
        if claimed and not errors and case.measure.figure not in (*cost.UNITS, *far_end.FAR_UNITS)
        else None,
        relabel=f"on a path {'with errors' if errors else 'in a degraded state'}" if claimed else None,
        evidence=("health: facts before and after the trial", "network:/proc/net/dev"),
    )


def counted_errors(case: TrialCase) -> Iterator[str]:
    """Counters that rose between the looks before and after the trial; of interfaces under the clock."""
    for fact in case.observations.facts if case.holds_target else ():
        after = case.observations.fact(fact.key, When.AFTER, fact.host)
        if fact.when is not When.BEFORE or not fact.key.startswith(ERRORS) or after is None:
            continue
        more = int(after) - int(fact.value)
        if more > 0:
            place, _, counter = fact.key.removeprefix(ERRORS).partition(".")
            yield f"{more:,} on {name(case, place)} ({counter})"
    for metric in NETWORK if case.claim.path is Path.WIRE else ():
        for series in case.observations.over_time(case.phase.name, "network", metric):
            risen = ladder.known_rise(series, case.phase.start_ns, case.phase.end_ns)
            if (more := int(risen)) > 0:
                yield f"{more:,} on {series.subject.partition(':')[2]} ({metric})"


def uncounted(case: TrialCase) -> Iterator[str]:
    """Counters of interfaces that were not read at both ends of the clock."""
    for metric in NETWORK if case.claim.path is Path.WIRE else ():
        for series in case.observations.over_time(case.phase.name, "network", metric):
            if ladder.rise(series, case.phase.start_ns, case.phase.end_ns) is None:
                yield f"{series.subject.partition(':')[2]} ({metric})"


def degraded(case: TrialCase) -> Iterator[str]:
    """Arrays that lack a member or are at work on themselves, and interfaces that cannot send and receive at once."""
    for key, value in states(case):
        kind, _, rest = key.partition(".")
        where, _, what = rest.partition(".")
        if what == "degraded" and value not in ("", "0"):
            yield f"array {name(case, where)} lacks {value} of its members"
        if what == "sync_action" and value not in RESTING:
            yield f"array {name(case, where)} was rebuilding or checking ({value})"
        if (kind, what, value, case.claim.path) == ("network", "duplex", "half", Path.WIRE):
            yield f"interface {where} at half duplex"


def slow_links(case: TrialCase) -> Iterator[str]:
    """PCI Express links below what the device could."""
    known = dict(states(case))
    for key, value in known.items():
        most = known.get(key.replace(".current_", ".max_"), "")
        now, could = leading(value), leading(most)
        if ".current_link_" in key and now is not None and could is not None and now < could:
            place, _, what = key.removeprefix("device.").partition(".")
            yield f"link of {name(case, place)} at {what.rpartition('_')[2]} {value} of {most}"


def states(case: TrialCase) -> Iterator[tuple[str, str]]:
    """Key (without `health.`) and value of each state, as it was before the trial and after it."""
    kind = HEALTH if case.holds_target else f"{HEALTH}network."
    facts = (fact for fact in case.observations.facts if fact.key.startswith(kind) and not fact.key.startswith(ERRORS))
    yield from dict.fromkeys((fact.key.removeprefix(HEALTH), fact.value) for fact in facts)


def leading(text: str) -> float | None:
    """The number that a text begins with; None where it begins with none (`Unknown`)."""
    word = text.partition(" ")[0]
    return float(word) if word.replace(".", "", 1).isdigit() else None


def name(case: TrialCase, place: str) -> str:
    """The device at a place of the stack."""
    return case.observations.fact(f"device.{place}.name") or f"device {place}"


RULE = Rule(
    id="L10",
    name="degraded-path",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="noise",
    short="I/O errors on the path",
    applies=applies,
    check=check,
    about=About.EACH_HOST,
    wrong="A disk reads a sector at the fifth attempt. An array computes the data of a missing member. A cable loses every "
    "hundredth packet. All of them answer correctly, and late. The figure describes the fault.",
    alternatives=(
        "Another process met the error: counters of a device or a file system include all processes.",
        "A slot with fewer or older lanes than the device could use is a property of this machine.",
    ),
    advice="Find the faulty part (kernel log, smartctl, /proc/mdstat, ethtool -S) and replace it. Wait until the array is "
    "complete, and repeat.",
    sources=(
        "Linux: admin-guide/md.rst (degraded, sync_action)",
        "Gunawi et al., FAST 2018: fail-slow at scale",
    ),
)
