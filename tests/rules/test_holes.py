"""T06: a truncated file, a fallocated file, a real one."""

from array import array
from dataclasses import replace

from assay.records import Claim, Severity, State, Tier
from assay.rules.holes import RULE
from audit.case_builder import MIB, Made, Seen, case_of
from stage.rows import each
from stage.said import NOT_ASKED, NOTES, PASS, QUALIFIES, UNVERIFIED, hold
from stage.server_cases import served


def judged(operation="read", tier=Tier.DEVICE, file_bytes=256 * MIB, filesystem=None, **seen):
    claim = Claim(tier=tier)
    made = Made(operation=operation, claim=claim, file_bytes=file_bytes, filesystem=filesystem, seen=Seen(**seen))
    return RULE.check(case_of(made, "T06"))


@each("seen", {"hole_bytes": 256 * MIB}, {"hole_bytes": 0, "unwritten_bytes": 256 * MIB})
def test_reads_of_what_was_never_written_are_invalid(seen):
    finding = judged(**seen)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.relabel == "reads of zeros"
    assert "100 %" in finding.detail


@each(
    "operation delivered state",
    ("read", 256 * MIB, State.PASS),
    ("read", 128 * MIB, State.UNVERIFIED),
    ("read", None, State.UNVERIFIED),
    ("write", 256 * MIB, State.UNVERIFIED),
)
def test_a_read_that_the_servers_storage_delivered_is_none_of_holes(operation, delivered, state):
    rungs = [("L4", "write", 257 * MIB), ("L4", "read", 257 * MIB)]
    rungs += [("L6", "read", delivered)] if delivered is not None else []
    values = {f"{operation}.bytes": 256.0 * MIB}
    case = served("T06", rungs, operation=operation, claim=Claim(tier=Tier.DEVICE), values=values, figure="bytes")
    assert RULE.check(case).state is state


@each("operation state", ("write", State.PASS), ("read", State.FAIL))
def test_files_made_within_the_clock_accuse_only_those_who_read_them(operation, state):
    made = Made(operation=operation, claim=Claim(tier=Tier.DEVICE), seen=Seen(hole_bytes=256 * MIB))
    case = case_of(made, "T06")
    late = tuple(replace(series, at_ns=array("q", [10**9] * len(series.at_ns))) for series in case.observations.series)
    finding = RULE.check(replace(case, observations=replace(case.observations, series=late)))
    assert finding.state is state
    assert "makes the files" in finding.statement or state is State.FAIL


def test_states():
    hold(
        ("real data pass", judged(hole_bytes=MIB), PASS),
        ("as is reads are a note", judged(tier=Tier.AS_IS, hole_bytes=256 * MIB), NOTES),
        "overwrites of holes qualify and new files pass",
        (judged("write", hole_bytes=256 * MIB), QUALIFIES),
        (judged("write", file_bytes=0, hole_bytes=0), PASS),
        ("unknown extents are unverified", judged(), UNVERIFIED),
        "a hole below a FUSE mount delivers nothing to the process behind it",
        (judged(filesystem="fuse.x", behind=(256 * MIB, 4096, 0)), PASS),
        (judged(filesystem="fuse.x", behind=(250 * MIB, 4096, 0)), UNVERIFIED),
        (judged(filesystem="fuse.x"), UNVERIFIED),
        ("metadata is not its business", RULE.applies(case_of(Made(operation="stat"), "T06")), NOT_ASKED),
    )
