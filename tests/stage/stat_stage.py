"""What the tests of `assay stat` share: a loop disk of their own, files cold or warm on it, and what was said of a command."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.watch.reports import presumed
from stage.assay_process import Bench, wait_until

MIB = 1 << 20
SIZE = 64 * MIB
PYTHON = sys.executable
NOISE = frozenset({"W07", "E02", "E03", "E04", "L01", "T04"})
"""Rules that speak of the machine's other work, as all of noise (N..) do, L01, for which a processor may be too busy, E04, for
which a look at a busy machine is dear beside a command of some milliseconds, and T04, which a virtual disk in a memory of its
host may rightly fail."""
NO_DISK = "No disk is below: "
"""What T03 rightly says of disks of these tests that are in memory."""
MAKE = {
    "ext4": ("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"),
    "btrfs": ("mkfs.btrfs", "-q", "--nodiscard"),
    "xfs": ("mkfs.xfs", "-q", "-K"),
}
GROUPS = (Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup"))
"""Where a control group can be made: of version 1, of version 2."""
CLAIM = ("--claim", "tier=device,durability=stable-media")
APART = """
for skip in "$1" "$PWD" "$2"; do
  awk -v own="$skip" '{ if (index(own "/", $5 "/") == 1) print $5 }' /proc/self/mountinfo
done > "$3"
awk '$0 ~ / - fuse/ || $5 ~ "^/(var/)?tmp/" { print $5 }' /proc/self/mountinfo | grep -vxFf "$3" | while read -r point; do
  umount -l -- "$(printf '%b' "$point")" 2>/dev/null
done
shift 3
exec "$@"
"""
"""Calls a command that sees no mounts but its own. Where anybody has mounted a file system of a user (FUSE), the kernel does not
tell of its files, and less is known of every command."""
root = pytest.mark.skipif(os.geteuid() != 0, reason="loop devices and mounts need root")


def loop_disk(home, direct="on", filesystem="ext4", options="defaults", size=512 * MIB):
    """A mounted file system on a loop device of its own, and what undoes it: for fixtures."""
    missing = [tool for tool in ("losetup", MAKE[filesystem][0], "fallocate") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)} here")
    image, place = home / "disk.img", home / "disk"
    place.mkdir()
    subprocess.run(["fallocate", "-l", str(size), image], check=True)
    loop = attached(image, direct)
    try:
        subprocess.run([*MAKE[filesystem], loop], check=True)
        subprocess.run(["mount", "-o", options, loop, place], check=True)
        try:
            filled(place / "data")
            yield place
        finally:
            subprocess.run(["umount", place], check=True)
    finally:
        detach(loop)


def attached(image, direct="on"):
    """The loop device of an image; whoever asks detaches it."""
    words = ["losetup", "--find", "--show", f"--direct-io={direct}", image]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def detach(loop):
    subprocess.run(["losetup", "--detach", loop], check=True)


def device_of(place):
    """The loop device of a mounted disk."""
    found = subprocess.run(["findmnt", "-no", "SOURCE", place], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def filled(path, size=SIZE):
    """A file of random bytes that is on the disk and not in memory."""
    path.write_bytes(os.urandom(size))
    cold(path)


def cold(path):
    """Give the pages of a file back; some stay for a moment where another CPU has them in hand."""

    def given_back():
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
        (found,) = Local().syscalls.cachestats([str(path)])
        return found.cached == 0

    wait_until(given_back)


def warm(path):
    path.read_bytes()


def stat(place, *words, before=(), stdin=subprocess.DEVNULL, offline=False, through=()):
    """What `assay stat` says as JSON of a command that runs in a directory, by default of a claim to the device.

    `offline`: with a network of its own, so that what other tests send is not taken for the command's. `through`: what calls it.
    """
    bench = Bench(place, through=(*apart(place, offline=offline), *through))
    before = before if "--claim" in before or presumed(list(map(str, words))) else (*CLAIM, *before)
    told = place.parent / "told.json"
    streams = {"capture_output": False, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "stdin": stdin}
    done = bench.run("stat", *before, f"--json={told}", "--", *words, timeout=300, errors="replace", **streams)
    assert done.returncode == 0, done.stderr
    return json.loads(told.read_text())


def apart(place, *, offline=False):
    """What a command is called through so that mounts of other tests do not matter to it."""
    if os.geteuid() != 0:
        return ()
    kept = (str(place), sys.prefix, str(place.parent / "mounts"))
    spaces = ("--mount", *(("--net",) if offline else ()))
    return ("unshare", *spaces, "--propagation", "private", "--", "sh", "-c", APART, "sh", *kept)


def failed(told, operation=None):
    """The rules that failed and count, with what they say, without those that speak of the machine."""
    return {rule: found["statement"] for rule, found in failing(told, operation).items() if found["severity"] != "notes"}


def failing(told, operation=None):
    """Every rule that failed, notes too, without those that speak of the machine."""
    return {
        finding["rule"]: finding
        for finding in told["findings"]
        if finding["state"] == "fail" and not is_noise(finding["rule"]) and operation in (None, finding["measure"])
        if not finding["statement"].startswith(NO_DISK)
    }


def verdict(told, operation=None):
    """The verdict, where the machine's other work alone makes it INVALID the next better one: that taints what is sound."""
    found = (told["measures"][operation] if operation else told)["verdict"]
    mine = {finding["severity"] for finding in failing(told, operation).values()}
    return "TAINTED" if found == "INVALID" and "invalidates" not in mine else found


def is_noise(rule):
    return rule in NOISE or rule.startswith("N")


def dd(source, goal, *more):
    return ["dd", f"if={source}", f"of={goal}", "bs=1M", *more]


@contextmanager
def neighbour(place, name="noise"):
    """Somebody else who writes to the same disk as hard as it takes it, in a control group of their own where there are any."""
    group = next((one for one in GROUPS if (one / "cgroup.procs").exists()), None)
    own = group / f"assay-neighbour-{os.getpid()}" if group else None
    if own:
        try:
            own.mkdir()
        except OSError as error:
            pytest.skip(f"no control group can be made here: {error}")
    join = f"echo $$ > {own}/cgroup.procs; " if own else ""
    write = f"dd if=/dev/zero of={place}/{name} bs=1M count=64 oflag=direct conv=notrunc status=none"
    process = subprocess.Popen(["sh", "-c", f"{join}while {write}; do :; done"], process_group=0)
    try:
        wait_until(lambda: (place / name).exists() and (place / name).stat().st_size >= 64 * MIB)
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(300)
        (place / name).unlink()
        if own:
            wait_until(lambda: not (own / "cgroup.procs").read_text())
            own.rmdir()
