"""Every command of docs/tutorial.md runs as printed, in order, within a minute of the machine's time."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent / "docs" / "tutorial.md").read_text()
BLOCK = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$")
SAVED = re.compile(r"Save this file as `([\w.]+)`:\n```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = [line[2:] for kind, text in BLOCK.findall(PAGE) if not kind for line in text.splitlines() if line.startswith("$ ")]
SHOWN = {
    "bs=1M count=256": "at exit",
    "stat -- dd if=copy.img": "INVALID: warm read: page-cache bandwidth",
    "explain": "client-page-cache",
    "tier=client-cache": "page cache",
    "check": "INVALID: a memory test, not a disk test",
    "load": "random_read",
    "plan": "minimum detectable effect",
    "run": "What does it cost to flush each record",
    "list": "a-journal-of-small-records",
    "report": "report.html",
    "sql": "records.write.ops_per_s",
    "show": "records",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Each command and what it printed, all run in one shell's directory; a command that fails ends it."""
    here = tmp_path_factory.mktemp("tutorial")
    for name, text in SAVED.findall(PAGE):
        (here / name).write_text(text)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    found = {}
    for command in COMMANDS:
        if command.startswith("cd "):
            continue
        done = subprocess.run(
            ["sh", "-c", command], cwd=here, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        found[command] = done.stdout + done.stderr
    return found


def test_every_command_of_the_tutorial_runs(answers):
    assert len(answers) == len(SHOWN) + 1


def test_the_answer_has_what_the_page_tells_of_it(subtests, answers):
    for part, shown in SHOWN.items():
        with subtests.test(part=part):
            command = next(one for one in answers if part in one)
            assert shown in answers[command], answers[command]


def test_no_command_fails_in_silence():
    assert all(command.split()[0] in ("assay", "mkdir", "cd") for command in COMMANDS)
