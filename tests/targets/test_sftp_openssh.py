"""The plug `sftp_openssh`: a real sshd in a namespace, real mounts that are proved, and nothing of either afterwards."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError, UsageError
from assay.machine import external_commands, mounted
from assay.records import Outcome, TargetSpec
from assay.undo.ledger import Ledger
from served_stage import NOTHING, WAN, ServedBench, fact, needs, needs_fuse, needs_root, sshd, trial_from_storage
from targets_host import HOST, MIB, setting
from trial_stage import bulk

TARGET = catalogue.find("targets", "sftp_openssh")
pytestmark = [pytest.mark.root, needs_root, needs_fuse, needs("sshfs", "ssh", "ssh-keygen", "ip", "nsenter")]


def given(undo, tmp_path, **knobs):
    return setting(undo, tmp_path, **catalogue.resolved(TARGET.knobs, {**sshd(), **knobs}))


def spec(**knobs):
    return TargetSpec(name="files", kind="sftp_openssh", knobs={**sshd(), **knobs})


@pytest.fixture
def bench(tmp_path):
    return ServedBench(tmp_path)


def test_it_is_up_within_three_seconds_and_nothing_is_left(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    wanted = given(ledger, scratch)
    began = time.monotonic()
    place = TARGET.prepare(HOST, wanted)
    end = TARGET.attach(HOST, wanted, place, 0)
    took = time.monotonic() - began
    try:
        Path(end.address, "a").write_text("through the mount")
        assert Path(place.address, "a").read_text() == "through the mount"
        told = dict(TARGET.facts(HOST, place))
        assert told["clients.filesystem"] == "fuse.sshfs"
        assert told["clients.fsync"] == mounted.REACHED
        assert (told["server.route"], told["server.route_kind"]) == ("load0", "virtual"), "the clients' route, not the lab's"
        assert told["setting.cipher"] == "aes128-gcm@openssh.com"
    finally:
        TARGET.detach(HOST, wanted, end)
        TARGET.teardown(HOST, wanted, place)
    assert took < 120, "3 s on a machine that does nothing else"
    assert [one for one in ledger.unwind() if one.state == "left"] == []
    assert list(scratch.iterdir()) == []


def test_a_trial_reads_cold_from_the_servers_storage(bench):
    trial_from_storage(bench, spec(), size=16 * MIB)


def test_both_ends_are_drained_and_each_ends_time_is_kept(bench):
    run, _ = bench.conduct(spec(), workloads=(bulk(flush="none", operations=("write",)),))
    assert run.outcome is Outcome.FINISHED, run.error
    (host,) = run.phases[0].hosts
    assert host.clients_drain_ns is not None
    assert host.server_drain_ns is not None
    assert host.drain_ns >= max(host.clients_drain_ns, host.server_drain_ns)
    assert bench.left() == NOTHING


def test_behind_a_path_on_another_target(bench):
    disk = TargetSpec(name="disk", kind="loopfs", knobs={"filesystem": "ext4", "size": 64 * MIB})
    files = spec(on="disk", through="wan")
    run, seen = bench.conduct(disk, files, workloads=(bulk(size=2 * MIB),), paths=(WAN,))
    assert run.outcome is Outcome.FINISHED, run.error
    assert run.places[0].target == "files"
    assert run.places[0].devices[0].startswith("loop"), "the server's data are on the disk"
    assert fact(seen, "target.line") == "wan"
    assert fact(seen, "target.on.disk.mount.options")
    write = run.phases[0]
    assert (write.end_ns - write.start_ns) > 2 * MIB / 12_500_000 * 1e9 * 0.9, "as slow as the path"
    assert bench.left() == NOTHING


def test_a_mount_that_is_none_has_no_figure(bench, monkeypatch):
    def local(host, undo, plan, directory, namespace):
        """A program that stays and mounts nothing."""
        return begin(host, undo, replace(plan, argv=("sleep", "600")), directory, namespace)

    begin = mounted._start
    monkeypatch.setattr(mounted, "_start", local)
    monkeypatch.setattr(mounted, "PATIENCE_S", 0.5)
    run, _ = bench.conduct(spec())
    assert run.outcome is Outcome.FAILED
    assert "sshfs does not answer" in run.error
    assert run.phases == ()
    assert bench.left() == NOTHING


def test_a_mount_that_does_not_lead_to_the_servers_data_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(mounted, "PATIENCE_S", 0.5)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    ledger = Ledger(tmp_path / "ledger")
    wanted = given(ledger, scratch)
    place = TARGET.prepare(HOST, wanted)
    elsewhere = scratch / "elsewhere"
    elsewhere.mkdir()
    try:
        with pytest.raises(TrialError, match="does not have what was written through it"):
            _attach_elsewhere(wanted, place, str(elsewhere))
    finally:
        TARGET.teardown(HOST, wanted, place)
    assert [one for one in ledger.unwind() if one.state == "left"] == []


def _attach_elsewhere(wanted, place, elsewhere):
    """Attach a mount of the server's data, and look for what is written through it somewhere else."""
    from assay.machine.file_server import FileInstance
    from assay.machine.net_namespaces import NETWORK
    from assay.targets import sftp_openssh

    instance = FileInstance(
        directory=str(place.private["directory"]),
        data=place.address,
        address=place.server.nodes[0].address,
        load=str(place.private[f"{NETWORK}load"]),
        knobs=wanted.knobs,
    )
    directory = instance.path("client-0")
    Path(directory).mkdir()
    plan = sftp_openssh.mount(HOST, instance, f"{directory}/mount", "assay-test")
    mounted.begin(HOST, wanted.undo, plan, directory, instance.load, lambda point: mounted.prove(HOST, plan, point, elsewhere))


