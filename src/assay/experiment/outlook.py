"""What a schedule will take and what it can show: trials, time, the effect it can detect, the effect it can prove to matter."""

from __future__ import annotations

import math
import posixpath
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist

from assay import catalogue
from assay.catalogue import Order
from assay.experiment import design, spread
from assay.experiment.named_hosts import LOCAL as LOCAL_HOST
from assay.experiment.plan import LEAST_PRECISE, History, Standing, combinations
from assay.experiment.target_pace import Layer, changed, layers_of, pace
from assay.records import (
    Change,
    DesignKind,
    Endpoint,
    EndpointKind,
    Experiment,
    Pairs,
    Plan,
    Precision,
    Trial,
    Value,
    WorkloadSpec,
)
from assay.statistics import effects, intervals, significance
from assay.statistics.significance import LEVEL, MOST_NEEDED, POWER, Design, noncentrality

ANYWHERE = Endpoint(kind=EndpointKind.DIRECTORY, address="/")
TRIAL_S, PHASE_S, AROUND_S = 0.9, 0.25, 1.5
"""What the lab itself takes: facts, engines and audit of a trial; quiet, idle baseline, arming and drain of a phase; start
and conclusion of an experiment. Fitted to eight experiments on two CPUs (benchmarks/plan_time.py)."""
CONNECT_S, ATTEND_S, ARM_S = 0.16, 0.15, 0.15
"""What each far host adds to an experiment, to each trial (facts, mounts) and to each phase (looks, arming, clocks, drain).
Connecting to 30 took 4.7 s. A trial of five phases took 17 s with one host and 120 s with 30, on two busy CPUs where a trial
without far hosts took four times its guess."""
MOUNT_S = 0.2
"""What each client's mount of a server takes, with its undoing."""
REPEATED = 1.2
"""Runs that noise spoils are repeated; the repeats take at most half as long as the first runs."""
UNKNOWN_CVS = (0.01, 0.03, 0.10)
"""Where nothing is known of the spread, three cases are shown."""


