"""Lines of [hosts] with via = "snmp": devices that give counters alone."""

import pytest

from assay.errors import UsageError
from assay.experiment import spread
from assay.experiment.read import read
from stage.rows import each

FILE = """
title = "a port"
repeats = 1
[hosts]
sw = { via = "snmp", address = "switch:1161", community_file = "community" }
[targets.t]
kind = "directory"
path = "/tmp"
[workloads.w]
kind = "null"
duration = "1 s"
[limits]
"sw.port3" = "1GbE"
"sw.Gi1/0/4" = "10GbE"
"local.eth0" = "1GbE"
[measures]
"w.null.ops_per_s" = {}
"""


@pytest.fixture
def given(tmp_path):
    def experiment(*changes):
        text = FILE
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        (tmp_path / "e.toml").write_text(text)
        return read(tmp_path / "e.toml")

    return experiment


def test_a_device_takes_part_with_its_ports(given):
    experiment = given()
    device = experiment.hosts[1]
    assert (device.name, device.via, device.address, device.load, device.engine) == ("sw", "snmp", "switch:1161", False, False)
    assert device.options == {"community_file": "community", "ports": ("port3", "Gi1/0/4")}
    assert spread.taking_part(experiment) == ("local", "sw")


def test_address_and_secret_are_no_part_of_the_digest(given):
    other = given(('address = "switch:1161", community_file = "community"', 'address = "b", credentials_file = "c"'))
    assert other.digest == given().digest


@each(
    "change place wanted",
    (('community_file = "community"', 'load = true, community_file = "c"'), 5, "'load' for a host reached by snmp"),
    (('community_file = "community"', 'engine = true, community_file = "c"'), 5, "'engine' for a host reached by snmp"),
    ((', community_file = "community"', ""), 5, "none of 'community_file' and 'credentials_file'"),
    (('community_file = "community"', 'community_file = "a", credentials_file = "b"'), 5, "both of"),
    (('community_file = "community"', 'community = "public"'), 5, "unknown key 'community'"),
    (('address = "switch:1161", ', ""), 5, "no 'address'"),
    (('"switch:1161"', '"user@switch"'), 5, "HOST or HOST:PORT"),
    (('"switch:1161"', '"$(reboot)"'), 5, "HOST or HOST:PORT"),
    (('path = "/tmp"', 'path = "/tmp"\nhost = "sw"'), 9, "host 'sw', which is reached by snmp"),
    (('duration = "1 s"', 'duration = "1 s"\nhosts = { load = ["sw"] }'), 12, "host 'sw', which is reached by snmp"),
    (
        ('duration = "1 s"', 'duration = "1 s"\nevents = [{ phase = "null", at = "0 s", host = "sw", run = ["true"] }]'),
        12,
        "snmp",
    ),
    (
        ("[measures]", '[observe.x]\nhost = "sw"\nrun = ["true"]\npattern = "(.)"\n[measures]'),
        17,
        "host 'sw', which is reached by snmp",
    ),
)
def test_what_a_device_cannot_do_is_a_mistake_with_its_place(given, change, place, wanted):
    with pytest.raises(UsageError) as error:
        given(change)
    assert wanted in str(error.value)
    assert f"e.toml:{place}" in str(error.value)
