"""The load for observers of a directory server: searches of a private slapd, and the CPU time that the server needs for each.

The database is in a directory of the self-test. The searches are those of ldapsearch on one connection, of entries in memory.
"""

from __future__ import annotations

from dataclasses import replace

from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.evidence import ladder
from assay.experiment import read
from assay.records import Experiment, Observations, Run

NAME = "cached searches of slapd"
OBSERVERS = ("directory_io",)
"""Observers that see nothing of another load."""
SERVER_CPU = "server_process"
"""The observer of the server's CPU time: in both runs of a pair."""
PEOPLE, SEARCHES = 1000, 20_000
PROGRAMS = (("/usr/sbin/slapd", "slapd"), ("/usr/bin/ldapsearch", "ldap-utils"), ("/etc/ldap/schema/core.schema", "slapd"))
EXPERIMENT = (
    """
title = "cached searches of slapd"
repeats = 1
[targets.directory]
kind = "commands"
prepare = ["sh", "-c", '''
set -e
d=DIRECTORY
mkdir -p $d/data
cd $d
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
echo ldap://127.0.0.1:$port > address
cat > conf << END
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile $d/pid
database mdb
suffix dc=x
directory $d/data
maxsize 67108864
index objectClass,cn eq
END
awk 'BEGIN {
  print "dn: dc=x\\nobjectClass: dcObject\\nobjectClass: organization\\no: x\\ndc: x\\n"
  for (i = 0; i < """
    + str(PEOPLE)
    + """; i++) printf "dn: cn=u%d,dc=x\\nobjectClass: person\\ncn: u%d\\nsn: s\\n\\n", i, i }' > people
awk 'BEGIN { for (i = 0; i < """
    + str(SEARCHES)
    + """; i++) printf "u%d\\n", i % """
    + str(PEOPLE)
    + """ }' > keys
/usr/sbin/slapadd -q -f conf -l people
/usr/sbin/slapd -f conf -h $(cat address)
while [ ! -s pid ]; do sleep 0.02; done
for try in $(seq 200); do ldapsearch -x -LLL -H $(cat address) -b dc=x -s base 1.1 > /dev/null 2>&1 && break; sleep 0.05; done
echo $d/data
''']
teardown = ["sh", "-c", "d=DIRECTORY; if [ -s $d/pid ]; then kill $(cat $d/pid); sleep 0.2; fi; rm -rf $d"]
[targets.directory.server]
pid_file = "DIRECTORY/pid"
data = ["{path}"]
address = "127.0.0.1"
[workloads.w]
kind = "command"
quiesce = "0 s"
argv = ["sh", "-c", "exec ldapsearch -x -LLL -H $(cat ../address) -b dc=x -f ../keys '(cn=%s)' 1.1 > /dev/null"]
operation = "search"
direction = "read"
[measures]
"w.search.elapsed_ns" = {}
"""
)


def obstacle(host: Host) -> str | None:
    """Return why the load cannot run; None if it can."""
    packages = dict.fromkeys(package for path, package in PROGRAMS if not host.exists(path))
    return f"install {' and '.join(packages)} for its load" if packages else None


def experiment(directory: str, observers: tuple[str, ...]) -> Experiment:
    """Return the experiment in a directory of ours, with these observers and that of the server's CPU time."""
    text = EXPERIMENT.replace("DIRECTORY", f"{directory}/slapd")
    return replace(read.parse(text, "selftest"), observers=(SERVER_CPU, *observers))


def cpu_ns(run: Run, observations: Observations) -> float:
    """The CPU time of the server for one search. Raises EvidenceError where it is not known."""
    phase = next(one for one in run.phases if one.measured)
    for series in observations.over_time(phase.name, "server", "run_ns"):
        risen = ladder.rise(series, phase.start_ns, phase.end_ns)
        if risen:
            return risen / SEARCHES
    raise EvidenceError("found no CPU time of slapd; expected some of its searches")
