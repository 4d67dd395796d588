"""D10: a mount of rclone with a cache of files, and figures that say more than that it took the data."""

from dataclasses import replace

from assay.records import Claim, Durability, Fact, FactClass, Tier, When
from assay.rules.sent_later import FACT, RULE
from audit.case_builder import Made, case_of
from stage.said import ASKED, FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, UNVERIFIED, hold

WORDS = "rclone keeps a written file and sends it 5s after its close (--vfs-cache-mode full)"


def on_a_mount(words=WORDS, **made):
    case = case_of(Made(**{"operation": "write", **made}), "D10")
    fact = Fact(host="local", when=When.BEFORE, key=FACT, value=words, fact_class=FactClass.PERFORMANCE)
    return replace(case, observations=replace(case.observations, facts=(*case.observations.facts, fact)))


def said(words=WORDS, **made):
    return RULE.check(on_a_mount(words, **made))


def test_states():
    stable, acked = (Claim(durability=one) for one in (Durability.STABLE_MEDIA, Durability.ACKED))
    hold(
        ("nothing is claimed", said(), FAIL, NOTES, "sent to the server later", "5s after its close"),
        ("the server has it", said(claim=acked), FAIL, INVALIDATES),
        ("its disk has it", said(claim=stable), FAIL, INVALIDATES),
        ("the flush is counted", said(figure="synced_bytes_per_s", drain_s=0.1), FAIL, INVALIDATES),
        ("the cache of the client is meant", said(claim=Claim(tier=Tier.CLIENT_CACHE)), NOTES),
        ("a close waits until all is sent", said("nothing: a close waits", claim=acked), PASS),
        ("the client could not be asked", said("unknown: the process of rclone was not found"), UNVERIFIED),
        "it is asked of writes to such a mount alone",
        (RULE.applies(on_a_mount()), ASKED),
        (RULE.applies(on_a_mount(operation="read")), NOT_ASKED),
        (RULE.applies(case_of(Made(operation="write"), "D10")), NOT_ASKED),
    )
