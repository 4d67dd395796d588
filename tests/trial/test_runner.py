"""The life of a trial with the real engine on a real directory: bytes are conserved, all is undone, failures are runs."""

import itertools
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from assay import catalogue
from assay.catalogue import Observer
from assay.errors import UsageError
from assay.machine.stack import mount_of
from assay.measures import timelines
from assay.records import CacheState, Direction, Edge, Event, Factor, Outcome, Rung, TargetSpec, WorkloadSpec
from assay.trial.obstacles import cold_in_memory, needed_bytes
from assay.trial.runner import TrialRunner
from stage.processes import wait_ended
from stage.trial_stage import HOST, MIB, Laboratory, bulk, command, engine, experiment, fake, trial

SIZE = 8 * MIB


@pytest.fixture
def laboratory(tmp_path):
    made = Laboratory(tmp_path)
    yield made
    assert made.left() == ([], ()), "the trial left something behind"
    made.ledger.close()


def run(laboratory, *workloads, levels=None, on_progress=lambda news: None, **kwargs):
    lab = laboratory.lab(*workloads, **kwargs)
    lab.install()
    try:
        return lab.run(trial(**(levels or {})), 1, on_progress)
    finally:
        lab.remove()


def asked(observations, phase, rung, direction):
    return sum(one.bytes for one in observations.rung(phase, rung, direction) if one.source.startswith("engine"))


@pytest.fixture(scope="module")
def two_clients(tmp_path_factory):
    """One trial with two clients and real observers, looked at by many tests."""
    laboratory = Laboratory(tmp_path_factory.mktemp("two"))
    news = []
    looked = ("process_io", "block", "cpu", "memory", "page_cache", "environment")
    found = run(laboratory, bulk(quiesce=None), levels={"clients": 2}, on_progress=news.append, observers=looked)
    left = laboratory.left()
    laboratory.ledger.close()
    return *found, news, left


def test_a_trial_finishes_tells_its_progress_and_leaves_nothing(two_clients):
    finished, observations, news, left = two_clients
    assert (finished.outcome, finished.error, left) == (Outcome.FINISHED, None, ([], ()))
    assert [phase.name for phase in finished.phases] == ["w.write", "w.read"]
    assert finished.versions["assay-engine"]
    assert finished.versions["assay"] == metadata.version("assay-lab")
    assert finished.versions["python"] == platform.python_version()
    assert not [fact for fact in observations.facts if fact.key.startswith("program.")], "the engine is no external program"
    assert all(one["trial"] == 3 and one["attempt"] == 1 for one in news)
    events = [one["event"] for one in news]
    assert (events[0], events[-1], news[-1]["outcome"]) == ("started", "finished", "finished")
    assert {one["phase"] for one in news if one["event"] == "running"} == {"write", "read"}
    steps = [one["event"] for one in news if one.get("phase") == "read"]
    order = [steps.index(step) for step in ("waiting for quiet", "preparing", "arming")]
    assert order == sorted(order), "memory freed before a wait goes back to the hypervisor of a guest that reports free pages"


def test_bytes_are_conserved_and_totals_histograms_and_curves_agree(two_clients):
    finished, observations, _, _ = two_clients
    for phase, direction in (("w.write", Direction.WRITE), ("w.read", Direction.READ)):
        assert asked(observations, phase, Rung.APPLICATION, direction) == 2 * SIZE
        assert 2 * SIZE <= asked(observations, phase, Rung.SYSCALL, direction) < 2 * SIZE * 1.01
    if finished.phases[1].cache_proved is CacheState.COLD:
        assert asked(observations, "w.read", Rung.CLIENT_CACHE, Direction.READ) >= 2 * SIZE
    for phase, operation in zip(finished.phases, ("write", "read"), strict=True):
        for client in phase.clients:
            total = next(one for one in client.operations if one.operation == operation)
            subject = f"client:{client.index}"
            (curve,) = observations.over_time(phase.name, "application", f"{operation}.bytes", subject)
            assert curve.value[-1] == total.bytes == SIZE
            assert list(curve.value) == sorted(curve.value)
            assert list(curve.at_ns) == sorted(curve.at_ns)
            place = (phase.name, subject, operation)
            (histogram,) = [one for one in observations.histograms if (one.phase, one.subject, one.operation) == place]
            assert sum(histogram.count) == total.count == SIZE // MIB


