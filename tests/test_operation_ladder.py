"""The ladder of operations on a real server: client, wire and server equal to the operation, with searches of others named."""

import json
import os
import socket

import pytest

from stage.assay_process import wait_until
from stage.directory_servers import slapd
from stage.directory_stage import needs

__all__ = ["slapd"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="capturing needs root"),
    needs("slapd", "ldapsearch", "openssl"),
]
OWN = """\
[targets.directory]
kind = "ldap_openldap"
entries = 10000
server = {{ port = {port} }}
"""
EXISTING = """\
[targets.directory]
kind = "ldap_existing"
url = "{url}"
base = "dc=example,dc=com"
"""
LOAD = """
title = "Ladder"
question = "Do client, wire and server count the same?"
repeats = 1
seed = 1
observers = ["*", "wire"]
{target}
[workloads.people]
kind = "ldap_load"
quiesce = "0 s"
mix = [{mix}]
{more}
connections = 2
depth = 4
rate = "1000 /s"
duration = "3 s"
[[workloads.people.events]]
phase = "load"
at = "1 s"
run = ["sh", "-c", "for n in 1 2 3; do ldapsearch -x -LLL -H {others} -b dc=example,dc=com -s base 1.1 || exit 1; done"]
[measures]
"people.search.ops_per_s" = {{}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def ran(bench, text):
    (bench.home / "e.toml").write_text(text)
    done = bench.run("run", "e.toml", "--progress", "none", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    (run,) = json.loads(done.stdout)["runs"]
    (finding,) = [one for one in run["verdicts"]["people.search.ops_per_s"]["findings"] if one["rule"] == "E12"]
    rows = json.loads(bench.run("sql", "SELECT * FROM operation_ladder", "--json").stdout)["rows"]
    return {row["operation"]: row for row in rows}, finding


def test_client_wire_and_server_are_equal_but_for_three_searches_of_somebody_else(bench):
    port = free_port()
    others = f"ldap://127.0.0.1:{port}"
    mix = '"search 6", "compare 2", "modify 2"'
    rows, finding = ran(bench, LOAD.format(target=OWN.format(port=port), mix=mix, more="", others=others))
    assert set(rows) == {"search", "compare", "modify", "bind"}
    for kind, row in rows.items():
        others = 3 if kind in ("search", "bind") else 0
        assert row["wire"] == row["server"], row
        assert (row["client"] or 0) + others == row["wire"], row
        assert row["own"] == 0, row
    assert rows["search"]["client"] > 1_000
    assert json.loads(rows["search"]["others"]) == {"127.0.0.1": 3}
    assert (finding["state"], finding["severity"]) == ("fail", "notes")
    assert "3 searches on the wire came from other clients: 127.0.0.1 (3)." in finding["statement"]
    shown = bench.run("show", "0001/1").stdout
    assert "3 of other clients on the wire (3 from 127.0.0.1)" in shown
    page = bench.run("report", "--out", "-").stdout
    assert "Ladder of operations" in page
    assert "3 of other clients on the wire" in page
    assert bench.traces() == []


def test_searches_through_a_local_socket_are_named_and_own_looks_taken_off(bench, slapd):
    target = EXISTING.format(url=slapd.address)
    load = LOAD.format(target=target, mix='"search 1"', more="population = 1000", others=slapd.ldapi)
    rows, finding = ran(bench, load)
    search, bind = rows["search"], rows["bind"]
    assert search["client"] == search["wire"] == search["server"] - 3, search
    assert search["own"] == bind["own"] == 1  # the look at the monitor goes over the wire, too
    assert json.loads(search["differences"]) == {"another way": 3}
    assert finding["statement"].startswith(
        "The server counts 3 searches more than passed the wire: other clients came another way (ldapi)."
    )
    assert "own looks over the wire are taken off" in bench.run("show", "0001/1").stdout


def test_a_captured_experiment_leaves_nothing_when_it_is_killed(bench):
    target = OWN.format(port=free_port())
    load = LOAD.format(target=target, mix='"search 1"', more="", others="ldapi://%2Fnowhere").partition("[[workloads")[0]
    (bench.home / "e.toml").write_text(f'{load}\n[measures]\n"people.search.ops_per_s" = {{}}\n')
    process = bench.start("run", "e.toml")
    try:
        wait_until(lambda: process.poll() is not None or any("dissect" in line for line in bench.processes().values()))
        assert process.returncode is None, process.communicate()
    finally:
        process.kill()
        process.communicate()
    bench.run("doctor")
    assert not any("dissect" in line for line in bench.processes().values())
