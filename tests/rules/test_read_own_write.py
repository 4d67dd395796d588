"""T11: a phase reads what an earlier phase of the same run has written."""

from dataclasses import replace

from assay.records import CacheState, Claim, Direction, Durability, Regime, Severity, State, Tier
from assay.rules.read_own_write import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, UNVERIFIED, hold

DEVICE, COLD = Claim(tier=Tier.DEVICE), Claim(regime=Regime.COLD)
READ = Made(claim=DEVICE, resident_share=1.0, seen=Seen(storage_bytes=0))
FILES = ("/t/w-0-0.data",)


def case(made, files=FILES, written=FILES, operation="write", values=None):
    """A read after a phase that did something with these files."""
    found = case_of(made, "T11")
    phase = replace(found.phase, data_files=files)
    totals = tuple(replace(total, operation=operation) for total in phase.clients[0].operations)
    way = {"write": Direction.WRITE, "read": Direction.READ, "command": Direction.WRITE}[operation]
    before = replace(
        phase,
        name="w.before",
        data_files=written,
        directions={"write" if operation == "command" else operation: way},
        clients=(replace(phase.clients[0], operations=totals),),
        values=values or {},
    )
    return replace(found, phase=phase, run=replace(found.run, phases=(before, phase)))


def judged(made, **how):
    return RULE.check(case(made, **how))


@each("claim part", (DEVICE, "tier"), (COLD, "regime"), (Claim(tier=Tier.SERVER_CACHE), "tier"))
def test_what_was_just_written_and_never_dropped_is_memory(claim, part):
    finding = judged(but(READ, claim=claim))
    assert (finding.state, finding.severity, finding.part) == (State.FAIL, Severity.INVALIDATES, part)
    assert "phase w.before" in finding.statement
    assert finding.relabel == "read of data that the same client had just written"
    assert finding.bound.high == 0


def test_a_phase_that_was_to_be_cold_and_was_not_is_told_so():
    one = case(READ)
    one = replace(one, phase=replace(one.phase, cache_asked=CacheState.COLD))
    assert "although cold was requested" in RULE.check(one).statement


@each("written", FILES, ("/t/other",))
def test_reads_among_writes_cannot_be_told_apart(written):
    one = case(but(READ, resident_share=0.0), written=written)
    totals = (*one.phase.clients[0].operations, replace(one.phase.clients[0].operations[0], operation="write"))
    ways = {**one.phase.directions, "write": Direction.WRITE}
    phase = replace(one.phase, directions=ways, clients=(replace(one.phase.clients[0], operations=totals),))
    assert (
        RULE.check(replace(one, phase=phase, run=replace(one.run, phases=(one.run.phases[0], phase)))).state is State.UNVERIFIED
    )


def test_states():
    hold(
        ("what was dropped in between passes", judged(but(READ, resident_share=0.0)), PASS),
        ("what storage was made to read passes whoever wrote it", judged(but(READ, storage_bytes=256 * MIB)), PASS),
        "what somebody else wrote passes",
        (judged(READ, written=("/t/other",)), PASS),
        (judged(READ, operation="read"), PASS),
        (RULE.check(case_of(READ, "T11")), UNVERIFIED),
        "a external command is a writer too",
        (judged(READ, operation="command", values={"write.bytes": 1.0}), FAIL),
        (judged(READ, operation="command"), FAIL),
        "without any look into memory it is not known",
        (judged(but(READ, resident_share=None)), UNVERIFIED),
        (judged(but(READ, storage_bytes=None)), FAIL),
        (judged(but(READ, storage_bytes=None, resident_share=0.0)), PASS),
        "other claims writes and direct reads are not asked",
        (RULE.applies(case(READ)), ASKED),
        (RULE.applies(case(but(READ, claim=Claim(tier=Tier.CLIENT_CACHE)))), NOT_ASKED),
        (RULE.applies(case(but(READ, claim=Claim(durability=Durability.ACKED)))), NOT_ASKED),
        (RULE.applies(case(but(READ, knobs={"direct": True}))), NOT_ASKED),
        (RULE.applies(case_of(Made(operation="write", claim=DEVICE), "T11")), NOT_ASKED),
    )
