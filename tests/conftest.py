"""What holds for all tests: the signals of a terminal, and properties that have no time limit.

Where tests were started in the background or by nohup SIGINT, SIGQUIT and SIGHUP are ignored, and every process that is
started inherits that. A limit on how long an example may take would make every property a timed test on a busy machine.
"""

import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")


@pytest.fixture
def room():
    """A directory on the disk that the machine's temporary files are on, for files that caches and devices know."""
    with tempfile.TemporaryDirectory(prefix="assay-watch-", dir="/var/tmp") as path:
        yield Path(path)
