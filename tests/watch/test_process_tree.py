"""The tree of a command beside children of our own, which other threads start and wait for."""

import subprocess

from assay.watch import process_tree


def test_a_child_that_another_thread_reaped_is_none_of_the_command(monkeypatch):
    """It was a zombie at the first call and gone at the second: the watch ended there, and the figure was lost."""
    others = subprocess.Popen(["true"])
    others.wait()
    ours = subprocess.Popen(["sh", "-c", "exit 3"])
    tree = process_tree.Tree()
    seen = iter((others.pid, ours.pid, None))
    monkeypatch.setattr(process_tree, "_zombie", lambda: next(seen))
    assert [(one.pid, one.status >> 8) for one in tree.collect()] == [(ours.pid, 3)]
    assert len(tree.usage) == 1
    assert others.pid not in {pid for pids in tree.lost.values() for pid in pids}
    ours.returncode = 3
