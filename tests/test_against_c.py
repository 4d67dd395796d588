"""What holds the lab against C: accuses the answers that were turned round, and says where it could not judge."""

import pytest

from stage.against_c import hold_all, is_shown

JOURNAL, NONE = (24_000.0, 25_000.0, 23_500.0, 24_600.0), (30_000.0, 29_000.0, 30_500.0, 29_500.0)
"""Creates a second, as C makes them."""


def test_the_same_ratio_of_other_figures_agrees():
    assert is_shown((tuple(0.8 * one for one in JOURNAL), tuple(0.8 * one for one in NONE)), (JOURNAL, NONE))


@pytest.mark.parametrize("turned", [(1_100.0, 1_200.0, 1_150.0, 1_180.0), (130_000.0, 131_000.0, 128_000.0, 132_000.0)])
def test_a_ratio_that_was_turned_round_contradicts(turned):
    """0.047 times where C says 1.23, and 4.43 times where C says 1.0."""
    with pytest.raises(AssertionError, match="contradicts C's"):
        hold_all([((JOURNAL, turned), (JOURNAL, NONE))])


def test_where_the_machine_was_too_busy_it_says_so():
    noise = ((JOURNAL, (10_000.0, 60_000.0, 20_000.0, 45_000.0)), (JOURNAL, NONE))
    few = ((JOURNAL[:1], NONE), (JOURNAL, NONE))
    with pytest.raises(pytest.skip.Exception, match="could not judge on this machine"):
        hold_all([noise, few])
    hold_all([noise, few, ((JOURNAL, NONE), (JOURNAL, NONE))])
