"""Observers at the edges and between: in order of time, without drift, and never at the cost of the run."""

import threading
import time
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from assay import sampler
from assay.catalogue import Evidence, Observer, ObserverScope
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.records import Edge, Fact, FactClass, Snapshot, Subject, When
from assay.sampler import Sampler
from stage.assay_process import wait_until
from stage.trial_stage import HOST

SECOND = 10**9


def observer(name="o", read=lambda host, subject: {"n": 1}, parse=None, every_s=None, **more):
    def keep(host_name, phase, snapshots, subject):
        LOOKS[name] = snapshots
        return Evidence()

    return Observer(
        name=name,
        gives=(f"{name}.figure",),
        cost="none",
        available=more.pop("available", lambda host: None),
        read=read,
        parse=parse or keep,
        every_s=every_s,
        **more,
    )


LOOKS: dict[str, tuple[Snapshot, ...]] = {}


def breaks(*_):
    raise PermissionError("not for you")


def test_edges_are_in_order_and_relative_to_t0():
    watch = Sampler(HOST, [observer("a"), observer("b")], Subject())
    t0 = HOST.monotonic_ns()
    for edge in (Edge.QUIET, Edge.ARMED, Edge.LAST, Edge.DRAINED):
        watch.edge(edge)
    watch.seen("w.read", t0)
    for name in ("a", "b"):
        assert [look.edge for look in LOOKS[name]] == [Edge.QUIET, Edge.ARMED, Edge.LAST, Edge.DRAINED]
        assert 0 <= LOOKS[name][0].at_ns < 10 * SECOND
        assert all(look.took_ns >= 0 for look in LOOKS[name])


def test_polls_come_between_the_edges_in_a_thread_of_their_own():
    threads, made = set(), Counter()

    def reads(name):
        def read(host, subject):
            threads.add(threading.current_thread().name)
            made[name] += threading.current_thread().name == "sampler"
            return {}

        return read

    every_s = {"fast": 0.02, "slow": 0.05, "never": None}
    watch = Sampler(HOST, [observer(name, reads(name), every_s=each) for name, each in every_s.items()], Subject())
    watch.edge(Edge.ARMED)
    watch.start()
    wait_until(lambda: made["fast"] > made["slow"] + 1 > 2)
    watch.stop()
    watch.edge(Edge.LAST)
    seen = watch.seen("p", 0)
    assert threads == {"MainThread", "sampler"}
    polls = {name: [look.at_ns for look in LOOKS[name] if look.edge is Edge.POLL] for name in every_s}
    assert len(polls["fast"]) > len(polls["slow"]) > 1
    assert polls["never"] == []
    assert all(look == sorted(look) for look in polls.values())
    assert seen.gaps.keys() == {"fast", "slow"}
    assert all(gap >= 1000 for gap in seen.gaps.values())
    watch.stop()


def test_a_long_phase_is_polled_as_often_as_a_short_one_and_at_even_times():
    looks = []

    def read(host, subject):
        looks.append(1)
        return {}

    watch = Sampler(HOST, [observer("often", read, every_s=0.01), observer("never")], Subject(), most_polls=6)
    watch.edge(Edge.ARMED)
    watch.start()
    wait_until(lambda: len(looks) > 16)
    watch.stop()
    watch.edge(Edge.LAST)
    seen = watch.seen("p", 0)
    polls = [one.at_ns for one in LOOKS["often"] if one.edge is Edge.POLL]
    assert [one.edge for one in LOOKS["never"]] == [Edge.ARMED, Edge.LAST]
    assert 2 <= len(polls) < 6
    assert seen.gaps["often"] < 20_000, "in thousandths of the interval that was used at last"


def test_own_cost_is_a_series():
    def works(host, subject):
        return {"sum": sum(range(200_000))}

    watch = Sampler(HOST, [observer("a", works)], Subject())
    watch.edge(Edge.ARMED)
    watch.edge(Edge.LAST)
    (cost,) = watch.seen("p", 0).evidence.series
    assert (cost.layer, cost.metric, cost.unit) == ("lab", "cpu_ns", "ns")
    assert 0 < cost.value[0] < cost.value[1]


BUSY = ("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")


