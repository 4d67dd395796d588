"""A notebook of one `assay quick` as it was recorded: its results by today's rules, its page, and the evidence of its runs."""

import functools
import tarfile
from pathlib import Path

from assay.laboratory import pages
from assay.laboratory.results import current
from assay.notebook import read as notebook

ARCHIVE = Path(__file__).parents[1] / "fixtures" / "notebooks" / "quick.tar.xz"


def folder(home: Path) -> Path:
    """Unpack the notebook below a directory and give the folder of its experiment."""
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(home, filter="data")
    return notebook.choose(home / "lab", None)


@functools.cache
def results(home: Path):
    """The results of the notebook."""
    return current(folder(home))


def page(home: Path) -> Path:
    """Write the page of the notebook."""
    found = results(home)
    return pages.write(notebook.choose(home / "lab", None), found, home / "report.html")
