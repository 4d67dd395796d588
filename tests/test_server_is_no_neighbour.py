"""N03 never takes the target's own processes for somebody else's, whatever control group they are in."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from assay.experiment import read
from assay.hosts.local import Local
from assay.machine import cgroups
from assay.records import Outcome, State
from assay.selftest.control import measured

GROUPS = Path("/sys/fs/cgroup/pids") if Path("/sys/fs/cgroup/pids").is_dir() else Path("/sys/fs/cgroup")
TRIALS = 2  # of each of four kinds of server
SERVER = "papersrv"
"""What the server's processes are called: a link to Python."""
PYTHON = str(Path(sys.executable).resolve())
pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(not os.access(GROUPS, os.W_OK) or not shutil.which("python3"), reason="needs control groups, python3"),
]

# A front end hands each block to a worker that is no child of it and writes it: both burn CPU time and write to the device.
EXPERIMENT = """
title = "server"
repeats = TRIALS
[targets.store]
kind = "commands"
prepare = ["sh", "-c", '''
set -e
d={scratch}/{name}
mkdir -p $d/data
cd $d
ln -sf PYTHON SERVER
PLACE
cat > serve << END
import os, socket, time
def burn():
    until = time.process_time() + 0.02
    while time.process_time() < until: pass
def work(link):
    store = os.open("data/store", os.O_WRONLY | os.O_CREAT)
    while block := link.recv(1 << 20, socket.MSG_WAITALL):
        burn()
        os.write(store, block)
        os.fdatasync(store)
        link.send(b"+")
def worker(link):
    DOWN
    link.setblocking(True)
    work(link)
    os._exit(0)
server = socket.create_server(("127.0.0.1", 0))
open("port.new", "w").write(str(server.getsockname()[1]))
os.rename("port.new", "port")
while True:
    link, _ = server.accept()
    burn()
    if os.fork() == 0:
        if FORKS == 1 or os.fork() == 0: worker(link)
        os._exit(0)
    link.close()
    if FORKS == 2: os.wait()
END
./SERVER serve > /dev/null 2> log &
echo $! > pid
for _ in $(seq 500); do if [ -s port ]; then break; fi; sleep 0.02; done
[ -s port ]
echo $d/data
''']
teardown = ["sh", "-c", '''
d={scratch}/{name}
for group in GROUP/worker.service GROUP; do
  if [ -e $group/cgroup.procs ]; then for pid in $(cat $group/cgroup.procs); do kill -KILL $pid; done; fi
done
if [ -s $d/pid ]; then kill -KILL $(cat $d/pid) 2> /dev/null || true; fi
sleep 0.1
for group in GROUP/worker.service GROUP; do if [ -d $group ]; then rmdir $group; fi; done
rm -rf $d
''']
server = { NAMED, data = ["{path}"], address = "127.0.0.1" }

[workloads.w]
kind = "command"
quiesce = "0 s"
argv = ["python3", "-c", '''
import socket
link = socket.create_connection(("127.0.0.1", int(open("../port").read())))
done = 0
for _ in range(12):
    link.sendall(bytes(1 << 20))
    done += (1 << 20) * len(link.recv(1))
print(done)
''']
parse = "regex"
pattern = '(\\d+)'
unit = "B"
direction = "write"

[measures]
"w.write.bytes" = {}
"""
OWN_GROUP = """mkdir -p GROUP/worker.service
echo $$ > GROUP/cgroup.procs"""
KINDS = {
    "in the lab's group": ("", "pass", "1", 'pid_file = "{scratch}/{name}/pid"'),
    "in a group of its own, by its pid": (OWN_GROUP, "pass", "1", 'pid_file = "{scratch}/{name}/pid"'),
    "in a group of its own": (OWN_GROUP, "pass", "2", 'cgroup = "GROUP"'),
    "in a group below its own": (
        OWN_GROUP,
        'open("GROUP/worker.service/cgroup.procs", "w").write(str(os.getpid()))',
        "2",
        'cgroup = "GROUP"',
    ),
}


@pytest.fixture
def group():
    path = GROUPS / f"assaytest-{os.getpid()}"
    yield path
    for one in (path / "worker.service", path):
        if one.is_dir():
            cgroups.remove_group(Local(), str(one))


def text_of(kind, group):
    place, down, forks, named = KINDS[kind]
    said = EXPERIMENT.replace("PLACE", place).replace("DOWN", down).replace("FORKS", forks).replace("NAMED", named)
    return said.replace("GROUP", str(group)).replace("SERVER", SERVER).replace("TRIALS", str(TRIALS)).replace("PYTHON", PYTHON)


@pytest.mark.parametrize("kind", KINDS)
def test_the_server_is_never_named_as_another_program(kind, group, tmp_path):
    said = text_of(kind, group)
    results = measured(read.parse(said, "server.toml"), said, tmp_path)
    assert len(results.runs) >= TRIALS, "a run that noise spoilt is repeated"
    for run in results.runs:
        assert run.run.outcome is Outcome.FINISHED, run.run.error
        (verdict,) = run.verdicts.values()
        (found,) = [one for one in verdict.findings if one.rule == "N03"]
        assert SERVER not in " ".join((found.statement, *found.evidence)), found
        assert found.state is not State.NOT_APPLICABLE
