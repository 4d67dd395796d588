"""The lanes: skips are counted by what would help, every failure stands at the end, nothing is installed unasked."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

import skips

SCRIPTS = Path(__file__).parent.parent / "scripts"
TOOLS = """# a table of programs that no machine has
no-such-reader reader
no-such-server serverpackage service
sh dash
unpack no-such-sshd sshd usr/sbin/sshd openssh-server
"""
UNPACKED = "unpack no-such-sshd sshd usr/sbin/sshd openssh-server\n"
APT = '#!/bin/sh\necho "$@" >> "$CALLS"\nexit 1\n'


@pytest.fixture
def tree(tmp_path):
    """A tree with the scripts, a table, and an apt-get that notes each call and gives nothing."""
    (tmp_path / "bin").mkdir()
    shutil.copytree(SCRIPTS, tmp_path / "scripts")
    (tmp_path / "scripts" / "tools.txt").write_text(TOOLS)
    (tmp_path / "bin" / "apt-get").write_text(APT)
    (tmp_path / "bin" / "apt-get").chmod(0o755)
    return tmp_path


def called(tree, name, *words, stdin=subprocess.DEVNULL, **more):
    environment = {**os.environ, "PATH": f"{tree / 'bin'}:{os.environ['PATH']}", "CALLS": str(tree / "calls"), **more}
    return subprocess.run(
        [tree / "scripts" / name, *words], cwd=tree, env=environment, stdin=stdin, capture_output=True, text=True, check=False
    )


def at_a_terminal(tree, answer):
    mine, theirs = pty.openpty()
    os.write(mine, f"{answer}\n".encode())
    try:
        return called(tree, "tools.sh", stdin=theirs)
    finally:
        os.close(mine)
        os.close(theirs)


def installs(tree):
    return (tree / "calls").read_text().split() if (tree / "calls").exists() else []


def test_no_tool_is_installed_unasked(tree):
    done = called(tree, "tools.sh", YES="", ASSUME_YES="")
    assert (done.returncode, installs(tree)) == (0, [])
    names = ("reader", "serverpackage", "openssh-server", "make tools YES=1")
    assert [name for name in names if name not in done.stdout] == []
    assert "dash" not in done.stdout, "it is here"
    refused = at_a_terminal(tree, "n")
    assert (refused.returncode, installs(tree)) == (0, [])
    assert at_a_terminal(tree, "").returncode == 0
    assert installs(tree) == []


def test_tools_are_fetched_where_the_answer_is_yes(tree):
    (tree / "scripts" / "tools.txt").write_text(UNPACKED)  # as root the others would really be asked for
    answers = {"typed": lambda: at_a_terminal(tree, "y"), "given": lambda: called(tree, "tools.sh", YES="1")}
    for way, answer in answers.items():
        assert answer().returncode == 0, way
        assert "openssh-server" in installs(tree), way
        (tree / "calls").unlink()


def test_every_failed_step_is_shown_at_the_end(tree):
    for name, words in {"one": "echo wrong here; exit 1", "two": "echo fine", "three": "echo wrong there; exit 3"}.items():
        assert called(tree, "step.sh", name, "sh", "-c", words).returncode == 0
    done = called(tree, "failures.sh")
    assert done.returncode == 1
    assert [words for words in ("wrong here", "wrong there", "failed: one, three") if words not in done.stdout] == []
    assert "fine" not in done.stdout
    shutil.rmtree(tree / ".build" / "steps")
    assert called(tree, "failures.sh").returncode == 0


def test_skips_are_counted_by_what_would_help(tmp_path):
    table = tmp_path / "tools.txt"
    table.write_text(TOOLS)
    wanted = skips.absent(table, tmp_path)
    needed = {
        "no-such-reader is not installed": "no-such-reader",
        "not here: cc, no-such-reader": "no-such-reader",
        "not here: a server (serverpackage)": "no-such-server",
        "no no-such-sshd below .build": "no-such-sshd",
        "assay-nfs is not built: make clients": "`make clients`",
        "network namespaces need root": "root",
        "this kernel has no overlay": None,
        "needs sh": None,
    }
    assert {reason: skips.needs(reason, wanted, is_root=False) for reason in needed} == needed
    line = skips.summary(list(needed), wanted, is_root=False)
    counts = ("skipped 8: 2 need no-such-reader,", "1 needs root", "2 for", "make tools")
    assert [words for words in counts if words not in line] == []
    assert "make tools" not in skips.summary(["this kernel has no overlay"], wanted, is_root=True)
