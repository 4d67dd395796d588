"""Progress: a line every 10 s in a pipe, NDJSON where asked, one line on a terminal."""

import io
import itertools
import json
import threading

from assay.terminal.courses import Expected
from assay.terminal.progress import Progress, ProgressMode
from assay.terminal.remaining import Remaining


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def schedule(guesses_s, **more):
    """A schedule of one cell for each trial."""
    return Remaining(trials={number: Expected(cell=str(number), guess_s=one) for number, one in guesses_s.items()}, **more)


def of(trials):
    return schedule(dict.fromkeys(range(1, trials + 1), 1.0))


def test_json_is_one_object_a_line_at_starts_and_ends_and_once_a_second_between():
    stream = io.StringIO()
    progress = Progress(ProgressMode.AUTO, of(3), stream)
    progress({"event": "started", "trial": 1})
    assert stream.getvalue() == "", "a short run writes nothing into a pipe"
    progress = Progress(ProgressMode.JSON, of(2), stream)
    progress({"event": "started", "trial": 1})
    for _ in range(100):
        progress({"event": "running", "trial": 1})
    progress({"event": "finished", "trial": 1})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["event"], line["done"], line["of"]) for line in lines] == [("started", 0, 2), ("finished", 1, 2)]


def test_the_line_of_a_terminal_is_taken_away():
    stream = Terminal()
    Progress(ProgressMode.NONE, of(1), stream)({"event": "started", "trial": 1})
    assert stream.getvalue() == ""
    progress = Progress(ProgressMode.AUTO, of(1), stream)
    with progress.beating():
        progress({"event": "started", "trial": 1, "phase": "read"})
        assert "trial 1/1" in stream.getvalue()
    assert stream.getvalue().endswith("\r")
    assert stream.getvalue().rsplit("\r", 2)[1].strip() == ""


def test_a_line_comes_also_where_nothing_happens(monkeypatch):
    """A stage without news: the clock goes on by itself, and the line is written all the same."""
    now = itertools.count(0, 4 * 10**9)
    monkeypatch.setattr("time.monotonic_ns", lambda: next(now))
    written = threading.Event()

    class Seen(io.StringIO):
        def write(self, text):
            written.set()
            return super().write(text)

    stream = Seen()
    progress = Progress(ProgressMode.AUTO, of(2), stream)
    with progress.beating():
        progress({"event": "preparing", "trial": 1})
        assert written.wait(60)
    assert "trial 1/2  preparing" in stream.getvalue()


def test_a_pipe_gets_a_line_every_ten_seconds(monkeypatch):
    now = [0]
    monkeypatch.setattr("time.monotonic_ns", lambda: now[0])
    stream = io.StringIO()
    progress = Progress(ProgressMode.AUTO, of(3), stream)
    for second in range(1, 36):
        now[0] = second * 10**9
        event = {1: "started", 15: "finished", 16: "started"}.get(second, "running")
        progress({"event": event, "trial": 1 + (second > 15), "workload": "w"})
    shown = stream.getvalue().splitlines()
    assert [line.rsplit("  ", 1)[0] for line in shown] == [
        "trial 1/3  w  running",
        "trial 2/3  w  running",
        "trial 2/3  w  running",
    ]
    assert all(line.endswith(" left") for line in shown)


def test_programs_get_the_number_with_its_range(monkeypatch):
    now = [0]
    monkeypatch.setattr("time.monotonic_ns", lambda: now[0])
    stream = io.StringIO()
    progress = Progress(ProgressMode.JSON, schedule({1: 10.0, 2: 30.0}), stream)
    for second, trial, event in ((2, 1, "started"), (12, 1, "finished"), (12, 2, "started"), (20, 2, "running")):
        now[0] = second * 10**9
        progress({"event": event, "trial": trial})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["done"] for line in lines] == [0, 1, 1, 1]
    assert all(line["left_low_s"] <= line["left_s"] <= line["left_high_s"] for line in lines)
    assert lines[0]["left_s"] > lines[-1]["left_s"] > 0


def test_of_a_precision_the_most_is_named(monkeypatch):
    stream = io.StringIO()
    progress = Progress(ProgressMode.AUTO, schedule(dict.fromkeys(range(100), 1.0), fewest_blocks=6), stream)
    now = progress._line.started_ns + 11 * 10**9
    monkeypatch.setattr("time.monotonic_ns", lambda: now)
    progress({"event": "started", "trial": 0})
    assert stream.getvalue().startswith("trial 1, at most 100  started  ")


def test_a_stream_that_takes_nothing_costs_no_trial():
    class Full(Terminal):
        def write(self, text):
            raise OSError(28, "No space left on device")

    progress = Progress(ProgressMode.AUTO, of(1), Full())
    with progress.beating():
        progress({"event": "started", "trial": 1})
