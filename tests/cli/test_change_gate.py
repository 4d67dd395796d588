"""The job of docs/howto/ci.md that holds a change against its base: the same steps, in a repository of two commits."""

import re
import subprocess
from pathlib import Path

import pytest

from stage.assay_process import COMMAND, Bench

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "ci.md").read_text(encoding="utf-8")
MAKEFILE = "product: product.in\n\tcp product.in product\n\tchmod +x product\n"
PRODUCT = """#!/bin/sh
i=0
while [ $i -lt {turns} ]; do i=$((i + 1)); done
"""
TURNS = 30_000


def block(kind, begins):
    """The block of the page that begins so."""
    (found,) = [one for one in re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) if one.startswith(begins)]
    return found


def git(home, *words):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=home, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    """Two commits: the branch `main`, and a change whose product works for so many turns more."""

    def made(more):
        (tmp_path / "Makefile").write_text(MAKEFILE)
        (tmp_path / "product.in").write_text(PRODUCT.format(turns=TURNS))
        (tmp_path / "change.toml").write_text(block("toml", "# change.toml").replace('"until 3 %"', "6"))
        (tmp_path / "slower.sh").write_text(block("sh", "# slower.sh"))
        git(tmp_path, "init", "-b", "main")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-m", "base")
        git(tmp_path, "checkout", "-b", "change")
        (tmp_path / "product.in").write_text(PRODUCT.format(turns=TURNS + more) + "# changed\n")
        git(tmp_path, "commit", "-am", "change")
        return tmp_path

    return made


def job(home, page):
    """Run the line of the page that begins the job."""
    (line,) = re.findall(r"(?:run:|- )\s*(sh slower\.sh .*)", page)
    variables = {"GITHUB_BASE_REF": "main", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "main"}
    tools = home / "bin"
    tools.mkdir()
    (tools / "assay").write_text(f"#!/bin/sh\nexec {COMMAND[0]} -c '{COMMAND[-1]}' \"$@\"\n")
    (tools / "assay").chmod(0o755)
    environment = {**Bench(home).environment(), **variables, "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin"}
    line = line.replace("origin/$GITHUB_BASE_REF", "$GITHUB_BASE_REF")  # the repository has no remote
    return subprocess.run(["sh", "-c", line], cwd=home, env=environment, capture_output=True, text=True, check=False)


def test_a_slower_change_ends_the_job_with_four_and_says_by_how_much(repository):
    home = repository(TURNS)
    done = job(home, block("yaml", "on: pull_request"))
    assert done.returncode == 4, done.stdout + done.stderr
    assert 'message="worse"' in (home / "assay.xml").read_text()
    assert "change" in (home / "assay.md").read_text()


def test_an_equal_change_passes(repository):
    home = repository(0)
    done = job(home, block("yaml", "slower:"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "<failure" not in (home / "assay.xml").read_text()


def test_stat_without_another_command_refuses_the_gate_for_changes(tmp_path):
    done = Bench(tmp_path).run("stat", "--gate=worse", "--", "true")
    assert done.returncode == 125
    assert "--vs 'OTHER COMMAND' with it" in done.stderr


def test_stat_ends_with_four_where_the_other_command_is_slower(tmp_path):
    for seconds, ends in (("0.5", 4), ("0.2", 0)):
        done = Bench(tmp_path).run("stat", "--gate=worse", "--repeat=4", "--vs", f"sleep {seconds}", "--", "sleep", "0.2")
        assert done.returncode == ends, done.stderr
