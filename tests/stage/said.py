"""What rules say of cases, as tables: every row is compared, and all that differ are shown together."""

import pytest

from assay.records import Bound, Severity, State

PASS, FAIL, UNVERIFIED, NOT_ASKED = State.PASS, State.FAIL, State.UNVERIFIED, State.NOT_APPLICABLE
INVALIDATES, QUALIFIES, NOTES = Severity.INVALIDATES, Severity.QUALIFIES, Severity.NOTES
ASKED = "asked"
"""The rule applies: of what its `applies` returns."""
BOUNDED, UNBOUNDED = "a bound", "no bound"


class Edge:
    """One edge of the bound of a finding."""

    def __init__(self, side, value):
        self.side, self.value = side, value

    def __repr__(self):
        return f"{self.side} = {self.value}"


def low(value):
    return Edge("low", value)


def high(value):
    return Edge("high", value)


def hold(*rows):
    """Compare what was found with what is wanted of it: `hold(("a full line", judged(1.0), FAIL, QUALIFIES, high(2e6)), ...)`.

    A row begins with its words, which may also stand before several rows, then comes a finding, or what `applies` returned.
    Wanted are a state, a severity, an edge of the bound, texts (in any field of the finding), and observed figures as a mapping.
    """
    words, failures = "", []
    for row in rows:
        if isinstance(row, str):
            words = row
            continue
        *named, found, wanted = (*row[:2], row[2:]) if isinstance(row[0], str) and len(row) > 2 else (row[0], row[1:])
        words = named[0] if named else words
        failures += [f"{words}: not {one!r}, but {found}" for one in wanted if not fits(found, one)]
    if failures:
        raise AssertionError("\n".join(failures))


def fits(found, wanted):
    """Whether a finding is as wanted in one way."""
    if found is None or isinstance(found, str):
        return (found is None) == (wanted == ASKED)
    if isinstance(wanted, Edge):
        edge = found.bound and getattr(found.bound, wanted.side)
        return edge == approx(wanted.value)
    if isinstance(wanted, dict):
        return all(found.observed.get(name) == approx(value) for name, value in wanted.items())
    whole = {BOUNDED: found.bound is not None, UNBOUNDED: found.bound is None}
    if isinstance(wanted, Bound | State | Severity) or wanted in whole:
        return whole.get(wanted, wanted in (found.state, found.severity, found.bound))
    return wanted in " ".join(filter(None, (found.statement, found.relabel, found.detail, found.advice, found.short, found.part)))


def approx(value):
    return pytest.approx(value) if isinstance(value, int | float) else value
