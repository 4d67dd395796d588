"""Write the manual pages, assay(1) and one of each verb, from what `-h` prints: scripts/man_pages.py DIRECTORY.

help2man does the same for one command; it knows neither verbs nor the headings of `assay stat -h`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

WIDE = "1000"
HEADING = re.compile(r"(?:  (?=.*:$))?([A-Z][a-z ]+): *(.*)")
ROW = re.compile(r"  (\S.*?)(?:  +(\S.*))?$")
FILES = (
    ("./lab", "the notebook, unless --lab or $ASSAY_LAB names another one"),
    ("~/.config/assay/config.toml", "defaults of a user ($XDG_CONFIG_HOME counts first)"),
    ("~/.local/state/assay, /var/lib/assay", "ledgers: how to undo what a killed run left; `assay doctor` does it"),
)
STATUS = """0 done, whatever the verdict; 1 failed; 2 wrong usage; 3 with --gate for a bad verdict; 4 with --gate for an unmet requirement
or a worse figure; 130 interrupted."""


def printed(*words: str) -> str:
    """What a call prints on standard output, in lines that are not folded."""
    code = "import sys; sys.argv[0] = 'assay'; from assay.cli.main import main; main()"
    env = {"COLUMNS": WIDE, "TERMINAL_WIDTH": WIDE, "PATH": "/usr/bin:/bin"}
    return subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, text=True, env=env).stdout


def escaped(text: str) -> str:
    """The text as roff prints it unchanged."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    return f"\\&{safe}" if safe[:1] in (".", "'") else safe


def sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each heading with its lines; what stands before all but the first, usage, is the description."""
    title, lines = "", list[str]()
    for line in text.splitlines():
        match = HEADING.fullmatch(line)
        if match is not None:
            yield title, lines
            title, lines = match[1], [match[2]] if match[2] else []
        elif title == "Usage" and line.strip():
            yield title, lines
            title, lines = "Description", [line.strip()]
        else:
            lines.append(line)
    yield title, lines


def paragraphs(lines: list[str]) -> Iterator[str]:
    """Yield running text."""
    for line in lines:
        yield escaped(line.strip()) if line.strip() else ".PP"


def rows(lines: list[str]) -> Iterator[str]:
    """Yield options, arguments or verbs, each with what it does; a line that is indented further goes on."""
    for before, line in pairwise(["", *lines]):
        match = ROW.fullmatch(line)
        if match is not None:
            yield from (".TP", f".B {escaped(match[1])}", escaped(match[2] or ""))
        elif line.strip():
            yield from ([] if before.strip() else [".PP"])
            yield escaped(line.strip())


def literal(lines: list[str]) -> Iterator[str]:
    """Yield lines that are printed as they are."""
    yield from (".nf", *map(escaped, dedent("\n".join(lines)).strip().splitlines()), ".fi")


def page(name: str, version: str, text: str, others: list[str]) -> str:
    """Return one page from the help of a call."""
    found = [(title, lines) for title, lines in sections(text) if title]
    about = next((line for title, lines in found for line in lines if title == "Description" and line), "")
    lines = [
        f'.TH "{name.upper()}" 1 "" "assay {version}" "Assay"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(about.rstrip('.'))}",
    ]
    for title, body in found:
        make = {"Usage": paragraphs, "Description": paragraphs, "Exit status": paragraphs, "Examples": literal}.get(title, rows)
        lines += [f".SH {'SYNOPSIS' if title == 'Usage' else title.upper()}", *make(body)]
    if not any(title == "Exit status" for title, _ in found):
        lines += [".SH EXIT STATUS", *paragraphs([STATUS.replace("\n", " ")])]
    lines += [".SH FILES", *(part for path, what in FILES for part in (".TP", f".I {escaped(path)}", escaped(what)))]
    lines += [".SH SEE ALSO", ", ".join(f"{escaped(one)}(1)" for one in others)]
    return "\n".join(lines) + "\n"


def main(directory: Path) -> None:
    """Write all pages."""
    directory.mkdir(parents=True, exist_ok=True)
    version, whole = metadata.version("assay-lab"), printed("--help")
    verbs = [
        match[1] for title, lines in sections(whole) if title == "Commands" for line in lines if (match := ROW.fullmatch(line))
    ]
    names = ["assay", *(f"assay-{verb}" for verb in verbs)]
    for name, words in zip(names, [("--help",), *((verb, "--help") for verb in verbs)], strict=True):
        others = [one for one in (names if name == "assay" else names[:1]) if one != name]
        (directory / f"{name}.1").write_text(page(name, version, printed(*words), others), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
