"""What a run skipped, counted by what would let it run: a program, root, a part of the build.

`python tests/skips.py FILE` says it of the reasons in a file, one a line, and removes the file.
"""

import json
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / "scripts" / "tools.txt"
PATHS = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


def absent(tools=TOOLS, root=ROOT):
    """What `make tools` would bring: its name as a reason may have it, and what that counts as."""
    found = {}
    for line in tools.read_text().splitlines():
        words = line.partition("#")[0].split()
        if words and words[0] == "unpack":
            name, folder, proof = words[1:4]
            if not (root / ".build" / folder / proof).exists():
                found[name] = name
        elif (
            words
            and not (Path(words[0]).is_absolute() and Path(words[0]).exists())
            and shutil.which(words[0], path=PATHS) is None
        ):
            found[words[0]] = found[words[1]] = words[0]
    return found


def needs(reason, wanted, is_root):
    """What a skipped test needs, by its reason; nothing where only the reason itself says it."""
    words = [word.strip(".:,;()'`") for word in re.split(r"[\s]+", reason)]
    if program := next((wanted[word] for word in words if word in wanted), None):
        return program
    if part := re.search(r"make (?:build|clients|servers)", reason):
        return f"`{part.group()}`"
    return "root" if "root" in words and not is_root else None


def summary(reasons, wanted, is_root):
    """One line that counts them all, and the command that would help."""
    if not reasons:
        return "skipped none"
    counts = Counter(needs(reason, wanted, is_root) for reason in reasons)
    others = counts.pop(None, 0)
    parts = [f"{number} {'needs' if number == 1 else 'need'} {what}" for what, number in counts.most_common()]
    if others:
        parts.append(f"{others} for what this machine cannot do (pytest -rs says it)")
    line = f"skipped {len(reasons)}: {', '.join(parts)}"
    return f"{line}. `make tools` installs the programs" if set(counts) & set(wanted.values()) else line


def say(reasons):
    return summary(reasons, absent(), os.geteuid() == 0)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    sys.stdout.write(say([json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []) + "\n")
    path.unlink(missing_ok=True)
