import os
import stat
import subprocess
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import InputErrors, RefusedError, UsageError
from assay.experiment import read
from assay.hosts.local import Local
from assay.records import Direction, EndpointKind, Experiment, Outcome, Rung, TargetSpec
from assay.trial.runner import TrialRunner
from assay.undo.ledger import Ledger
from stage.rows import each
from stage.targets_host import HOST, MIB, needs_root, setting
from stage.trial_stage import bulk, engine, trial

TARGET = catalogue.find("targets", "existing")


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / "a b").write_bytes(os.urandom(MIB))
    (tmp_path / "tree" / "c\nd").write_bytes(os.urandom(MIB))
    return tmp_path / "tree"


def seen(path):
    """All that a write could change: names, sizes, times of change and of content, and the bytes."""
    found = {}
    for one in (path, *sorted(path.rglob("*"))):
        told = one.stat()
        content = one.read_bytes() if one.is_file() else b""
        found[str(one)] = (told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns, content)
    return found


@each("inside", ".", "deep/a b")
def test_its_life_changes_nothing(tree, inside):
    before, path = seen(tree), (tree / inside).resolve()
    given = setting(None, tree, path=str(tree / inside))
    assert TARGET.check(HOST, given) == ()
    TARGET.install(HOST, given)
    place = TARGET.prepare(HOST, given)
    TARGET.drop_caches(HOST, place)
    assert TARGET.attach(HOST, given, place, 1).address == place.address == str(path)
    TARGET.teardown(HOST, given, place)
    TARGET.remove(HOST, given)
    assert seen(tree) == before


def test_a_link_is_followed_and_its_device_is_the_one_that_the_kernel_names(tree, tmp_path):
    (tmp_path / "way").symlink_to(tree)
    assert TARGET.prepare(HOST, setting(None, tree, path=str(tmp_path / "way"))).address == str(tree)

    place = TARGET.prepare(HOST, setting(None, tree, path=str(tree / "c\nd")))
    number = tree.stat().st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    assert place.devices[:1] == ((entry.resolve().name,) if entry.exists() else ())
    told = dict(TARGET.facts(HOST, place))
    assert (told["filesystem"], told["kind"]) == (place.filesystem, "regular file")


@pytest.mark.root
@needs_root
def test_a_block_device_is_read_as_itself(tree, tmp_path):
    image = tmp_path / "image"
    image.write_bytes(bytes(MIB))
    done = subprocess.run(["losetup", "--find", "--show", "--read-only", str(image)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no loop device: {done.stderr}")
    device = done.stdout.strip()
    try:
        place = TARGET.prepare(HOST, setting(None, tree, path=device))
        assert place.devices[0] == Path(device).name
        assert place.filesystem is None
        assert dict(TARGET.facts(HOST, place))["kind"] == "block special file"
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


def test_drop_caches_makes_every_file_cold_and_is_refused_without_system_calls(tree, tmp_path):
    files = [path for path in tree.rglob("*") if path.is_file()]
    assert all(HOST.syscalls.cachestat(str(file)).cached for file in files)
    place = TARGET.prepare(HOST, setting(None, tree, path=str(tree)))
    TARGET.drop_caches(HOST, place)
    assert [HOST.syscalls.cachestat(str(file)).cached for file in files] == [0, 0]
    with pytest.raises(RefusedError, match="unchanged"):
        TARGET.drop_caches(Local("far", root=tmp_path), place)


def test_what_cannot_be_read_is_refused(tree):
    os.mkfifo(tree / "pipe")
    for name, expected in (("nothing", "nothing does not exist"), ("pipe", "is a fifo")):
        given = setting(None, tree, path=str(tree / name))
        assert expected in TARGET.check(HOST, given)[0]
        with pytest.raises(UsageError, match=expected):
            TARGET.prepare(HOST, given)
    assert stat.S_ISFIFO((tree / "pipe").stat().st_mode)


def lab(tree, tmp_path, workload):
    target = TargetSpec(name="there", kind="existing", knobs={"path": str(tree)})
    asked = Experiment(title="t", question="q", targets=(target,), workloads=(workload,), factors=(), measures=())
    ledger = Ledger(tmp_path / "ledger")
    return TrialRunner(experiment=asked, host=HOST, ledger=ledger, scratch=str(tmp_path), engine=engine(), observers=())


def test_a_file_of_others_is_read_where_it_is_and_a_workload_that_writes_refused_before_anything_is_done(tree, tmp_path):
    file, before = tree / "deep" / "a b", seen(tree)
    run, observations = lab(tree, tmp_path, bulk(operations=("read",), file=str(file), size=None, flush="none")).run(trial(), 1)
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)
    assert sum(one.bytes for one in observations.rung("w.read", Rung.APPLICATION, Direction.READ)) == MIB
    assert run.places[0].kind is EndpointKind.DIRECTORY
    run, _ = lab(tree, tmp_path, bulk(operations=("read",), flush="none")).run(trial(), 1)
    assert run.outcome is Outcome.FAILED
    assert "workload w writes, and target there is read-only" in run.error
    assert seen(tree) == before


TEXT = """
title = "t"
[targets.there]
kind = "existing"
path = "/srv"
[workloads.w]
kind = "bulk_io"
operations = ["read"]
"""


def test_a_workload_that_writes_is_refused_when_the_file_is_read():
    with pytest.raises(InputErrors, match="workload 'w', which writes, on target 'there', which is only read"):
        read.parse(TEXT, "x.toml")
    assert read.parse(TEXT + 'file = "/srv/x"\n', "x.toml").targets[0].kind == "existing"
    text = (
        TEXT.replace('operations = ["read"]', 'operations = ["read"]\nfile = "/srv/x"')
        + '[factors]\n"w.file" = ["/srv/x", "/srv/y"]\n'
    )
    assert read.parse(text, "x.toml")
    with pytest.raises(InputErrors, match="only read"):
        read.parse(TEXT + '[factors]\n"w.size" = ["1 MiB", "2 MiB"]\n', "x.toml")
