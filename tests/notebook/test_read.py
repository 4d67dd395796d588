"""Reading a notebook: a damaged trial costs that trial only and is named, whatever happened to its bytes."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.errors import DamagedError, UsageError
from assay.notebook import files, layout, read
from assay.notebook.store import Store
from stage import notebook_records as made


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    asked = made.experiment()
    with Store.create(tmp_path_factory.mktemp("lab"), asked, made.plan(asked), made.TEXT) as kept:
        for trial in kept.plan.trials[:2]:
            run = made.run(trial)
            kept.add(run, made.observations())
            kept.judge("1", [made.verdict(run, made.RATE, 100.0 + trial.id)])
    return kept.folder


@pytest.fixture
def copy(folder, tmp_path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / folder.name))


FILES = ("run.json", "facts.json", "manifest.json", "readings.parquet", "series.parquet", "histograms.parquet")


def assert_only_the_first_is_lost(copy: Path) -> None:
    found = read.results(copy)
    assert [judged.id for judged in found.runs] == ["0002/1"]
    assert list(found.damaged) == ["trials/0001/attempt-1"]
    assert found.runs[0].verdicts[made.RATE].value == 102.0
    with pytest.raises(DamagedError):
        read.observations(copy, "0001/1")
    assert read.observations(copy, "0002/1") == made.observations()


def test_a_truncated_or_missing_file_costs_its_trial_only(copy, subtests):
    for name in FILES:
        path = copy / "trials/0001/attempt-1" / name
        data = path.read_bytes()
        for share in (0.0, 0.5, 0.99, None):
            with subtests.test(name=name, share=share):
                path.unlink() if share is None else path.write_bytes(data[: int(len(data) * share)])
                assert_only_the_first_is_lost(copy)
        path.write_bytes(data)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(FILES[:2] + FILES[3:]), where=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255))
def test_any_changed_byte_is_found(copy, name, where, mask):
    path = copy / "trials/0001/attempt-1" / name
    data = path.read_bytes()
    place = int(where * len(data))
    path.write_bytes(data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])
    try:
        assert_only_the_first_is_lost(copy)
    finally:
        path.write_bytes(data)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200), name=st.sampled_from(["manifest.json", "run.json"]))
def test_stray_bytes_never_break_the_reader(copy, data, name):
    path = copy / "trials/0001/attempt-1" / name
    kept = path.read_bytes()
    path.write_bytes(data)
    try:
        assert [judged.id for judged in read.results(copy).runs] == ["0002/1"]
    finally:
        path.write_bytes(kept)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=100) | st.sampled_from([b"[]", b"{}", b'{"verdicts": 3}', b'{"verdicts": {"a": 1}}', b"null"]))
def test_damaged_verdicts_are_as_if_there_were_none(copy, data):
    (copy / "derived/1/verdicts/0001-1.json").write_bytes(data)
    found = read.results(copy)
    assert found.runs[0].verdicts == {}
    assert found.damaged == {}


def test_stray_files_and_folders_are_passed_over(copy):
    (copy / "trials/notes").mkdir()
    (copy / "trials/notes/attempt-1").mkdir()
    (copy / "trials/0001/attempt-x").mkdir()
    (copy / "trials/0001/.unfinished-abc").mkdir()
    (copy / "trials/0001/attempt-7").write_text("a file")
    (copy / "trials/readme.txt").write_text("mine")
    (copy.parent / "elsewhere").mkdir()
    found = read.results(copy)
    assert len(found.runs) == 2
    assert found.damaged == {}
    assert read.folders(copy.parent) == (copy,)


def test_a_later_form_and_a_run_in_another_runs_place_are_damaged(copy):
    manifest = copy / "trials/0001/attempt-1/manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"schema":{layout.SCHEMA}', f'"schema":{layout.SCHEMA + 1}'))
    assert "later version" in read.scan(copy).damaged["trials/0001/attempt-1"]
    shutil.rmtree(copy / "trials/0001/attempt-1")
    shutil.copytree(copy / "trials/0002/attempt-1", copy / "trials/0001/attempt-1")
    assert "not the run in its name" in read.scan(copy).damaged["trials/0001/attempt-1"]


def test_an_experiment_is_chosen_by_name_or_digest_and_the_newest_by_default(copy):
    lab = copy.parent
    other = made.experiment(title="Other", digest="ef" * 32)
    with Store.create(lab, other, made.plan(other), "x") as kept:
        pass
    assert read.choose(lab, None) == kept.folder
    assert read.choose(lab, "a-mail") == copy
    assert read.choose(lab, "efefefef") == kept.folder
    with pytest.raises(UsageError, match="a-mail-spool-abababab, other-efefefef"):
        read.choose(lab, "nothing")


def test_what_is_not_there_is_told(copy, tmp_path):
    with pytest.raises(UsageError, match="no notebook"):
        read.folders(tmp_path / "none")
    with pytest.raises(UsageError, match="no run 0009/1"):
        read.observations(copy, "0009/1")
    with pytest.raises(UsageError, match="expected trial and attempt"):
        read.observations(copy, "../../etc")


def test_all_runs_are_read_through_one_connection_also_after_one_that_cannot_be_read(copy, monkeypatch):
    opened = []
    connect = files.connect
    monkeypatch.setattr(files, "connect", lambda: opened.append(1) or connect())
    broken = copy / "trials" / "0001" / "attempt-1"
    (broken / layout.READINGS).write_bytes(b"PAR1 this is none PAR1")
    (broken / layout.MANIFEST).unlink()
    (broken / layout.MANIFEST).write_bytes(files.to_json(files.manifest_of(broken)))
    load = read.load(copy)
    with pytest.raises(DamagedError):
        load("0001/1")
    assert load("0002/1") == load("0002/1") == read.observations(copy, "0002/1")
    assert len(opened) == 2, "one for the function, one for the run that was asked for alone"
