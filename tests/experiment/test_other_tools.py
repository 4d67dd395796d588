"""The options of fio, iozone, elbencho and mdtest in place of our knobs: the error names the knob."""

import pytest

from assay import catalogue
from assay.errors import InputErrors, UsageError
from assay.experiment import other_tools
from assay.experiment.other_tools import counterpart
from assay.experiment.read import parse
from assay.experiment.shape import FileShape, HostShape
from assay.experiment.single import keys, load_request, plug_of
from stage.rows import each

BULK, METADATA = (keys(plug_of(kind)) for kind in ("bulk_io", "metadata"))
FILE = """title = "x"
repeats = 3
[targets.t]
kind = "directory"
path = "/tmp"
[workloads.w]
kind = "bulk_io"
{line}
[measures]
"w.read.bytes_per_s" = {{}}
"""


@each(
    "word said",
    ("bs", "record_size (bs in fio)"),
    ("--bs", "record_size (bs in fio)"),
    ("iodepth", 'depth (with ioengine = "io_uring") (iodepth in fio)'),
    ("numjobs", "workers (threads), or clients (processes) (numjobs in fio)"),
    ("runtime", "duration (runtime in fio)"),
    ("loops", "repeats of an experiment file (loops in fio)"),
    ("nrfiles", "count of workload metadata (nrfiles in fio)"),
    ("-I", "direct (-I in iozone), or count of workload metadata (-I in mdtest)"),
    ("-s", "size (-s in iozone), or size (-s in elbencho)"),
    ("-t", "clients (processes), or workers (threads) (-t in iozone), or workers (-t in elbencho)"),
)
def test_an_option_of_another_tool_is_named_with_our_knob(word, said):
    assert counterpart(word, BULK) == said


def test_one_letter_means_what_each_tool_means_by_it():
    found = counterpart("r", BULK)
    assert found == (
        'record_size (-r in iozone), or operations = ["read"] (-r in elbencho), or operations = ["unlink"] (-r in mdtest)'
    )
    assert counterpart("sise", BULK) is None
    assert counterpart("", BULK) is None


@each("options", *other_tools.TOOLS, *other_tools.HOSTS)
def test_every_counterpart_exists(options):
    homes = {
        **{other_tools.HOMES[name]: set(keys(plug_of(name))) | {"file"} for name in ("bulk_io", "metadata", "profile")},
        other_tools.HOMES["file"]: set(FileShape.model_fields),
        other_tools.HOMES["host"]: set(HostShape.model_fields),
        other_tools.HOMES["target"]: {knob.name for knob in catalogue.find("targets", "directory").knobs},
    }
    assert [one for one in options.values() if one.knob not in homes[one.home]] == []


@each("options", *other_tools.TOOLS)
def test_no_word_of_another_tool_is_one_of_ours(options):
    """Else its counterpart would never be named for that workload."""
    assert [name for name, one in options.items() if one.home == other_tools.HOMES["bulk_io"] and name in BULK] == []


@each(
    "line said",
    ('bs = "4 KiB"', "unknown knob 'bs'; expected record_size (bs in fio)"),
    ("numjobs = 4", "unknown knob 'numjobs'; expected workers (threads), or clients (processes) (numjobs in fio)"),
    ('rw = "randread"', "unknown knob 'rw'; expected operations (randread is random_read"),
)
def test_an_experiment_file_says_so(line, said):
    with pytest.raises(InputErrors) as refused:
        parse(FILE.format(line=line), "x.toml")
    assert said in str(refused.value)
    assert str(refused.value).startswith("x.toml:8:1: found")


def test_the_top_of_a_file_and_the_words_of_load_say_so():
    with pytest.raises(InputErrors, match="unknown key 'loops'; expected repeats"):
        parse("loops = 3\n" + FILE.format(line=""), "x.toml")
    found = load_request("bulk_io", ["operation=read", "path=F", "bs=4k", "--iodepth=8", "-t", "4"]).document.mistakes
    assert [(one.found, one.expected.partition(" (")[0]) for one in found] == [
        ("unknown key 'bs'", "record_size"),
        ("unknown key '--iodepth'", "depth"),
        ("'-t'", "KEY=VALUE: clients"),
        ("'4'", "KEY=VALUE, such as size=512MiB"),
    ]
    (other,) = load_request("metadata", ["path=.", "-n=5"]).document.mistakes
    assert other.expected.endswith("count (-n in mdtest)")


def test_a_job_file_of_fio_is_named_and_not_listed_line_by_line():
    with pytest.raises(UsageError, match=r"^job: this is a job file of fio\. Use: assay stat -- fio job$"):
        parse("[global]\nioengine=libaio\nbs=4k\n[r]\nrw=randread\nsize=16M\n", "job")
    with pytest.raises(InputErrors, match="found '4k'"):
        parse(FILE.format(line="record_size = 4k"), "x.toml")
