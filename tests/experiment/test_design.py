"""Designs: balance and orthogonality, known resolutions and aliases, blocks, and every reason against a bad one at once."""

import itertools
import math
from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.experiment import design, read
from assay.experiment import outlook as forecast
from assay.experiment import plan as planning
from assay.experiment.digest import digest
from assay.records import DesignKind, Experiment, Factor, TargetSpec
from assay.statistics import effects
from stage.experiment_texts import mistakes, the_mistake
from stage.rows import each

BASE = Experiment(
    title="T",
    question="",
    targets=(TargetSpec(name="t", kind="directory"),),
    workloads=(),
    factors=(),
    measures=(),
    repeats=3,
    seed=7,
    digest="d",
)


def asked(kind: DesignKind | None, *levels: int, resolution: int | None = None) -> Experiment:
    factors = tuple(Factor(path=f"w.f{place}", levels=tuple(range(count))) for place, count in enumerate(levels))
    return replace(BASE, factors=factors, design=kind, resolution=resolution)


def rows_of(experiment: Experiment) -> tuple[tuple[int, ...], ...]:
    return design.rows(experiment, design.varying(experiment.factors))


ARRAYS = [
    *((f"2^({k}-{len(one.generators)})", one.rows()) for k in design.TABLE for one in design.fractions_of(k)),
    *((f"screening of {k}", design.screening_rows(k)) for k in range(design.FEWEST_SCREENED, design.MOST_SCREENED + 1)),
]


