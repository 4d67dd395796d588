import math
from dataclasses import replace

import pytest

from assay.experiment import outlook as forecast
from assay.experiment import plan as planning
from assay.experiment import read
from assay.experiment.plan import History
from assay.records import Experiment, Measure, Precision
from assay.statistics.significance import Design, log_effect
from stage.rows import each

AROUND_NS = int(1e9 * forecast.AROUND_S)
MEASURES = tuple(Measure(workload="w", operation="random_read", figure=f"latency_{p}_ns") for p in ("p50", "p90", "p99"))
TEXT = """
title = "T"
{head}
[targets.a]
kind = "directory"
path = "/a"
[targets.b]
kind = "directory"
path = "/b"
[workloads.w]
kind = "bulk_io"
operations = ["random_read"]
duration = "9 s"
[workloads.v]
kind = "bulk_io"
operations = ["random_read"]
duration = "9 s"
[factors]
target = ["a", "b"]
clients = [1, 2, 4]
{factors}
"""


def experiment(head: str = 'compare = "target"', factors: str = "") -> Experiment:
    return read.parse(TEXT.format(head=head, factors=factors), "x.toml")


def look(asked: Experiment, history: History | None = None) -> forecast.Outlook:
    return forecast.outlook(asked, planning.plan(asked), history)


def test_trials_and_contrasts_are_counted_and_knobs_change_the_guess() -> None:
    outlook = look(experiment())
    assert (outlook.trials, outlook.blocks, outlook.contrasts) == (30, 5, 3)
    assert (outlook.compare, outlook.design) == ("target", Design.PAIRED)
    all_of_them = look(experiment())
    assert all_of_them.duration_from == "workloads"
    assert 30 * 18 * 10**9 <= all_of_them.duration_ns <= 30 * 30 * 10**9
    one_each = look(experiment(factors='workload = ["w", "v"]'))
    assert one_each.trials == 60
    assert all_of_them.duration_ns < one_each.duration_ns < 1.1 * all_of_them.duration_ns, (
        "twice as many trials, set up for themselves"
    )
    longer = look(experiment(factors='"w.duration" = ["9 s", "99 s"]'))
    shorter = look(experiment(factors='"w.duration" = ["9 s", "10 s"]'))
    assert longer.duration_ns - shorter.duration_ns == pytest.approx(forecast.REPEATED * 30 * 89e9, rel=1e-6)
    guessed, corrected = look(experiment()), look(experiment(), History(times=3.0))
    assert corrected.duration_from == "others"
    assert corrected.duration_ns - AROUND_NS == pytest.approx(3 * (guessed.duration_ns - AROUND_NS))


def test_history_tells_duration_and_spread() -> None:
    outlook = look(experiment(), History(trial_ns=2 * 10**9, cv={"w.random_read.ops_per_s": 0.02}))
    assert (outlook.duration_from, outlook.duration_ns) == ("history", 60 * 10**9 + AROUND_NS)
    named = [effect for effect in outlook.effects if effect.measure]
    assert [(effect.measure, effect.cv_share) for effect in named] == [("w.random_read.ops_per_s", 0.02)]
    assert len(outlook.effects) == 4


LIMITED = """
title = "T"
repeats = 2
[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "512 MiB"
limit = { read_bytes_per_s = "10 MB/s", write_ops_per_s = "100 /s" }
[workloads.w]
"""


@each(
    "workload phases seconds",
    ('kind = "bulk_io"\noperations = ["read"]\ncache = "cold"\nsize = "100 MiB"', 2, 10.5),
    ('kind = "bulk_io"\noperations = ["read"]\ncache = "warm"\nsize = "100 MiB"', 2, 0),
    ('kind = "bulk_io"\noperations = ["random_write"]\nflush = "each"\noverwrite = true\nops = 2000', 2, 20),
    ('kind = "metadata"\ncount = 1000\noperations = ["create", "fsync"]', 1, 30),
    ('kind = "bulk_io"\noperations = ["random_read"]\nduration = "4 s"', 2, 4),
)
def test_a_limited_disk_is_as_slow_as_it_is_declared(workload: str, phases: int, seconds: float) -> None:
    """100 MiB at 10 MB/s take 10.5 s, but not from memory; 2,000 flushes at 100 requests a second take 20 s."""
    guess = forecast.trial_s(read.parse(LIMITED + workload, "x.toml"), {})
    work = guess - forecast.TRIAL_S - 0.6 - phases * forecast.PHASE_S
    assert work == pytest.approx(seconds, abs=1.0)


def test_an_offline_import_is_guessed_by_the_entries_of_its_server() -> None:
    text = 'title = "T"\n[targets.d]\nkind = "ldap_389ds"\nentries = {}\nstate = "stopped"\n[workloads.w]\nkind = "ldap_import"\n'
    small, large = (forecast.trial_s(read.parse(text.format(count), "x.toml"), {}) for count in (20_000, 2_020_000))
    assert small < 30, "its page says six minutes for 18 such trials on two CPUs"
    assert large - small == pytest.approx(1000)


