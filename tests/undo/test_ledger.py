import json
import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import RefusedError, TrialError, UsageError
from assay.hosts.local import Local
from assay.machine import ownership
from assay.undo.kinds import process_state
from assay.undo.ledger import Ledger, LedgerEntry, default_directory, in_order
from assay.undo.owners import locked_orphans
from undo.paper_host import killed_owner

HOST = Local()


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    yield ledger
    ledger.unwind()
    ledger.close()


def test_what_was_undone_is_struck_out_and_the_file_goes(ledger, tmp_path):
    path = str(tmp_path / ".assay-1")
    ownership.make_directory(HOST, ledger, path, "1")
    assert HOST.exists(path)
    ledger.undo("directory", path=path)
    assert not HOST.exists(path)
    ledger.undo("directory", path=path)
    ledger.close()
    assert list(ledger.directory.iterdir()) == []


def test_an_entry_is_on_disk_before_the_act_and_unknown_kinds_are_refused(ledger, tmp_path):
    with pytest.raises(UsageError, match="mount"):
        ledger.add("balloon", path="/x")
    ledger.add("directory", path=str(tmp_path / "x"), marker="m")
    (file,) = ledger.directory.glob("*.jsonl")
    assert json.loads(file.read_text())["details"]["marker"] == "m"


def test_a_living_owner_is_no_orphan(ledger, tmp_path):
    path = str(tmp_path / ".assay-2")
    ownership.make_directory(HOST, ledger, path, "2")
    other = Ledger(ledger.directory)
    assert other.orphans(HOST) == ()
    assert other.clean(HOST) == ()
    assert HOST.exists(path)


def test_clean_removes_what_a_killed_owner_left_and_nothing_else(tmp_path):
    ours, stranger = tmp_path / ".assay-ours", tmp_path / ".assay-stranger"
    for path, marker in ((ours, "ours"), (stranger, "of somebody else")):
        path.mkdir()
        (path / ownership.MARKER).write_text(marker)
        (path / "data").write_text("x")
    acts = [("directory", {"path": str(path), "marker": "ours"}) for path in (ours, stranger)]
    killed_owner(tmp_path / "ledger", *acts)
    ledger = Ledger(tmp_path / "ledger")
    assert [len(found.entries) for found in ledger.orphans(HOST)] == [2]
    assert [cleaned.state for cleaned in ledger.clean(HOST)] == ["gone", "undone"]
    assert not ours.exists()
    assert (stranger / "data").exists()
    assert ledger.orphans(HOST) == ()
    assert ledger.clean(HOST) == ()


def test_a_directory_whose_maker_was_killed_before_the_marker_is_removed(tmp_path):
    for name, content in ((".assay-a", None), (".assay-b", "")):
        (tmp_path / name).mkdir()
        if content is not None:
            (tmp_path / name / ownership.MARKER).write_text(content)
    killed_owner(
        tmp_path / "l", *[("directory", {"path": str(tmp_path / name), "marker": "m"}) for name in (".assay-a", ".assay-b")]
    )
    assert [cleaned.state for cleaned in Ledger(tmp_path / "l").clean(HOST)] == ["undone", "undone"]


def test_a_torn_last_line_is_left_out_and_what_follows_stays_readable(tmp_path):
    ours = tmp_path / ".assay-x"
    killed_owner(tmp_path / "l", ("directory", {"path": str(ours), "marker": "x"}))
    (file,) = (tmp_path / "l").glob("*.jsonl")
    with file.open("a") as torn:
        torn.write('{"n":2,"host":"local","kind":"mou')
    # Something that cannot be undone now keeps the file, so that the strike after the torn line is read again.
    ledger = Ledger(tmp_path / "l")
    assert [cleaned.state for cleaned in ledger.clean(HOST)] == ["gone"]
    assert not file.exists()


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(min_value=0, max_value=400))
def test_a_file_cut_anywhere_never_stops_the_cleaning(tmp_path_factory, cut):
    base = tmp_path_factory.mktemp("cut")
    lines = [
        {"n": n, "host": "local", "boot": "b", "kind": "directory", "details": {"path": f"/nowhere/{n}", "marker": "m"}}
        for n in (1, 2, 3)
    ]
    directory = Ledger(base / "l").directory
    (directory / "1-x.jsonl").write_bytes("".join(json.dumps(line) + "\n" for line in lines).encode()[:cut])
    ledger = Ledger(directory)
    assert all(cleaned.state == "gone" for cleaned in ledger.clean(HOST))
    assert list(directory.iterdir()) == []


def test_entries_of_another_host_wait_for_it(tmp_path):
    killed_owner(tmp_path / "l", ("directory", {"path": "/nowhere", "marker": "m"}))
    ledger = Ledger(tmp_path / "l")
    assert ledger.clean(Local("filer")) == ()
    assert len(ledger.orphans(HOST)) == 1


def test_a_process_is_killed_only_while_it_is_the_same(tmp_path):
    sleeper = subprocess.Popen(["sleep", "600"], process_group=0)
    ticks, _, _ = process_state(HOST, str(sleeper.pid))
    killed_owner(tmp_path / "l", ("process", {"pid": str(sleeper.pid), "start_ticks": str(int(ticks) + 1)}))
    assert [cleaned.state for cleaned in Ledger(tmp_path / "l").clean(HOST)] == ["gone"]
    assert sleeper.poll() is None
    killed_owner(tmp_path / "l", ("process", {"pid": str(sleeper.pid), "start_ticks": ticks}))
    assert [cleaned.state for cleaned in Ledger(tmp_path / "l").clean(HOST)] == ["undone"]
    assert sleeper.wait(300) == -9


