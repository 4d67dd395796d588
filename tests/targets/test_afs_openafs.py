"""The plug `afs_openafs`: a cell of its own and the kernel's client; where the kernel has none (most tests), what it says."""

import subprocess

import pytest

from assay import catalogue
from assay.machine import afs_clients, mounted
from assay.machine.file_server import FileInstance
from assay.records import Direction, Outcome, Rung, TargetSpec, WorkloadSpec
from assay.targets import afs_openafs
from stage.rows import each
from stage.served_stage import NOTHING, OBSERVERS, fact, needs, needs_root
from stage.targets_host import HOST, MIB, given
from stage.trial_stage import HURRY, bulk

TARGET = catalogue.find("targets", "afs_openafs")
needs_kafs = pytest.mark.skipif(
    not mounted.in_kernel(HOST, "afs"), reason="no AFS client in this kernel: the guest of make long has it"
)
in_guest = [pytest.mark.root, needs_root, needs_kafs, needs("bosserver", "vos", "keyctl", "openssl")]
WATCHED = (*OBSERVERS, "client_mounts")
DIRECTORY = 2048
"""Bytes of a directory of AFS that has few entries: the kernel reads it whole, and counts it with the files."""


def instance(**knobs):
    whole = catalogue.resolved(TARGET.knobs, knobs)
    return FileInstance(directory="/d", data="/d/data", address="198.18.0.2", load="/proc/1/ns/net", knobs=whole)


def counted(seen, phase, metric):
    return [one.value[-1] for one in seen.over_time(phase.name, "mount", metric) if one.subject != "afs:self"]


def test_a_kernel_without_the_client_is_named_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: filesystem != "afs")
    (found,) = TARGET.lacks(HOST, instance().knobs)[-1:]
    assert "modprobe kafs" in found
    assert "the guest of `make long` has it" in found
    assert found in TARGET.check(HOST, given(TARGET, None, tmp_path))


def test_the_client_of_openafs_is_another_one(monkeypatch, tmp_path):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: True)
    monkeypatch.setattr(afs_clients, "OWN", str(tmp_path))
    assert "is that of OpenAFS" in afs_clients.lacks(HOST, {})[0]
    (tmp_path / "cells").write_text("")
    assert afs_clients.lacks(HOST, {}) == ()
    assert "expected one of local" in afs_clients.lacks(HOST, {"mount_options": "flock=none"})[0]


def test_the_cell_is_started_as_the_knobs_say():
    made = afs_openafs.script(instance(sync="always", threads=32), {"etc": "/etc/openafs"})
    assert "/usr/lib/openafs/fileserver -p 32 -sync always &" in made
    assert "vos create 198.18.0.2 a assay" in made
    assert subprocess.run(["sh", "-n"], input=made, text=True, check=False).returncode == 0


@each("through taken", ("lan", True), (None, False))
def test_clients_behind_a_path_are_one_client(through, taken):
    assert (TARGET.one_client({"through": through}) is not None) is taken


@pytest.mark.parametrize("encryption", ["clear", "fcrypt"])
class TestInGuest:
    pytestmark = in_guest

    def test_a_trial_reads_cold_and_nothing_is_left(self, bench, encryption):
        size = 2 * MIB
        spec = TargetSpec(name="files", kind="afs_openafs", knobs={"encryption": encryption})
        run, seen = bench.conduct(spec, workloads=(bulk(clients=2, size=size),), observers=WATCHED)
        assert run.outcome is Outcome.FINISHED, run.error
        write, read = run.phases
        assert counted(seen, write, "to_server_bytes") == [size, size], "by each client's own count"
        for one in counted(seen, read, "from_server_bytes"):
            assert size <= one <= size + 2 * DIRECTORY, "the file, and at most the directory"
        assert moved(seen, read, Rung.SERVER_CACHE, Direction.READ) >= 0.95 * 2 * size, "the server's storage delivered it"
        assert fact(seen, "target.clients.encryption") == encryption
        assert fact(seen, "target.clients.fsync") in (mounted.IN_MEMORY, f"at least {mounted.IN_MEMORY}")
        assert fact(seen, "target.setting.sync") == "onclose"
        assert fact(seen, "target.setting.software").startswith("OpenAFS 1")
        assert bench.left() == NOTHING

    def test_whole_files_are_at_the_server_when_their_programs_end(self, bench, encryption):
        spec = TargetSpec(name="files", kind="afs_openafs", knobs={"encryption": encryption})
        load = WorkloadSpec(name="w", kind="transfer", knobs={"files": 3, "file_size": MIB, **HURRY})
        run, seen = bench.conduct(spec, workloads=(load,), observers=WATCHED)
        assert run.outcome is Outcome.FINISHED, run.error
        put = next(one for one in run.phases if one.name == "w.put")
        assert counted(seen, put, "to_server_bytes") == [3 * MIB]
        assert bench.left() == NOTHING


def moved(seen, phase, rung, direction):
    return sum(
        one.bytes or 0
        for one in seen.rung(phase.name, rung, direction)
        if not one.source.startswith("server_process:/proc/PID/io") or rung is Rung.SERVER_CACHE
    )
