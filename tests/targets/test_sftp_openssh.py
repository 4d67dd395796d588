"""The plug `sftp_openssh`: a real sshd in a namespace, real mounts that are proved, and nothing of either afterwards."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError, UsageError
from assay.machine import external_commands, mounted
from assay.machine.file_server import FileInstance
from assay.machine.net_namespaces import NETWORK
from assay.records import EndpointKind, Outcome, TargetSpec
from assay.targets import sftp_openssh
from stage.served_stage import NOTHING, WAN, fact, needs, needs_fuse, needs_root, sshd, trial_from_storage
from stage.targets_host import HOST, MIB, given, placing, refused_elsewhere
from stage.trial_stage import bulk

TARGET = catalogue.find("targets", "sftp_openssh")
pytestmark = [pytest.mark.root, needs_root, needs_fuse, needs("sshfs", "ssh", "ssh-keygen", "ip", "nsenter")]


def spec(**knobs):
    return TargetSpec(name="files", kind="sftp_openssh", knobs={**sshd(), **knobs})


@pytest.fixture
def placed(tmp_path):
    with placing(TARGET, tmp_path, **sshd()) as place:
        yield place


def test_its_mount_is_proved_and_one_that_leads_elsewhere_or_is_gone_is_refused(placed, monkeypatch):
    made = placed()
    end = made.attached()
    Path(end.address, "a").write_text("through the mount")
    assert Path(made.place.address, "a").read_text() == "through the mount"
    told = made.facts()
    assert told["clients.filesystem"] == "fuse.sshfs"
    assert told["clients.fsync"] == mounted.REACHED
    assert (told["server.route"], told["server.route_kind"]) == ("load0", "virtual"), "the clients' route, not the lab's"
    assert told["setting.cipher"] == "aes128-gcm@openssh.com"
    with monkeypatch.context() as soon, pytest.raises(TrialError, match="does not have what was written through it"):
        _attach_elsewhere(made, placed.scratch / "elsewhere", soon)
    HOST.run(["umount", "--", end.address])
    with pytest.raises(TrialError, match="nothing is mounted there any more"):
        made.facts()
    with pytest.raises(UsageError, match="the clients' namespace is there"):
        refused_elsewhere(TARGET, made.setting, EndpointKind.DIRECTORY)


def _attach_elsewhere(made, elsewhere, soon):
    """Attach a mount of the server's data, and look for what is written through it somewhere else."""
    elsewhere.mkdir()
    instance = FileInstance(
        directory=str(made.place.private["directory"]),
        data=made.place.address,
        address=made.place.server.nodes[0].address,
        load=str(made.place.private[f"{NETWORK}load"]),
        knobs=made.setting.knobs,
    )
    directory = instance.path("client-9")
    Path(directory).mkdir()
    plan = sftp_openssh.mount(HOST, instance, f"{directory}/mount", "assay-test")

    def prove(point):
        """Look once, after it is mounted and written to, however long that takes."""
        soon.setattr(mounted, "becomes", lambda true: true())
        return mounted.prove(HOST, plan, point, str(elsewhere))

    try:
        mounted.begin(HOST, made.setting.undo, plan, directory, instance.load, prove)
    finally:
        elsewhere.rmdir()


def test_a_trial_reads_cold_from_the_servers_storage(bench):
    trial_from_storage(bench, spec(), size=16 * MIB)


def test_behind_a_path_on_another_target(bench):
    disk = TargetSpec(name="disk", kind="loopfs", knobs={"filesystem": "ext4", "size": 64 * MIB})
    run, seen = bench.conduct(disk, spec(on="disk", through="wan"), workloads=(bulk(size=2 * MIB),), paths=(WAN,))
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
    assert (run.outcome, run.phases) == (Outcome.FAILED, ())
    assert "sshfs does not answer" in run.error
    assert bench.left() == NOTHING


def test_what_is_wrong_is_said_at_once_and_a_server_is_looked_for_on_the_path_of_the_user(tmp_path, monkeypatch):
    with monkeypatch.context() as user:
        user.setattr(HOST, "is_root", lambda: False)
        found = TARGET.check(HOST, given(TARGET, None, tmp_path, **{"server.program": "/no/such/sshd"}))
        assert [part for part in ("needs root", "/no/such/sshd: not found") if not any(part in one for one in found)] == []
    monkeypatch.setattr("assay.machine.external_commands.FOLDERS", ("/nowhere",))
    with monkeypatch.context() as nowhere:
        nowhere.setattr("assay.machine.external_commands._on_path", lambda host, tool: None)
        (told,) = [one for one in TARGET.check(HOST, given(TARGET, None, tmp_path)) if one.startswith("sshd:")]
        assert "Install openssh-server" in told
        assert "server.program" in told
    program = tmp_path / "bin" / "sshd"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert external_commands.location(HOST, "sshd") == str(program)
    assert not [one for one in TARGET.check(HOST, given(TARGET, None, tmp_path)) if one.startswith("sshd:")]
