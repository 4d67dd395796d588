"""The report of a tool given to `assay check`: the same figures as for import and stat, each operation judged by itself."""

import contextlib
import math
from pathlib import Path

import pytest

from assay.catalogue import console
from assay.cli import pasted
from assay.cli.check import judged
from assay.errors import EvidenceError, UsageError
from assay.published import reading
from assay.records import VerdictState
from assay.watch import imported

FIXTURES = Path(__file__).parent.parent / "fixtures"
TEXTS = {
    path.name: console.decoded(path.read_bytes()) for name in ("output", "published") for path in (FIXTURES / name).iterdir()
}
KINDS = {"rate": "bytes_per_s", "amount": "bytes", "time": "elapsed_ns", "operations": "ops_per_s", "count": "count"}


def related():
    """Name, operation, claim and what import takes, of every recording that is read."""
    for name, text in sorted(TEXTS.items()):
        try:
            told = imported.recognised(text)
        except EvidenceError:
            assert not pasted.claims_of(text), name
            continue
        with contextlib.suppress(UsageError):  # no figure to relate
            for operation, claim in pasted.claims_of(text).items():
                yield name, operation, claim, told


def test_a_claim_has_the_figures_of_the_report_as_far_as_they_are_known():
    failures = []
    for name, operation, claim, told in related():
        statement = reading.read(claim)
        failures += [f"{name}: {one.text!r} of {claim!r} is not read" for one in statement.quoted]
        for figure in statement.figures:
            key = f"{operation}.{KINDS.get(str(figure.kind), figure.kind)}"
            value = float(figure.value) * (1e9 if key.endswith("_ns") else 1)
            slack = 5 * told.resolution.get(key, 0.0) + 1e-9 * value
            if key in told.values and not math.isclose(value, told.values[key], abs_tol=slack):
                failures.append(f"{name}: {figure.text} for {key} = {told.values[key]}")
    assert failures == []


def test_a_sound_report_contradicts_nothing():
    states = {(name, operation): judged(reading.read(claim))[-1] for name, operation, claim, _ in related()}
    assert len(states) > 300
    assert [key for key, state in states.items() if state is VerdictState.INVALID] == []


@pytest.mark.parametrize("text", ["1 GB/s read,\n512 MB in 0.6 s", "a\nb", ""])
def test_words_over_several_lines_stay_a_claim(text):
    assert pasted.claims_of(text) == {}


def test_one_line_of_a_tool_is_read_as_the_tool_means_it():
    line = "f1                 100%   16MB  88.3MB/s   00:00    "
    assert pasted.claims_of(line) == {"read": "92.6MB/s read", "write": "92.6MB/s write"}, "MB of scp are powers of 1,024"
    with pytest.raises(UsageError, match="scp_sftp"):
        pasted.claims_of(line.replace("88.3", "16.0"))
