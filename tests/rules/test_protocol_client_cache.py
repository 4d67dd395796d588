"""T09: more operations than requests, as many, and where nobody counted."""

from assay.records import Claim, State, Tier
from assay.rules.protocol_client_cache import RULE
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import FAIL, INVALIDATES, NOT_ASKED, NOTES, UNBOUNDED, UNVERIFIED, high, hold
from stage.server_cases import served

SERVER = Claim(tier=Tier.SERVER_CACHE)


def judged(done, requests, claim=SERVER, **more):
    values = {"read.count": float(done), "read.ops_per_s": float(done)} if done else {"read.ops_per_s": 5.0}
    gauges = {} if requests is None else {"requests": (7, 7 + requests)}
    return RULE.check(served("T09", gauges=gauges, claim=claim, values=values, **{"figure": "ops_per_s", **more}))


@each("requests", 477, 500, 900)
def test_a_request_for_each_operation_passes(requests):
    assert judged(500, requests).state is State.PASS


def test_states():
    hold(
        "answers of the client are not those of the server",
        (judged(500, 20), FAIL, INVALIDATES, high(20)),
        (judged(500, 0), high(0)),
        ("under no claim it is a note", judged(500, 20, claim=Claim()), NOTES, UNBOUNDED),
        "uncounted operations or requests are unverified",
        (judged(None, 20), UNVERIFIED),
        (judged(500, None), UNVERIFIED, "server.requests"),
        "operations of our own engines count too",
        (RULE.check(served("T09", gauges={"requests": (0, 10)}, claim=SERVER)), FAIL),
        (RULE.applies(case_of(Made(), "T09")), NOT_ASKED),
    )
