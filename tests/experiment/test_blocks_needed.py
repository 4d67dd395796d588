"""After how many blocks a precision is expected: the truth is between the bounds nine times of ten."""

import random
from dataclasses import replace
from statistics import stdev

from assay.experiment.outlook import blocks_needed
from assay.experiment.plan import LEAST_PRECISE, Standing
from assay.records import Precision
from assay.statistics import intervals
from stage import notebook_records as made

PRECISE = replace(made.experiment(), repeats=Precision(half_width_share=0.02))


def standing(blocks, width):
    return Standing(blocks_done=blocks, elapsed_ns=1, longest_block_ns=1, half_width_share=width, half_width_before_share=width)


def test_the_number_is_between_its_bounds_and_unknown_without_an_interval():
    found = [blocks_needed(PRECISE, standing(6, width)) for width in (0.01, 0.03, 0.06)]
    assert all(low <= about <= high for low, about, high in found)
    assert found[0][1] <= found[1][1] <= found[2][1]
    assert found[0][0] >= LEAST_PRECISE
    assert blocks_needed(PRECISE, standing(6, None)) is None
    assert blocks_needed(replace(PRECISE, repeats=5), standing(6, 0.03)) is None


def test_the_bounds_hold_the_truth_nine_times_of_ten():
    draw, held = random.Random(5), 0
    need = intervals.values_within(0.02, 0.05) + 1
    for _ in range(300):
        spread = stdev(draw.gauss(0, 0.05) for _ in range(8))
        width = spread / intervals.spread_of(1.0, 8)
        low, _, high = blocks_needed(PRECISE, standing(8, width))
        held += low <= need <= high
    assert held >= 0.84 * 300
