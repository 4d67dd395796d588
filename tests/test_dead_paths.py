"""A path that is dead from 3 s on, or for 2 s, under each kind of load: the rate is over the time asked, with since when."""

import json
import subprocess
from textwrap import dedent

import pytest

from stage.far_machines import far  # noqa: F401 - a fixture
from stage.fleet_stage import OnFleet
from stage.served_stage import needs, needs_client, needs_fuse, needs_root
from stage.sizes import first_and_all

pytestmark = [pytest.mark.root, needs_root, pytest.mark.slow, needs("ip", "nft", "tc")]
HEAD = """
title = "Dead path"
question = "What is said of it?"
repeats = 1
"""
LINE = '[paths.wan]\nrate = "100 Mbit/s"\ndelay = "1 ms"\nqueue = "200 kB"\n'
MOST = 100e6 / 8 * 3.0 / 8 * 1.1
"""Bytes/s over 8 s of which 3 s had a path of 100 Mbit/s, with what a sender's buffer took."""


def over(kind, more=""):
    return f'{LINE}[targets.t]\nkind = "{kind}"\nthrough = "wan"\n{more}\n'


def load(kind, more=""):
    return f'[workloads.w]\nkind = "{kind}"\nduration = "8 s"\nquiesce = "0 s"\n{more}\n'


def files(way):
    cold = 'cache = "cold"' if way == "read" else ""
    return load("bulk_io", f'operations = ["{way}"]\nsize = "128 MiB"\nrecord_size = "64 KiB"\n{cold}')


DISK = 'size = "300 MiB"\nfilesystem = "ext4"'
SHELL = 'argv = ["iperf3", "-c", "{server.host}", "-p", "{server.port}", "-t", "8", "-J"]\nparse = "iperf3"\ndirection = "send"'
CASES = {
    "net_rr": (over("line"), load("net_rr"), "transaction", "transaction", ()),
    "net_stream": (over("line"), load("net_stream"), "stream", "send", ()),
    "net_udp": (over("line"), load("net_udp", 'rate = "5000/s"'), "datagram", "send", ()),
    "nfs read": (
        over("nfs_ganesha"),
        files("read"),
        "read",
        "read",
        (needs("ganesha.nfsd", "rpcbind"), needs_client, needs_fuse),
    ),
    "nfs write": (
        over("nfs_ganesha"),
        files("write"),
        "write",
        "write",
        (needs("ganesha.nfsd", "rpcbind"), needs_client, needs_fuse),
    ),
    "smb": (over("smb_samba"), files("read"), "read", "read", (needs("smbd", "rclone"), needs_fuse)),
    "iscsi": (over("iscsi", DISK), files("read"), "read", "read", (needs("tgtd", "nbdfuse", "qemu-storage-daemon"), needs_fuse)),
    "ldap_load": (
        'kind = "ldap_openldap"\nentries = 1000\naddress = "{address}"',
        load("ldap_load"),
        "load",
        "search",
        (needs("slapd"),),
    ),
    "iperf3": (
        'kind = "socket"\naddress = "{address}:5201"',
        f'[workloads.w]\nkind = "command"\n{SHELL}\n',
        "run",
        "send",
        (needs("iperf3"),),
    ),
}
"""Target, load, phase, operation, needs; a target without a path is on a far machine whose kernel drops everything."""
FAR = """
[hosts]
s = {{ via = "ssh", address = "{address}", engine = true }}
[targets.t]
host = "s"
{target}
"""
TABLE = "add table inet cut; add chain inet cut i {{ type filter hook input priority 0; }}"
DROP = 'add rule inet cut i iifname "eth0" tcp dport != 22 drop'


def events(phase, mends, machine):
    """The path is cut at 3 s, and mended at 5 s if it is."""
    event = f'[[workloads.w.events]]\nphase = "{phase}"\n'
    if machine is None:
        return f'{event}at = "3 s"\non = "wan"\naction = "cut"\n' + ('for = "2 s"\n' if mends else "")
    inside = ("ip", "netns", "exec", machine.namespace, "nft")
    cut, mend = (json.dumps([*inside, words]) for words in (DROP.replace("{", "{{").replace("}", "}}"), "flush chain inet cut i"))
    return f'{event}at = "3 s"\nrun = {cut}\n' + (f'{event}at = "5 s"\nrun = {mend}\n' if mends else "")


@pytest.mark.parametrize("mends", [False, True], ids=["to the end", "for 2 s"])
@pytest.mark.parametrize(
    "name", [pytest.param(*one.values, marks=(*one.marks, *CASES[one.values[0]][4])) for one in first_and_all(list(CASES))]
)
def test_a_dead_path_is_in_the_rate_with_since_when(name, mends, tmp_path, far):  # noqa: F811
    target, work, phase, operation, _ = CASES[name]
    machine, serving, home = None, None, tmp_path
    if "[targets" not in target:
        fleet = far(1)
        machine, home = fleet[0], fleet.home
        machine.shape("100mbit", 200_000)
        machine.run("nft", TABLE.format())
        serving = machine.start("iperf3", "-s", stdout=subprocess.DEVNULL) if name == "iperf3" else None
        target = FAR.format(address=machine.address, target=target.format(address=machine.address))
    rate = f"w.{operation}.bytes_per_s" if operation in ("send", "read", "write") else f"w.{operation}.ops_per_s"
    asked = {
        rate: {},
        f"w.{operation}.longest_pause_ns": {},
        **({"w.send.delivered_bytes_per_s": {}} if name == "net_udp" else {}),
    }
    measures = "[measures]\n" + "".join(f'"{one}" = {{}}\n' for one in asked)
    bench = OnFleet(tmp_path, home)
    (tmp_path / "t.toml").write_text(dedent(HEAD) + target + work + events(phase, mends, machine) + measures)
    done = bench.run("run", "t.toml", "--lab", "lab", "--progress", "none")
    if serving is not None:
        serving.kill()
        serving.wait()
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(bench.run("show", "1", "--lab", "lab", "--json").stdout)["verdicts"]
    figure = told["w.send.delivered_bytes_per_s" if name == "net_udp" else rate]
    pause_s = told[f"w.{operation}.longest_pause_ns"]["value"] / 1e9
    stalled = [one for one in figure["findings"] if one["rule"] == "W12" and one["state"] == "fail"]
    assert stalled, figure
    if figure["unit"] == "bytes/s":
        assert figure["value"] < MOST * (2 if mends else 1)
    if mends:
        assert 1.9 < pause_s < 5.5
    else:
        assert pause_s > (3.9 if name == "iperf3" else 4.5), pause_s
        since_s = float(stalled[0]["statement"].partition(" from ")[2].split()[0])
        assert 2.8 < since_s < 4.2, stalled[0]["statement"]
