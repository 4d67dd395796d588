"""The plug `smb_kernel`: the kernel's own SMB server in a namespace; where the kernel has none (most tests), what it refuses."""

import json
import subprocess

import pytest

from assay import catalogue
from assay.machine import mounted
from assay.machine.file_server import FileInstance
from assay.records import Direction, Outcome, Rung, TargetSpec
from assay.targets import smb_kernel
from stage.rows import each
from stage.served_stage import NOTHING, OBSERVERS, fact, needs, needs_root
from stage.targets_host import HOST, MIB, given
from stage.trial_stage import bulk

TARGET = catalogue.find("targets", "smb_kernel")
needs_ksmbd = pytest.mark.skipif(
    not (HOST.exists(smb_kernel.CONTROL) and mounted.in_kernel(HOST, "cifs")),
    reason="no SMB server in this kernel: the guest of make long has it",
)


class Machine:
    """A host with ksmbd in a given state."""

    def __init__(self, stats):
        self.stats = stats

    def exists(self, path):
        return path == smb_kernel.CONTROL or HOST.exists(path)

    def read(self, path):
        return self.stats if path == smb_kernel.STATS else HOST.read(path)

    def __getattr__(self, name):
        return getattr(HOST, name)


def instance(directory="/d", **knobs):
    whole = catalogue.resolved(TARGET.knobs, {"client": "kernel", **knobs})
    return FileInstance(directory=directory, data="/d/data", address="198.18.0.2", load="/proc/1/ns/net", knobs=whole)


@pytest.mark.skipif(HOST.exists(smb_kernel.CONTROL), reason="this kernel has the server")
def test_a_kernel_without_the_server_is_named_in_one_line(tmp_path):
    found = smb_kernel.lacks(HOST, instance().knobs)
    assert len(found) == 1
    assert "modprobe ksmbd" in found[0]
    assert found[0] in TARGET.check(HOST, given(TARGET, None, tmp_path, client="kernel"))


@each("stats taken", ("1 running 445 0\n", True), ("1 startup 0 0\n", False), ("1 reset 0 0\n", False))
def test_a_server_of_the_users_is_never_touched(stats, taken):
    assert (smb_kernel.TAKEN in smb_kernel.lacks(Machine(stats), instance().knobs)) == taken


def test_a_path_is_refused(tmp_path):
    assert smb_kernel.NO_PATH in TARGET.check(HOST, given(TARGET, None, tmp_path, client="kernel", through="wan"))


def test_each_server_listens_on_an_interface_of_a_name_of_its_own():
    one, other = (smb_kernel.interface(instance(name)) for name in ("/d/.assay-1", "/d/.assay-2"))
    assert one != other
    assert len(one) < 16, "IFNAMSIZ (linux/if.h)"
    assert f"name {other} " in smb_kernel.setup(instance("/d/.assay-2"))


@each(
    "knobs wanted",
    ({}, ("oplocks = yes", "smb2 leases = no")),
    ({"oplocks": False, "leases": True}, ("oplocks = no", "smb2 leases = yes")),
)
def test_the_configuration_is_as_the_knobs_say(tmp_path, knobs, wanted):
    made = instance(str(tmp_path), **knobs)
    smb_kernel.configure(HOST, made)
    lines = [line.strip() for line in (tmp_path / "ksmbd.conf").read_text().splitlines()]
    assert {*wanted, f"interfaces = {smb_kernel.interface(made)}", "bind interfaces only = yes", "path = /d/data"} <= {*lines}


def test_the_way_back_does_nothing_where_the_kernel_serves_nothing():
    if smb_kernel.is_running(HOST):
        pytest.skip("ksmbd runs here")
    assert subprocess.run(json.loads(smb_kernel.WAY_BACK), capture_output=True, check=False).returncode == 0


@pytest.mark.root
@needs_root
@needs_ksmbd
@needs("ksmbd.mountd", "mount.cifs")
@pytest.mark.parametrize("version", ["2.1", "3.1.1"])
def test_a_trial_ends_with_the_bytes_of_its_mounts_and_nothing_is_left(bench, version):
    spec = TargetSpec(name="files", kind="smb_kernel", knobs={"version": version, "client": "kernel"})
    size = 8 * MIB
    run, seen = bench.conduct(spec, workloads=(bulk(clients=2, size=size),), observers=(*OBSERVERS, "client_mounts"))
    assert run.outcome is Outcome.FINISHED, run.error
    write, read = run.phases
    assert f"vers={version}" in fact(seen, "target.clients.mount")
    for phase, metric in ((write, "to_server_bytes"), (read, "from_server_bytes")):
        assert sum(one.value[-1] for one in seen.over_time(phase.name, "mount", metric)) == 2 * size
    assert not seen.rung(read.name, Rung.SERVER_CACHE, Direction.READ), "workers of the kernel read for others too"
    assert not smb_kernel.is_running(HOST)
    assert bench.left() == NOTHING
