"""Bytes and requests of a device, measured at two mixes, say what a third one takes of it: really, on a disk of known speed.

Every phase runs for real on a loop device. What the kernel counted of it does not depend on how fast others leave it, so this
may run beside other tests; an interval of 90 % misses at times, so a series whose test fails is repeated, as is one of so few
operations that its mixes are alike by chance.
"""

import json
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.machine import cgroups
from stage.assay_process import Bench

SHIPPED = Path(__file__).parents[2] / "experiments"
RECORD = 8192
TRIES = 3
BYTES = ("device_read", "device_write")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The shipped prediction from a short run of the shipped experiment."""
    host = Local()
    if not host.is_root() or not host.exists("/dev/loop-control"):
        pytest.skip("a disk of known speed needs root and loop devices")
    if (reason := cgroups.throttle_obstacle(host)) is not None:
        pytest.skip(reason)
    home = tmp_path_factory.mktemp("device")
    bench = Bench(home)
    text = (SHIPPED / "device_demand.toml").read_text()
    for was, now in (
        ('duration = "2 s"', 'duration = "500 ms"\nquiesce = "0 s"'),
        ('"16 MiB"', '"2 MiB"'),
        ('"512 MiB"', '"64 MiB"'),
        ("repeats = 5", 'repeats = 3\nobservers = ["block"]'),
    ):
        assert was in text
        text = text.replace(was, now)
    (home / "short.toml").write_text(text)
    found = {}
    for attempt in range(TRIES):
        done = bench.run("run", home / "short.toml", "--lab", f"lab-{attempt}")
        assert done.returncode == 0, done.stderr
        load = (SHIPPED / "predictions" / "mail_store.toml").read_text().replace('"lab"', f'"lab-{attempt}"')
        (home / "load.toml").write_text(load)
        done = bench.run("predict", home / "load.toml", "--json")
        if "do not separate the operations" in done.stderr:
            continue
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        if all(one["met"] for name in BYTES for one in found["resources"][name]["new"]["holdouts"]):
            break
    assert found, "too few operations in each of the tries"
    return found


def demand_of(told, resource, operation):
    return told["resources"][resource]["new"]["operations"][operation]


def test_a_direct_read_moves_its_record_and_writes_nothing_to_speak_of(told):
    assert demand_of(told, "device_read", "random_read")["value"] == pytest.approx(RECORD, rel=0.01)
    assert demand_of(told, "device_read", "random_write")["value"] < RECORD / 20
    assert demand_of(told, "device_write", "random_read")["value"] < RECORD / 4
    assert demand_of(told, "device_operations", "random_read")["value"] == pytest.approx(1, abs=0.2)


def test_a_durable_write_takes_its_record_and_hardly_more(told):
    assert RECORD * 0.95 < demand_of(told, "device_write", "random_write")["value"] < 2 * RECORD
    assert demand_of(told, "device_operations", "random_write")["value"] > 0.95
    assert any("random_write_flush" in one or "flush is part of random_write" in one for one in told["assumptions"])


@pytest.mark.parametrize("resource", BYTES)
def test_the_mix_that_was_held_out_used_what_was_predicted(told, resource):
    (held,) = told["resources"][resource]["new"]["holdouts"]
    assert held["trials"] == 3
    assert held["met"], held
    assert held["predicted"]["high"] < 3 * held["predicted"]["low"]


def test_what_saturates_first_follows_from_the_demands(told):
    """900 to 1,100 reads/s of 8 KiB are 8 % of 100 MB/s; 450 writes/s of more than 8 KiB are 18 % of 20 MB/s or more."""
    reads = told["resources"]["device_read"]["utilisation"]
    assert reads["low"] >= 900 * RECORD / 100e6 * 0.9
    assert reads["high"] <= 1100 * RECORD / 100e6 * 1.15
    shares = {name: one["utilisation"]["value"] for name, one in told["resources"].items()}
    assert told["saturates_first"] == max(shares, key=shares.get)
    assert shares["device_write"] > 400 * RECORD / 20e6 * 0.9
