"""T01: the same 256 MiB read cold, warm, half, and under claims that want the cache."""

from dataclasses import replace

import pytest

from assay.records import Claim, Direction, Fact, FactClass, Regime, Rung, Severity, State, Tier, When
from assay.rules.client_page_cache import LEASED, RULE
from audit.case_builder import MIB, Made, Seen, case_of, gauge
from stage.rows import each
from stage.said import FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, UNVERIFIED, high, hold
from stage.server_cases import gauge as gauge_of_server
from stage.server_cases import served
from stage.traced_cases import traced

DEVICE, FROM_SERVER = Claim(tier=Tier.DEVICE), Claim(tier=Tier.SERVER_CACHE)


def judged(claim=DEVICE, **seen):
    made = Made(seconds=0.0655, claim=claim, seen=Seen(**seen))
    return RULE.check(case_of(made, "T01"))


@each(
    "claim storage_mib resident state",
    (DEVICE, 1024, 0.3, State.UNVERIFIED),
    (Claim(regime=Regime.COLD), 1024, 0.3, State.UNVERIFIED),
    (DEVICE, 1024, 0.0, State.PASS),
    (DEVICE, 256, 0.3, State.PASS),
    (Claim(), 1024, 0.3, State.PASS),
)
def test_hits_may_hide_behind_whole_pages_where_some_was_resident(claim, storage_mib, resident, state):
    made = Made(seconds=0.0655, claim=claim, resident_share=resident, seen=Seen(storage_bytes=storage_mib * MIB))
    assert RULE.check(case_of(made, "T01")).state is state


@each("claim", Claim(tier=Tier.CLIENT_CACHE), Claim(regime=Regime.WARM))
def test_cache_claim_wants_no_storage(claim):
    assert judged(claim=claim, storage_bytes=0).state is State.PASS
    assert judged(claim=claim, storage_bytes=64 * MIB).severity is Severity.QUALIFIES
    assert judged(claim=claim, storage_bytes=256 * MIB).severity is Severity.INVALIDATES


@each(
    "regime resident state",
    (Regime.COLD, 0.0, State.PASS),
    (Regime.COLD, 0.5, State.FAIL),
    (Regime.WARM, 1.0, State.PASS),
    (Regime.WARM, 0.5, State.FAIL),
)
def test_pages_before_the_clock_decide_a_regime_where_nobody_counted_reads(regime, resident, state):
    made = Made(claim=Claim(regime=regime), resident_share=resident)
    assert RULE.check(case_of(made, "T01")).state is state
    device = Made(claim=Claim(tier=Tier.DEVICE, regime=regime), resident_share=resident)
    assert RULE.check(case_of(device, "T01")).state is State.UNVERIFIED


@each("calls state", (4096, State.UNVERIFIED), (64 * MIB, State.FAIL))
def test_a_command_that_read_its_own_libraries_alone_is_not_accused(calls, state):
    made = Made(values={"read.elapsed_ns": 5e9}, seen=Seen(call_bytes=calls, storage_bytes=0))
    assert RULE.check(case_of(made, "T01")).state is state


def test_direct_reads_are_not_called_reads_of_the_page_cache():
    finding = RULE.check(case_of(Made(claim=DEVICE, knobs={"direct": True}, seen=Seen(storage_bytes=0)), "T01"))
    assert finding.state is State.FAIL
    assert "page-cache" not in finding.relabel


@each("resident state", (0.0, State.PASS), (0.6, State.FAIL))
def test_a_cold_read_of_data_that_are_stored_compressed_is_judged_by_what_was_in_memory(resident, state):
    seen = Seen(storage_bytes=90 * MIB, hole_bytes=0, encoded_bytes=256 * MIB)
    made = Made(seconds=0.0655, claim=Claim(regime=Regime.COLD), resident_share=resident, seen=seen)
    assert RULE.check(case_of(made, "T01")).state is state


