"""Queues that are full: the answer names the one that dropped. Full sockets and slow readers are controls (L14, L16)."""

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
LINE = 'kind = "line"\nthrough = "wan"'
BOX = 'kind = "middlebox"\nrate = "20 Mbit/s"\nqueue = "20 kB"'
pytestmark = pytest.mark.slow


def said(tmp_path, text, rule):
    """What a rule says of the one run of an experiment."""
    (tmp_path / "e.toml").write_text(text)
    done = Bench(tmp_path).run("run", "e.toml", "--progress", "none", "--json")
    assert done.returncode == 0, done.stderr
    return next(one["statement"] for one in findings(json.loads(done.stdout)) if one["rule"] == rule)


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
