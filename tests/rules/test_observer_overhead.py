"""E04: what looking took of a processor, by the lab's own account; what else costs is seen by pairs alone."""

from assay.audit.judge import examine
from assay.records import Observations, State
from assay.rules.observer_overhead import RULE
from stage.noise_cases import phase, run, series, trial_case
from stage.rows import each
from stage.said import FAIL, NOT_ASKED, PASS, UNVERIFIED, hold

MS = 1_000_000


def judged(*found, seconds=10.0):
    return examine(RULE, trial_case("E04", run(of=phase(seconds)), Observations(series=found)))


def looks(*points, subject=""):
    return series("lab", "cpu_ns", list(points), subject=subject, source="sampler")


@each("spent_ms state", (5, State.PASS), (200, State.PASS), (201, State.FAIL), (5000, State.FAIL))
def test_more_than_two_per_cent_of_a_processor_is_too_much(spent_ms, state):
    assert judged(looks((-0.1, 0), (0.5, 0), (9.9, spent_ms * MS))).state is state


def test_states():
    hold(
        "looks before and after the clock are no cost to it",
        (judged(looks((-0.2, 300 * MS), (-0.1, 900 * MS), (5, 901 * MS), (10.1, 1900 * MS))), PASS, {"cpu_ns": MS}),
        ("a phase without a look inside cost nothing", judged(looks((-0.1, 5 * MS), (10.2, 12 * MS))), {"cpu_share": 0}),
        "a program beside the phase counts from edge to edge and is named",
        (
            judged(looks((-0.1, 0), (10.1, 0)), looks((-0.1, 40 * MS), (10.1, 540 * MS), subject="observer:tracepoints")),
            FAIL,
            "5 %",
            "tracepoints included",
        ),
        ("without an account it is not known", judged(), UNVERIFIED, "lab.cpu_ns"),
        "another phases cost is not this ones",
        (judged(looks((-0.1, 0), (9, 0))), {"cpu_share": 0}),
        (examine(RULE, trial_case("E04", run(of=phase(0.0)), Observations())), NOT_ASKED),
    )
