"""E05: bytes that vanish on the way down, operations that were never timed."""

from array import array
from dataclasses import replace

from assay.records import (
    ABSOLUTE,
    Claim,
    Direction,
    Durability,
    EngineError,
    Fact,
    FactClass,
    Rung,
    Series,
    Severity,
    State,
    Tier,
    Unfinished,
    When,
)
from assay.rules.contradiction import RULE
from audit.case_builder import MIB, SECOND, Made, Seen, but, case_of, gauge, reading
from stage.directory_cases import reported
from stage.rows import each
from stage.said import FAIL, INVALIDATES, NOT_ASKED, PASS, UNVERIFIED, high, hold, low


def counted(made):
    """The case, on a host whose loopback carried nothing meanwhile."""
    case = case_of(made, "E05")
    ends = array("q", (case.phase.start_ns, case.phase.end_ns))
    of = {"phase": case.phase.name, "source": "network", "layer": "network", "host": "local", "subject": ABSOLUTE}
    line = Series(**of, metric="loopback_bytes", unit="bytes", at_ns=ends, value=array("d", (0, 0)))
    return replace(case, observations=replace(case.observations, series=(*case.observations.series, line)))


def judged(made):
    return RULE.check(counted(made))


READ = Made(seen=Seen(storage_bytes=256 * MIB, lower_bytes=256 * MIB))
WRITE = Made(operation="write", drain_s=0.5, seen=Seen(lower_bytes=200 * MIB, drain_bytes=60 * MIB))


def test_requests_that_were_tried_again_count_once():
    tried = but(READ, storage_bytes=400 * MIB, lower_bytes=256 * MIB)
    assert judged(tried).state is State.PASS
    assert judged(but(tried, lower_bytes=100 * MIB)).state is State.FAIL


def test_direct_reads_that_storage_never_saw():
    made = but(READ, storage_bytes=0, lower_bytes=0, knobs={"direct": True})
    assert "Direct reads" in judged(made).statement
    assert judged(but(made, hole_bytes=256 * MIB)).state is State.PASS


def test_an_operation_that_was_given_up_is_timed_and_not_counted():
    """Its wait is in the histogram: at least so long."""
    case = case_of(Made(count=1, latencies_ns=(10, 20), operation="stat"), "E05")
    assert "1 operations counted, 2 timed" in RULE.check(case).statement
    (client,) = case.phase.clients
    left = Unfinished(count=1, from_ns=0, waited_ns=20, longest_ns=20)
    clients = (replace(client, operations=(replace(client.operations[0], unfinished=left),)),)
    assert RULE.check(replace(case, phase=replace(case.phase, clients=clients))).state is State.PASS


@each(
    "carried last state",
    (260 * MIB, 1.5, State.PASS),
    (1 * MIB, 1.5, State.FAIL),
    (1 * MIB, 1.0, State.PASS),
)
def test_writes_over_the_labs_path_have_passed_it_when_both_ends_are_flushed(carried, last, state):
    """`last`: when the path was last looked at, in seconds; the drain ends after 1.5."""
    case = case_of(WRITE, "E05")
    name = Fact(host="local", when=When.BEFORE, key="target.line", value="lan", fact_class=FactClass.PERFORMANCE)
    line = gauge("line", "line:lan.up", "delivered_bytes", (0, carried), last)
    line = replace(line, at_ns=array("q", (-1000, int(last * SECOND))))
    seen = replace(case.observations, facts=(*case.observations.facts, name), series=(*case.observations.series, line))
    found = RULE.check(replace(case, observations=seen))
    assert (found.state, "path lan carried only" in found.statement) == (state, state is State.FAIL)


@each("operation", "random_write", "record_rewrite")
def test_overwrites_may_meet_in_memory(operation):
    made = but(WRITE, operation=operation, lower_bytes=10 * MIB, drain_bytes=0)
    assert judged(made).state is State.PASS
    assert judged(but(made, knobs={"flush": "each"})).state is State.FAIL


@each("path state", ("psync", State.FAIL), ("io_uring", State.PASS), ("mmap", State.PASS))
def test_calls_of_io_uring_and_mappings_are_not_counted(path, state):
    assert judged(but(READ, call_bytes=4096, knobs={"ioengine": path})).state is state


