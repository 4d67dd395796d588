"""What a printed number can have been: everything that rounds to its digits, and nothing lost through products and ratios."""

from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from assay.published import vocabulary
from assay.published.vocabulary import Interval

VALUES = st.decimals(min_value=0, max_value=10**9, allow_nan=False, allow_infinity=False, places=6)
PLACES = st.integers(0, 4)
ROUNDINGS = st.sampled_from([ROUND_HALF_UP, ROUND_HALF_DOWN, ROUND_HALF_EVEN])


def printed(value, places, rounding):
    return format(value.quantize(Decimal(1).scaleb(-places), rounding), "f")


@given(VALUES, PLACES, ROUNDINGS)
def test_the_interval_holds_every_value_that_rounds_to_the_digits(value, places, rounding):
    found = vocabulary.number(printed(value, places, rounding))
    assert found is not None
    assert found.interval.holds(Fraction(value))


@given(VALUES, PLACES, st.decimals(min_value=Decimal("0.000001"), max_value=10, places=6))
def test_and_none_that_rounds_to_others(value, places, beyond):
    text = printed(value, places, ROUND_HALF_UP)
    outside = vocabulary.number(text).interval.high + Fraction(beyond)
    assert not vocabulary.number(text).interval.holds(outside)
    assert printed(Decimal(outside.numerator) / Decimal(outside.denominator), places, ROUND_HALF_UP) != text


@given(VALUES, VALUES, PLACES, PLACES)
def test_ratios_and_products_hold_those_of_all_values(first, second, places, others):
    assume(second > 0)
    one, other = (
        vocabulary.number(printed(first, places, ROUND_HALF_UP)),
        vocabulary.number(printed(second, others, ROUND_HALF_UP)),
    )
    assert one.interval.times(other.interval).holds(Fraction(first) * Fraction(second))
    assert one.interval.over(other.interval).holds(Fraction(first) / Fraction(second))


@given(VALUES, VALUES)
def test_two_intervals_meet_or_one_is_below_the_other(first, second):
    one, other = (
        vocabulary.number(printed(first, 1, ROUND_HALF_UP)).interval,
        vocabulary.number(printed(second, 1, ROUND_HALF_UP)).interval,
    )
    nothing = Fraction(0)
    assert [one.meets(other, nothing), one.below(other, nothing), other.below(one, nothing)].count(True) == 1
    assert one.meets(other, nothing) == other.meets(one, nothing)


def test_without_an_end_everything_above_is_held():
    above = Interval(low=Fraction(20), high=None)
    assert above.holds(Fraction(10**12))
    assert above.times(above).high is None
    assert above.over(Interval(low=Fraction(0), high=Fraction(4))) == Interval(low=Fraction(5), high=None)


def test_half_a_unit_of_the_last_digit(subtests):
    for text, low, high in [
        ("0.6", "0.55", "0.65"),
        ("0.52", "0.515", "0.525"),
        ("1", "0.5", "1.5"),
        ("2,097,152", "2097151.5", "2097152.5"),
        ("0", "0", "0.5"),
        ("1e3", "500", "1500"),
        ("1.50e3", "1495", "1505"),
    ]:
        with subtests.test(text=text):
            assert vocabulary.number(text).interval == Interval(low=Fraction(low), high=Fraction(high))


def test_what_prints_no_number_and_times_by_the_clock():
    texts = ("", "1,5", "1.2.3", "-1", ".5", "1e", "1e999", "9" * 31, "1,0000", "٣")
    assert [text for text in texts if vocabulary.number(text)] == []
    times = (("30:56.62", "1856.62", "0.005"), ("35:04.60", "2104.6", "0.005"), ("1:30:56", "5456", "0.5"), ("0:05", "5", "0.5"))
    for text, seconds, half in times:
        found = vocabulary.clock(text)
        assert found.value == Fraction(seconds)
        assert found.interval == Interval(low=Fraction(seconds) - Fraction(half), high=Fraction(seconds) + Fraction(half))
    assert [text for text in ("30:60", "5:6", "1:2:3:4", "30") if vocabulary.clock(text)] == []


def test_zeros_at_the_end_stand_for_nothing_behind_about(subtests):
    for text, low, high in [("400", 350, 450), ("18", "17.5", "18.5"), ("1.50", "1.495", "1.505")]:
        with subtests.test(text=text):
            assert vocabulary.roughly(text, vocabulary.number(text)).interval == Interval(low=Fraction(low), high=Fraction(high))
