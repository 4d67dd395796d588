"""Every rule catches its planted lie and clears its sound twin, really run on this machine; no other rule accuses the twin.

Noise of the platform can spoil a run, never the rule: a control that does not come out is tried again, at most twice.
Those here have the machine to themselves; those that may run at any time are in tests/anytime.
"""

from contextlib import nullcontext

import pytest

from stage import control_cases
from stage.own_disk import ahead


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("path", control_cases.files(anytime=False), ids=lambda path: path.stem)
def test_the_lie_is_caught_and_its_twin_is_cleared(path, tmp_path):
    with ahead() if path.stem == "steal" else nullcontext():  # whose twin has the CPU for itself
        control_cases.hold(path, tmp_path)
