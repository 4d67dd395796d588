"""W04: clients that start two seconds apart."""

import pytest

from assay.records import Severity, State
from assay.rules.start_skew import RULE
from audit.case_builder import Made, case_of


def judged(starts, ends):
    return RULE.check(case_of(Made(starts=starts, ends=ends), "W04"))


def test_together_passes():
    assert judged((0.0, 0.01), (10.0, 10.02)).state is State.PASS


def test_apart_qualifies_with_both_rates_as_bound():
    finding = judged((0.0, 2.0), (10.0, 12.0))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.observed["overlap_share"] == pytest.approx(8 / 12)
    each = 256 * (1 << 20)
    assert finding.bound.high == pytest.approx(2 * each * 0.8 / 8)
    assert finding.bound.low == pytest.approx(2 * each / 12)


def test_hardly_together_is_invalid():
    assert judged((0.0, 8.0), (10.0, 18.0)).severity is Severity.INVALIDATES


def test_never_together_has_no_bound():
    finding = judged((0.0, 11.0), (10.0, 20.0))
    assert finding.severity is Severity.INVALIDATES
    assert finding.bound is None


def test_one_client_is_not_its_business():
    assert RULE.applies(case_of(Made(), "W04"))