@each(
    "calls storage knobs state",
    (67 * MIB, 64 * MIB, {}, State.PASS),
    (80 * MIB, 64 * MIB, {}, State.FAIL),
    (5 * MIB, 1 * MIB, {}, State.FAIL),
    (67 * MIB, 64 * MIB, {"calls": "uncounted"}, State.UNVERIFIED),
)
def test_libraries_are_no_hits_and_what_nobody_counts_is_unknown(calls, storage, knobs, state):
    seen = Seen(call_bytes=calls, storage_bytes=storage)
    made = Made(claim=Claim(tier=Tier.DEVICE), values={"read.bytes_per_s": 1e9}, seen=seen, knobs=knobs)
    assert RULE.check(case_of(made, "T01")).state is state


def brought(mib, lost=0, **more):
    made = Made(seconds=0.0655, claim=DEVICE, **more)
    return RULE.check(traced(case_of(made, "T01"), {("added_bytes", "filesystem:/t"): mib * MIB}, lost))


def test_pages_that_never_came_into_memory_were_not_read_whatever_the_process_read_beside_them():
    libraries = Seen(storage_bytes=256 * MIB)
    assert brought(256, seen=libraries).state is State.PASS
    finding = brought(16, seen=libraries)
    assert (finding.state, finding.observed["hit_share"]) == (State.FAIL, pytest.approx(240 / 256))
    assert brought(16, lost=1, seen=libraries).state is State.PASS, "counts of which some were lost say nothing"


def test_direct_reads_bring_no_pages_and_of_a_external_program_it_is_not_known():
    read = Seen(storage_bytes=256 * MIB)
    assert brought(0, seen=read, knobs={"direct": True}).state is State.PASS
    assert brought(0, seen=read, values={"read.bytes": 256.0 * MIB}).state is State.PASS


@each("filesystem advice", ("ext4", "Drop the file's pages"), ("tmpfs", "Use a directory on a disk"))
def test_files_that_are_in_memory_alone_are_not_to_be_dropped(filesystem, advice):
    case = case_of(Made(seconds=0.0655, claim=DEVICE, seen=Seen(storage_bytes=0)), "T01")
    places = tuple(replace(place, filesystem=filesystem) for place in case.run.places)
    assert RULE.check(replace(case, run=replace(case.run, places=places))).advice.startswith(advice)


def through_fuse(claim=DEVICE, storage_mib=0, calls=4096, networked=0, received_mib=0, **seen):
    behind = (storage_mib * MIB, calls, networked)
    seen = {"storage_bytes": 0, "behind": behind, "received_bytes": received_mib * MIB, **seen}
    return RULE.check(case_of(Made(seconds=0.0655, claim=claim, filesystem="fuse.sshfs", seen=Seen(**seen)), "T01"))


def test_reads_through_fuse_are_judged_by_the_process_behind_the_mount():
    """256 MiB are requested; the kernel counts no storage reads of the load itself."""
    warm = Claim(tier=Tier.CLIENT_CACHE)
    hold(
        ("its storage delivered all", through_fuse(storage_mib=257), PASS),
        ("it was asked, and got them from nowhere", through_fuse(storage_mib=5), FAIL, INVALIDATES, "cache of the process"),
        ("it was not asked", through_fuse(calls=20), FAIL, INVALIDATES, "page cache of the mount"),
        ("a cold read that it was not asked for", through_fuse(Claim(regime=Regime.COLD), calls=20), FAIL, INVALIDATES, "regime"),
        ("as is it is a note", through_fuse(Claim(), calls=20), FAIL, NOTES),
        ("it may have got them over a network", through_fuse(networked=1, received_mib=260), UNVERIFIED, "--server"),
        ("not from its network", through_fuse(networked=1, received_mib=2), FAIL, INVALIDATES),
        ("not by a network that nobody counted", through_fuse(networked=1, received_bytes=None), UNVERIFIED),
        ("others' traffic is not its own", through_fuse(received_mib=260), FAIL),
        ("stored in fewer bytes perhaps", through_fuse(storage_mib=100), UNVERIFIED),
        ("nobody saw it", through_fuse(behind=None), UNVERIFIED, "was not seen"),
        ("memory claimed, and it was not asked", through_fuse(warm, calls=20), PASS),
        ("memory claimed, and it was asked", through_fuse(warm), UNVERIFIED),
        ("memory claimed, and storage answered", through_fuse(warm, storage_mib=256), FAIL),
        ("memory claimed, and nobody saw it", through_fuse(warm, behind=None), UNVERIFIED),
    )


