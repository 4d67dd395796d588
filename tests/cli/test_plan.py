import json
from pathlib import Path

import pytest

from assay.catalogue import Host
from assay.cli import plan as verb
from assay.errors import InputErrors
from assay.experiment import read
from assay.fleet.hosts.local import Local

FOLDER = Path(__file__).parents[2] / "experiments"


def test_the_plan_says_trials_schedule_and_effects(capsys: pytest.CaptureFixture[str]) -> None:
    assert verb.plan(FOLDER / "filesystems.toml", as_json=False) == 0
    shown = capsys.readouterr().out
    assert "15 = 3 target x 5 blocks" in shown
    assert "2 contrasts a measure, paired arms; 10 % matters" in shown
    assert "CV 3 %" in shown
    assert "7.4 %" in shown


def test_json_is_the_same_with_the_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    verb.plan(FOLDER / "filesystems.toml", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["outlook"]["trials"] == len(told["plan"]["trials"]) == 15
    assert len(told["schedule"]) == 64


def test_missing_evidence_is_named_with_the_rules_that_want_it(tmp_path: Path) -> None:
    blind: Host = Local("recorded", root=tmp_path)
    preview = verb.preview_of(read.read(FOLDER / "filesystems.toml"), blind)
    assert {"page_cache", "block"} <= {one.observer for one in preview.missing}
    assert all(one.reason for one in preview.missing)
    assert preview.unverified
    assert "unverified  here, for want of that evidence" in verb.text(read.read(FOLDER / "filesystems.toml"), preview)


def test_mistakes_pass_through(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("title = 1\n")
    with pytest.raises(InputErrors):
        verb.plan(path, as_json=False)
