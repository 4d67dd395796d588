"""Experiments keep their digests when kinds get further knobs; targets that stand on others are planned as any."""

from dataclasses import replace

from assay.experiment.digest import digest
from assay.experiment.outlook import around_s
from assay.experiment.read import parse

PATH = """title = "t"
[paths.wan]
rate = "100 Mbit/s"
queue = "0.125 MB"
"""
LINE = f"""{PATH}[targets.way]
kind = "line"
through = "wan"
[workloads.w]
kind = "net_stream"
"""
SERVER = f"""{PATH}[targets.low]
kind = "loopfs"
filesystem = "ext4"
[targets.disk]
kind = "nbd"
on = "low"
through = "wan"
[workloads.w]
kind = "bulk_io"
size = "4 MiB"
[[workloads.w.events]]
phase = "write"
at = "1 s"
action = "cut"
on = "wan"
[factors]
"disk.size" = ["64 MiB", "128 MiB"]
"low.size" = ["300 MiB", "400 MiB"]
"""


def test_a_knob_that_came_later_is_in_no_older_digest():
    asked = parse(LINE, "e.toml")
    (target,) = asked.targets
    older = replace(target, knobs={name: value for name, value in target.knobs.items() if name != "sysctls"})
    other = replace(target, knobs={**target.knobs, "sysctls": ("net.ipv4.tcp_sack=0",)})
    assert digest(replace(asked, targets=(older,))) == asked.digest
    assert digest(replace(asked, targets=(other,))) != asked.digest


def test_a_path_is_cut_above_a_target_and_a_size_may_vary():
    assert around_s(parse(SERVER, "e.toml")) > 300 * 2**20 / 200e6