def test_commands_and_failed_looks_are_part_of_the_cost():
    def runs(host, subject):
        return {"status": host.run(BUSY).status}

    def fails(host, subject):
        host.run(BUSY)
        raise EvidenceError("strange text")

    for read in (runs, fails):
        watch = Sampler(Local(), [observer("a", read)], Subject())
        watch.edge(Edge.ARMED)
        (cost,) = watch.seen("p", 0).evidence.series
        assert cost.value[0] > Local().run(BUSY).cpu_ns / 2 > 1_000_000


def test_an_observer_that_fails_is_missing_evidence_with_its_reason(subtests):
    for read, parse, words in [
        (breaks, None, "not for you"),
        (lambda host, subject: {}, lambda *_: (_ for _ in ()).throw(EvidenceError("strange text")), "strange text"),
        (lambda host, subject: {}, lambda *_: {}["x"], "'x'"),
    ]:
        with subtests.test(read=read, parse=parse, words=words):
            watch = Sampler(HOST, [observer("bad", read, parse), observer("good")], Subject())
            watch.edge(Edge.ARMED)
            evidence = watch.seen("p", 0).evidence
            assert evidence.missing.keys() == {"bad.figure"}
            assert words in evidence.missing["bad.figure"]
            assert len(LOOKS["good"]) == 1


def test_what_an_observer_says_is_missing_is_handed_on():
    watch = Sampler(HOST, [observer("a", parse=lambda *_: Evidence(missing={"a.figure": "no device"}))], Subject())
    assert watch.seen("p", 0).evidence.missing == {"a.figure": "no device"}


def test_the_roll_call_names_what_nobody_gives():
    here = observer("here")
    away = observer("away", available=lambda host: "no such file")
    twin = Observer(**{**vars(here), "name": "twin", "available": lambda host: "not here"})
    present, missing = sampler.roll_call(HOST, [here, away, twin])
    assert present == (here,)
    assert missing == {"away.figure": "no such file"}


def test_facts_are_taken_at_the_ends_of_the_trial_only():
    def parse(host_name, phase, snapshots, subject):
        (look,) = snapshots
        return Evidence(facts=(Fact(host=host_name, when=When.AFTER, key=look.edge, value="1", fact_class=FactClass.NOISE),))

    of_trial = observer("t", parse=parse, scope=ObserverScope.TRIAL)
    bad = observer("bad", breaks, scope=ObserverScope.TRIAL)
    found, missing = sampler.facts(HOST, [of_trial, observer("p", breaks), bad], Subject(), When.AFTER)
    assert [fact.key for fact in found] == [Edge.TRIAL_END]
    assert missing.keys() == {"bad.figure"}
    watch = Sampler(HOST, [bad], Subject())
    watch.edge(Edge.ARMED)
    assert watch.seen("p", 0).evidence.missing == {}


@given(due=st.integers(0, 10**12), every=st.integers(1, 10**10), late=st.integers(-(10**9), 10**12))
def test_the_next_sample_keeps_the_beat_and_is_never_in_the_past(due, every, late):
    now = due + late
    following = sampler.following(due, every, now)
    assert following > due
    assert (following - due) % every == 0
    assert following >= now
    assert following - max(now, due) <= every


def look(edge, at_s):
    return Snapshot(edge=edge, at_ns=round(at_s * SECOND), took_ns=0, raw={})


def test_the_longest_gap_is_under_the_clock_and_in_thousandths_of_the_interval():
    looks = [look(Edge.QUIET, 0), look(Edge.ARMED, 9), look(Edge.POLL, 10), look(Edge.POLL, 13.5), look(Edge.LAST, 14)]
    assert sampler.longest_gap([*looks, look(Edge.DRAINED, 99)], 1.0) == 3500
    assert sampler.longest_gap([], 1.0) == 0


def test_looks_never_overlap_so_no_counter_seems_to_fall():
    """An edge that comes while a poll is under way waits for it: what began first has also read first."""
    count, inside, begun = [0], [], threading.Event()

    def read(host, subject):
        count[0] += 1
        inside.append(count[0])
        begun.set()
        time.sleep(0.05)
        value = count[0]
        inside.append(value)
        return {"n": value}

    watch = Sampler(HOST, [observer("o", read, every_s=0.02)], Subject())
    watch.start()
    begun.wait(5)
    watch.edge(Edge.LAST)
    watch.stop()
    watch.seen("p", 0)
    assert inside[::2] == inside[1::2], "no look began while another one was under way"
    numbers = [look.raw["n"] for look in LOOKS["o"]]
    assert numbers == sorted(set(numbers))
