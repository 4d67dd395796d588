"""The audit of directory servers, for real: counts of client and server, empty answers, imports, caches, and other clients."""

import json

import pytest

from directory_servers import BASE, slapd
from directory_stage import IMPORT, apart, both, needs
from stat_stage import root

__all__ = ["apart", "slapd"]
KINDS = ["search 4", "compare 2", "add 1", "modify 1", "delete 1", "rename 1", "bind 1"]
EVERY_KIND = """
title = "Every kind"
question = "Do client and server count alike?"
repeats = 1
seed = 1
[targets.people]
kind = "{kind}"
entries = 2000
transport = "{transport}"
[workloads.w]
kind = "ldap_load"
quiesce = "0 s"
mix = {mix}
connections = 3
ops = 1100
[measures]
"w.search.ops_per_s" = {{}}
"w.rename.ops_per_s" = {{}}
"w.bind.ops_per_s" = {{}}
"""
CLAIMED = """
title = "Claims"
question = "Are they true?"
repeats = 1
seed = 1
[targets.people]
kind = "{kind}"
entries = 5000
{target}
[workloads.w]
kind = "ldap_load"
quiesce = "0 s"
ops = {ops}
{load}
[measures]
"w.{operation}.ops_per_s" = {{ claim = {{ {claim} }} }}
"""


def verdicts(bench, text):
    (bench.home / "e.toml").write_text(text)
    done = bench.run("run", "e.toml", "--json", "--progress", "none")
    assert done.returncode == 0, done.stderr + done.stdout
    (run,) = json.loads(done.stdout)["runs"]
    return run["verdicts"]


def finding(verdict, rule):
    (found,) = [one for one in verdict["findings"] if one["rule"] == rule]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["tcp", "tls", "ldapi"])
@both
def test_client_and_server_count_every_kind_alike(bench, kind, transport):
    judged = verdicts(bench, EVERY_KIND.format(kind=kind, transport=transport, mix=json.dumps(KINDS)))
    for verdict in judged.values():
        found = finding(verdict, "E08")
        assert found["state"] == "pass", found["statement"]
        seen = found["observed"]
        mine = {name.partition(".")[2]: count for name, count in seen.items() if name.startswith("clients.")}
        assert {name: seen[f"server.{name}"] for name in mine} == mine
        assert {"search", "compare", "add", "modify", "delete", "modrdn", "bind", "entries"} <= mine.keys()


@root
@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize("flush", ["none", "inside"])
@both
def test_an_import_is_durable_where_its_end_is_flushed(apart, kind, flush):
    (verdict,) = verdicts(apart, IMPORT.format(kind=kind, entries=2000, flush=flush)).values()
    found = finding(verdict, "D04")
    durable = flush == "inside" or kind == "ldap_389ds"  # ns-slapd syncs its database before it ends, slapadd -q does not
    assert found["state"] == ("pass" if durable else "fail"), found["statement"]
    assert (verdict["state"] == "INVALID") != durable
    if kind == "ldap_openldap":
        assert (found["observed"]["dirty_share"] > 0.9) != durable
    else:
        assert "by its own tool" in finding(verdict, "E05")["statement"]


@root
@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize(("durable", "state"), [("true", "pass"), ("false", "fail")])
@both
def test_changes_without_a_sync_were_acknowledged_early(apart, kind, durable, state):
    text = CLAIMED.format(
        kind=kind,
        target=f"durable = {durable}",
        ops=300,
        load='mix = ["add 1"]',
        operation="add",
        claim='durability = "stable-media"',
    )
    (verdict,) = verdicts(apart, text).values()
    found = finding(verdict, "D04")
    assert found["state"] == state, found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cache", "regime", "state"), [("cold", "cold", "pass"), ("unchanged", "cold", "fail"), ("cold", "warm", "fail")]
)
@both
def test_caches_are_held_against_the_claim(bench, kind, cache, regime, state):
    alone = "read_ahead = false" if kind == "ldap_openldap" else ""  # else one fault brings all of a small database
    text = CLAIMED.format(
        kind=kind, target=alone, ops=1000, load=f'cache = "{cache}"', operation="search", claim=f'regime = "{regime}"'
    )
    (verdict,) = verdicts(bench, text).values()
    found = finding(verdict, "T14")
    assert found["state"] == state, found


@pytest.mark.slow
@pytest.mark.parametrize(("filter_text", "state"), [("(uid=u{key:08d})", "pass"), ("(uid=nobody{key:08d})", "fail")])
@needs("ldapsearch")
def test_searches_that_find_nothing_are_no_work(bench, slapd, filter_text, state):
    words = (f"url={slapd.address}", f"base={BASE}", "population=1000", "ops=1000", f"filter={filter_text}")
    done = bench.run("load", "ldap_load", *words, "--json")
    assert done.returncode == 0, done.stderr
    verdict = next(one for one in json.loads(done.stdout)["verdicts"] if one["measure"].startswith("ldap_load.search."))
    accusing = [one["rule"] for one in verdict["findings"] if one["severity"] == "invalidates"]
    assert accusing == (["G05"] if state == "fail" else []), verdict["findings"]
    assert (verdict["state"] == "INVALID") == (state == "fail")