def test_unknown_spread_is_shown_in_three_cases() -> None:
    effects = look(replace(experiment(), factors=experiment().factors[:1], measures=MEASURES[:1])).effects
    assert [effect.cv_share for effect in effects] == [0.01, 0.03, 0.10]
    assert effects[1].detectable_share == pytest.approx(0.074, abs=0.0005)
    assert effects[1].provable_share == pytest.approx(0.128, abs=0.0005)


def test_among_many_contrasts_a_difference_must_be_larger() -> None:
    """By the strictest of Holm's levels; that it matters is a matter of its own interval, as long as that asks for more."""
    one, three, measures = (
        look(replace(experiment(), factors=experiment().factors[:factors], measures=MEASURES[:measures]))
        for factors, measures in ((1, 1), (2, 1), (2, 3))
    )
    assert [(each.family_size, each.secondary_size) for each in (one, three, measures)] == [(1, 0), (3, 0), (3, 6)]
    shown = [outlook.effects[1] for outlook in (one, three, measures)]
    for count, effect in zip((1, 3, 3), shown, strict=True):
        assert effect.detectable_share == pytest.approx(math.expm1(log_effect(5, 0.03, level=0.05 / count) or 0.0))
    assert [effect.provable_share for effect in shown] == [pytest.approx(0.128, abs=0.0005)] * 3


def test_what_a_difference_that_matters_takes_is_the_number_of_blocks_that_just_shows_it() -> None:
    """Of a secondary measure whose spread is known the level is that of Benjamini and Yekutieli."""
    asked = replace(experiment(), factors=experiment().factors[:1], measures=MEASURES)
    first, second = (one.name for one in MEASURES[:2])
    for outlook, level in (
        (look(asked, History(cv={first: 0.03})), 0.05),
        (look(asked, History(cv={second: 0.03})), 0.05 / (2 * 1.5)),
    ):
        known = next(one for one in outlook.effects if one.measure is not None)
        wanted = math.log1p(asked.matters_share)
        assert known.needed is not None
        assert (
            (log_effect(known.needed, 0.03, level=level) or 1) <= wanted < (log_effect(known.needed - 1, 0.03, level=level) or 1)
        )
    assert look(asked, History(cv={first: 5.0})).effects[0].needed is None, "over a thousand"


def test_a_precision_shows_no_more_than_the_blocks_that_it_takes() -> None:
    """Of the thousand that are drawn a small spread takes a few: what a thousand could show is not promised."""
    asked = replace(
        experiment('compare = "target"\nrepeats = "until 3 %"'), factors=experiment().factors[:1], measures=MEASURES[:1]
    )
    effects = look(asked).effects
    assert [effect.blocks for effect in effects] == [6, 12, 89]
    assert [effect.blocks for effect in look(replace(asked, repeats=Precision(half_width_share=0.03, most=20))).effects] == [
        6,
        12,
        20,
    ]
    fixed = [look(replace(asked, repeats=effect.blocks)).effects[place] for place, effect in enumerate(effects)]
    assert [one.detectable_share for one in fixed] == [one.detectable_share for one in effects]


def test_a_budget_allows_so_many_blocks() -> None:
    asked = experiment('budget = "1 min"\ncompare = "target"')
    outlook = look(asked, History(trial_ns=10**9))
    assert (outlook.blocks, outlook.duration_ns) == (10, 60 * 10**9 + AROUND_NS)
    assert look(asked, History(trial_ns=10**12)).blocks == 1
    assert look(replace(asked, repeats=4), History(trial_ns=10**9)).blocks == 4


def test_sittings_are_independent_arms() -> None:
    asked = experiment('compare = "os"', '[factors.os]\nlevels = ["old", "new"]\nchange = "manual"\nreturns = 1')
    outlook = look(replace(asked, measures=MEASURES[:1]))
    assert (outlook.design, outlook.trials, outlook.family_size) == (Design.INDEPENDENT, 6 * 5 * 3, 6)
    outlook = look(replace(asked, factors=asked.factors[-1:], measures=MEASURES[:1]))
    assert outlook.effects[1].detectable_share == pytest.approx(0.063, abs=0.0005)


def test_where_one_block_or_no_comparison_shows_nothing_it_is_said() -> None:
    asked = experiment('compare = "target"\nrepeats = 1')
    assert look(asked).effects[0].detectable_share is None
    assert any("no comparison" in note.text for note in planning.plan(asked).notes)
    asked = experiment("")
    assert (look(asked).contrasts, look(asked).effects) == (0, ())
    assert any(note.subject == "compare" for note in planning.plan(asked).notes)
