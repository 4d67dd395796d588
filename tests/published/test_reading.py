"""Claims as people write them: what is understood, and that nothing is passed over."""

import re
from fractions import Fraction
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from assay.published import reading
from assay.published.vocabulary import BASES, WORDS, QuantityKind, Sense

SAID = ["1", "0.6", "30:56.62", "2,097,152", "1-2", "512 MB", "1 GB/s", "4k", "100 Mbps", "2 x 2GFC", "1GbE", "2 Gb port", "week"]
ODD = ["IOPS", "%", "reads/s", "0,6", "5-3", "sda", "µs", "x4", "~", "\u00a0", "\t", "GB", "12 GB", "7 d", "0"]
PIECES = st.sampled_from([*WORDS, *SAID, *ODD])


def parts(text):
    return [(str(figure.kind), figure.description) for figure in reading.read(text).figures]


def accounted(text):
    """Every character that is no blank is in exactly one piece that was understood or quoted."""
    read = reading.read(text)
    pieces = sorted([*read.spans, *((one.column - 1, one.column - 1 + len(one.text)) for one in read.quoted)])
    covered = [place for start, end in pieces for place in range(start, end)]
    assert len(covered) == len(set(covered))
    assert {place for place, letter in enumerate(text) if not letter.isspace()} <= set(covered)
    assert all(text[one.column - 1 :].startswith(one.text) for one in read.quoted)
    assert all(one.reason for one in read.quoted)
    return read


@given(st.text(max_size=80))
def test_any_text_is_read_and_accounted_for(text):
    accounted(text)


@given(st.lists(PIECES, max_size=12), st.sampled_from([" ", ", ", "", " / "]))
def test_any_order_of_known_words_is_read_and_accounted_for(pieces, between):
    for figure in accounted(between.join(pieces)).figures:
        assert figure.interval.low >= 0
        assert figure.interval.high is None or figure.interval.low <= figure.interval.high
        assert figure.kind in BASES


def test_the_example_in_any_order():
    read = reading.read("1 GB/s read, 512 MB in 0.6 s, 12 GB RAM, 2 x 2GFC")
    assert parts(read.text) == [("rate", "1 GB/s (read)"), ("amount", "512 MB"), ("time", "0.6 s"), ("memory", "12 GB")]
    assert ([wire.name for wire in read.wires], read.quoted) == (["2 x 2GFC"], ())
    read = reading.read("over 2 x 2GFC with 12 GB of memory: in 0.6 s 512 MB; 1 GB/s (read)")
    assert sorted(parts(read.text)) == [("amount", "512 MB"), ("memory", "12 GB"), ("rate", "1 GB/s"), ("time", "0.6 s")]
    assert read.quoted == ()


def test_quantities(subtests):
    for text, kind, value in [
        ("1 GB/s", QuantityKind.RATE, 10**9),
        ("100 MB/sec", QuantityKind.RATE, 10**8),
        ("100 MB per second", QuantityKind.RATE, 10**8),
        ("830 MB/min", QuantityKind.RATE, Fraction(830 * 10**6, 60)),
        ("40 TB a week", QuantityKind.RATE, Fraction(40 * 10**12, 604800)),
        ("941 Mbit/s", QuantityKind.RATE, 117_625_000),
        ("2 Gb/s", QuantityKind.RATE, 250_000_000),
        ("1 GiB", QuantityKind.AMOUNT, 2**30),
        ("1.5 PB", QuantityKind.AMOUNT, 15 * 10**14),
        ("1 Gbit", QuantityKind.AMOUNT, 125_000_000),
        ("3 hours", QuantityKind.TIME, 10800),
        ("2 weeks", QuantityKind.TIME, 1209600),
        ("250 µs", QuantityKind.TIME, Fraction(250, 10**6)),
        ("30:56.62", QuantityKind.TIME, Fraction("1856.62")),
        ("7,410 writes/s", QuantityKind.EVENTS, 7410),
        ("5 kIOPS", QuantityKind.EVENTS, 5000),
        ("12 /s", QuantityKind.EVENTS, 12),
        ("600 requests per minute", QuantityKind.EVENTS, 10),
        ("13.4 %", QuantityKind.SHARE, Fraction("0.134")),
        ("25 percent", QuantityKind.SHARE, Fraction(1, 4)),
        ("2,097,152 writes", QuantityKind.COUNT, 2097152),
        ("16 GB file", QuantityKind.DATA, 16 * 10**9),
        ("200 GB volume", QuantityKind.CAPACITY, 200 * 10**9),
        ("4 KiB random reads", QuantityKind.SIZE, 4096),
        ("4 KiB reads", QuantityKind.SIZE, 4096),
        ("record size: 64 KiB", QuantityKind.SIZE, 65536),
        ("RAM: 12 GB", QuantityKind.MEMORY, 12 * 10**9),
        ("512 MB page cache", QuantityKind.MEMORY, 512 * 10**6),
        ("4 GB array cache", QuantityKind.MEMORY, 4 * 10**9),
        ("4 ms latency", QuantityKind.LATENCY, Fraction(4, 1000)),
        ("queue depth 32", QuantityKind.IN_FLIGHT, 32),
        ("32 threads", QuantityKind.IN_FLIGHT, 32),
        ("QD32", QuantityKind.IN_FLIGHT, 32),
        ("iodepth=32", QuantityKind.IN_FLIGHT, 32),
        ("1e3 MB/s", QuantityKind.RATE, 10**9),
        ("1.5e-3 GB/s", QuantityKind.RATE, 1_500_000),
        ("50k IOPS", QuantityKind.EVENTS, 50_000),
        ("random 4 KiB", QuantityKind.SIZE, 4096),
        ("7200 rpm", QuantityKind.TURNS, 120),
    ]:
        with subtests.test(text=text):
            read = reading.read(text)
            assert [(figure.kind, figure.value) for figure in read.figures] == [(kind, value)]
            assert read.quoted == ()


