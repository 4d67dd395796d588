"""Clients over load hosts: what a plan says of them, and what a run refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.cli import plan as plan_verb
from assay.cli import run as run_verb
from assay.errors import UsageError
from assay.experiment import outlook, plan, read, spread
from assay.laboratory.gate import Gate
from assay.laboratory.history import same_trials
from assay.records import Experiment
from assay.terminal.progress import ProgressMode

FILE = """title = "Spread"
repeats = 1
[targets.export]
kind = "directory"
path = "/srv/export"
host = "s"
[workloads.spool]
kind = "metadata"
count = 1000
operations = ["create"]
[workloads.here]
kind = "null"
hosts = {{ load = ["local"] }}
[factors]
clients = {clients}
{more}
[hosts]
s = {{ via = "ssh", address = "filer" }}
c = {{ via = "ssh", addresses = ["ws[01-30]"], load = true }}
"""


def experiment(clients: str = "[30, 100]", more: str = "") -> Experiment:
    return read.parse(FILE.format(clients=clients, more=more), "x.toml")


def few(asked: Experiment) -> tuple[str, ...]:
    return spread.too_few_clients(asked, plan.plan(asked).trials)


def test_a_plan_says_where_the_load_comes_from_and_nothing_of_local_alone() -> None:
    notes = {note.subject: note.text for note in plan.plan(experiment()).notes}
    assert notes["spool"] == "load from 30 hosts (c.1 to c.30), 1 to 4 clients each"
    assert notes["here"] == "load from 1 host (local), 30 or 100 clients each"
    assert notes["hosts"].startswith("s, c.1 to c.30 not reached by `assay plan`.")
    text = FILE.format(clients="[1]", more="").replace('host = "s"\n', "").partition("[hosts]")[0]
    assert plan.plan(read.parse(text, "x.toml")).notes == ()


DIRECTORY = """
title = "t"
question = "q"
hosts.s = {{ via = "ssh", address = "filer"{engine} }}
targets.d = {{ kind = "{kind}", host = "s"{more} }}
workloads.w = {{ kind = "ldap_load", population = 9 }}
measures."w.search.ops_per_s" = {{}}
"""


def test_entries_that_are_made_on_a_host_without_an_engine_are_refused() -> None:
    cases = (
        ("ldap_openldap", "", "", True),
        ("ldap_openldap", ", engine = true", "", False),
        ("ldap_openldap", "", ', ldif = "/x.ldif"', False),
        ("ldap_existing", "", ', url = "ldap://filer", base = "dc=x"', False),
    )
    asked = [read.parse(DIRECTORY.format(kind=kind, engine=engine, more=more), "x.toml") for kind, engine, more, _ in cases]
    assert [bool(spread.without_engine(one)) for one in asked] == [wanted for *_, wanted in cases]
    assert "host s gets no engine" in spread.without_engine(asked[0])[0]


def test_fewer_clients_than_load_hosts_at_any_level_are_refused() -> None:
    (refused,) = few(experiment("[15, 30]"))
    assert refused.startswith("workload spool: found 15 clients on 30 load hosts; expected at least 30 clients")
    assert few(experiment()) == ()
    assert few(experiment("[15]", "hosts = [1]")) == ()
    assert few(experiment("[1]", 'workload = ["here"]')) == ()
    assert len(few(experiment("[1]", 'workload = ["here", "spool"]'))) == 1


def test_a_plan_shows_the_refusal_and_a_run_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.toml"
    file.write_text(FILE.format(clients="[15]", more=""))
    assert plan_verb.plan(file, tmp_path / "lab", None, hosts=("s=borrowed",)) == 2
    shown = capsys.readouterr().out
    assert "refused     workload spool: found 15 clients on 30 load hosts" in shown
    assert "note        spool: load from 30 hosts" in shown
    request = run_verb.Request(file=file, lab=tmp_path / "lab", json_to=None, gate=Gate.OFF, progress=ProgressMode.AUTO)
    with pytest.raises(UsageError, match="found 15 clients on 30 load hosts"):
        run_verb.run(request)
    with pytest.raises(UsageError, match="HOST is one of s, c"):
        run_verb.run(replace(request, hosts=("x=y",)))
    assert not (tmp_path / "lab").exists()


def test_hosts_that_take_part_and_many_in_few_words() -> None:
    assert spread.taking_part(experiment())[:3] == ("local", "s", "c.1")
    more = '[hosts.x]\naddress = "x"\n[hosts.y]\naddress = "y"\n[hosts.z]\naddress = "z"\n'
    more += '[observe.threads]\nhost = "x"\nrun = ["nproc"]\npattern = \'(\\d+)\'\n[measures]\n"spool.create.@y.cpu_share" = {}\n'
    asked = read.parse(FILE.format(clients="[30]", more="") + more, "x.toml")
    assert spread.taking_part(asked)[-2:] == ("x", "y")
    hosts = experiment().hosts
    assert spread.brief(hosts, ["local", "c.1", "c.2", "c.3"]) == "local, c.1 to c.3"
    assert spread.brief(hosts, ["c.1", "c.3"]) == "c.1, c.3"
    assert spread.brief(hosts, ["s"]) == "s"
    asked = experiment()
    moved = replace(asked, hosts=tuple(replace(host, address="other") for host in asked.hosts))
    assert same_trials(asked) == same_trials(moved)


def test_far_hosts_take_time_to_connect_and_to_arm_and_share_the_work() -> None:
    asked = experiment("[300]")
    local = replace(asked, hosts=asked.hosts[:1])
    assert outlook.around_s(asked) == pytest.approx(outlook.around_s(local) + 31 * outlook.CONNECT_S)
    levels = {"clients": 3000}
    assert outlook.trial_s(asked, levels) < outlook.trial_s(local, levels), "thirty hosts have more CPUs than one"
