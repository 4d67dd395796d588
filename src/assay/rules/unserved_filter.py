"""Finds searches whose filter no index of the directory server serves: each one reads every entry.

The filters are those of the load, the indexes those that the running server gave (fact `target.setting.indexes`).
- `&` is served where one of its parts is, `|` where all are, `!` never.
- An equality and an order need an index `eq`, a presence `pres`, a part of a value `sub`.
- A filter that is not served: a note that names the attribute. The figure is right, and it is that of a scan.

Shapes (`?`) are checked by `plan`. Attributes that the software indexes without saying so are not known.
"""

from __future__ import annotations

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import directory
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.applicability import workload_kind
from assay.rulekit.findings import found, knob
from assay.settings import filter_indexes

FACT = "target.setting.indexes"
KNOBS = ("filter", "searches", "scope")


def applies(case: TrialCase) -> str | None:
    """Searches of a load whose filters are known, on a server that gives its indexes."""
    if workload_kind(case) != "ldap_load" or directory.type_of(case.measure.operation) != "search":
        return "no searches of a directory load"
    return None if filters(case) else "no filter below a base, or shapes alone"


def filters(case: TrialCase) -> tuple[str, ...]:
    """The filters of the load of this trial."""
    return filter_indexes.filters({name: knob(case, name) for name in KNOBS})


def check(case: TrialCase) -> Finding:
    """Each filter against the indexes that the server gave."""
    fact = case.observations.fact(FACT, host=case.host)
    if fact is None:
        return found(RULE, case, State.UNVERIFIED, "The indexes of the server are unknown.")
    known = filter_indexes.indexes(fact)
    lacking = dict.fromkeys(name for one in filters(case) for name in filter_indexes.unserved(one, known))
    if not lacking:
        return found(RULE, case, State.PASS, "Indexes serve each filter.", observed={"unserved": 0})
    names = ", ".join(lacking)
    return found(
        RULE,
        case,
        State.FAIL,
        f"No index serves {names}: each such search reads every entry.",
        observed={"unserved": len(lacking)},
        relabel=f"no index serves {names}",
        detail="each search reads every entry",
        evidence=(f"{FACT}: read back from the running server",),
    )


RULE = Rule(
    id="L21",
    name="unserved-filter",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="load",
    short="no index for the filter",
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    reads=(f"fact:{FACT}",),
    wrong="Searches by an attribute without an index are a hundred times as slow, and the figure is called that of the server. "
    "Its CPUs are named the limit, and nobody sees that each search reads all entries.",
    alternatives=(
        "The software indexes this attribute by itself, under another name. Check its documentation.",
        "The index is there and still being built. Wait for the end of the indexing.",
    ),
    advice="Index the attribute (`indexes` of the target), or use a filter that an index serves. Keep it where the scan is the "
    "subject.",
    sources=("slapd.conf(5): index", "slapd-mdb(5)", "389 Directory Server: unindexed searches, notes=A in the access log"),
)
