"""An image attached to real loop devices that are new, or that somebody else used before."""

import contextlib
import fcntl
import os
import subprocess
import time
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.machine import image
from assay.undo.ledger import Ledger

CONTROL = Path("/dev/loop-control")
ADD, REMOVE = 0x4C80, 0x4C81
"""include/uapi/linux/loop.h."""
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
    pytest.mark.skipif(not CONTROL.exists(), reason="this kernel offers no loop devices"),
]


class NextFree(Local):
    """This machine, on which a certain loop device is the next that is free."""

    free = ""

    def run(self, argv, **more):
        if argv == ["losetup", "-f"]:
            return super().run(["echo", f"/dev/{self.free}"])
        return super().run(argv, **more)


@contextlib.contextmanager
def new_device():
    """A loop device that nobody ever used; it is removed again."""
    control = os.open(CONTROL, os.O_RDWR)
    number = os.getpid() % 10_000 + 1000
    while True:
        try:
            fcntl.ioctl(control, ADD, number)
            break
        except FileExistsError:
            number += 1
    node = Path(f"/dev/loop{number}")
    if not node.exists():
        os.mknod(node, 0o60660, os.makedev(7, number))
    try:
        yield node.name
    finally:
        for _ in range(600):
            with contextlib.suppress(OSError):
                fcntl.ioctl(control, REMOVE, number)
                break
            time.sleep(0.1)
        os.close(control)
        node.unlink(missing_ok=True)


def ahead(loop):
    return int(Path(image.read_ahead(loop)).read_text())


def test_read_ahead_is_that_of_a_new_device_and_what_was_found_is_put_back(subtests, tmp_path_factory):
    for left in [16, 4096]:
        with subtests.test(left=left):
            tmp_path = tmp_path_factory.mktemp("case")
            disk, host, ledger = tmp_path / "disk.img", NextFree(), Ledger(tmp_path / "ledger")
            disk.write_bytes(os.urandom(1 << 20))
            with new_device() as fresh, new_device() as used:
                subprocess.run(["losetup", "--direct-io=on", f"/dev/{fresh}", disk], check=True)
                usual = ahead(fresh)
                subprocess.run(["losetup", "--detach", f"/dev/{fresh}"], check=True)
                Path(image.read_ahead(used)).write_text(str(left))
                host.free = used
                assert image.attach(host, ledger, str(disk), direct_io="on") == used
                assert ahead(used) == usual != left
                ledger.undo("loop", image=str(disk))
                assert ahead(used) in (left, max(left, usual)), "newer kernels raise what is too little when they detach"
            ledger.close()
