"""The order within blocks: each by itself a random one, and over the blocks every place and every order of two equally often.

Blocks come in pairs, of which the second is the first one backwards: whatever rises or falls evenly over a pair meets all arms
alike, and of two arms each is the first one once. The pairs are rows of a Williams square, drawn in random order and with arms
put on its letters at random: in a cycle (as many blocks as arms, or twice as many of an odd number) each arm stands at each
place equally often and comes after each other one equally often.

References: E. J. Williams, Experimental designs balanced for the estimation of residual effects of treatments, Australian J. of
Scientific Research A 2 (1949), 149-168; D. R. Cox, Some systematic experimental designs, Biometrika 38 (1951), 312-323.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def shuffled(items: Sequence[T], key: str) -> list[T]:
    """The items in an order that follows from the key alone (Fisher-Yates)."""
    order, source = list(items), random.Random(key)  # noqa: S311  an order, no secret
    for last in range(len(order) - 1, 0, -1):
        other = int(source.random() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def ordered(items: Sequence[T], key: str, block: int) -> list[T]:
    """The items in the order of this block (from 0); it follows from the key and the block, however many blocks are drawn."""
    pairs = pairs_of_cycle(len(items))
    cycle, pair = divmod(block // 2, pairs)
    letters = shuffled(items, f"{key}:{cycle}")
    row = shuffled(range(pairs), f"{key}:{cycle}:rows")[pair]
    backwards = random.Random(f"{key}:{cycle}:{pair}").random() < 1 / 2  # noqa: S311  an order, no secret
    found = [letters[letter] for letter in williams(len(items), row)]
    return found[::-1] if backwards != bool(block % 2) else found


def pairs_of_cycle(arms: int) -> int:
    """Pairs of blocks after which all is balanced: a square of an even number of arms has its rows backwards in itself."""
    return max(1, arms if arms % 2 else arms // 2)


def williams(arms: int, row: int) -> list[int]:
    """A row of the square, as numbers of arms: 0, 1, -1, 2, -2, ... shifted by the row."""
    steps = ((place + 1) // 2 * (1 if place % 2 else -1) for place in range(arms))
    return [(step + row) % arms for step in steps]
