"""All seven kinds of operations on both servers, by each transport: the engine's counts are those of the server's own monitor."""

import json

import pytest

from stage.directory_stage import pairs

MIX = {"search": 4, "compare": 2, "add": 1, "modify": 1, "rename": 1, "delete": 1, "bind": 1}
DECKS = 40
EXPERIMENT = """
title = "Seven kinds"
question = "Do client and server count the same?"
repeats = 1
seed = 1
[targets.people]
kind = "{kind}"
entries = 1000
transport = "{transport}"
[workloads.load]
kind = "ldap_load"
mix = {mix}
attributes = ["uid"]
connections = 4
misses = "10 %"
ops = {ops}
quiesce = "0 s"
[measures]
"load.search.ops_per_s" = {{}}
"load.rename.ops_per_s" = {{}}
"load.bind.ops_per_s" = {{}}
"""
OF_MONITOR = {"rename": "modrdn"}
"""How the monitors call what we call otherwise."""


def ran(bench, kind, transport):
    mix = json.dumps([f"{name} {weight}" for name, weight in MIX.items()])
    text = EXPERIMENT.format(kind=kind, transport=transport, mix=mix, ops=DECKS * sum(MIX.values()))
    (bench.home / "e.toml").write_text(text)
    done = bench.run("run", "e.toml", "--json", "--progress", "none")
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def of_the_server(bench):
    """What the monitor counted in the phase of the load, without its own looks."""
    query = "SELECT metric, max(value) AS most FROM series WHERE layer = 'directory' AND phase = 'load.load' GROUP BY metric"
    done = bench.run("sql", query, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    rows = [dict(zip(answer["columns"], row, strict=True)) if isinstance(row, list) else row for row in answer["rows"]]
    return {row["metric"]: row["most"] for row in rows}


def of_the_load(bench):
    """The phase of the load as the run's record has it: completed operations, entries, and what Assay itself asked."""
    (path,) = bench.home.glob("lab/*/trials/*/attempt-*/run.json")
    phases = json.loads(path.read_text())["phases"]
    (client,) = next(one for one in phases if one["name"] == "load.load")["clients"]
    done = {one["operation"]: one["count"] for one in client["operations"]}
    entries = sum(one["entries"] for one in client["directory"]["operations"].values())
    return done, entries, client["directory"]["own"]


@pytest.mark.slow
@pairs("transport", ["tcp", "tls", "ldapi", "starttls"])
def test_client_and_server_count_the_same(bench, kind, transport):
    answer = ran(bench, kind, transport)
    (found,) = answer["directory"].values()
    assert (found["wrong"], found["ops"]) == (0, DECKS * sum(MIX.values()))
    assert {name: one["ops"] for name, one in found["operations"].items()} == {name: DECKS * part for name, part in MIX.items()}
    done, entries, own = of_the_load(bench)
    expected = {OF_MONITOR.get(name, name): done[name] + own.get(name, 0) for name in MIX}
    expected |= {name: own[name] for name in ("unbind", "extended") if name in own and kind == "ldap_openldap"}
    expected |= {"entries": entries + own["search"], "connections": 4}  # each look at a base finds it
    counted = of_the_server(bench)
    assert {name: counted[name] for name in expected} == expected
    (run,) = answer["runs"]
    for verdict in run["verdicts"].values():
        assert_counted_alike(verdict)
    assert bench.traces() == []


def assert_counted_alike(verdict):
    """The audit compared each kind of operation of the client with the server's, and found no difference."""
    (found,) = (one for one in verdict["findings"] if one["rule"] == "E08")
    assert found["state"] == "pass", found["statement"]
    seen = found["observed"]
    mine = {name.partition(".")[2]: count for name, count in seen.items() if name.startswith("clients.")}
    assert {name: seen[f"server.{name}"] for name in mine} == mine
    assert {"search", "compare", "add", "modify", "delete", "modrdn", "bind", "entries"} <= mine.keys()
