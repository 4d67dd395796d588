"""The sums of `assay-engine states` as evidence: shares of the time, their errors, what is missing."""

import random

import pytest

from assay.errors import EvidenceError
from assay.evidence import time_ladder
from assay.records import Edge, Observations, Snapshot, Subject
from stage.noise_cases import phase
from stage.time_cases import OBSERVER, SECOND_NS, counted, course, evidence, series

LENGTH_S = 10
HALF = {("dd", "running"): 0.25, ("dd", "flush"): 0.75}


def ladder(states, seconds=LENGTH_S, **more):
    found = series(seconds, phase().name, load=counted(states, **more))
    return time_ladder.of_phase(phase(seconds), Observations(series=found))


def by_state(found):
    return {(part.process, part.state): part for part in found.parts}


def test_shares_are_means_over_the_looks_with_their_error():
    parts = by_state(ladder(course(HALF)))
    assert parts["dd", "running"].share == pytest.approx(0.25)
    assert parts["dd", "flush"].error == pytest.approx(1.96 * (0.25 * 0.75 / 400) ** 0.5, rel=0.35)
    slow = by_state(ladder(course(HALF, run=20)))
    assert slow["dd", "flush"].error > 2 * parts["dd", "flush"].error


def walk(chance, mean_run, share, looks):
    """Looks at a state that is left, and entered again, after geometric times of such a mean."""
    on, found = chance.random() < share, []
    for _ in range(looks):
        found.append(("dd", "running" if on else "flush"))
        stays = mean_run * (1 if on else (1 - share) / share)
        on = on ^ (chance.random() < 1 / max(1.0, stays))
    return found


@pytest.mark.parametrize(("mean_run", "looks"), [(1, 100), (4, 200), (10, 800), (25, 800)])
def test_the_error_covers_the_true_share_however_long_a_state_lasts(mean_run, looks):
    chance, covered, share, rounds = random.Random(mean_run), 0, 0.4, 150
    for _ in range(rounds):
        part = by_state(ladder(walk(chance, mean_run, share, looks))).get(("dd", "running"))
        covered += part is not None and abs(part.share - share) <= part.error
    assert covered >= 0.88 * rounds


def test_what_could_run_is_divided_by_what_the_scheduler_counted():
    times = {"dd": {"run_ns": 3 * SECOND_NS, "ready_ns": SECOND_NS}}
    before = {"dd": {"run_ns": 0, "ready_ns": 0}}
    looks = [
        Snapshot(edge=edge, at_ns=at, took_ns=1, raw={"states": {"load": counted(course({("dd", "running"): 1.0}), times=found)}})
        for at, edge, found in ((-1, Edge.ARMED, before), (LENGTH_S * SECOND_NS, Edge.LAST, times))
    ]
    looks[0].raw["states"]["load"] |= {"looks": 0, "alive": 0, "rows": []}
    found = OBSERVER.parse("local", phase().name, looks, Subject())
    parts = by_state(time_ladder.of_phase(phase(LENGTH_S), Observations(series=found.series)))
    assert parts["dd", "running"].share == pytest.approx(0.75)
    assert parts["dd", "ready"].share == pytest.approx(0.25)


def test_too_few_looks_or_too_short_a_phase_tell_nothing():
    assert ladder(course({("dd", "running"): 1.0}, looks=9)) is None
    assert ladder(course({("dd", "running"): 1.0}), seconds=0.1) is None


def test_connections_are_shares_of_the_looks_that_asked_them():
    sums = {"looks": 200, "small": 150, "sockets": 400, "trips": 300, "rtt_ns": 300 * 40_000_000, "min_rtt_ns": 300 * 30_000}
    found = ladder(course({("curl", "read_socket"): 1.0}), connections=sums).connections
    assert (found.small, found.sockets, found.rtt_ns, found.closed) == (0.75, 2.0, 40_000_000, 0.0)
    assert ladder(course(HALF)).connections is None


def test_a_group_without_a_process_and_text_of_another_form_are_refused():
    with pytest.raises(EvidenceError, match="no process"):
        OBSERVER.beside.argv(None, Subject())
    broken = Snapshot(edge=Edge.LAST, at_ns=0, took_ns=1, raw={"states": {"load": {"looks": 1}}})
    with pytest.raises(EvidenceError, match="expected the sums"):
        OBSERVER.parse("local", "p", [broken], Subject())


def test_threads_that_the_kernel_hides_are_missing_with_the_remedy():
    hidden = evidence(load=counted(course({("dd", "running"): 1.0}), denied=400) | {"rows": []})
    assert "ptrace_scope" in hidden.missing["time.share"]


def counts(share, run_s, ready_s=0.0, fresh=0):
    """The parts of 10 s of one thread that looks found running for a share, and that the scheduler saw run and wait."""
    zero = {"dd": {"run_ns": 0, "ready_ns": 0}}
    times = {"dd": {"run_ns": int(run_s * SECOND_NS), "ready_ns": int(ready_s * SECOND_NS)}}
    states = course({("dd", "running"): share, ("dd", "sleep"): (1 - share) / 2, ("dd", "flush"): (1 - share) / 2})
    after = counted(states, times=times, alive_ns=10 * SECOND_NS, fresh=fresh)
    before = {**after, "looks": 0, "alive": 0, "alive_ns": 0, "rows": [], "times": zero, "fresh": 0}
    looks = [
        Snapshot(edge=edge, at_ns=at, took_ns=1, raw={"states": {"load": found}})
        for at, edge, found in ((-1, Edge.ARMED, before), (LENGTH_S * SECOND_NS, Edge.LAST, after))
    ]
    found = OBSERVER.parse("local", phase().name, looks, Subject()).series
    parts = time_ladder.of_phase(phase(LENGTH_S), Observations(series=found)).parts
    return {part.state: part for part in parts}


def test_what_could_run_is_what_the_scheduler_counted():
    parts = counts(0.4, run_s=4.5, ready_s=1.5)
    shares = {state: part.share for state, part in parts.items()}
    assert shares == pytest.approx({"running": 0.45, "ready": 0.15, "sleep": 0.2, "flush": 0.2})
    assert parts["running"].error < 0.02


def test_counts_are_too_low_where_programs_come_and_go():
    assert counts(0.4, run_s=1.0, fresh=200)["running"].share == pytest.approx(0.4)
    assert counts(0.4, run_s=6.0, fresh=200)["running"].share == pytest.approx(0.6)


def test_a_count_never_takes_more_than_all_of_the_time():
    parts = counts(0.4, run_s=15.0)
    assert sum(part.share for part in parts.values()) == pytest.approx(1.0)
    assert parts["running"].share == pytest.approx(1.0)


def why(**groups):
    found = Observations(series=series(LENGTH_S, phase().name, **groups))
    return [time_ladder.why_unknown(phase(LENGTH_S), found, group) for group in ("load", "server")]


def test_shares_of_what_was_not_hidden_are_not_those_of_the_whole():
    states = course({("sudo", "child"): 1.0})
    assert ladder(states, denied=10) is not None
    assert ladder(states, denied=400) is None
    assert "another user's" in why(load=counted(states, denied=400))[0]


def test_a_server_without_a_process_is_told():
    load, nothing = counted(course(HALF)), counted([]) | {"looks": 100}
    assert why(load=load, server=nothing)[1] == time_ladder.ABSENT


def test_a_kernel_without_the_file_is_told():
    class Sandbox:
        def exists(self, path):
            return path != "/proc/self/syscall"

    assert "CONFIG_HAVE_ARCH_TRACEHOOK" in OBSERVER.available(Sandbox())
