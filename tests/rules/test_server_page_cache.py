"""T02: a server that read its storage, one that did not, and claims of either."""

from assay.records import Claim, Direction, State, Tier
from assay.rules.client_page_cache import RULE as CLIENT
from assay.rules.server_page_cache import RULE
from audit.case_builder import MIB, Made, Seen, case_of
from stage.directory_cases import NAMELESS, loaded, reported
from stage.rows import each
from stage.said import ASKED, FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, QUALIFIES, UNVERIFIED, high, hold
from stage.server_cases import served

DEVICE, SERVER = Claim(tier=Tier.DEVICE), Claim(tier=Tier.SERVER_CACHE)
GOT = {"read.bytes": 256.0 * MIB}


def judged(read, claim=DEVICE, sent=257 * MIB, values=GOT, figure="bytes", **more):
    rungs = [("L4", "write", sent)] if sent is not None else []
    rungs += [("L6", "read", read)] if read is not None else []
    return RULE.check(served("T02", rungs, claim=claim, values=values, figure=figure, **more))


@each("sent state", (257 * MIB, State.PASS), (64 * MIB, State.FAIL), (None, State.UNVERIFIED))
def test_of_the_client_t01_asks_what_the_server_sent(sent, state):
    rungs = [("L4", "write", sent)] if sent is not None else []
    case = served("T01", rungs, claim=DEVICE, values=GOT, figure="bytes", seen=Seen(storage_bytes=0, lower_bytes=256 * MIB))
    assert CLIENT.check(case).state is state


PAGE = 4096


def searches(pages, requests, *, claim=DEVICE, count=4000, operation="search", **more):
    rungs = (("L6", Direction.READ, pages * PAGE, 0), ("L9", Direction.READ, pages * PAGE, requests))
    return RULE.check(loaded("T02", {operation: count}, operation=operation, rungs=rungs, claim=claim, **more))


def test_a_command_on_a_directory_is_judged_by_operations_too():
    """Its answers of 65 bytes are fewer bytes than the pages that the server read for a fifth of them."""
    rungs = (("L6", Direction.READ, 1136 * PAGE, 0),)
    values = {"search.bytes": 4000.0 * 65}
    case = reported("T02", "search", 4000, direction=Direction.READ, claim=DEVICE, rungs=rungs, **values)
    assert (RULE.applies(case), RULE.check(case).state) == (None, State.FAIL)
    bare = reported("T02", "read", None, direction=Direction.READ, claim=DEVICE, rungs=rungs, counted={"search": 4000})
    assert RULE.check(bare).observed["operations"] == 4000


def test_states():
    hold(
        ("a server that did not read is one of memory", judged(0), FAIL, INVALIDATES),
        "a server that read all passes",
        (judged(256 * MIB), PASS),
        (judged(400 * MIB), PASS),
        "a rate is bounded by what its storage had a part in",
        (judged(64 * MIB, values=GOT | {"read.bytes_per_s": 1000e6}, figure="bytes_per_s"), high(250e6)),
        "without the clients own account the interfaces tell",
        (judged(0, values={"read.ops_per_s": 5.0}, figure="ops_per_s"), FAIL),
        (judged(257 * MIB, values={"read.ops_per_s": 5.0}, figure="ops_per_s"), PASS),
        (judged(0, sent=None, values={"read.ops_per_s": 5.0}, figure="ops_per_s"), UNVERIFIED),
        "a claim of the servers cache is held to it",
        (judged(0, claim=SERVER), PASS),
        (judged(128 * MIB, claim=SERVER), QUALIFIES),
        (judged(256 * MIB, claim=SERVER), INVALIDATES),
        ("under no claim it is a note", judged(0, claim=Claim()), NOTES),
        ("unknown reads are unverified", judged(None), UNVERIFIED),
        "what was in memory before is told",
        (judged(256 * MIB, gauges={"cached_bytes": (64.0, 0), "file_bytes": (256.0, 256)}), {"resident_share_before": 0.25}),
        "it needs a server and reads",
        (RULE.applies(case_of(Made(), "T02")), NOT_ASKED),
        (RULE.applies(served("T02", operation="write")), NOT_ASKED),
        (RULE.applies(served("T02")), ASKED),
        # 800 of 4,000 searches were for people that nobody asked for before: 1.42 pages each, more bytes than 4,000 answers.
        "a directory is judged by operations that needed storage",
        (searches(1136, 1136), FAIL, INVALIDATES, {"hit_share": 1 - 1136 / 4000}, high(1136), "1,136 of 4,000"),
        (searches(5680, 5680), PASS),
        "pages that one request brought are one operation",
        (searches(50_000, 111), {"needed_storage": 111}),
        (searches(1136, 90_000), {"needed_storage": 1136}),
        "a directory without a claim has no finding and one of memory is held to it",
        (searches(0, 0, claim=SERVER), PASS),
        (searches(4000, 4000, claim=SERVER), INVALIDATES),
        (searches(0, 0, claim=Claim()), NOTES),
        "what no storage of a server tells is unverified",
        (RULE.check(loaded("T02", {"search": 5}, claim=DEVICE)), UNVERIFIED),
        (RULE.check(loaded("T02", {"search": 5}, claim=DEVICE, server=NAMELESS)), UNVERIFIED),
        (searches(9, 9, operation="add"), UNVERIFIED),
        (searches(9, 9, claim=Claim(tier=Tier.CLIENT_CACHE)), UNVERIFIED),
        (RULE.applies(loaded("T02", {"add": 5}, operation="add")), NOT_ASKED),
    )
