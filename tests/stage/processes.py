"""Processes that tests started: whether they have ended, and the wait for that."""

from pathlib import Path

from stage.assay_process import wait_until


def ended(pid):
    """Whether a process has ended, perhaps without being reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def wait_ended(*pids):
    """Wait until all have ended; fails when one stays."""
    wait_until(lambda: all(map(ended, pids)))
