"""The controls whose load waits for nearly all of its time (`waits = true`): they run beside each other and other tests."""

import pytest

import control_cases


@pytest.mark.slow
@pytest.mark.parametrize("path", control_cases.files(that_wait=True), ids=lambda path: path.stem)
def test_the_lie_is_caught_and_its_twin_is_cleared(path, tmp_path):
    control_cases.hold(path, tmp_path)
