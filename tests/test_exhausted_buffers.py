"""Buffers that are exhausted on purpose: the answer names the queue that dropped, or the reader that was too slow."""

import json
import os

import pytest

from assay_process import Bench

OVER = """
title = "Too much"
question = "Which queue dropped the datagrams?"
repeats = 1
observers = ["line", "middlebox", "end_network", "process_io"]
[paths.wan]
rate = "20 Mbit/s"
delay = "1 ms"
queue = "20 kB"
[targets.between]
{target}
[workloads.n]
kind = "net_udp"
rate = "5000 /s"
duration = "2 s"
quiesce = "0 s"
"""
LINE = 'kind = "line"\nthrough = "wan"'
BOX = 'kind = "middlebox"\nrate = "20 Mbit/s"\nqueue = "20 kB"'
pytestmark = pytest.mark.slow


def judged(tmp_path, *words):
    """The printed answer of a load, and rule -> what it calls the figure."""
    done = Bench(tmp_path).run("load", *words, "--json=figures.json")
    assert done.returncode == 0, done.stderr
    return done.stdout, {one["rule"]: one["relabel"] for one in findings(json.loads((tmp_path / "figures.json").read_text()))}


def test_datagrams_that_find_the_socket_full(tmp_path):
    told, labels = judged(tmp_path, "net_udp", "window=64KiB", "placement=same", "duration=2s")
    assert "datagrams were lost in the server's receive buffer" in told
    assert labels["L16"] == "datagrams lost in the receiver's socket buffer, not on the way"


def test_a_reader_that_rests(tmp_path):
    _, labels = judged(tmp_path, "net_stream", "direction=receive", "think=20ms", "duration=2s")
    assert labels["L14"] == "limited by a slow reader (the receiver's TCP queue was full)"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
@pytest.mark.parametrize(("target", "queue"), [(LINE, "in the queue of path wan.up"), (BOX, "in the shaper of the box")])
def test_datagrams_that_find_a_queue_on_the_way_full(tmp_path, target, queue):
    bench = Bench(tmp_path)
    (tmp_path / "e.toml").write_text(OVER.format(target=target))
    done = bench.run("run", "e.toml", "--progress", "none", "--json")
    assert done.returncode == 0, done.stderr
    told = [one["statement"] for one in findings(json.loads(done.stdout)) if one["rule"] == "L16"]
    assert told, "the rule has spoken"
    assert queue in told[0]
    assert "most were lost elsewhere on the way" in told[0]


def findings(answer):
    """Every finding in an answer, wherever it stands."""
    if isinstance(answer, dict):
        yield from ([answer] if {"rule", "statement"} <= set(answer) else [])
        answer = list(answer.values())
    for one in answer if isinstance(answer, list) else ():
        yield from findings(one)
