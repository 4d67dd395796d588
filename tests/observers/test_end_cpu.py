"""end_cpu: the account by CPU from recorded texts, and two live threads pinned to two CPUs."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.end_cpu import by_cpu, packets_of, times_of
from assay.records import Edge, ServerNode, Snapshot, Subject
from stage.observer_looks import look, the_series

OBSERVER = catalogue.find("observers", "end_cpu")
SUBJECT = Subject(pids=(100,), reaches=("127.0.0.1",))
SECOND = 10**9


def stat(*rows):
    return "cpu  0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{number} {row} 0 0\n" for number, row in enumerate(rows)) + "intr 5\n"


def softirqs(*received):
    head = " ".join(f"CPU{number}" for number in range(len(received)))
    return f"          {head}\n  NET_TX: {' '.join('1' for _ in received)}\n  NET_RX: {' '.join(map(str, received))}\n"


def thread(ticks, cpu, name="a b) c"):
    words = ["0"] * 50
    words[0] = "R"
    words[11], words[12], words[36] = str(ticks), "0", str(cpu)
    return f"7 ({name}) {' '.join(words)}\n"


def snapshot(edge, at_s, texts):
    return Snapshot(edge=edge, at_ns=round(at_s * SECOND), took_ns=1, raw=texts)


def looked(*times):
    """Looks at two CPUs and one thread: busy ticks of CPU 0, ticks of the thread, its CPU, packets of each CPU."""
    return [
        snapshot(
            Edge.ARMED if place == 0 else Edge.LAST if place == len(times) - 1 else Edge.POLL,
            place,
            {
                "/proc/stat": stat(f"{busy} 0 0 {100 * place} 0 0 {busy // 10} 0", "0 0 0 50 0 0 0 3"),
                "/proc/softirqs": softirqs(*packets),
                "/proc/100/task/100/stat": thread(ticks, cpu),
                "servers": [],
            },
        )
        for place, (busy, ticks, cpu, packets) in enumerate(times)
    ]


def test_each_cpu_that_an_end_ran_on_has_its_times():
    made = OBSERVER.parse("h", "p", looked((0, 5, 0, (0, 0)), (60, 45, 0, (9, 0)), (100, 65, 1, (9, 0))), SUBJECT)
    assert list(the_series(made, "busy_ns", "cpu:0").value) == [0, 660_000_000, 1_100_000_000]
    assert list(the_series(made, "soft_ns", "cpu:0").value) == [0, 60_000_000, 100_000_000]
    assert list(the_series(made, "total_ns", "cpu:0").value)[-1] == 3_100_000_000
    assert list(the_series(made, "net_rx", "cpu:0").value) == [0, 9, 9]
    assert list(the_series(made, "run_ns", "pid:100@cpu:0").value) == [0, 400_000_000, 400_000_000]
    assert list(the_series(made, "run_ns", "pid:100@cpu:1").value) == [0, 0, 200_000_000]
    assert not made.missing
    made = OBSERVER.parse("h", "p", looked((0, 5, 0, (4, 4)), (60, 45, 0, (9, 4))), SUBJECT)
    assert {one.subject for one in made.series} == {"cpu:0", "pid:100@cpu:0"}
    looks = looked((0, 5, 0, (0, 0)), (60, 45, 0, (0, 0)))
    raws = [snapshot(one.edge, one.at_ns / SECOND, {**one.raw, "servers": [100]}) for one in looks]
    assert the_series(OBSERVER.parse("h", "p", raws, SUBJECT), "run_ns", "server:100@cpu:0")
    samples = [{("1", "1"): (50, "0")}, {("1", "1"): (80, "0"), ("1", "2"): (20, "1")}, {("1", "2"): (30, "1")}]
    assert by_cpu(samples)[-1] == {("1", "0"): 30, ("1", "1"): 30}


def test_damaged_texts_are_refused(subtests):
    for parse, text in [
        (times_of, "cpu0 1 2 3\n"),
        (times_of, "cpu0 a 0 0 0 0 0 0 0\n"),
        (packets_of, ""),
        (packets_of, "CPU0\n"),
    ]:
        with subtests.test(parse=parse, text=text), pytest.raises(EvidenceError, match="expected"):
            parse(text)


def test_what_is_not_there_is_missing_or_not_looked_at():
    refused = {"/proc/stat": {"error": "No such file"}, "/proc/softirqs": {"error": "No such file"}, "servers": []}
    made = OBSERVER.parse("h", "p", [snapshot(Edge.ARMED, 0, refused)], SUBJECT)
    assert made.missing["end_cpu.busy_ns"] == "/proc/stat: No such file"
    assert "end_cpu.net_rx" in made.missing
    assert OBSERVER.read(Local(), Subject(pids=(os.getpid(),))) == {}
    assert OBSERVER.parse("h", "p", [], Subject(pids=(1,))).missing == {}


SPIN = "import os, time\nos.sched_setaffinity(0, {0})\nprint(flush=True)\nwhile True: pass"


def test_a_pinned_process_counts_for_its_cpu():
    with subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE) as busy:
        busy.stdout.readline()
        subject = Subject(pids=(busy.pid,), server=(ServerNode(address="127.0.0.1"),))
        first = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
        time.sleep(0.5)
        last = look(OBSERVER, Local(), subject, Edge.LAST, 1)
        busy.kill()
    made = OBSERVER.parse("h", "p", [first, last], subject)
    assert {one.subject for one in made.series if one.metric == "run_ns"} == {f"pid:{busy.pid}@cpu:0"}
    assert the_series(made, "busy_ns", "cpu:0").value[-1] > 0


def test_a_process_that_a_signal_stopped_is_seen():
    with subprocess.Popen(["sleep", "60"]) as process:
        subject, looks = Subject(pids=(process.pid,), reaches=("127.0.0.1",)), []
        for at, (signal, state) in enumerate(((None, "S"), (19, "T"), (18, "S"))):
            if signal is not None:
                process.send_signal(signal)
            while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != state:
                time.sleep(0.01)
            looks.append(look(OBSERVER, Local(), subject, Edge.POLL, at))
        process.kill()
    assert list(the_series(OBSERVER.parse("h", "p", looks, subject), "stopped", "load").value) == [0, 1, 0]
    assert not [one for one in OBSERVER.parse("h", "p", looks[:1], subject).series if one.metric == "stopped"]


@pytest.mark.root
@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("freezer/{}/freezer.state", ("FROZEN", "THAWED")),
        ("unified/{}/cgroup.freeze", ("1", "0")),
        ("{}/cgroup.freeze", ("1", "0")),
    ],
    ids=["version 1", "version 2 beside it", "version 2"],
)
def test_a_process_of_a_frozen_group_is_seen(file, words):
    switch = Path("/sys/fs/cgroup", file.format(f"assay-freezer-{os.getpid()}"))
    if not os.access(switch.parents[1], os.W_OK) or not list(switch.parents[1].glob("cgroup.procs")):
        pytest.skip(f"no control groups at {switch.parents[1]}")
    with subprocess.Popen(["sleep", "60"]) as process:
        subject, looks = Subject(pids=(process.pid,), reaches=("127.0.0.1",)), []
        switch.parent.mkdir()
        try:
            (switch.parent / "cgroup.procs").write_text(str(process.pid))
            looks.append(look(OBSERVER, Local(), subject, Edge.POLL, 0))
            for at, word in enumerate(words, 1):
                switch.write_text(word)
                time.sleep(0.1)
                looks.append(look(OBSERVER, Local(), subject, Edge.POLL, at))
        finally:
            process.kill()
            process.wait()
            switch.parent.rmdir()
    assert list(the_series(OBSERVER.parse("h", "p", looks, subject), "frozen", "load").value) == [0, 1, 0]