def test_the_line_of_a_short_phase_begins_with_it_and_holds_all_its_bytes(two_clients):
    """Before its first interval of 0.1 s is over the engine has no look: a phase of 30 ms had no line at all."""
    finished, observations, _, _ = two_clients
    for here in finished.phases:
        operation = here.name.partition(".")[2]
        strips = timelines.strips(here, [one for one in observations.series if one.phase == here.name])
        (line,) = (points for strip in strips for name, points in strip.lines if name == f"application {operation}")
        first = min(total.first_ns for client in here.clients for total in client.operations if total.operation == operation)
        assert line[0][0] == pytest.approx((first - here.start_ns) / 1e9, abs=1e-6)
        moved = sum(rate * (after - at) for (at, rate), (after, _) in itertools.pairwise(line))
        assert moved == pytest.approx(2 * SIZE, rel=1e-6)


def test_clients_start_together_and_times_are_relative_to_the_first_start(two_clients):
    finished, observations, _, _ = two_clients
    first, second = finished.phases
    assert first.start_ns == 0
    assert second.start_ns > first.end_ns
    for phase in finished.phases:
        assert all(client.armed_ns < phase.start_ns <= client.started_ns for client in phase.clients)
        assert all(phase.start_ns <= client.first_ns <= client.last_ns <= phase.end_ns for client in phase.clients)
        assert len({client.pid for client in first.clients}) == 2
        assert phase.quiesce_ns > 0
    (clock,) = finished.hosts
    assert abs(clock.offset_ns) <= clock.error_ns, "the same clock"
    assert clock.t0_mono_ns > 0
    assert (first.drain_ns > 0, second.drain_ns) == (True, None), "only the phase that writes is drained"
    assert any(one.source.startswith("process_io") for one in observations.readings)
    assert list(observations.over_time("w.read", "lab", "cpu_ns"))
    assert observations.fact("target.filesystem")
    assert observations.fact("kernel.release") or any(fact.key.startswith("kernel") for fact in observations.facts)
    assert {"cpu", "memory", "block"} <= observations.longest_gaps().keys()
    assert (second.cache_asked, len(second.data_files)) == (CacheState.COLD, 2)
    if second.cache_proved is not CacheState.COLD:
        pytest.skip("the temporary directory cannot be cold here")
    assert second.cached_share_before <= 0.01


def test_without_the_wait_for_quiet_nothing_is_called_quiet(laboratory):
    hurried, _ = run(laboratory, bulk(operations=("write",)))
    assert (hurried.phases[0].quiesce_ns, hurried.phases[0].quiet) == (0, False)


@pytest.mark.skipif(mount_of(HOST, "/dev/shm").filesystem != "tmpfs", reason="no tmpfs at /dev/shm")
def test_cold_in_memory_is_refused_before_anything_runs(subtests, tmp_path_factory):
    for kind in ["directory", "existing", "file"]:
        with subtests.test(kind=kind):
            tmp_path = tmp_path_factory.mktemp("case")
            path = "/dev/shm/new" if kind == "file" else "/dev/shm"
            asked = experiment(tmp_path, bulk(cache="cold"))
            asked = replace(asked, targets=(TargetSpec(name="t", kind=kind, knobs={"path": path}),))
            (mistake,) = cold_in_memory({"local": HOST}, asked)
            assert mistake.at == ("targets", "t", "path")
            assert mistake.text.startswith(f"target t: {path} is on tmpfs")
            assert cold_in_memory({"local": HOST}, replace(asked, factors=(Factor(path="w.cache", levels=("warm",)),))) == ()
            varied = replace(asked, factors=(Factor(path="t.path", levels=(str(tmp_path), path)),))
            assert len(cold_in_memory({"local": HOST}, varied)) == 1
            assert cold_in_memory({"local": HOST}, experiment(tmp_path, bulk(cache="cold"))) == ()


def test_what_changes_a_trial_are_its_levels(laboratory):
    finished, observations = run(laboratory, bulk(), levels={"clients": 1, "w.size": MIB, "os": "netware", "x.size": 7})
    assert finished.outcome is Outcome.FINISHED
    assert asked(observations, "w.write", Rung.APPLICATION, Direction.WRITE) == MIB
    one, _ = run(laboratory, bulk("a"), bulk("b", operations=("write",)), levels={"workload": "b"})
    assert [phase.name for phase in one.phases] == ["b.write"]
    both, observations = run(laboratory, bulk("a"), bulk("b", size=2 * MIB))
    assert [phase.name for phase in both.phases] == ["a.write", "a.read", "b.write", "b.read"]
    assert asked(observations, "b.read", Rung.APPLICATION, Direction.READ) == 2 * MIB


