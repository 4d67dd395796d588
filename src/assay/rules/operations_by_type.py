"""Compares operations of the clients with those that a directory server counted, type by type.

The server's own counters (cn=Monitor of slapd, cn=snmp,cn=monitor of 389-ds) are read at both edges of the clock. Assay's
own requests are taken off.
- The clients report more than the server counted, beyond `disagreement_share`: invalid. Something else answered, or nothing did.
- The server counted more: other clients used it too. They are named by type. Their share of all operations, or of all entries,
  is time that the load did not have. Above `noted_share` it is a failure: a note, or beyond the experiment's `matters` a bound.
- Equal counts: pass.

Types are bind, search, compare, add, modify, delete, rename, extended and abandon; entries count as well. The engine `ldap`
counts every type. An external command is compared by the type of the measured operation alone, and must report its number.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import directory
from assay.records import Finding, Scope, Severity, State
from assay.rulekit import noise
from assay.rulekit.findings import at_most, found

LEAST = 1
"""A server may count an operation just after its answer was read."""


def applies(case: TrialCase) -> str | None:
    """Operations on a directory server with counters; a command must report how many it did."""
    if directory.software(case.run) is None:
        return "the target names no directory server"
    kind = directory.type_of(case.measure.operation)
    if kind is None:
        return "no operation of a directory"
    return None if directory.sent(case.phase).get(kind) else "the load reports no number of operations"


def check(case: TrialCase) -> Finding:
    """What the clients report against what the server counted, and who else asked."""
    counted = directory.monitored(case.phase, case.observations)
    mine, certain = (of_load(case, each(case.phase)) for each in (directory.sent, directory.answered))
    if not counted or not mine.keys() & counted.keys():
        text = "The server's own counters are unknown. Let the bind DN read cn=Monitor (slapd) or cn=monitor (389-ds)."
        return found(RULE, case, State.UNVERIFIED, text)
    observed = {f"clients.{name}": float(count) for name, count in mine.items() if count}
    observed |= {f"server.{name}": count for name, count in counted.items() if count}
    for name, count in certain.items():
        if name in counted and count - counted[name] > allowed(case, count):
            return unseen(case, name, (count, counted[name]), observed)
    others = {
        name: counted[name] - mine.get(name, 0)
        for name in (mine if case.phase.values else counted)
        if name in counted and counted[name] - mine.get(name, 0) > allowed(case, mine.get(name, 0))
    }
    return with_others(case, others, counted, observed)


def of_load(case: TrialCase, counts: Mapping[str, int]) -> dict[str, int]:
    """The clients' counts by type; of a command those of the measured operation's type alone."""
    if not case.phase.values:
        return dict(counts)
    kind = directory.type_of(case.measure.operation)
    return {name: count for name, count in counts.items() if name == kind}


def allowed(case: TrialCase, count: float) -> float:
    """How far two counts of the same operations may be apart."""
    return max(LEAST, case.thresholds["disagreement_share"] * count)


def unseen(case: TrialCase, name: str, counts: tuple[float, float], observed: Mapping[str, float]) -> Finding:
    """The contradiction: operations that the server never counted."""
    mine, server = counts
    what = directory.PLURALS.get(name, name)
    return found(
        RULE,
        case,
        State.FAIL,
        f"The clients report {mine:,.0f} {what}, the server counted {server:,.0f}: it did not do the rest.",
        observed=observed,
        bound=at_most(case, server / mine) if name != directory.ENTRIES else None,
        relabel="operations that the server never saw",
        detail=f"the server saw {measures.percent(server / mine)}",
    )


def with_others(
    case: TrialCase, others: Mapping[str, float], counted: Mapping[str, float], observed: Mapping[str, float]
) -> Finding:
    """Equal counts, or what other clients asked, with what that can have cost the load."""
    if not others:
        mine = directory.in_words({name: observed[f"server.{name}"] for name in counted if f"clients.{name}" in observed})
        return found(RULE, case, State.PASS, f"The server counted what the clients report: {mine}.", observed=observed)
    share = of_others(others, counted)
    effect = noise.effect(case, share)
    named = f"Other clients used the server: {directory.in_words(others)} ({measures.percent(share)} of its work)."
    return found(
        RULE,
        case,
        effect.state,
        f"{named} {noise.in_words(case, effect)}" if effect.state is State.FAIL else named,
        severity=effect.severity,
        observed={**observed, "others_share": share},
        bound=effect.bound,
        relabel="load on a server that other clients used too",
        detail=directory.in_words(others),
    )


def of_others(others: Mapping[str, float], counted: Mapping[str, float]) -> float:
    """The share of other clients in all operations, or in all entries, whichever is more."""
    operations = sum(count for name, count in counted.items() if name in directory.TYPES)
    foreign = sum(count for name, count in others.items() if name in directory.TYPES)
    entries = counted.get(directory.ENTRIES, 0.0)
    return max(foreign / operations if operations else 0.0, others.get(directory.ENTRIES, 0.0) / entries if entries else 0.0)


RULE = Rule(
    id="E08",
    name="operations-by-type",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="evidence",
    short="server and clients count differently",
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    reads=("L0.read", *(f"directory.{name}" for name in (*directory.TYPES, directory.ENTRIES))),
    wrong="A tool prints 10,000 searches a second. Half of them were answered by a cache of the client, or never sent. Or a "
    "nightly job asks the same server while the load runs, and the load gets what the job leaves. The tool's own figures show "
    "neither.",
    alternatives=(
        "Operations of other clients may cost more, such as searches without an index. The bound is then too narrow.",
        "The tool counts retries or parts of an operation. Check one operation by hand.",
        "A proxy or load balancer sends the clients to several servers. Name the server that answers them.",
    ),
    advice="Keep other clients off the server, or measure a server of your own (ldap_openldap, ldap_389ds). Let the tool report "
    "what it sent, without answers from its own cache.",
    sources=(
        "slapd-monitor(5): cn=Operations, completed",
        "389-ds: cn=snmp,cn=monitor; RFC 2605 (operations by type)",
        "measured: 15,000 searches of a client, 15,006 by cn=Monitor with five of another client and one look; exact after that",
    ),
)