def test_a_mount_that_is_gone_fails_the_trial(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    ledger = Ledger(tmp_path / "ledger")
    wanted = given(ledger, scratch)
    place = TARGET.prepare(HOST, wanted)
    end = TARGET.attach(HOST, wanted, place, 0)
    try:
        HOST.run(["umount", "--", end.address])
        with pytest.raises(TrialError, match="nothing is mounted there any more"):
            TARGET.facts(HOST, place)
    finally:
        TARGET.detach(HOST, wanted, end)
        TARGET.teardown(HOST, wanted, place)
    assert list(scratch.iterdir()) == []


def test_all_that_is_wrong_is_said_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(HOST, "is_root", lambda: False)
    found = TARGET.check(HOST, given(None, tmp_path, **{"server.program": "/no/such/sshd"}))
    for part in ("needs root", "/no/such/sshd: not found"):
        assert any(part in one for one in found), (part, found)


def test_a_server_that_is_nowhere_is_named_with_its_package_and_the_knob(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.machine.external_commands.FOLDERS", ("/nowhere",))
    monkeypatch.setattr("assay.machine.external_commands._on_path", lambda host, tool: None)
    found = TARGET.check(HOST, setting(None, tmp_path, **catalogue.resolved(TARGET.knobs, {})))
    (told,) = [one for one in found if one.startswith("sshd:")]
    assert told == (
        "sshd: not found in /nowhere, nor on the PATH. Install openssh-server, or name an unpacked one with server.program."
    )


def test_a_server_on_the_path_of_the_user_is_taken(tmp_path, monkeypatch):
    """As commands do that are run by their name; before, only the usual folders were searched."""
    program = tmp_path / "bin" / "sshd"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("assay.machine.external_commands.FOLDERS", ("/nowhere",))
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert external_commands.location(HOST, "sshd") == str(program)
    wanted = setting(None, tmp_path, **catalogue.resolved(TARGET.knobs, {}))
    assert not [one for one in TARGET.check(HOST, wanted) if one.startswith("sshd:")]


def test_a_client_on_another_host_is_refused(tmp_path):
    from assay.hosts.local import Local
    from assay.records import EndpointKind, Place

    place = Place(target="t", host="local", kind=EndpointKind.DIRECTORY, address="/d")
    with pytest.raises(UsageError, match="the clients' namespace is there"):
        TARGET.attach(Local("c.1"), given(None, tmp_path), place, 0)
