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
        progress({"event": "finished" if second == 15 else "running", "trial": 1, "workload": "w"})
    progress.close()
    assert stream.getvalue().splitlines() == [
        "trial 1/3  w  running",
        "trial 2/3  w  running  about 40 s left",
        "trial 2/3  w  running  about 60 s left",
    ]


def test_no_progress_is_no_progress():
    stream = Terminal()
    progress = Progress(ProgressMode.NONE, 1, stream)
    progress({"event": "started", "trial": 1})
    progress.close()
    assert stream.getvalue() == ""
