"""The audit of directory servers, for real: counts of client and server, empty answers, imports, caches, and other clients."""

import json

import pytest

from stage.directory_servers import BASE, slapd
from stage.directory_stage import IMPORT, apart, both, needs
from stage.stat_stage import root

__all__ = ["apart", "slapd"]
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


@root
@pytest.mark.root
@pytest.mark.slow
@both
def test_an_import_without_a_flush_is_durable_where_its_tool_flushes(apart, kind):
    (verdict,) = verdicts(apart, IMPORT.format(kind=kind, entries=2000, flush="none")).values()
    found = finding(verdict, "D04")
    durable = kind == "ldap_389ds"  # ns-slapd syncs its database before it ends, slapadd -q does not
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
    ("cache", "states"), [("cold", {"cold": "pass", "warm": "fail"}), ("unchanged", {"cold": "fail"})], ids=["cold", "unchanged"]
)
@both
def test_caches_are_held_against_the_claim(bench, kind, cache, states):
    alone = "read_ahead = false" if kind == "ldap_openldap" else ""  # else one fault brings all of a small database
    text = CLAIMED.format(
        kind=kind, target=alone, ops=1000, load=f'cache = "{cache}"', operation="search", claim='regime = "cold"'
    )
    judged = verdicts(bench, f'{text}"w.search.latency_p50_ns" = {{ claim = {{ regime = "warm" }} }}\n')
    cold, warm = (finding(judged[f"w.search.{figure}"], "T14") for figure in ("ops_per_s", "latency_p50_ns"))
    seen = {"cold": cold, "warm": warm}
    assert {regime: seen[regime]["state"] for regime in states} == states, seen


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
