"""N05: waiting, swapping and killing, alone and together, at the edges of the clock, under a declared limit, unseen."""

from dataclasses import replace

from assay.records import Observations, OperationTotal, Severity, State, WorkloadSpec, missing_on
from assay.rules.memory_pressure import RULE
from stage.noise_cases import phase, run, series, trial_case
from stage.rows import each
from stage.said import FAIL, PASS, QUALIFIES, UNVERIFIED, high, hold


def case(*, waited=(0.0, 0.0), swapped=(0.0, 0.0), killed=0.0, memory=None, missing=None):
    """Ten seconds; each pair is what was counted at the start and at the end, waiting in s."""
    points = [
        ("pressure", "memory_some_ns", waited and [(0.0, waited[0] * 1e9), (10.0, waited[1] * 1e9)]),
        ("memory", "swapped_in_pages", swapped and [(0.0, 0.0), (10.0, swapped[0])]),
        ("memory", "swapped_out_pages", swapped and [(0.0, 0.0), (10.0, swapped[1])]),
        ("memory", "out_of_memory_kills", [(0.0, 0.0), (10.0, killed)]),
    ]
    seen = Observations(series=tuple(series(*one) for one in points if one[2]), missing=missing_on("local", None, missing or {}))
    found = trial_case("N05", run(of=phase(10.0)), seen)
    spec = WorkloadSpec(name="w", kind="bulk_io", knobs={} if memory is None else {"memory": memory})
    return replace(found, experiment=replace(found.experiment, workloads=(spec,)))


@each(
    "seen state severity",
    ({"waited": (0.0, 0.1)}, State.PASS, Severity.QUALIFIES),
    ({"waited": (0.0, 0.3)}, State.FAIL, Severity.NOTES),
    ({"waited": (0.0, 1.0)}, State.FAIL, Severity.QUALIFIES),
    ({"waited": (5.0, 5.1)}, State.PASS, Severity.QUALIFIES),
    ({"swapped": (100, 155)}, State.PASS, Severity.QUALIFIES),
    ({"swapped": (100, 156)}, State.FAIL, Severity.NOTES),
    ({"swapped": (100, 156), "waited": None}, State.FAIL, Severity.QUALIFIES),
    ({"killed": 1}, State.FAIL, Severity.NOTES),
)
def test_each_sign_counts_by_the_waiting(seen, state, severity):
    found = RULE.check(case(**seen))
    assert (found.state, found.severity) == (state, severity)


def test_what_was_waited_outside_the_clock_is_taken_off():
    """A look 1 s before the start and one 1 s after the end: 2 s of waiting may all lie outside."""
    one = case()
    wide = series("pressure", "memory_some_ns", [(-1.0, 0.0), (11.0, 2e9)])
    others = tuple(item for item in one.observations.series if item.layer != "pressure")
    assert RULE.check(replace(one, observations=replace(one.observations, series=(*others, wide)))).state is State.PASS
    longer = series("pressure", "memory_some_ns", [(-1.0, 0.0), (11.0, 2.3e9)])
    assert RULE.check(replace(one, observations=replace(one.observations, series=(*others, longer)))).state is State.FAIL


@each("pages state", (100, State.PASS), (2_000, State.FAIL))
def test_pages_given_up_and_read_in_again_are_a_note(pages, state):
    """Of 100 MB that the load wrote 5 % are 1,221 pages."""
    one = case()
    again = series("memory", "refaulted_file_pages", [(0.0, 50.0), (10.0, 50.0 + pages)])
    (client,) = one.phase.clients
    total = OperationTotal(operation="write", count=100, bytes=100_000_000, errors=0, busy_ns=1, first_ns=0, last_ns=10**10)
    wrote = replace(one.phase, clients=(replace(client, operations=(total,)),))
    found = RULE.check(
        replace(one, phase=wrote, observations=replace(one.observations, series=(*one.observations.series, again)))
    )
    assert found.state is state
    assert found.severity is (Severity.NOTES if state is State.FAIL else Severity.QUALIFIES)
    assert RULE.check(replace(one, phase=wrote)).observed["again_share"] is None


def test_states():
    hold(
        ("a quiet host passes", RULE.check(case()), PASS, "0 %"),
        ("a few pages are told", RULE.check(case(swapped=(3, 4))), PASS, "7 pages"),
        "waiting bounds the figure whoever was killed",
        (RULE.check(case(waited=(0.0, 1.0), killed=2)), QUALIFIES, high(50e6 / 0.9), "10 %"),
        "a limit that is meant is felt",
        (RULE.check(case(waited=(0.0, 5.0), swapped=(900, 900), memory=1 << 26)), PASS, {"swapped_pages": 1800}),
        (RULE.check(case(killed=1, memory=1 << 26)), FAIL),
        "what nobody saw is unverified and says how to see it",
        (RULE.check(case(waited=None, missing={"pressure.memory_some_ns": "the kernel was built without PSI"})), UNVERIFIED),
        (RULE.check(case(swapped=None)), UNVERIFIED),
        (RULE.check(case(waited=None, killed=1)), FAIL),
    )
