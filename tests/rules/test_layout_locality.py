"""T13: data in a corner of a disk that rotates, over most of it, and on a disk without moving parts."""

from array import array
from dataclasses import replace

import pytest

from assay.records import Claim, Fact, FactClass, Series, Severity, State, Tier, When
from assay.rules.layout_locality import RULE
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import ASKED, NOT_ASKED, PASS, hold

GIB = 1 << 30
SECTORS = 100 * GIB // 512


def fact(name, value):
    return Fact(host="local", when=When.BEFORE, key=f"device.0.{name}", value=value, fact_class=FactClass.PERFORMANCE)


def place(metric, *values):
    return Series(
        phase="p",
        source="layout:FIEMAP",
        layer="layout",
        host="local",
        subject="device:vda",
        metric=metric,
        unit="bytes",
        at_ns=array("q", range(len(values))),
        value=array("d", values),
    )


def case(low=None, high=None, rotational="1", sectors=str(SECTORS), **made):
    found = case_of(Made(claim=Claim(tier=Tier.DEVICE), **made), "T13")
    facts = (*found.observations.facts, fact("queue.rotational", rotational), fact("size", sectors))
    series = () if low is None else (place("lowest_byte", 0, low), place("highest_byte", 1, high))
    return replace(found, observations=replace(found.observations, facts=facts, series=series))


def test_a_corner_of_the_disk_is_a_note():
    found = RULE.check(case(10 * GIB, 14 * GIB))
    assert (found.state, found.severity) == (State.FAIL, Severity.NOTES)
    assert found.observed["span_share"] == pytest.approx(0.04)
    assert found.relabel is None


@each("lacking", {}, {"low": 1, "high": 2, "sectors": "0"}, {"low": 1, "high": 2, "sectors": "?"})
def test_what_is_not_known_is_unverified(lacking):
    assert RULE.check(case(**lacking)).state is State.UNVERIFIED


def test_the_fullest_directory_is_told():
    one = case(0, 50 * GIB)
    one = replace(one, phase=replace(one.phase, data_files=("/a/1", "/a/2", "/b/1")))
    assert RULE.check(one).observed["files_in_a_directory"] == 2


def test_states():
    hold(
        "the last look counts and most of the disk passes",
        (RULE.check(case(5 * GIB, 90 * GIB)), PASS),
        (RULE.check(case(10 * GIB, 20 * GIB)), PASS),
        "neither flash nor metadata is its business",
        (RULE.applies(case(rotational="0")), NOT_ASKED),
        (RULE.applies(case(operation="stat")), NOT_ASKED),
        (RULE.applies(case()), ASKED),
    )
