"""D04: servers that answer first and store later, that keep a log, and that sync each time."""

from array import array
from dataclasses import replace

import pytest

from assay.records import Claim, Direction, Durability, Server, ServerNode, Severity, Span, State
from assay.rules.server_acks_early import RULE
from audit.case_builder import MIB, SECOND, Made, Seen, case_of
from directory_cases import loaded, reported, series_of
from server_cases import counted, gauge, served

TIMES = (-1000, SECOND + 1000, 2 * SECOND)
"""Looks at arming, after the last answer, and after the drain."""

STABLE, ACKED = Claim(durability=Durability.STABLE_MEDIA), Claim(durability=Durability.ACKED)


def judged(given, dirty, told=64 * MIB, claim=STABLE, operation="write"):
    rungs = [] if given is None else [("L6", "write", given)]
    gauges = {} if dirty is None else {"dirty_bytes": (4096.0, 4096.0 + dirty), "writeback_bytes": (0.0, 0.0)}
    values = {f"{operation}.bytes": float(told)} if told else {f"{operation}.elapsed_ns": 1e9}
    figure = "bytes" if told else "elapsed_ns"
    return RULE.check(served("D04", rungs, gauges, operation=operation, values=values, figure=figure, claim=claim))


def test_answers_from_memory_are_invalid_as_stable_ones():
    found = judged(64 * MIB, 64 * MIB)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert found.relabel == "write acknowledged from the server's memory, before it was stored"
    assert found.detail == "100 % not stored at the last answer"


def test_what_the_server_kept_in_its_own_memory_counts_too():
    found = judged(32 * MIB, 0)
    assert found.state is State.FAIL
    assert "own memory" in found.statement


def test_a_server_that_syncs_passes():
    assert judged(64 * MIB, 0).state is State.PASS
    assert judged(64 * MIB, MIB // 2).state is State.PASS, "below one part in a hundred"


def test_a_log_that_is_synced_passes_though_the_data_files_are_dirty():
    assert judged(128 * MIB, 64 * MIB).state is State.PASS


@pytest.mark.parametrize(
    ("given", "dirty", "state"),
    [(192 * MIB, 128 * MIB, State.UNVERIFIED), (192 * MIB, MIB // 2, State.PASS), (128 * MIB, 128 * MIB, State.FAIL)],
    ids=["as dirty as before the server's own writes", "hardly dirty", "all dirty"],
)
def test_writes_to_the_mount_of_another_server_do_not_count_as_stored(given, dirty, state):
    gauges = {"dirty_bytes": (4096.0, 4096.0 + dirty), "writeback_bytes": (0.0, 0.0)}
    values = {"write.bytes": 64.0 * MIB}
    case = served("D04", [("L6", "write", given)], gauges, operation="write", values=values, figure="bytes", claim=STABLE)
    assert RULE.check(case).state is (State.FAIL if state is State.FAIL else State.PASS), "on a disk a log explains it"
    upper = Server(nodes=(ServerNode(pid_file="/p", data=("/cluster/data",)), ServerNode(pid_file="/q", data=("/chunks",))))
    places = tuple(replace(place, server=upper, address="/cluster/data", filesystem="fuse.mfs") for place in case.run.places)
    assert RULE.check(replace(case, run=replace(case.run, places=places))).state is state


@pytest.mark.parametrize(
    ("dirty", "state"), [(64 * MIB, State.FAIL), (32 * MIB, State.UNVERIFIED), (0, State.PASS)], ids=["all", "half", "nothing"]
)
def test_where_no_client_tells_bytes_only_all_or_nothing_is_judged(dirty, state):
    assert judged(64 * MIB, dirty, told=None).state is state
    assert judged(64 * MIB, dirty, told=None, operation="create").state is state


def test_too_little_is_unverified():
    assert judged(4096, 4096, told=None).state is State.UNVERIFIED


def test_acknowledged_is_all_that_is_claimed():
    assert judged(64 * MIB, 64 * MIB, claim=ACKED).severity is Severity.NOTES


def test_unknown_pages_or_writes_are_unverified():
    assert judged(64 * MIB, None).state is State.UNVERIFIED
    assert judged(None, 0).state is State.UNVERIFIED


def test_it_needs_a_server_and_writes():
    assert RULE.applies(case_of(Made(operation="write"), "D04")) == "the target names no server"
    assert RULE.applies(served("D04", operation="read")) == "no writes"
    assert RULE.applies(served("D04", operation="create")) is None


def changed(dirty, flushes, *, count=300, places=1, cache="write back", claim=STABLE, given=4 * MIB, flush_in_clock=False):
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
    return RULE.check(replace(made, phase=replace(made.phase, flush_in_clock=flush_in_clock)))


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


def test_by_t_what_the_flush_of_both_ends_has_stored_is_stored():
    found = at_the_end((64.0 * MIB, 0.0))
    assert (found.state, found.observed["flushes"]) == (State.PASS, 1), found
    assert "stored when both ends had been flushed" in found.statement


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"dirty": (64.0 * MIB, 8.0 * MIB)}, "12.5 % of 67.1 MB acknowledged was still in the server's memory"),
        ({"dirty": (0.0, 0.0), "drained": 48 * MIB}, "25 % of 67.1 MB acknowledged was still in the server's memory"),
        ({"dirty": (64.0 * MIB, 0.0), "flushes": (0, 0)}, "no flush reached vda, whose cache is volatile"),
        ({"dirty": (64.0 * MIB, 0.0), "filesystem": "tmpfs", "flushes": None}, "on tmpfs, a file system in memory"),
    ],
    ids=["dirty", "not given to the kernel", "no flush", "in memory"],
)
def test_by_t_what_no_flush_has_stored_is_not(named, words):
    found = at_the_end(**named)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert words in found.statement
    assert at_the_end(**named, claim=ACKED).severity is Severity.NOTES


def test_by_t_what_nobody_counted_is_unverified():
    assert at_the_end(None).state is State.UNVERIFIED
    assert at_the_end((0.0, 0.0), flushes=None).state is State.UNVERIFIED


def test_by_t_a_server_whose_storage_was_not_flushed_is_judged_by_its_answers():
    for named in ({"data": "/elsewhere"}, {"drain_s": None}):
        found = at_the_end((64.0 * MIB, 0.0), **named)
        assert (found.state, found.relabel) == (State.FAIL, "write acknowledged from the server's memory, before it was stored")


def test_changes_of_a_directory_that_are_all_dirty_were_acknowledged_early():
    found = changed(4 * MIB, 2)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert changed(0, 300).state is State.PASS


def test_changes_that_no_flush_can_have_made_stable_were_too():
    assert changed(0, 3).state is State.FAIL
    assert changed(0, 3, places=64).state is State.PASS, "64 changes may share a flush"
    assert changed(0, 3, cache="write through").state is State.PASS, "such a device gets no flushes"
    assert changed(0, None).state is State.PASS
    assert changed(0, 3, flush_in_clock=True).state is State.PASS, "the clock of such an import ends with its own flush"


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


def test_the_end_of_an_import_is_an_acknowledgement_too():
    found = RULE.check(imported(64 * MIB))
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert "100 % of 67.1 MB written was dirty when the importer ended" in found.statement
    assert RULE.check(imported(64 * MIB, claim=Claim())).severity is Severity.NOTES
    assert RULE.check(imported(0)).state is State.PASS
    assert RULE.check(imported(None)).state is State.UNVERIFIED
    assert RULE.applies(imported(0)) is None
