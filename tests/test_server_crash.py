"""A lab that is killed at any moment of a trial with a server: no process, mount, loop device, namespace or file is left."""

import contextlib
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from assay.machine import mounted, nfs_clients
from assay.targets import iscsi
from assay.trial import memory_files
from stage.assay_process import wait_until
from stage.kill_moments import killed
from stage.served_stage import SBIN, alone, needs, needs_fuse, sshd, versitygw
from stage.sizes import few_and_many
from stage.targets_host import HOST

ROOT = Path(__file__).parents[1]
EXPERIMENT = """
title = "Killed beside a server"
question = "Is anything left?"
repeats = 500
seed = 3

[paths.wan]
rate = "1 Gbit/s"
delay = "1 ms"
queue = "1 MB"
[targets.lower]
kind = "loopfs"
filesystem = "ext4"
size = "48 MiB"
[targets.files]
kind = "sftp_openssh"
on = "lower"
through = "wan"
SSHD
[targets.disk]
kind = "nbd"
size = "32 MiB"

[workloads.w]
kind = "bulk_io"
size = "2 MiB"
quiesce = "0 s"

[factors]
target = ["files", "disk"]
clients = [2]
"""
OBJECTS = """
title = "Killed beside an S3 server"
question = "Is anything left, also in memory?"
repeats = 500
seed = 3

[paths.wan]
rate = "1 Gbit/s"
delay = "1 ms"
queue = "1 MB"
[targets.lower]
kind = "loopfs"
filesystem = "ext4"
size = "48 MiB"
[targets.objects]
kind = "s3_versitygw"
on = "lower"
through = "wan"

[workloads.killed]
kind = "transfer"
files = 2
file_size = "1 MiB"
quiesce = "0 s"

[factors]
target = ["objects"]
clients = [2]
"""
DRILLED = """
title = "Killed beside a disk that loses its power"
question = "Is anything left of the disk, before, while and after it has no power?"
repeats = 500
seed = 3

[targets.disk]
kind = "crash_disk"
size = "64 MiB"
[targets.files]
kind = "sftp_openssh"
on = "disk"
SSHD

[workloads.w]
kind = "drill"
duration = "3 s"
deadline = "1 s"
quiesce = "0 s"
[[workloads.w.events]]
phase = "append"
at = "500 ms"
action = "power"
for = "1 s"

[factors]
target = ["disk", "files"]
clients = [2]
"""
PROTOCOLS = ROOT / "experiments" / "protocols.toml"
RECIPES = ("xrootd", "gridftp", "ftp")
"""Targets of the shipped experiment whose server is started by a recipe."""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts need root")


def named(words):
    """Processes of servers and their clients that anything here can have started."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if any(word in line for word in words)]


KINDS = {
    "nfs_ganesha": (("ganesha.nfsd", "rpcbind"), ""),
    "nfs_kernel": (("rpc.mountd", "exportfs", "rpcbind"), 'client = "kernel"'),
    "afs_openafs": (("bosserver", "vos", "keyctl"), 'encryption = "fcrypt"'),
    "smb_samba": (("smbd", "testparm", "rclone", "fusermount"), ""),
    "webdav": (("apache2", "rclone", "fusermount"), ""),
    "moosefs": (("mfsmaster", "mfschunkserver", "mfsmount", "mfscli"), ""),
    "gluster": (("glusterd", "gluster", "glusterfs"), "bricks = 2\ncopies = 2"),
    "iscsi": (("tgtd", "tgtadm", "qemu-storage-daemon", "nbdfuse"), 'size = "32 MiB"'),
    "zfs": (("zfs-fuse", "zpool", "zfs", "pgrep"), 'size = "128 MiB"'),
}
"""Target -> its programs, and the knobs that it needs."""
IN_KERNEL = {"nfs_kernel": ("nfsd", "nfs"), "afs_openafs": ("afs",)}
"""What else they need: the guest of `make long` has it."""
ONE = """
title = "Killed beside a server"
question = "Is anything left?"
repeats = 500
seed = 3

[targets.t]
kind = "KIND"
KNOBS

[workloads.w]
kind = "bulk_io"
size = "2 MiB"
quiesce = "0 s"

