"""What `assay stat` says of a tool's digits and units, in the block that people read."""

import json
import os
import sys

import pytest

from assay_process import Bench

MIB = 1 << 20
WRONG = """
import sys
with open('data', 'rb', buffering=0) as file:
    count = sum(len(block) for _ in range(8) for block in (iter(lambda: file.read(1 << 20), b''), file.seek(0))[0])
print(f'{count * float(sys.argv[1])} bytes')
"""


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "data").write_bytes(os.urandom(8 * MIB))
    (tmp_path / "data").read_bytes()
    return Bench(tmp_path)


def test_the_ratio_of_a_mistaken_unit_is_named_where_the_verdict_is(bench, subtests):
    how = ("--reported", "([0-9.]+) bytes", "--unit", "B", "--direction", "read", "--claim", "tier=client-cache")
    for factor, mistake in (
        (8, "bits taken for bytes"),
        (2, "both directions"),
        (1.25, "8b/10b"),
        (1.048576, "MiB taken for MB"),
        (1.6, "each other (claim: client-cache)"),
    ):
        with subtests.test(factor=factor):
            done = bench.run("stat", *how, "--", sys.executable, "-S", "-c", WRONG, factor)
            (first,) = [line for line in done.stderr.splitlines() if line.startswith("assay: ")]
            assert first.startswith("assay: INVALID: readings contradict each other")
            assert mistake in first


def copies(first, second):
    """Two commands that print a line as dd does, of what they really read."""
    line = "8+0 records in\\n8+0 records out\\n8388608 bytes (8.4 MB, 8.0 MiB) copied, 0.1 s, {} MB/s\\n"
    return [f"sh -c \"dd if=data of=/dev/null bs=1M status=none; printf '{line.format(rate)}'\"" for rate in (first, second)]


def test_a_difference_within_the_printed_digits_is_said_to_be_so(bench, subtests):
    for rate, said in [("85", True), ("42", False)]:
        with subtests.test(rate=rate):
            first, second = copies("84", rate)
            done = bench.run("stat", "--json=told.json", "--repeat=3", "--vs", second, "--", "sh", "-c", f"exec {first}")
            (found,) = json.loads((bench.home / "told.json").read_text())["comparison"]
            assert found["digits_share"] == pytest.approx(0.5 / 84 + 0.5 / float(rate), rel=0.01)
            assert ("within the print precision of" in done.stderr) is said
