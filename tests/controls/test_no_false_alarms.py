"""Sound trials of different kinds: no rule may call a number invalid that is what it is said to be.

Really run on this machine. Rules of noise (N..) speak of the platform and are no accusation of the number. A trial that
comes out with one is tried again, at most twice; every accusation of the last attempt is a false alarm. The kinds ship with
Assay (`controls/sound/`): `assay selftest --audit --sound N` runs many of them, and the sound twins of the controls too.
"""

import os
import sys

import pytest

from assay.selftest.sound import shipped, tried

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make and mount file systems"),
]
TRIES = 3
KINDS = tuple(shipped())
ALWAYS = ("flushed_writes_and_cold_reads", "commits", "cold_direct_reads", "metadata_with_fsync", "external_direct_write")
"""On ext4 in every run; all kinds on every file system in `make long`."""


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            kind,
            marks=[pytest.mark.long] * (kind.name not in [f"{name} ext4" for name in ALWAYS]),
            id=kind.name.replace(" ", "-"),
        )
        for kind in KINDS
    ],
)
def test_a_sound_trial_is_not_called_invalid(kind):
    if kind.obstacle is not None:
        pytest.skip(kind.obstacle)
    for attempt in range(TRIES):
        found = tried(kind, seed=attempt + 1)
        assert found, "nothing was tried"
        sys.stdout.write("".join(f"{one}\n" for one in found))  # for `pytest -rP`
        assert [one.failed for one in found] == [None] * len(found)
        if not any(one.accused for one in found):
            break
    assert [one.accused for one in found if one.accused] == []
