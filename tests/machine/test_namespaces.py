"""Copies of a mount in other namespaces, made by real processes: named, and undone unless they are locked or in use."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.machine import namespaces
from assay.machine.stack import mounts

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")]
HOST = Local()
PATIENCE_S = 0.2


@pytest.fixture
def mounted(tmp_path):
    """A tmpfs with a name of its own, as source and mount point."""
    source, point = f"assay-{os.getpid()}", tmp_path / "a mount"
    point.mkdir()
    HOST.run(["mount", "-t", "tmpfs", source, str(point)])
    yield source, point
    HOST.run(["umount", "--", str(point)], check=False)


@contextlib.contextmanager
def copying(*options, work="/"):
    """A process in a new mount namespace with copies of every mount; it works in a directory."""
    argv = ["unshare", "--mount", "--propagation", "private", *options, "sh", "-c", f"cd {work!r}; exec cat"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
        stranger.stdin.write(b"here\n")
        stranger.stdin.flush()
        if stranger.stdout.readline() != b"here\n":
            pytest.skip(f"this kernel makes no namespaces with {' '.join(options)}")
        yield stranger
        stranger.stdin.close()


def has_copy(source):
    return bool(namespaces.holders(HOST, source))


def test_a_copy_is_named_and_unmounted(mounted):
    source, point = mounted
    assert not has_copy(source), "the namespace that we are in is no copy"
    with copying() as stranger:
        (holder,) = namespaces.holders(HOST, source)
        assert (holder.pid, holder.command, holder.point) == (str(stranger.pid), "cat", str(point))
        assert str(holder) in namespaces.held_by((holder,))
        assert namespaces.release(HOST, source, lambda: not has_copy(source), PATIENCE_S) is None
        assert any(mount.source == source for mount in mounts(HOST)), "only copies are unmounted"


def test_who_works_in_a_copy_keeps_it_and_is_named(mounted):
    source, point = mounted
    with copying(work=str(point)) as stranger:
        (left,) = namespaces.release(HOST, source, lambda: not has_copy(source), PATIENCE_S)
        assert left.pid == str(stranger.pid)


def test_a_copy_of_another_users_namespace_is_locked_and_named(mounted):
    source, _ = mounted
    with copying("--user", "--map-root-user") as stranger:
        (left,) = namespaces.release(HOST, source, lambda: not has_copy(source), PATIENCE_S)
        assert left.pid == str(stranger.pid)


def test_our_own_working_directory_and_namespace_stay(mounted):
    here, own = Path.cwd(), Path("/proc/thread-self/ns/mnt").readlink()
    with copying():
        namespaces.release(HOST, mounted[0], lambda: not has_copy(mounted[0]), PATIENCE_S)
    assert (Path.cwd(), Path("/proc/thread-self/ns/mnt").readlink()) == (here, own)


def test_nobody_is_named_where_nobody_is_known():
    assert namespaces.held_by(()) == ""
