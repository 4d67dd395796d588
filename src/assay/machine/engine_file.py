"""The load engine that the package brings along."""

from __future__ import annotations

from pathlib import Path

from assay.errors import MissingError


def engine_path() -> Path:
    """The load engine inside the package. Raises MissingError."""
    path = Path(__file__).parent.parent / "bin" / "assay-engine"
    if not path.is_file():
        raise MissingError(f"load engine: not found at {path}. Run `make build`.")
    return path
