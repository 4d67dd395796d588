"""Control groups of this machine, version 1 or 2, that are gone after the test."""

import contextlib
import os
from pathlib import Path

import pytest

ROOT = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def real_group(controller):
    """A group of this machine, and whether it is of version 2; a process in it is gone before it is."""
    top, name = ROOT, f"assay-test-{os.getpid()}"
    unified = (top / "cgroup.controllers").exists()
    if not unified:
        top /= {"io": "blkio"}.get(controller, controller)
    if os.geteuid() != 0 or not (top / "cgroup.procs").exists():
        pytest.skip(f"needs root and the controller {controller}")
    if unified:
        (top / "cgroup.subtree_control").write_text(f"+{controller}")
    (top / name).mkdir()
    try:
        yield top / name, unified
    finally:
        (top / name).rmdir()


def stopped(group, unified, share=0.1):
    """Give a group so much of one CPU."""
    (group / ("cpu.max" if unified else "cpu.cfs_quota_us")).write_text(str(round(100_000 * share)))


def entered(group):
    """What a command is called through to begin in a group."""
    return ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh")
