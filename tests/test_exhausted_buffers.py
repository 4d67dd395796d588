"""Buffers that are exhausted on purpose: the answer names the queue that dropped, or the reader that was too slow."""

import json
import os

import pytest

from stage.assay_process import Bench

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
ON_LOOPBACK = """
title = "Too slow"
question = "Where do they wait?"
repeats = 1
[targets.here]
kind = "socket"
[workloads.n]
kind = "{kind}"
duration = "1 s"
quiesce = "0 s"
{knobs}
"""
LINE = 'kind = "line"\nthrough = "wan"'
BOX = 'kind = "middlebox"\nrate = "20 Mbit/s"\nqueue = "20 kB"'
pytestmark = pytest.mark.slow


def said(tmp_path, text, rule):
    """What a rule says of the one run of an experiment."""
    (tmp_path / "e.toml").write_text(text)
    done = Bench(tmp_path).run("run", "e.toml", "--progress", "none", "--json")
    assert done.returncode == 0, done.stderr
    return next(one["statement"] for one in findings(json.loads(done.stdout)) if one["rule"] == rule)


def test_datagrams_that_find_the_socket_full(tmp_path):
    text = ON_LOOPBACK.format(kind="net_udp", knobs='window = "64 KiB"\nplacement = "same"')
    assert "of them in the receiver's socket buffer" in said(tmp_path, text, "L16")


def test_a_reader_that_rests(tmp_path):
    text = ON_LOOPBACK.format(kind="net_stream", knobs='direction = "receive"\nthink = "20 ms"')
    assert "the window was full" in said(tmp_path, text, "L14")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
@pytest.mark.parametrize(("target", "queue"), [(LINE, "in the queue of path wan.up"), (BOX, "in the shaper of the box")])
def test_datagrams_that_find_a_queue_on_the_way_full(tmp_path, target, queue):
    told = said(tmp_path, OVER.format(target=target), "L16")
    assert queue in told
    assert "most were lost elsewhere on the way" in told


def findings(answer):
    """Every finding in an answer, wherever it stands."""
    if isinstance(answer, dict):
        yield from ([answer] if {"rule", "statement"} <= set(answer) else [])
        answer = list(answer.values())
    for one in answer if isinstance(answer, list) else ():
        yield from findings(one)
