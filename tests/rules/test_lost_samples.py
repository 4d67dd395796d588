import dataclasses

from assay.records import Gap, Observations, State
from assay.rules.lost_samples import RULE
from stage.noise_cases import phase, run, series, trial_case
from stage.rows import each
from stage.said import PASS, hold


def gaps(**longest):
    return tuple(Gap(host="local", phase=None, observer=name, thousandths=each) for name, each in longest.items())


def judged(observations, seconds=10.0):
    return RULE.check(trial_case("E02", run(of=phase(seconds)), observations))


def cpu(*at):
    return series("cpu", "steal_ns", [(second, 0.0) for second in at], source="cpu:/proc/stat")


@each("gap state", (1000, State.PASS), (2000, State.PASS), (2001, State.UNVERIFIED), (9000, State.UNVERIFIED))
def test_more_than_two_intervals_of_silence_are_a_hole(gap, state):
    assert judged(Observations(gaps=gaps(block=gap))).state is state


def test_the_silent_observer_is_named_and_the_punctual_one_is_not():
    finding = judged(Observations(gaps=gaps(block=1100, pressure=3500)))
    assert "3.5" in finding.statement
    assert "block" not in finding.statement
    assert finding.observed == {"pressure.gap_intervals": 3.5}


def test_a_hole_in_a_series_is_found_without_the_labs_word():
    assert judged(Observations(series=(cpu(0, 1, 2, 3, 4, 5, 6, 7, 8, 9),))).state is State.PASS
    finding = judged(Observations(series=(cpu(0, 1, 2, 3, 4, 8, 9),)))
    assert (finding.state, finding.observed) == (State.UNVERIFIED, {"cpu.gap_intervals": 4.0})


def test_a_slow_command_misses_nothing_of_other_evidence_and_its_own_figure_is_judged_by_its_own_steps():
    slow = series("observe", "x", [(at, at) for at in (0, 3, 6, 9, 12)], source="observe.x:counter")
    seen = Observations(series=(slow,), gaps=(Gap(host="local", phase="w.write", observer="observe.x", thousandths=30_000),))
    of = run(of=phase(12.0))
    assert RULE.check(trial_case("E02", of, seen)).state is State.PASS
    own = trial_case("E02", of, seen, figure="@local.observe.x")
    assert RULE.check(own).state is State.PASS
    holed = series("observe", "x", [(at, at) for at in (0, 1, 2, 3, 4, 11, 12)], source="observe.x:counter")
    assert RULE.check(dataclasses.replace(own, observations=Observations(series=(holed,)))).state is State.UNVERIFIED
    other = trial_case("E02", of, Observations(series=(holed,)), figure="@local.observe.xy")
    assert RULE.check(other).state is State.PASS


def test_lost_events_of_tracepoints_are_a_hole_of_their_own():
    whole, lost = (series("tracepoints", "lost_events", [(-1, 0), (11, count)]) for count in (0, 3))
    assert judged(Observations(series=(whole,))).state is State.PASS
    finding = judged(Observations(series=(lost,)))
    assert (finding.state, finding.observed) == (State.UNVERIFIED, {"tracepoints.lost_events": 3})


def test_states():
    hold(
        "what looks at the edges alone has no gaps",
        (judged(Observations(series=(cpu(-5, 0, 10, 11),))), PASS),
        (judged(Observations()), "none was missed"),
        "progress of the load is not an observers",
        (
            judged(Observations(series=(series("application", "write.count", [(at, at) for at in (0, 0.1, 0.2, 0.3, 0.4, 9)]),))),
            PASS,
        ),
        ("a hole after the clock is no hole", judged(Observations(series=(cpu(0, 1, 2, 3, 4, 5, 60),)), seconds=5.0), PASS),
        "what looking cost is no look",
        (
            judged(
                Observations(
                    series=(series("lab", "cpu_ns", [(at, at) for at in (0, 0.001, 0.002, 1, 1.001, 2)], source="sampler"),)
                )
            ),
            PASS,
        ),
    )
