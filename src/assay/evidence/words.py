"""What the words of a command tell of where its bytes go: pipes between its processes, addresses of other machines."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Iterator, Sequence

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "busybox"})
SEPARATORS = frozenset(";&|()")
REMOTE = re.compile(r"(?:^|\s)(?:[a-z0-9+]+://|(?:[\w.-]+@)?[\w.-]{2,}:\S|//[\w.-]+/)")
"""An address of another machine, as a word of a command: a URL, `host:path`, `//host/share`."""
NEAR = 2
"""A program is one of so many first words: `sudo curl` is looked into, `timeout 9 curl` is not."""


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


def commands(argv: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words themselves, or where they give a script to a shell, the simple commands of the script."""
    script = script_of(argv)
    if script is None:
        yield tuple(argv)
        return
    import shlex

    lexer = shlex.shlex(script.replace("\\\n", " ").replace("\n", ";"), posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    words: list[str] = []
    with contextlib.suppress(ValueError):  # a quote that is never closed: the shell will say so
        for word in lexer:
            if set(word) <= SEPARATORS and words:
                yield tuple(words)
            words = [] if set(word) <= SEPARATORS else [*words, word]
    if words:
        yield tuple(words)


def programs(argv: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each word that may be the program of one of the commands, without its directory, and the words behind it."""
    for one in commands(argv):
        for at, word in enumerate(one[:NEAR]):
            yield posixpath.basename(word), one[at + 1 :]


def given(words: Sequence[str], names: Sequence[str]) -> str | None:
    """Return what the last of these options is given: as the next word, behind `=`, or glued to a letter."""
    found = None
    for at, word in enumerate(words):
        for name in names:
            if word == name:
                found = words[at + 1] if at + 1 < len(words) else None
            elif word.startswith(f"{name}="):
                found = word.partition("=")[2]
            elif len(name) == 2 and not name.startswith("--") and word.startswith(name) and word[2:3].isdigit():
                found = word[2:]
    return found
