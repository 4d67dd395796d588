"""Exported tables: read back by csv, DuckDB and sqlite3, they hold what `assay sql` tells; nothing of others is replaced."""

import csv
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from assay.cli.notebook import export as verb
from assay.errors import RefusedError, UsageError
from assay.notebook import export, read, sql
from assay.notebook.export import Format
from assay.notebook.store import Store
from stage import cli_notebook
from stage import notebook_records as made

PAGE = Path(__file__).parents[2] / "docs" / "export.md"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return cli_notebook.lab(tmp_path_factory.mktemp("lab") / "a [lab]'s *")


def read_csv(folder: Path, name: str) -> list[tuple]:
    with (folder / f"{name}.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    return [tuple(head), *map(tuple, rows)]


def read_parquet(folder: Path, name: str) -> list[tuple]:
    with duckdb.connect() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(folder / f"{name}.parquet")])
        return [tuple(column[0] for column in found.description), *found.fetchall()]


def read_sqlite(folder: Path, name: str) -> list[tuple]:
    with closing(sqlite3.connect(folder / export.SQLITE)) as connection:
        found = connection.execute(f"SELECT * FROM {name}")
        return [tuple(column[0] for column in found.description), *found.fetchall()]


READERS = {Format.CSV: read_csv, Format.PARQUET: read_parquet, Format.SQLITE: read_sqlite}


def as_csv(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_sqlite(value: object) -> object:
    return int(value) if isinstance(value, bool) else value


@pytest.fixture(scope="module")
def exported(lab, tmp_path_factory):
    """Form -> folder and what was told of it."""
    folders = {form: tmp_path_factory.mktemp(form.value) / "tables" for form in Format}
    return {form: (folder, export.export(sql.kept(lab), form, folder)) for form, folder in folders.items()}


@pytest.mark.slow
def test_every_table_reads_back_as_sql_tells_it(lab, exported, subtests):
    for form, (folder, done) in exported.items():
        kept_as = {Format.CSV: as_csv, Format.SQLITE: as_sqlite}.get(form, lambda value: value)
        for name in export.NAMES:
            with subtests.test(form=form, name=name):
                head, *rows = READERS[form](folder, name)
                told = sql.query(lab, f"SELECT {', '.join(head)} FROM {name}")
                expected = [tuple(map(kept_as, row)) for row in told.rows]
                assert sorted(rows, key=str) == sorted(expected, key=str)
                assert done.rows[name] == len(rows)
        assert [done.rows[name] for name in ("experiments", "runs", "comparisons", "requirements")] == [2, 11, 1, 2]
        assert (done.rows["series"], done.rows["percentiles"]) == (33, 11 * 9)


def test_the_version_of_the_tables_is_told(exported):
    for folder, done in exported.values():
        listed = json.loads((folder / export.LIST).read_text())
        assert (listed["schema"], listed["rows"]) == (export.SCHEMA, done.rows)
        assert set(listed["files"]) == {path.name for path in folder.iterdir()} - {export.LIST}
    with closing(sqlite3.connect(exported[Format.SQLITE][0] / export.SQLITE)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (export.SCHEMA,)
        kinds = {row[1]: row[2] for row in connection.execute("PRAGMA table_info(series)")}
        assert (kinds["at_ns"], kinds["value"], kinds["metric"], kinds["trial"]) == ("INTEGER", "REAL", "TEXT", "INTEGER")
    with duckdb.connect() as connection:
        file = exported[Format.PARQUET][0] / "runs.parquet"
        found = connection.execute("SELECT key, value FROM parquet_kv_metadata(?)", [str(file)])
        assert (b"assay_export", str(export.SCHEMA).encode()) in found.fetchall()


def test_percentiles_are_of_the_merged_histogram_and_measures_say_what_is_claimed(lab):
    query = "SELECT share, latency_ns, slower, count FROM percentiles WHERE run = '0001/1' AND share IN (0.5, 0.9999, 1)"
    assert sql.query(lab, query).rows == ((0.5, 1e5, 1, 1500), (0.9999, 2e5, 0, 1500), (1.0, 2e5, 0, 1500))
    query = "SELECT measure, unit, better, tier, durability FROM measures WHERE experiment LIKE 'a-mail%'"
    assert sql.query(lab, query).rows == ((made.RATE, "1/s", "higher", "as-is", None),)


def test_the_page_has_every_table_and_column(exported):
    text = PAGE.read_text(encoding="utf-8")
    assert f"Schema version: {export.SCHEMA}" in text
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+)$", text, re.MULTILINE))
    assert set(rows) >= set(export.NAMES)
    common = next(line for line in text.splitlines() if line.startswith("Every table has"))
    heads = {name: READERS[form](folder, name)[0] for form, (folder, _) in exported.items() for name in export.NAMES}
    assert [(name, column) for name, head in heads.items() for column in head if f"`{column}`" not in common + rows[name]] == []


def test_the_example_of_the_page_runs(lab, tmp_path, monkeypatch, capsys):
    export.export(sql.kept(lab), Format.SQLITE, tmp_path / "export", ("cells",))
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})
    assert f'{made.RATE} {{"target": "ext4"}} 1001.999' in capsys.readouterr().out


