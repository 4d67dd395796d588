"""Imports by adds to a running server, end to end: progress, count, refused entries, flushes."""

import json

import pytest

from stage.directory_stage import PEOPLE, both, pairs

EXPERIMENT = """
title = "Online import"
question = "How fast are adds?"
repeats = 1
seed = 1
[targets.people]
kind = "{kind}"
state = "empty"
{population}
[workloads.load]
kind = "ldap_import"
mode = "online"
flush = "{flush}"
connections = 8
[measures]
"load.import.ops_per_s" = {{ claim = {{ durability = "stable-media" }} }}
"""


def run(bench, kind, flush="none", population="entries = 3000", progress="none"):
    (bench.home / "e.toml").write_text(EXPERIMENT.format(kind=kind, flush=flush, population=population))
    return bench.run("run", "e.toml", "--json", "--progress", progress)


def the_run(bench):
    (path,) = bench.home.glob("lab/*/trials/*/attempt-*/run.json")
    return json.loads(path.read_text())


@pytest.mark.slow
@pairs("flush", ["none", "inside", "apart"])
def test_every_entry_is_added_reported_and_counted(bench, kind, flush):
    done = run(bench, kind, flush, progress="json")
    assert done.returncode == 0, done.stderr + done.stdout
    (found,) = json.loads(done.stdout)["directory"].values()
    assert (found["ops"], found["wrong"], found["result_codes"]) == (3004, 0, {"success": 3004})
    phases = {one["name"]: one for one in the_run(bench)["phases"]}
    assert list(phases) == ["load.import", *["load.flush"] * (flush == "apart"), "load.count"]
    assert phases["load.count"]["values"]["count.count"] == 3004
    news = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    places = [one["operations"]["import"] for one in news if "import" in one.get("operations", {})]
    entries, bytes_of_file = [one["count"] for one in places], [one["bytes"] for one in places]
    assert entries == sorted(entries)
    assert bytes_of_file == sorted(bytes_of_file)
    lasted_s = (phases["load.import"]["end_ns"] - phases["load.import"]["start_ns"]) / 1e9
    assert len({*entries} - {0}) >= min(2, int(lasted_s / 2)), f"{entries} in {lasted_s:.1f} s"
    assert bench.traces() == []


@pytest.mark.slow
@both
def test_refused_entries_fail_the_trial_by_name(bench, kind):
    bad = PEOPLE + "\ndn: uid=b,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: b\ncn: b\nsn: b\nshoeSize: 9\n"
    (bench.home / "people.ldif").write_text(bad)
    done = run(bench, kind, population='ldif = "people.ldif"')
    assert done.returncode != 0 or "failed" in done.stdout
    error = the_run(bench)["error"]
    assert "the server refused 1 entries: uid=b,ou=people,dc=example,dc=com: " in error
    assert "shoeSize" in error or "shoesize" in error
