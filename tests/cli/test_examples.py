"""The examples below the help of each verb: calls that the verb takes, and that the help shows line by line."""

import shlex

import pytest
import typer

from assay.cli import examples
from assay.cli.options import arranged, completed
from assay.cli.verbs import app

COMMAND = typer.main.get_command(app)


def test_examples_are_calls_that_the_verb_takes(tmp_path, monkeypatch, subtests):
    for verb in COMMAND.commands:
        with subtests.test(verb=verb):
            monkeypatch.chdir(tmp_path)
            for call, _ in examples.EXAMPLES.get(verb, ()):
                program, *words = shlex.split(call)
                name, *rest = completed(arranged(words))
                assert (program, name) == ("assay", verb)
                COMMAND.commands[verb].make_context(verb, rest)


def test_no_example_is_of_a_verb_that_is_not_there_and_a_word_that_no_verb_takes_is_refused():
    assert set(examples.EXAMPLES) <= set(COMMAND.commands)
    with pytest.raises(Exception, match="No such option"):
        COMMAND.commands["size"].make_context("size", ["--nonsense", "f"])


def test_help_shows_each_example_on_a_line_of_its_own_and_no_type_of_python():
    for verb, calls in examples.EXAMPLES.items():
        command = COMMAND.commands[verb]
        text = command.get_help(typer.Context(command, info_name=verb))
        lines = [line.strip() for line in text.splitlines()]
        assert all(any(line.startswith(call) for line in lines) for call, _ in calls), verb
        assert "list[" not in text
        assert "<path>" not in text.partition("Options:")[0]