def test_nothing_of_a_former_boot_is_touched(tmp_path):
    sleeper = subprocess.Popen(["sleep", "600"], process_group=0)
    ticks, _, _ = process_state(HOST, str(sleeper.pid))
    directory = Ledger(tmp_path / "l").directory
    details = {"pid": str(sleeper.pid), "start_ticks": ticks}
    line = {"n": 1, "host": "local", "boot": "another", "kind": "process", "details": details}
    (directory / "1-x.jsonl").write_text(json.dumps(line) + "\n")
    assert [cleaned.state for cleaned in Ledger(directory).clean(HOST)] == ["gone"]
    assert sleeper.poll() is None
    sleeper.kill()
    sleeper.wait()


def test_what_cannot_be_undone_stays_with_the_reason(tmp_path):
    killed_owner(tmp_path / "l", ("command", {"argv": json.dumps(["sh", "-c", "echo stuck >&2; exit 1"])}))
    ledger = Ledger(tmp_path / "l")
    (left,) = ledger.clean(HOST)
    assert left.state == "left"
    assert "stuck" in left.reason
    assert len(ledger.orphans(HOST)) == 1


def fill(ledger, noted, folder):
    """Write down directories until there is no room."""
    while True:
        path = str(folder / f".assay-{len(noted)}")
        ledger.add("directory", path=path, marker="m")
        noted.append(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a file system that is soon full")
def test_what_cannot_be_written_down_as_a_whole_is_refused_and_the_rest_stays_readable(tmp_path):
    """One page of room: the line that crosses its end is cut there by the kernel, without an error."""
    place = tmp_path / "l"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,mode=0700", "tmpfs", str(place)], check=True)
    ledger, noted = Ledger(place), []
    try:
        with pytest.raises(OSError, match="No space left"):
            fill(ledger, noted, tmp_path)
        (file,) = list(place.glob("*.jsonl"))
        lines = file.read_text().splitlines()
        assert [json.loads(line)["details"]["path"] for line in lines] == noted
        ledger.undo("directory", path=noted[0])
        assert [cleaned.state for cleaned in ledger.unwind()] == ["gone"] * (len(noted) - 1)
        ledger.close()
        assert list(place.iterdir()) == []
    finally:
        ledger.close()
        subprocess.run(["umount", str(place)], check=True)


def test_the_marker_outlives_all_else_in_a_directory_of_any_name(subtests, tmp_path_factory):
    """A removal that is stopped where only the marker is left can be taken up again, for the directory is still ours."""
    for name in ["plain", "[brackets]", "a*b?", "back\\slash"]:
        with subtests.test(name=name):
            tmp_path = tmp_path_factory.mktemp("case")

            class Stopped(Local):
                def run(self, argv, **more):
                    if argv[0] == "rm":
                        raise TrialError("stopped")
                    return super().run(argv, **more)

            path = tmp_path / name / ".assay-1"
            (path / "sub").mkdir(parents=True)
            for file in (path / ownership.MARKER, path / "sub" / ownership.MARKER, path / "data"):
                file.write_text("m")
            with pytest.raises(TrialError, match="stopped"):
                ownership.remove_directory(Stopped(), str(path), "m")
            assert [found.name for found in path.iterdir()] == [ownership.MARKER]
            assert ownership.remove_directory(HOST, str(path), "m")


def test_a_file_is_removed_only_from_a_marked_directory(tmp_path):
    (tmp_path / ownership.MARKER).write_text("m")
    (tmp_path / "image").write_text("x")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "image").write_text("x")
    acts = [("file", {"path": str(tmp_path / name), "marker": "m"}) for name in ("image", "sub/image")]
    killed_owner(tmp_path / "l", *acts)
    assert [cleaned.state for cleaned in Ledger(tmp_path / "l").clean(HOST)] == ["gone", "undone"]


def test_throttle_rules_come_first_then_the_latest():
    kinds = ["directory", "loop", "throttle", "mount", "throttle"]
    entries = [LedgerEntry(n=n, host="local", boot="", kind=kind, details={}) for n, kind in enumerate(kinds)]
    assert [entry.n for entry in in_order(entries)] == [4, 2, 3, 1, 0]


def test_a_directory_that_others_may_write_is_refused(tmp_path):
    loose = tmp_path / "loose"
    loose.mkdir(mode=0o777)
    loose.chmod(0o777)
    with pytest.raises(RefusedError, match="mode 777"):
        Ledger(loose)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(RefusedError):
        Ledger(tmp_path / "link")


def test_default_directory_is_private_to_the_user(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert default_directory() == tmp_path / "assay"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert default_directory().name == f"assay-{os.getuid()}"


def test_a_file_whose_owner_ends_while_it_is_found_is_no_orphan(tmp_path):
    """A link to nothing is what a file is that is gone between its listing and its opening."""
    tmp_path.chmod(0o700)
    (tmp_path / "1-gone.jsonl").symlink_to(tmp_path / "gone")
    (tmp_path / "2-there.jsonl").write_text("")
    with locked_orphans([tmp_path]) as found:
        assert [path.name for path, _ in found] == ["2-there.jsonl"]
