"""Where a relative path lies that a file tells: beside the file, else where the verb was called."""

from __future__ import annotations

from pathlib import Path


def beside(file: Path, told: str) -> Path:
    """The path as it is found; where it is in neither place, the one beside the file."""
    there, here = file.parent / told, Path(told)
    return here if here.exists() and not there.exists() else there
