"""E08: counts of client and server that agree, that contradict each other, and other clients of the same server."""

from assay.records import Claim, State
from assay.rules.operations_by_type import RULE
from audit.case_builder import Made, case_of
from stage.directory_cases import NAMELESS, loaded, reported
from stage.said import ASKED, FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, QUALIFIES, UNVERIFIED, high, hold, low

EXACT = {"search": 4000, "entries": 4000, "bind": 0}


def judged(done, counted, **more):
    return RULE.check(loaded("E08", done, counted=counted, **more))


def test_requests_without_an_answer_are_no_contradiction():
    """Forty were sent and never answered: the server may have counted them or not."""
    lost = {"codes": {"success": 3960}, "entries": 3960}
    assert judged({"search": 4000}, {"search": 3960, "entries": 3960}, **lost).state is State.PASS
    assert judged({"search": 4000}, {"search": 4000, "entries": 3960}, **lost).state is State.PASS


def test_states():
    hold(
        "counts that agree pass and are named",
        (
            judged({"search": 4000, "rename": 300}, {**EXACT, "modrdn": 300, "entries": 4300}),
            PASS,
            "4,000 searches",
            "300 renames",
            {"server.modrdn": 300},
        ),
        "a client with more than the server is a contradiction",
        (judged({"search": 4000}, {"search": 2000, "entries": 4000}), FAIL, INVALIDATES, high(2000)),
        "so are entries that the server never sent",
        (judged({"search": 4000}, {"search": 4000, "entries": 1000}), FAIL, INVALIDATES, "4,000 entries"),
        "others are named by type and bound the figure",
        (judged({"search": 4000}, {"search": 4900, "bind": 100, "entries": 4000}), FAIL, QUALIFIES, "900", low(4000), high(5000)),
        "one search of others that returned most entries counts by its entries",
        (judged({"search": 4000}, {"search": 4050, "entries": 104_000}), {"others_share": 100 / 104}),
        "a few operations of others are named and pass",
        (judged({"search": 4000}, {"search": 4000, "bind": 5, "entries": 4000}), PASS, "5 binds"),
        "what matters little is a note",
        (judged({"search": 4000}, {"search": 4000, "bind": 150, "entries": 4000}), FAIL, NOTES),
        "binds before each operation are the loads own",
        (judged({"search": 500, "bind": 500}, {"search": 500, "bind": 500, "entries": 1000}), PASS),
        "a command is held to the type that it reports",
        (RULE.check(reported("E08", "search", 100, counted={"search": 100, "bind": 100, "entries": 5})), PASS),
        (RULE.check(reported("E08", "search", 200, counted={"search": 100})), FAIL, INVALIDATES),
        "without counters nothing is known",
        (judged({"search": 10}, None), UNVERIFIED),
        (judged({"search": 10}, {"compare": 10}), UNVERIFIED),
        "it needs a directory and a number of operations",
        (RULE.applies(case_of(Made(claim=Claim()), "E08")), NOT_ASKED),
        (RULE.applies(loaded("E08", {"search": 5}, server=NAMELESS)), NOT_ASKED),
        (RULE.applies(reported("E08", "read", 5)), NOT_ASKED),
        (RULE.applies(reported("E08", "search", None)), NOT_ASKED),
        (RULE.applies(loaded("E08", {"search": 5})), ASKED),
    )
