"""A lab killed at any moment: what it left is found and undone, whatever it was doing."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.undo.ledger import Ledger
from stage.assay_process import wait_until
from stage.sizes import few_and_many
from stage.targets_host import HOST, leftovers, rules

RATE = 49_999_007
LAB = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from stage.targets_host import HOST, MIB, setting
from assay import catalogue
from assay.undo.ledger import Ledger
from pathlib import Path
target, ledger = catalogue.find("targets", "loopfs"), Ledger(sys.argv[1])
print("on", flush=True)
while True:
    given = setting(ledger, sys.argv[2], filesystem="ext4", size=24 * MIB,
                    limit__read_bytes_per_s={RATE}, limit__write_bytes_per_s={RATE})
    place = target.prepare(HOST, given)
    Path(place.address, "data").write_bytes(b"x" * MIB)
    target.drop_caches(HOST, place)
    target.teardown(HOST, given, place)
    target.remove(HOST, given)
    print("round", flush=True)
"""


def working(tmp_path):
    """A lab that has begun to work."""
    words = (str(tmp_path / "ledger"), str(tmp_path / "scratch"))
    lab = subprocess.Popen([sys.executable, "-c", LAB, *words], stdout=subprocess.PIPE)
    assert lab.stdout.readline() == b"on\n"
    return lab


def seconds_of_a_round(tmp_path):
    """How long this machine takes now for all that a lab does and undoes."""
    lab = working(tmp_path)
    began = time.monotonic()
    assert lab.stdout.readline() == b"round\n"
    took = time.monotonic() - began
    lab.kill()
    lab.wait()
    lab.stdout.close()
    Ledger(tmp_path / "ledger").clean(HOST)
    return took


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="loop devices, mounts and throttle rules need root")
@few_and_many("points", 10, 200)
def test_nothing_is_left_after_kill_at_random_moments(tmp_path, points):
    (tmp_path / "scratch").mkdir()
    chance, found, latest_s = random.Random(), 0, seconds_of_a_round(tmp_path)
    for _ in range(points):
        lab = working(tmp_path)
        wait_until(lambda: any(path.stat().st_size for path in (tmp_path / "ledger").glob("*.jsonl")))
        time.sleep(chance.uniform(0, latest_s))
        lab.kill()
        lab.wait()
        lab.stdout.close()
        cleaned = Ledger(tmp_path / "ledger").clean(HOST)
        found += sum(one.state == "undone" for one in cleaned)
        assert not [one for one in cleaned if one.state == "left"]
        assert leftovers(tmp_path / "scratch") == ([], [], [])
        assert rules(RATE) == []
        assert list((tmp_path / "ledger").iterdir()) == []
    assert found >= points // 2, "the moments hit labs that had something"
