"""What the words of a command tell of where its bytes go: pipes between its processes, addresses of other machines."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "busybox"})
REMOTE = re.compile(r"(?:^|\s)(?:[a-z0-9+]+://|(?:[\w.-]+@)?[\w.-]{2,}:\S|//[\w.-]+/)")
"""An address of another machine, as a word of a command: a URL, `host:path`, `//host/share`."""


def names_another(argv: Sequence[str]) -> bool:
    """Return whether the words have an address of another machine."""
    return any(REMOTE.search(word) for word in argv[1:])


def has_pipes(argv: Sequence[str]) -> bool:
    """Return whether processes of the command write to each other, as far as its words tell: that is no reading of files."""
    script = script_of(argv)
    return script is not None and "|" in script.replace("||", "")


def script_of(argv: Sequence[str]) -> str | None:
    """Return what stands behind `sh -c` (also `bash -ec`); None where no shell is given a script."""
    for at, word in enumerate(argv[:-1]):
        shell = at > 0 and any(posixpath.basename(before) in SHELLS for before in argv[:at])
        if shell and word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return argv[at + 1]
    return None
