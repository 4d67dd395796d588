"""Ends of tasks as the kernel tells them, and where it takes a listener and tells nothing."""

import shutil
import subprocess
import sys

import pytest

from assay.hosts import exits

pytestmark = pytest.mark.root


def test_a_child_that_ended_is_told():
    source, reason = exits.listen()
    assert reason is None
    child = subprocess.run(("sh", "-c", "echo $$"), check=True, capture_output=True, text=True)
    assert int(child.stdout) in {one.pid for one in source.drain({})}
    source.close()


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare")
def test_a_network_namespace_in_which_nothing_is_told_is_refused():
    code = "from assay.hosts import exits; print(exits.listen())"
    done = subprocess.run(("unshare", "--net", sys.executable, "-c", code), check=True, capture_output=True, text=True)
    assert done.stdout == "(None, 'taskstats: no end of a task is reported in this network namespace')\n"
