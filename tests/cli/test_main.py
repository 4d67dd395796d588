"""The command as a user calls it: statuses, refusals, whole help, and outputs that take nothing."""

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest
import typer

from assay.cli.main import GARBAGE
from assay.cli.options import finish
from assay.cli.verbs import app
from stage import cli_notebook
from stage.assay_process import COMMAND, Bench

VERBS = tuple(typer.main.get_command(app).commands)
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
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")


def refused(done, words):
    """Status 2, nothing on standard output, and one style of message."""
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("assay: ")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "Value error" not in done.stderr


def test_help_lists_every_verb_in_full(bench):
    done = bench.run("--help")
    assert done.returncode == 0
    assert [verb for verb in VERBS if f"  {verb} " not in done.stdout] == []
    assert "..." not in done.stdout.replace("[ARGS]...", "")


def test_wrong_words_end_with_two_and_a_sentence(bench, subtests):
    (bench.home / "a").mkdir()
    (bench.home / "b").symlink_to(bench.home / "a")
    for call, words in (
        ("nonsense", "nonsense"),
        ("doctr", "'doctor'"),
        ("run", "FILE"),
        ("run --nonsense x.toml", "--nonsense"),
        ("run --progress nonsense x.toml", "nonsense"),
        ("run no-such-file.toml", "no-such-file.toml"),
        ("explain Z99", "Z99"),
        ("quick /no/such/dir", "/no/such/dir"),
        ("quick / / /", ""),
        ("quick a b", "twice"),
    ):
        with subtests.test(call=call):
            refused(bench.run(*call.split()), words)


def test_a_file_for_another_verb_is_answered_with_that_verb(bench, subtests):
    for verbs, text, use in (
        (("plan", "run", "size"), "[production]\nx = 1\n", "assay predict f.toml"),
        (("plan", "run", "predict", "hosts"), "[[part]]\nname = 'p'\n", "assay size f.toml"),
        (("size", "predict"), EXPERIMENT, "assay plan f.toml, then assay run f.toml"),
    ):
        (bench.home / "f.toml").write_text(text)
        for verb in verbs:
            with subtests.test(verb=verb, use=use):
                refused(bench.run(verb, "f.toml"), f"Use: {use}\n")


def test_only_what_a_call_needs_is_imported_and_garbage_is_seldom_looked_for():
    heavy = {"numpy", "scipy", "duckdb", "altair", "pydantic"}
    code = (
        f"import sys, assay.cli.main, assay.cli.verbs; print(sorted({heavy} & set(sys.modules)))\n"
        "import atexit, gc; atexit.register(lambda: print(gc.get_threshold())); assay.cli.main.main()"
    )
    done = subprocess.run([sys.executable, "-c", code, "explain", "T01"], capture_output=True, text=True, check=True)
    assert (done.stdout.splitlines()[0], done.stdout.splitlines()[-1]) == ("[]", str(GARBAGE))


def test_what_the_system_refuses_is_told_in_words(capsys, subtests):
    def write(place):
        return lambda: Path(place).write_text("page")

    def without_a_file():
        """A socket's or a thread's error names no file, and is not laid on standard output."""
        raise OSError(errno.ENOSPC, "No space left on device")

    for deed, told in (
        (write("/no/such/folder/page.html"), "/no/such/folder/page.html: No such file or directory"),
        (write("/"), "/: Is a directory"),
        *([(write(FULL), "No space left on device")] if FULL.exists() else []),
        (without_a_file, "No space left on device"),
    ):
        with subtests.test(told=told):
            with pytest.raises(typer.Exit) as ended:
                finish(deed)
            assert ended.value.exit_code == 1
            assert capsys.readouterr().err.startswith(f"assay: {told}")


def test_an_interrupt_is_one_also_where_the_database_makes_an_error_of_it():
    def query():
        with duckdb.connect() as connection:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            connection.execute("SELECT count(*) FROM range(100000000000) a WHERE hash(a.range) = 7")

    with pytest.raises(typer.Exit) as ended:
        finish(query)
    assert ended.value.exit_code == 130


def test_a_reader_that_has_enough_is_no_mistake(bench):
    def broken():
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        finish(broken)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as goal:
        done = bench.run("stat", "--help", capture_output=False, stdout=goal, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (125, "")


@needs_full
def test_a_full_standard_error_costs_no_status(bench):
    for words, status in ((("stat", "--", "sh", "-c", "exit 7"), 7), (("run", "/no/such.toml"), 2)):
        with FULL.open("w") as full:
            done = bench.run(*words, capture_output=False, stdout=subprocess.PIPE, stderr=full)
        assert done.returncode == status


def test_a_locale_without_utf8_loses_no_answer(bench):
    plain = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([*COMMAND, "check", "64 kB in 20 us"], capture_output=True, text=True, check=False, env=plain)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"20 \xb5s" in done.stdout


IN_IT = "--lab kept"
PRINTING = (
    *("--help", "--version", f"list {IN_IT}", f"list --runs --json {IN_IT}", f"show 0001/1 {IN_IT}", f"report --out - {IN_IT}"),
    *(f"report --format md --out - {IN_IT}", f"sql 'TABLE verdicts' {IN_IT}", f"sql 'TABLE verdicts' --csv {IN_IT}"),
    *("plan FILE", "doctor", "ldif --entries 1000", "stat --help", "stat -- echo hello", "load bulk_io", "check '1 GB/s'"),
    *("explain T01", "catalogue", "catalogue --json", f"compare {IN_IT}", f"trash {IN_IT}", f"export --to out {IN_IT}"),
    *("completion bash", "survey .", "survey . --list", "size --help"),
)
CLOSED = ("--version", f"list {IN_IT}", "ldif --entries 1000", "stat -- echo hello", "survey . --list", "completion bash")
"""One of each way in which verbs print: by typer, as a text, by a program, through a command, as bytes, as they are."""


def test_a_standard_output_that_takes_nothing_is_named(bench, subtests):
    """`assay list > /dev/full` ended with "No space left on device": nobody knew where. `assay list >&-` said nothing at all."""
    cli_notebook.lab(bench.home / "kept")
    (bench.home / "FILE").write_text(EXPERIMENT)
    shut = Bench(bench.home, bench.mark, through=("sh", "-c", 'exec "$@" >&-', "sh"))
    calls = [(bench, call, "No space left on device") for call in PRINTING if FULL.exists()]
    for called, call, reason in (*calls, *((shut, call, "it is closed") for call in CLOSED)):
        with subtests.test(call=call, reason=reason), FULL.open("w") if called is bench else Path(os.devnull).open("w") as goal:
            words = shlex.split(call)
            done = called.run(*words, capture_output=False, stdout=goal, stderr=subprocess.PIPE)
            assert done.returncode == (125 if words[0] == "stat" else 1)
            assert done.stderr.count(f"standard output: not written ({reason}") == 1
            assert "Traceback" not in done.stderr
            assert "Exception ignored" not in done.stderr


def test_no_file_gets_the_number_of_a_closed_standard_output(bench):
    """What a verb opens first would get it, and then what a program prints."""
    page = bench.home / "page.json"
    shut = Bench(bench.home, bench.mark, through=("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"))
    assert shut.run("check", "1 GB/s over 1GbE", f"--json={page}").returncode == 1
    assert not page.exists() or json.loads(page.read_text())
