"""The load for observers of a directory server: searches of a private slapd, and the CPU time that the server needs for each.

The database is in a directory of the self-test. One client searches over one connection, one request at a time, for entries in
memory.
"""

from __future__ import annotations

from dataclasses import replace

from assay import catalogue
from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.evidence import ladder
from assay.experiment import read
from assay.records import Experiment, Observations, Run

NAME = "cached searches of slapd"
OBSERVERS = ("directory_io", "wire")
"""Observers that see nothing of another load."""
SERVER_CPU = "server_process"
"""The observer of the server's CPU time: in both runs of a pair."""
PEOPLE, SEARCHES = 1000, 20_000
PROGRAMS = (("/usr/sbin/slapd", "slapd"), ("/usr/bin/ldapsearch", "ldap-utils"), ("/etc/ldap/schema/core.schema", "slapd"))
EXPERIMENT = f"""
title = "{NAME}"
repeats = 1
[targets.directory]
kind = "ldap_openldap"
entries = {PEOPLE}
[workloads.w]
kind = "ldap_load"
quiesce = "0 s"
connections = 1
ops = {SEARCHES}
[measures]
"w.search.ops_per_s" = {{}}
"""


def obstacle(host: Host) -> str | None:
    """Return why the load cannot run; None if it can."""
    packages = dict.fromkeys(package for path, package in PROGRAMS if not host.exists(path))
    return f"install {' and '.join(packages)} for its load" if packages else None


def unable(name: str, host: Host) -> str | None:
    """Return why an observer, or the load that it needs, does not work here; None where both do."""
    return catalogue.find("observers", name).available(host) or (obstacle(host) if name in OBSERVERS else None)


def experiment(observers: tuple[str, ...]) -> Experiment:
    """Return the experiment with these observers and that of the server's CPU time."""
    return replace(read.parse(EXPERIMENT, "selftest"), observers=(SERVER_CPU, *observers))


def cpu_ns(run: Run, observations: Observations) -> float:
    """The CPU time of the server for one search. Raises EvidenceError where it is not known."""
    phase = next(one for one in run.phases if one.measured)
    for series in observations.over_time(phase.name, "server", "run_ns"):
        risen = ladder.rise(series, phase.start_ns, phase.end_ns)
        if risen:
            return risen / SEARCHES
    raise EvidenceError("found no CPU time of slapd; expected some of its searches")
