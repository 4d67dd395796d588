"""A loop device whose file was in a mount of a killed lab's own mount namespace is still undone."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from assay.undo.kinds import undo_one
from stage.targets_host import HOST

needs_loop = pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/loop-control").exists(), reason="needs root and loop devices")


@pytest.mark.root
@needs_loop
def test_a_device_on_a_mount_that_is_gone_with_its_namespace_is_detached(tmp_path):
    image = tmp_path / "cut-off"
    script = 'mount -t tmpfs tmpfs "$1" && truncate -s 1M "$1/cut-off" && losetup -f --show "$1/cut-off"'
    made = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", str(tmp_path)], capture_output=True, text=True, check=True
    )
    device = made.stdout.strip()
    backing = Path("/sys/block") / Path(device).name / "loop/backing_file"
    try:
        assert backing.read_text().strip() == "/cut-off"
        assert not undo_one(HOST, "loop", {"device": device, "image": str(tmp_path / "another")}), "not ours"
        assert undo_one(HOST, "loop", {"device": device, "image": str(image)})
        assert not backing.exists() or backing.read_text().strip() != "/cut-off"
    finally:
        with contextlib.suppress(OSError):  # once it is free, another test may take it
            if backing.read_text().strip() == "/cut-off":
                subprocess.run(["losetup", "-d", device], check=False)
