"""What all tests of parsers need: the recorded outputs, and the law that any text gives figures or a refusal.

Recordings are of real runs, as printed; only the names of the host and of the directory are replaced.
"""

import functools
import math
from pathlib import Path

from assay.errors import EvidenceError
from assay.measures import FIGURES

OUTPUT = Path(__file__).parent.parent / "fixtures" / "output"
RECORDED = sorted(path.name for path in OUTPUT.iterdir())


@functools.cache
def recorded(name: str) -> str:
    """One recording, its carriage returns kept."""
    return (OUTPUT / name).read_bytes().decode()


def figures_or_refusal(parser, text: str):
    """The figures with their resolution, all of them lawful; None where the text is refused."""
    try:
        found = parser.parse(text)
    except EvidenceError:
        return None
    assert found
    halves = parser.resolution(text)
    assert set(halves) <= set(found)
    for key, value in found.items():
        operation, _, figure = key.partition(".")
        assert operation.isidentifier()
        assert figure in FIGURES or figure in ("doubtful", "answered"), key
        assert isinstance(value, float)
        assert math.isfinite(value)
        assert value >= 0
        half = halves.get(key, 0.0)
        assert math.isfinite(half)
        assert half >= 0
    return found
