"""The command as a user calls it: help, statuses, errors in words."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import cli_notebook
from assay.cli.main import GARBAGE
from assay.cli.options import finish

LOOKING = (
    "plan",
    "audit",
    "compare",
    "report",
    "show",
    "list",
    "sql",
    "export",
    "explain",
    "catalogue",
    "doctor",
    "hosts",
    "survey",
    "check",
    "size",
    "dsio",
    "completion",
)
MEASURING = ("quick", "run", "load", "stat", "selftest")
VERBS = (*MEASURING, *LOOKING)
EXPERIMENT = """
title = "A small file"
question = "How fast?"
[targets.here]
kind = "directory"
path = "."
[workloads.w]
kind = "bulk_io"
operations = ["write"]
size = "1 MiB"
[measures]
"w.write.bytes_per_s" = {}
"""


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory):
    return str(cli_notebook.lab(tmp_path_factory.mktemp("lab") / "lab"))


def assay(*words: str, **more) -> subprocess.CompletedProcess[str]:
    code = "from assay.cli.main import main; main()"
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, **more)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb):
    done = assay(verb, "--help")
    assert done.returncode == 0
    assert "Usage:" in done.stdout


def test_help_lists_every_verb_in_full():
    done = assay("--help")
    assert done.returncode == 0
    assert all(f"  {verb} " in done.stdout for verb in VERBS)
    assert "..." not in done.stdout.replace("[ARGS]...", "")


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["run"],
        ["run", "--nonsense", "x.toml"],
        ["run", "--progress", "nonsense", "x.toml"],
        ["run", "no-such-file.toml"],
        ["explain", "Z99"],
        ["quick", "/no/such/dir"],
        ["quick", "/", "/", "/"],
    ],
)
def test_wrong_words_end_with_two_and_a_sentence(words, tmp_path):
    done = assay(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("assay: "), "one style of message"
    assert "Traceback" not in done.stderr
    assert "Value error" not in done.stderr


def test_a_mistyped_verb_is_answered_with_the_nearest():
    assert assay("doctr").stderr.startswith("assay: no such command 'doctr'. Did you mean 'doctor'? See `")


@pytest.mark.parametrize(
    ("verbs", "text", "words"),
    [
        (("plan", "run", "size"), "[production]\nx = 1\n", "a production load. Use: assay predict f.toml"),
        (("plan", "run", "predict", "hosts"), "[[part]]\nname = 'p'\n", "a chain of parts. Use: assay size f.toml"),
        (("size", "predict"), EXPERIMENT, "an experiment. Use: assay plan f.toml, then assay run f.toml"),
    ],
)
def test_a_file_for_another_verb_is_answered_with_that_verb(verbs, text, words, tmp_path):
    (tmp_path / "f.toml").write_text(text)
    for verb in verbs:
        done = assay(verb, "f.toml", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == f"assay: f.toml: this file describes {words}\n"


def test_json_owns_its_stream():
    done = assay("catalogue", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)


def test_heavy_libraries_are_not_imported_for_help():
    heavy = {"numpy", "scipy", "duckdb", "altair", "pydantic"}
    code = f"import sys, assay.cli.main, assay.cli.verbs; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("/no/such/folder/page.html", "assay: /no/such/folder/page.html: No such file or directory"),
        ("/", "assay: /: Is a directory"),
        ("/dev/full", "assay: No space left on device"),
    ],
)
def test_what_the_system_refuses_is_told_in_words(place, told, capsys):
    with pytest.raises(typer.Exit) as ended:
        finish(lambda: Path(place).write_text("page"))
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err.startswith(told)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_an_error_without_a_file_is_not_laid_on_standard_output(capsys):
    """A socket's or a thread's error names no file either."""

    def broken():
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(typer.Exit) as end:
        finish(broken)
    assert end.value.exit_code == 1
    assert "standard output" not in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(("words", "status"), [(["stat", "--", "sh", "-c", "exit 7"], 7), (["run", "/no/such.toml"], 2)])
def test_a_full_standard_error_costs_no_status(words, status):
    code = "from assay.cli.main import main; main()"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=full, check=False)
    assert done.returncode == status


def test_a_reader_that_has_enough_is_no_mistake():
    def broken():
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        finish(broken)


def test_a_verb_seldom_looks_for_garbage():
    code = "import atexit, gc; atexit.register(lambda: print(gc.get_threshold())); from assay.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "explain", "T01"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == str(GARBAGE)


def test_a_locale_without_utf8_loses_no_answer():
    plain = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONPATH": ":".join(sys.path)}
    done = assay("check", "64 kB in 20 us", env=plain)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"20 \xb5s" in done.stdout


FULL = Path("/dev/full")
NOTEBOOK_VERBS = ("list", "show", "report", "sql", "compare", "trash", "export")


PRINTING = (
    ["--help"],
    ["--version"],
    ["list"],
    ["list", "--runs", "--json"],
    ["show", "0001/1"],
    ["report", "--out", "-"],
    ["report", "--format", "md", "--out", "-"],
    ["sql", "SELECT * FROM verdicts"],
    ["sql", "SELECT * FROM verdicts", "--csv"],
    ["plan", "FILE"],
    ["doctor"],
    ["ldif", "--entries", "1000"],
    ["stat", "--help"],
    ["stat", "--", "echo", "hello"],
    ["load", "bulk_io"],
    ["check", "1 GB/s over 1GbE"],
    ["explain", "T01"],
    ["catalogue"],
    ["compare"],
    ["trash"],
    ["export", "--to", "out"],
    ["completion", "bash"],
    ["survey", "."],
    ["survey", ".", "--list"],
    ["size", "--help"],
    ["catalogue", "--json"],
)
REFUSING = {"full": ("> /dev/full", "No space left on device"), "closed": (">&-", "it is closed")}


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
@pytest.mark.parametrize("kind", REFUSING)
@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_a_standard_output_that_takes_nothing_is_named(words, kind, looked_at, tmp_path):
    """`assay list > /dev/full` ended with "No space left on device": nobody knew where. `assay list >&-` said nothing at all."""
    goal, reason = REFUSING[kind]
    (tmp_path / "FILE").write_text(EXPERIMENT)
    in_it = ["--lab", looked_at] if words[0] in NOTEBOOK_VERBS else []
    code = "from assay.cli.main import main; main()"
    command = ["sh", "-c", f'exec "$@" {goal}', "sh", sys.executable, "-c", code, *words, *in_it]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path)
    assert done.returncode == (125 if words[0] == "stat" else 1)
    assert done.stderr.count(f"standard output: not written ({reason}") == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_no_file_gets_the_number_of_a_closed_standard_output(tmp_path):
    """What a verb opens first would get it, and then what a program prints."""
    page = tmp_path / "page.json"
    code = "from assay.cli.main import main; main()"
    command = [
        "sh",
        "-c",
        'exec "$@" <&- >&- 2>&-',
        "sh",
        sys.executable,
        "-c",
        code,
        "check",
        "1 GB/s over 1GbE",
        f"--json={page}",
    ]
    assert subprocess.run(command, check=False).returncode == 1
    assert not page.exists() or json.loads(page.read_text())


def test_the_help_of_stat_has_a_reader_that_has_enough():
    code = "from assay.cli.main import main; main()"
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as goal:
        command = [sys.executable, "-c", code, "stat", "--help"]
        done = subprocess.run(command, stdout=goal, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (125, "")


def test_a_directory_is_not_compared_with_itself(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    done = assay("quick", str(tmp_path / "a"), str(tmp_path / "b"))
    assert done.returncode == 2
    assert "twice; expected one directory to measure or two to compare" in done.stderr
