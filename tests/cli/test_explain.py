"""`assay explain` for every rule, by id and by name."""

import json

import pytest

from assay import catalogue
from assay.cli.explain import explain
from assay.errors import UsageError

SECTIONS = ("what goes wrong", "how it is seen", "applies", "what else it could be", "what to do", "sources")


@pytest.mark.parametrize("module", catalogue.names("rules"))
def test_every_rule_is_explained(module, capsys):
    rule = catalogue.find("rules", module)
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
