"""Takes the JavaScript of the charts out of vl-convert: `python -m assay.report.bundle`, run once when Assay is built."""

from __future__ import annotations

import importlib
from pathlib import Path

from assay.errors import MissingError

BUNDLE = Path(__file__).parent / "static" / "vega.js"


def read() -> str:
    """The bundle's text. Raises MissingError where the build left it out."""
    try:
        return BUNDLE.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingError(
            f"found no {BUNDLE}; expected the charts' JavaScript there; run `make build` (or `python -m assay.report.bundle`)"
        ) from None


def write() -> Path:
    """Write vega, vega-lite and vega-embed as one script. Raises MissingError without vl-convert."""
    try:
        converter = importlib.import_module("vl_convert")
    except ImportError:
        raise MissingError(
            "found no vl-convert; expected it to build the charts' JavaScript; install vl-convert-python"
        ) from None
    text = converter.javascript_bundle()
    if "</script" in text.lower():
        raise MissingError("found `</script` in the charts' JavaScript; expected text that can stand inside a page")
    BUNDLE.parent.mkdir(exist_ok=True)
    BUNDLE.write_text(text, encoding="utf-8")
    return BUNDLE


if __name__ == "__main__":
    write()
