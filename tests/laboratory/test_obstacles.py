"""A file with a mistake is checked against this machine as far as it is valid: whatever the mistake, the answer is a list."""

import json
import random
from pathlib import Path

from assay.errors import InputErrors, Obstacle, ObstacleErrors
from assay.experiment import read
from assay.laboratory.session import experiment_of, placed
from stage.rows import each
from stage.sizes import few_and_many

EXPERIMENTS = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))
STRANGE = ('"?"', "-1", "[]", "{}", '""', "true", '["?"]', '"1 GiB"', "0")


def damaged(text, chance):
    """The text with one line left out, doubled, or with a strange value."""
    lines = text.splitlines()
    at = chance.choice([number for number, line in enumerate(lines) if "=" in line or line.startswith("[")])
    key, _, _ = lines[at].partition("=")
    changed = f"{key}= {chance.choice(STRANGE)}" if "=" in lines[at] else "[targets.strange]"
    lines[at : at + 1] = chance.choice([[], [changed], [changed]])
    return "\n".join(lines) + "\n"


NO_TABLE = ("no 'targets'", "no 'workloads'")
"""What a file lacks as a whole stands in none of its lines."""


@few_and_many("times", 2, 60)
@each("path", *EXPERIMENTS)
def test_a_damaged_file_is_an_experiment_or_a_list_of_mistakes(path, times, tmp_path):
    chance, file = random.Random(path.stem), tmp_path / path.name
    for _ in range(times):
        text = damaged(path.read_text(), chance)
        file.write_text(text)
        found = mistakes(file)
        assert all(one.file == str(file) and (one.line or one.found in NO_TABLE) for one in found), text


def mistakes(file):
    """All that is wrong with a file; anything else that it raises fails the test."""
    try:
        experiment_of(file, file.parent)
    except InputErrors as error:
        return error.mistakes
    return ()


def test_parts_with_a_mistake_are_known(tmp_path):
    file = tmp_path / "e.toml"
    file.write_text("""title = "T"
[paths.good]
delay = "1 ms"
[paths.bad]
loss = "100 %"
[targets.one]
kind = "line"
through = "good"
[targets.two]
kind = "line"
through = "good"
[targets.three]
kind = "line"
through = "bad"
[targets.four]
kind = "socket"
adress = "127.0.0.1"
[workloads.n]
kind = "net_rr"
connections = "x"
[workloads.m]
kind = "net_rr"
[factors]
"two.through" = ["good", "bad"]
""")
    assert read.draft(file).doubtful == {"bad", "two", "three", "four", "n"}


def test_obstacles_stand_among_the_mistakes_in_the_order_of_the_file():
    text = 'title = "T"\n[targets.t]\nkind = "socket"\n[factors]\n"n.window" = [\n"1 KiB",\n"1 GiB",\n]\n'
    found = placed(
        ObstacleErrors(
            [
                Obstacle(at=("factors", "n.window", 1), text="too large"),
                Obstacle(at=("targets", "t"), text="no root"),
                Obstacle(at=("targets", "t"), text="no root"),
                Obstacle(at=("nowhere",), text="not written"),
            ]
        ),
        text,
        "e.toml",
    )
    assert str(found).splitlines() == ["e.toml: not written", "e.toml:2:1: no root", "e.toml:7:1: too large"]
    assert json.dumps([one.obstacle for one in found.mistakes])