def test_a_warm_phase_is_proved_warm_and_reads_nothing_from_the_device(laboratory):
    finished, observations = run(laboratory, bulk(cache="warm"), observers=("process_io",))
    phase = finished.phases[1]
    assert (phase.cache_proved, phase.cached_share_before) == (CacheState.WARM, 1.0)
    assert asked(observations, "w.read", Rung.SYSCALL, Direction.READ) >= SIZE
    assert asked(observations, "w.read", Rung.CLIENT_CACHE, Direction.READ) < SIZE // 10


def test_counters_of_an_observer_that_is_left_out_are_left_out(laboratory):
    _, blind = run(laboratory, bulk(operations=("write",)))
    _, seeing = run(laboratory, bulk(operations=("write",)), observers=("process_io",))
    assert asked(blind, "w.write", Rung.APPLICATION, Direction.WRITE) == SIZE
    assert asked(blind, "w.write", Rung.SYSCALL, Direction.WRITE) == 0
    assert asked(seeing, "w.write", Rung.SYSCALL, Direction.WRITE) >= SIZE


def test_a_client_can_be_made_late(laboratory):
    finished, _ = run(laboratory, bulk(start_delay=300_000_000, operations=("write",)), levels={"clients": 2})
    first, second = finished.phases[0].clients
    assert second.first_ns - first.first_ns > 250_000_000
    assert second.started_ns >= 300_000_000


def test_a_external_command_reports_its_time_and_is_judged_by_its_status(laboratory):
    finished, _ = run(laboratory, command("c", "sleep", "0.3"))
    assert finished.outcome is Outcome.FINISHED
    assert finished.phases[0].values["command.elapsed_ns"] > 0.3e9
    failed, _ = run(laboratory, command("c", "sh", "-c", "echo broken >&2; exit 3"))
    assert failed.outcome is Outcome.FAILED
    assert "status 3: broken" in failed.error


def test_what_a_command_prints_is_read(laboratory):
    regex = {"parse": "regex", "operation": "read"}
    said = command("c", "echo", "rate 5 MB/s", pattern=r"rate (\d+)", unit="MB/s", **regex)
    finished, _ = run(laboratory, said, levels={"clients": 3})
    assert finished.phases[0].values == {"read.bytes_per_s": 15e6}, "of several clients together"
    failed, _ = run(laboratory, command("c", "echo", "nothing", pattern=r"rate (\d+)", unit="MB/s", **regex))
    assert failed.outcome is Outcome.FAILED
    assert "found no match" in failed.error
    _, observations = run(laboratory, command("c", "echo", "moved 7 MB", pattern=r"moved (\d+)", unit="MB", **regex))
    (told,) = observations.rung("c.run", Rung.APPLICATION, Direction.READ)
    assert (told.source, told.bytes) == ("command", 7_000_000)


def test_events_happen_at_their_time_and_are_facts(laboratory):
    mark = laboratory.scratch / "mark"
    loud = WorkloadSpec(
        name="c",
        kind="command",
        knobs={"argv": ("sleep", "3"), "parse": "elapsed"},
        events=(Event(phase="run", at_ns=200_000_000, argv=("touch", str(mark))), Event(phase="other", at_ns=0, argv=("false",))),
    )
    finished, observations = run(laboratory, loud)
    assert finished.outcome is Outcome.FINISHED
    assert mark.exists()
    (fact,) = [fact for fact in observations.facts if fact.key == "event.c.run.0"]
    assert float(re.search(r"at ([0-9.]+) s", fact.value)[1]) >= 0.2
    assert "exit status 0" in fact.value


def test_an_event_that_does_not_happen_makes_the_run_partial(subtests, laboratory):
    for event, words in [
        (Event(phase="run", at_ns=0, argv=("false",)), "exit status 1"),
        (Event(phase="run", at_ns=10**12, argv=("true",)), "ended before its event"),
    ]:
        with subtests.test(event=event, words=words):
            short = WorkloadSpec(name="c", kind="command", knobs={"argv": ("sleep", "0.5"), "parse": "elapsed"}, events=(event,))
            partial, _ = run(laboratory, short)
            assert partial.outcome is Outcome.PARTIAL
            assert words in partial.error


