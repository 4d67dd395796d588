"""W10: nearly empty, in use, nearly full, and not known."""

from dataclasses import replace

import pytest

from assay.records import Fact, FactClass, Severity, State, When
from assay.rules.filling import RULE
from audit.case_builder import Made, case_of
from stage.rows import each


def free(value, when=When.BEFORE):
    return Fact(host="local", when=when, key="filesystem.free_share", value=value, fact_class=FactClass.NOISE)


def case(*facts):
    found = case_of(Made(), "W10")
    return replace(found, observations=replace(found.observations, facts=(*found.observations.facts, *facts)))


@each("share state", ("0.99", State.FAIL), ("0.801", State.FAIL), ("0.5", State.PASS), ("0.09", State.FAIL))
def test_the_extremes_are_notes(share, state):
    found = RULE.check(case(free(share)))
    assert found.state is state
    assert found.severity is Severity.NOTES
    assert found.observed["taken_share"] == pytest.approx(1 - float(share))


@each("facts", (), (free("0.5", When.AFTER),), (free("?"),))
def test_what_is_not_known_is_unverified(facts):
    assert RULE.check(case(*facts)).state is State.UNVERIFIED


def test_only_directories_are_filled():
    made = case(free("0.5"))
    assert RULE.applies(made) is None
    assert RULE.applies(replace(made, run=replace(made.run, places=()))) is not None
