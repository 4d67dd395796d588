"""Compares the time and the entries that an importer prints with Assay's clock and the entries of its file.

ns-slapd prints `Processed 20002 entries in 7 seconds`; slapadd prints no figure, and the rule is n/a.
- Its time is longer than the clock, beyond `rounded_s`: a contradiction, invalid.
- Its entries are more or fewer than those of the file: invalid.
- Its time is shorter by more than `rounded_s` and `left_out_share` of the clock: a note. The importer leaves out its own start
  and end; the figure is by the clock.
- Otherwise: pass.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.findings import found
from assay.units import Unit

OPERATION, IMPORTER = "import", "importer"


def applies(case: TrialCase) -> str | None:
    """Imports whose tool prints a time of its own."""
    if case.measure.operation != OPERATION:
        return "no import"
    return None if f"{IMPORTER}.elapsed_ns" in case.phase.values else "the importer prints no time of its own"


def check(case: TrialCase) -> Finding:
    """The importer's figures against the clock and the file."""
    values, limits = case.phase.values, case.thresholds
    own_ns, clock_ns = values[f"{IMPORTER}.elapsed_ns"], values.get(f"{OPERATION}.elapsed_ns", 0.0)
    own, count = values.get(f"{IMPORTER}.count"), values.get(f"{OPERATION}.count")
    rounded_ns = limits["rounded_s"] * 1e9
    left_out = max(0.0, clock_ns - own_ns - rounded_ns) / clock_ns if clock_ns else 0.0
    observed = {
        "importer_ns": own_ns,
        "clock_ns": clock_ns,
        "importer_entries": own,
        "entries": count,
        "left_out_share": left_out,
    }
    times = f"{seconds(own_ns)} by the importer, {seconds(clock_ns)} by the clock"
    if own_ns > clock_ns + rounded_ns:
        text = f"The importer reports more time than the clock: {times}."
        return found(RULE, case, State.FAIL, text, observed=observed, relabel="an import with two times")
    if own is not None and count is not None and own != count:
        text = f"The importer reports {own:,.0f} entries, its file has {count:,.0f}."
        return found(RULE, case, State.FAIL, text, observed=observed, relabel="an import of other entries than the file's")
    if left_out > limits["left_out_share"]:
        text = f"The importer leaves out at least {measures.percent(left_out)} of the time: {times}. The figure is by the clock."
        return found(RULE, case, State.FAIL, text, severity=Severity.NOTES, observed=observed)
    return found(RULE, case, State.PASS, f"Importer and clock agree: {times}.", observed=observed)


def seconds(time_ns: float) -> str:
    """A time in words."""
    return measures.with_unit(time_ns, Unit.NANOSECONDS)


RULE = Rule(
    id="E09",
    name="importer-clock",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="evidence",
    short="importer and clock disagree",
    applies=applies,
    check=check,
    wrong="An importer prints that it processed all entries in 2 seconds. The command ran for 8: it started a server, opened its "
    "database, and wrote its caches back. The log is quoted, and its readers wait four times as long.",
    alternatives=(
        "The importer prints whole seconds. A difference below `rounded_s` is rounding.",
        "Entries that the file has twice, or that the server refused, are counted by one of the two alone.",
    ),
    advice="Use the figure by the clock. Compare importers by the same clock, from the start of the command to its end.",
    sources=("389-ds issue 4976: the log reports 2 s of a command of 8 s", "measured: `in 10 seconds` of 11.4 s"),
)
