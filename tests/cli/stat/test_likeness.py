"""Commands that failed, or that did other work, are no arms of a comparison; really run."""

import json
import os
import shlex
import sys

import pytest

from stage.assay_process import Bench
from stage.rows import each

MAPPED = "import mmap; f = open('data', 'rb'); mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ).find(b'nothing of it')"


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "data").write_bytes(os.urandom(16 << 20))
    return Bench(tmp_path)


@each(
    "first other unlike",
    ("cut -c 1 /etc/hostname", "md5sum data", "against"),
    ("md5sum data", "cksum data", None),
    (f'{sys.executable} -S -c "{MAPPED}"', "md5sum data", None),
    ("sleep 0.01", "cat missing", "3 of 3 runs failed"),
    ("cat missing", "cat missing", "3 of 3 runs failed"),
    ("sleep 0.01", "sleep 0.02", None),
)
def test_a_comparison_of_unlike_commands_is_refused_with_the_reason(bench, first, other, unlike):
    words = shlex.split(first)
    done = bench.run("stat", "--repeat", "3", "--json=out.json", "--vs", other, "--", *words)
    (found,) = json.loads((bench.home / "out.json").read_text())["comparison"]
    assert (found["unlike"] is not None, found["verdict"] == "INVALID") == (unlike is not None,) * 2, done.stderr
    if unlike:
        assert unlike in found["unlike"]
        assert (found["low"], found["conclusion"]) == (None, "undecided")
        assert "no comparison with " in done.stderr