def test_an_earlier_export_is_replaced_and_only_what_is_asked_for_written(lab, tmp_path):
    kept = sql.kept(lab)
    export.export(kept, Format.CSV, tmp_path / "out")
    done = export.export(kept, Format.PARQUET, tmp_path / "out", ("verdicts", "runs"))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"runs.parquet", "verdicts.parquet", export.LIST}
    assert list(done.rows) == ["runs", "verdicts"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def strange(folder: Path) -> None:
    (folder / "mine.txt").write_text("mine")


def changed(folder: Path) -> None:
    (folder / "runs.csv").write_text("mine")


def linked(folder: Path) -> None:
    (folder / "runs.csv").rename(folder.parent / "elsewhere.csv")
    (folder / "runs.csv").symlink_to(folder.parent / "elsewhere.csv")


def no_list(folder: Path) -> None:
    (folder / export.LIST).write_text("[")


def test_what_is_not_ours_is_refused_and_left_alone(lab, tmp_path, subtests):
    kept = sql.kept(lab)
    for spoil in (strange, changed, linked, no_list):
        with subtests.test(spoil=spoil.__name__):
            place = tmp_path / spoil.__name__
            place.mkdir()
            export.export(kept, Format.CSV, place / "out", ("runs",))
            spoil(place / "out")
            before = tree(place)
            with pytest.raises(RefusedError, match=r"--to"):
                export.export(kept, Format.CSV, place / "out", ("runs",))
            assert tree(place) == before
    # A forged list reaches nothing outside.
    export.export(kept, Format.CSV, tmp_path / "out", ("runs",))
    listed, outside = json.loads((tmp_path / "out" / export.LIST).read_text()), tmp_path / "outside.txt"
    outside.write_text("mine")
    listed["files"]["../outside.txt"] = export.entry(outside)
    (tmp_path / "out" / export.LIST).write_text(json.dumps(listed))
    export.export(kept, Format.CSV, tmp_path / "out", ("runs",))
    assert outside.read_text() == "mine"


def test_a_file_in_the_way_and_wrong_words(lab, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RefusedError, match="no folder"):
        export.export(sql.kept(lab), Format.CSV, tmp_path / "file")
    with pytest.raises(UsageError, match=r"found table nonsense; expected some of: runs"):
        export.export(sql.kept(lab), Format.CSV, tmp_path / "out", ("nonsense", "runs"))
    assert {path.name for path in tmp_path.iterdir()} == {"file"}


def test_a_lab_without_runs(tmp_path):
    asked = made.experiment()
    with Store.create(tmp_path / "lab", asked, made.plan(asked), made.TEXT):
        pass
    for form in Format:
        done = export.export(sql.kept(tmp_path / "lab"), form, tmp_path / form.value)
        assert done.rows["series"] == done.rows["runs"] == 0
        assert READERS[form](tmp_path / form.value, "series")[0][:4] == ("experiment", "run", "trial", "attempt")


def test_the_verb_judges_by_todays_rules_and_names_what_is_damaged(tmp_path, capsys):
    lab = cli_notebook.lab(tmp_path / "lab", judged=False)
    broken = next(folder for folder in read.folders(lab) if list(folder.glob("trials/*")))
    (broken / "trials/0003/attempt-1/series.parquet").write_bytes(b"cut")
    assert verb(lab, broken.name, "csv", tmp_path / "out", ("verdicts", "cells"), json_to="-") == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {
        "schema": "assay.export/1",
        "folder": str(tmp_path / "out"),
        "rows": {"verdicts": 10, "cells": 2},
    }
    assert "trials/0003/attempt-1" in told.err
    assert not (broken / "derived").exists()
