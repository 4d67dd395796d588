"""The claims of practitioners, with the figures that must come out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audit import limits
from assay.published import arithmetic, claim, reading
from assay.published.claim import RULES, Case
from assay.records import Severity, State

THRESHOLDS = {rule.id: limits.thresholds(rule.id) for rule in RULES}


def checked(text):
    return arithmetic.check(Case(statement=reading.read(text), thresholds=THRESHOLDS, matters=0.05))


def said(text, rule):
    """State, severity and statement of the only finding of a rule."""
    (found,) = [one for one in checked(text) if one.rule == rule]
    return found.state, found.severity, found.statement


def failed(text):
    return {one.rule: one for one in checked(text) if one.state is State.FAIL and one.severity is not Severity.NOTES}


INVALID, QUALIFIED = Severity.INVALIDATES, Severity.QUALIFIES
LINKS = (
    ("1-2 GB/s over 2 x 2GFC", INVALID, "2.42 times to 4.84 times the 413.3 MB/s"),
    ("450 MB/s read over 2 x 2GFC", INVALID, "109 % of the 413.3 MB/s"),
    ("450 MB/s over 413", INVALID, "109 % of the 413 MB/s"),
    ("450 MB/s read over 413 MB/s", INVALID, "109 % of the 413 MB/s"),
    ("1-2 GB/s through a link of 413 MB/s", INVALID, "2.42 times to 4.84 times the 413 MB/s"),
    ("146 MB/s over 1GbE", INVALID, "124 % of the 117.7 MB/s that 1GbE carries one way, 117 % of its nominal rate (125 MB/s)"),
    ("800 GB in 1 h over 1GbE", INVALID, "800 GB in 1 h is 189 % of"),
    ("1,648 MB/s over 2GFC", INVALID, "8 is the ratio of bits"),
    ("10 GB/s over 10GbE", INVALID, "8 is the ratio of bits"),
    ("258 MB/s over 2GFC", INVALID, "1.25 is the ratio of 8b/10b"),
    ("413 MB/s over 2GFC", INVALID, "2 is the ratio of both"),
    ("300 MB/s over 10GbE and 1GbE", INVALID, "1GbE"),
    ("1.25 GB/s over 10GbE", INVALID, "also in frames of 9000 bytes (1.238 GB/s)"),
    ("1.25 GB/s over 10GbE with jumbo frames", INVALID, ""),
    ("123 MB/s over 1GbE", QUALIFIED, "only in frames of 9000 bytes (123.8 MB/s)"),
    ("941 Mbit/s over 1GbE", None, "99.9 % of the 117.7 MB/s (941.5 Mbit/s) that 1GbE carries one way: the link is the limit"),
    ("941.49 Mbit/s over 1GbE", None, "the link is the limit"),
    ("520 Mbit/s over 1GbE", None, "55.2 % of"),
    ("101 MB/s over 1GbE", None, "one way; 42.9 % of both ways; 80.8 % of its nominal rate"),
    ("125 MB/s on a 2 Gb port", None, "60.5 % of the 206.6 MB/s that 2GFC carries one way; 30.2 % of both ways"),
    ("125 MB/s on a 2 Gb port", None, "25 % of the nominal rate of both ways (500 MB/s)"),
    ("800 MB/s read and write over 2 x 2GFC", None, "96.8 % of the 826.5 MB/s"),
    ("123 MB/s over 1GbE with jumbo frames", None, "99.4 % of the 123.8 MB/s"),
    ("1.23 GB/s over 10GbE with jumbo frames", None, ""),
    ("under 200 MB/s over 1GbE", None, "170 % of"),
)
"""Claim, severity where L04 fails, a part of what it says. 1.245 GB/s, the least that prints 1.25, is more than 1.238 GB/s."""
CONTRADICTIONS = (
    ("800 Mbit/s, 80 GB in 100 s", INVALID, "8 is the ratio of bits"),
    ("100 MB/s, 100 MiB in 1.00 s", INVALID, "1.05 is the ratio of MiB"),
    ("1.000 GB/s, 100.0 GiB in 100.0 s", INVALID, "1.07 is the ratio of GiB"),
    ("1.000 TB/s, 100.0 TiB in 100.0 s", INVALID, "1.1 is the ratio of TiB"),
    ("100 MB/s, 100 GB in 800 s", INVALID, "1.25 is the ratio of 8b/10b"),
    ("200 MB/s, 100 GB in 1000 s", INVALID, "2 is the ratio of both"),
    ("10,000 IOPS of 4 KiB, 80 MB/s", INVALID, "41.0 MB/s, not 80 MB/s"),
    ("1 GB/s, 1 GB in 2 s", INVALID, "1 GB in 2 s is 500 MB/s"),
    ("1e3 MB/s, 1 GB in 2 s", INVALID, "1 GB in 2 s is 500 MB/s"),
    ("100 MB/s, 16 GB, 60 s", QUALIFIED, ""),
    ("9,000 writes/s; 4 KiB x 2,097,152 in 283 s", INVALID, "not 9,000 writes/s"),
    ("100k IOPS, 4 KiB, 1 GB/s", INVALID, "410 MB/s"),
    ("1.2M IOPS of 4 KiB, 4 GB/s", INVALID, "4.92 GB/s"),
    ("941 Mbit/s = 941 MB/s", INVALID, "118 MB/s, not 941 MB/s"),
    ("10.0 Gb/s (10.0 GB/s)", INVALID, "1.25 GB/s"),
    ("125 MB/s = 25 % of a 2 Gb port", None, "25 % fits only its nominal 500 MB/s both ways (2 x 2 Gbit/s / 8"),
    ("125 MB/s = 25 % of a 2 Gb port", None, "125 MB/s is 60.5 % of the 206.6 MB/s"),
    ("125 MB/s = 80 % of 2GFC", None, "no capacity"),
    ("30:56.62 against 35:04.60, 25 %", QUALIFIED, "not 25 %"),
)
"""Claim, severity of E05 where it matters here, a part of what it says."""
AGREEING = (
    ("125 MB/s = 60 % of 2GFC", "E05", ""),
    ("7,410 writes/s; 4 KiB x 2,097,152 in 283 s", "E05", "2,097,152 in 283 s is 7,410/s"),
    ("30:56.62 against 35:04.60, 13.4 %", "E05", "relative to the first"),
    ("30:56.62 against 35:04.60, 11.8 %", "E05", "relative to the second"),
    ("30:56.62 against 35:04.60, 88 %", "E05", "88 % is the first figure over the second"),
    ("7,410 writes/s against 12,633 writes/s, 85 %", "E05", "85 % is the second figure over twice the first"),
    ("32 threads, 4.0 ms latency, 7,900 IOPS", "L07", ""),
    ("180 IOPS random from a 7200 rpm disk", "L08", ""),
    ("24 GB file, 12 GB RAM", "T05", ""),
)
FINE = (
    *(("E05", text) for text in ("random read 100 MB/s, 16 GB file, 60 s", "1 GB/s, 1 GB in 1 s", "100 MB/s (800 Mbit/s)")),
    *(("T05", text) for text in ("512 MB, 12 GB RAM, direct I/O", "8 GB/s from cache, 512 MB, 12 GB RAM")),
    *(("L08", f"300 MB/s random read, 500 MB/s sequential {way}") for way in ("read", "write")),
)


def test_a_gigabyte_a_second_over_two_fibres():
    text = "1 GB/s read, 512 MB in 0.6 s, 12 GB RAM, 2 x 2GFC"
    found = failed(text)
    assert set(found) == {"L04", "T05", "W01"}
    assert "2.42 times the 413.3 MB/s that 2 x 2GFC carries one way (121 % at the least" in found["L04"].statement
    assert "23 times" in found["T05"].statement
    assert "24 GB" in found["T05"].statement
    assert "0.6 s (at least 1 s)" in found["W01"].statement
    state, _, words = said(text, "E05")
    assert state is State.PASS
    assert "853 MB/s (787 to 932 MB/s by the printed digits), consistent with 1 GB/s (500 MB/s to 1.50 GB/s)" in words
    assert set(failed("512 MB at 815 MB/s, 12 GB RAM")) == {"T05", "W01"}
    assert said("16 GB file, 12 GB RAM, 4 GB array cache", "T05")[0] is State.FAIL


def test_links_carry_what_they_carry(subtests):
    for text, severity, words in LINKS:
        with subtests.test(text=text):
            state, found, statement = said(text, "L04")
            assert (state, found if severity else None) == (State.FAIL if severity else State.PASS, severity)
            assert words in statement
    found = failed("1 Gb/s over 1GbE")["L04"]  # rounded up to more than a link carries
    assert found.severity is Severity.QUALIFIES
    assert (found.bound.low, found.bound.high) == (pytest.approx(62.5e6), pytest.approx(1.02 * 117.7e6, rel=0.001))
    assert failed("123 MB/s over 1GbE")["L04"].bound is None


def test_parts_contradict_or_bear_out_each_other(subtests):
    for text, severity, words in CONTRADICTIONS:
        with subtests.test(text=text):
            found = failed(text)["E05"]
            assert severity in (None, found.severity)
            assert words in found.statement
    for text, rule, words in AGREEING:
        with subtests.test(text=text):
            state, _, statement = said(text, rule)
            assert (state, words in statement) == (State.PASS, True)
    assert [(rule, text) for rule, text in FINE if rule in failed(text)] == []


def test_too_short(subtests):
    for text, state, severity in (
        ("1 GB in 0.9 s", State.FAIL, Severity.QUALIFIES),
        ("100 GB in 30 s", State.FAIL, Severity.NOTES),
        ("100 GB in 30 s sustained", State.FAIL, Severity.QUALIFIES),
        ("1 GB in 5 s sustained", State.FAIL, Severity.INVALIDATES),
        ("100 GB in 10 min sustained", State.PASS, Severity.QUALIFIES),
    ):
        with subtests.test(text=text):
            assert said(text, "W01")[:2] == (state, severity)


def test_differences(subtests):
    for text, state, words in (
        ("0.52 against 0.6", State.FAIL, "13.3 % less (by the other base 15.4 % more); by the printed digits between 4.5 % and"),
        ("478.16 against 491", State.PASS, "2.6 % less (by the other base 2.7 % more); by the printed digits between 2.5 % and"),
        ("127.88 against 136.15", State.PASS, "6.1 % less"),
        ("84.19/86.46", State.PASS, "2.6 % less"),
        ("30:56.62 against 35:04.60", State.PASS, "11.8 % less (by the other base 13.4 % more)"),
        ("520 Mbit/s against 941 Mbit/s", State.PASS, "44.7 % less"),
        ("93 MB/s inside, under 20 MB/s", State.FAIL, "at least 4.62 times as much"),
        ("from 2 to 4 GiB", State.FAIL, "2 times as much; by the printed digits between 1.4 and 3 times as much"),
        ("1.0 against 1.0", State.FAIL, "between 9.5 % less and 11 % more"),
    ):
        with subtests.test(text=text):
            found = said(text, "S02")
            assert (found[0], words in found[2]) == (state, True)


def test_requests_in_flight_and_random_requests_that_no_head_reaches(subtests):
    assert "40 requests in flight, more than 32" in failed("32 threads, 4.0 ms latency, 10,000 IOPS")["L07"].statement
    assert "122 requests in flight, more than 32" in failed("4 KiB QD32 500 MB/s 1000 us latency")["L07"].statement
    for text in (
        "read 200 MB/s from a 7200 rpm disk, random 4 KiB",
        "50k IOPS random from a 7200 rpm disk",
        "random 4 KiB, 1 GB/s, 15000 rpm",
        "500 MB/s random read, 300 MB/s sequential read",
    ):
        with subtests.test(text=text):
            assert set(failed(text)) == {"L08"}


def test_in_other_words():
    for text, words in (
        ("40 TB a week", "40 TB a week = 66.1 MB/s (65.3 to 67.0 MB/s) sustained"),
        ("520 Mbit/s", "520 Mbit/s = 65 MB/s"),
        ("830.0 MB/min", "830.0 MB/min = 13.8 MB/s"),
    ):
        assert ([*claim.in_other_words(reading.read(text))], checked(text)) == ([words], ())


def test_nothing_is_divided_by_nothing():
    for text in ("0 MB in 0 s, 0 GB/s, 0 GB RAM, 1GbE", "0 against 0", "from 0 to 0 GB/s", "0 IOPS, 0 ms latency, 0 threads"):
        checked(text)


FIGURES = ["1 GB/s", "0 MB/s", "512 MB", "0 B", "0.6 s", "0 s", "12 GB RAM", "2 x 2GFC", "1GbE", "25 %", "0.52", "4 KiB x 100"]
WORDS = ["100 IOPS", "4 ms latency", "32 threads", "under", "over", "~", "against", "from", "to", "random", "sequential", "read"]
PIECES = st.sampled_from([*FIGURES, *WORDS, ",", "write", "sustained", "jumbo"])


@given(st.lists(PIECES, max_size=12))
def test_every_claim_that_can_be_read_can_be_judged(pieces):
    for one in checked(" ".join(pieces)):
        assert one.statement.endswith(".")
        assert (one.advice is not None) == (one.state is State.FAIL)


def test_a_rate_from_operations_is_held_against_one_from_an_amount():
    """A posted figure: 132,163 IOPS of 4 KiB are 541 MB/s, but 375 GiB in 887.769 s are 454 MB/s."""
    state, severity, _ = said("132,163 IOPS of 4 KiB, 375 GiB in 887.769 s", "E05")
    assert (state, severity) == (State.FAIL, Severity.INVALIDATES)
    assert said("25,000 IOPS of 4 KiB, 102.4 GB in 1000 s", "E05")[0] is State.PASS


def test_stated_depths_explain_random_reads_that_are_faster():
    claim = "random reads 240 MB/s at queue depth {}, sequential reads 189 MB/s at queue depth {}"
    assert said(claim.format(64, 1), "L08")[0] is State.PASS
    assert said(claim.format(1, 64), "L08")[0] is State.FAIL
    assert said("random reads 240 MB/s, sequential reads 189 MB/s", "L08")[0] is State.FAIL


def test_a_percentile_is_neither_a_duration_nor_the_mean_of_littles_law():
    assert said("1.2M IOPS at QD32, p99 100 us", "L07")[::2] == (
        State.PASS,
        "1.2M IOPS of 100 us each keep at least 1.2 requests in flight (limit 32).",
    )
    assert said("1.2M IOPS at QD32, p50 100 us", "L07")[0] is State.FAIL
    assert said("1.2M IOPS at QD32, 100 us latency", "L07")[0] is State.FAIL


def test_a_line_that_fio_printed_is_read():
    assert failed("IOPS=82.8k, BW=324MiB/s (339MB/s)(19.0GiB/60001msec)") == {}
    assert said("bs=4k iodepth=32 IOPS=1.2M, 100 us latency", "L07")[0] is State.FAIL


def test_links_of_disks_that_people_plug_in():
    assert said("480 MB/s over USB 2.0", "L04")[0] is State.FAIL
    assert said("40 MB/s over USB 2.0", "L04")[0] is State.PASS
    assert said("520 MB/s over USB 3.0", "L04")[0] is State.FAIL
    assert said("430 MB/s over USB 3.0", "L04")[0] is State.PASS


def test_what_may_be_in_two_lines_of_ab_counts_once():
    text = "Complete requests: 1000 Failed requests: 565 Non-2xx responses: 189"
    assert "565 failed of 1,000" in failed(text)["G04"].statement
    assert "189 failed of 1,000" in failed(text.replace("565", "100"))["G04"].statement