TOLD = but(READ, values={"read.bytes": 256.0 * MIB}, call_bytes=256 * MIB)


def test_one_record_that_is_not_what_was_written_there_is_enough():
    case = case_of(READ, "E05")
    (client,) = case.phase.clients
    wrong = EngineError(operation="read", code=84, count=1, path="/x", what="verify")
    phase = replace(case.phase, clients=(replace(client, errors=(wrong,)),))
    finding = RULE.check(replace(case, phase=phase))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.relabel == "other data than written"
    other = replace(phase, clients=(replace(client, errors=(replace(wrong, operation="reread"),)),))
    assert RULE.check(replace(case, phase=other)).state is State.PASS


def test_client_programs_of_a_transfer_may_send_what_no_call_of_read_or_write_moved():
    """curl, xrdcp and globus-url-copy: 503 MB put, 437 kB of system calls that the kernel counts."""
    case = case_of(but(WRITE, call_bytes=MIB), "E05")
    workloads = tuple(replace(one, kind="transfer") for one in case.experiment.workloads)
    assert RULE.check(replace(case, experiment=replace(case.experiment, workloads=workloads))).state is State.PASS


def test_calls_that_only_laid_the_files_out_contradict_nothing():
    case = case_of(but(TOLD, call_bytes=128 * MIB, storage_bytes=64 * MIB), "E05")
    calls = [replace(one, operations=128) if one.rung is Rung.SYSCALL else one for one in case.observations.readings]
    for count, state in ((129.0, State.PASS), (128.0, State.FAIL)):
        phase = replace(case.phase, values={**case.phase.values, "read.count": count})
        seen = replace(case.observations, readings=tuple(calls))
        assert RULE.check(replace(case, phase=phase, observations=seen)).state is state


FIO = but(READ, seconds=10.0, values={"read.bytes": 256.0 * MIB, "read.bytes_per_s": 256.0 * MIB / 9, "read.elapsed_ns": 9e9})


HALF = {"bytes": 128.0 * MIB, "bytes_per_s": 128.0 * MIB / 4.5, "elapsed_ns": 4.5e9}


def over_time(made, times, values, metric="read_bytes"):
    case = case_of(made, "E05")
    sampled = replace(
        gauge("block", "device:vda", metric, (0.0,), 1.0),
        at_ns=array("q", [round(at * SECOND) for at in times]),
        value=array("d", [value * MIB for value in values]),
    )
    return RULE.check(replace(case, observations=replace(case.observations, series=(*case.observations.series, sampled))))


def faster(made, times):
    told = {name: value / times if name.endswith("_ns") else value for name, value in made.values.items()}
    return but(made, values={**told, "read.bytes_per_s": made.values["read.bytes_per_s"] * times})


def test_a_time_in_which_the_device_delivered_less():
    evenly = [256 * second / 9 for second in range(10)]
    assert over_time(FIO, range(10), evenly).state is State.PASS
    finding = over_time(faster(FIO, 1.5), range(10), evenly)
    assert finding.state is State.FAIL


def test_of_several_operations_each_has_its_own_bytes_and_time():
    two = {f"{name}.{figure}": value for name in ("read", "reread") for figure, value in HALF.items()}
    assert over_time(but(FIO, values=two), range(11), [25.6 * at for at in range(11)]).state is not State.FAIL


def test_a_rate_is_held_to_no_more_digits_than_were_printed():
    rounded = {**FIO.values, "read.bytes_per_s": FIO.values["read.bytes_per_s"] * 1.04}
    assert judged(but(FIO, values=rounded)).state is State.FAIL
    half = {"read.bytes_per_s_half": 0.05 * rounded["read.bytes_per_s"]}
    assert judged(but(FIO, values={**rounded, **half})).state is State.PASS


def test_a_time_is_held_to_no_more_digits_than_were_printed():
    """hdparm tells 128 MiB in 0.15 s at 870 MB/s: it took 0.154 s."""
    rounded = {**FIO.values, "read.elapsed_ns": FIO.values["read.elapsed_ns"] * 0.97}
    assert judged(but(FIO, values=rounded)).state is State.FAIL
    assert judged(but(FIO, values={**rounded, "read.elapsed_ns_half": 0.035 * rounded["read.elapsed_ns"]})).state is State.PASS


