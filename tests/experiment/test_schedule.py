"""The order within blocks: random, a function of its key alone, and balanced over places, neighbours and pairs of arms."""

from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.experiment.schedule import ordered, pairs_of_cycle, shuffled

ARMS = st.integers(2, 12)
KEYS = st.text("0123456789:", min_size=1, max_size=12)


def orders(arms: int, key: str, blocks: int) -> list[list[int]]:
    return [ordered(range(arms), key, block) for block in range(blocks)]


@given(ARMS, KEYS)
def test_in_a_cycle_each_arm_stands_at_each_place_and_after_each_other_equally_often(arms: int, key: str) -> None:
    cycle = 2 * pairs_of_cycle(arms)
    rows = orders(arms, key, 2 * cycle)[cycle:]
    at = Counter((place, arm) for row in rows for place, arm in enumerate(row))
    after = Counter(neighbours for row in rows for neighbours in pairwise(row))
    assert at == {(place, arm): cycle // arms for place in range(arms) for arm in range(arms)}
    assert after == {(one, other): cycle // arms for one in range(arms) for other in range(arms) if one != other}


@given(ARMS, KEYS, st.integers(1, 30))
def test_after_any_number_of_blocks_no_arm_was_more_often_at_a_place_by_more_than_two(arms: int, key: str, blocks: int) -> None:
    at = Counter((place, arm) for row in orders(arms, key, blocks) for place, arm in enumerate(row))
    counts = [at[place, arm] for place in range(arms) for arm in range(arms)]
    assert max(counts) - min(counts) <= 2


@given(ARMS, KEYS, st.integers(1, 30))
def test_of_two_arms_none_is_first_in_more_than_one_block_more_than_the_other(arms: int, key: str, blocks: int) -> None:
    rows = orders(arms, key, blocks)
    for one, other in combinations(range(arms), 2):
        first = sum(row.index(one) < row.index(other) for row in rows)
        assert abs(2 * first - blocks) == blocks % 2


@given(ARMS, KEYS, st.integers(1, 15))
def test_what_rises_evenly_over_a_pair_of_blocks_meets_all_arms_alike(arms: int, key: str, pair: int) -> None:
    rows = [*ordered(range(arms), key, 2 * pair), *ordered(range(arms), key, 2 * pair + 1)]
    when = [sum(place for place, found in enumerate(rows) if found == arm) for arm in range(arms)]
    assert set(when) == {2 * arms - 1}


@pytest.mark.parametrize("block", [0, 1, 2, 5])
def test_every_order_of_a_block_is_equally_likely(block: int) -> None:
    seen = Counter("".join(ordered("abc", f"{seed}:0", block)) for seed in range(6000))
    assert len(seen) == 6
    assert max(abs(count - 1000) for count in seen.values()) < 150  # five standard deviations of a fair order


def test_pairs_of_blocks_do_not_follow_one_another() -> None:
    """Else the alternation would be as regular as A B B A, which a rhythm of four trials can follow."""
    seen = Counter("".join("".join(ordered("ab", f"{seed}:0", block)) for block in (0, 2)) for seed in range(4000))
    assert len(seen) == 4
    assert max(abs(count - 1000) for count in seen.values()) < 140


def test_the_orders_are_the_same_on_every_machine_and_version() -> None:
    assert shuffled("abcdef", "7:0:0") == ["c", "f", "b", "e", "d", "a"]
    assert ["".join(ordered("abc", "7:0", block)) for block in range(4)] == ["acb", "bca", "cba", "abc"]


def test_nothing_and_one_arm_have_an_order() -> None:
    assert ordered((), "1:0", 3) == []
    assert ordered("a", "1:0", 3) == ["a"]
