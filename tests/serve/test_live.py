"""A running trial as the pages see it: rates, ladder, stages; rows are kept for watchers alone; our CPU time is the lab's own."""

import os
import re
import threading
import time

import pytest

import cli_notebook
import notebook_records as made
from assay.hosts.local import Local
from assay.laboratory.campaign import LiveRows
from assay.machine import notebook_watchers
from assay.notebook import index
from assay.notebook.store import Store
from assay.serve.live import Feed
from served_notebook import served

FILE = """
title = "Some writes"
question = "How fast?"
repeats = 1

[targets.here]
kind = "directory"
path = "{path}"

[workloads.w]
kind = "bulk_io"
operations = ["write"]
size = "64 MiB"
record_size = "64 KiB"
duration = "{seconds} s"
quiesce = "0 s"

[measures]
"w.write.bytes_per_s" = {{}}
"""
RUNNING = {"trial": 1, "attempt": 1, "workload": "w", "phase": "write", "event": "running"}


@pytest.fixture
def store(tmp_path):
    asked = made.experiment()
    with Store.create(tmp_path / "lab", asked, made.plan(asked), made.TEXT) as kept:
        yield kept


def put(store, *rows):
    for row in rows:
        store.live(row)


def shift(store, *seconds):
    """Give the rows these times."""
    for number, second in enumerate(seconds, 1):
        at = f"2026-01-01T00:00:{second:06.3f}+00:00"
        store.database.execute("UPDATE live SET at_utc = ? WHERE id = ?", (at, number))


def fed(store):
    feed = Feed(folder=store.folder)
    feed.look()
    return feed


def test_rates_are_those_between_the_last_two_rows(store):
    rows = [{**RUNNING, "operations": {"write": {"count": count, "bytes": count * 10}}} for count in (100, 300)]
    put(store, {"trial": 1, "attempt": 1, "event": "started"}, *rows)
    shift(store, 0, 1, 2.5)
    (rate,) = fed(store).rates()
    assert (rate.operation, rate.count, rate.bytes) == ("write", 300, 3000)
    assert rate.per_s == pytest.approx(200 / 1.5)
    assert rate.bytes_per_s == pytest.approx(2000 / 1.5)
    assert "<polyline" in fed(store).course() or "<circle" in fed(store).course()


def test_a_phase_is_not_compared_with_the_one_before(store):
    first = {**RUNNING, "operations": {"write": {"count": 500, "bytes": 0}}}
    second = {**RUNNING, "phase": "again", "operations": {"write": {"count": 10, "bytes": 0}}}
    put(store, first, second)
    (rate,) = fed(store).rates()
    assert (rate.per_s, rate.count) == (0.0, 10)


def test_the_ladder_has_what_passed_since_the_phase_began(store):
    def row(count, device):
        passed = {"vda": {"read_bytes": 7, "write_bytes": device}}
        return {**RUNNING, "operations": {"write": {"count": 1, "bytes": count}}, "passed": passed, "dirty_bytes": 5}

    begun = {
        **RUNNING,
        "devices": ["vda"],
        "directions": {"write": "write"},
        "passed": {"vda": {"read_bytes": 7, "write_bytes": 1000}},
    }
    put(store, begun, row(4000, 1500), row(9000, 4000))
    top, device = fed(store).ladder()
    assert (top.name, top.read_bytes, top.write_bytes, top.share) == ("application asked", 0, 9000, 1)
    assert (device.name, device.read_bytes, device.write_bytes) == ("vda", 0, 3000)


def test_stages_have_their_times_and_another_trial_begins_anew(store):
    put(store, {"trial": 1, "event": "started"}, {"trial": 1, "event": "preparing"}, RUNNING, RUNNING)
    shift(store, 1, 2, 4, 9)
    assert [(one.name, one.from_s, one.took_s) for one in fed(store).stages()] == [
        ("started", 0, 1),
        ("preparing", 1, 2),
        ("w write running", 3, None),
    ]
    feed = fed(store)
    put(store, {"trial": 2, "event": "started"})
    feed.look()
    assert [one.name for one in feed.stages()] == ["started"]


