"""What holds for all tests: the signals of a terminal, properties that have no time limit, and which tests are left out.

Where tests were started in the background or by nohup SIGINT, SIGQUIT and SIGHUP are ignored, and every process that is
started inherits that. A limit on how long an example may take would make every property a timed test on a busy machine.

Tests marked `long` belong to `make long`. They run only where the words of -m speak of them: `pytest -m long tests/simulated`.
"""

import json
import os
import signal
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import skips
from stage import sizes
from stage.assay_process import Bench, kill
from stage.far_machines import far  # noqa: F401 - a fixture of all tests

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("busy machine", BUSY)
settings.register_profile("few", BUSY, max_examples=sizes.EXAMPLES // 5)
settings.register_profile("many", BUSY, max_examples=100 * sizes.EXAMPLES)
settings.load_profile("busy machine")


def pytest_collection_modifyitems(config, items):
    """Leave the long tests out, unless they are asked for; among workers, files with the most slow tests begin."""
    if "long" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    if hasattr(config, "workerinput"):
        slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
        items.sort(key=lambda item: -slow[item.path])


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    """Count what was skipped by what would let it run; in a lane of several runs, the lane does."""
    reasons = [report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())]
    if lane := os.environ.get("ASSAY_SKIPPED"):
        with Path(lane).open("a") as file:
            file.writelines(f"{json.dumps(reason)}\n" for reason in reasons)
    elif reasons:
        terminalreporter.write_line(skips.say(reasons))


@pytest.fixture
def room():
    """A directory on the disk that the machine's temporary files are on, for files that caches and devices know."""
    with tempfile.TemporaryDirectory(prefix="assay-watch-", dir="/var/tmp") as path:
        yield Path(path)


@pytest.fixture
def bench(tmp_path):
    """A directory in which `assay` is called; whatever a test leaves there is ended and undone."""
    made = Bench(tmp_path)
    yield made
    for pid in made.processes():
        kill(pid)
    if made.may_have_left():
        made.run("doctor")
