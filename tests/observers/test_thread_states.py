"""The sums of `assay-engine states` as evidence."""

import pytest

from assay import catalogue
from assay.answer.wording import time_spent
from assay.errors import EvidenceError
from assay.evidence import time_ladder
from assay.records import Edge, Observations, Snapshot, Subject
from stage.noise_cases import phase
from stage.observer_looks import SECOND_NS

OBSERVER = catalogue.find("observers", "thread_states")
LENGTH_S = 10


def row(process, kind, share, threads=None, related=0.0):
    """Sums over looks of a state, seen at whole looks; `related` is the correlation of one look with the next."""
    return {"process": process, "kind": kind, "share": share, "threads": threads or share, "squares": share, "related": related}


def snapshot(at_s, edge, looks, *rows, run_ns=0, ready_ns=0):
    for one in rows:
        mean = one["share"] / looks
        one["lagged"] = looks * (mean**2 + one.pop("related") * (mean - mean**2))
    times = {"dd": {"run_ns": run_ns, "ready_ns": ready_ns}}
    group = {"looks": looks, "alive": looks, "denied": 0, "rows": list(rows), "times": times}
    return Snapshot(edge=edge, at_ns=int(at_s * SECOND_NS), took_ns=1000, raw={"states": {"load": group}})


def found(*rows, looks=400, **times):
    looks_at = [snapshot(-0.1, Edge.ARMED, 1), snapshot(LENGTH_S, Edge.LAST, looks + 1, *rows, **times)]
    evidence = OBSERVER.parse("local", phase().name, looks_at, Subject())
    return time_ladder.of_phase(phase(LENGTH_S), Observations(series=evidence.series))


def by_state(ladder):
    return {(part.process, part.state): part for part in ladder.parts}


def test_shares_are_means_over_the_looks_with_their_error():
    parts = by_state(found(row("dd", "running", 100), row("dd", "flush", 300)))
    assert parts["dd", "running"].share == pytest.approx(0.25)
    assert parts["dd", "flush"].error == pytest.approx(1.96 * (0.25 * 0.75 / 400) ** 0.5, rel=0.05)
    slow = by_state(found(row("dd", "running", 100, related=0.8), row("dd", "flush", 300, related=0.8)))
    assert slow["dd", "flush"].error == pytest.approx(3 * parts["dd", "flush"].error, rel=0.05)


def test_what_could_run_is_divided_by_what_the_scheduler_counted():
    parts = by_state(found(row("dd", "running", 400), run_ns=3 * SECOND_NS, ready_ns=SECOND_NS))
    assert parts["dd", "running"].share == pytest.approx(0.75)
    assert parts["dd", "ready"].share == pytest.approx(0.25)


def test_too_few_looks_or_too_short_a_phase_tell_nothing():
    assert found(row("dd", "running", 20), looks=20) is None
    looks_at = [snapshot(-0.1, Edge.ARMED, 1), snapshot(0.1, Edge.LAST, 400, row("dd", "running", 300))]
    evidence = OBSERVER.parse("local", phase().name, looks_at, Subject())
    assert time_ladder.of_phase(phase(0.1), Observations(series=evidence.series)) is None


def test_the_limit_is_what_had_more_than_half_of_the_time():
    assert time_spent.limit(found(row("dd", "running", 300), row("dd", "flush", 100)), None) == "the CPU time of dd"
    assert time_spent.limit(found(row("dd", "running", 200), row("dd", "flush", 200)), None) is None
    shared = found(row("dd", "running", 400), run_ns=SECOND_NS, ready_ns=SECOND_NS)
    assert time_spent.limit(shared, None) == "CPUs, which other programs had for a part of the time"
    client = found(row("curl", "read_socket", 400))
    assert time_spent.limit(client, None).startswith("the other end of the connections of curl")
    assert time_spent.limit(client, found(row("slapd", "running", 390))) == "the CPU time of the server (slapd)"
    assert time_spent.limit(client, found(row("slapd", "events", 390))).startswith("the path to the server")


def test_a_group_without_a_process_and_text_of_another_form_are_refused():
    with pytest.raises(EvidenceError, match="no process"):
        OBSERVER.beside.argv(None, Subject())
    broken = Snapshot(edge=Edge.LAST, at_ns=0, took_ns=1, raw={"states": {"load": {"looks": 1}}})
    with pytest.raises(EvidenceError, match="expected the sums"):
        OBSERVER.parse("local", "p", [broken], Subject())


def test_threads_that_the_kernel_hides_are_missing_with_the_remedy():
    hidden = snapshot(LENGTH_S, Edge.LAST, 400)
    hidden.raw["states"]["load"]["denied"] = 400
    evidence = OBSERVER.parse("local", "p", [hidden], Subject())
    assert "ptrace_scope" in evidence.missing["time.share"]
