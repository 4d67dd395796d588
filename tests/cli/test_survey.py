"""The verb as a user calls it: answer, list, files, errors all at once, interrupts, other users."""

import io
import json
import os
import pwd
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

from assay.cli import survey as verb
from assay.cli.survey import Out, Request, SurveyProgress
from assay.survey.bands import DAY_NS
from assay.survey.filters import FileTime, Words
from assay.terminal.progress import ProgressMode
from assay_process import as_nobody

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="other users need root")


def file(path, size=0, days=0.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    then = time.time_ns() - round(days * DAY_NS)
    os.utime(path, ns=(then, then))
    return path


@pytest.fixture
def tree(tmp_path):
    file(tmp_path / "tree" / "old" / "a.tif", 900_000, days=400)
    file(tmp_path / "tree" / "old" / "b.txt", 50_000, days=40)
    file(tmp_path / "tree" / "new.txt", 50_000)
    os.link(tmp_path / "tree" / "old" / "a.tif", tmp_path / "tree" / "same.tif")
    return tmp_path / "tree"


def test_the_answer_leads_and_the_tables_follow(bench, tree):
    done = bench.run("survey", tree)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "1 file, 900 kB (90 %" in lines[0]
    assert any(line.split() == ["1", "to", "2", "years", "1", "33.3", "%", "900", "kB", "90", "%", "90", "%"] for line in lines)
    assert any(line.startswith("256 KiB to 1 MiB") for line in lines)
    assert "1 further name" in done.stdout
    told = bench.run("survey", tree, "--older", "month", "--pattern", "*.txt", "--json")
    assert told.stderr == ""
    told = json.loads(told.stdout)
    assert "`--pattern *.txt --older month` would hold 1 file, 50 kB (5 %" in told["answer"]
    assert told["distribution"]["kept"]["bytes"] == 50_000
    assert told["distribution"]["tree"]["bytes"] == 1_000_000
    assert len(told["distribution"]["cells"]) == len(told["age_bands"]) == 10
    assert told["walked"]["directories"] == 2


def test_a_list_is_paths_with_the_bytes_of_their_names_and_nothing_else(bench, tree):
    done = bench.run("survey", "tree", "--list", "--least", "800 kB")
    assert (sorted(done.stdout.splitlines()), done.stderr) == (["tree/old/a.tif", "tree/same.tif"], "")
    assert bench.run("survey", "tree", "--print0", "--newer", "week").stdout == "tree/new.txt\0"
    name = os.fsencode(tree) + b"/\xff\xfe\nx"
    file(Path(os.fsdecode(name)), 1)
    for locale in ("C.UTF-8", "C"):
        done = bench.run("survey", tree, "--print0", "--most", "1 B", text=False, env=bench.environment(LC_ALL=locale))
        assert (done.stdout, done.returncode) == (name + b"\0", 0)
    file(bench.home / os.fsdecode(b"d\xff") / "f", 10)
    done = bench.run("survey", b"d\xff".decode(errors="surrogateescape"), "--profile", "p.toml", "--picture", "p.svg")
    assert done.returncode == 0, done.stderr
    assert tomllib.loads((bench.home / "p.toml").read_text())["survey"]["directories"] == ["d\\xff"]


def test_a_survey_changes_nothing(bench, tree):
    def state():
        return {path: (path.lstat().st_atime_ns, path.lstat().st_mtime_ns, path.lstat().st_ctime_ns) for path in seen}

    os.utime(tree, ns=(10**18, 10**18 + 1))
    seen = sorted([tree, *tree.rglob("*")])
    os.utime(tree / "old", ns=(10**18, 10**18 + 1))
    os.utime(tree, ns=(10**18, 10**18 + 1))
    before = state()
    assert bench.run("survey", tree).returncode == 0
    assert state() == before


def test_profile_and_picture_are_written_where_asked(bench, tree):
    done = bench.run("survey", tree, "--profile", "p.toml", "--picture", "p.html")
    assert done.stdout.splitlines()[-2:] == ["p.html", "p.toml"]
    profile = tomllib.loads((bench.home / "p.toml").read_text())
    sizes = [(one["up_to"], one["files"], one["bytes"]) for one in profile["sizes"]]
    assert sizes == [("64 KiB", 2, 100_000), ("1 MiB", 1, 900_000)]
    assert "1 file, 900 kB" in (bench.home / "p.html").read_text()
    assert json.loads(bench.run("survey", tree, "--profile", "p.toml", "--json").stdout)
    (bench.home / "p.toml").unlink()
    done = bench.run("survey", tree, "--older", "2 years", "--profile", "p.toml")
    assert (done.returncode, "no file" in done.stderr, (bench.home / "p.toml").exists()) == (1, True, False)


def test_every_mistake_is_told_at_once(bench, tree):
    words = {"--older": "1y", "--least": "4k", "--owner": "nonesuch", "--pattern": "a/b", "--picture": "no/p.gif"}
    given = [word for pair in words.items() for word in pair]
    done = bench.run("survey", "nowhere", tree / "new.txt", tree, "", *given, "--profile", tree)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (2, "", False)
    told = ("'nowhere'", "new.txt': a file", "''", "'1y'", "'4k'", "'nonesuch'", "'a/b'", "no/p.gif", "'.gif'", f"found {tree};")
    assert [one for one in told if one not in done.stderr] == []
    assert len(done.stderr.splitlines()) == len(told)
    for other in ("--list", "--print0"):
        assert bench.run("survey", tree, "--json", other).returncode == 2


@pytest.fixture
def wide(tmp_path):
    """A tree whose list of paths is longer than a pipe holds."""
    place = tmp_path / "wide"
    place.mkdir()
    for number in range(3000):
        (place / f"{number:0200}").touch()
    return place


def test_an_interrupt_or_a_reader_that_has_enough_ends_it_cleanly(bench, wide):
    process = bench.start("survey", wide, "--list", text=False)
    assert process.stdout.read(1) == b"/"
    process.send_signal(signal.SIGINT)
    rest, error = process.communicate(timeout=300)
    assert (process.returncode, b"Traceback" in error) == (130, False)
    assert len(rest) < 3000 * (len(str(wide)) + 202) - 1
    process = bench.start("survey", wide, "--list", text=False)
    assert process.stdout.read(1) == b"/"
    process.stdout.close()
    assert (process.wait(300), process.stderr.read()) == (0, b"")
    process.stderr.close()


@needs_root
@pytest.mark.root
def test_an_ordinary_user_is_told_what_could_not_be_read():
    with as_nobody() as bench:
        file(bench.home / "tree" / "mine", 10)
        file(bench.home / "tree" / "closed" / "theirs", 10)
        (bench.home / "tree" / "closed").chmod(0o700)
        done = bench.run("survey", "tree")
        assert done.returncode == 0, done.stderr
        assert "Total: 1 file, 10 B" in done.stdout
        assert "Unreadable: 1 path (tree/closed: Permission denied). The figures are too low." in " ".join(done.stdout.split())
        assert "the access times of 1 directory" in " ".join(done.stdout.split())
        listed = bench.run("survey", "tree", "--list")
        assert listed.stdout == "tree/mine\n"
        assert "tree/closed: Permission denied" in listed.stderr
        refused = bench.run("survey", "tree/closed")
        assert refused.returncode == 2
        assert "Permission denied" in refused.stderr


@needs_root
@pytest.mark.root
def test_owners_by_name_and_number(bench, tree):
    daemon = pwd.getpwnam("daemon")
    os.chown(tree / "new.txt", daemon.pw_uid, -1)
    for owner in ("daemon", str(daemon.pw_uid)):
        done = bench.run("survey", "tree", "--list", "--owner", owner)
        assert done.stdout == "tree/new.txt\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_an_output_that_takes_nothing_is_told(bench, tree, subtests):
    (bench.home / "p.svg").symlink_to("/dev/full")
    for words in ([], ["--list"], ["--json"], ["--picture", "p.svg"]):
        with subtests.test(words=words), Path("/dev/full" if len(words) < 2 else "/dev/null").open("wb") as goal:
            done = bench.run("survey", tree, *words, capture_output=False, stdout=goal, stderr=subprocess.PIPE)
            assert (done.returncode, "No space left" in done.stderr) == (1, True)
            assert "Traceback" not in done.stderr
            assert "Exception" not in done.stderr


class Terminal(io.StringIO):
    def isatty(self):
        return True


def request(**more):
    given = {"directories": (".",), "words": Words(), "clock": FileTime.MODIFIED, "cross": False, "out": Out.TABLE, **more}
    return Request(**given)


@pytest.fixture
def seconds(monkeypatch):
    now = [0]
    monkeypatch.setattr(verb.time, "monotonic_ns", lambda: now[0])
    return lambda at_s: now.__setitem__(0, round(at_s * 10**9))


def test_progress_is_one_line_a_second_and_goes_away(monkeypatch, seconds):
    stream = Terminal()
    monkeypatch.setattr(verb.sys, "stderr", stream)
    progress = SurveyProgress(request())
    for at_s, files in ((0.5, 500), (1.5, 3000), (1.9, 4000), (3, 6000)):
        seconds(at_s)
        progress(files)
    assert stream.getvalue() == "\r3,000 files, 2,000/s\r6,000 files, 2,000/s"
    progress.close()
    assert stream.getvalue().endswith("\r" + " " * 20 + "\r")
    for stream, mode, told in (
        (io.StringIO(), "auto", ""),
        (Terminal(), "none", ""),
        (io.StringIO(), "json", '{"files": 10, "files_per_s": 5}\n'),
    ):
        seconds(0)
        monkeypatch.setattr(verb.sys, "stderr", stream)
        progress = SurveyProgress(request(progress=ProgressMode(mode)))
        seconds(2)
        progress(10)
        progress.close()
        assert stream.getvalue() == told


def test_the_names_on_a_terminal_cannot_steer_it(bench):
    name = bench.home / "tree" / "\x1b[31m"
    file(name / "f", 1)
    name.chmod(0o000)
    done = bench.run("survey", name.parent, name)
    assert "\x1b" not in done.stdout + done.stderr
    name.chmod(0o700)
