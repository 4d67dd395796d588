"""A command behind its gate: when it was let go, and what becomes of one that cannot run."""

import os
import time

import pytest

from assay.errors import MissingError, RefusedError
from assay.hosts import spawn


def waiting(*argv):
    return spawn.behind_gate(argv, "/", {}, ())


def test_the_clock_begins_at_the_exec_and_not_when_the_gate_is_opened():
    """The child needs a moment to wake: `assay stat` counted that as time of the command."""
    child = waiting("true")
    opened_ns = time.monotonic_ns()
    began_ns = child.go()
    over_ns = time.monotonic_ns()
    os.waitpid(child.pid, 0)
    assert opened_ns < began_ns < over_ns


def test_what_cannot_be_executed_is_said_in_words(tmp_path):
    with pytest.raises(MissingError, match="/no/such/program: command not found"):
        waiting("/no/such/program").go()
    with pytest.raises(MissingError, match=r"dd if=a of=b: command not found .* without quotes"):
        waiting("dd if=a of=b").go()
    (file := tmp_path / "text").write_text("no program")
    file.chmod(0o644)
    with pytest.raises(RefusedError, match="text: cannot be executed"):
        waiting(str(file)).go()


def test_a_directory_that_is_gone_is_said_though_the_name_of_the_program_looks_like_a_time():
    child = spawn.behind_gate(("@1@true",), "/no/such/directory", {}, ())
    with pytest.raises(MissingError, match="@1@true: command not found"):
        child.go()
