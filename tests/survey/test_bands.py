import itertools

from hypothesis import given
from hypothesis import strategies as st

from assay import units
from assay.survey import bands
from assay.survey.bands import AGE_BANDS, DAY_NS, SIZE_BANDS
from stage.rows import each


def test_bands_join_without_gap_and_have_different_names():
    assert (AGE_BANDS[0].least_ns, AGE_BANDS[-1].below_ns) == (0, None)
    assert all(young.below_ns == old.least_ns for young, old in itertools.pairwise(AGE_BANDS))
    assert (SIZE_BANDS[0].above_bytes, SIZE_BANDS[-1].most_bytes) == (None, None)
    assert all(small.most_bytes == large.above_bytes for small, large in itertools.pairwise(SIZE_BANDS))
    assert (len(AGE_BANDS), len(SIZE_BANDS)) == (10, 11)
    for kind in (AGE_BANDS, SIZE_BANDS):
        assert len({band.label for band in kind}) == len(kind)
    ages, sizes = ([band.label for band in kind] for kind in (AGE_BANDS, SIZE_BANDS))
    assert ages[:4] == ["under 1 day", "1 day to 1 week", "1 to 2 weeks", "2 weeks to 1 month"]
    assert ages[-3:] == ["6 months to 1 year", "1 to 2 years", "2 years or more"]
    assert (sizes[0], sizes[1], sizes[5], sizes[-1]) == ("up to 1 KiB", "1 to 4 KiB", "256 KiB to 1 MiB", "over 256 MiB")
    assert bands.age_text(36 * 3600 * 10**9) == "36 h"


@each(
    "text days",
    ("day", 1),
    ("1 week", 7),
    ("week", 7),
    ("2 weeks", 14),
    ("month", 30),
    ("6 months", 180),
    ("1 year", 365),
    ("90 d", 90),
    ("48 h", 2),
)
def test_an_age_is_a_band_or_a_time(text, days):
    assert bands.age(text) == days * DAY_NS


@each("text", "1y", "3 months", "a year", "", "5", "-1 d", "2 GiB", "years")
def test_other_ages_are_refused_with_what_is_known(text):
    refusal = bands.age(text)
    assert isinstance(refusal, units.Refusal)
    assert "90 d" in refusal.expected
    assert "2 weeks" in refusal.expected


@given(st.integers(min_value=1, max_value=4000))
def test_an_age_in_a_sentence(days):
    text = bands.age_text(days * DAY_NS)
    assert text in {"a day", "a week", "2 weeks", "a month", "2 months", "4 months", "6 months", "a year", "2 years"} or (
        text == f"{days:,} days"
    )