@each("share state", (0.9, State.UNVERIFIED), (0.1, State.FAIL))
def test_a_command_may_have_read_through_a_mount_that_it_does_not_name(share, state):
    case = case_of(
        Made(claim=DEVICE, values={"read.bytes": 256.0 * MIB}, seen=Seen(call_bytes=256 * MIB, storage_bytes=0)), "T01"
    )
    busy = [
        gauge("fuse", "mount:/elsewhere", metric, (0, rise), 1.0)
        for metric, rise in (("call_bytes", share * 256 * MIB), ("read_bytes", 0), ("networked", 0))
    ]
    seen = replace(case.observations, series=(*case.observations.series, *busy))
    assert RULE.check(replace(case, observations=seen)).state is state


def test_states():
    hold(
        ("cold read passes", judged(storage_bytes=256 * MIB), PASS),
        ("readahead beyond what was asked is no hit", judged(storage_bytes=300 * MIB), PASS),
        "warm read is relabelled and bounded",
        (
            judged(storage_bytes=round(256 * MIB * 0.02)),
            FAIL,
            INVALIDATES,
            "2 %",
            high(pytest.approx(0.02 * 256 * MIB / 0.0655, rel=1e-3)),
        ),
        ("nothing from the device is said so", judged(storage_bytes=0), "nothing came from the device"),
        ("as is claim makes a warm read a note", judged(claim=Claim(), storage_bytes=0), NOTES),
        ("cold regime is refuted by hits", judged(claim=Claim(regime=Regime.COLD), storage_bytes=0), INVALIDATES, "regime"),
        "device stands in where the process was not watched",
        (judged(lower_bytes=256 * MIB), PASS),
        (judged(lower_bytes=0), FAIL),
        ("busy device cannot stand in", judged(lower_bytes=256 * MIB, before_bytes=500 * MIB), UNVERIFIED),
        ("nothing seen is unverified", judged(), UNVERIFIED),
        ("writes are not its business", RULE.applies(case_of(Made(operation="write"), "T01")), NOT_ASKED),
        "a command that tells its few bytes is held to them",
        (RULE.check(case_of(Made(values={"read.bytes": 1.0 * MIB}, seen=Seen(call_bytes=MIB, storage_bytes=0)), "T01")), FAIL),
        "a read mostly from storage is called a mixture",
        (judged(claim=Claim(), storage_bytes=round(256 * MIB * 0.926)), FAIL, NOTES, "7.4 %"),
        "pages stand in where nobody counted the process",
        (brought(256), PASS),
        (brought(0), FAIL),
    )


def piped(script, **seen):
    """A command in a script that reads 256 MiB of calls."""
    made = Made(values={"read.elapsed_ns": 5e9}, knobs={"argv": ("sh", "-c", script)}, seen=Seen(call_bytes=256 * MIB, **seen))
    return case_of(made, "T01")


def write_side(case, calls_mib, dirtied_mib):
    """The same case where the command wrote, too."""
    rungs = {Rung.SYSCALL: calls_mib, Rung.CLIENT_CACHE: dirtied_mib}
    reads = [one for one in case.observations.readings if one.rung in rungs]
    writes = [replace(one, direction=Direction.WRITE, bytes=rungs[one.rung] * MIB) for one in reads]
    return replace(case, observations=replace(case.observations, readings=(*case.observations.readings, *writes)))


def test_pipes_and_sockets_of_a_command_are_no_reads_of_files():
    half = write_side(piped("cat f | gzip > g", storage_bytes=128 * MIB), 192, 64)
    hold(
        ("what pipes carried is taken off", RULE.check(half), PASS),
        (
            "without a pipe all calls are reads",
            RULE.check(write_side(piped("cat f > g", storage_bytes=128 * MIB), 192, 64)),
            FAIL,
        ),
        ("nobody counted what a socket brought", RULE.check(piped("wget -q http://h.example/f", storage_bytes=0)), UNVERIFIED),
    )