[factors]
clients = [2]
"""


@pytest.mark.root
@pytest.mark.slow
@needs_root
@needs_fuse
@needs("sshfs", "ssh-keygen", "qemu-storage-daemon", "losetup", "mkfs.ext4", "ip", "nsenter")
@few_and_many("points", 3, 20)
def test_nothing_is_left_of_a_server_over_a_path_and_of_a_served_disk(bench, points):
    nothing_is_left(bench, with_sshd(EXPERIMENT), points)


def with_sshd(text):
    """The experiment with the sshd that does here; skips without one."""
    program = sshd().get("server.program")
    return text.replace("SSHD", f'server.program = "{program}"' if program else "")


@pytest.mark.root
@pytest.mark.slow
@needs_root
@needs_fuse
@needs("nbdkit", "nbdfuse", "xfs_io", "losetup", "mkfs.ext4", "sshfs", "ssh-keygen", "ip", "nsenter")
@few_and_many("points", 3, 20)
def test_nothing_is_left_of_a_disk_that_loses_its_power(bench, points):
    nothing_is_left(bench, with_sshd(DRILLED), points)


@pytest.mark.root
@pytest.mark.slow
@needs_root
@needs_fuse
@needs("ip", "nsenter")
@pytest.mark.parametrize("kind", KINDS)
@few_and_many("points", 2, 20)
def test_nothing_is_left_of_any_file_server(bench, points, kind):
    programs, knobs = KINDS[kind]
    if missing := [name for name in programs if shutil.which(name, path=SBIN) is None]:
        pytest.skip(f"not here: {', '.join(missing)}")
    if lacking := [name for name in IN_KERNEL.get(kind, ()) if not mounted.in_kernel(HOST, name)]:
        pytest.skip(f"not in this kernel: {', '.join(lacking)} (make long)")
    if kind == "iscsi" and iscsi.no_driver(HOST):
        pytest.skip("not here: QEMU's driver for iSCSI (qemu-block-extra)")
    if kind == "nfs_ganesha" and not nfs_clients.CLIENT.exists():
        pytest.skip("assay-nfs is not built: make clients")
    text = ONE.replace("KIND", kind).replace("KNOBS", knobs)
    with alone(kind) if kind == "zfs" else contextlib.nullcontext():
        nothing_is_left(bench, text, points)


@pytest.mark.root
@pytest.mark.slow
@needs_root
@needs("rclone", "losetup", "mkfs.ext4", "ip", "nsenter")
@few_and_many("points", 3, 20)
def test_nothing_is_left_of_an_s3_server_and_of_files_in_memory(bench, points):
    versitygw()
    name = f"killed{os.getpid()}"  # so that no other test's files in memory are taken for ours
    nothing_is_left(bench, OBJECTS.replace("workloads.killed", f"workloads.{name}"), points)
    assert not [*Path(memory_files.PARENT).glob(f".assay-*/{name}-*")]


@pytest.mark.root
@pytest.mark.slow
@needs_root
@needs("losetup", "mkfs.ext4", "ip", "nsenter")
@pytest.mark.parametrize("name", RECIPES)
@few_and_many("points", 2, 20)
def test_nothing_is_left_of_a_server_by_a_recipe(bench, points, name):
    """The target as the shipped experiment has it, with small files."""
    given = tomllib.loads(PROTOCOLS.read_text())["targets"][name]
    programs = {*given["needs"], given["put"][0], given["get"][0]}
    if missing := [program for program in programs if shutil.which(program, path=SBIN) is None]:
        pytest.skip(f"not here: {', '.join(missing)}")
    shipped = PROTOCOLS.read_text()
    table = shipped[shipped.index(f"[targets.{name}]") :].partition("\n\n")[0].replace("experiments/", f"{ROOT}/experiments/")
    objects = OBJECTS.replace('[targets.objects]\nkind = "s3_versitygw"\non = "lower"\nthrough = "wan"', table)
    text = (
        objects.replace('"objects"', f'"{name}"')
        .replace("[targets.lower]", "[targets.disk]")
        .replace("[paths.wan]", "[paths.lan]")
    )
    nothing_is_left(bench, text, points)
    wait_until(lambda: not named(given["needs"]))  # other tests may have theirs, for a while


def nothing_is_left(bench, text, points):
    (bench.home / "e.toml").write_text(text)
    for _ in killed(bench, points):
        wait_until(lambda: not named([str(bench.home)]))  # sessions that hide their environment
