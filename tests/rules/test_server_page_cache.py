"""T02: a server that read its storage, one that did not, and claims of either."""

import pytest

from assay.records import Claim, Direction, Severity, State, Tier
from assay.rules.client_page_cache import RULE as CLIENT
from assay.rules.server_page_cache import RULE
from audit.case_builder import MIB, Made, Seen, case_of
from directory_cases import NAMELESS, loaded, reported
from server_cases import served

DEVICE, SERVER = Claim(tier=Tier.DEVICE), Claim(tier=Tier.SERVER_CACHE)
GOT = {"read.bytes": 256.0 * MIB}


def judged(read, claim=DEVICE, sent=257 * MIB, values=GOT, figure="bytes", **more):
    rungs = [("L4", "write", sent)] if sent is not None else []
    rungs += [("L6", "read", read)] if read is not None else []
    return RULE.check(served("T02", rungs, claim=claim, values=values, figure=figure, **more))


def test_a_server_that_did_not_read_is_one_of_memory():
    found = judged(0)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert "from the server's memory" in found.relabel


def test_a_server_that_read_all_passes():
    assert judged(256 * MIB).state is State.PASS
    assert judged(400 * MIB).state is State.PASS, "it may read ahead"


def test_a_rate_is_bounded_by_what_its_storage_had_a_part_in():
    values = GOT | {"read.bytes_per_s": 1000e6}
    found = judged(64 * MIB, values=values, figure="bytes_per_s")
    assert found.bound.high == pytest.approx(250e6)


def test_without_the_clients_own_account_the_interfaces_tell():
    assert judged(0, values={"read.ops_per_s": 5.0}, figure="ops_per_s").state is State.FAIL
    assert judged(257 * MIB, values={"read.ops_per_s": 5.0}, figure="ops_per_s").state is State.PASS
    assert judged(0, sent=None, values={"read.ops_per_s": 5.0}, figure="ops_per_s").state is State.UNVERIFIED


def test_a_claim_of_the_servers_cache_is_held_to_it():
    assert judged(0, claim=SERVER).state is State.PASS
    assert judged(128 * MIB, claim=SERVER).severity is Severity.QUALIFIES
    assert judged(256 * MIB, claim=SERVER).severity is Severity.INVALIDATES


def test_under_no_claim_it_is_a_note():
    assert judged(0, claim=Claim()).severity is Severity.NOTES


def test_unknown_reads_are_unverified():
    assert judged(None).state is State.UNVERIFIED


def test_what_was_in_memory_before_is_told():
    found = judged(256 * MIB, gauges={"cached_bytes": (64.0, 0), "file_bytes": (256.0, 256)})
    assert found.observed["resident_share_before"] == 0.25
    assert "25" in found.statement


def test_it_needs_a_server_and_reads():
    assert RULE.applies(case_of(Made(), "T02")) == "the target names no server"
    assert RULE.applies(served("T02", operation="write")) == "not a read"
    assert RULE.applies(served("T02")) is None


@pytest.mark.parametrize(("sent", "state"), [(257 * MIB, State.PASS), (64 * MIB, State.FAIL), (None, State.UNVERIFIED)])
def test_of_the_client_t01_asks_what_the_server_sent(sent, state):
    rungs = [("L4", "write", sent)] if sent is not None else []
    case = served("T01", rungs, claim=DEVICE, values=GOT, figure="bytes", seen=Seen(storage_bytes=0, lower_bytes=256 * MIB))
    assert CLIENT.check(case).state is state


PAGE = 4096


def searches(pages, requests, *, claim=DEVICE, count=4000, operation="search", **more):
    rungs = (("L6", Direction.READ, pages * PAGE, 0), ("L9", Direction.READ, pages * PAGE, requests))
    return RULE.check(loaded("T02", {operation: count}, operation=operation, rungs=rungs, claim=claim, **more))


def test_a_directory_is_judged_by_operations_that_needed_storage():
    """800 of 4,000 searches were for people that nobody asked for before: 1.42 pages each, more bytes than 4,000 answers."""
    found = searches(1136, 1136)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert found.observed["hit_share"] == pytest.approx(1 - 1136 / 4000)
    assert found.bound.high == pytest.approx(1136)
    assert "1,136 of 4,000 operations" in found.statement
    assert searches(5680, 5680).state is State.PASS


def test_pages_that_one_request_brought_are_one_operation():
    assert searches(50_000, 111).observed["needed_storage"] == 111, "the kernel read ahead"
    assert searches(1136, 90_000).observed["needed_storage"] == 1136, "others used the device"


def test_a_directory_without_a_claim_has_no_finding_and_one_of_memory_is_held_to_it():
    assert searches(0, 0, claim=SERVER).state is State.PASS
    assert searches(4000, 4000, claim=SERVER).severity is Severity.INVALIDATES
    assert searches(0, 0, claim=Claim()).severity is Severity.NOTES


def test_a_command_on_a_directory_is_judged_by_operations_too():
    """Its answers of 65 bytes are fewer bytes than the pages that the server read for a fifth of them."""
    rungs = (("L6", Direction.READ, 1136 * PAGE, 0),)
    values = {"search.bytes": 4000.0 * 65}
    case = reported("T02", "search", 4000, direction=Direction.READ, claim=DEVICE, rungs=rungs, **values)
    assert (RULE.applies(case), RULE.check(case).state) == (None, State.FAIL)
    bare = reported("T02", "read", None, direction=Direction.READ, claim=DEVICE, rungs=rungs, counted={"search": 4000})
    assert RULE.check(bare).observed["operations"] == 4000


def test_what_no_storage_of_a_server_tells_is_unverified():
    assert RULE.check(loaded("T02", {"search": 5}, claim=DEVICE)).state is State.UNVERIFIED
    assert RULE.check(loaded("T02", {"search": 5}, claim=DEVICE, server=NAMELESS)).state is State.UNVERIFIED
    assert searches(9, 9, operation="add").state is State.UNVERIFIED
    assert searches(9, 9, claim=Claim(tier=Tier.CLIENT_CACHE)).state is State.UNVERIFIED
    assert RULE.applies(loaded("T02", {"add": 5}, operation="add")) == "no claim of the tier that serves these requests"
