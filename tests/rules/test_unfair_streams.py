"""L18: one starved stream among several, streams that share a line, and ends that do not tell."""

from array import array
from dataclasses import replace

from assay.records import Server, ServerNode
from assay.rules.unfair_streams import RULE
from audit.case_builder import SECOND
from stage.network_cases import between, connection, end
from stage.said import ASKED, FAIL, NOT_ASKED, NOTES, PASS, UNVERIFIED, hold
from stage.server_cases import counted, gauge, served


def streams(*moved, since_ns=None):
    each = (
        replace(connection(acked_bytes=one), local=f"10.0.0.1:{number}", slow_since_ns=since_ns)
        for number, one in enumerate(moved)
    )
    return between("L18", load=end(*each))


def server_on(looks=True, **moved):
    """A server on hosts that each moved so many bytes in 10 s; host b works no more from 4 s on."""
    nodes = Server(nodes=tuple(ServerNode(host=host, address=f"10.0.0.{number}") for number, host in enumerate(moved)))
    case = served("L18", server=nodes, seconds=10.0)
    rungs = (replace(counted(10.0, "L4", "write", one), host=host) for host, one in moved.items() if one is not None)
    times = range(11)
    ran = (
        replace(
            gauge(10.0, "run_ns", (0, 0)),
            host=host,
            at_ns=array("q", (at * SECOND for at in times)),
            value=array("d", (float(min(at, 4) if host == "b" else at) for at in times)),
        )
        for host in moved
        if looks
    )
    seen = replace(case.observations, readings=tuple(rungs), series=tuple(ran), together=True)
    return replace(case, observations=seen)


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
        (
            "a slow server",
            RULE.check(server_on(a=90_000_000, b=9_000_000)),
            FAIL,
            NOTES,
            "b moved 9 MB, 18.2 % of its fair share, since 4.0 s",
        ),
        (
            "nobody looked",
            RULE.check(server_on(looks=False, a=90_000_000, b=9_000_000)),
            FAIL,
            "b moved 9 MB, 18.2 % of its fair share.",
        ),
        ("servers alike", RULE.check(server_on(a=90_000_000, b=80_000_000)), PASS),
        ("a server that nobody counted", RULE.check(server_on(a=90_000_000, b=None)), UNVERIFIED),
        (RULE.applies(server_on(a=1, b=1)), ASKED),
        (RULE.applies(server_on(a=1)), NOT_ASKED),
        (RULE.applies(streams(1)), NOT_ASKED),
        (RULE.applies(streams(1, 1)), ASKED),
    )
