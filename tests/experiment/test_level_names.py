"""Names of levels: shown everywhere in the place of the level, no part of what is run, and every mistake at once."""

from dataclasses import replace

from assay import plain
from assay.experiment import read
from assay.experiment.digest import digest
from assay.measures.text import level, levels, word
from assay.records import Experiment
from stage import experiment_texts

FILE = """title = "T"
[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "512 MiB"
[workloads.w]
kind = "null"
ops = 10
[factors."disk.mount_options"]
levels = {levels}
{more}
"""
NAMED = '[{ name = "journal", value = ["data=journal"] }, ["data=ordered"], { name = "back", value = ["data=writeback"] }]'
PATH = "disk.mount_options"


def parsed(levels=NAMED, more=""):
    return read.parse(FILE.replace("{levels}", levels).replace("{more}", more), "x.toml")


def mistakes(levels, more=""):
    text = FILE.replace("{levels}", levels).replace("{more}", more)
    return [(one.line, one.found, one.expected) for one in experiment_texts.mistakes(text)]


def test_a_level_with_a_name_is_that_level_and_is_called_so():
    experiment = parsed()
    (factor,) = experiment.factors
    assert factor.levels == (("data=journal",), ("data=ordered",), ("data=writeback",))
    assert factor.names == ("journal", "", "back")
    assert level(experiment, PATH, ("data=journal",)) == "journal"
    assert level(experiment, PATH, ("data=ordered",)) == "data=ordered"
    assert word(experiment, PATH, ("data=writeback",)) == "back"
    assert levels(experiment, {PATH: ("data=journal",)}) == f"{PATH} = journal"


def test_the_baseline_may_be_named_or_written_and_keeps_its_name():
    for baseline in ('"back"', '["data=writeback"]'):
        (factor,) = parsed(more=f"baseline = {baseline}").factors
        assert factor.levels[0] == ("data=writeback",)
        assert factor.names == ("back", "journal", "")


def test_names_are_kept_with_the_plan_and_experiments_without_any_keep_their_digest():
    experiment = parsed()
    assert plain.from_plain(Experiment, plain.to_plain(experiment)) == experiment
    bare = parsed('[["data=journal"], ["data=ordered"], ["data=writeback"]]')
    assert bare.factors[0].names == ()
    unnamed = replace(experiment, factors=(replace(experiment.factors[0], names=()),))
    assert digest(unnamed) == bare.digest
    assert experiment.digest != bare.digest


def test_one_and_on_have_names_of_their_own():
    text = FILE.replace('"disk.mount_options"', '"disk.direct_io"').replace("{more}", "")
    experiment = read.parse(text.replace("{levels}", '[{ name = "direct", value = true }, false]'), "x.toml")
    assert level(experiment, "disk.direct_io", True) == "direct"
    assert level(experiment, "disk.direct_io", 1) == "1"
    assert level(experiment, "disk.direct_io", False) == "off"


def test_every_mistake_is_noted_at_once():
    levels = (
        '[{ name = "a" }, { value = ["x"] }, { name = "", value = ["y"] }, { name = "b", value = ["z"], more = 1 },'
        ' { name = "c", value = ["c"] }, { name = "c", value = ["d"] }, 7]'
    )
    found = mistakes(levels)
    assert [one[1] for one in found] == [
        "a level with name",
        "a level with value",
        "'' for the name of a level",
        "a level with name, value, more",
        "the name 'c' twice",
        found[-1][1],
    ]
    assert found[0][2] == 'a level, or { name = "a word for it", value = the level }'
    assert found[-1][1].startswith("7")
