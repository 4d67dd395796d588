"""The first line of several commands under `assay stat`: short names, who is ahead, what more runs would show."""

import math
import re
from dataclasses import replace

import pytest

from assay.cli.stat.commands import Command, short_names
from assay.cli.stat.order import Order, winner
from assay.cli.stat.ratios import Arm, CommandRatio, decided
from assay.records import Conclusion, VerdictState
from assay.statistics.contrast import Contrast


def named(*labels):
    return short_names([Command(argv=tuple(label.split()), label=label) for label in labels])


def test_commands_are_named_by_what_differs():
    assert named("gzip -c d", "/usr/bin/zstd -c d") == ["gzip", "zstd"]
    assert named("gzip -1 -c d", "gzip -9 -c d") == ["gzip -1", "gzip -9"]
    assert named("cp a b", "cp a c") == ["cp a b", "cp a c"]
    assert named("sleep 1", "sleep 1") == ["sleep 1", "sleep 1"], "a command beside itself keeps its words"
    assert named("dd if=a of=b", "dd of=b") == ["dd if=a", "dd"]


def order(times, *, error, commands=2, p_value=0.0, conclusion=Conclusion.UNDECIDED, beaten=()):
    """The best takes so many times as long as the second, with this standard error of the logarithm, in five runs."""
    names = [f"c{at}" for at in range(1, commands + 1)]
    made = Order(
        arms=tuple(Arm(command=Command(argv=(name,), label=name), runs=[]) for name in names),
        means=(1e9,) * commands,
        runs=5,
        measure="elapsed",
        unit="ns",
        may_be_best=tuple(name not in beaten for name in names),
        ahead=Contrast(difference=math.log(times), standard_error=error, degrees=4, n=5, spread=0.1),
        conclusion=conclusion,
        p_value=p_value,
    )
    return winner(made, names).replace("\u202f", " ").replace("\xa0", " ")


def test_the_words_follow_what_was_shown():
    said = order(0.5, error=0.001, conclusion=Conclusion.MATTERS)
    assert said.startswith("c1 is faster, 0.5 times as long as c2 (95 % CI 0.49")
    assert order(0.5, error=0.001, commands=3, conclusion=Conclusion.MATTERS).startswith("c1 is fastest, ")
    assert order(0.98, error=0.001, conclusion=Conclusion.IMMATERIAL).endswith("too little to matter (5 %)")
    assert re.search(r"; whether by more than 5 % is undecided; --repeat \d+ would show it$", order(0.94, error=0.01))
    said = order(0.99, error=0.05, commands=3, beaten=("c3",))
    assert said.startswith("c1 and c2 lead, and which is fastest is undecided: c1 0.99")


def test_an_interval_of_the_pair_alone_is_not_shown_where_all_together_show_nothing():
    said = order(0.8, error=0.07, commands=4, p_value=0.09)
    assert said.startswith("c1 leads, 0.8 times as long as c2, not shown among 4 (p = 0.09 by Hsu); --repeat "), said
    assert "CI" not in said


def test_more_runs_are_asked_for_the_smaller_a_difference_is():
    asked = [int(order(times, error=0.1).rpartition("--repeat ")[2].split(" ")[0]) for times in (0.8, 0.9, 0.94)]
    assert asked == sorted(asked)
    assert len(set(asked)) == 3
    same = order(1.0, error=0.1)
    assert same.endswith(" would show 5 %"), same


RATIO = CommandRatio(
    command=Command(argv=("b",), label="b"),
    measure="elapsed_ns",
    value=1.2,
    low=1.1,
    high=1.3,
    pairs=5,
    together=1,
    conclusion=Conclusion.MATTERS,
    state=VerdictState.SOUND,
    unit="ns",
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "slower by more than 5 %"),
        ({"unit": "B/s"}, "faster by more than 5 %"),
        ({"unit": "count"}, "higher by more than 5 %"),
        ({"value": 0.98, "conclusion": Conclusion.IMMATERIAL}, "faster by less than 5 %"),
        ({"conclusion": Conclusion.EQUIVALENT}, "equivalent within 5 %"),
        ({"low": 1.01, "conclusion": Conclusion.UNDECIDED}, "slower; whether by more than 5 % is undecided"),
        ({"low": 0.9, "conclusion": Conclusion.UNDECIDED}, "undecided"),
    ],
)
def test_a_ratio_ends_with_its_decision(change, said):
    assert decided(replace(RATIO, **change)).replace("\u202f", " ") == said
