"""E12: three counts that agree, a load that counts more than it sends, a capture that lost, others, and nobody who looked."""

from assay.records import Severity, State
from assay.rules.unsent_operations import RULE
from stage.operation_cases import asked, series
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, UNVERIFIED, hold


@each("server", {"search": 20}, None)
def test_operations_that_never_passed_the_wire_invalidate(server):
    found = RULE.check(asked({"search": 40}, {"search": 20}, server))
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert found.relabel == "operations that were never sent"
    assert (found.observed["search_client"], found.observed["search_wire"]) == (40, 20)


def test_a_capture_that_failed_is_unverified_and_one_that_nobody_wanted_is_no_matter():
    failed = asked({"search": 40}, server={"search": 40}, missing={"wire.search": "observer wire failed: no route"})
    assert RULE.applies(failed) is None
    found = RULE.check(failed)
    assert found.state is State.UNVERIFIED
    assert "no route" in found.advice
    assert RULE.applies(asked({"search": 40}, server={"search": 40})) == "the wire was not captured (observer wire)"
    assert RULE.applies(asked(wire={"search": 4})) == "no operations on a directory server"


def test_states():
    hold(
        "equal counts pass",
        (RULE.check(asked({"search": 15_000}, {"search": 15_000}, {"search": 15_000})), PASS, "15,000"),
        (RULE.check(asked({"search": 1}, {"search": 1})), PASS),
        "another kind is another measures matter",
        (RULE.check(asked({"search": 20, "modify": 9}, {"search": 20, "modify": 5}, {"search": 20, "modify": 5})), PASS),
        "what the capture lost is unverified",
        (RULE.check(asked({"search": 40}, {"search": 30}, {"search": 40})), UNVERIFIED),
        (RULE.check(asked({"search": 40}, {"search": 30, "capture_drops": 3})), UNVERIFIED),
        "others are named and noted",
        (
            RULE.check(
                asked(
                    {"search": 40},
                    {"search": 43},
                    {"search": 45},
                    more=[series("wire", "search", 40, "client:10.0.0.1"), series("wire", "search", 3, "client:10.0.0.2")],
                )
            ),
            FAIL,
            NOTES,
        ),
        "encrypted traffic is unverified",
        (RULE.check(asked({"search": 40}, {"search": 0, "opaque_bytes": 7_000}, {"search": 40})), UNVERIFIED, "7,000 bytes"),
    )
