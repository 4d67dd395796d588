"""D04: servers that answer first and store later, that keep a log, and that sync each time."""

from array import array
from dataclasses import replace

from assay.records import Claim, Direction, Durability, Server, ServerNode, Severity, Span, State
from assay.rules.server_acks_early import RULE
from audit.case_builder import MIB, SECOND, Made, Seen, case_of
from stage.directory_cases import loaded, reported, series_of
from stage.rows import each
from stage.said import ASKED, FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, UNVERIFIED, hold
from stage.server_cases import counted, gauge, served

TIMES = (-1000, SECOND + 1000, 2 * SECOND)
"""Looks at arming, after the last answer, and after the drain."""

STABLE, ACKED = Claim(durability=Durability.STABLE_MEDIA), Claim(durability=Durability.ACKED)


def judged(given, dirty, told=64 * MIB, claim=STABLE, operation="write"):
    rungs = [] if given is None else [("L6", "write", given)]
    gauges = {} if dirty is None else {"dirty_bytes": (4096.0, 4096.0 + dirty), "writeback_bytes": (0.0, 0.0)}
    values = {f"{operation}.bytes": float(told)} if told else {f"{operation}.elapsed_ns": 1e9}
    figure = "bytes" if told else "elapsed_ns"
    return RULE.check(served("D04", rungs, gauges, operation=operation, values=values, figure=figure, claim=claim))


