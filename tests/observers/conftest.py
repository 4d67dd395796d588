import pytest

from assay.machine import bpftrace
from assay.observers import wire


@pytest.fixture(autouse=True, scope="session")
def patience():
    """On a busy machine a program that counts beside takes long to begin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bpftrace, "ANSWER_S", 300.0)
        patch.setattr(wire, "ANSWER_S", 300.0)
        yield
