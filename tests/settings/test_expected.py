"""What a command is expected to have done, as a file says it."""

import pytest

from assay.errors import InputErrors
from assay.experiment import read

TEXT = """
title = "t"
question = "q"
repeats = 1
[targets.here]
kind = "directory"
path = "/tmp"
[workloads.w]
kind = "command"
argv = ["true"]
{line}
"""


@pytest.mark.parametrize(
    ("line", "knob", "value"),
    [
        ("expected_count = 0", "expected_count", 0),
        ('expected_bytes = "64 MiB"', "expected_bytes", 64 << 20),
        ('expected_read_share = "70 %"', "expected_read_share", 0.7),
    ],
)
def test_what_is_expected_is_read(line, knob, value):
    (spec,) = read.parse(TEXT.format(line=line), "t.toml").workloads
    assert spec.knobs[knob] == pytest.approx(value)


@pytest.mark.parametrize("line", ["expected_count = -1", 'expected_bytes = "many"', 'expected_read_share = "170 %"'])
def test_what_cannot_be_is_refused(line):
    with pytest.raises(InputErrors):
        read.parse(TEXT.format(line=line), "t.toml")
