"""`assay catalogue` shows everything that there is, `assay explain` every rule by id and by name."""

import json

import pytest

from assay import catalogue as plugs
from assay.cli.catalogue import catalogue, explain
from assay.errors import UsageError
from assay.settings import profiles

SECTIONS = ("what goes wrong", "how it is seen", "applies", "what else it could be", "what to do", "sources")


def test_every_entry_is_shown_with_its_help(capsys):
    assert catalogue(json_to=None) == 0
    text = capsys.readouterr().out
    for kind in plugs.CONSTANTS:
        assert f"\n{kind}\n" in f"\n{text}"
        assert all(plugs.help_of(kind, name) in text for name in plugs.names(kind))
    shipped = text.partition("\nprofiles\n")[2]
    assert all(f"  {name} " in shipped for name in profiles.shipped())


def test_json_has_knobs_and_evidence(capsys):
    catalogue(json_to="-")
    found = json.loads(capsys.readouterr().out)
    assert {knob["name"] for entry in found["targets"] for knob in entry["knobs"]} >= {"path", "filesystem"}
    assert "L9.flush" in next(entry for entry in found["observers"] if entry["name"] == "block")["gives"]


def test_every_rule_is_explained(capsys, subtests):
    for module in plugs.names("rules"):
        with subtests.test(module=module):
            rule = plugs.find("rules", module)
            assert explain(rule.id.lower(), json_to=None) == 0
            text = capsys.readouterr().out
            assert text.startswith(f"{rule.id} {rule.name}\n")
            assert all(word in text for word in SECTIONS)
            assert rule.severity in text
            assert max(map(len, text.splitlines()[2:])) <= 100


def test_json_owns_its_stream(capsys):
    explain("client-page-cache", json_to="-")
    page = json.loads(capsys.readouterr().out)
    assert page["id"] == "T01"
    assert page["thresholds"]["hit_share"]["value"] == 0.01


def test_unknown_rule_names_those_that_exist():
    with pytest.raises(UsageError, match="T01 client-page-cache"):
        explain("X99", json_to=None)


def test_a_part_of_a_name_is_answered_with_the_rules_that_have_it():
    with pytest.raises(UsageError, match=r"expected an id or a name of: T01 client-page-cache, T02 server-page-cache$"):
        explain("page", json_to=None)


def test_what_to_do_comes_before_how_it_is_seen(capsys):
    explain("T01", json_to=None)
    text = capsys.readouterr().out
    assert text.index("\nwhat goes wrong\n") < text.index("\nwhat to do\n") < text.index("\nhow it is seen\n")
