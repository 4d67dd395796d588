"""When a run that noise spoiled is done again: only if a repeat can mend it, and while there is time. What has ended is kept."""

import os
import signal
from dataclasses import replace

import pytest

from assay.laboratory.campaign import Campaign, RepeatBudget, attempted, execute, spoiled_by_noise, spoilers
from assay.notebook import read
from assay.notebook.store import Store
from assay.records import Outcome, Severity, State
from stage import notebook_records as made
from stage.rows import each


def lasting(seconds):
    run = made.run(made.plan(made.experiment(), 1).trials[0])
    return replace(run, started_utc="2026-01-01T00:00:00+00:00", ended_utc=f"2026-01-01T00:00:{seconds:02}+00:00")


@each("grows after_one", (False, 20.0), (True, 2.0))
def test_repeats_take_half_of_the_first_attempts_and_no_more(grows, after_one):
    patience = RepeatBudget(trials=10, grows=grows)
    patience.spend(lasting(4), 1)
    assert patience.left_ns() / 1e9 == after_one
    patience.spend(lasting(4), 2)
    assert patience.left_ns() / 1e9 == after_one - 4


def test_only_what_a_repeat_can_mend_is_repeated():
    one = made.judged(made.run(made.plan(made.experiment(), 1).trials[0]), {made.RATE: 1.0})
    assert spoiled_by_noise(tuple(one.verdicts.values())) == ()
    (noisy,) = made.disturbed(one).verdicts.values()
    assert spoiled_by_noise((noisy,)) == ("N02",)
    lie = replace(noisy.findings[0], rule="T01", part="tier", state=State.FAIL, severity=Severity.INVALIDATES)
    assert spoiled_by_noise((replace(noisy, findings=(*noisy.findings, lie)),)) == ()


@each(
    "outcome late again",
    (Outcome.PARTIAL, True, True),
    (Outcome.PARTIAL, False, False),  # a client was lost, or an event did not happen
    (Outcome.FAILED, False, False),
    (Outcome.FINISHED, False, False),
)
def test_a_partial_run_of_which_a_client_waited_for_a_cpu_is_repeated(outcome, late, again):
    run = made.run(made.plan(made.experiment(), 1).trials[0], outcome=outcome)
    assert bool(spoilers(replace(run, started_late=late), ())) is again


@each("noise_counts attempts", (False, 3), (True, 1))
def test_a_gate_that_lets_noise_through_repeats_nothing_for_it(noise_counts, attempts, tmp_path, monkeypatch):
    asked, done = made.experiment(), []

    def noisy(campaign, runner, trial, attempt):
        done.append(attempt)
        run = made.run(trial)
        return run, tuple(made.disturbed(made.judged(run, {made.RATE: 1.0})).verdicts.values())

    monkeypatch.setattr("assay.laboratory.campaign.attempted", noisy)
    home = tmp_path / str(noise_counts)
    with Store.create(home, asked, made.plan(asked), "") as store:
        campaign = Campaign(store=store, on_progress=lambda news: None, noise_counts=noise_counts)
        execute(campaign, None, store.plan.trials[0], RepeatBudget(trials=10))
    assert len(done) == attempts


class Ended:
    """A runner whose trial has ended, and somebody who then presses Ctrl-C while it is being kept."""

    def run(self, trial, attempt, _):
        os.kill(os.getpid(), signal.SIGINT)
        return replace(made.run(trial), attempt=attempt), made.observations()


def test_a_run_that_has_ended_is_kept_before_an_interrupt_ends_the_schedule(tmp_path):
    asked = made.experiment()
    with Store.create(tmp_path, asked, made.plan(asked), "") as store:
        campaign = Campaign(store=store, on_progress=lambda news: None)
        with pytest.raises(KeyboardInterrupt):
            attempted(campaign, Ended(), store.plan.trials[0], 1)
        assert [run.outcome for run in read.runs(store.folder)] == [Outcome.FINISHED]
