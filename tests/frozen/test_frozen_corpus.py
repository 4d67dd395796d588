"""What Assay says of stored notebooks and fixed inputs is what is kept here; see README.md."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("frozen.py")


@pytest.mark.slow
def test_no_text_of_the_frozen_corpus_differs():
    done = subprocess.run([sys.executable, PROGRAM, "check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
