"""Directory servers end to end: an import with its verdict, its progress and its count, and nothing left after a kill."""

import json
import shutil
from pathlib import Path

import pytest

from stage.directory_stage import IMPORT, SERVERS, apart, assert_trusted, both, server
from stage.kill_moments import killed
from stage.sizes import few_and_many, first_and_all
from stage.stat_stage import root

__all__ = ["apart"]

SCRIPT = (
    "for n in 0 1 2 3 4 5 6; do LDAPTLS_CACERT={ca_file} ldapsearch -LLL {secure} -x -H {url} -D '{bind_dn}' "
    "-y {password_file} -b {base} '(uid=u0000999'$n')' uid; done"
)
"""Seven searches of a peer, each with a bind and a connection of its own."""
SEARCHES = """
title = "Searches"
question = "Does a peer see the same server?"
repeats = 1
seed = 1
[targets.people]
kind = "{kind}"
entries = 10000
transport = "{transport}"
[workloads.peer]
kind = "command"
argv = ["sh", "-c", "{script}"]
[measures]
"peer.command.elapsed_ns" = {{}}
"""


EXPIRED_S = 25
"""The kernel itself writes what has been dirty for 30 s."""


def searches(kind, transport):
    secure = "-ZZ" if transport == "starttls" else ""
    return SEARCHES.format(kind=kind, transport=transport, script=SCRIPT.replace("{secure}", secure))


def ran(bench, text, *words):
    (bench.home / "e.toml").write_text(text)
    done = bench.run("run", "e.toml", "--json", *words)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def the_run(bench):
    (path,) = bench.home.glob("lab/*/trials/*/attempt-*/run.json")
    return json.loads(path.read_text())


@root
@pytest.mark.root
@pytest.mark.slow
@both
def test_an_import_from_nothing_to_its_verdict(apart, kind):
    before = apart.traces()
    answer = ran(apart, IMPORT.format(kind=kind, entries=10_000, flush="inside"), "--progress", "none")
    (run,) = answer["runs"]
    verdict = run["verdicts"]["load.import.ops_per_s"]
    assert_trusted(verdict)
    found = {one["rule"]: one for one in verdict["findings"]}
    assert found["D04"]["state"] == "pass", found["D04"]
    assert kind == "ldap_openldap" or "by its own tool" in found["E05"]["statement"]
    imported, counted = the_run(apart)["phases"]
    assert imported["values"]["import.count"] == counted["values"]["count.count"] == 10_004
    if kind == "ldap_389ds":  # whole seconds of its own, which never replace the clock's
        assert imported["values"]["importer.count"] == 10_004
        assert imported["values"]["importer.elapsed_ns"] <= imported["values"]["import.elapsed_ns"] + 1e9
    assert apart.traces() == before


@root
@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize("kind", [server("ldap_openldap")])
def test_an_import_without_a_flush_is_not_durable(apart, kind):
    answer = ran(apart, IMPORT.format(kind=kind, entries=20_000, flush="apart"))
    (run,) = answer["runs"]
    verdict = run["verdicts"]["load.import.ops_per_s"]
    (dirty,) = [one for one in verdict["findings"] if one["rule"] == "D01"]
    assert dirty["state"] == "fail"
    assert dirty["observed"]["dirty_share"] > 0.9
    assert verdict["state"] == "INVALID"
    assert [phase["name"] for phase in the_run(apart)["phases"]] == ["load.import", "load.flush", "load.count"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [server("ldap_openldap")])
def test_progress_comes_from_the_importers_place_in_its_file(bench, kind):
    (bench.home / "e.toml").write_text(IMPORT.format(kind=kind, entries=80_000, flush="none"))
    done = bench.run("run", "e.toml", "--progress", "json")
    assert done.returncode == 0, done.stderr
    news = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    places = [
        one["operations"]["progress"]["bytes"]
        for one in news
        if str(one.get("phase")).endswith("import") and "progress" in one.get("operations", {})
    ]
    assert places == sorted(places)
    within = {place for place in places if place > 0}
    imported = the_run(bench)["phases"][0]["values"]["import.elapsed_ns"] / 1e9
    # A look each second; the first may come before the import is under way.
    assert len(within) >= min(3, int(imported) - 1), (places, imported)


@root
@pytest.mark.root
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("kind", [server("ldap_openldap")])
def test_an_import_of_100_000_entries_is_durable_with_a_flush_alone(apart, kind):
    found, took_s = {}, {}
    for flush in ("none", "inside"):
        (run,) = ran(apart, IMPORT.format(kind=kind, entries=100_000, flush=flush))["runs"]
        verdict = run["verdicts"]["load.import.ops_per_s"]
        (dirty,) = [one for one in verdict["findings"] if one["rule"] == "D01"]
        found[flush] = dirty["state"], dirty["observed"]["dirty_share"], verdict
        took_s[flush] = the_run(apart)["phases"][0]["values"]["import.elapsed_ns"] / 1e9
        shutil.rmtree(apart.home / "lab")
    assert found["none"][0] == "fail"
    assert found["none"][1] > 0.9 or took_s["none"] > EXPIRED_S, "slapadd -q flushes nothing"
    assert found["inside"][0] == "pass"
    assert_trusted(found["inside"][2])


@pytest.mark.slow
@pytest.mark.parametrize("transport", first_and_all(["starttls", "tcp"]))
@both
def test_the_servers_counts_are_those_of_a_peer(bench, kind, transport):
    ran(bench, searches(kind, transport))
    done = bench.run("sql", "SELECT metric, max(value) AS most FROM series WHERE layer = 'directory' GROUP BY metric", "--json")
    assert done.returncode == 0, done.stderr
    counts = {row["metric"]: row["most"] for row in rows(json.loads(done.stdout))}
    assert (counts["search"], counts["bind"], counts["entries"], counts["connections"]) == (7, 7, 7, 7)


def rows(answer):
    return [dict(zip(answer["columns"], row, strict=True)) if isinstance(row, list) else row for row in answer["rows"]]


def made_outside(entries):
    """What the ledger has of the server beyond its own directory."""
    commands = [json.loads(details["argv"]) for kind, details in entries if kind == "command"]
    return [argv[-1] for argv in commands if argv[0] == "rm"]


@pytest.mark.slow
@both
@few_and_many("points", 3, 20)
def test_nothing_is_left_after_a_kill_at_any_point(bench, kind, points):
    (bench.home / "e.toml").write_text(searches(kind, "tcp").replace("repeats = 1", "repeats = 200"))
    served = 0
    for lab in killed(bench, points):
        served += any(SERVERS[kind] in command for command in lab.others.values())
        paths = [details["path"] for _, details in lab.open if "path" in details]
        assert [path for path in (*paths, *made_outside(lab.open)) if Path(path).exists()] == [], lab.told
    assert served