# ------------------------------------------------------------------------------------------ what goes wrong


def test_engines_that_fail_make_runs_that_say_so(subtests, laboratory, tmp_path_factory):
    for mode, outcome, words in [
        ("debug", Outcome.FAILED, "for a release build"),
        ("refuses", Outcome.FAILED, "open /x: Permission denied"),
        ("garbage", Outcome.FAILED, "Segmentation fault"),
        ("dies", Outcome.PARTIAL, "its process ended"),
        ("half", Outcome.PARTIAL, "client 1 was lost"),
        ("full", Outcome.FAILED, "No space left on device"),
        ("older", Outcome.FAILED, "('sampled_ns'). The load engine is of another version than Assay. Run `make build`."),
        ("strict", Outcome.FAILED, "unknown field `more`, expected `path`. The load engine is of another version"),
    ]:
        with subtests.test(mode=mode, outcome=outcome, words=words):
            tmp_path = tmp_path_factory.mktemp("case")
            ended, _ = run(laboratory, bulk(operations=("write",)), levels={"clients": 2}, engine_path=fake(tmp_path, mode))
            assert (ended.outcome, ended.trial.id, ended.attempt) == (outcome, 3, 1)
            assert words in ended.error


def test_what_was_done_before_a_failure_is_kept_and_nothing_is_run_after_it(laboratory, tmp_path):
    one_lost = {"levels": {"clients": 2}, "engine_path": fake(tmp_path, "half")}
    partial, observations = run(laboratory, bulk(operations=("write",)), **one_lost)
    (phase,) = partial.phases
    assert [client.index for client in phase.clients] == [0]
    assert len(list(observations.rung("w.write", Rung.APPLICATION, Direction.WRITE))) == 1
    failed, _ = run(laboratory, bulk("a"), bulk("b"), engine_path=fake(tmp_path, "full"))
    assert [phase.name for phase in failed.phases] == ["a.write"]
    absent, _ = run(laboratory, bulk(), engine_path=str(tmp_path / "no-engine"))
    assert absent.outcome is Outcome.FAILED
    assert "no-engine" in absent.error


def test_a_target_that_went_away_fails_the_run(laboratory):
    lab = laboratory.lab(bulk())
    lab.install()
    laboratory.work.rmdir()
    failed, _ = lab.run(trial(), 1)
    laboratory.work.mkdir()
    assert failed.outcome is Outcome.FAILED
    assert "does not exist" in failed.error


def test_an_observer_that_breaks_is_missing_evidence(laboratory):
    def breaks(host, subject):
        raise PermissionError("not for you")

    broken = Observer(
        name="broken",
        gives=("x.y", "L0.write"),
        cost="",
        available=lambda host: None,
        read=breaks,
        parse=lambda *_: catalogue.Evidence(),
    )
    lab = laboratory.lab(bulk(operations=("write",)))
    lab.observers = (broken,)
    lab.install()
    finished, observations = lab.run(trial(), 1)
    lab.remove()
    assert finished.outcome is Outcome.FINISHED
    assert {one.key for one in observations.missing} == {"x.y"}, "the bytes were had from another source"


def test_wrong_knobs_are_all_told_before_anything_is_set_up(tmp_path):
    nowhere = TargetSpec(name="gone", kind="directory", knobs={"path": str(tmp_path / "gone")})
    asked_for = experiment(tmp_path / "also-gone", bulk(), factors=(Factor(path="target", levels=("here", "gone")),))
    both = type(asked_for)(**{**vars(asked_for), "targets": (*asked_for.targets, nowhere)})
    lab = TrialRunner(experiment=both, host=HOST, ledger=None, scratch=str(tmp_path), engine="x", observers=())
    with pytest.raises(UsageError) as caught:
        lab.install()
    assert "target here" in str(caught.value)
    assert "target gone" in str(caught.value)
    lab.remove()


def test_targets_that_no_trial_asks_for_are_left_alone(tmp_path):
    two = tuple(TargetSpec(name=name, kind="directory", knobs={"path": str(tmp_path)}) for name in ("a", "b"))
    plain = type(experiment(tmp_path))(**{**vars(experiment(tmp_path)), "targets": two})
    assert [spec.name for spec in plain.used_targets()] == ["a"]