def test_what_others_read_meanwhile_says_nothing_of_bytes_from_memory():
    evenly = [256 * second / 9 for second in range(10)]
    finding = over_time(but(faster(FIO, 1.5), storage_bytes=MIB), range(10), evenly)
    assert "but the transfer took at least" not in finding.statement


def test_what_others_read_below_a_cached_image_says_nothing_of_the_reads_above_it():
    """T03's lie: memory between the two devices answered, and the lower one was busy with other things."""
    evenly = [256 * second / 9 for second in range(10)]
    seen = replace(FIO.seen, upper_bytes=256 * MIB, lower_bytes=256 * MIB)
    stacked = but(faster(FIO, 1.5), devices=("loop0", "vda"))
    assert "but the transfer took at least" in over_time(faster(FIO, 1.5), range(10), evenly).statement
    assert "but the transfer took at least" not in over_time(replace(stacked, seen=seen), range(10), evenly).statement


def test_a_rate_alone_is_held_against_the_bytes_of_the_calls():
    bare = but(FIO, values={"read.bytes_per_s": 256.0 * MIB / 10}, call_bytes=256 * MIB)
    assert judged(bare).state is State.PASS
    finding = judged(but(bare, values={"read.bytes_per_s": 9.999e9}))
    assert finding.state is State.UNVERIFIED
    assert "10.00 GB/s" in finding.statement


GONE = but(WRITE, storage_bytes=256 * MIB, lower_bytes=MIB, drain_bytes=0, claim=Claim(durability=Durability.STABLE_MEDIA))


def test_dirtied_bytes_that_no_device_took():
    assert judged(GONE).state is State.FAIL
    again_and_again = judged(but(GONE, operation="random_write"))
    assert again_and_again.state is State.PASS, "the same page may have been dirtied many times, and all of its folio with it"
    told = judged(but(GONE, values={"write.bytes": 256.0 * MIB}))
    assert (told.state, "dirtied" in told.statement) == (State.UNVERIFIED, True)
    assert judged(but(GONE, values={"write.bytes": 256.0 * MIB}, lower_bytes=256 * MIB)).state is State.PASS
    assert judged(but(GONE, values={"write.bytes": 256.0 * MIB}, claim=Claim())).state is not State.UNVERIFIED


def test_a_page_of_a_large_folio_is_charged_as_all_of_it():
    few = but(GONE, values={"write.bytes": 8.0 * MIB}, call_bytes=8 * MIB, lower_bytes=9 * MIB)
    assert "dirtied" not in judged(few).statement


BOAST = Made(
    seconds=0.3, values={"read.bytes_per_s": 4e9}, claim=Claim(tier=Tier.DEVICE), seen=Seen(call_bytes=9000, storage_bytes=0)
)


@each(
    "made",
    but(BOAST, storage_bytes=8 * MIB),
    but(BOAST, claim=Claim(tier=Tier.CLIENT_CACHE)),
    but(BOAST, storage_bytes=None),
    but(BOAST, values={"read.bytes_per_s": 2e7}, storage_bytes=36_000),
)
def test_a_rate_that_nothing_denies_is_not(made):
    assert judged(made).state is not State.FAIL


def test_what_a_server_moved_denies_no_rate():
    case = counted(BOAST)
    (place,) = case.run.places
    assert RULE.check(case_of(BOAST, "E05")).state is not State.FAIL, "nobody counted what passed the loopback"
    for filesystem, state in (("nfs4", State.UNVERIFIED), ("overlay", State.FAIL)):
        places = (replace(place, devices=(), filesystem=filesystem),)
        assert RULE.check(replace(case, run=replace(case.run, places=places))).state is state


def importing(own_s, clock_s, own=20_002, entries=20_002):
    values = {"import.elapsed_ns": clock_s * 1e9, "importer.elapsed_ns": own_s * 1e9, "importer.count": float(own)}
    return RULE.check(reported("E05", "import", entries, direction=Direction.WRITE, **values))


def test_an_importers_whole_seconds_agree_with_the_clock():
    for own_s, clock_s in ((7, 7.3), (8, 7.3), (2, 8.0)):
        assert importing(own_s, clock_s).state is State.PASS, importing(own_s, clock_s).statement
    assert "7 s" in importing(7, 7.3).statement


