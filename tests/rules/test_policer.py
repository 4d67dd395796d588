"""L24: rules that drop packets of the load, of others, and without a counter."""

from dataclasses import replace

from assay.records import ABSOLUTE, Claim, Path, Tier
from assay.rules.policer import RULE
from audit.case_builder import Made, case_of
from stage.network_cases import between, connection, end
from stage.said import ASKED, FAIL, NOT_ASKED, NOTES, PASS, QUALIFIES, UNBOUNDED, UNVERIFIED, hold, low

NFT = "limit rate over 10 mbytes/second (nft, table t, chain c) in the server's network"
DEVICE = Claim(tier=Tier.DEVICE)


def case(*rows, again=3_000, sent=100_000, rules=1, **made):
    """A stream with these segments; `rows`: (metric, rule, values)."""
    gauges = [("policers", name, metric, values) for metric, name, values in rows]
    gauges += [("policers", ABSOLUTE, "rules", (rules, rules))] if rules is not None else []
    load = end(connection(segments_out=sent, retransmits=again))
    return between("L24", load=load, gauges=gauges, **made)


def judged(*rows, **more):
    return RULE.check(case(*rows, **more))


def dropped(count, name=NFT):
    return ("dropped_packets", name, (0, count))


def refused(count, name=NFT):
    return ("refused_packets", name, (0, count))


def limit(share):
    """A limit of which the load's payload is this share."""
    made = case(claim=DEVICE)
    rate = made.phase.clients[0].operations[0].bytes / ((made.phase.end_ns - made.phase.start_ns) / 1e9)
    return ("limit_bytes_per_s", NFT, (rate / share, rate / share))


def foreign(*rows, sent=50_000, came=20_000):
    """Datagrams of a foreign program, by the counters of the namespace."""
    made = case(*rows)
    gauges = between(
        "L24",
        gauges=[
            ("end_network", "net:[1]", "udp_sent", (0, sent)),
            ("end_network", "net:[1]", "udp_received", (0, came)),
            ("end_network", "net:[1]", "tcp_sent_segments", (0, 90)),
            ("end_network", "net:[1]", "tcp_retransmitted_segments", (0, 0)),
        ],
    ).observations.series
    silent = tuple(replace(one, net=None) for one in made.phase.clients)
    seen = replace(made.observations, series=(*made.observations.series, *gauges))
    return RULE.check(replace(made, phase=replace(made.phase, clients=silent, servers=()), observations=seen))


def test_a_rule_that_drops_the_loads_packets_was_the_limit():
    hold(
        ("a note that names it", judged(dropped(3_000)), FAIL, NOTES, UNBOUNDED, f"limited by {NFT}", "3,000 packets"),
        ("a claim of the device needs the way free", judged(dropped(3_000), claim=DEVICE), FAIL, QUALIFIES),
        ("so does one of a wire", judged(dropped(3_000), claim=Claim(path=Path.WIRE)), FAIL, QUALIFIES),
        ("and of a path", judged(dropped(3_000), claim=Claim(path=Path.EMULATED)), FAIL, QUALIFIES),
        ("a loopback does not", judged(dropped(3_000), claim=Claim(path=Path.LOOPBACK)), FAIL, NOTES),
        ("one packet was many segments", judged(dropped(90)), FAIL),
        ("the sender's own kernel refused them", judged(refused(3_000), again=0), FAIL),
        ("few refused, and near the limit", judged(refused(20), limit(0.8), again=0), FAIL),
        ("datagrams of a foreign program", foreign(dropped(30_000)), FAIL),
    )


def test_a_rule_that_does_not_bite_is_not_accused():
    hold(
        ("nothing dropped", judged(dropped(0)), PASS),
        ("too few", judged(dropped(4)), PASS),
        ("others' packets: the load lost nothing", judged(dropped(3_000), again=3), PASS),
        ("few refused, far from the limit", judged(refused(20), limit(0.1), again=0), PASS),
        ("losses of another cause", judged(dropped(20), again=30_000), PASS),
        ("others' datagrams", foreign(dropped(30_000), came=49_999), PASS),
        ("no rule at all", judged(rules=0), PASS, "No rule"),
        ("nobody could look", judged(rules=None), UNVERIFIED),
    )


def test_a_limit_that_nobody_counts_is_known_by_the_losses_near_it():
    silent = replace(case(limit(0.8)), observations=case(limit(0.8)).observations)
    blind = replace(
        silent, phase=replace(silent.phase, clients=tuple(replace(one, net=None) for one in silent.phase.clients), servers=())
    )
    hold(
        ("near its rate, and losses", judged(limit(0.8), claim=DEVICE), FAIL, QUALIFIES, "not counted"),
        ("near its rate, none lost", judged(limit(0.8), again=0), PASS),
        ("losses far from it", judged(limit(0.1)), PASS),
        ("a limit of packets", judged(("limit_packets_per_s", NFT, (900, 900))), FAIL),
        ("a limit of packets, none lost", judged(("limit_packets_per_s", NFT, (900, 900)), again=0), PASS),
        ("losses unknown", RULE.check(blind), UNVERIFIED, "counter"),
    )


def test_a_rate_is_a_lower_bound():
    made = case(dropped(3_000), claim=DEVICE, figure="bytes_per_s")
    hold((RULE.check(made), FAIL, low(made.value)))


def test_it_is_about_servers_with_an_address():
    hold((RULE.applies(case()), ASKED), (RULE.applies(case_of(Made(), "L24")), NOT_ASKED))
