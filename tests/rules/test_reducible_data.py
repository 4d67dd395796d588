"""T07: 256 MiB of zeros, of compressible and of dense data on file systems that compress and that do not."""

import pytest

from assay.audit import limits
from assay.records import Claim, Durability, Severity, State, Tier
from assay.rules.reducible_data import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of
from stage.rows import each
from stage.said import FAIL, INVALIDATES, PASS, UNVERIFIED, hold

DEVICE = Claim(tier=Tier.DEVICE)
STABLE = Claim(durability=Durability.STABLE_MEDIA)
ENCODED = Seen(hole_bytes=0, encoded_bytes=256 * MIB, lower_bytes=6 * MIB, drain_bytes=2 * MIB)
ZEROS = Made(operation="write", claim=DEVICE, drain_s=0.1, knobs={"zeros": 1.0}, seen=ENCODED)
PLAIN = but(ZEROS, encoded_bytes=0, lower_bytes=256 * MIB, knobs={})


def judged(made):
    return RULE.check(case_of(made, "T07"))


def test_zeros_on_a_file_system_that_compresses_are_no_rate_of_the_device():
    finding = judged(ZEROS)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert "100 %" in finding.statement
    assert finding.bound.high == pytest.approx(case_of(ZEROS, "T07").value * 8 / 256)


@each(
    "claim knobs severity",
    (STABLE, {"zeros": 1.0}, Severity.QUALIFIES),
    (STABLE, {"compressible": 100.0}, Severity.NOTES),
    (Claim(), {"zeros": 1.0}, Severity.NOTES),
)
def test_zeros_are_named_under_every_claim_and_bound_what_reached_stable_media(claim, knobs, severity):
    finding = judged(but(ZEROS, claim=claim, knobs=knobs))
    assert (finding.state, finding.severity) == (State.FAIL, severity)
    assert finding.bound.high == pytest.approx(case_of(but(ZEROS, claim=claim), "T07").value * 8 / 256)


@each("operation", "read", "random_read")
def test_reads_of_them_are_none_either(operation):
    made = but(ZEROS, operation=operation, drain_bytes=None, drain_s=None)
    assert (judged(made).state, judged(made).severity) == (State.FAIL, Severity.INVALIDATES)


@each(
    "command told",
    ("dd if=/dev/zero of=x bs=1M", "100 % zeros"),
    ("fio --name=a --rw=write --zero_buffers", "100 % zeros"),
    ("fio --name=a --buffer_compress_percentage=50 --rw=write", "compressible to 1/2"),
    ("fio --name=a --dedupe_percentage=30 --rw=write", "30 % duplicates"),
    ("fio --name=a --scramble_buffers=0 --rw=write", "100 % duplicates"),
    ("fio --name=a --buffer_pattern=0xdeadface --rw=write", "100 % duplicates"),
    ("dd if=/dev/urandom of=x bs=1M", None),
    ("fio --name=a --rw=write", None),
    ("fio --name=a --zero_buffers=0 --dedupe_percentage=many --rw=write", None),
    ("fio --name=a --scramble_buffers=0 --refill_buffers --rw=write", None),
    ("cat --zero_buffers", None),
)
def test_what_dd_and_fio_are_told_to_write_is_known(command, told):
    made = but(PLAIN, knobs={"argv": tuple(command.split())}, values={"write.bytes": 256.0 * MIB})
    finding = judged(made)
    assert (finding.state, finding.severity) == ((State.FAIL, Severity.NOTES) if told else (State.PASS, Severity.INVALIDATES))
    assert told is None or told in finding.statement
    assert judged(but(made, operation="read")).state is State.PASS, "what is read was written by somebody else"


def test_what_fio_is_told_to_compress_is_meant():
    told = {"argv": ("fio", "--buffer_compress_percentage=50")}
    made = but(ZEROS, knobs=told, values={"write.bytes": 256.0 * MIB, "write.bytes_per_s": 256.0 * MIB}, lower_bytes=130 * MIB)
    assert judged(made).severity is Severity.QUALIFIES
    assert judged(but(made, knobs={"argv": ("dd", "if=/dev/zero")})).severity is Severity.INVALIDATES


def test_a_declared_ratio_is_meant_and_bounds_the_rate():
    made = but(ZEROS, knobs={"compressible": 2.0}, lower_bytes=130 * MIB)
    finding = judged(made)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.bound.high is not None
    assert judged(but(made, figure="elapsed_ns")).severity is Severity.INVALIDATES, "without a bound there is no excuse"


@each("knobs word", ({"zeros": 0.5}, "zeros"), ({"compressible": 2.0}, "compressible"), ({"duplicates": 0.3}, "duplicates"))
def test_what_could_be_made_smaller_below_is_a_note(knobs, word):
    finding = judged(but(PLAIN, knobs=knobs))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.NOTES)
    assert word in finding.statement


def test_only_the_device_is_claimed_wrongly():
    assert limits.outside("T07", DEVICE) is None
    assert limits.outside("T07", STABLE) is None
    assert RULE.applies(case_of(Made(operation="stat", claim=DEVICE), "T07")) == "neither a read nor a write of data"


def test_states():
    hold(
        "data of a external tool are judged by what became of them",
        (judged(but(ZEROS, knobs={}, values={"write.bytes": 256.0 * MIB, "write.bytes_per_s": 256.0 * MIB})), INVALIDATES),
        "dense data pass with and without encoding",
        (judged(PLAIN), PASS),
        (judged(but(PLAIN, encoded_bytes=256 * MIB)), PASS),
        ("a little is noise", judged(but(PLAIN, knobs={"compressible": 1.05, "zeros": 0.005, "duplicates": 0.01})), PASS),
        "others on the device and missing evidence are said",
        (judged(but(ZEROS, lower_bytes=300 * MIB, before_bytes=290 * MIB)), UNVERIFIED),
        (judged(but(ZEROS, lower_bytes=None)), UNVERIFIED),
        (judged(but(ZEROS, count=2)), UNVERIFIED),
        (judged(but(ZEROS, hole_bytes=None)), "FIEMAP"),
        "the device that the file system is on is asked",
        (judged(but(PLAIN, devices=("loop0", "vda"), encoded_bytes=256 * MIB, upper_bytes=4 * MIB)), FAIL),
    )
