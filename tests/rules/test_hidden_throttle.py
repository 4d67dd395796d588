import contextlib
import mmap
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.observers import block, cgroup
from assay.records import Direction, Edge, Factor, Limit, Observations, Reading, Rung, Severity, State, Subject, missing_on
from assay.rules.hidden_throttle import RULE
from audit.case_builder import Made, case_of
from stage.noise_cases import phase, run, series, trial_case
from stage.observer_looks import look
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, UNVERIFIED, hold

RULES_FILE = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
GROUPS = (
    series("cgroup", "nr_throttled", [(-1, 0), (11, 0)], subject="cgroup:/a"),
    series("cgroup", "throttle_rules", [(-1, 1), (11, 1)], subject="device:loop0"),
)
RULED = series("cgroup", "limit_write_bytes_per_s", [(-1, 50e6), (11, 50e6)], subject="device:loop0", source="cgroup:/x/io.max")


def moved(bytes_per_s):
    return Reading(
        phase="write",
        rung=Rung.UPPER_DEVICE,
        source="block",
        host="local",
        subject="device:loop0",
        direction=Direction.WRITE,
        bytes=int(bytes_per_s * 10),
        operations=10,
        from_ns=-10,
        to_ns=10_000_000_010,
    )


def declared(limit):
    return Limit(device="loop0", direction=Direction.WRITE, bytes_per_s=limit, declared_by="target disk")


def judged(*more, rate=49e6, limits=(), factors=(), figure="bytes_per_s"):
    of = run(devices=("loop0", "vda"), limits=limits)
    observations = Observations(readings=(moved(rate),), series=(*GROUPS, *more))
    return RULE.check(trial_case("L06", of, observations, *factors, figure=figure))


def test_an_undeclared_rule_that_was_reached_is_what_was_measured():
    finding = judged(RULED)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert any(one.startswith("cgroup:/x/io.max") for one in finding.evidence)
    assert (finding.bound.low, finding.bound.high) == (50e6, None)


def test_a_latency_is_bounded_from_above():
    bound = judged(RULED, figure="latency_p99_ns").bound
    assert (bound.low, bound.high) == (None, 50e6)


@each("twin", {"rate": 20e6}, {"limits": (declared(50_000_000),)}, {"factors": (Factor(path="disk.limit.write", levels=(1, 2)),)})
def test_a_rule_not_reached_declared_or_the_factor_passes_and_is_named(twin):
    finding = judged(RULED, **twin)
    assert finding.state is State.PASS
    assert finding.bound is None


def stopped(stood_ns):
    """A group that its quota stopped 17 times, for so long in all."""
    return (
        series("cgroup", "nr_throttled", [(-1, 3), (11, 20)], subject="cgroup:/b"),
        series("cgroup", "throttled_ns", [(-1, 0), (11, stood_ns)], subject="cgroup:/b"),
    )


@each("stood_ns severity", (5e9, Severity.QUALIFIES), (1e6, Severity.NOTES))
def test_a_group_stopped_for_its_quota_qualifies_or_is_noted(stood_ns, severity):
    finding = judged(*stopped(stood_ns))
    assert (finding.state, finding.severity) == (State.FAIL, severity)
    if severity is Severity.QUALIFIES:  # 5 s of 10 s: what was done in half of the time
        assert (finding.bound.low, finding.bound.high) == (50e6, 100e6)
    beside = series("cgroup", "nr_throttled", [(-1, 0), (11, 7)], subject="cgroup:/of unknown time")
    both = judged(*stopped(stood_ns), beside)
    assert (both.state, both.bound.high) == (State.FAIL, None), "nobody counted for how long the other one stood"


@pytest.fixture
def loop():
    """A disk in memory: other work on the disk of all tests does not slow it below its limit."""
    if os.geteuid() != 0 or not RULES_FILE.exists():
        pytest.skip("needs root and the version 1 controller blkio")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield from attached(Path(folder) / "image")


def attached(image):
    image.write_bytes(os.urandom(1 << 20) * 8)
    done = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=True)
    device = Path(done.stdout.strip())
    try:
        yield device
    finally:
        with contextlib.suppress(OSError):
            RULES_FILE.write_text(f"{number_of(device)} 0")
        subprocess.run(["losetup", "--detach", device], check=True)


def seconds_of_direct_writes(host: Local, device: Path) -> float:
    """6 MiB past the page cache by this process itself, several writes at a time: the limit always has one that waits for it."""
    with mmap.mmap(-1, 256 << 10) as block_of_data, ThreadPoolExecutor(4) as writers:
        block_of_data.write(os.urandom(256 << 10))
        opened = os.open(device, os.O_WRONLY | os.O_DIRECT)
        try:
            start = host.monotonic_ns()
            list(writers.map(lambda at: os.pwrite(opened, block_of_data, at * (256 << 10)), range(24)))
            return (host.monotonic_ns() - start) / 1e9
        finally:
            os.close(opened)


