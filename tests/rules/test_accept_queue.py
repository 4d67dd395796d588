"""L25: a queue that was full, another program's, and counters that are not there."""

from dataclasses import replace

from assay.records import Claim, Server, ServerNode, Tier
from assay.rules.accept_queue import RULE
from audit.case_builder import Made, case_of, gauge
from stage.said import FAIL, NOT_ASKED, NOTES, PASS, QUALIFIES, UNVERIFIED, hold
from stage.server_cases import served

APART = Server(nodes=(ServerNode(pid_file="/p", address="10.0.0.5"),))
NAMES = ("tcp_listen_overflows", "tcp_listen_drops", "tcp_retransmitted_segments")


def judged(*rises, **made):
    case = served("L25", server=APART, **made)
    rows = zip(NAMES, rises, strict=True)
    series = tuple(gauge("end_network", "net:[1]", name, (7, 7 + rise), 1.0) for name, rise in rows if rise is not None)
    seen = replace(case.observations, series=(*case.observations.series, *series))
    return RULE.check(replace(case, observations=seen))


def test_states():
    hold(
        ("a full queue", judged(20, 20, 25), FAIL, NOTES, "limited by the accept queue", {"dropped": 20}),
        ("it qualifies the storage below", judged(20, 20, 25, claim=Claim(tier=Tier.DEVICE)), FAIL, QUALIFIES),
        ("dropped for another reason", judged(0, 20, 25), FAIL, "full in 0)"),
        ("two by chance", judged(2, 2, 2), PASS),
        ("another program's", judged(200, 200, 3), PASS, "another program"),
        ("what was sent again is unknown", judged(20, 20, None), UNVERIFIED),
        ("nobody counted", judged(None, 20, 25), UNVERIFIED),
        (RULE.applies(case_of(Made(), "L25")), NOT_ASKED),
    )
