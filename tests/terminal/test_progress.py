"""Progress: a line every 10 s in a pipe, NDJSON where asked, one line on a terminal."""

import io
import json

from assay.terminal.progress import Progress, ProgressMode


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_short_run_writes_nothing_into_a_pipe():
    stream = io.StringIO()
    progress = Progress(ProgressMode.AUTO, 3, stream)
    progress({"event": "started", "trial": 1})
    progress.close()
    assert stream.getvalue() == ""


def test_json_is_one_object_a_line_and_counts_finished_trials():
    stream = io.StringIO()
    progress = Progress(ProgressMode.JSON, 2, stream)
    for event in ("started", "finished"):
        progress({"event": event, "trial": 1})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["event"], line["done"], line["of"]) for line in lines] == [("started", 0, 2), ("finished", 1, 2)]


def test_between_starts_and_ends_it_speaks_once_a_second_at_most():
    stream = io.StringIO()
    progress = Progress(ProgressMode.JSON, 1, stream)
    progress({"event": "started", "trial": 1})
    for _ in range(100):
        progress({"event": "running", "trial": 1})
    assert len(stream.getvalue().splitlines()) == 1


def test_the_line_of_a_terminal_is_taken_away():
    stream = Terminal()
    progress = Progress(ProgressMode.AUTO, 1, stream)
    progress({"event": "started", "trial": 1, "phase": "read"})
    assert "trial 1/1" in stream.getvalue()
    progress.close()
    assert stream.getvalue().endswith("\r")
    assert stream.getvalue().rsplit("\r", 2)[1].strip() == ""


def test_a_pipe_gets_a_line_every_ten_seconds(monkeypatch):
    now = [0]
    monkeypatch.setattr("time.monotonic_ns", lambda: now[0])
    stream = io.StringIO()
    progress = Progress(ProgressMode.AUTO, 3, stream)
    for second in range(1, 36):
        now[0] = second * 10**9
        event = {15: "finished", 16: "started"}.get(second, "running")
        progress({"event": event, "trial": 1 + (second > 15), "workload": "w"})
    progress.close()
    assert stream.getvalue().splitlines() == [
        "trial 1/3  w  running",
        "trial 2/3  w  running  about 26 s left",
        "trial 2/3  w  running  about 16 s left",
    ]


def run(monkeypatch, events, **more):
    """The seconds that are left after each event (at, trial, event), as a program reads them."""
    now = [0]
    monkeypatch.setattr("time.monotonic_ns", lambda: now[0])
    stream = io.StringIO()
    progress = Progress(ProgressMode.JSON, len(more["guesses_s"]), stream, **more)
    for second, trial, event in events:
        now[0] = second * 10**9
        progress({"event": event, "trial": trial})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    return [(line["done"], line["left_s"]) for line in lines]


def test_what_the_finished_trials_took_corrects_the_guess_of_the_rest(monkeypatch):
    """Guessed 10 s and 30 s; the first takes 20 s, so the second is expected to take 60 s."""
    events = [(2, 1, "started"), (12, 1, "running"), (20, 1, "finished"), (20, 2, "started"), (50, 2, "running")]
    told = run(monkeypatch, events, guesses_s={1: 10.0, 2: 30.0})
    assert told == [(0, 40.0), (0, 30.0), (1, 60.0), (1, 60.0), (1, 30.0)]


def test_a_trial_that_is_repeated_is_not_done_and_its_time_counts(monkeypatch):
    events = [(10, 1, "finished"), (10, 2, "started"), (20, 2, "finished"), (20, 2, "started"), (25, 2, "running")]
    told = run(monkeypatch, events, guesses_s={1: 10.0, 2: 10.0})
    assert told == [(1, 10.0), (1, 10.0), (2, 0.0), (1, 10.0), (1, 5.0)]


def test_a_budget_ends_what_is_left(monkeypatch):
    events = [(10, 1, "finished"), (25, 2, "started")]
    told = run(monkeypatch, events, guesses_s=dict.fromkeys(range(1, 1001), 10.0), most_s=30.0)
    assert [left for _, left in told] == [20.0, 5.0]


def test_of_a_trial_that_takes_longer_nothing_is_said(monkeypatch):
    now = [0]
    monkeypatch.setattr("time.monotonic_ns", lambda: now[0])
    stream = io.StringIO()
    progress = Progress(ProgressMode.AUTO, 1, stream, guesses_s={1: 5.0})
    progress({"event": "started", "trial": 1})
    now[0] = 11 * 10**9
    progress({"event": "running", "trial": 1})
    assert stream.getvalue() == "trial 1/1  running\n"


def test_no_progress_is_no_progress():
    stream = Terminal()
    progress = Progress(ProgressMode.NONE, 1, stream)
    progress({"event": "started", "trial": 1})
    progress.close()
    assert stream.getvalue() == ""
