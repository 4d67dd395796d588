"""L04: a loop disk throttled to 50 MB/s, and a gigabit wire."""

from array import array
from dataclasses import replace

import pytest

from assay.records import Claim, Direction, HostSpec, Limit, Path, Series, Severity, State, Tier
from assay.rules.roofline import RULE
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import FAIL, NOT_ASKED, NOTES, hold

LIMIT = 50_000_000
THROTTLED = (Limit(device="loop0", direction=Direction.READ, bytes_per_s=LIMIT, declared_by="d.limit"),)


def judged(rate, seconds=5.0, claim=Claim(tier=Tier.DEVICE), **other):  # noqa: B008 - frozen
    made = Made(count=round(rate * seconds / 4096), record_bytes=4096, seconds=seconds, claim=claim, limits=THROTTLED, **other)
    return RULE.check(case_of(made, "L04"))


@each("seconds", 5.0, 20.0)
def test_the_edge_is_the_limit_with_two_slices_of_credit(seconds):
    edge = 1.03 * LIMIT + 0.2 * LIMIT / seconds
    assert judged(edge * 0.999, seconds).state is State.PASS
    above = judged(edge * 1.001, seconds)
    assert (above.state, above.severity) == (State.FAIL, Severity.INVALIDATES)


@each("share", 0.95, 1.0, 1.03)
def test_honest_rates_name_the_limiter(share):
    assert judged(share * LIMIT).relabel == "limited by the declared 50 MB/s of loop0"


def test_far_below_names_nobody():
    finding = judged(0.5 * LIMIT)
    assert (finding.state, finding.relabel) == (State.PASS, None)


def test_operations_count_only_when_unmerged():
    limit = (Limit(device="loop0", direction=Direction.READ, ops_per_s=1000),)
    made = {"count": 10_000, "record_bytes": 4096, "seconds": 5.0, "claim": Claim(tier=Tier.DEVICE), "limits": limit}
    assert RULE.applies(case_of(Made(**made), "L04"))
    assert RULE.check(case_of(Made(**made, knobs={"direct": True}), "L04")).state is State.FAIL


@each("text state", ("100 Mbit/s", State.FAIL), ("800 Mbit/s", State.PASS), ("SATA-3", State.PASS))
def test_a_declared_rate_or_link_of_the_device_is_held_against_the_figure(text, state):
    made = Made(
        count=800, record_bytes=1 << 20, seconds=16.0, claim=Claim(tier=Tier.DEVICE), experiment_limits={"local.vda": text}
    )
    case = case_of(made, "L04")
    assert case.run.places[0].host == "local"
    assert "vda" in case.run.places[0].devices
    assert RULE.check(case).state is state


def beside_a_port(rate, refresh=1, *, seconds=20, metric="rx_bytes", own=0.95):
    """A load that is this share of what passed a port of 1GbE, which refreshed its counters every so many seconds."""
    count = round(own * rate * seconds / 4096)
    claim, limit = Claim(tier=Tier.DEVICE), {"sw.port3": "1GbE"}
    made = Made(count=count, record_bytes=4096, seconds=float(seconds), claim=claim, experiment_limits=limit)
    case = case_of(made, "L04")
    counted = Series(
        phase=case.phase.name,
        source="switch_ports:IF-MIB",
        layer="network",
        host="sw",
        subject="interface:port3",
        metric=metric,
        unit="bytes",
        at_ns=array("q", (at * 10**9 for at in range(seconds + 1))),
        value=array("d", (rate * (at - at % refresh) for at in range(seconds + 1))),
    )
    seen = replace(case.observations, series=(*case.observations.series, counted))
    hosts = (HostSpec(name="local"), HostSpec(name="sw", via="snmp", address="switch"))
    (scoped,) = replace(case, experiment=replace(case.experiment, hosts=hosts), observations=seen).about(RULE.about)
    return scoped


@each("refresh", 1, 3)
@each("metric", "rx_bytes", "tx_bytes")
def test_a_full_port_is_the_limiter_whatever_its_interval_is(refresh, metric):
    finding = RULE.check(beside_a_port(122e6, refresh, metric=metric))
    assert (finding.state, finding.observed["rate"]) == (State.PASS, pytest.approx(122e6))


def test_a_port_that_is_not_full_limits_nothing():
    finding = RULE.check(beside_a_port(30e6))
    assert (finding.state, finding.relabel) == (State.PASS, None)


def test_a_port_that_counts_more_than_its_limit_accuses_no_load():
    finding = RULE.check(beside_a_port(300e6))
    assert (finding.state, finding.severity, finding.bound, finding.relabel) == (State.FAIL, Severity.NOTES, None, None)
    assert "sw.port3" in finding.statement


@each("own", 0.3, 50)
def test_a_port_that_the_load_does_not_pass_or_hardly_fills_says_nothing(own):
    assert RULE.applies(beside_a_port(122e6, own=own)) == "no declared and no measured limit for this measure"


@each("case", {"refresh": 10}, {"seconds": 3})
def test_too_few_refreshes_say_nothing(case):
    assert RULE.applies(beside_a_port(122e6, **case)) == "no declared and no measured limit for this measure"


def test_states():
    hold(
        ("unit mistake is named", judged(8 * LIMIT), "bits taken for bytes"),
        ("no device claim makes it a note", judged(4 * LIMIT, claim=Claim()), NOTES),
        ("latency measures are held against their rate", judged(2 * LIMIT, figure="latency_p50_ns"), FAIL),
        "declared wire",
        (
            RULE.check(
                case_of(
                    Made(
                        count=2000,
                        record_bytes=1 << 20,
                        seconds=16.0,
                        claim=Claim(path=Path.WIRE),
                        experiment_limits={"s.eth0": "1GbE"},
                    ),
                    "L04",
                )
            ),
            FAIL,
            "s.eth0 (1GbE)",
        ),
        ("no limit is not its business", RULE.applies(case_of(Made(), "L04")), NOT_ASKED),
    )
