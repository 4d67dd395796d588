import pytest

from assay.experiment import outlook as forecast
from assay.experiment import read, target_pace
from stage.rows import each

TEXT = """
title = "T"
repeats = 1
[paths.wan]
rate = "100 Mbit/s"
delay = "5 ms"
queue = "200 kB"
[paths.other]
rate = "40 Mbit/s"
up.rate = "20 Mbit/s"
queue = "200 kB"
[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "1 GiB"
limit = {{ read_bytes_per_s = "40 MB/s" }}
[targets.server]
kind = "sftp_openssh"
on = "disk"
{server}
[workloads.w]
{work}
[factors]
target = ["{target}"]
{factors}
"""
FILES = 'kind = "metadata"\ncount = 1000\noperations = ["create", "stat"]'
WAN = 'through = "wan"'
LINE = (
    TEXT[: TEXT.index("[targets.disk]")]
    + """
[targets.line]
kind = "line"
paths = ["wan", "other"]
[workloads.w]
kind = "net_stream"
mptcp = true
"""
)


def parsed(target="server", server="", work=FILES, factors=""):
    text = LINE if target == "line" else TEXT
    return read.parse(text.format(target=target, server=server, work=work, factors=factors), "x.toml")


def pace(target="server", server="", factors="", **levels):
    experiment = parsed(target, server, factors=factors)
    spec = next(one for one in experiment.targets if one.name == target)
    return target_pace.pace(experiment, target_pace.layers_of(experiment, spec, levels), levels)


@each(
    "target server read_mb write_mb wait_ms",
    ("disk", "", 40, 500, 0),
    ("server", "", 40, 250, 0.3),
    ("server", WAN, 12.5, 12.5, 10.3),
    ("server", 'through = "other"', 5, 2.5, 0.3),
)
def test_a_target_is_no_faster_than_what_it_stands_on_and_the_way_to_it(target, server, read_mb, write_mb, wait_ms):
    found = pace(target, server)
    assert (found.read_bytes_per_s, found.write_bytes_per_s) == (read_mb * 1e6, write_mb * 1e6)
    assert found.wait_s == pytest.approx(wait_ms / 1e3)
    assert 1 / found.read_ops_per_s == pytest.approx(1 / target_pace.LOCAL.read_ops_per_s + wait_ms / 1e3)


def test_paths_beside_each_other_add_up_and_a_level_of_a_path_counts():
    wide = pace("line")
    assert (wide.write_bytes_per_s, wide.read_bytes_per_s) == (15e6, 17.5e6)
    slow = pace(server=WAN, factors='"wan.delay" = ["1 ms", "50 ms"]', **{"wan.delay": 50_000_000})
    assert slow.wait_s == pytest.approx(0.1003)


def test_a_trial_has_the_set_up_of_all_layers_and_waits_for_its_server():
    """A server on a disk: both are made, the client mounts it, and 1,000 creates and stats wait for four exchanges of 10.3 ms."""
    local, served, far = (
        forecast.trial_s(parsed(*which), {"target": which[0]}) for which in (("disk",), ("server",), ("server", WAN))
    )
    assert served - local == pytest.approx(1.5 + forecast.MOUNT_S + 4000 * 3e-4, abs=0.1)
    assert far - served == pytest.approx(4000 * 0.01, abs=0.1)


@each(
    "work seconds",
    ('kind = "bulk_io"\noperations = ["write", "read"]\ncache = "cold"\nsize = "100 MiB"', 2 * 105 / 12.5),
    ('kind = "transfer"\nfiles = 4\nfile_size = "25 MiB"', 2 * 105 / 12.5),
    ('kind = "transfer"\nfiles = 4\nfile_size = "25 MiB"\noperations = ["put"]', 105 / 12.5),
)
def test_bytes_pass_the_path_as_often_as_the_work_moves_them(work, seconds):
    """A comparison of what arrived reads the server's own files."""
    far, near = (forecast.trial_s(parsed(server=server, work=work), {}) for server in (WAN, ""))
    assert far == pytest.approx(near + seconds, rel=0.25)
