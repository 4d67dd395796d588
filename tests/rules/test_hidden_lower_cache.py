"""T04: a second pass that is too fast, two groups of latencies, and all that looks like them and is not."""

from array import array
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay.records import CacheState, Claim, Direction, Limit, State, Tier
from assay.rules.hidden_lower_cache import RULE, groups
from audit.case_builder import MIB, Made, Seen, case_of, run_of
from stage.rows import each
from stage.said import FAIL, NOT_ASKED, PASS, QUALIFIES, UNVERIFIED, high, hold

DEVICE = Claim(tier=Tier.DEVICE)
ALL = 256 * MIB
DIRECT = {"direct": True}


def one(**made):
    seen = Seen(**{"storage_bytes": ALL, "lower_bytes": ALL, **made.pop("seen", {})})
    return case_of(Made(**{"claim": DEVICE, "knobs": DIRECT, "seen": seen, **made}), "T04")


def passes(times, operation="reread", second_bytes=ALL, **made):
    """A run of a read of one second and a reread that was so many times as fast, as the measure of either sees it."""
    case = one(**made)
    first = run_of(Made()).phases[0]
    length = round(10**9 / times)
    again = replace(
        first,
        name="again",
        operations=("reread",),
        directions={"reread": Direction.READ},
        end_ns=length,
        clients=tuple(
            replace(
                client,
                last_ns=length,
                operations=tuple(replace(total, operation="reread", last_ns=length) for total in client.operations),
            )
            for client in first.clients
        ),
    )
    twice = [replace(r, phase="again", bytes=second_bytes if r.rung == "L2" else r.bytes) for r in case.observations.readings]
    (seen,) = case.observations.histograms
    faster = array("q", [round(upper / times) for upper in seen.upper_ns])
    observations = replace(
        case.observations,
        readings=(*case.observations.readings, *twice),
        histograms=(seen, replace(seen, phase="again", operation="reread", upper_ns=faster)),
    )
    run = replace(case.run, phases=(first, again))
    measure = replace(case.measure, operation=operation)
    phase = again if operation == "reread" else first
    value = ALL * times if operation == "reread" else float(ALL)
    return replace(case, run=run, phase=phase, measure=measure, observations=observations, value=value)


def test_a_second_pass_that_storage_was_not_asked_for_is_the_business_of_others():
    assert RULE.check(passes(6, second_bytes=MIB)).state is not State.FAIL
    assert RULE.check(passes(6, seen={"lower_bytes": MIB})).state is State.UNVERIFIED


FAST, SLOW = 20_000, 5_000_000
GROUPS = (FAST,) * 128 + (SLOW,) * 128


@each(
    "latencies",
    (FAST,) * 256,
    (FAST,) * 240 + (SLOW,) * 16,
    (100_000,) * 128 + (600_000,) * 128,
    tuple(round(FAST * (SLOW / FAST) ** (index / 255)) for index in range(256)),
    (FAST,) * 40 + (SLOW,) * 40,
)
def test_what_is_no_two_groups_passes(latencies):
    assert RULE.check(one(operation="random_read", latencies_ns=latencies)).state is State.PASS


@each("hidden", {"knobs": {**DIRECT, "rate": 300}}, {"knobs": {**DIRECT, "depth": 8}}, {"limits": True})
def test_limits_schedules_and_queues_make_groups_of_their_own(hidden):
    if "limits" in hidden:
        hidden = {"limits": (Limit(device="vda", direction=Direction.READ, ops_per_s=1000),)}
    assert RULE.check(one(operation="random_read", latencies_ns=GROUPS, **hidden)).state is State.UNVERIFIED


def test_a_read_without_latencies_or_second_pass_is_unverified():
    case = one()
    case = replace(case, observations=replace(case.observations, histograms=()))
    assert RULE.check(case).state is State.UNVERIFIED
    assert case.phase.cache_asked is CacheState.UNCHANGED


APART = {"times_apart": 10, "group_share": 0.1, "between_share": 0.1, "least_reads": 1}
SPREAD = st.lists(st.tuples(st.floats(0.8, 1.25), st.integers(1, 50)), min_size=1, max_size=20)


def buckets(middle, spread):
    return [(round(middle * factor), count) for factor, count in spread]


def merged(*parts):
    counts = {}
    for upper, count in (one for part in parts for one in part):
        counts[upper] = counts.get(upper, 0) + count
    return sorted(counts.items())


@given(SPREAD, SPREAD, st.integers(10_000, 1_000_000), st.integers(20, 2000))
def test_groups_that_are_far_apart_are_found_unless_one_is_small(fast, slow, middle, times):
    quick, late = buckets(middle, fast), buckets(middle * times, slow)
    share = sum(count for _, count in quick) / sum(count for _, count in (*quick, *late))
    found = groups(merged(quick, late), APART)
    if 0.1 <= share <= 0.9:
        assert found is not None
        assert abs(found[0] - share) < 1e-9
        assert round(0.8 * middle) <= found[1] <= round(1.25 * middle)
    else:
        assert found is None


@given(SPREAD, st.integers(10_000, 10_000_000))
def test_one_group_is_one(spread, middle):
    assert groups(merged(buckets(middle, spread)), APART) is None


@given(st.integers(3, 60), st.integers(1000, 100_000))
def test_a_slope_over_three_powers_of_ten_is_one_group(steps, lowest):
    assert groups([(round(lowest * 1000 ** (step / (20 * steps))), 10) for step in range(20 * steps)], APART) is None


def test_nothing_is_no_group():
    assert groups([], APART) is None


def test_states():
    hold(
        "a second pass that is much faster is qualified and bounded by the first",
        (RULE.check(passes(6)), FAIL, QUALIFIES, high(ALL), "vda"),
        ("the first pass is not accused of what the second shows", RULE.check(passes(6, operation="read")), PASS),
        ("passes alike show nothing and exclude nothing", RULE.check(passes(1.2)), PASS, "not excluded"),
        ("without a look at the devices the second pass still tells", RULE.check(passes(6, seen={"lower_bytes": None})), FAIL),
        "two groups far apart are a mixture",
        (
            RULE.check(one(operation="random_read", latencies_ns=GROUPS, figure="ops_per_s")),
            FAIL,
            QUALIFIES,
            {"fast_share": 0.5},
            high(256 * 0.502),
        ),
        ("buffered reads are told how to ask", RULE.check(one(knobs={})), UNVERIFIED),
        ("writes are not its business", RULE.applies(one(operation="write")), NOT_ASKED),
    )
