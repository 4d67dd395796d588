"""The file with a user's defaults: what it changes, and what is wrong in it."""

import json
import re
from pathlib import Path

import pytest

from assay import units
from assay.cli import preferences
from assay.errors import InputErrors
from assay.units import Prefixes, Unit, human
from stage.rows import each


def write(bench, text):
    path = Path(bench.home, ".config", "assay", "config.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_notebook_and_the_units_of_every_verb(bench):
    write(bench, 'lab = "~/kept"\nunits = "MiB/s"\nprogress = "none"\n')
    done = bench.run("load", "bulk_io", "path=F", "operation=write", "size=8MiB", "record_size=1MiB")
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d [KMG]iB/s", done.stdout), done.stdout
    assert not re.search(r"\d [kMG]B/s", done.stdout), done.stdout
    stat = bench.run("stat", "--save", "--", "dd", "if=/dev/zero", "of=G", "bs=1M", "count=8", "conv=fsync")
    assert "MiB" in stat.stderr
    listed = json.loads(bench.run("list", "--json").stdout)
    assert len(listed["experiments"]) == 1
    assert Path(bench.home, "kept").is_dir()
    assert not Path(bench.home, "lab").exists()


def test_an_option_and_the_environment_count_before_the_file(bench, tmp_path):
    write(bench, 'lab = "~/kept"\n')
    bench.run("stat", "--save", f"--lab={tmp_path / 'named'}", "--", "true")
    assert (tmp_path / "named").is_dir()
    done = bench.run("list", env=bench.environment(ASSAY_LAB=str(tmp_path / "elsewhere")))
    assert "elsewhere" in done.stderr
    assert not Path(bench.home, "kept").exists()


def test_every_mistake_is_told_with_its_place_by_every_verb(bench):
    path = write(bench, 'lab = "kept"\nunits = "MBps"\ncolour = true\n')
    for words in (["list"], ["stat", "--", "true"], ["doctor"]):
        done = bench.run(*words)
        assert done.returncode != 0
        for line in ("1:7: found lab = 'kept'; expected a directory from / or ~ on", "2:9: found units = 'MBps'", "3:1: "):
            assert f"{path}:{line}" in done.stderr, done.stderr


def test_nothing_is_asked_of_a_user_without_a_home(monkeypatch):
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert preferences.preferences() == preferences.Preferences()


def test_the_directory_of_the_desktop_counts_first(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "assay").mkdir()
    (tmp_path / "assay" / "config.toml").write_text('progress = "json"\n')
    assert preferences.preferences().options == {"progress": "json"}
    (tmp_path / "assay" / "config.toml").write_text("progress = 1\n")
    with pytest.raises(InputErrors, match='"auto", "json", "none"'):
        preferences.preferences()


@each(
    "prefixes value unit wanted",
    (Prefixes.DECIMAL, 123_456_789, Unit.BYTES_PER_S, "123 MB/s"),
    (Prefixes.BINARY, 123_456_789, Unit.BYTES_PER_S, "118 MiB/s"),
    (Prefixes.BITS, 123_456_789, Unit.BYTES_PER_S, "988 Mbit/s"),
    (Prefixes.BINARY, 512, Unit.BYTES_PER_S, "512 B/s"),
    (Prefixes.BINARY, 2**30, Unit.BYTES, "1 GiB"),
    (Prefixes.BITS, 10**9, Unit.BYTES, "1 GB"),
    (Prefixes.BINARY, 1_500_000, Unit.NANOSECONDS, "1.50 ms"),
    (Prefixes.BITS, 90 * 10**9, Unit.NANOSECONDS, "90 s"),
)
def test_bytes_and_rates_are_printed_as_the_user_wants(monkeypatch, prefixes, value, unit, wanted):
    monkeypatch.setattr(units.SHOWN, "prefixes", prefixes)
    assert human(value, unit) == wanted
