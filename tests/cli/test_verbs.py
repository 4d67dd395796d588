"""Every verb has the same options for the same thing, and every JSON names its schema."""

import json
import shlex
import tomllib
from pathlib import Path

import click
import pytest
import typer

from assay.cli import options
from assay.cli.main import STAT
from assay.cli.stat.options import HELP
from assay.cli.verbs import app
from stage import cli_notebook
from stage.assay_process import Bench

COMMAND = typer.main.get_command(app)
VERBS = tuple(COMMAND.commands)
BY_TYPER = tuple(verb for verb in VERBS if verb not in (STAT, "ldif", "completion"))
"""`stat` has its own reader of options; what `ldif` writes is LDIF, and of `completion` a script, and nothing else."""
NOTEBOOK = (
    *("quick", "plan", "run", "audit", "compare", "report", "show", "list", "history", "sql", "export", "dissect"),
    *("serve", "delete", "trash", "annotate", "tag", "move", "merge", "import"),
)
LASTING = ("quick", "run", "load", "survey", "selftest")
"""Verbs that may take longer than 10 s, so that progress is worth a line."""
GATED = ("quick", "run", "load", "check", "audit", "compare", "history", "dissect", "selftest")
ROOT = Path(__file__).parents[2]
CHANGING = ("serve", "delete", "move", "merge", "import", "completion")
"""Verbs that do not end, or that cannot be called twice with the same words."""
LOOKING = {
    "plan": f"{ROOT}/experiments/filesystems.toml",
    "check": '"1 GB/s read"',
    "from-fio": f"{ROOT}/tests/fixtures/jobs/ssd.fio",
    "audit": "a-mail",
    "compare": "a-mail",
    "report": "a-mail",
    "show": "0003/1 a-mail",
    "list": "",
    "history": "--title 'A mail spool'",
    "sql": '"SELECT 1 AS one"',
    "export": "",
    "size": next(str(path) for path in sorted((ROOT / "experiments" / "chains").glob("*.toml"))),
    "predict": f"{ROOT}/experiments/predictions/netware_to_linux.toml",
    "survey": ".",
    "explain": "T01",
    "catalogue": "",
    "doctor": "--no-fix",
    "hosts": f"{ROOT}/experiments/filesystems.toml",
    "annotate": "a-mail 'a note'",
    "tag": "a-mail nightly",
    "trash": "",
}
"""Verbs that end at once, with words for each."""


def option(verb: str, name: str) -> click.Parameter | None:
    return next((one for one in COMMAND.commands[verb].params if name in one.opts), None)


def test_every_verb_has_its_options_and_no_form_of_its_own(subtests):
    for verb in BY_TYPER:
        with subtests.test(verb=verb):
            found = option(verb, "--json")
            assert found is not None
            assert (found.metavar, found.default) == ("[=FILE]", None)
            assert (option(verb, "--lab") is not None) == (verb in NOTEBOOK)
            assert (option(verb, "--progress") is not None) == (verb in LASTING)
            assert (option(verb, "--gate") is not None) == (verb in GATED)
            if (gate := option(verb, "--gate")) is not None:
                assert gate.metavar in ("[=strict]", "[=strict|worse]")
            assert all(one.help for one in COMMAND.commands[verb].params if isinstance(one, click.Option))


def test_stat_has_the_same_options_and_every_verb_is_looked_at():
    assert all(
        f"  {words}" in HELP for words in ("--json=FILE", "--gate[=strict|worse]", "--lab DIR", "-h, --help", "--save[=LAB]")
    )
    assert {*LOOKING, "quick", "run", "load", "dsio", "dissect", "ldif", STAT, "selftest", *CHANGING} == set(VERBS)


def test_help_has_two_names_and_the_package_a_version(tmp_path):
    bench = Bench(tmp_path)
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert bench.run("--version").stdout == f"assay {tomllib.load(file)['project']['version']}\n"
    for words in ((), ("list",), ("load",), ("stat",)):
        short, long = bench.run(*words, "-h"), bench.run(*words, "--help")
        assert short.returncode == 0
        assert short.stdout == long.stdout != ""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    made = Bench(tmp_path_factory.mktemp("home"))
    cli_notebook.lab(made.home / "kept")
    return made


def test_json_alone_owns_standard_output_and_a_file_stands_beside_the_text(bench, subtests):
    for verb, call in LOOKING.items():
        with subtests.test(verb=verb):
            words = [*(("--lab", "kept") if verb in NOTEBOOK else ()), verb, *shlex.split(call)]
            alone = bench.run(*words, "--json")
            assert alone.returncode == 0, alone.stderr
            (line,) = alone.stdout.splitlines()
            assert json.loads(line)["schema"] == f"assay.{verb}/1"
            beside = bench.run(*words, f"--json={verb}.json")
            assert beside.returncode == 0, beside.stderr
            assert json.loads((bench.home / f"{verb}.json").read_text())["schema"] == f"assay.{verb}/1"
            assert beside.stdout.strip()
            assert not beside.stdout.startswith("{")


def test_json_of_load_and_stat_and_a_file_without_a_directory(bench):
    assert json.loads(bench.run("load", "null", "ops=1000", "quiesce=0s", "--json").stdout)["schema"] == "assay.load/1"
    done = bench.run("stat", "--json", "--", "true")
    assert (done.returncode, "--json=FILE" in done.stderr) == (125, True), "standard output belongs to the command"
    assert bench.run("stat", "--json=s.json", "--", "true").returncode == 0
    assert json.loads((bench.home / "s.json").read_text())["schema"] == "assay.stat/1"
    assert bench.run("list", "--lab", "kept", "--json=none/x").returncode == 2


def test_the_notebook_is_named_anywhere(bench):
    for words in (("--lab", "kept", "list"), ("--lab=kept", "list"), ("list", "--lab", "kept"), ("list", "--lab=kept")):
        assert "a-mail-spool" in bench.run(*words).stdout
    for words in (("--lab", "mine", "stat", "--save"), ("stat", "--lab", "mine", "--save"), ("stat", "--save=mine")):
        done = bench.run(*words, "--", "true")
        assert (done.returncode, "/mine/" in done.stderr) == (0, True)
    assert "expected both" in bench.run("stat", "--lab", "mine", "--", "true").stderr


def test_words_behind_two_dashes_are_left_alone():
    assert options.completed(["--json", "--gate", "--", "--json"]) == ["--json=-", "--gate=on", "--", "--json"]
    assert options.arranged(["--lab"]) == ["--lab"]
    assert options.arranged([]) == []


def test_a_report_goes_to_standard_output(bench):
    page = bench.run("report", "a-mail", "--lab", "kept", "--out", "-")
    assert page.stdout.lstrip().startswith("<!")
    assert not (bench.home / "-").exists()
    text = bench.run("report", "a-mail", "--lab", "kept", "--out", "-", "--format", "md").stdout
    assert text.startswith("#")
    done = bench.run("report", "a-mail", "--lab", "kept", "--out", "-", "--json")
    assert (done.returncode, done.stdout) == (2, "")
