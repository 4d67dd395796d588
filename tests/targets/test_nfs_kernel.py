"""The plug `nfs_kernel`: the kernel's own NFS server in a namespace; where the kernel has none (most tests), what it says."""

import pytest

from assay import catalogue
from assay.machine import mounted
from assay.machine.file_server import FileInstance
from assay.records import Direction, Outcome, Rung, State, TargetSpec
from assay.targets import nfs_kernel
from stage.rows import each
from stage.served_stage import NOTHING, OBSERVERS, fact, needs_root
from stage.targets_host import HOST, MIB, given
from stage.trial_stage import bulk
from test_served_claims import judged

TARGET = catalogue.find("targets", "nfs_kernel")
ETAB = "/mnt/exp\t*(rw,async,no_wdelay,hide,nocrossmnt,insecure,no_root_squash,fsid=0,anonuid=65534,sec=sys,rw,insecure)\n"
needs_nfsd = pytest.mark.skipif(
    not all(mounted.in_kernel(HOST, name) for name in ("nfsd", "nfs")),
    reason="no NFS server in this kernel: the guest of make long has it",
)


def moved(seen, phase, rung, direction):
    return sum(
        one.bytes
        for one in seen.rung(phase.name, rung, direction)
        if not one.source.startswith("server_process:/proc/PID/io") or rung is Rung.SERVER_CACHE
    )


def instance(**knobs):
    whole = catalogue.resolved(TARGET.knobs, {"client": "kernel", **knobs})
    return FileInstance(directory="/d", data="/d/data", address="198.18.0.2", load="/proc/1/ns/net", knobs=whole)


def test_a_kernel_without_the_server_is_named_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: filesystem != "nfsd")
    (found,) = TARGET.lacks(HOST, instance().knobs)[-1:]
    assert "modprobe nfsd" in found
    assert "the guest of `make long` has it" in found
    assert found in TARGET.check(HOST, given(TARGET, None, tmp_path, client="kernel"))


@each(
    "knobs words",
    ({}, "tcp,port=2049 198.18.0.2:/ "),
    ({"version": "4.1"}, "vers=4.1,nosharecache,tcp,port=2049 198.18.0.2:/ "),
    ({"version": "3"}, "vers=3,nosharecache,tcp,port=2049,nolock,mountport=20048 198.18.0.2:/d/data "),
    ({"mount_options": "nconnect=4"}, "nconnect=4 198.18.0.2:/ "),
)
def test_newer_versions_mount_the_root_of_the_server(knobs, words):
    plan = nfs_kernel.mount(HOST, instance(**knobs), "/d/client-0/mount", "w")
    assert words in f"{' '.join(plan.argv)} "


@each("knobs wanted", ({}, "sync,wdelay"), ({"export": "async"}, "async,wdelay"), ({"gather": False}, "sync,no_wdelay"))
def test_the_export_is_as_the_knobs_say(knobs, wanted):
    assert f"exportfs -i -o rw,{wanted}," in nfs_kernel.setup(instance(**knobs))


def test_only_the_version_in_use_is_offered_and_the_client_in_user_space_is_told(monkeypatch):
    assert "--no-nfs-version 3" in nfs_kernel.setup(instance())
    assert "--no-nfs-version 4" in nfs_kernel.setup(instance(version="3"))
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: True)
    assert nfs_kernel.OLD in TARGET.lacks(HOST, instance(client="fuse").knobs)
    assert nfs_kernel.OLD not in TARGET.lacks(HOST, instance(client="fuse", version="3").knobs)


def test_the_export_is_read_back_from_the_table_of_the_server():
    found = nfs_kernel.exported_options(ETAB)
    assert {"async", "no_wdelay", "fsid=0"} <= found
    assert nfs_kernel.exported_options("") == frozenset()


@pytest.mark.parametrize("version", ["3", "4.0", "4.1", "4.2"])
@pytest.mark.root
@needs_root
@needs_nfsd
def test_a_trial_reads_cold_and_nothing_is_left(bench, version):
    before, size = nfs_kernel.threads(HOST), 8 * MIB
    spec = TargetSpec(name="files", kind="nfs_kernel", knobs={"version": version})
    run, seen = bench.conduct(spec, workloads=(bulk(clients=2, size=size),), observers=(*OBSERVERS, "nfsd", "client_mounts"))
    assert run.outcome is Outcome.FINISHED, run.error
    write, read = run.phases
    assert moved(seen, read, Rung.SERVER_CACHE, Direction.READ) >= 0.95 * 2 * size, "the server's storage delivered it"
    assert moved(seen, write, Rung.SERVER_PROCESS, Direction.WRITE) == 2 * size, "by the server's own count"
    assert moved(seen, read, Rung.SERVER_PROCESS, Direction.READ) == 2 * size
    for phase, metric in ((write, "to_server_bytes"), (read, "from_server_bytes")):
        each_one = [*seen.over_time(phase.name, "mount", metric)]
        assert [one.value[-1] for one in each_one] == [size, size], "by each client's mount"
    known = (mounted.REACHED, f"at least {mounted.IN_MEMORY}")  # before Linux 6.5 nobody tells dirty pages
    assert fact(seen, "target.clients.fsync") in known, "a COMMIT was sent"
    assert f"vers={version}" in fact(seen, "target.clients.mount")
    assert fact(seen, "target.setting.export") == "sync"
    assert nfs_kernel.threads(HOST) == before
    assert bench.left() == NOTHING


@pytest.mark.parametrize(("export", "states"), [("sync", (State.PASS, State.UNVERIFIED)), ("async", (State.FAIL,))])
@pytest.mark.root
@needs_root
@needs_nfsd
def test_an_export_that_answers_early_loses_its_claim(export, states, tmp_path):
    """Before Linux 6.5 nobody tells dirty pages, so the claim of a sync export stays unverified there; it is never refuted."""
    for run, found in judged(f'kind = "nfs_kernel"\nexport = "{export}"\n', tmp_path):
        assert run.outcome is Outcome.FINISHED, run.error
        assert found["D04"].state in states, found["D04"]
