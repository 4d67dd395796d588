"""`assay catalogue` shows everything that there is."""

import json

from assay import catalogue as plugs
from assay.cli.catalogue import catalogue
from assay.settings import profiles


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
