"""`assay stat -- fio JOB` for fio's own example jobs that run on a file: what each number is, in JSON as documented.

The jobs are those of fio's package with lines added to each section, where they count last: where, how large, how long. fio has
no words on its command line that would change a job of a file. Its jobs that hand requests to other threads
(io_submit_mode=offload) are left out: fio 3.33 sometimes never ends after them.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import jsonschema
import pytest

from stage.sizes import first_and_all
from stage.stat_stage import failed, loop_disk, root, stat, verdict

EXAMPLES = Path("/usr/share/doc/fio/examples")
DOCS = Path(__file__).parent.parent / "docs"
pytestmark = [
    root,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="fio's examples are not installed (Debian: fio-examples)"),
]
TEXT, JSON = (), ("--output-format=json",)
SECOND = {"size": "16m", "runtime": 1}
FILE = {"filename": "f"}
LABELS = {
    "T01": ("page-cache bandwidth", "mixture"),
    "T06": ("never written",),
    "D06": ("into memory",),
    "E05": ("nothing",),
}
"""What the label says where the rule decides it."""
READ, WRITE = ("read",), ("write",)
BOTH = (*READ, *WRITE)
FOUR = ("read", "random_read", "write", "random_write")


class Example(NamedTuple):
    """A job, what is added to it, what it measures."""

    name: str
    form: tuple[str, ...]
    more: dict
    measures: tuple[str, ...]
    lies: Mapping[str, str] = MappingProxyType({})
    """Measure -> the rule that must fail it."""
    may: frozenset[str] = frozenset()
    """Rules that may fail, by how fast the disk is."""


OFTEN_FROM_MEMORY = frozenset({"T01"})
OFTEN_OVERWRITTEN = frozenset({"D06"})
OF_SHORT_JOBS = frozenset({"D01", "W01"})
"""A slow flush at the end changes their figures, and fio's clock has few ticks in their time."""
SOUND = (
    Example("aio-read", TEXT, {"size": "8m"}, READ),
    Example("basic-verify", TEXT, {"size": "8m", **FILE}, BOTH),
    Example("fio-rand-RW", TEXT, SECOND, BOTH, may=OFTEN_FROM_MEMORY | OFTEN_OVERWRITTEN),
    Example("fio-seq-write", JSON, SECOND, WRITE, may=OFTEN_OVERWRITTEN),
    Example("ssd-test", JSON, {"size": "8m"}, FOUR),
    Example("tiobench-example", TEXT, {"size": "1m"}, FOUR),
    Example("backwards-read", JSON, {"size": "16m", **FILE}, READ),
    Example("fio-rand-read", JSON, SECOND, READ, may=OFTEN_FROM_MEMORY),
    Example("fio-rand-write", JSON, SECOND, WRITE, may=OFTEN_OVERWRITTEN),
    Example("fio-seq-read", TEXT, SECOND, READ),
    Example("iometer-file-access-server", TEXT, {"size": "16m"}, BOTH),
    Example("rand-zones", JSON, {"size": "4m"}, READ),
)
LYING = (
    # four jobs read the same file: three of them find it in memory
    Example("fio-seq-RW", JSON, SECOND, BOTH, {"read": "T01"}, OFTEN_OVERWRITTEN),
    Example(
        *("waitfor", TEXT, {"filesize": "8m", "runtime": 1, **FILE}, ("random_read", "random_read_2", "write", "random_write")),
        {"random_read": "T01", "random_read_2": "T01", "write": "D06", "random_write": "D06"},
    ),
    # what one job writes, the other reads where it has not been written yet
    Example("flow", TEXT, {"size": "64m", "runtime": 1, **FILE}, BOTH, {"read": "T06"}, OFTEN_FROM_MEMORY),
    # one engine only allocates, and fio says that it writes
    Example(
        *("falloc", JSON, {"size": "8m", "filesize": "8m", "runtime": 1}, ("read", "random_write", "write", "trim")),
        {"random_write": "D06"},
        frozenset({"T01", "T06", "D06"}),
    ),
)
OBJECTS = (
    Example("filecreate-ioengine", TEXT, {"nrfiles": 20}, ("create",)),
    Example("filestat-ioengine", JSON, {"nrfiles": 20}, ("stat",)),
    Example("filedelete-ioengine", TEXT, {"nrfiles": 20}, ("unlink",)),
)


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("stat"))


@pytest.fixture(scope="module")
def schema():
    text = (DOCS / "stat-json.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


@pytest.fixture(autouse=True)
def _no_file_is_left(disk):
    yield
    for path in disk.iterdir():
        if path.is_file() and path.name != "data":
            path.unlink()


def run(disk, schema, example):
    """What is said of the job, which is whole and as documented."""
    text = re.sub(r"(?m)^(directory|filename)=/.*$", "", (EXAMPLES / f"{example.name}.fio").read_text())
    head, *sections = re.split(r"(?m)^(?=\[)", text)
    lines = "".join(f"{key}={value}\n" for key, value in {"directory": disk, **example.more}.items())
    (disk / "job.fio").write_text(head + "".join(f"{section.rstrip()}\n{lines}" for section in sections))
    told = stat(disk, "fio", *example.form, "job.fio")
    schema.validate(told)
    assert told["reported"]["tool"] == ("fio_json" if example.form else "fio_text")
    assert set(told["measures"]) == set(example.measures)
    return told


def names(examples, few=99):
    return pytest.mark.parametrize("example", first_and_all(examples, few), ids=[example.name for example in examples])


@names(SOUND, few=6)
def test_jobs_on_a_file_are_what_they_say(disk, schema, example):
    told = run(disk, schema, example)
    assert {rule: said for rule, said in failed(told).items() if rule not in example.may | OF_SHORT_JOBS} == {}
    if not failed(told):
        assert verdict(told) in ("SOUND", "BOUNDED", "TAINTED", "UNVERIFIED")


@names(LYING)
def test_jobs_whose_numbers_are_of_something_else(disk, schema, example):
    told = run(disk, schema, example)
    assert set(failed(told)) <= set(example.lies.values()) | example.may | OF_SHORT_JOBS
    for measure, rule in example.lies.items():
        found = told["measures"][measure]
        assert rule in failed(told, measure)
        assert found["verdict"] in (("INVALID",) if rule.startswith("T") else ("INVALID", "TAINTED", "BOUNDED", "UNVERIFIED"))
        assert any(words in found["label"] for words in LABELS[rule])


def test_jobs_on_files_as_objects_move_no_bytes(disk, schema):
    for example in OBJECTS:
        told = run(disk, schema, example)
        assert set(failed(told)) <= OF_SHORT_JOBS
        assert not any("bytes" in name for name in told["reported"]["values"])
        assert {one["unit"] for one in told["measures"].values()} == {"1/s"}


def test_an_engine_that_moves_nothing_is_no_device(disk, schema):
    told = run(disk, schema, Example("null", JSON, {"size": "64m"}, READ))
    assert told["verdict"] == "INVALID"
    assert {"G05", "T01"} & set(failed(told)) == {"G05"}
