from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from assay.experiment import outlook as forecast
from assay.experiment import plan as planning
from assay.experiment import read
from assay.experiment.digest import digest
from assay.experiment.plan import Standing, ordered, pairs_of_cycle, shuffled
from assay.records import Change, Experiment, Factor, Plan, Precision, TargetSpec, Trial
from stage.rows import each

BASE = Experiment(
    title="T",
    question="",
    targets=(TargetSpec(name="a", kind="directory"), TargetSpec(name="b", kind="directory")),
    workloads=(),
    factors=(Factor(path="target", levels=("a", "b")), Factor(path="clients", levels=(1, 2, 4))),
    measures=(),
    repeats=5,
    seed=7,
    digest="d",
)
BY_HAND = replace(
    BASE, factors=(*BASE.factors, Factor(path="os", levels=("old", "new"), change=Change.MANUAL, returns=1)), compare="os"
)


def blocks(plan: Plan) -> dict[tuple[int, int], list[Trial]]:
    found: dict[tuple[int, int], list[Trial]] = {}
    for trial in plan.trials:
        found.setdefault((trial.sitting, trial.block), []).append(trial)
    return found


@given(st.integers(0, 2**53), st.integers(1, 20))
def test_every_block_holds_every_combination_once(seed: int, repeats: int) -> None:
    plan = planning.plan(replace(BASE, seed=seed, repeats=repeats))
    every = {(target, clients) for target in ("a", "b") for clients in (1, 2, 4)}
    assert len(blocks(plan)) == repeats
    for block in blocks(plan).values():
        assert Counter((trial.levels["target"], trial.levels["clients"]) for trial in block) == Counter(every)


def test_the_schedule_is_the_same_everywhere_and_follows_the_seed() -> None:
    assert (
        "".join(str(trial.levels["target"]) for trial in planning.plan(replace(BASE, factors=BASE.factors[:1])).trials)
        == "baabbaabba"
    )
    assert [trial.seed for trial in planning.plan(BASE).trials][:1] == [270477206992179]
    first = planning.plan(BASE)
    assert planning.plan(BASE) == first
    assert planning.plan(replace(BASE, seed=8)).trials != first.trials
    few, many = planning.plan(BASE).trials, planning.plan(replace(BASE, repeats=50)).trials
    assert many[: len(few)] == few
    assert shuffled("abcdef", "7:0:0") == ["c", "f", "b", "e", "d", "a"]
    assert ["".join(ordered("abc", "7:0", block)) for block in range(4)] == ["acb", "bca", "cba", "abc"]
    assert ordered((), "1:0", 3) == []
    assert ordered("a", "1:0", 3) == ["a"]


def test_each_combination_of_a_condition_is_first_in_half_of_the_blocks() -> None:
    """What a comparison stands on: in 5 blocks neither arm runs before the other one more than three times, at each condition."""
    for seed in range(50):
        before = Counter(
            (clients, places["a"] < places["b"])
            for block in blocks(planning.plan(replace(BASE, seed=seed))).values()
            for clients in (1, 2, 4)
            for places in [{t.levels["target"]: t.position for t in block if t.levels["clients"] == clients}]
        )
        assert set(before.values()) <= {2, 3}


def test_ids_positions_and_seeds() -> None:
    trials = planning.plan(BY_HAND).trials
    assert [trial.id for trial in trials] == list(range(1, len(trials) + 1))
    assert [trial.position for trial in trials] == list(range(len(trials)))
    assert all(trial.experiment == "d" for trial in trials)
    seeds = [{trial.seed for trial in block} for block in blocks(planning.plan(BASE)).values()]
    assert all(len(one) == 1 for one in seeds)
    assert len(set.union(*seeds)) == len(seeds)
    plan = planning.plan(replace(BASE, factors=(), repeats=3))
    assert [dict(trial.levels) for trial in plan.trials] == [{}, {}, {}]
    assert plan.sittings == (None,)


def test_a_factor_by_hand_makes_sittings_and_comes_back() -> None:
    plan = planning.plan(BY_HAND)
    assert plan.sittings == ("old", "new", "old")
    assert {(trial.sitting, trial.levels["os"]) for trial in plan.trials} == {(0, "old"), (1, "new"), (2, "old")}
    assert len(plan.trials) == 3 * 5 * 6
    combination = [t for t in plan.trials if (t.levels["os"], t.levels["target"], t.levels["clients"]) == ("old", "a", 1)]
    assert [trial.replicate for trial in combination] == list(range(10))
    assert any("at best BOUNDED" in note.text for note in plan.notes)
    assert not any("drift" in note.text for note in plan.notes)


@each("change", {"repeats": Precision(half_width_share=0.03)}, {"repeats": None, "budget_ns": 10**12})
def test_an_open_end_is_drawn_to_a_thousand_blocks(change: dict[str, object]) -> None:
    plan = planning.plan(replace(BASE, **change))
    assert plan.drawn_blocks == planning.DRAWN_BLOCKS == len(blocks(plan))
    if "budget_ns" in change:
        wide = replace(BASE, factors=(Factor(path="clients", levels=tuple(range(1, 1001))),), **change)
        assert planning.plan(wide).drawn_blocks == 100