def test_rows_are_kept_only_while_somebody_watches(store):
    rows = LiveRows()
    rows.keep(store, {**RUNNING, "devices": ["vda"]})
    assert index.live(store.folder) == ()
    watching = notebook_watchers.watch(store.folder.parent)
    rows.keep(store, RUNNING)
    os.close(watching)
    rows.keep(store, RUNNING)
    ((_, _, row),) = index.live(store.folder)
    assert row["event"] == "running"
    assert row["dirty_bytes"] >= 0
    assert rows.devices == ("vda",)


def test_who_watches_is_known_by_the_directory(tmp_path):
    (tmp_path / "other").mkdir()
    host, mine = Local(), os.getpid()
    assert notebook_watchers.watchers(host, str(tmp_path)) == ()
    watching = notebook_watchers.watch(tmp_path)
    assert notebook_watchers.watchers(host, str(tmp_path)) == (mine,)
    assert notebook_watchers.watchers(host, str(tmp_path / "other")) == ()
    os.close(watching)
    assert notebook_watchers.watchers(host, str(tmp_path)) == ()


def test_who_waits_for_a_lock_or_writes_is_no_watcher():
    locks = (
        "1: FLOCK  ADVISORY  READ 11 fe:00:7 0 EOF\n1: -> FLOCK  ADVISORY  READ 12 fe:00:7 0 EOF\n"
        "2: FLOCK  ADVISORY  WRITE 13 fe:00:8 0 EOF\n3: POSIX  ADVISORY  READ 14 fe:00:9 0 EOF\n"
    )
    assert notebook_watchers.shared_holders(locks) == (11,)


def value(metrics, name):
    return sum(float(one) for one in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", metrics, re.MULTILINE))


def watched(bench, lab, file):
    """Run an experiment and look at it meanwhile: its name, the pages and the metrics at the beginning and later."""
    with served(bench, lab) as site:
        running = bench.start("run", file, "--lab", lab)
        try:
            first = site.until("/metrics", lambda one: value(one.text, "assay_operations_total") > 0).text
            name = re.search(r'assay_operations_total{experiment="([^"]+)"', first)[1]
            page = site.until(f"/experiment/{name}/live", lambda one: "application asked" in one.text).text
            until = time.monotonic() + 3
            while time.monotonic() < until:
                site.ask(f"/experiment/{name}/live/now")
            later = site.ask("/metrics").text
            _, error = running.communicate(timeout=300)
        finally:
            running.kill()
            running.wait()
        assert running.returncode == 0, error
        assert "1 of 1 trials" in site.ask(f"/experiment/{name}").text
        return page, first, later, site.ask("/metrics").text


def test_a_running_experiment_is_seen_live_and_has_our_cost_as_its_own(bench, room, tmp_path):
    lab, file = tmp_path / "lab", tmp_path / "some.toml"
    cli_notebook.lab(lab)
    (room / "data").mkdir()
    file.write_text(FILE.format(path=room / "data", seconds=12))
    page, first, later, end = watched(bench, lab, file)
    assert "Running." in page
    assert re.search(r"<td>write</td><td class=\"n\">[\d,]+/s</td>", page)
    assert value(later, "assay_operations_total") > value(first, "assay_operations_total")
    assert value(later, "assay_device_bytes_total") > 0
    spent_s = value(end, "process_cpu_seconds_total")
    query = "SELECT metric, max(value_at) FROM (SELECT metric, max(value) AS value_at FROM series"
    query = f"{query} WHERE layer = 'other_processes' GROUP BY ALL) GROUP BY ALL"
    rows = [line.split(",") for line in bench.run("sql", query, "--lab", lab, "--csv").stdout.splitlines()[1:]]
    assert spent_s > 0.1
    assert dict(rows).keys() >= {"own_cpu_ns"}


def test_two_pages_at_once_do_not_read_a_row_twice(store, monkeypatch):
    """The live page and the metrics are made in two threads: rows that both read made all rates 0."""
    put(store, *({**RUNNING, "operations": {"write": {"count": at, "bytes": at}}} for at in (1, 2)))
    read, feed = index.live, Feed(folder=store.folder)

    def slow(*words):
        found = read(*words)
        time.sleep(0.2)
        return found

    monkeypatch.setattr(index, "live", slow)
    pages = [threading.Thread(target=feed.look) for _ in range(2)]
    for one in pages:
        one.start()
    for one in pages:
        one.join()
    assert [one.operations["write"]["count"] for one in feed.rows] == [1, 2]
