"""The audit of ns-slapd, for real: imports, changes without a sync, caches. The controls of D04, T14 and G05 run slapd."""

import json

import pytest

from stage.directory_stage import IMPORT, apart, server
from stage.stat_stage import root

__all__ = ["apart"]
CLAIMED = """
title = "Claims"
question = "Are they true?"
repeats = 1
seed = 1
[targets.people]
kind = "ldap_389ds"
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
pytestmark = [pytest.mark.slow, *server("ldap_389ds").marks]


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
def test_an_import_without_a_flush_is_durable_where_its_tool_flushes(apart):
    """ns-slapd syncs its database before it ends, slapadd -q does not."""
    (verdict,) = verdicts(apart, IMPORT.format(kind="ldap_389ds", entries=2000, flush="none")).values()
    assert finding(verdict, "D04")["state"] == "pass", finding(verdict, "D04")["statement"]
    assert verdict["state"] != "INVALID"
    assert "by its own tool" in finding(verdict, "E05")["statement"]


@root
@pytest.mark.root
@pytest.mark.parametrize(("durable", "state"), [("true", "pass"), ("false", "fail")])
def test_changes_without_a_sync_were_acknowledged_early(apart, durable, state):
    claim = 'durability = "stable-media"'
    text = CLAIMED.format(target=f"durable = {durable}", ops=300, load='mix = ["add 1"]', operation="add", claim=claim)
    (verdict,) = verdicts(apart, text).values()
    found = finding(verdict, "D04")
    assert found["state"] == state, found


@pytest.mark.parametrize(
    ("cache", "states"), [("cold", {"cold": "pass", "warm": "fail"}), ("unchanged", {"cold": "fail"})], ids=["cold", "unchanged"]
)
def test_caches_are_held_against_the_claim(bench, cache, states):
    text = CLAIMED.format(target="", ops=1000, load=f'cache = "{cache}"', operation="search", claim='regime = "cold"')
    judged = verdicts(bench, f'{text}"w.search.latency_p50_ns" = {{ claim = {{ regime = "warm" }} }}\n')
    cold, warm = (finding(judged[f"w.search.{figure}"], "T14") for figure in ("ops_per_s", "latency_p50_ns"))
    seen = {"cold": cold, "warm": warm}
    assert {regime: seen[regime]["state"] for regime in states} == states, seen
