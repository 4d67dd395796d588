"""Controls of load, limits, noise and evidence whose verdicts hang neither on speed nor on quiet: they run beside other tests."""

import pytest

from stage import control_cases


@pytest.mark.slow
@pytest.mark.parametrize("path", control_cases.files(anytime=True, families="EGLN"), ids=lambda path: path.stem)
def test_the_lie_is_caught_and_its_twin_is_cleared(path, tmp_path):
    control_cases.hold(path, tmp_path)
