import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def room():
    """A directory on the disk that the machine's temporary files are on, for files that caches and devices know."""
    with tempfile.TemporaryDirectory(prefix="assay-watch-", dir="/var/tmp") as path:
        yield Path(path)
