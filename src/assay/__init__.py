"""Assay: measure storage, network and directory performance, and audit every number."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take the name for true; `typing` itself would cost `assay stat` ten milliseconds
if TYPE_CHECKING:
    from pathlib import Path

    from assay.laboratory.api import Lab


def open(lab: str | Path, which: str | None = None) -> Lab:  # noqa: A001 - read as `assay.open`
    """Open one experiment of a notebook for reading: the newest, or the one whose name begins with `which` (docs/python.md).

    Raises UsageError with the existing names.
    """
    from importlib import import_module  # by name: every module below imports this package first, and none of them the laboratory

    found: Lab = import_module("assay.laboratory.api").opened(lab, which)
    return found
