"""A real directory server (slapd): what the audit says of its answers when they come from storage, from memory, too early."""

import shutil
from pathlib import Path

import pytest

from assay.experiment import read
from assay.records import Outcome, State
from assay.selftest.control import measured

SCHEMA = Path("/etc/ldap/schema/core.schema")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("slapd", path="/usr/sbin:/usr/lib/openldap:/bin") and shutil.which("ldapadd") and SCHEMA.exists()),
        reason="needs slapd and ldap-utils (Debian's paths)",
    ),
]
TRIES = 3

SLAPD = """
title = "slapd"
repeats = 1
[targets.directory]
kind = "commands"
variables = { sync = "yes", cache = "cold" }
prepare = ["sh", "-c", '''
set -e
d={scratch}/{name}
mkdir -p $d/data
cd $d
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
echo ldap://127.0.0.1:$port > address
cat > conf << END
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload back_monitor
pidfile $d/pid
database monitor
database mdb
suffix dc=x
rootdn cn=admin,dc=x
rootpw secret
directory $d/data
maxsize 67108864
envflags nordahead
END
if [ {variables.sync} = no ]; then echo dbnosync >> conf; fi
echo '#!/bin/sh
ldapsearch -x -LLL -H $(cat '$d'/address) -b cn=Search,cn=Operations,cn=Monitor -s base monitorOpCompleted' > answered
chmod +x answered
entries() {
  for i in $(seq $1 $2); do
    printf 'dn: cn=u%d,dc=x\\nobjectClass: person\\ncn: u%d\\nsn: s\\ndescription: %0400d\\n\\n' $i $i $i
  done
}
printf 'dn: dc=x\\nobjectClass: dcObject\\nobjectClass: organization\\no: x\\ndc: x\\n\\n' > first
entries 1 100 >> first
entries 101 300 > more
for i in $(seq 1 100); do echo u$i; done > keys
start() { /usr/sbin/slapd -f conf -h $(cat address); while [ ! -s pid ]; do sleep 0.02; done; }
start
until ldapadd -x -H $(cat address) -D cn=admin,dc=x -w secret -f first > /dev/null; do sleep 0.1; done
if [ {variables.cache} = cold ]; then
  kill $(cat pid)
  while [ -s pid ]; do sleep 0.02; done
  sync data/data.mdb
  dd if=data/data.mdb iflag=nocache count=0 status=none
  start
fi
echo $d/data
''']
teardown = ["sh", "-c", "d={scratch}/{name}; if [ -s $d/pid ]; then kill $(cat $d/pid); sleep 0.2; fi; rm -rf $d"]

[targets.directory.server]
pid_file = "{scratch}/{name}/pid"
data = ["{path}"]
address = "127.0.0.1"
requests = ["{scratch}/{name}/answered"]
"""

SEARCHES = """
[workloads.w]
kind = "command"
quiesce = "0 s"
argv = ["sh", "-c", "ldapsearch -x -LLL -H $(cat ../address) -b dc=x -f ../keys '(cn=%s)' description | grep -c ^dn:"]
parse = "regex"
pattern = '(\\d+)'
unit = ""
operation = "search"
direction = "read"
[factors]
"directory.variables.cache" = ["cold", "warm"]
[measures]
"w.search.count" = { claim = { tier = "device", path = "loopback" } }
"""

ADDS = """
[workloads.w]
kind = "command"
quiesce = "0 s"
argv = ["sh", "-c", "exec ldapadd -x -H $(cat ../address) -D cn=admin,dc=x -w secret -f ../more"]
operation = "add"
direction = "metadata"
[factors]
"directory.variables.sync" = ["yes", "no"]
[measures]
"w.add.elapsed_ns" = { claim = { durability = "stable-media" } }
"""


def findings(workload, lab):
    """Level of the factor -> rule -> finding."""
    said = SLAPD + workload
    results = measured(read.parse(said, "slapd.toml"), said, lab)
    heard = {}
    for run in results.runs:
        assert run.run.outcome is Outcome.FINISHED, run.run.error
        (verdict,) = run.verdicts.values()
        (level,) = run.run.trial.levels.values()
        heard[level] = {finding.rule: finding for finding in verdict.findings}
    return heard


def states(heard, rule):
    return {level: found[rule].state for level, found in heard.items()}


def test_searches_from_storage_and_from_memory_are_told_apart(tmp_path):
    for attempt in range(TRIES):
        heard = findings(SEARCHES, tmp_path / str(attempt))
        if states(heard, "T02") == {"cold": State.PASS, "warm": State.FAIL}:
            break
    assert states(heard, "T02") == {"cold": State.PASS, "warm": State.FAIL}, {level: f["T02"] for level, f in heard.items()}
    assert set(states(heard, "T09").values()) == {State.PASS}, heard["warm"]["T09"]
    assert heard["warm"]["T09"].observed["requests"] >= 100
    assert set(states(heard, "L05").values()) == {State.PASS}


def test_additions_that_are_not_synced_are_told_from_those_that_are(tmp_path):
    for attempt in range(TRIES):
        heard = findings(ADDS, tmp_path / str(attempt))
        if states(heard, "D04") == {"yes": State.PASS, "no": State.FAIL}:
            break
    assert states(heard, "D04") == {"yes": State.PASS, "no": State.FAIL}, {level: f["D04"] for level, f in heard.items()}