def number_of(device: Path) -> str:
    return Path(f"/sys/class/block/{device.name}/dev").read_text().strip()


@pytest.mark.root
@pytest.mark.parametrize(("rate", "state"), [(4_000_000, State.FAIL), (None, State.PASS)])
def test_a_real_throttled_disk_and_its_free_twin(loop, rate, state):
    if rate:
        RULES_FILE.write_text(f"{number_of(loop)} {rate}")
    subject, host = Subject(pids=(os.getpid(),), devices=(loop.name,)), Local()
    armed = [look(observer, host, subject, Edge.ARMED, 0) for observer in (block.OBSERVER, cgroup.OBSERVER)]
    seconds = seconds_of_direct_writes(host, loop)
    evidence = [
        observer.parse("local", "write", [before, look(observer, host, subject, Edge.LAST, seconds)], subject)
        for observer, before in zip((block.OBSERVER, cgroup.OBSERVER), armed, strict=True)
    ]
    observations = Observations(readings=evidence[0].readings, series=(*evidence[0].series, *evidence[1].series))
    case = trial_case("L06", run(devices=(loop.name,), of=phase(seconds)), observations)
    finding = RULE.check(case)
    assert finding.state is state, finding.statement


def memory(limit):
    hits = series("cgroup", "memory_limit_hits", [(-1, 0), (11, 40)], subject="cgroup:/a")
    return (hits, *([series("cgroup", "memory_limit_bytes", [(-1, limit), (11, limit)], subject="cgroup:/a")] if limit else ()))


def test_states():
    hold(
        ("another limit than the declared one is not declared", judged(RULED, limits=(declared(80_000_000),)), FAIL),
        "a full group is a note, where its limit is not the root's",
        (judged(*memory(limit=1e9)), FAIL, NOTES, "reached 40 times"),
        (judged(*memory(limit=None)), PASS),
        "a quota is judged where there are no devices",
        (RULE.check(trial_case("L06", run(), Observations(series=GROUPS[:1]))), PASS),
        "groups that were not read leave it open",
        (
            RULE.check(
                trial_case(
                    "L06",
                    run(devices=("vda",)),
                    Observations(missing=missing_on("local", None, {"cgroup.throttle_rules": "no controller"})),
                )
            ),
            UNVERIFIED,
            "no controller",
        ),
    )


@each(
    "argv unit rate severity words",
    (("curl", "--limit-rate", "2M", "http://h/f"), "bytes_per_s", 2.0e6, Severity.QUALIFIES, "--limit-rate 2M of curl"),
    (("curl", "--limit-rate=20M", "http://h/f"), "bytes_per_s", 2.0e6, None, ""),
    (("sh", "-c", "pv -qL10m a > b"), "bytes_per_s", 1.05e7, None, ""),  # letters in one word are not taken apart
    (("sh", "-c", "pv -q -L10m a > b"), "bytes_per_s", 1.05e7, Severity.QUALIFIES, "-L 10m of pv"),
    (("rsync", "-a", "--bwlimit=10000", "a", "b"), "bytes_per_s", 1.02e7, Severity.QUALIFIES, "--bwlimit 10000 of rsync"),
    (("rsync", "-a", "--bwlimit=10M", "a", "b"), "bytes_per_s", 1.02e7, Severity.QUALIFIES, "--bwlimit 10M of rsync"),
    (("iperf3", "-u", "-c", "h"), "bytes_per_s", 131e3, Severity.QUALIFIES, "default rate of iperf3 -u without -b"),
    (("iperf3", "-u", "-b", "5M", "-P", "2", "-c", "h"), "bytes_per_s", 1.25e6, Severity.NOTES, "-b 5M of iperf3, 1.25 MB/s"),
    (("iperf3", "-u", "-b", "0", "-c", "h"), "bytes_per_s", 131e3, None, ""),
    (("iperf3", "-c", "h"), "bytes_per_s", 131e3, None, ""),
    (("pgbench", "-R", "200", "-c", "2"), "ops_per_s", 201.0, Severity.NOTES, "-R 200 of pgbench"),
    (("fio", "--rate_iops=1k", "--name=x"), "ops_per_s", 999.0, Severity.NOTES, "--rate_iops 1k of fio, 1,000/s"),
)
def test_rates_that_a_command_set_for_itself(argv, unit, rate, severity, words):
    values = {"read.bytes_per_s": 1.0, f"read.{unit}": rate}
    finding = RULE.check(case_of(Made(figure=unit, values=values, knobs={"argv": argv}), "L06"))
    if severity is None:
        assert finding.state is not State.FAIL
    else:
        assert (finding.state, finding.severity, words in finding.statement) == (State.FAIL, severity, True)
        assert (finding.relabel is not None) is (severity is Severity.QUALIFIES)
