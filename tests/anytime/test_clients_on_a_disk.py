"""What bounds a real curve: on a disk throttled to a known speed the bound by its bytes is that speed over the record's size.

How fast the machine is does not matter to it: bytes and operations are counted, and of the knee only its resource is looked at.
"""

import json
import re
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.machine import cgroups
from stage.assay_process import Bench

SHIPPED = Path(__file__).parents[2] / "experiments" / "clients_on_a_disk.toml"
SPEED, RECORD = 16e6, 8192
CHART = "scaling-spots.random_read.ops_per_s"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The shipped experiment, short and with few numbers of clients; the bench and the notebook."""
    host = Local()
    if not host.is_root() or not host.exists("/dev/loop-control"):
        pytest.skip("a disk of known speed needs root and loop devices")
    if (reason := cgroups.throttle_obstacle(host)) is not None:
        pytest.skip(reason)
    home = tmp_path_factory.mktemp("clients")
    bench = Bench(home)
    text = SHIPPED.read_text()
    for was, now in (
        ('duration = "4 s"', 'duration = "400 ms"\nquiesce = "0 s"'),
        ('"16 MiB"', '"1 MiB"'),
        ('"512 MiB"', '"64 MiB"'),
        ("repeats = 5", 'repeats = 3\nobservers = ["block"]'),
        ("[1, 2, 3, 4, 6, 8, 12]", "[1, 6]"),
    ):
        assert was in text
        text = text.replace(was, now)
    (home / "short.toml").write_text(text)
    done = bench.run("run", home / "short.toml", "--lab", "lab")
    assert done.returncode == 0, done.stderr
    return bench


def test_the_bound_is_the_speed_of_the_disk_over_the_record(ran, tmp_path):
    path = tmp_path / "chart.svg"
    done = ran.run("report", "--lab", "lab", "--chart", CHART, "--out", path)
    assert done.returncode == 0, done.stderr
    assert "<svg" in path.read_text()
    page = ran.run("report", "--lab", "lab", "--out", tmp_path / "page.html")
    assert page.returncode == 0, page.stderr
    text = (tmp_path / "page.html").read_text()
    (row,) = [one for one in re.findall(r"<tr><th scope=\"row\">6(<td>.*?)(?=<tr>|</tbody>)", text) if "read from loop" in one]
    mean = float(row.split("<td>")[1].replace(",", ""))
    used = float(re.search(r"([0-9.]+)\s% of the 16 MB/s read from loop", row)[1]) / 100
    assert mean / used == pytest.approx(SPEED / RECORD, rel=0.12), "the phase is short: its edges count"


def test_the_knee_is_told_of_the_named_disk(ran):
    done = ran.run("sql", "--lab", "lab", "--json", "SELECT resource, device, capacity FROM scaling WHERE kind = 'knee'")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["resource"], row["capacity"]) == ("device_read", SPEED)
    assert row["device"].startswith("loop")
