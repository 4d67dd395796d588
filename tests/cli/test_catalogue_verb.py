"""`assay catalogue` shows everything that there is, `assay explain` every rule by id and by name."""

import json

import pytest

from assay import catalogue as plugs
from assay.cli.catalogue import catalogue, explain
from assay.errors import UsageError
from assay.settings import profiles

SECTIONS = ("what goes wrong", "what to do", "how it is seen")
"""What a page begins with, in its order: what to do comes before how it is seen."""


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
    explain("client-page-cache", json_to="-")
    page = json.loads(capsys.readouterr().out)
    assert (page["id"], page["thresholds"]["hit_share"]["value"]) == ("T01", 0.01)


def test_every_rule_is_explained(capsys):
    failures = []
    for module in plugs.names("rules"):
        rule = plugs.find("rules", module)
        status = explain(rule.id.lower(), json_to=None)
        text = capsys.readouterr().out
        places = [text.find(f"\n{section}\n") for section in SECTIONS]
        wide = [line for line in text.splitlines()[2:] if len(line) > 100]
        if status or not text.startswith(f"{rule.id} {rule.name}\n") or wide or -1 in places or places != sorted(places):
            failures.append((module, status, wide, places))
    assert failures == []


def test_an_unknown_rule_names_those_that_exist_and_a_part_of_a_name_those_that_have_it():
    for words, named in (("X99", "T01 client-page-cache"), ("page", "of: T01 client-page-cache, T02 server-page-cache$")):
        with pytest.raises(UsageError, match=named):
            explain(words, json_to=None)
