"""Finds an index that the directory server of one arm lacks.

The indexes of both arms are those that the running servers gave (fact `target.setting.indexes`).
- The filter of the load has an attribute whose indexes differ: searches invalidate. One arm reads all entries.
- Any other index differs between servers of one software: changes invalidate, since each index costs a write. Searches get a
  note.
- Between servers of different software only attributes of the filter count: each has system indexes of its own.
- The indexes are the factor, or declared (`implied = ["target.setting.indexes"]`): not judged.

An external command has no known filter. Then every difference between servers of one software invalidates.
"""

from __future__ import annotations

import re

from assay.catalogue import ComparisonCase, Rule, Runs
from assay.evidence import directory
from assay.records import Finding, Scope, Severity, State, Value
from assay.rulekit.applicability import is_own_setting, workload_kind
from assay.rulekit.findings import found
from assay.settings import searches
from assay.settings.filter_indexes import indexes

FACT, SOFTWARE = "target.setting.indexes", "target.setting.software"
LOAD, FILTER, DEFAULT = "ldap_load", "filter", "(uid=u{key:08d})"
SEARCHES = "searches"
SCOPE, BASE, OF_BASE = "scope", "base", "(objectClass=*)"
"""A search of scope base is sent with this filter, whatever the knob says."""
ATTRIBUTE = re.compile(r"\(\s*([A-Za-z][A-Za-z0-9;.-]*)\s*[~<>:]?=")


def applies(case: ComparisonCase) -> str | None:
    """Comparisons of directory servers, unless their own setting is the factor."""
    if not any(seen.fact(FACT) for arm in case.arms for _, seen in arm):
        return "no directory server that gives its indexes"
    if is_own_setting(case):
        return f"the server's setting is the factor ({case.comparison.factor})"
    return "declared in the file (implied)" if case.experiment.implies(FACT) else None


def check(case: ComparisonCase) -> Finding:
    """The indexes of both arms, attribute by attribute."""
    arms = [{text for _, seen in arm if (text := seen.fact(FACT)) is not None} for arm in case.arms]
    if not all(arms):
        return found(RULE, case, State.UNVERIFIED, "The indexes of one arm are unknown.")
    if len(arms[0]) > 1 or len(arms[1]) > 1:
        return found(RULE, case, State.UNVERIFIED, "The indexes differ between the runs of one arm.")
    baseline, candidate = (indexes(next(iter(arm))) for arm in arms)
    wanted, alike = filtered(case), one_software(case.arms)
    unlike = [name for name in sorted(baseline.keys() | candidate.keys()) if baseline.get(name) != candidate.get(name)]
    unlike = [name for name in unlike if alike or name in wanted]
    if not unlike:
        of_what = "Equal indexes" if alike else f"Equal indexes of the filter ({', '.join(sorted(wanted)) or 'none known'})"
        return found(RULE, case, State.PASS, f"{of_what} in both arms.", observed={"differing": 0})
    severity = weight(case, unlike, wanted)
    each = "; ".join(f"{name}: {words(baseline.get(name))} against {words(candidate.get(name))}" for name in unlike)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Different indexes in {case.comparison.baseline} and {case.comparison.candidate}. {each}.",
        severity=severity,
        observed={"differing": len(unlike)},
        relabel="comparison of servers with different indexes" if severity is Severity.INVALIDATES else None,
        evidence=(f"{FACT}: read back from the running servers",),
    )


def weight(case: ComparisonCase, unlike: list[str], wanted: frozenset[str]) -> Severity:
    """What different indexes mean for this operation."""
    kind = directory.type_of(case.measure.operation)
    decisive = kind in directory.CHANGES or not wanted or bool(set(unlike) & wanted)
    return Severity.INVALIDATES if decisive else Severity.NOTES


def filtered(case: ComparisonCase) -> frozenset[str]:
    """Attributes in the filters of the load; empty where they are not known, as those of shapes."""
    if workload_kind(case) != LOAD:
        return frozenset()
    several = searches.searches({SEARCHES: knob(case, SEARCHES), SCOPE: knob(case, SCOPE)})
    if any(one.is_shape for one in several):
        return frozenset()
    one = OF_BASE if knob(case, SCOPE) == BASE else str(knob(case, FILTER) or DEFAULT)
    text = "".join(search.filter for search in several) or one
    return frozenset(name.lower() for name in ATTRIBUTE.findall(text))


def knob(case: ComparisonCase, name: str) -> Value:
    """A knob of the load: the level at which the arms are compared, else that of the file; None where neither sets it."""
    spec = next((one for one in case.experiment.workloads if one.name == case.measure.workload), None)
    own: Value = None if spec is None else spec.knobs.get(name)
    return case.comparison.within.get(f"{case.measure.workload}.{name}", own)


def one_software(arms: tuple[Runs, Runs]) -> bool:
    """Whether all servers are of one software, whatever its version."""
    names = {str(seen.fact(SOFTWARE)).partition(" ")[0] for arm in arms for _, seen in arm}
    return len(names) == 1


def words(kinds: frozenset[str] | None) -> str:
    """`eq sub`, or `no index`."""
    return " ".join(sorted(kinds)) if kinds else "no index"


RULE = Rule(
    id="C07",
    name="index-parity",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="comparability",
    short="an index is missing in one arm",
    applies=applies,
    check=check,
    wrong="Two directory servers hold the same people. One of them has no index on the attribute of the filter and reads every "
    "entry for each search. It is a hundred times as slow, and the comparison is printed as one of the servers.",
    alternatives=(
        "The software has an index of its own for this attribute, under another name. Check its documentation, and declare it.",
        "The index is there and still being built. Wait for the end of the indexing.",
    ),
    advice="Set the same `indexes` in both arms. Or make them the factor, as the knob `indexes` of one target.",
    sources=(
        "Heiser, Systems benchmarking crimes: unfair competitors",
        "slapd.conf(5), index; 389-ds: cn=index below the backend",
    ),
)