def test_space_is_needed_for_the_most_clients_and_the_largest_level(tmp_path):
    def needed(*workloads, **factor):
        factors = tuple(Factor(path=path, levels=levels) for path, levels in factor.items())
        return needed_bytes(experiment(tmp_path, *workloads, factors=factors))

    assert needed(bulk(), clients=(1, 4)) == 4 * needed(bulk()) > 0
    assert needed(bulk(), **{f"{bulk().name}.size": (MIB, 64 * MIB)}) == 64 * needed(bulk(size=MIB))
    small, large = bulk(size=MIB), replace(bulk(size=8 * MIB), name="large")
    assert needed(small, large) == needed(small) + needed(large)
    assert needed(small, large, workload=(small.name, "large")) == needed(large), "never in one trial"


# ------------------------------------------------------------------------------------------ interrupts


def children_of(pid):
    found = HOST.run(["ps", "-o", "pid=", "--ppid", str(pid)], check=False).stdout.split()
    return [int(child) for child in found]


def test_an_interrupt_in_the_middle_ends_the_run_after_its_teardown(subtests, laboratory):
    for number in [signal.SIGINT, signal.SIGTERM]:
        with subtests.test(number=number):
            pids, earlier = [], set(children_of(os.getpid()))

            def interrupt(news, pids=pids, earlier=earlier, number=number):
                if news["event"] == "running" and not pids:
                    pids.extend(set(children_of(os.getpid())) - earlier)
                    threading.Timer(0.3, os.kill, (os.getpid(), number)).start()

            before = signal.getsignal(number)
            started = time.monotonic()
            ended, _ = run(laboratory, command("c", "sleep", "600"), on_progress=interrupt)
            assert ended.outcome is Outcome.INTERRUPTED
            assert time.monotonic() - started < 300, "half of what the command would take"
            assert pids
            wait_ended(*pids)
            assert signal.getsignal(number) is before


