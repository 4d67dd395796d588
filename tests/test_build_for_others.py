"""What root builds is usable by other users, or `make build` says that it is not."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "others.sh"


@pytest.fixture
def open_folder():
    """A directory that all may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only what root built is closed to other users")
@pytest.mark.parametrize(("mode", "says"), [(0o755, ""), (0o700, "built for root alone: other users may not enter ")])
def test_a_python_in_a_closed_directory_is_named(open_folder, mode, says):
    home, python = open_folder / "project", open_folder / "home" / "python3"
    for folder in (home / "scripts", home / ".venv" / "bin", python.parent):
        folder.mkdir(parents=True)
    python.touch()
    (home / ".venv" / "bin" / "python").symlink_to(python)
    (home / ".venv" / "bin" / "assay").touch()
    shutil.copy(SCRIPT, home / "scripts")
    home.chmod(0o755)
    python.parent.chmod(mode)
    done = subprocess.run([home / "scripts" / "others.sh"], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.startswith(says)
    assert bool(done.stdout) == bool(says)
    assert (str(python.parent) in done.stdout) == bool(says)
