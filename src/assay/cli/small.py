"""A small installation: without the libraries of statistics and notebooks it still measures, watches and judges.

docs/howto/install.md says how it is made.
"""

from __future__ import annotations

from importlib.util import find_spec

from assay.errors import AssayError

LIBRARIES = ("numpy", "scipy", "duckdb", "jinja2")
"""What intervals, notebooks and reports are made with; 290 of the 366 MB of an installation."""


def refusal(names: tuple[str, ...] = LIBRARIES) -> AssayError:
    """Return the error of a call that needs these libraries."""
    one = len(names) == 1
    return AssayError(
        f"{', '.join(names)} {'is' if one else 'are'} not installed, so there are no intervals, notebooks and reports here. "
        f"Run: pip install {' '.join(names)}"
    )


def refuse_if_small() -> None:
    """Raises AssayError where a library is missing, before anything is measured."""
    if missing := tuple(name for name in LIBRARIES if find_spec(name) is None):
        raise refusal(missing)
