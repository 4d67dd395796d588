import json
import os
import subprocess
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import RefusedError, UsageError
from assay.machine import ownership
from assay.machine.ownership import Ownership
from assay.records import EndpointKind, Experiment, Outcome, TargetSpec
from assay.trial.runner import TrialRunner
from assay.undo.ledger import Ledger
from stage.rows import each
from stage.targets_host import HOST, MIB, needs_root, setting
from stage.trial_stage import bulk, engine, trial

TARGET = catalogue.find("targets", "file")


@pytest.fixture
def undo(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    yield ledger
    assert not [cleaned for cleaned in ledger.unwind() if cleaned.state == "left"]
    ledger.close()


@pytest.fixture
def base(tmp_path):
    (tmp_path / "base").mkdir()
    return tmp_path / "base"


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_it_is_made_marked_and_removed(undo, base):
    given = setting(undo, base, path=str(base / "F"))
    assert TARGET.check(HOST, given) == ()
    place = TARGET.prepare(HOST, given)
    assert names(base) == [".F.assay-marker", "F"]
    assert ownership.of_file(HOST, str(base / "F")) is Ownership.IN_USE
    with pytest.raises(UsageError, match="in use by another lab"):
        TARGET.prepare(HOST, given)
    endpoint = TARGET.attach(HOST, given, place, 1)
    assert (endpoint.kind, endpoint.address) == (EndpointKind.FILE, str(base / "F"))
    (base / "F").write_bytes(os.urandom(MIB))
    TARGET.drop_caches(HOST, place)
    assert HOST.syscalls.cachestat(str(base / "F")).cached == 0
    TARGET.teardown(HOST, given, place)
    assert names(base) == []


def test_what_is_kept_stays_and_is_used_again(undo, base):
    given = setting(undo, base, path=str(base / "F"), keep=True)
    TARGET.teardown(HOST, given, TARGET.prepare(HOST, given))
    assert names(base) == [".F.assay-marker", "F"]
    assert undo.unwind() == (), "nothing of it is left to undo"
    again = setting(undo, base, path=str(base / "F"), keep=False)
    inode = (base / "F").stat().st_ino
    TARGET.teardown(HOST, again, TARGET.prepare(HOST, again))
    assert (base / "F").stat().st_ino == inode


def test_a_file_of_others_is_refused_and_left_as_it_is_also_where_it_comes_in_the_last_moment(undo, base):
    """`make` does not look first: the link fails where something is."""
    (base / "F").write_text("precious")
    given = setting(undo, base, path=str(base / "F"))
    with pytest.raises(UsageError, match="Assay did not create it"):
        TARGET.prepare(HOST, given)
    with pytest.raises(RefusedError, match="cannot create"):
        ownership.make_file(HOST, undo, str(base / "F"))
    assert (names(base), (base / "F").read_text()) == (["F"], "precious")


def test_another_file_in_place_of_ours_is_not_ours(undo, base):
    """Also where it has the same inode: the time of birth tells."""
    given = setting(undo, base, path=str(base / "F"), keep=True)
    TARGET.teardown(HOST, given, TARGET.prepare(HOST, given))
    (base / "F").unlink()
    (base / "F").write_text("precious")
    assert ownership.of_file(HOST, str(base / "F")) is Ownership.OTHERS
    with pytest.raises(UsageError, match="never writes"):
        TARGET.prepare(HOST, given)
    marker = json.loads((base / ".F.assay-marker").read_text())
    (base / ".F.assay-marker").write_text(json.dumps(marker | {"inode": str((base / "F").stat().st_ino)}))
    assert ownership.of_file(HOST, str(base / "F")) is Ownership.OTHERS
    assert (base / "F").read_text() == "precious"


@each("step", "nothing", "made", "linked", "marked")
def test_after_a_kill_at_any_step_the_ledger_removes_all_that_is_ours(undo, base, step):
    """The steps of `ownership.make_file`, ended after each."""
    path, token = base / "F", "0123456789ab"
    made = base / f".assay-{token}"
    undo.add("own_file", path=str(path), marker=token)
    if step != "nothing":
        made.write_text("")
    if step in ("linked", "marked"):
        os.link(made, path)
    if step == "marked":
        marker = {"token": token, "kept": False} | dict(zip(("inode", "birth"), identity(path), strict=True))
        (base / ".F.assay-marker").write_text(json.dumps(marker))
    undo.unwind()
    assert names(base) == []


def identity(path):
    done = subprocess.run(["stat", "-c", "%i %.9W", str(path)], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.fixture
def birthless(tmp_path):
    """A file system that has no room for a time of birth and gives the inode of a removed file to the next one."""
    image, point = tmp_path / "image", tmp_path / "birthless"
    point.mkdir()
    subprocess.run(["truncate", "-s", "8M", str(image)], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-I", "128", str(image)], check=True, capture_output=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(point)], check=True)
    yield point
    subprocess.run(["umount", str(point)], check=True)


@needs_root
def test_without_a_time_of_birth_nothing_that_took_our_place_is_removed_after_a_kill(undo, birthless):
    """Neither by name nor by inode: the user removed what a killed lab had left, and put something else there."""
    path = birthless / "F"
    ownership.make_file(HOST, undo, str(path))
    _, birth = identity(path)
    assert birth in ownership.UNKNOWN_BIRTH
    path.unlink()
    path.write_text("important")
    assert ownership.of_file(HOST, str(path)) is Ownership.OTHERS
    undo.undo("own_file", path=str(path))
    assert path.read_text() == "important"
    assert names(birthless) == ["F", "lost+found"]


@needs_root
@each("keep", False, True)
def test_without_a_time_of_birth_it_is_made_and_removed_or_kept(undo, birthless, keep):
    given = setting(undo, birthless, path=str(birthless / "F"), keep=keep)
    place = TARGET.prepare(HOST, given)
    (birthless / "F").write_bytes(b"x" * 4096)
    TARGET.teardown(HOST, given, place)
    assert names(birthless) == ([".F.assay-marker", "F", "lost+found"] if keep else ["lost+found"])


def test_no_directory_and_no_space_are_refused_and_what_replaced_ours_stays(undo, base):
    assert "is not a directory" in TARGET.check(HOST, setting(undo, base, path=str(base / "none" / "F")))[0]
    assert "plus 10 %" in TARGET.check(HOST, setting(undo, base, path=str(base / "F"), needs_bytes=1 << 60))[0]
    given = setting(undo, base, path=str(base / "F"))
    place = TARGET.prepare(HOST, given)
    (base / "new").write_text("precious")
    (base / "new").rename(base / "F")
    TARGET.teardown(HOST, given, place)
    assert (names(base), (base / "F").read_text()) == (["F"], "precious")


@pytest.mark.root
@needs_root
def test_on_tmpfs_it_lives_and_cold_is_refused(undo, base):
    HOST.run(["mount", "-t", "tmpfs", "none", str(base)])
    try:
        given = setting(undo, base, path=str(base / "F"))
        place = TARGET.prepare(HOST, given)
        with pytest.raises(RefusedError, match="tmpfs"):
            TARGET.drop_caches(HOST, place)
        TARGET.teardown(HOST, given, place)
        assert names(base) == []
    finally:
        HOST.run(["umount", str(base)])


def test_all_workers_of_all_clients_share_the_one_file(base, tmp_path):
    target = TargetSpec(name="f", kind="file", knobs={"path": str(base / "F"), "keep": True})
    load = bulk(operations=("write", "read"), size=8 * MIB, workers=2)
    asked = Experiment(title="t", question="q", targets=(target,), workloads=(load,), factors=(), measures=())
    ledger = Ledger(tmp_path / "ledger")
    lab = TrialRunner(experiment=asked, host=HOST, ledger=ledger, scratch="", engine=engine(), observers=())
    run, _ = lab.run(trial(clients=2), 1)
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)
    assert {path for phase in run.phases for path in phase.data_files} == {str(base / "F")}
    assert (base / "F").stat().st_size == 8 * MIB
    assert [sum(one.bytes for client in phase.clients for one in client.operations) for phase in run.phases] == [8 * MIB] * 2
    assert ledger.unwind() == ()
    assert Path(ownership.marker_path(str(base / "F"))).exists()