def test_what_may_be_of_the_commands_own_files_proves_no_read():
    made = Made(values={"read.bytes": 256.0 * MIB}, seen=Seen(storage_bytes=256 * MIB, lower_bytes=300 * MIB))
    case = case_of(made, "T01")
    doubt = gauge("process", "", "doubtful_read_bytes", (32.0 * MIB,), made.seconds)
    doubtful = replace(case, observations=replace(case.observations, series=(*case.observations.series, doubt)))
    elsewhere = case_of(replace(made, seen=replace(made.seen, storage_bytes=320 * MIB, lower_bytes=64 * MIB)), "T01")
    hold(
        ("known", RULE.check(case), PASS),
        ("doubtful", RULE.check(doubtful), UNVERIFIED),
        ("other devices' bytes are no data", RULE.check(elsewhere), FAIL, {"hit_share": 0.75}),
    )


def test_a_read_of_a_device_without_data_is_no_warm_read():
    """dd if=/dev/zero of=/dev/null: all of it came from a device of characters."""
    made = Made(
        claim=DEVICE,
        values={"read.bytes": 256.0 * MIB},
        knobs={"argv": ("dd", "if=/dev/zero", "of=/dev/null")},
        seen=Seen(storage_bytes=0),
    )
    found = case_of(made, "T01")
    zeros = gauge("process", "", "device_read_bytes", (256.0 * MIB,), 1.0)
    finding = RULE.check(replace(found, observations=replace(found.observations, series=(*found.observations.series, zeros))))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert "Read from /dev/zero" in finding.statement
    assert "page cache" in RULE.check(found).statement


STRICT = "rw,relatime,vers=3.1.1,cache=strict,username=root"


def mounted(system, options, *, delegations=None, sent=0, claim=FROM_SERVER):
    """256 MiB read through a mount of a server that sent so much; `options` as the mount table has them."""
    case = served("T01", rungs=(("L4", Direction.WRITE, sent),), seconds=0.0655, claim=claim)
    facts = [
        Fact(host="local", when=When.BEFORE, key=f"target.clients.{key}", value=value, fact_class=FactClass.PERFORMANCE)
        for key, value in (("filesystem", system), ("mount", options))
    ]
    held = () if delegations is None else (replace(gauge_of_server(0.0655, "delegations", delegations), layer="nfsd"),)
    seen = replace(case.observations, facts=(*case.observations.facts, *facts), series=(*case.observations.series, *held))
    return RULE.check(replace(case, observations=seen))


@each(
    "system options delegations promise",
    ("cifs", STRICT, None, "oplock or lease of SMB"),
    ("cifs", f"{STRICT}; {STRICT}", None, "oplock or lease of SMB"),
    ("nfs4", "rw,vers=4.2", (0, 2), "2 delegations of NFS"),
    ("cifs", STRICT.replace("strict", "loose"), None, ""),
    ("cifs", f"{STRICT}; {STRICT.replace('strict', 'loose')}", None, ""),
    ("nfs4", "rw,vers=4.2", (0, 0), ""),
    ("nfs4", "rw,vers=4.2", None, ""),
    ("nfs", "rw,vers=3", None, ""),
    ("fuse.rclone", STRICT, None, ""),
)
def test_a_cache_under_a_promise_of_the_server_is_named(system, options, delegations, promise):
    found = mounted(system, options, delegations=delegations)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert (found.relabel == LEASED) == bool(promise)
    assert promise in found.statement
    as_claimed = mounted(system, options, delegations=delegations, claim=Claim(tier=Tier.CLIENT_CACHE))
    assert (as_claimed.state, promise in as_claimed.statement) == (State.PASS, True)


def test_the_twin_that_reads_over_the_wire_is_not_accused():
    found = mounted("cifs", STRICT.replace("strict", "none"), sent=270 * MIB)
    assert found.state is State.PASS