@each(
    "given dirty state",
    (192 * MIB, 128 * MIB, State.UNVERIFIED),
    (192 * MIB, MIB // 2, State.PASS),
    (128 * MIB, 128 * MIB, State.FAIL),
)
def test_writes_to_the_mount_of_another_server_do_not_count_as_stored(given, dirty, state):
    gauges = {"dirty_bytes": (4096.0, 4096.0 + dirty), "writeback_bytes": (0.0, 0.0)}
    values = {"write.bytes": 64.0 * MIB}
    case = served("D04", [("L6", "write", given)], gauges, operation="write", values=values, figure="bytes", claim=STABLE)
    assert RULE.check(case).state is (State.FAIL if state is State.FAIL else State.PASS), "on a disk a log explains it"
    upper = Server(nodes=(ServerNode(pid_file="/p", data=("/cluster/data",)), ServerNode(pid_file="/q", data=("/chunks",))))
    places = tuple(replace(place, server=upper, address="/cluster/data", filesystem="fuse.mfs") for place in case.run.places)
    assert RULE.check(replace(case, run=replace(case.run, places=places))).state is state


@each("dirty state", (64 * MIB, State.FAIL), (32 * MIB, State.UNVERIFIED), (0, State.PASS))
def test_where_no_client_tells_bytes_only_all_or_nothing_is_judged(dirty, state):
    assert judged(64 * MIB, dirty, told=None).state is state
    assert judged(64 * MIB, dirty, told=None, operation="create").state is state


def changed(
    dirty, flushes, *, count=300, places=1, cache="write back", claim=STABLE, given=4 * MIB, flush_in_clock=False, **also
):
    """Changes of a directory; `also`: settings that were read back, others' flushes a second, and the time of a flush in ms."""
    rungs = [("L6", Direction.WRITE, given, 0)]
    rungs += [] if flushes is None else [("L9", Direction.FLUSH, 0, flushes)]
    gauges = {"dirty_bytes": (0, dirty), "writeback_bytes": (0, 0)}
    facts = (("device.0.name", "vda"), ("device.0.queue.write_cache", cache))
    made = loaded(
        "D04",
        {"add": count},
        operation="add",
        counted={"add": count},
        rungs=rungs,
        gauges=gauges,
        facts=facts,
        claim=claim,
        places=places,
    )
    seen = made.observations
    quiet = [replace(one, span=Span.BEFORE, operations=also.get("others", 0)) for one in seen.readings]
    times = [replace(gauge(1.0, name, (0, value)), layer="block", subject="device:vda") for name, value in ticks(flushes, **also)]
    timed = tuple(replace(one, operation="add") for one in seen.histograms)
    settings = tuple(replace(seen.facts[0], key=f"target.{key}", value=value) for key, value in also.get("settings", ()))
    also_seen = replace(
        seen, readings=(*seen.readings, *quiet), series=(*seen.series, *times), facts=(*seen.facts, *settings), histograms=timed
    )
    places = tuple(replace(place, filesystem=also.get("filesystem", place.filesystem)) for place in made.run.places)
    run, phase = replace(made.run, places=places), replace(made.phase, flush_in_clock=flush_in_clock)
    return RULE.check(replace(made, run=run, phase=phase, observations=also_seen))


def ticks(flushes, flush_ms=None, **_):
    """The counters of a device that took so long for each flush."""
    return () if flush_ms is None else (("flushes", flushes), ("flush_ticks", flushes * flush_ms))


def test_a_setting_that_was_read_back_decides_before_any_counter():
    nosync = {"settings": [("setting.durable", "False")]}
    hold(
        ("a neighbour flushes, and the server never does", changed(0, 4241, **nosync), FAIL, INVALIDATES, "durable = false"),
        ("acknowledged is all that is claimed", changed(0, 4241, **nosync, claim=ACKED), NOTES),
        ("its twin flushes", changed(0, 4241, settings=[("setting.durable", "True")]), PASS),
        ("a share that ignores flushes", changed(0, 4241, settings=[("setting.strict_sync", "no")]), INVALIDATES),
        ("data in memory", changed(0, 4241, filesystem="tmpfs"), FAIL, INVALIDATES, "on tmpfs"),
        ("a disk that ignores flushes", changed(0, 4241, settings=[("disk.flush", "ignored")]), INVALIDATES),
    )


def test_flushes_of_other_programs_are_not_those_of_the_server():
    hold(
        ("all of them are others'", changed(0, 300, others=298), UNVERIFIED, "idle baseline"),
        ("the server's come on top", changed(0, 600, others=298), PASS),
        ("answers faster than a flush did not wait for one", changed(0, 600, flush_ms=10), UNVERIFIED, "cannot all have waited"),
        ("answers as slow as a flush may have", changed(0, 600, flush_ms=1), PASS),
        ("a flush at the end is not of each answer", changed(0, 600, flush_ms=10, flush_in_clock=True), PASS),
    )


def at_the_end(dirty, *, drained=64 * MIB, flushes=(0, 1), filesystem="ext4", data="/t/data", drain_s=0.5, claim=STABLE, **named):
    """A put of 64 MiB by T: dirty (at the stop, after the drain), flushes (under the clock, in the drain)."""
    gauges = {"dirty_bytes": (0.0, *dirty), "writeback_bytes": (0.0, 0.0, 0.0)} if dirty else {}
    server = Server(nodes=(ServerNode(pid_file="/p", data=(data,)),))
    looked = Seen(flushes=flushes and flushes[0], drain_flushes=flushes[1] if flushes else 0)
    by_t = {"operation": "write", "count": 64, "figure": "synced_bytes_per_s", "drain_s": drain_s, "claim": claim}
    made = served("D04", server=server, seen=looked, **by_t, **named)
    places = tuple(replace(place, filesystem=filesystem) for place in made.run.places)
    written = counted(1.0, "L6", "write", 32 * MIB)
    later = replace(written, bytes=drained - 32 * MIB, span=Span.DRAIN)
    samples = [
        replace(gauge(1.0, name, values[:2]), at_ns=array("q", TIMES), value=array("d", values))
        for name, values in gauges.items()
    ]
    seen = replace(
        made.observations, readings=(*made.observations.readings, written, later), series=(*made.observations.series, *samples)
    )
    return RULE.check(replace(made, run=replace(made.run, places=places), observations=seen))


@each(
    "named words",
    ({"dirty": (64.0 * MIB, 8.0 * MIB)}, "12.5 % of 67.1 MB acknowledged was still in the server's memory"),
    ({"dirty": (0.0, 0.0), "drained": 48 * MIB}, "25 % of 67.1 MB acknowledged was still in the server's memory"),
    ({"dirty": (64.0 * MIB, 0.0), "flushes": (0, 0)}, "no flush reached vda, whose cache is volatile"),
    ({"dirty": (64.0 * MIB, 0.0), "filesystem": "tmpfs", "flushes": None}, "on tmpfs, a file system in memory"),
)
def test_by_t_what_no_flush_has_stored_is_not(named, words):
    found = at_the_end(**named)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert words in found.statement
    assert at_the_end(**named, claim=ACKED).severity is Severity.NOTES


def test_by_t_a_server_whose_storage_was_not_flushed_is_judged_by_its_answers():
    for named in ({"data": "/elsewhere"}, {"drain_s": None}):
        found = at_the_end((64.0 * MIB, 0.0), **named)
        assert (found.state, found.relabel) == (State.FAIL, "write acknowledged from the server's memory, before it was stored")


def test_requests_that_change_nothing_are_not_judged():
    assert RULE.applies(loaded("D04", {"search": 5}, claim=STABLE)) == "no writes"
    assert RULE.applies(loaded("D04", {"rename": 5}, operation="rename")) is None
    unknown = loaded("D04", {"add": 5}, operation="add", claim=STABLE, server=None)
    assert (RULE.applies(unknown), RULE.check(unknown).state) == (None, State.UNVERIFIED)


def imported(dirty, *, claim=STABLE, written=64 * MIB):
    rungs = (("L2", Direction.WRITE, written, 0),)
    case = reported("D04", "import", 20_002, direction=Direction.WRITE, claim=claim, server=None, rungs=rungs)
    counts = {} if dirty is None else {"dirty_bytes": dirty, "writeback_bytes": 0}
    pages = [replace(series_of("page_cache", name, (0, count)), subject="path:/d/data.mdb") for name, count in counts.items()]
    return replace(case, observations=replace(case.observations, series=(*case.observations.series, *pages)))


def test_states():
    hold(
        ("answers from memory are invalid as stable ones", judged(64 * MIB, 64 * MIB), FAIL, INVALIDATES, "100 %"),
        ("what the server kept in its own memory counts too", judged(32 * MIB, 0), FAIL, "own memory"),
        "a server that syncs passes",
        (judged(64 * MIB, 0), PASS),
        (judged(64 * MIB, MIB // 2), PASS),
        ("a log that is synced passes though the data files are dirty", judged(128 * MIB, 64 * MIB), PASS),
        ("too little is unverified", judged(4096, 4096, told=None), UNVERIFIED),
        ("acknowledged is all that is claimed", judged(64 * MIB, 64 * MIB, claim=ACKED), NOTES),
        "unknown pages or writes are unverified",
        (judged(64 * MIB, None), UNVERIFIED),
        (judged(None, 0), UNVERIFIED),
        "it needs a server and writes",
        (RULE.applies(case_of(Made(operation="write"), "D04")), NOT_ASKED),
        (RULE.applies(served("D04", operation="read")), NOT_ASKED),
        (RULE.applies(served("D04", operation="create")), ASKED),
        ("by t what the flush of both ends has stored is stored", at_the_end((64.0 * MIB, 0.0)), PASS, {"flushes": 1}),
        "by t what nobody counted is unverified",
        (at_the_end(None), UNVERIFIED),
        (at_the_end((0.0, 0.0), flushes=None), UNVERIFIED),
        "changes of a directory that are all dirty were acknowledged early",
        (changed(4 * MIB, 2), FAIL, INVALIDATES),
        (changed(0, 300), PASS),
        "changes that no flush can have made stable were too",
        (changed(0, 3), FAIL),
        (changed(0, 3, places=64), PASS),
        (changed(0, 3, cache="write through"), PASS),
        (changed(0, None), UNVERIFIED),
        (changed(0, 3, flush_in_clock=True), PASS),
        "the end of an import is an acknowledgement too",
        (RULE.check(imported(64 * MIB)), FAIL, INVALIDATES, "100 %"),
        (RULE.check(imported(64 * MIB, claim=Claim())), NOTES),
        (RULE.check(imported(0)), PASS),
        (RULE.check(imported(None)), UNVERIFIED),
        (RULE.applies(imported(0)), ASKED),
    )
