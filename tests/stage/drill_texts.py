"""The text of an experiment with a drill and its events, read: the experiment, or every mistake in it."""

import json

import pytest

from assay.errors import InputErrors
from assay.experiment import read


def event(at="2 s", lasts="1 s", action="power", on=None, phase="append", **more):
    """An event of the drill `d` as the file has it, without the keys that are None."""
    keys = {"phase": phase, "at": at, "action": action, "for": lasts, "on": on, **more}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in keys.items() if value is not None]
    return "[[workloads.d.events]]\n" + "".join(lines)


class DrillText:
    """A text with room for `events`, and what else is filled in where a test gives nothing else."""

    def __init__(self, text, **usual):
        self.text, self.usual = text, usual

    def parsed(self, *events, **given):
        return read.parse(self.text.format(events="".join(events), **{**self.usual, **given}), "x.toml")

    def mistakes(self, *events, **given):
        with pytest.raises(InputErrors) as caught:
            self.parsed(*events, **given)
        return caught.value.mistakes
