"""Every rule catches its planted lie and clears its sound twin, really run on this machine; no other rule accuses the twin.

Noise of the platform can spoil a run, never the rule: a control that does not come out is tried again, at most twice.
"""

from pathlib import Path

import pytest

import assay.controls
from assay.cli.control import obstacle, run_control
from assay.experiment import read

FOLDER = Path(assay.controls.__file__).parent
FILES = sorted(path for path in FOLDER.glob("*.toml") if path.name != "quick.toml")
TRIES = 3


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_lie_is_caught_and_its_twin_is_cleared(path, tmp_path):
    control = read.control(path)
    assert control is not None
    why = obstacle(control)
    if why is not None:
        pytest.skip(why)
    heard = []
    for attempt in range(TRIES):
        heard.append(run_control(path, tmp_path / str(attempt)))
        if heard[-1].caught and heard[-1].cleared and not heard[-1].false_alarms:
            return
    told = [
        f"{side}: {finding.rule} {finding.state} {finding.statement} {finding.observed}"
        for one in heard
        for side, found in (("lie", one.of_lie), ("twin", one.of_twin), ("false alarm", one.false_alarms))
        for finding in found
    ]
    pytest.fail("\n".join(told) or "the rule said nothing")
