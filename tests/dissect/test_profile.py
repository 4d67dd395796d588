"""The load of a capture: a TOML file without anything of the capture that could name somebody."""

import re
import tomllib

import pytest

from assay.dissect import profile
from assay.experiment import read
from ldap_results import found, operation, used

FILTERS = [
    used("(uid=?)", 60),
    used("(&(cn=?*)(secretattribute=*)(ou:dn:2.5.13.5:=?))", 30),
    used("(!(secretattribute>=?))", 10),
    used("(cn~=?)", 5, answered=0),
]


def test_the_mix_and_the_shapes_are_there():
    made = found(filters=FILTERS, operations=[operation("search", 90), operation("modify", 10), operation("bind", 4)])
    text = profile.toml(made, attributes=True)
    whole = tomllib.loads(text)
    read, load = whole["profile"], whole["workloads"]["captured"]
    assert read["mix"] == {"search": 0.9, "modify": 0.1}
    assert read["scopes"] == {"sub": 1.0}
    assert read["binds_per_connection"] == 2.0
    assert read["depth"] == 200 / 104 // 0.01 / 100
    assert read["filter"][0]["filter"] == "(uid=?)"
    assert abs(sum(one["share"] for one in read["filter"]) - 1) < 0.001
    assert load == {
        "kind": "ldap_load",
        "mix": ["search 900", "modify 100"],
        "scope": "sub",
        "connections": 1,
        "depth": 2,
        "bind": "once",
        "schedule": ["1 s at 10 /s"] * 10,
    }


@pytest.mark.parametrize(("wanted", "loaded"), [((60, 0), []), ((50, 0), None), ((60, 40), []), ((40, 30), None)])
def test_searches_for_all_attributes_are_searches_for_all_attributes(wanted, loaded):
    every, none = wanted
    asked = found().values["profile"] | {
        "attributes_all": every,
        "attributes_none": none,
        "attributes_named": [[2, 100 - every - none]],
    }
    load = tomllib.loads(profile.toml(found(profile=asked), attributes=False))["workloads"]["captured"]
    assert load.get("attributes") == loaded


EXPERIMENT = 'title = "again"\n[targets.directory]\nkind = "ldap_openldap"\n[measures]\n"captured.search.ops_per_s" = {}\n'


@pytest.mark.parametrize("open_at_once", [0, 5000])
@pytest.mark.parametrize("binds", [0, 4, 200])
@pytest.mark.parametrize("wants", [{"attributes_all": 100, "attributes_named": []}, {"depth_sum": 500_000}])
def test_every_load_is_one_that_an_experiment_takes(open_at_once, binds, wants):
    made = found()
    captured = found(
        operations=[operation("search", 90), operation("modify", 10), *([operation("bind", binds)] if binds else [])],
        profile={**made.values["profile"], **wants},
        habits={**made.values["habits"], "open_at_once": open_at_once},
    )
    load = profile.toml(captured, attributes=False).partition("\n[profile]")[0]
    knobs = read.parse(EXPERIMENT + load, "again").workloads[0].knobs
    assert knobs["bind"] == {0: "never", 4: "once", 200: "each"}[binds]
    assert knobs["depth"] == (1 if binds == 200 else min(1024, round(captured.values["profile"]["depth_sum"] / (100 + binds))))


def test_a_capture_of_binds_alone_is_no_load():
    assert "workloads" not in tomllib.loads(profile.toml(found(operations=[operation("bind", 4)]), attributes=False))


def test_attribute_names_are_numbered():
    text = profile.toml(found(filters=FILTERS), attributes=False)
    shapes = [one["filter"] for one in tomllib.loads(text)["profile"]["filter"]]
    assert shapes == ["(a1=?)", "(&(a2=?*)(a3=*)(a4:dn:rule:=?))", "(!(a3>=?))", "(a2~=?)"]
    assert "secretattribute" not in text
    assert "10.0.0.1" not in text


def test_a_name_that_is_no_attribute_never_comes_through():
    hostile = [used(f"({name}=?)", 1) for name in ("größe", "a(b", "cn)(uid", "x\u00e9", 'q"', "a\nb")]
    text = profile.toml(found(filters=hostile), attributes=False)
    assert all(re.fullmatch(r"\(a\d=\?\)|\(…\)", one["filter"]) for one in tomllib.loads(text)["profile"]["filter"])


def test_a_name_of_the_wire_cannot_leave_its_quotes():
    hostile = used('(a"\n[mix]\nsearch=?)', 1)
    read = tomllib.loads(profile.toml(found(filters=[hostile]), attributes=True))
    assert read["profile"]["filter"][0]["filter"] == "(a__[mix]_search=?)"