def test_what_is_not_understood_is_quoted_with_its_column(subtests):
    for text, column, word, reason in [
        ("3k blocks, 1 GB/s", 1, "3k", "kB (1,000 bytes) or KiB (1,024 bytes)"),
        ("257k things", 1, "257k", "kB (1,000 bytes) or KiB (1,024 bytes)"),
        ("64 KB", 1, "64 KB", "KiB"),
        ("5 m", 1, "5 m", "ms or min"),
        ("in 0,6 s", 4, "0,6", "decimal point"),
        ("5-3 MB/s", 1, "5-3", "lower end"),
        ("6 disks", 1, "6", "without a unit"),
        ("1 GB/s from sda", 13, "sda", "unknown word"),
        ("100 MB/s against nothing", 10, "against", "two comparable figures"),
        ("-5 MB/s", 1, "-", "of one kind"),
        ("512 MB each", 8, "each", "no time"),
        ("10foo", 1, "10foo", "unknown unit"),
        ("1e9", 1, "1e9", "without a unit"),
        ("1k5 MB/s", 1, "1k5", "kB (1,000 bytes)"),
        ("9" * 31 + " MB", 1, "9" * 31, "30 digits"),
    ]:
        with subtests.test(text=text):
            found = [one for one in reading.read(text).quoted if (one.column, one.text) == (column, word)]
            assert len(found) == 1
            assert reason in found[0].reason


def test_ranges_and_limits(subtests):
    for text, low, high in [
        ("1-2 GB/s", 500, 2500),
        ("1 to 2 GB/s", 500, 2500),
        ("100 MB/s - 200 MB/s", "99.5", "200.5"),
        ("under 20 MB/s", 0, 20),
        ("up to 20 MB/s", 0, 20),
        ("at least 20 MB/s", 20, None),
        ("over 20 MB/s", 20, None),
        ("~400 MB/s", 350, 450),
        ("about 18 MB/s", "17.5", "18.5"),
    ]:
        with subtests.test(text=text):
            (figure,) = reading.read(text).figures
            assert figure.interval.low == Fraction(low) * 10**6
            assert figure.interval.high == (None if high is None else Fraction(high) * 10**6)


def test_over_a_link_and_over_a_time_are_no_limits_and_senses_belong_to_their_clause():
    read = reading.read("100 MB/s over 1GbE, 120 MB/s over 60 s")
    assert all(figure.limit is None for figure in read.figures)
    first, second = reading.read("500 MB/s random read, 300 MB/s sequential write").figures
    assert (first.roles, second.roles) == ({Sense.RANDOM, Sense.READ}, {Sense.SEQUENTIAL, Sense.WRITE})
    (one,) = reading.read("520 against 941 Mbit/s").comparisons
    assert one.first.value == 65_000_000, "bits of a bare number are those of its partner"


def test_comparisons(subtests):
    for text, pair in [
        ("0.52 against 0.6", ("0.52", "0.6")),
        ("0.52 vs. 0.6", ("0.52", "0.6")),
        ("84.19/86.46", ("84.19", "86.46")),
        ("478.16 against 491 MB/s", ("478.16 MB/s", "491 MB/s")),
        ("OpenBSD 520 Mbit/s against FreeBSD 941 Mbit/s", ("520 Mbit/s", "941 Mbit/s")),
        ("from 1 to 2 GB/s", ("1 GB/s", "2 GB/s")),
        ("from 100 MB/s to 200 MB/s", ("100 MB/s", "200 MB/s")),
        ("93 MB/s inside, under 20 MB/s", ("93 MB/s", "under 20 MB/s")),
    ]:
        with subtests.test(text=text):
            (one,) = reading.read(text).comparisons
            assert (one.first.text, one.second.text) == pair
            assert one.is_change == text.startswith("from")


PAGE = Path(__file__).parents[2] / "docs" / "howto" / "check.md"


def test_what_the_manual_says_can_be_written():
    rows = re.findall(r"^\| [^|`]+ \| (.*`.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = [text for row in rows for text in re.findall(r"`([^`]*[0-9E][^`]*)`", row) if not text.startswith("assay")]
    assert len(shown) > 20
    read = {text: reading.read(text) for text in shown}
    assert [text for text, found in read.items() if found.quoted or not (found.figures or found.wires)] == []
