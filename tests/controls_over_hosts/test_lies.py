"""Lies over several machines and their sound twins: load on two far machines, the server on a third one, each with its own clock.

Each lie must fail the rule that it is about, each twin must not. Noise of this machine may leave a twin unverified.
"""

import contextlib
import shutil
from dataclasses import dataclass, field

import pytest

from assay.experiment import read
from assay.records import Outcome, Severity, State
from assay.selftest.control import measured

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(
        not shutil.which("python3", path="/usr/bin"), reason="needs /usr/bin/python3: far machines have a /root of their own"
    ),
]
PYTHON = shutil.which("python3", path="/usr/bin") or ""

SERVER = """
import os, socket, sys, threading
server = socket.create_server(("0.0.0.0", 7391))
sync = sys.argv[1] == "yes"
store = os.open("data/store", os.O_RDWR | os.O_CREAT)
def serve(link):
    while order := link.recv(1):
        if order == b"r":
            with open("data/file" + link.recv(1).decode(), "rb", buffering=0) as file:
                while block := file.read(4096): link.sendall(block)
            break
        block = link.recv(65536, socket.MSG_WAITALL)
        os.write(store, block)
        if sync: os.fdatasync(store)
        link.send(b"+")
    link.close()
open("ready", "w").close()
while True:
    link, _ = server.accept()
    threading.Thread(target=serve, args=(link,), daemon=True).start()
"""
READ = """
import socket, sys
link, total = socket.create_connection((open("address").read(), 7391)), 0
link.sendall(b"r" + open("client", "rb").read())
while block := link.recv(1 << 20): total += len(block)
print(total)
"""
WRITE = """
import socket
link, done = socket.create_connection((open("address").read(), 7391)), 0
for _ in range(64):
    link.sendall(b"w" + bytes(65536))
    done += 65536 * len(link.recv(1))
print(done)
"""
EXPERIMENT = """
title = "over hosts"
repeats = 1
[hosts]
s = { via = "ssh", address = "ADDRESS-S", engine = true }
c = { via = "ssh", addresses = ["ADDRESS-1", "ADDRESS-2"], load = true }

[targets.store]
kind = "commands"
host = "s"
prepare = ["sh", "-c", '''
set -e
d={scratch}/{name}
mkdir -p $d/data
cd $d
if [ DISK = own ]; then truncate -s 256M image; mkfs.ext4 -q image; mount -o loop image data; fi
cat > serve << END
SERVER
END
for file in data/file0 data/file1; do
  dd if=/dev/urandom of=$file bs=1M count=16 conv=fsync status=none
  if [ CACHE = cold ]; then dd if=$file iflag=nocache count=0 status=none; fi
done
PYTHON serve SYNC > /dev/null 2> log &
echo $! > pid
for _ in $(seq 500); do if [ -e ready ]; then break; fi; sleep 0.02; done
[ -e ready ]
echo $d/data
''']
attach = ["sh", "-c", '''
mkdir {scratch}/{client}
cd {scratch}/{client}
printf %s DATA-S > address
printf %s {client} > client
pwd''']
detach = ["rm", "-rf", "{scratch}/{client}"]
teardown = ["sh", "-c", 'd={scratch}/{name}; if [ -s $d/pid ]; then kill $(cat $d/pid); fi; umount -l $d/data 2>&-; rm -rf $d']
server = { pid_file = "{scratch}/{name}/pid", data = ["{path}"], address = "DATA-S" }

[workloads.w]
WORKLOAD
[factors]
clients = [2]
[measures]
MEASURE
"""
COMMAND = """kind = "command"
quiesce = "0 s"
argv = ["PYTHON", "-c", '''WORK''']
parse = "regex"
pattern = '(\\d+)'
unit = "B"
direction = "DIRECTION"
"""
NULL = """kind = "null"
quiesce = "0 s"
think = "1 ms"
duration = "TIME"
start_delay = "DELAY"
"""


@dataclass(frozen=True)
class Lie:
    """One lie: the rule that must see it, the experiment, and what differs between the lie and its twin."""

    rule: str
    claim: str
    workload: str
    lie: dict = field(default_factory=dict)
    twin: dict = field(default_factory=dict)
    severities: tuple = (Severity.INVALIDATES,)


def command(work, direction):
    return COMMAND.replace("WORK", work).replace("DIRECTION", direction)


