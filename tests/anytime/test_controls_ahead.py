"""Controls whose verdicts hang on the CPUs alone: they run beside other tests and before them, one after the other."""

import pytest

from stage import control_cases
from stage.own_disk import ahead, may_be_ahead

if not may_be_ahead():
    pytest.skip(
        "needs root, to come before other programs; these controls have the machine to themselves", allow_module_level=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", control_cases.needing(quiet=False), ids=lambda path: path.stem)
def test_the_lie_is_caught_and_its_twin_is_cleared(path, tmp_path):
    with ahead():
        control_cases.hold(path, tmp_path)
