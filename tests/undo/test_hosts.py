"""The ledger by host: what is done on a far machine is noted there first, undone there, and never on another machine."""

import json
import os
import subprocess
import sys
import threading

import pytest

from assay.errors import RefusedError, UsageError
from assay.hosts.local import Local
from assay.laboratory.session import clean_hosts
from assay.machine import ownership
from assay.undo.kinds import STATS
from assay.undo.ledger import Ledger
from assay.undo.owners import lasting_directory
from stage.rows import each
from undo.paper_host import PaperHost, killed_owner

HOST = Local()


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    yield ledger
    ledger.unwind()
    ledger.close()


@pytest.fixture
def far(tmp_path):
    """Give a far host with this identity; all keep their notes on one machine."""
    place = tmp_path / "far"
    place.mkdir()
    return lambda name="s", **more: PaperHost(name, place, **more)


def directory(tmp_path, name, marker="m"):
    """Details of a directory of ours that is there."""
    path = tmp_path / f".assay-{name}"
    path.mkdir()
    (path / ownership.MARKER).write_text(marker)
    return {"path": str(path), "marker": marker}


def dead(tmp_path, host, *acts):
    killed_owner(tmp_path / "ledger", *acts, host=host)


def states(cleaned):
    return [(one.entry.kind, one.state) for one in cleaned]


def test_this_machine_has_the_ledger_itself(ledger):
    assert ledger.on(HOST) is ledger
    assert ledger.on(Local()) is ledger


def test_a_far_host_notes_it_first_and_with_its_way_back(ledger, far, tmp_path):
    host = far()
    details = directory(tmp_path, "1")
    ledger.on(host).add("directory", **details)
    (note,) = host._notes("a.notes")
    assert "rmdir" in note["back"]
    (file,) = ledger.directory.glob("*.jsonl")
    kept = json.loads(file.read_text())
    assert kept == {
        "n": 1,
        "host": "s",
        "address": "root@filer",
        "serial": "filer-1",
        "boot": "boot-1",
        "kind": "directory",
        "details": details,
        "names": {},
        "note": "a.notes",
    }


def test_what_is_undone_is_struck_out_there_and_here(ledger, far, tmp_path):
    host = far()
    details = directory(tmp_path, "1")
    ledger.on(host).add("directory", **details)
    ledger.on(host).undo("directory", path=details["path"])
    assert not HOST.exists(details["path"])
    assert len(host.scripts) == 1
    assert host.noted() == []
    ledger.on(host).undo("directory", path=details["path"])
    assert len(host.scripts) == 1
    ledger.close()
    assert list(ledger.directory.iterdir()) == []


def test_equal_names_on_two_hosts_are_two_things(ledger, far, tmp_path):
    here, there = directory(tmp_path, "1"), far()
    ledger.on(there).add("directory", **here)
    ledger.undo("directory", path=here["path"])
    assert HOST.exists(here["path"])
    ledger.add("directory", **here)
    ledger.on(there).undo("directory", path=here["path"])
    assert there.noted() == []
    assert [one.entry.host for one in ledger.unwind()] == ["local"]


def test_what_a_lost_host_cannot_keep_is_not_begun(ledger, far):
    host = far()
    host.machine()
    host.lost = True
    with pytest.raises(OSError, match="host s is lost"):
        ledger.on(host).add("directory", path="/x", marker="m")
    assert ledger.unwind() == ()
    assert list(ledger.directory.glob("*.jsonl")) == []