READS = ('"w.read.bytes" = { claim = { CLAIM } }', command(READ, "read"))
TIMED = "import time\nbegun = time.monotonic()" + READ.replace("print(total)", "print(int(total / (time.monotonic() - begun)))")
RATES = ('"w.read.bytes_per_s" = { claim = { CLAIM } }', command(TIMED, "read").replace('"B"', '"B/s"'))
"""Noise changes a rate, never the amount of a work that is done to its end."""
WRITES = ('"w.write.bytes" = { claim = { CLAIM } }', command(WRITE, "write"))
STARTS = ('"w.null.ops_per_s" = { claim = { CLAIM } }', NULL)
APART = {"DISK": "own"}
"""Whoever flushes the file system of all tests would flush what this server did not."""
LIES = {
    "server cache": Lie("T02", 'tier = "device"', READS, {"CACHE": "warm"}, {"CACHE": "cold"}),
    "early acknowledgement": Lie("D04", 'durability = "stable-media"', WRITES, {"SYNC": "no", **APART}, {"SYNC": "yes", **APART}),
    "no wire": Lie("L05", 'path = "wire"', READS, {"boot": "one"}, {"boot": "two"}),
    "other link": Lie("L05", 'path = "wire"', READS, {"link": "marked"}, {"link": "second"}),
    "full link": Lie("L03", 'tier = "device"', READS, {"rate": "40mbit"}, {}, (Severity.QUALIFIES,)),
    "busy server": Lie("N03", 'tier = "device"', RATES, {"burns": 2}, {}, (Severity.QUALIFIES,)),
    "late client": Lie("W04", 'load = "closed"', STARTS, {"DELAY": "2 s"}, {"DELAY": "0 s"}),
    "unequal clocks": Lie("W08", 'load = "closed"', STARTS, {"TIME": "2 ms"}, {"TIME": "3 s"}, tuple(Severity)[:2]),
}
TRIES = 3
"""A busy machine drops segments between its namespaces, too: that is no fault of the rule."""
USUAL = {"DISK": "shared", "CACHE": "cold", "SYNC": "yes", "TIME": "3 s", "DELAY": "0 s"}


def text_of(lie, differs, fleet):
    measure, workload = lie.workload
    said = EXPERIMENT.replace("WORKLOAD", workload).replace("MEASURE", measure).replace("CLAIM", lie.claim)
    said = said.replace("SERVER", SERVER.strip()).replace("PYTHON", PYTHON)
    for name, value in {**USUAL, **differs}.items():
        said = said.replace(name, str(value)) if name.isupper() else said
    for name, machine in zip(("S", "1", "2"), fleet, strict=True):
        said = said.replace(f"ADDRESS-{name}", machine.address)
        said = said.replace(f"DATA-{name}", machine.control if "link" in differs else machine.address)
    return said


@pytest.fixture(params=LIES)
def lie(request):
    return LIES[request.param]


@pytest.fixture
def fleet(far, monkeypatch):
    """A server and two load hosts, reached with the keys of this fleet alone."""
    machines = far(3, control=True)
    monkeypatch.setenv("HOME", str(machines.home))
    return machines


def finding(lie, differs, fleet, lab):
    said = text_of(lie, differs, fleet)
    for machine in (*fleet.machines,):
        if rate := differs.get("rate"):
            machine.shape(rate, limit_bytes=64_000_000)
    if differs.get("boot") == "one":
        server, first, _ = fleet
        (first.directory / "boot_id").write_text((server.directory / "boot_id").read_text())
    if differs.get("link") == "marked":
        divert(fleet)
    with contextlib.ExitStack() as beside:
        for _ in range(differs.get("burns", 0)):
            burning = beside.enter_context(fleet[0].start("sh", "-c", "while :; do :; done"))
            beside.callback(burning.kill)
        results = measured(read.parse(said, "over_hosts.toml"), said, lab)
    run = results.runs[-1]
    assert run.run.outcome is Outcome.FINISHED, run.run.error
    (verdict,) = run.verdicts.values()
    return next(one for one in verdict.findings if one.rule == lie.rule)


def divert(fleet):
    """Send all that goes to the second addresses over the first link, by a mark that `ip route get` does not know."""
    for machine in fleet:
        machine.run("nft", "add", "table", "ip", "r")
        machine.run("nft", "add", "chain", "ip", "r", "o", "{ type route hook output priority mangle; }")
        machine.run("nft", "add", "rule", "ip", "r", "o", "ip", "daddr", f"10.92.{fleet.number}.0/24", "meta", "mark", "set", "1")
        machine.run("ip", "rule", "add", "fwmark", "1", "lookup", "100")
        for other in fleet:
            machine.run("ip", "route", "add", other.control, "via", other.address, "dev", "eth0", "table", "100")


def is_accused(twin):
    return twin.state is State.FAIL and twin.severity is not Severity.NOTES


def test_a_lie_over_hosts_is_caught_and_its_twin_is_not_accused(lie, fleet, tmp_path):
    for number in range(TRIES):
        twin = finding(lie, lie.twin, fleet, tmp_path / f"twin-{number}")
        if not is_accused(twin):
            break
    assert not is_accused(twin), f"{twin.statement} {twin.advice}"
    caught = finding(lie, lie.lie, fleet, tmp_path / "lie")
    assert caught.state is State.FAIL, f"{caught.statement} {caught.advice}"
    assert caught.severity in lie.severities, caught.statement
