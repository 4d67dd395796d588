import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.catalogue import Host
from assay.cli import plan as verb
from assay.experiment import outlook, read
from assay.experiment.plan import History
from assay.hosts.local import Local
from assay.laboratory.history import history, spreads
from assay.notebook import files
from assay.records import Cell
from stage import cli_notebook
from stage import notebook_records as made

FOLDER = Path(__file__).parents[2] / "experiments"
NO_LAB = Path("/no/such/lab")


def test_the_plan_has_trials_schedule_and_effects(capsys: pytest.CaptureFixture[str]) -> None:
    assert verb.plan(FOLDER / "filesystems.toml", NO_LAB, json_to=None) == 0
    shown = capsys.readouterr().out
    parts = (
        "15 = 3 target x 5 blocks",
        "2 tests, Dunnett-adjusted, or Holm where spreads differ; 8 of secondary",
        "blocks to detect",
    )
    assert [part in shown for part in parts] == [True] * 3, shown
    verb.plan(FOLDER / "filesystems.toml", NO_LAB, json_to="-")
    told = json.loads(capsys.readouterr().out)
    assert told["outlook"]["trials"] == len(told["plan"]["trials"]) == 15
    assert len(told["schedule"]) == 64


def test_missing_evidence_is_named_with_the_rules_that_want_it(tmp_path: Path) -> None:
    blind: Host = Local("recorded", root=tmp_path)
    preview = verb.preview_of(read.read(FOLDER / "filesystems.toml"), blind)
    assert {"page_cache", "block"} <= {one.observer for one in preview.missing}
    assert all(one.reason for one in preview.missing)
    assert preview.unverified


def test_settings_of_cpus_that_no_factor_varies_are_named_with_the_reason(tmp_path: Path) -> None:
    experiment = read.read(FOLDER / "ldap_import.toml")
    wanted = {"target", "load.cpus", "load.memory", "openldap.server.tool_threads", "389ds.server.cache"}
    assert {factor.path for factor in experiment.factors} == wanted
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/status").write_text("Cpus_allowed_list:\t0-3\n")
    shown = verb.text(experiment, verb.preview_of(experiment, Local("recorded", root=tmp_path)))
    assert [part in shown for part in ("not varied  clock rate", "not varied  hyper-threads")] == [True] * 2
    for path, text in (("cpu0/cpufreq/scaling_max_freq", "3000000\n"), ("smt/control", "on\n")):
        (tmp_path / "sys/devices/system/cpu" / path).parent.mkdir(parents=True)
        (tmp_path / "sys/devices/system/cpu" / path).write_text(text)
    shown = verb.text(experiment, verb.preview_of(experiment, Local("recorded", root=tmp_path)))
    assert [f"a factor machine.{knob} varies it" in shown for knob in ("governor", "smt")] == [True] * 2
    assert shown.count("on target") == 1
    other = read.read(FOLDER / "filesystems.toml")
    assert "not varied" not in verb.text(other, verb.preview_of(other, Local("recorded", root=tmp_path)))


def test_time_and_spread_come_from_the_notebook(tmp_path: Path) -> None:
    lab = cli_notebook.lab(tmp_path / "lab")
    asked = replace(made.experiment(), digest="cd" * 32, title="Once more", repeats=3)
    known = history(lab, asked)
    assert known is not None
    assert known.trial_ns == 1_000_000_000, "half a second, and half a second to the next"
    assert known.cv == {made.RATE: pytest.approx(0.00158, rel=0.02)}
    further = replace(asked.targets[0], knobs={**asked.targets[0].knobs, "unset": None})
    assert history(lab, replace(asked, targets=(further, *asked.targets[1:]))) == known
    others = history(lab, made.experiment(levels=("ext4", "btrfs")))
    assert others is not None
    assert (others.trial_ns, others.cv) == (None, {})
    assert history(tmp_path / "none", asked) is None


def test_of_an_experiment_that_asks_for_other_trials_no_run_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = cli_notebook.lab(tmp_path / "lab")
    read: list[Path] = []
    check = files.check
    monkeypatch.setattr(files, "check", lambda path: (read.append(path), check(path)))
    other = made.experiment(levels=("ext4", "btrfs"))
    corrected = history(lab, other)
    assert corrected is not None
    assert corrected.times == pytest.approx(1 / outlook.trial_s(other, {"target": "ext4"}) / outlook.REPEATED, rel=0.1)
    loads = (replace(other.workloads[0], kind="null"),)
    assert history(lab, replace(other, workloads=loads)) is None
    assert read == []
    assert history(lab, made.experiment()) is not None
    assert len(read) == 11


def test_what_is_known_is_said_in_the_plan() -> None:
    experiment = read.read(FOLDER / "filesystems.toml")
    known = History(trial_ns=2_000_000_000, cv={measure.name: 0.02 for measure in experiment.measures})
    told = verb.text(experiment, verb.preview_of(experiment, Local(), known))
    assert [part in told for part in ("about 48 s", "CV 2 %", "CV 10 %")] == [True, True, False]


def test_the_spread_is_pooled_over_cells_and_unknown_where_nothing_varies() -> None:
    def cell(measure: str, *values: float) -> Cell:
        return Cell(measure=measure, levels={}, estimate=None, values={str(n): value for n, value in enumerate(values)})

    cells = (cell("a", 90.0, 100.0, 110.0), cell("a", 5.0, 5.0), cell("b", 1.0, 1.0), cell("c", 1.0), cell("d", 0.0, 1.0))
    assert spreads(cells) == {"a": pytest.approx((2 * 0.01 / 3) ** 0.5)}


def test_a_design_is_told_with_what_it_cannot_tell_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verb.plan(FOLDER / "sensitivity.toml", NO_LAB, json_to=None)
    shown = capsys.readouterr().out
    parts = ("32 = 8 combinations x 4 blocks", "resolution IV: 8 of 16", "D = ABC", "AB = CD, AC = BD, AD = BC", "7 effects")
    assert [part for part in parts if part not in shown] == []
    verb.plan(FOLDER / "sensitivity.toml", NO_LAB, json_to="-")
    told = json.loads(capsys.readouterr().out)
    assert (told["design"]["generators"], told["outlook"]["contrasts"]) == (["D = ABC"], 7)
    text = (FOLDER / "sensitivity.toml").read_text()
    for design, more, said in (
        ("one-at-a-time", "", "Interactions"),
        ("screening", "", "Main effects are aliased"),
        ("fractional", "resolution = 3", "Aliased interactions"),
    ):
        (tmp_path / "x.toml").write_text(text.replace('design = "fractional"  ', f'design = "{design}"\n{more}\n'))
        verb.plan(tmp_path / "x.toml", NO_LAB, json_to=None)
        assert said in capsys.readouterr().out, design


def test_what_the_run_would_refuse_is_in_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    targets = "".join(
        f'[targets.{name}]\nkind = "directory"\npath = "{where}"\n' for name, where in (("a", "/no/such"), ("b", "/proc"))
    )
    path.write_text(f'title = "T"\n{targets}[workloads.w]\nkind = "metadata"\n')
    assert verb.plan(path, tmp_path / "lab", json_to=None) == 2, "as `assay run` would end"
    shown = capsys.readouterr().out
    assert "refused     target a: /no/such does not exist" in shown
    assert "refused     target b: /proc" in shown
    assert not (tmp_path / "lab").exists()
