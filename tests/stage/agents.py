"""Agents of this machine for tests: the built engine as the far end of a local channel."""

import contextlib
import os
from pathlib import Path

import pytest

from assay.hosts.channel import LocalChannel
from assay.hosts.far import FarHost

ENGINE = Path(__file__).parents[2] / "src" / "assay" / "bin" / "assay-engine"
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
