"""L04: a loop disk throttled to 50 MB/s, and a gigabit wire."""

from array import array
from dataclasses import replace

import pytest

from assay.records import (
    Claim,
    Direction,
    Durability,
    Fact,
    FactClass,
    HostSpec,
    Limit,
    Path,
    Series,
    Severity,
    State,
    Tier,
    When,
)
from assay.rulekit import made_paths
from assay.rules.roofline import RULE
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import BOUNDED, FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, QUALIFIES, high, hold

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


def through_a_path(rate, operation="write", claim=Claim(), figure="bytes_per_s", stated=(12.5e6, 50e6), **other):  # noqa: B008 - frozen
    """A load through the path `lan` of the lab, whose rates up and down are stated."""
    seconds = 5.0
    made = Made(
        count=round(rate * seconds / 4096),
        record_bytes=4096,
        seconds=seconds,
        claim=claim,
        operation=operation,
        figure=figure,
        **other,
    )
    case = case_of(made, "L04")
    own = {"line": "lan"} | {f"path.lan.{way}.bytes_per_s": one for way, one in zip(("up", "down"), stated, strict=True) if one}
    facts = tuple(
        Fact(host="local", when=When.BEFORE, key=f"target.{key}", value=str(value), fact_class=FactClass.PERFORMANCE)
        for key, value in own.items()
    )
    return replace(case, observations=replace(case.observations, facts=(*case.observations.facts, *facts)))


def on_a_path(rate, **other):
    return RULE.check(through_a_path(rate, **other))


SLOW_DISK = {"experiment_limits": {"local.vda": "1 MB/s"}}


def test_the_path_of_the_lab_is_a_limit_whatever_is_claimed():
    acked, cache = Claim(durability=Durability.ACKED), Claim(tier=Tier.CLIENT_CACHE)
    hold(
        ("42 times the path, nothing claimed", on_a_path(532e6), FAIL, QUALIFIES, high(12.5e6), "path lan"),
        ("13.7 MB/s of reads over 12.5", on_a_path(13.7e6, operation="read", stated=(50e6, 12.5e6)), FAIL, QUALIFIES),
        ("its own direction counts", on_a_path(13.7e6, operation="read"), PASS),
        ("acknowledged by the server", on_a_path(532e6, claim=acked), FAIL, INVALIDATES),
        ("with the flush of both ends", on_a_path(532e6, figure="synced_bytes_per_s", drain_s=0.001), FAIL, INVALIDATES),
        ("the cache of the client is meant", on_a_path(532e6, claim=cache), FAIL, NOTES),
        (
            "it counts before a rate of the disk that is exceeded by more",
            on_a_path(532e6, **SLOW_DISK),
            FAIL,
            QUALIFIES,
            "path lan",
        ),
        ("a path at its rate is the limiter", on_a_path(12.2e6), PASS, "limited by the declared 12.5 MB/s of path lan"),
        ("a path without a rate is no limit", RULE.applies(through_a_path(532e6, stated=(None, 50e6))), NOT_ASKED),
    )


@each(
    "operation figure most",
    ("write", "bytes_per_s", 12.5e6),
    ("read", "bytes_per_s", 50e6),
    ("write", "synced_bytes_per_s", 12.5e6),
    ("send", "delivered_bytes_per_s", 12.5e6),
    ("send", "bytes_per_s", None),
    ("write", "latency_p99_ns", None),
)
def test_no_bound_ends_above_the_path_of_the_lab(operation, figure, most):
    assert made_paths.ceiling(through_a_path(11e6, operation=operation, figure=figure)) == most


def test_a_figure_with_the_flush_is_held_against_the_disk():
    disk = (Limit(device="loop0", direction=Direction.WRITE, bytes_per_s=LIMIT),)
    made = Made(operation="write", count=1000, record_bytes=1 << 20, seconds=2.0, limits=disk, figure="synced_bytes_per_s")
    hold(
        ("its own rate, not that of the client", RULE.check(case_of(replace(made, drain_s=30.0), "L04")), PASS),
        ("above", RULE.check(case_of(replace(made, drain_s=0.1), "L04")), FAIL, QUALIFIES, BOUNDED),
    )


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