def test_states():
    hold(
        "agreement passes",
        "one figure alone agrees with nothing",
        (judged(Made(operation="stat", figure="ops_per_s", values={"stat.ops_per_s": 5.0})), NOT_ASKED),
        (judged(READ), PASS),
        (judged(WRITE), PASS),
        ("more below than asked is other peoples traffic", judged(but(READ, lower_bytes=900 * MIB)), PASS),
        "less at the device than storage was made to read",
        (judged(but(READ, lower_bytes=100 * MIB)), FAIL, INVALIDATES, "268 MB"),
        "noise of the idle baseline widens the device not the claim",
        (judged(but(READ, lower_bytes=260 * MIB, before_bytes=200 * MIB)), PASS),
        "writes that never arrived",
        (judged(but(WRITE, lower_bytes=10 * MIB, drain_bytes=0)), "took only"),
        (judged(but(WRITE, lower_bytes=10 * MIB, drain_bytes=0, encoded_bytes=MIB, hole_bytes=0)), PASS),
        "what a number of operations ends may begin anew",
        (judged(but(WRITE, lower_bytes=10 * MIB, drain_bytes=0, knobs={"ops": 9})), PASS),
        ("untimed operations", judged(but(READ, timed=200)), " timed."),
        "a command that says more than its calls and its storage moved",
        (judged(but(TOLD, call_bytes=128 * MIB, storage_bytes=64 * MIB)), FAIL, INVALIDATES, "268 MB"),
        "a command whose calls or storage bear it out",
        (judged(TOLD), PASS),
        (judged(but(TOLD, call_bytes=128 * MIB)), PASS),
        (judged(but(TOLD, storage_bytes=0, lower_bytes=0)), PASS),
        "calls that nobody counts contradict nothing",
        (judged(but(TOLD, call_bytes=MIB, storage_bytes=0)), PASS),
        (judged(but(TOLD, call_bytes=None, storage_bytes=0)), PASS),
        "bytes and time that the rate denies",
        (judged(FIO), PASS),
        (judged(but(FIO, values={**FIO.values, "read.bytes_per_s": 2560.0 * MIB / 9})), FAIL, INVALIDATES, "268 MB"),
        "a time that is a small part of the command is nobody elses",
        (judged(faster(FIO, 10)), UNVERIFIED, low(256 * MIB / 10)),
        "what an engine of ours wrote is known whatever was dirtied with it",
        (
            judged(
                but(
                    GONE,
                    count=512,
                    record_bytes=4096,
                    knobs={"flush": "each"},
                    storage_bytes=300 * MIB,
                    call_bytes=2 * MIB,
                    lower_bytes=10 * MIB,
                )
            ),
            PASS,
        ),
        "a rate of which storage saw nothing is proved wrong",
        (judged(BOAST), FAIL, INVALIDATES, "0 B"),
        (
            judged(
                but(BOAST, operation="write", values={"write.bytes_per_s": 4e9}, claim=Claim(durability=Durability.STABLE_MEDIA))
            ),
            "made dirty",
        ),
        (judged(but(BOAST, storage_bytes=36_000)), high(36_000 / 0.3)),
        "an importer with more time than the clock or other entries is a contradiction",
        (importing(10, 7.3), FAIL),
        (importing(7, 7.3, own=20_001), "20,001"),
    )


@each(
    "calls parse state",
    (0, "regex", State.UNVERIFIED),
    (30_000, "regex", State.UNVERIFIED),
    (40_000, "regex", State.PASS),  # 40,000/s in a second, and as many calls
    (0, "wrk", State.NOT_APPLICABLE),  # a known tool counts its requests
)
def test_a_rate_of_an_unknown_program_is_its_word_alone(calls, parse, state):
    made = Made(figure="ops_per_s", values={"read.ops_per_s": 40_000.0}, knobs={"parse": parse})
    found = case_of(made, "E05")
    direction = Direction.READ if parse == "regex" else Direction.REQUEST
    seen = [reading(Rung.SYSCALL, "pid:100", Direction.READ, (4096 * calls, calls))] if parse == "regex" else []
    phase = replace(found.phase, directions={"read": direction})
    one = replace(found, value=40_000.0, phase=phase, observations=replace(found.observations, readings=tuple(seen)))
    assert RULE.check(one).state is state
