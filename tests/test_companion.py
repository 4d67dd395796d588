"""What runs beside a phase for an observer: in the ledger while it lives, asked at the edges, ended with it for certain."""

from pathlib import Path

import pytest

from assay import catalogue
from assay.catalogue import Beside, Evidence, Observer
from assay.errors import EvidenceError
from assay.records import Edge, Subject
from assay.sampler import Sampler, looking
from assay.undo.ledger import Ledger
from stage.trial_stage import HOST

EDGES = (Edge.QUIET, Edge.ARMED, Edge.LAST, Edge.DRAINED)


def echoed(_host, process):
    """Ask `cat` for a word."""
    process.send("word")
    return {"said": process.receive(120), "pid": process.pid}


def observer(kept, argv=("cat",), read=echoed):
    def parse(_host, _phase, snapshots, _subject):
        kept.extend(snapshot.raw for snapshot in snapshots)
        return Evidence()

    return Observer(
        name="o",
        gives=("o.figure",),
        cost="none",
        available=lambda host: None,
        read=lambda host, subject: {"own": 1},
        parse=parse,
        beside=Beside(argv=lambda host, subject: argv, read=read),
    )


def alive(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def test_it_is_asked_at_every_edge_and_ends_with_the_phase(tmp_path):
    kept, ledger = [], Ledger(tmp_path)
    sampler = Sampler(HOST, [observer(kept)], Subject())
    sampler.begin(ledger)
    for edge in EDGES:
        sampler.edge(edge)
    written = "".join(path.read_text() for path in tmp_path.glob("*.jsonl"))
    sampler.stop()
    seen = sampler.seen("w.read", 0)
    pid = kept[0]["pid"]
    assert kept == [{"own": 1, "said": "word", "pid": pid}] * len(EDGES)
    assert '"kind":"family"' in written
    assert not alive(pid)
    assert ledger.unwind() == (), "struck out"
    assert {one.subject for one in seen.evidence.series if one.layer == "lab"} == {"", "observer:o"}


@pytest.mark.parametrize("argv", [("no-such-program-here",), ("false",)])
def test_what_cannot_start_is_missing_evidence_and_costs_no_run(tmp_path, argv):
    def read(_host, process):
        if process.receive(120) is None:
            raise EvidenceError("it ended")
        return {}

    ledger = Ledger(tmp_path)
    sampler = Sampler(HOST, [observer([], argv, read)], Subject())
    sampler.begin(ledger)
    for edge in EDGES:
        sampler.edge(edge)
    sampler.stop()
    assert "no-such-program" in (why := sampler.seen("p", 0).evidence.missing["o.figure"]) or "it ended" in why
    assert ledger.unwind() == ()


def test_without_a_ledger_nothing_is_started():
    sampler = Sampler(HOST, [observer([])], Subject())
    sampler.begin(None)
    sampler.edge(Edge.ARMED)
    assert "not started" in sampler.seen("p", 0).evidence.missing["o.figure"]


def test_what_a_lab_left_is_ended_by_the_ledger(tmp_path):
    kept, ledger = [], Ledger(tmp_path)
    sampler = Sampler(HOST, [observer(kept)], Subject())
    sampler.begin(ledger)
    sampler.edge(Edge.ARMED)
    sampler.seen("p", 0)
    assert alive(kept[0]["pid"])
    assert [cleaned.state for cleaned in ledger.unwind()] == ["undone"]
    assert not alive(kept[0]["pid"])
    sampler.stop()


def test_who_looks_unasked_and_who_wants_to_be_named():
    usual = catalogue.watchers(None)
    assert "tracepoints" not in usual
    assert catalogue.watchers(("*",)) == usual
    assert catalogue.watchers(("*", "tracepoints", "block")) == (*usual, "tracepoints")
    assert catalogue.watchers(("block",)) == ("block",)


def test_looking_more_often_changes_those_that_look_again_and_again():
    every = tuple(catalogue.find("observers", name) for name in ("block", "page_cache"))
    assert [one.every_s for one in looking(every, 2_000_000)] == [0.002, None]
    assert looking(every, None) == every