def test_what_we_cannot_keep_is_no_note_there_either(ledger, far, monkeypatch):
    host = far()
    monkeypatch.setattr("assay.undo.owners.OwnerFile.write_down", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        ledger.on(host).add("directory", path="/x", marker="m")
    assert host.noted() == []


def test_details_of_a_wrong_form_and_unknown_kinds_are_refused_before_anything_is_kept(ledger, far):
    host = far()
    with pytest.raises(UsageError, match="absolute"):
        ledger.on(host).add("directory", path="x", marker="m")
    with pytest.raises(UsageError, match="mount"):
        ledger.on(host).add("balloon", path="/x")
    assert host.noted() == []
    assert list(ledger.directory.glob("*.jsonl")) == []


def test_all_is_unwound_on_its_host_the_latest_first(ledger, far, tmp_path):
    one, two = far("s"), far("c.1", owner="b")
    order = [(ledger, "local-1"), (ledger.on(one), "s-1"), (ledger.on(two), "c-1"), (ledger.on(one), "s-2"), (ledger, "local-2")]
    for undo, name in order:
        undo.add("directory", **directory(tmp_path, name))
    throttle = tmp_path / "throttle"
    throttle.write_text("8:0 5\n")
    ledger.on(one).add("throttle", file=str(throttle), device="8:0", value="5")
    outcome = ledger.unwind()
    assert [one.state for one in outcome] == ["undone"] * 6
    assert [one.entry.n for one in outcome] == [6, 5, 4, 3, 2, 1]
    assert (len(one.scripts), len(two.scripts)) == (3, 1)
    assert throttle.read_text() == "8:0 0\n"


def test_a_host_that_is_lost_meanwhile_leaves_its_entries_named(ledger, far, tmp_path):
    one, two = far("s"), far("c.1", owner="b")
    kept, gone = directory(tmp_path, "1"), directory(tmp_path, "2")
    ledger.on(one).add("directory", **kept)
    ledger.on(two).add("directory", **gone)
    one.lost = True
    assert [(cleaned.state, cleaned.reason) for cleaned in ledger.unwind()] == [
        ("undone", ""),
        ("left", "host s is lost: its connection ended"),
    ]
    ledger.close()
    (orphan,) = Ledger(ledger.directory).elsewhere(HOST)
    assert [(entry.host, entry.address, entry.details) for entry in orphan.entries] == [("s", "root@filer", kept)]
    assert Ledger(ledger.directory).orphans(HOST) == ()
    assert states(Ledger(ledger.directory).clean(far("s", owner="c"))) == [("directory", "undone"), ("directory", "gone")]
    assert not HOST.exists(kept["path"])
    assert list(ledger.directory.glob("*.jsonl")) == []


def test_a_host_that_was_connected_anew_undoes_what_was_done_before(ledger, far, tmp_path):
    details = directory(tmp_path, "1")
    ledger.on(far()).add("directory", **details)
    again = far(owner="b")
    ledger.on(again).undo("directory", path=details["path"])
    assert not HOST.exists(details["path"])


def test_no_host_waits_for_another_one(ledger, far, tmp_path):
    """The network of one may be cut, and then it answers only when its lease is over."""
    slow, quick = far("s"), far("c.1", owner="b")
    asked, let_go = threading.Event(), threading.Event()

    def note(*_):
        asked.set()
        assert let_go.wait(300)
        return ""

    slow.note = note
    thread = threading.Thread(target=lambda: ledger.on(slow).add("directory", path="/nowhere", marker="m"))
    thread.start()
    assert asked.wait(300)
    ledger.on(quick).add("directory", **directory(tmp_path, "1"))
    ledger.on(quick).undo("directory")
    ledger.add("directory", **directory(tmp_path, "2"))
    ledger.undo("directory")
    let_go.set()
    thread.join()
    assert states(ledger.unwind()) == [("directory", "gone")]


def test_what_the_far_end_undid_itself_is_found_gone(far, tmp_path):
    details = directory(tmp_path, "1")
    host = far()
    dead(tmp_path, host, ("directory", details))
    host.strike(1)
    HOST.run(["rm", "-r", details["path"]])
    assert states(Ledger(tmp_path / "ledger").clean(host)) == [("directory", "gone")]
    assert list((tmp_path / "ledger").glob("*.jsonl")) == []


def test_what_a_dead_far_end_left_is_undone_from_its_own_notes(far, tmp_path):
    """The controller is another one, or has lost its files."""
    details = directory(tmp_path, "1")
    dead(tmp_path, far(), ("directory", details))
    other = Ledger(tmp_path / "elsewhere")
    host = far(owner="b")
    assert states(other.clean(host)) == [("directory", "undone")]
    assert host.left() == ()
    assert other.clean(host) == ()


def test_entries_of_another_machine_of_that_name_are_left_and_named(far, tmp_path):
    details, command = directory(tmp_path, "1"), {"argv": json.dumps(["touch", str(tmp_path / "ran")])}
    dead(tmp_path, far(), ("directory", details), ("command", command))
    other = far(serial="filer-2", boot="boot-2", owner="b")
    cleaned = Ledger(tmp_path / "ledger").clean(other)
    assert {one.state for one in cleaned} == {"left"}
    assert {one.reason for one in cleaned} == {"it belongs to another machine of the name s (root@filer)"}
    assert HOST.exists(details["path"])
    assert not (tmp_path / "ran").exists()
    assert set(other.scripts) == {STATS}, "nothing was run there but a look at what is ending"
    assert len(Ledger(tmp_path / "ledger").elsewhere(HOST)) == 1


ORIGINAL = {"machine-id": "m", "product_uuid": "u", "ssh host key": "k"}


@each(
    "changed state why",
    ({}, "undone", ""),
    ({"ssh host key": "other"}, "left", "s (root@filer) has another ssh host key: it is another machine now, perhaps a clone"),
    ({"product_uuid": "other", "ssh host key": "other"}, "left", "another product_uuid and another ssh host key"),
    ({"product_uuid": None}, "undone", ""),
    ({"product_uuid": None, "ssh host key": None}, "left", "nothing but its machine-id proves"),
)
def test_a_clone_has_the_machine_id_and_runs_no_teardown(tmp_path, changed, state, why):
    """After another boot; None: a name that cannot be read there."""
    (place := tmp_path / "far").mkdir()
    acts = [("directory", directory(tmp_path, "1")), ("command", {"argv": json.dumps(["touch", str(tmp_path / "ran")])})]
    dead(tmp_path, PaperHost("s", place, names=ORIGINAL), *acts)
    for notes in place.glob("*.notes"):
        notes.unlink()
    now = {name: value for name, value in (ORIGINAL | changed).items() if value}
    command, _ = Ledger(tmp_path / "ledger").clean(PaperHost("s", place, boot="boot-2", owner="b", names=now))
    assert (command.entry.kind, command.state, (tmp_path / "ran").exists()) == ("command", state, state == "undone")
    assert why in command.reason


@each(
    "boot state",
    ("boot-1", "undone"),
    ("boot-2", "left"),
)
def test_a_note_of_a_cloned_disk_runs_no_teardown(tmp_path, boot, state):
    """The controller's files are lost, and the note has the machine-id alone: this machine, or a clone that has the note, too."""
    (place := tmp_path / "far").mkdir()
    dead(tmp_path, PaperHost("s", place), ("command", {"argv": json.dumps(["touch", str(tmp_path / "ran")])}))
    (command,) = Ledger(tmp_path / "elsewhere").clean(PaperHost("s", place, boot=boot, owner="b"))
    assert (command.state, (tmp_path / "ran").exists()) == (state, state == "undone")
    assert state == "undone" or "nothing but its machine-id proves that s (root@filer)" in command.reason


def test_after_a_reboot_of_the_far_machine_only_what_survives_one_is_undone(far, tmp_path):
    details, ran = directory(tmp_path, "1"), tmp_path / "ran"
    acts = [
        ("directory", details),
        ("mount", {"path": "/proc", "device": "proc"}),
        ("command", {"argv": json.dumps(["touch", str(ran)])}),
    ]
    dead(tmp_path, far(), *acts)
    (tmp_path / "far" / "a.notes").unlink()
    again = far(boot="boot-2", owner="b")
    assert states(Ledger(tmp_path / "ledger").clean(again)) == [("command", "undone"), ("mount", "gone"), ("directory", "undone")]
    assert ran.exists()


def test_a_machine_without_a_name_is_trusted_only_in_its_boot(far, tmp_path):
    acts = [("directory", directory(tmp_path, "1")), ("command", {"argv": json.dumps(["touch", str(tmp_path / "ran")])})]
    dead(tmp_path, far(serial=""), *acts)
    (tmp_path / "far" / "a.notes").unlink()
    later = Ledger(tmp_path / "ledger").clean(far(serial="", boot="boot-2", owner="b"))
    assert states(later) == [("command", "left"), ("directory", "undone")]
    assert "nothing proves that s (root@filer) is still the machine" in later[0].reason


def test_a_command_that_the_far_end_ran_is_not_run_again(far, tmp_path):
    ran = tmp_path / "ran"
    command = ("command", {"argv": json.dumps(["sh", "-c", 'echo x >> "$0"', str(ran)])})
    host = far()
    dead(tmp_path, host, command)
    host.strike(1)
    assert states(Ledger(tmp_path / "ledger").clean(far(owner="b"))) == [("command", "gone")]
    assert not ran.exists()
    dead(tmp_path, host, command)
    assert states(Ledger(tmp_path / "ledger").clean(far(owner="b"))) == [("command", "undone"), ("command", "gone")]
    assert ran.read_text() == "x\n"


def test_a_command_that_fails_there_is_left_in_both_places(far, tmp_path):
    dead(tmp_path, far(), ("command", {"argv": json.dumps(["sh", "-c", "echo stuck >&2; exit 1"])}))
    for _ in range(2):
        cleaned = Ledger(tmp_path / "ledger").clean(far(owner="b"))
        assert states(cleaned) == [("command", "left")] * 2
        assert all("stuck" in one.reason for one in cleaned)


def test_a_command_of_this_machine_is_run_on_the_machine_of_its_entry_alone(tmp_path):
    """Also where an older ledger does not say which machine that was."""
    directory, ran = Ledger(tmp_path / "l").directory, tmp_path / "ran"
    line = {"n": 1, "host": "local", "boot": "b", "kind": "command", "details": {"argv": json.dumps(["touch", str(ran)])}}
    for more, why in (({}, "nothing proves"), ({"serial": "another"}, "another machine")):
        (directory / "1-x.jsonl").write_text(json.dumps({**line, **more}) + "\n")
        (left,) = Ledger(directory).clean(HOST)
        assert (left.state, ran.exists()) == ("left", False)
        assert why in left.reason
    (directory / "1-x.jsonl").write_text(json.dumps({**line, "boot": HOST.machine().boot}) + "\n")
    assert states(Ledger(directory).clean(HOST)) == [("command", "undone")]
    assert ran.exists()


def test_undoing_refuses_a_machine_that_took_the_place_of_ours(ledger, far, tmp_path):
    details = directory(tmp_path, "1")
    ledger.on(far()).add("directory", **details)
    with pytest.raises(RefusedError, match="another machine"):
        ledger.on(far(serial="filer-2", owner="b")).undo("directory", path=details["path"])
    assert HOST.exists(details["path"])


def meeting(hosts, name):
    """Make the hosts wait for each other in a call of this name: alone none of them gets through."""
    barrier = threading.Barrier(len(hosts))

    def meets(own):
        def call(*words, **more):
            barrier.wait(300)
            return own(*words, **more)

        return call

    for host in hosts:
        setattr(host, name, meets(getattr(host, name)))


def test_hosts_are_cleaned_at_the_same_time(far, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.undo.ledger.default_directory", lambda: tmp_path / "ledger")
    monkeypatch.setattr("assay.undo.ledger.lasting_directory", lambda: tmp_path / "ledger")
    hosts = []
    for name in ("c.1", "c.2"):
        place = tmp_path / name
        place.mkdir()
        dead(tmp_path, PaperHost(name, place), ("directory", directory(tmp_path, name)))
        hosts.append(PaperHost(name, place, owner="b"))
    meeting(hosts, "left")
    cleaned = clean_hosts({host.name: host for host in hosts})
    assert {(one.entry.host, one.state) for one in cleaned} >= {("c.1", "undone"), ("c.2", "undone")}
    assert list((tmp_path / "ledger").glob("*.jsonl")) == []


def test_all_is_unwound_on_several_hosts_at_the_same_time_and_on_the_servers_last(ledger, far, tmp_path):
    server, *clients = far("s"), far("c.1", owner="b"), far("c.2", owner="c")
    for host in (*clients, server):
        ledger.on(host).add("directory", **directory(tmp_path, host.name))
    ended = []
    meeting(clients, "run")
    for host in (server, *clients):
        host.strike = lambda *_, name=host.name: ended.append(name)
    assert {one.state for one in ledger.unwind(last=("s",))} == {"undone"}
    assert ended[-1] == "s"


def test_a_reason_is_given_once_and_what_is_left_can_be_forgotten(far, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("assay.undo.ledger.default_directory", lambda: tmp_path / "ledger")
    monkeypatch.setattr("assay.undo.ledger.lasting_directory", lambda: tmp_path / "ledger")
    dead(tmp_path, far(), *(("directory", directory(tmp_path, name)) for name in "12"))
    other = far(serial="filer-2", boot="boot-2", owner="b")
    clean_hosts({"s": other})
    (text,) = capsys.readouterr().err.splitlines()
    assert text.count("it belongs to another machine of the name s (root@filer)") == 1
    assert text.count("directory /") == 2, "it is in its own notes and in ours"
    assert text.endswith(". To forget it: assay hosts FILE clean --forget s")
    forgotten = Ledger(tmp_path / "ledger").forget("s", other)
    assert [entry.host for entry in forgotten] == ["s"] * 4
    assert clean_hosts({"s": other}) == ()
    assert other.left() == ()
    assert HOST.exists(str(tmp_path / ".assay-1")), "nothing of it was undone"


def test_a_host_that_is_gone_is_forgotten_here_alone(far, tmp_path):
    dead(tmp_path, far(), ("directory", directory(tmp_path, "1")))
    dead(tmp_path, far("c.1", owner="c"), ("directory", directory(tmp_path, "2")))
    ledger = Ledger(tmp_path / "ledger")
    assert [entry.host for entry in ledger.forget("s")] == ["s"]
    assert ledger.forget("s") == ()
    (left,) = ledger.elsewhere(HOST)
    assert [entry.host for entry in left.entries] == ["c.1"]


def test_hosts_are_cleaned_and_a_lost_one_is_told(far, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("assay.undo.ledger.default_directory", lambda: tmp_path / "ledger")
    monkeypatch.setattr("assay.undo.ledger.lasting_directory", lambda: tmp_path / "ledger")
    dead(tmp_path, far(), ("directory", directory(tmp_path, "1")))
    lost, there = far("c.1", owner="c"), far(owner="b")
    lost.lost = True
    assert states(clean_hosts({"c.1": lost, "s": there})) == [("directory", "undone"), ("directory", "gone")]
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "assay: no cleanup after killed runs on host c.1: host c.1 is lost: its connection ended"
    assert told[1].startswith("assay: undone on host s after a killed run: directory /")
    assert len(told) == 2


def test_what_was_done_elsewhere_outlives_our_reboot(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert lasting_directory() == tmp_path / "assay"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/x")
    assert str(lasting_directory()) == "/home/x/.local/state/assay"


def test_a_lab_on_this_machine_alone_makes_no_lasting_directory(monkeypatch, tmp_path):
    monkeypatch.setattr("assay.undo.ledger.default_directory", lambda: tmp_path / "run")
    monkeypatch.setattr("assay.undo.ledger.lasting_directory", lambda: tmp_path / "lib")
    ledger = Ledger()
    ledger.add("directory", path="/nowhere", marker="m")
    assert states(ledger.unwind()) == [("directory", "gone")]
    ledger.close()
    assert (ledger.orphans(HOST), ledger.elsewhere(HOST), ledger.clean(HOST)) == ((), (), ())
    assert not (tmp_path / "lib").exists()


def test_the_doctor_names_what_is_left_on_hosts_that_only_a_file_can_reach(far, tmp_path):
    dead(tmp_path, far(), ("mount", {"path": "/mnt/x", "device": "/dev/loop0"}))
    code = (
        "import sys; from pathlib import Path; from assay.undo import ledger; from assay.cli.doctor import doctor\n"
        "ledger.default_directory = ledger.lasting_directory = lambda: Path(sys.argv[1])\n"
        "sys.exit(doctor(json_to=None, fix=True))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "ledger")], capture_output=True, text=True, check=True)
    *_, first, host, entry = done.stdout.splitlines()
    assert "assay hosts FILE clean" in first
    assert (host.strip(), entry.strip()) == ("s (root@filer)", "mount of /dev/loop0 at /mnt/x")
