"""What the tests of targets share: what sets the target of a module up, and trials of targets with a server."""

import pytest

from stage.served_stage import ServedBench
from stage.targets_host import placing


@pytest.fixture
def placed(request, tmp_path):
    """What sets the module's TARGET up, with its KNOBS and others; nothing of it may be left."""
    with placing(request.module.TARGET, tmp_path, **getattr(request.module, "KNOBS", {})) as place:
        yield place


@pytest.fixture
def bench(tmp_path):
    return ServedBench(tmp_path)
