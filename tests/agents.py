"""Agents of this machine for tests: the built engine as the far end of a local channel."""

import contextlib
import os
import time
from pathlib import Path

import pytest

from assay.hosts.channel import LocalChannel
from assay.hosts.far import FarHost

ENGINE = Path(__file__).parent.parent / "src" / "assay" / "bin" / "assay-engine"
PATIENCE_S = 120.0
"""No wait of a test is about speed: a busy machine may take long."""


def agent_channel(*words, env=None):
    if not ENGINE.exists():
        pytest.skip("the engine is not built: make build")
    return LocalChannel([str(ENGINE), "agent", *words], env)


@contextlib.contextmanager
def far_host(name="filer", env=None, **options):
    """A far host of this machine; ended at the end, also where a test froze it."""
    channel = agent_channel(env=env)
    try:
        with FarHost(name, channel, **options) as host:
            yield host
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(channel.pid, 18)  # SIGCONT
        channel.close()


def until(holds, within_s=PATIENCE_S):
    """Whether it holds before that time is over."""
    end = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def ended(pid):
    """Whether a process has ended, perhaps without being reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
