"""L18: one starved stream among several, streams that share a line, and ends that do not tell."""

from dataclasses import replace

from assay.rules.unfair_streams import RULE
from stage.network_cases import between, connection, end
from stage.said import ASKED, FAIL, NOT_ASKED, NOTES, PASS, UNVERIFIED, hold


def streams(*moved, since_ns=None):
    each = (
        replace(connection(acked_bytes=one), local=f"10.0.0.1:{number}", slow_since_ns=since_ns)
        for number, one in enumerate(moved)
    )
    return between("L18", load=end(*each))


def test_states():
    hold(
        (
            "one of eight",
            RULE.check(streams(*(40_000_000,) * 7, 534_569)),
            *(
                FAIL,
                NOTES,
                "10.0.0.1:7",
                "1.5 % of its fair share",
                {"fairness": 280_534_569**2 / (8 * (7 * 40_000_000**2 + 534_569**2))},
            ),
        ),
        ("held back later", RULE.check(streams(40_000_000, 5_000_000, since_ns=1_200_000_000)), "fair share, since 1.2 s"),
        ("never fast", RULE.check(streams(40_000_000, 50_000, since_ns=100_000_000)), "fair share, from the beginning"),
        ("one of sixty, which the index alone does not show", RULE.check(streams(*(40_000_000,) * 59, 400_000)), FAIL, NOTES),
        ("streams that share a line", RULE.check(streams(31_000_000, 45_000_000, 40_000_000)), PASS),
        ("a kernel that does not tell", RULE.check(streams(None, None)), UNVERIFIED),
        (RULE.applies(streams(1)), NOT_ASKED),
        (RULE.applies(streams(1, 1)), ASKED),
    )