@dataclass(frozen=True, kw_only=True)
class PlannedEffect:
    """What can be shown of a measure with this spread; None where the blocks are too few."""

    measure: str | None
    """None: any measure whose spread is not known, if it were this."""
    cv_share: float
    detectable_share: float | None
    provable_share: float | None
    blocks: int
    """With so many: those that the precision asked for is expected to take, else all."""
    needed: int | None = None
    """So many would detect a difference that matters, 80 times of 100; None beyond MOST_NEEDED, and where nothing is compared."""


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What a schedule will take and what it can show."""

    trials: int
    blocks: int
    """Of each sitting; where precision or budget decide: what the budget is expected to allow, else what is drawn."""
    duration_ns: int
    shortest_ns: int
    """The same where a precision is asked for and reached as soon as it can be."""
    duration_from: str
    """`history`: of the same trials; `others`: a guess, corrected by trials of other experiments; `workloads`: a guess."""
    compare: str | None
    contrasts: int
    """Candidates times conditions: how often each measure is compared; with a design the effects that it estimates."""
    design: Design
    effects: tuple[PlannedEffect, ...]
    family_size: int = 1
    """Contrasts of the measures that decide, which are held together: a difference must stand among them."""
    secondary_size: int = 0
    """Contrasts of all other measures, which are held together by their false discoveries."""
    by_dunnett: bool = False
    """Whether several candidates stand against one baseline, mixed in time."""


def outlook(experiment: Experiment, plan: Plan, history: History | None = None) -> Outlook:
    """Return what the plan will take and can show. With an unknown spread, effects are given for CV 1, 3 and 10 %."""
    known = history or History()
    per_block = len(combinations(experiment))
    block_ns = _block_ns(experiment, known)
    blocks = _blocks(experiment, plan, block_ns)
    trials, around_ns = blocks * per_block * len(plan.sittings), int(1e9 * around_s(experiment))
    return Outlook(
        trials=trials,
        blocks=blocks,
        duration_ns=around_ns + blocks * block_ns * len(plan.sittings),
        shortest_ns=around_ns + _fewest(experiment, blocks) * block_ns * len(plan.sittings),
        duration_from=_source(known),
        compare=experiment.compare,
        contrasts=_contrasts(experiment),
        design=_design(experiment),
        effects=_effects(experiment, blocks // (experiment.slices or 1), known),
        family_size=_family_size(experiment),
        secondary_size=_secondary_size(experiment),
        by_dunnett=_by_dunnett(experiment),
    )


def _source(known: History) -> str:
    if known.trial_ns is not None:
        return "history"
    return "workloads" if known.times is None else "others"


def _blocks(experiment: Experiment, plan: Plan, block_ns: int) -> int:
    """Blocks to be expected of each sitting: at least one starts whatever the budget."""
    if experiment.budget_ns is None:
        return plan.blocks
    fitting = experiment.budget_ns // len(plan.sittings) // max(block_ns, 1)
    return max(1, min(plan.blocks, fitting))


def _fewest(experiment: Experiment, blocks: int) -> int:
    """Blocks of each sitting after which the schedule can end at the earliest."""
    return min(LEAST_PRECISE, blocks) if isinstance(experiment.repeats, Precision) else blocks


def _block_ns(experiment: Experiment, history: History) -> int:
    """Return how long one block takes."""
    every = combinations(experiment)
    if history.trial_ns is not None:
        return history.trial_ns * len(every)
    is_once = experiment.soak is not None or experiment.slices is not None  # no piece, no slice is done again
    guess_s = sum(trial_s(experiment, levels) for levels in every)
    return int(1e9 * (1.0 if is_once else REPEATED) * (history.times or 1) * guess_s)


def trial_s(experiment: Experiment, levels: Mapping[str, Value]) -> float:
    """Guess how long an undisturbed trial takes; of a duet a slice with its share of the preparation."""
    whole = _whole_s(experiment, levels)
    if experiment.slices is None:
        return whole
    lengths = [changed(workload, levels).get("duration") for workload in experiment.workloads]
    measured = [PHASE_S + length / 1e9 for length in lengths if isinstance(length, int)]
    slice_s = TRIAL_S + sum(measured) if measured else whole
    return min(whole, slice_s + max(0.0, whole - slice_s) / experiment.slices)


def _whole_s(experiment: Experiment, levels: Mapping[str, Value]) -> float:
    """Guess a trial with all of it: targets, mounts, the work of its workloads, what is around each phase."""
    first = experiment.first_target
    wanted = levels.get("target", first.name if first else None)
    layers = layers_of(experiment, next((one for one in experiment.targets if one.name == wanted), None), levels)
    fast = pace(experiment, layers, levels)
    total = TRIAL_S + sum(one.plug.seconds(one.knobs)[1] for one in layers)
    attending: set[str] = set()
    mounts = 0
    for workload in experiment.workloads:
        if levels.get("workload", workload.name) != workload.name:
            continue
        plug = catalogue.find("workloads", workload.kind)
        own = {
            **changed(workload, levels),
            "clients": experiment.clients(workload, levels),
            **_existing_tree(workload, layers, levels),
        }
        order = Order(workload=workload.name, knobs=own, endpoints=(ANYWHERE,), seed=0)
        hosts = experiment.load_hosts(workload, levels)
        far = {name for name in hosts if name != LOCAL_HOST}
        attending |= far
        mounts = max(mounts, experiment.clients(workload, levels))
        phase_s = PHASE_S + ARM_S * len(far)
        total += phase_s * len(plug.phases(order)) + plug.seconds(own, replace(fast, cpus=fast.cpus * len(hosts)))
    mounted = sum(one.plug.mounts_each(one.knobs) for one in layers[:1]) * mounts
    return total + ATTEND_S * len(attending) + MOUNT_S * mounted


def _existing_tree(workload: WorkloadSpec, layers: tuple[Layer, ...], levels: Mapping[str, Value]) -> dict[str, Value]:
    """Return the knob of an existing tree as it is on this machine, so that its size is known; nothing without one."""
    tree = changed(workload, levels).get("tree")
    first = next(iter(layers), None)
    if not isinstance(tree, str) or first is None or not first.plug.read_only or first.spec.host != LOCAL_HOST:
        return {}
    home = first.knobs.get("path")
    return {"tree": posixpath.join(home, tree)} if isinstance(home, str) else {}


def guesses_s(experiment: Experiment, trials: Collection[Trial]) -> dict[object, float]:
    """Guess each trial by its number; trials with the same levels take the same time."""
    known: dict[str, float] = {}
    for one in trials:
        if (levels := repr(one.levels)) not in known:
            known[levels] = trial_s(experiment, one.levels)
    return {one.id: known[repr(one.levels)] for one in trials}


def around_s(experiment: Experiment) -> float:
    """Guess how long it takes to connect and to install all targets before the trials, and to conclude and report after them."""
    first = {factor.path: factor.levels[0] for factor in experiment.factors if factor.levels}
    images = (catalogue.find("targets", one.kind).seconds(changed(one, first))[0] for one in experiment.used_targets())
    far = [name for name in spread.taking_part(experiment) if name != LOCAL_HOST]
    return AROUND_S + CONNECT_S * len(far) + sum(images)


def _contrasts(experiment: Experiment) -> int:
    """Pairs of the compared factor times the combinations of the other levels; effects where a design has none."""
    if experiment.compare is None and experiment.design is not None:
        return len(estimated(experiment))
    number = 0 if experiment.compare is None else 1
    for factor in experiment.factors:
        held = (len(experiment.baselines(factor, level)) for level in factor.levels)
        number *= sum(held) if factor.path == experiment.compare else len(factor.levels)
    return number


def _family_size(experiment: Experiment) -> int:
    """Count the contrasts of the measures that decide; a measure has contrasts with its own workload only."""
    primary = [one for one in experiment.compared_measures() if experiment.decides_by(one.name)]
    return max(1, _of_a_measure(experiment) * len(primary))


def _secondary_size(experiment: Experiment) -> int:
    secondary = [one for one in experiment.compared_measures() if not experiment.decides_by(one.name)]
    return _of_a_measure(experiment) * len(secondary) if experiment.compare is not None else 0


def _of_a_measure(experiment: Experiment) -> int:
    workloads = next((len(factor.levels) for factor in experiment.factors if factor.path == "workload"), 1)
    return _contrasts(experiment) // workloads


def _by_dunnett(experiment: Experiment) -> bool:
    factor = next((one for one in experiment.factors if one.path == experiment.compare), None)
    if factor is None or factor.change is Change.MANUAL or experiment.pairs is Pairs.ALL:
        return False
    return len(factor.levels) > 2


def _design(experiment: Experiment) -> Design:
    by_hand = {factor.path for factor in experiment.factors if factor.change is Change.MANUAL}
    return Design.INDEPENDENT if experiment.compare in by_hand else Design.PAIRED


def _effects(experiment: Experiment, blocks: int, history: History) -> tuple[PlannedEffect, ...]:
    if experiment.compare is None and experiment.design is None:
        return ()
    names = [measure.name for measure in experiment.measures]
    known = [(name, history.cv[name]) for name in names if name in history.cv]
    unknown = [(None, cv) for cv in UNKNOWN_CVS] if len(known) < len(names) else []
    return tuple(_effect(experiment, blocks, name, cv) for name, cv in (*known, *unknown))


def _effect(experiment: Experiment, blocks: int, measure: str | None, cv: float) -> PlannedEffect:
    """Return what can be shown with this spread: of the compared levels, else of the factor that the design tells least of.

    Of several contrasts a difference is shown by the strictest level of their procedure, where no other one differs; that it
    matters is shown by the interval of its own.
    """
    needed = _needed(experiment, measure, cv)
    blocks = min(blocks, _precise(experiment, cv))
    if experiment.compare is None:
        among = alone = log_effect(experiment, blocks, cv)
    else:
        arms = _design(experiment)
        among = significance.log_effect(blocks, cv, arms, level=_strictest(experiment, measure))
        alone = significance.log_effect(blocks, cv, arms)
    if among is None or alone is None:
        return PlannedEffect(
            measure=measure, cv_share=cv, detectable_share=None, provable_share=None, blocks=blocks, needed=needed
        )
    proved = math.expm1(max(among, math.log1p(experiment.matters_share) + alone))
    return PlannedEffect(
        measure=measure, cv_share=cv, detectable_share=math.expm1(among), provable_share=proved, blocks=blocks, needed=needed
    )


def _strictest(experiment: Experiment, measure: str | None) -> float:
    """Return the level of one contrast of a measure among its family; of an unknown one that of those that decide."""
    if measure is None or experiment.decides_by(measure):
        return LEVEL / _family_size(experiment)
    many = max(1, _secondary_size(experiment))
    return LEVEL / (many * significance.false_discovery_factor(many))


def _needed(experiment: Experiment, measure: str | None, cv: float) -> int | None:
    """Return the smallest number of blocks with which a difference that matters is detected."""
    if experiment.compare is None or experiment.matters_share <= 0:
        return None
    wanted, arms, level = math.log1p(experiment.matters_share), _design(experiment), _strictest(experiment, measure)

    def enough(blocks: int) -> bool:
        seen = significance.log_effect(blocks, cv, arms, level=level)
        return seen is not None and seen <= wanted

    errors = NormalDist().inv_cdf(1 - level / 2) + NormalDist().inv_cdf(POWER)  # of many blocks: with few it takes some more
    first = max(2, math.ceil(2 * (errors * cv / wanted) ** 2))
    return next(filter(enough, range(first, MOST_NEEDED + 1)), None)


def _precise(experiment: Experiment, cv: float) -> int:
    """Blocks after which the precision asked for is expected with this spread, with one more for the second look."""
    if not isinstance(experiment.repeats, Precision):
        return sys.maxsize
    arms = 1 if experiment.compare is None else math.sqrt(2)
    within = intervals.values_within(math.asinh(experiment.repeats.half_width_share), cv * arms)
    return max(LEAST_PRECISE, within + 1)


def blocks_needed(experiment: Experiment, standing: Standing) -> tuple[int, int, int] | None:
    """Return after how many blocks the precision is expected: at least, about, at most (nine in ten); None without an interval.

    The spread of so many blocks is known no better than a chi distribution says.
    """
    width, done = standing.half_width_share, standing.blocks_done
    if not isinstance(experiment.repeats, Precision) or width is None or done < 2:
        return None
    spread = intervals.spread_of(math.asinh(width), done)
    goal, least = math.asinh(experiment.repeats.half_width_share), max(LEAST_PRECISE, done + 1)
    narrow, wide = intervals.spread_bounds(done)
    low, about, high = (max(least, intervals.values_within(goal, spread * times) + 1) for times in (narrow, 1.0, wide))
    return low, about, high


def estimated(experiment: Experiment) -> tuple[effects.Effect, ...]:
    """Return the effects that the design of an experiment estimates; interactions only where they can be told."""
    rows = design.rows(experiment, design.varying(experiment.factors))
    if experiment.design is DesignKind.ONE_AT_A_TIME:
        return effects.alone(rows)
    return effects.crossed(rows, pairs=experiment.design is not DesignKind.SCREENING)


def expected_freedom(combinations: int, blocks: int) -> float:
    """Degrees of freedom that Welch and Satterthwaite give so many combinations whose spreads are alike.

    They are (sum s)^2 / sum(s^2 / f) of estimated variances s with f = blocks - 1 each, of which E s^2 = 1 + 2 / f.
    """
    each = blocks - 1
    return (combinations * each + 2) / (1 + 2 / each)


def log_effect(experiment: Experiment, blocks: int, cv: float) -> float | None:
    """Return the difference of logarithms that a design detects of any factor (80 % power); None with fewer than two blocks."""
    own = [one.weights for one in estimated(experiment) if len(one.steps) == 1]
    if blocks < 2 or not own:
        return None
    each = max(own, key=lambda weights: sum(weight**2 for weight in weights))
    freedom = min((blocks - 1) * (len(each) - 1), expected_freedom(sum(weight != 0 for weight in each), blocks))
    return (
        noncentrality(max(1, round(freedom)), level=LEVEL, power=POWER)
        * cv
        * math.sqrt(sum(weight**2 for weight in each) / blocks)
    )
