"""line: the line's own counts as series of each direction; nothing without a line; damaged answers are refused."""

import json

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.line import METRICS
from assay.records import Edge, Snapshot, Subject

OBSERVER = catalogue.find("observers", "line")


def answer(factor):
    way = {name: factor * (number + 1) for number, name in enumerate(METRICS)}
    return json.dumps({"type": "counts", "mono_ns": 1, "links": {"wan": {"cut": False, "up": way, "down": way}}})


def parsed(*answers, line=7):
    looks = [Snapshot(edge=Edge.POLL, at_ns=number, took_ns=1, raw={"answer": text}) for number, text in enumerate(answers)]
    return OBSERVER.parse("local", "w.p", looks, Subject(line=line)).series


def test_counters_begin_at_nothing_and_maxima_stay_what_they_are():
    assert OBSERVER.read(Local(), Subject()) == {}
    assert parsed(line=None) == ()
    found = {(one.subject, one.metric): list(one.value) for one in parsed(answer(1), answer(3))}
    assert len(found) == 2 * len(METRICS)
    assert found["line:wan.up", "packets"] == [0, 2]
    place = METRICS.index("latest_ns") + 1
    assert found["line:wan.down", "latest_ns"] == [place, 3 * place]


def test_damaged_answers_are_refused(subtests):
    for text in ["", "{}", '{"links": {"wan": {"up": {}}}}', '{"links": 1}']:
        with subtests.test(text=text), pytest.raises(EvidenceError, match="expected its counts"):
            parsed(text)
