"""What a job of continuous integration takes of an experiment: a JUnit file, and its report as Markdown."""

from __future__ import annotations

from pathlib import Path

from assay.errors import AssayError
from assay.frozen import dataclass
from assay.laboratory.gate import Gate
from assay.records import Results


@dataclass(frozen=True, kw_only=True)
class JobFiles:
    """Where the two go; None where they are not asked for."""

    junit: str | None = None
    summary: str | None = None

    def write(self, results: Results, gate: Gate) -> None:
        """Write both; the Markdown at the end of its file, as a step's summary wants it. Raises AssayError."""
        if self.junit is not None:
            from assay.laboratory.junit import junit

            _write(self.junit, junit(results, gate), "w")
        if self.summary is not None:
            from assay.report.markdown import render

            _write(self.summary, render(results), "a")


NOTHING = JobFiles()


def _write(path: str, text: str, mode: str) -> None:
    try:
        with Path(path).open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise AssayError(
            f"{path}: {error.strerror}. The results are in the notebook: write it again with `assay audit`."
        ) from None