LAB = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from stage.trial_stage import Laboratory, bulk, command, trial
laboratory = Laboratory(Path(sys.argv[2]))
lab = laboratory.lab(bulk(), command("c", "sleep", "600"))
lab.install()
print("on", flush=True)
found, _ = lab.run(trial(clients=2), 1, lambda news: print(news["event"], flush=True))
lab.remove()
print(found.outcome, laboratory.left(), flush=True)
"""


def test_ctrl_c_at_any_moment_leaves_nothing(subtests, tmp_path_factory):
    for delay_s in [0.0, 0.15, 0.4, 0.8, 1.2]:
        with subtests.test(delay_s=delay_s):
            tmp_path = tmp_path_factory.mktemp("case")
            engine()
            lab = subprocess.Popen(
                [sys.executable, "-c", LAB, str(Path(__file__).parent.parent), str(tmp_path)], stdout=subprocess.PIPE, text=True
            )
            assert lab.stdout.readline() == "on\n"
            assert lab.stdout.readline() == "started\n"
            time.sleep(delay_s)
            children = children_of(lab.pid)
            lab.send_signal(signal.SIGINT)
            said, _ = lab.communicate(timeout=300)
            assert said.splitlines()[-1] == "interrupted ([], ())"
            assert lab.returncode == 0
            wait_ended(*children)


def test_a_killed_lab_takes_its_engines_with_it(tmp_path):
    engine()
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB, str(Path(__file__).parent.parent), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    while lab.stdout.readline() != "running\n":
        pass
    engines = children_of(lab.pid)
    assert engines
    lab.kill()
    lab.communicate(timeout=300)
    wait_ended(*engines)


def test_the_edges_of_a_phase_come_in_order(laboratory):
    seen = []
    spy = Observer(
        name="spy",
        gives=(),
        cost="",
        available=lambda host: None,
        read=lambda host, subject: {"files": [Path(path).exists() for path in subject.paths]},
        parse=lambda host, phase, looks, subject: (
            seen.extend((phase, look.edge, look.at_ns) for look in looks) or catalogue.Evidence()
        ),
        every_s=0.05,
    )
    lab = laboratory.lab(bulk(operations=("write",)))
    lab.observers = (spy,)
    lab.install()
    finished, _ = lab.run(trial(), 1)
    lab.remove()
    edges = [edge for _, edge, _ in seen if edge is not Edge.POLL]
    assert edges == [Edge.QUIET, Edge.ARMED, Edge.LAST, Edge.DRAINED]
    at = {edge: at_ns for _, edge, at_ns in seen if edge is not Edge.POLL}
    (phase,) = finished.phases
    assert at[Edge.ARMED] - at[Edge.QUIET] >= 250_000_000
    assert at[Edge.ARMED] < phase.start_ns <= phase.end_ns <= at[Edge.LAST] < at[Edge.DRAINED]


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="loop devices and throttle rules need root")
def test_a_disk_of_known_speed_is_that_fast_and_its_drain_is_timed(laboratory):
    rate = 20_000_000
    knobs = {"filesystem": "ext4", "size": 64 * MIB, "limit.read_bytes_per_s": rate, "limit.write_bytes_per_s": rate}
    load = bulk(size=16 * MIB, flush="none", memory=256 * MIB, cpus=1, quiesce=None)
    lab = laboratory.lab(load, observers=("block",))
    disk = TargetSpec(name="disk", kind="loopfs", knobs=knobs)
    lab.experiment = type(lab.experiment)(**{**vars(lab.experiment), "targets": (disk,)})
    try:
        lab.install()
        finished, observations = lab.run(trial(), 1)
    finally:
        lab.remove()
    assert finished.error is None
    assert finished.outcome is Outcome.FINISHED
    write, read = finished.phases
    assert write.drain_ns > 0.9 * 16 * MIB / rate * 1e9, "what was only in memory is charged to the drain"
    assert read.cache_proved is CacheState.COLD
    assert read.end_ns - read.start_ns > 0.9 * 16 * MIB / rate * 1e9
    lowest = sum(one.bytes for one in observations.rung("w.read", Rung.LOWEST_DEVICE, Direction.READ))
    assert lowest >= 16 * MIB
    assert any(fact.key.endswith("siblings") for fact in observations.facts)


def test_workloads_of_one_trial_share_their_memory(laboratory):
    failed, _ = run(laboratory, bulk("a", memory=64 * MIB), bulk("b"))
    assert failed.outcome is Outcome.FAILED
    assert "expected the same memory" in failed.error


@pytest.mark.parametrize("way", [Direction.WRITE, Direction.READ])
def test_a_phase_that_writes_is_refused_where_its_workload_says_that_it_only_reads(laboratory, monkeypatch, tmp_path, way):
    """Such a workload is given data of the user: `only_reads` alone is no proof, nor is the direction that it names."""
    plug = catalogue.find("workloads", "bulk_io")
    plans = plug.phases
    monkeypatch.setitem(vars(plug), "only_reads", lambda knobs: True)
    monkeypatch.setitem(
        vars(plug), "phases", lambda order: tuple(replace(one, directions={"write": way}) for one in plans(order) if one.measured)
    )
    failed, _ = run(laboratory, bulk(operations=("write",)))
    assert failed.outcome is Outcome.FAILED
    assert failed.error == "workload w, phase write does write, flush, and by its `only_reads` nothing is written"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size >= SIZE]


def test_cpus_that_this_host_has_not_are_told_before_anything_is_set_up(laboratory):
    factors = (Factor(path="w.cpus", levels=((99_998,), (0, 99_999), 1)),)
    lab = laboratory.lab(bulk(), command("c", "true", cpus=(99_997,)), factors=factors)
    with pytest.raises(UsageError) as caught:
        lab.install()
    lines = str(caught.value).splitlines()
    assert [line.partition("; expected")[0] for line in lines] == [
        "workload w: found cpus = [99998]",
        "workload w: found cpus = [0, 99999]",
        "workload c: found cpus = [99997]",
    ]


def test_limits_of_devices_that_are_not_there_are_told_before_anything_is_set_up(tmp_path):
    limits = {"local.lo": "1GbE", "local.loop77": "1 GB/s", "filer.sda": "SATA-3", "local.nosuchdisk": "100 MB/s"}
    asked = replace(experiment(tmp_path, bulk()), limits=limits)
    lab = TrialRunner(experiment=asked, host=HOST, ledger=None, scratch=str(tmp_path), engine="x", observers=())
    with pytest.raises(UsageError) as caught:
        lab.install()
    (line,) = str(caught.value).splitlines()
    assert line.startswith('found limit "local.nosuchdisk"; expected a block device or a network interface of local: ')
    assert ", lo" in line