@each("rows", *[rows for _, rows in ARRAYS])
def test_every_array_is_balanced_and_orthogonal_and_holds_the_baseline_of_all(rows: tuple[tuple[int, ...], ...]) -> None:
    factors = len(rows[0])
    assert rows[0] == (0,) * factors
    for one in range(factors):
        assert sum(row[one] for row in rows) * 2 == len(rows)
    for one, other in itertools.combinations(range(factors), 2):
        met = Counter((row[one], row[other]) for row in rows)
        assert set(met.values()) == {len(rows) // 4}, "each two levels of two factors meet equally often"


@each(
    "factors known",
    (3, {4: 3}),
    (4, {8: 4}),
    (5, {8: 3, 16: 5}),
    (6, {8: 3, 16: 4, 32: 6}),
    (7, {8: 3, 16: 4, 32: 4, 64: 7}),
    (8, {16: 4, 32: 4, 64: 5}),
    (9, {16: 3, 32: 4, 64: 4, 128: 6}),
    (10, {16: 3, 32: 4, 64: 4, 128: 5}),
    (11, {16: 3, 32: 4, 64: 4, 128: 5}),
)
def test_fractions_have_the_resolutions_of_the_textbooks(factors: int, known: dict[int, int]) -> None:
    assert {one.combinations: one.resolution for one in design.fractions_of(factors)} == known


@each("one", *[one for k in design.TABLE for one in design.fractions_of(k)])
def test_resolution_is_what_the_combinations_themselves_say(one: design.Fraction) -> None:
    """A design of resolution R has all combinations of any R - 1 factors equally often, and not those of some R."""
    rows = one.rows()
    assert len(set(rows)) == one.combinations
    strength = min(one.resolution - 1, 4)
    for chosen in itertools.combinations(range(one.factors), strength):
        met = Counter(tuple(row[place] for place in chosen) for row in rows)
        assert len(met) == 2**strength
        assert len(set(met.values())) == 1
    if one.resolution <= 5:
        whole = itertools.combinations(range(one.factors), one.resolution)
        assert any(len({tuple(row[place] for place in chosen) for row in rows}) < 2**one.resolution for chosen in whole)


def test_the_smallest_fraction_with_the_asked_resolution_is_taken() -> None:
    assert [len(rows_of(asked(DesignKind.FRACTIONAL, *[2] * 5, resolution=least))) for least in (3, 4, 5)] == [8, 16, 16]
    assert len(rows_of(asked(DesignKind.FRACTIONAL, *[2] * 6))) == 16, "resolution IV where nothing is said"


def test_generators_aliases_and_what_is_partly_mixed_are_told() -> None:
    told = design.structure(asked(DesignKind.FRACTIONAL, 2, 2, 2, 2))
    assert told is not None
    assert (told.resolution, told.generators, told.aliases) == (4, ("D = ABC",), ("AB = CD", "AC = BD", "AD = BC"))
    third = design.structure(asked(DesignKind.FRACTIONAL, 2, 2, 2, resolution=3))
    assert third is not None
    assert (third.generators, third.aliases) == (("C = -AB",), ("A = -BC", "B = -AC", "C = -AB"))
    twelve = design.structure(asked(DesignKind.SCREENING, *[2] * 9))
    assert twelve is not None
    assert (twelve.combinations, twelve.aliases) == (12, ())
    assert math.isclose(twelve.partly_mixed, 1 / 3)


@given(st.lists(st.integers(1, 4), min_size=2, max_size=5).filter(lambda levels: sum(count > 1 for count in levels) >= 2))
def test_one_at_a_time_changes_one_thing_and_everything_once(levels: list[int]) -> None:
    found = design.combinations(asked(DesignKind.ONE_AT_A_TIME, *levels), asked(None, *levels).factors)
    changed = [tuple(path for path, level in one.items() if level != 0) for one in found]
    assert changed[0] == ()
    assert all(len(one) == 1 for one in changed[1:])
    assert len({tuple(one.items()) for one in found}) == len(found) == 1 + sum(count - 1 for count in levels)


def test_a_knob_of_another_target_varies_on_that_target() -> None:
    """On the baseline's target it would set nothing, and its effect would be none whatever it does."""
    paths = {"target": ("a", "b", "b.c"), "w.x": (0, 1), "a.k": (0, 1), "b.k": (0, 1, 2), "b.c.k": (0, 1), "below.k": (0, 1)}
    factors = tuple(Factor(path=path, levels=levels) for path, levels in paths.items())
    for order in (factors, factors[::-1]):
        found = design.combinations(replace(BASE, factors=order, design=DesignKind.ONE_AT_A_TIME), order)
        changed = [{path: level for path, level in sorted(one.items()) if level not in (0, "a")} for one in found]
        assert changed[0] == {}
        assert sorted(changed[1:], key=str) == sorted(
            [
                {"target": "b"},
                {"target": "b.c"},
                {"w.x": 1},
                {"a.k": 1},
                {"b.k": 1, "target": "b"},
                {"b.k": 2, "target": "b"},
                {"b.c.k": 1, "target": "b.c"},
                {"below.k": 1},
            ],
            key=str,
        )


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_full_is_every_combination_as_without_a_design(levels: list[int]) -> None:
    full, none = (planning.plan(asked(kind, *levels)) for kind in (DesignKind.FULL, None))
    assert full.trials == none.trials
    assert len(full.trials) == 3 * math.prod(levels)


@settings(max_examples=30)
@given(st.integers(0, 2**53), st.integers(4, 8), st.sampled_from([DesignKind.FRACTIONAL, DesignKind.SCREENING]))
def test_every_block_holds_the_whole_design_once_in_an_order_of_its_own(seed: int, factors: int, kind: DesignKind) -> None:
    experiment = replace(asked(kind, *[2] * factors), seed=seed, repeats=4)
    whole = Counter(tuple(one.values()) for one in design.combinations(experiment, experiment.factors))
    plan = planning.plan(experiment)
    for block in range(4):
        assert Counter(tuple(trial.levels.values()) for trial in plan.trials if trial.block == block) == whole


def test_a_factor_of_one_level_stays_and_a_full_design_has_no_aliases() -> None:
    found = design.combinations(asked(DesignKind.FRACTIONAL, 2, 1, 2, 2, 2), asked(None, 2, 1, 2, 2, 2).factors)
    assert len(found) == 8
    assert {one["w.f1"] for one in found} == {0}
    assert all(len(group) == 1 for group in effects.groups(rows_of(asked(DesignKind.FULL, 2, 2, 2))))
    assert digest(BASE) == digest(replace(BASE, design=None, resolution=None))
    assert digest(BASE) != digest(replace(BASE, design=DesignKind.FULL))


HEAD = 'title = "T"\n'
PARTS = """
[targets.here]
kind = "directory"
path = "."
[workloads.stream]
kind = "bulk_io"
operations = ["write"]
size = "1 MiB"
[factors]
"stream.direct" = [false, true]
"stream.flush" = ["none", "end"]
"stream.record_size" = ["4 KiB", "64 KiB"]
"""


def test_a_design_is_read_and_its_outlook_tells_what_it_can_show() -> None:
    experiment = read.parse(HEAD + 'design = "fractional"\n' + PARTS + "clients = [1, 2]\n", "x.toml")
    plan = planning.plan(experiment)
    outlook = forecast.outlook(experiment, plan)
    assert (experiment.design, experiment.compare, len(plan.trials)) == (DesignKind.FRACTIONAL, None, 40)
    assert (outlook.trials, outlook.contrasts, plan.notes) == (40, 7, ())
    shares = [effect.detectable_share or 0.0 for effect in outlook.effects]
    assert shares == sorted(shares)
    assert 0.005 < shares[0] < shares[-1] < 0.2


def test_the_named_baseline_comes_first() -> None:
    table = '[factors."stream.workers"]\nlevels = [1, 2, 4]\nbaseline = 2\n'
    experiment = read.parse(HEAD + PARTS + table, "x.toml")
    assert experiment.factors[-1].levels == (2, 1, 4)
    (wrong,) = mistakes(HEAD + PARTS + table.replace("baseline = 2", "baseline = 3"))
    assert (wrong.found, wrong.expected) == ("baseline = 3", "one of the factor's levels")


def test_every_reason_against_a_design_is_said_at_once() -> None:
    more = 'clients = [1, 2, 4]\n[factors.kernel]\nlevels = ["old", "new"]\nchange = "manual"\n'
    found = mistakes(HEAD + 'design = "fractional"\ncompare = "clients"\nresolution = 5\n' + PARTS + more)
    said = " | ".join(f"{one.found}; {one.expected}" for one in found)
    assert len(found) == 3
    for part in ("compare = 'clients' with design", "3 levels of 'clients'", "'kernel', changed by hand"):
        assert part in said


@each(
    "head tail found expected",
    ('design = "fractional"', "", "a fraction of 3 factors with resolution IV", "resolution = 3 at most"),
    ('design = "screening"', "", "3 factors", 'from 4 to 23; design = "full" has 8 combinations'),
    ('design = "halved"', "", "'halved' for 'design'", "one of one-at-a-time, full, fractional, screening"),
    ('design = "full"\nresolution = 4', "", 'resolution = 4 with design = "full"', 'design = "fractional"'),
    ("resolution = 4", "", "resolution = 4 without a design", 'design = "fractional"'),
    ('design = "fractional"\nresolution = 7', "clients = [1, 2]", "7 for 'resolution'", "at most 5"),
)
def test_a_bad_design_is_refused_with_what_would_do(head: str, tail: str, found: str, expected: str) -> None:
    wrong = the_mistake(HEAD + head + PARTS + tail)
    assert found in wrong.found
    assert expected in wrong.expected


def test_a_budget_chooses_the_repeats_and_too_few_blocks_are_noted() -> None:
    text = HEAD + 'design = "fractional"\nbudget = "10 min"\n' + PARTS + "clients = [1, 2]\n"
    experiment = read.parse(text, "x.toml")
    plan = planning.plan(experiment)
    outlook = forecast.outlook(experiment, plan, planning.History(trial_ns=15 * 10**9))
    assert plan.drawn_blocks == planning.DRAWN_BLOCKS
    assert (outlook.blocks, outlook.trials) == (5, 40), "8 trials of 15 s make a block of two minutes"
    experiment = read.parse(HEAD + 'design = "full"\nrepeats = 2\n' + PARTS, "x.toml")
    assert [note.subject for note in planning.plan(experiment).notes] == ["repeats"]


def test_one_factor_is_no_design_and_many_are_screened() -> None:
    alone = PARTS.partition("[factors]")[0] + "[factors]\nclients = [1, 2]\n"
    for kind in ("full", "one-at-a-time"):
        (wrong,) = mistakes(HEAD + f'design = "{kind}"\n' + alone)
        assert "at least 2; a single factor is compared" in wrong.expected
    command = (
        '[targets.here]\nkind = "directory"\npath = "."\n[workloads.w]\nkind = "command"\nargv = ["true"]\nparse = "elapsed"\n'
    )
    many = "[factors]\n" + "".join(f'"w.variables.f{place}" = ["a", "b"]\n' for place in range(20))
    experiment = read.parse(HEAD + 'design = "screening"\nrepeats = 3\n' + command + many, "x.toml")
    assert len(planning.plan(experiment).trials) == 24 * 3


def test_a_figure_that_a_command_never_gives_is_refused() -> None:
    text = (
        HEAD + '[targets.here]\nkind = "directory"\npath = "."\n[workloads.w]\nkind = "command"\nargv = ["true"]\n{parse}'
        '[measures]\n"w.{figure}" = {{}}\n'
    )
    regex = 'parse = "regex"\npattern = "(.*)"\nunit = "MB/s"\n'
    for figure, parse, refused in (
        ("command.bytes", "", True),
        ("command.bytes_per_s", "", True),
        ("command.elapsed_ns", "", False),
        ("read.bytes", regex, True),
        ("read.bytes_per_s", regex, False),
        ("read.bytes", 'parse = "fio_json"\n', False),
    ):
        whole = text.format(figure=figure, parse=parse)
        if refused:
            (wrong,) = mistakes(whole)
            assert "no bytes" in wrong.found, figure
        else:
            read.parse(whole, "x.toml")
