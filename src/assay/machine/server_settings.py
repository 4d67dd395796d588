"""Settings of a running server that decide whether it stores data before it answers: from its command line and configuration.

Files and directories that its command line names are read, and what it preloads. What was changed while it ran is not seen.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Host
from assay.errors import AssayError
from assay.evidence import guarantees
from assay.machine.server import pids
from assay.records import Server

NAMES = "conf|cnf|cfg|ini|ldif|ya?ml|toml|config"
MOST_FILES, LARGEST, DEEPEST, PATIENCE_S = 64, "-256k", "2", 5.0
"""Of a directory of configuration; a file that is larger is data."""
LINE = re.compile(r"^\s*(?:-{1,2}|SET\s+)?(?:([A-Za-z][\w .-]*?)\s*[:=]\s*|([A-Za-z][\w.-]*)(?:\s+|$))(.*?);?\s*$")
"""`name = value`, also of several words, or `name value`."""
OF_ANYTHING = frozenset({"cache", "flush", "options", "sync"})
"""Names that a program may use for something else: they count as facts of a target alone."""
PRELOAD = "LD_PRELOAD"


def facts(host: Host, server: Server | None) -> tuple[tuple[str, str], ...]:
    """Return the known settings of the server's processes on this host: of its files, then of its command line, which counts."""
    found: dict[str, str] = {}
    commands = {_text(host, f"/proc/{pid}/cmdline"): pid for pid in pids(host, server.on(host.name))} if server else {}
    for command, pid in commands.items():
        argv = [word for word in command.split("\0") if word]
        for path in _files(host, pid, argv[1:]):
            found |= dict(_known(_text(host, path).splitlines()))
        found |= dict(_known(_options(argv[1:])))
        found |= dict(_known(line for line in _text(host, f"/proc/{pid}/environ").split("\0") if line.startswith(PRELOAD)))
    return tuple((f"configured.{name}", value) for name, value in sorted(found.items()))


def _options(argv: Sequence[str]) -> Iterator[str]:
    """Yield each option as a line of a configuration: `--name=value`, `--name value`, `-c name=value`."""
    for at, word in enumerate(argv):
        value = argv[at + 1] if at + 1 < len(argv) and not argv[at + 1].startswith("-") else ""
        yield word if "=" in word or not word.startswith("-") else f"{word} {value}"


def _known(lines: Iterator[str] | Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        match = LINE.match(line)
        name = (match[1] or match[2]) if match else ""
        if match and (plain := guarantees.plain(name)) in guarantees.AT_ANSWERS and plain not in OF_ANYTHING:
            yield name.replace(".", "_"), re.sub(r"\s+[#;].*", "", match[3]).strip("\"'")


def _files(host: Host, pid: int, argv: Sequence[str]) -> Sequence[str]:
    """Return the files that a command line names, and those of configuration in the directories that it names.

    The server may see another file system than the lab (a container, a mount namespace).
    """
    paths = [*dict.fromkeys(f"/proc/{pid}/root{path}" for word in argv if (path := word.rpartition("=")[2]).startswith("/"))]
    small = ("-type", "f", "-size", LARGEST)
    within = ("-mindepth", "1", "-maxdepth", DEEPEST, "-regextype", "posix-extended", "-regex", f".*[.]({NAMES})")
    found: list[str] = []
    for chosen in (("-maxdepth", "0"), within) if paths else ():
        with contextlib.suppress(AssayError, OSError):
            found += host.run(["find", "-L", *paths, *chosen, *small], check=False, timeout_s=PATIENCE_S).stdout.splitlines()
    return sorted(found, key=lambda path: (".auto." in path, path))[:MOST_FILES]  # what PostgreSQL set itself counts last


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path)
    except OSError:
        return ""
