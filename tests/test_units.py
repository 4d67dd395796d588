import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import units
from assay.answer.scales import number
from assay.answer.wording.comparison import round_percent
from assay.errors import UsageError
from assay.measures import difference, digits
from assay.published.claim import two_digits
from assay.records import Estimate, Method
from assay.report.charts.heatmap import half
from assay.units import Unit

WHOLE = [Unit.COUNT, Unit.BYTES, Unit.BYTES_PER_S, Unit.PER_S, Unit.NANOSECONDS]


def test_a_quantity_is_exact(subtests):
    for text, unit, value in [
        ("4 KiB", Unit.BYTES, 4096),
        ("4KiB", Unit.BYTES, 4096),
        ("4 kB", Unit.BYTES, 4000),
        ("1.5 GB", Unit.BYTES, 1_500_000_000),
        ("1.5 GiB", Unit.BYTES, 1_610_612_736),
        ("1 MB", Unit.BYTES, 1_000_000),
        ("1 MiB", Unit.BYTES, 1_048_576),
        ("0.001 kB", Unit.BYTES, 1),
        ("100 MB/s", Unit.BYTES_PER_S, 100_000_000),
        ("100 Mbit/s", Unit.BYTES_PER_S, 12_500_000),
        ("1 Gbit/s", Unit.BYTES_PER_S, 125_000_000),
        ("5000 /s", Unit.PER_S, 5000),
        ("5 kIOPS", Unit.PER_S, 5000),
        ("250 tps", Unit.PER_S, 250),
        ("250 transactions/s", Unit.PER_S, 250),
        ("250 us", Unit.NANOSECONDS, 250_000),
        ("6 h", Unit.NANOSECONDS, 6 * 3600 * 10**9),
        ("5 %", Unit.SHARE, 0.05),
        ("20000", Unit.COUNT, 20000),
    ]:
        with subtests.test(text=text, unit=unit, value=value):
            read = units.parse(text, unit)
            assert read == value
            assert type(read) is type(value)


def test_what_is_ambiguous_is_refused_with_what_to_write(subtests):
    for text, unit, advice in [
        ("4k", Unit.BYTES, "KiB (1,024 bytes)"),
        ("4K", Unit.BYTES, "kB (1,000 bytes)"),
        ("4 KB", Unit.BYTES, "kB (powers of 1,000)"),
        ("4 kb", Unit.BYTES, "KiB (powers of 1,024)"),
        ("4 mb", Unit.BYTES, "MB (powers of 1,000)"),
        ("100 mb/s", Unit.BYTES_PER_S, "Mbit/s"),
        ("1 Gbps", Unit.BYTES_PER_S, "Gbit/s"),
        ("1 gbit/s", Unit.BYTES_PER_S, "write Gbit/s"),
        ("1 GB", Unit.BYTES_PER_S, "100 MB/s"),
        ("5 seconds", Unit.NANOSECONDS, "write s"),
        ("4096", Unit.BYTES, "a unit behind the number"),
        ("1,000 B", Unit.BYTES, "4 KiB"),
        ("-1 B", Unit.BYTES, "digits"),
        ("1e3 B", Unit.BYTES, "4 KiB"),
        ("", Unit.BYTES, "digits"),
        ("٣ B", Unit.BYTES, "digits"),
        ("20k", Unit.COUNT, "without a unit"),
    ]:
        with subtests.test(text=text, unit=unit, advice=advice):
            with pytest.raises(UsageError) as caught:
                units.parse(text, unit)
            assert advice in str(caught.value)
            assert repr(text) in str(caught.value)


def test_what_is_no_whole_number_is_refused(subtests):
    for text, unit in [("0.5 B", Unit.BYTES), ("1 bit/s", Unit.BYTES_PER_S), ("1.5 ns", Unit.NANOSECONDS)]:
        with subtests.test(text=text, unit=unit), pytest.raises(UsageError, match="a whole number of"):
            units.parse(text, unit)


def test_what_does_not_fit_64_bits_is_refused() -> None:
    assert units.parse(f"{units.MOST} B", Unit.BYTES) == units.MOST
    with pytest.raises(UsageError, match="at most"):
        units.parse(f"{units.MOST + 1} B", Unit.BYTES)


@given(st.integers(0, units.MOST), st.sampled_from(WHOLE))
def test_formatted_quantities_read_back(value: int, unit: Unit) -> None:
    assert units.parse(units.format(value, unit), unit) == value


@given(st.floats(0, 1e6, allow_nan=False))
def test_formatted_shares_read_back(value: float) -> None:
    assert units.parse(units.format(value, Unit.SHARE), Unit.SHARE) == value


@given(st.text(max_size=12), st.sampled_from(list(Unit)))
def test_any_text_is_a_quantity_or_refused(text: str, unit: Unit) -> None:
    result = units.attempt(text, unit)
    if isinstance(result, units.Refusal):
        assert result.expected
    else:
        assert result >= 0


@given(st.integers(1, 10**6), st.sampled_from(sorted(units.UNITS[Unit.BYTES])))
def test_a_rate_is_its_bytes_each_second(number: int, name: str) -> None:
    assert units.parse(f"{number} {name}/s", Unit.BYTES_PER_S) == units.parse(f"{number} {name}", Unit.BYTES)


def test_figures_for_people(subtests):
    for value, unit, text in [
        (1_240_000_000, Unit.BYTES_PER_S, "1.24 GB/s"),
        (13_200_000, Unit.NANOSECONDS, "13.2 ms"),
        (20000, Unit.COUNT, "20,000"),
        (7410.4, Unit.PER_S, "7,410/s"),
        (0.0512, Unit.SHARE, "5.12 %"),
        (0, Unit.BYTES, "0 B"),
        (float("inf"), Unit.BYTES, "inf"),
    ]:
        with subtests.test(value=value, unit=unit, text=text):
            assert units.human(value, unit) == text


def test_the_shortest_text_is_chosen() -> None:
    assert units.format(4096, Unit.BYTES) == "4 KiB"
    assert units.format(1_500_000, Unit.BYTES) == "1500 kB"
    assert units.format(125_000_000, Unit.BYTES_PER_S) == "1 Gbit/s"
    assert units.format(0, Unit.NANOSECONDS) == "0 ns"


SHOWN = re.compile(r"\d[\d,]*")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_figure_is_printed_with_twenty_digits_and_no_share_above_a_thousand_percent(value: float) -> None:
    texts = [units.human(value, unit) for unit in Unit] + [units.percent(value), units.digits(value), units.times(value)]
    if value > 0:
        ratio = Estimate(value=value, low=value / 3, high=value * 40, confidence=0.95, unit="", n=3, method=Method.MEAN)
        texts += [difference(value), *digits(ratio), *digits(replace(ratio, low=value, high=value))]
        texts += [number(value), round_percent(value), half(replace(ratio, value=1.0)), two_digits(value)]
    for text in texts:
        assert all(len(found.replace(",", "")) <= 15 for found in SHOWN.findall(text)), text
        assert not any(float(found.replace(",", "")) > 1000 for found in re.findall(r"([\d,.]+) ?%", text)), text


def test_a_share_above_a_thousand_percent_is_a_factor(subtests):
    for share, text in [(10.0, "1,000 %"), (1384.39, "1,384 times"), (13.8, "13.8 times"), (-20.0, "-20 times"), (9.98, "998 %")]:
        with subtests.test(share=share, text=text):
            assert units.percent(share) == text
            assert units.human(share, Unit.SHARE) == text
