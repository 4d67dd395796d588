"""On a disk of known speed nothing that claims the device is SOUND above that speed, and what is honest comes out at it.

The disk is throttled to 50 MB/s. Five phases are honest; the others are lies of the usual kinds: a file read again from
memory, one that fits in memory after its first reading, records overwritten in memory, a write that is never flushed.
"""

import pytest

from assay.answer.wording import labels
from assay.experiment import read
from assay.hosts.local import Local
from assay.machine import cgroups
from assay.records import State, VerdictState
from assay.selftest.control import measured
from assay.trial import attempt
from stage.own_disk import ahead, own_disk

LIMIT = 50e6
LEAST_S = 2
DECLARED = "limited by the declared 50 MB/s"
NOISE = {"E04", "N01", "N02", "N03", "W07"}
"""What others on this machine do to a run; it says nothing of the laboratory."""
HONEST = {
    "buffered.write.bytes_per_s",
    "buffered.read.bytes_per_s",
    "direct.write.bytes_per_s",
    "direct.read.bytes_per_s",
    "spots.random_read.bytes_per_s",
}
LIES = {
    "warm.read.bytes_per_s",
    "soon_warm.read.bytes_per_s",
    "overwritten.write.bytes_per_s",
    "unflushed.write.bytes_per_s",
}
UNFLUSHED = {"unflushed.write.bytes_per_s"}
TEXT = """
title = "A disk of known speed"
question = "Is any figure above what the disk can do called sound?"
repeats = 1

[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "1 GiB"
limit = { read_bytes_per_s = "50 MB/s", write_bytes_per_s = "50 MB/s" }

[workloads]
buffered = { kind = "bulk_io", size = "112 MiB", record_size = "1 MiB", flush = "end", cache = "cold" }
direct = { kind = "bulk_io", size = "112 MiB", record_size = "1 MiB", direct = true, cache = "cold" }
spots = { kind = "bulk_io", operations = ["random_read"], size = "64 MiB", record_size = "64 KiB", direct = true, ops = 1750 }
warm = { kind = "bulk_io", operations = ["read"], size = "64 MiB", record_size = "1 MiB", cache = "warm", duration = "1 s" }
soon_warm = { kind = "bulk_io", operations = ["read"], size = "80 MiB", record_size = "1 MiB", cache = "cold", duration = "2 s" }
overwritten = { kind = "bulk_io", operations = ["write"], size = "32 MiB", record_size = "1 MiB", duration = "1 s" }

[workloads.unflushed]           # 256 MiB from a tool of its own, which then sleeps: more than 50 MB/s, and not all of it written
kind = "command"
argv = ["sh", "-c", "from=$(date +%s%N); dd if=/dev/urandom of=big bs=1M count=256 && sleep 1.7 && \
    echo wrote $((268435456000 / ($(date +%s%N) - from))) MB/s"]
parse = "regex"
pattern = "wrote ([0-9.]+)"
unit = "MB/s"
direction = "write"
data_files = ["big"]

[measures]
"buffered.write.bytes_per_s" = { claim = { tier = "device", durability = "stable-media" } }
"buffered.read.bytes_per_s" = { claim = { tier = "device", regime = "cold" } }
"direct.write.bytes_per_s" = { claim = { tier = "device" } }
"direct.read.bytes_per_s" = { claim = { tier = "device", regime = "cold" } }
"spots.random_read.bytes_per_s" = { claim = { tier = "device" } }
"warm.read.bytes_per_s" = { claim = { tier = "device" } }
"soon_warm.read.bytes_per_s" = { claim = { tier = "device" } }
"overwritten.write.bytes_per_s" = { claim = { tier = "device" } }
"unflushed.write.bytes_per_s" = { claim = { tier = "device" } }
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Measure -> what was said of it and how long its phase took."""
    host = Local()
    if not host.is_root() or not host.exists("/dev/loop-control"):
        pytest.skip("needs root and loop devices")
    if (why := cgroups.throttle_obstacle(host)) is not None:
        pytest.skip(why)
    experiment = read.parse(TEXT, "known_disk.toml")
    with own_disk(tmp_path_factory.mktemp("known")) as lab, ahead(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt, "memory_device", lambda *_: None)  # it stands for a disk
        (run,) = measured(experiment, TEXT, lab).runs[-1:]
    lengths = {phase.name: (phase.end_ns - phase.start_ns) / 1e9 for phase in run.run.phases}
    return {name: (verdict, lengths[phase_of(verdict)]) for name, verdict in run.verdicts.items()}


def phase_of(verdict):
    return next(finding.phase for finding in verdict.findings if finding.phase)


def failed(verdict):
    return {finding.rule for finding in verdict.findings if finding.state is State.FAIL}


def bound(seconds, slices=1):
    """The speed, 3 % for the accounting of slices, and a slice of 100 ms on credit each time the queue has run empty."""
    return 1.03 * LIMIT + 0.1 * slices * LIMIT / seconds


pytestmark = [pytest.mark.slow, pytest.mark.root]


def test_nothing_above_the_disk_is_sound(told):
    assert told.keys() == HONEST | LIES
    for name, (verdict, seconds) in told.items():
        assert seconds >= (LEAST_S if name in HONEST | UNFLUSHED else 1), name
        assert verdict.state is not VerdictState.SOUND or verdict.value <= bound(seconds), (name, labels.label(verdict))


def test_what_is_honest_comes_out_at_the_disks_speed_and_names_the_limiter(told):
    judged = {name: told[name] for name in sorted(HONEST) if not failed(told[name][0]) & NOISE}
    for name, (verdict, seconds) in told.items():
        assert name not in HONEST or verdict.value <= bound(seconds), (name, labels.label(verdict))
    wrong = [
        (name, labels.label(verdict))
        for name, (verdict, _) in judged.items()
        if verdict.value < 0.95 * LIMIT or verdict.state is not VerdictState.SOUND or DECLARED not in labels.label(verdict)
    ]
    assert wrong == []
    if not judged:
        pytest.skip("others disturbed every phase")


def test_the_lies_are_called_what_they_are(told):
    for name in LIES - UNFLUSHED:
        verdict, seconds = told[name]
        if name == "soon_warm.read.bytes_per_s" and verdict.value <= bound(seconds):
            continue  # others took the processor, and the time was over with the first reading
        assert verdict.state is VerdictState.INVALID, labels.label(verdict)
        assert failed(verdict) & {"T01", "L04"}, labels.label(verdict)
        assert "file system in memory" not in labels.label(verdict)


def test_what_was_still_in_memory_is_the_page_caches_and_what_the_disk_took_stands_beside_it(told):
    verdict, seconds = told["unflushed.write.bytes_per_s"]
    assert verdict.state is VerdictState.INVALID
    assert verdict.value > LIMIT, "the tool told more than the disk took in"
    (unflushed,) = (finding for finding in verdict.findings if finding.rule == "D01")
    assert unflushed.state is State.FAIL
    assert unflushed.bound.high <= bound(seconds, slices=2), "the drain begins with a slice of its own"