def test_a_bounded_precision_is_drawn_to_its_bound_and_an_open_one_keeps_its_digest() -> None:
    bounded = replace(BASE, repeats=Precision(half_width_share=0.03, most=12))
    plan = planning.plan(bounded)
    assert (plan.drawn_blocks, len(blocks(plan))) == (12, 12)
    outlook = forecast.outlook(bounded, plan, planning.History(trial_ns=10**9))
    around_ns = int(1e9 * forecast.AROUND_S)
    assert ((outlook.shortest_ns - around_ns) * 2, outlook.duration_ns - around_ns) == (len(plan.trials) * 10**9,) * 2
    open_end, bounded = (digest(replace(BASE, repeats=Precision(half_width_share=0.03, most=most))) for most in (None, 1000))
    assert open_end != bounded
    assert open_end == "64369bac375f07aff54b147db09b1bbebf01aa55315d22752f5af35efa1504e0"


def test_blocks_end_with_their_number_or_where_the_longest_does_not_fit() -> None:
    assert planning.reason_to_stop(BASE, Standing(blocks_done=4, elapsed_ns=10**15, longest_block_ns=10**14)) is None
    assert planning.reason_to_stop(BASE, Standing(blocks_done=5, elapsed_ns=0, longest_block_ns=0)) == "all 5 blocks are done"
    hour = replace(BASE, repeats=None, budget_ns=3600 * 10**9)
    assert planning.reason_to_stop(hour, Standing(blocks_done=0, elapsed_ns=0, longest_block_ns=10**15)) is None
    assert planning.reason_to_stop(hour, Standing(blocks_done=5, elapsed_ns=3000 * 10**9, longest_block_ns=600 * 10**9)) is None
    reason = planning.reason_to_stop(hour, Standing(blocks_done=5, elapsed_ns=3001 * 10**9, longest_block_ns=600 * 10**9))
    assert reason == "the longest block took 600 s, 599 s of the budget are left"
    shared = replace(BY_HAND, repeats=None, budget_ns=300)
    assert planning.reason_to_stop(shared, Standing(blocks_done=1, elapsed_ns=50, longest_block_ns=50)) is None
    assert planning.reason_to_stop(shared, Standing(blocks_done=1, elapsed_ns=51, longest_block_ns=50)) is not None


@each(
    "done width before more",
    (5, 0.001, 0.001, True),
    (6, 0.03, 0.03, False),
    (6, 0.031, 0.02, True),
    (6, 0.02, 0.031, True),
    (9, None, None, True),
)
def test_precision_ends_after_six_blocks_and_two_looks(done: int, width: float | None, before: float | None, more: bool) -> None:
    precise = replace(BASE, repeats=Precision(half_width_share=0.03), compare="target")
    standing = Standing(
        blocks_done=done, elapsed_ns=0, longest_block_ns=0, half_width_share=width, half_width_before_share=before
    )
    assert (planning.reason_to_stop(precise, standing) is None) is more


def test_what_is_known_is_named_as_what_it_is() -> None:
    precise = replace(BASE, repeats=Precision(half_width_share=0.03))
    done = Standing(blocks_done=6, elapsed_ns=0, longest_block_ns=0, half_width_share=0.02, half_width_before_share=0.03)
    by_hand = replace(BY_HAND, repeats=precise.repeats)
    said = [planning.reason_to_stop(one, done) for one in (precise, replace(precise, compare="target"), by_hand)]
    assert [(text or "").partition(" is known to ±2 %")[0] for text in said] == [
        "every figure",
        "every contrast",
        "a contrast of two sittings like this one",
    ]


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


@each("block", 0, 1, 2, 5)
def test_every_order_of_a_block_is_equally_likely(block: int) -> None:
    seen = Counter("".join(ordered("abc", f"{seed}:0", block)) for seed in range(1200))
    assert len(seen) == 6
    assert max(abs(count - 200) for count in seen.values()) < 65  # five standard deviations of a fair order


def test_pairs_of_blocks_do_not_follow_one_another() -> None:
    """Else the alternation would be as regular as A B B A, which a rhythm of four trials can follow."""
    seen = Counter("".join("".join(ordered("ab", f"{seed}:0", block)) for block in (0, 2)) for seed in range(1000))
    assert len(seen) == 4
    assert max(abs(count - 250) for count in seen.values()) < 70


DIRECTORY = """
title = "t"
question = "q"
repeats = 2
[targets.d]
kind = "ldap_openldap"
[workloads.w]
kind = "ldap_load"
duration = "1 s"
[factors]
FACTOR
[measures]
"w.search.ops_per_s" = {}
"""


@each(
    "factor noted",
    ('"w.connections" = [1, 2]', []),
    ('"w.filter" = ["(uid=u{key:08d})", "(employeeNumber={key})"]', ["w.filter"]),
    ('"d.indexes" = [["uid:eq"], ["objectClass:eq"]]', ["w.filter"]),
)
def test_a_filter_that_no_index_serves_is_told_before_anything_is_run(factor, noted):
    found = planning.plan(read.parse(DIRECTORY.replace("FACTOR", factor), "x.toml"))
    assert [note.subject for note in found.notes if note.subject != "compare"] == noted
