"""The way back of each kind of thing in the ledger as a script of /bin/sh, with the same proof that the thing is still ours.

A far host keeps the script and runs it when we are gone. Every script is one compound command `( ... ) </dev/null`: a shell
parses it whole before it runs a word of it, so it may come on standard input, by `sh -c` or inside a trap. Status 0: there is
nothing left to do, and the last line says `undone` or `gone` (not there, or not ours any more). Any other status: it is ours and
could not be undone, with the reason on standard error. Names are assigned once, quoted, and only ever used as "$name".
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Callable, Mapping

from assay.catalogue import FAMILY, Host
from assay.errors import TrialError, UsageError
from assay.machine.ownership import MARKER, PREFIX, marker_path
from assay.machine.stack import DELETED
from assay.undo import scripts

Details = Mapping[str, str]
UNDONE = "undone"
"""The last word of a script that undid something."""
LIMIT_S = 180.0
"""A script is given up after this; the longest waits 120 s for a command of a target."""


def way_back(kind: str, details: Details) -> str:
    """Return the script that undoes one thing on the machine that it runs on.

    Raises UsageError for details that no honest entry has: a NUL, a path that is not absolute, a number that is none.
    """
    for name, text in details.items():
        if "\0" in text:
            raise UsageError(f"found {name} = {text!r} in a ledger entry; expected a text without NUL")
    body, names = WAYS[kind](details)
    return scripts.HEAD + "".join(f"{name}={shlex.quote(text)}\n" for name, text in names.items()) + body + scripts.FOOT


def walk_back(host: Host, kind: str, details: Details) -> bool:
    """Undo one thing on a far host by its script, in one exchange; False where it is gone or not ours any more.

    Raises TrialError with the host and the reason where it is ours and cannot be undone now.
    """
    done = host.run(["/bin/sh"], input_text=way_back(kind, details), check=False, timeout_s=LIMIT_S)
    if done.status != 0:
        raise TrialError(f"on host {host.name}: {done.stderr.strip() or f'exit status {done.status}'}")
    return done.stdout.rstrip().endswith(UNDONE)


Way = tuple[str, dict[str, str]]
"""The body of a script, and the names that it uses."""


def _directory(details: Details) -> Way:
    path = _absolute(details["path"])
    kept = re.sub(r"[][*?\\]", r"\\\g<0>", posixpath.join(path, MARKER))  # a pattern of find(1)
    return scripts.OURS + scripts.DIRECTORY, {"path": path, "marker": details["marker"], "kept": kept}


def _own_file(details: Details) -> Way:
    path, token = _absolute(details["path"]), _like(r"[\w-]+", details["marker"])
    temporary = posixpath.join(posixpath.dirname(path), PREFIX + token)
    return scripts.OWN_FILE, {"path": path, "marker": token, "beside": marker_path(path), "temporary": temporary}


def _mount(details: Details) -> Way:
    path, device = _absolute(details["path"]), details["device"]
    names = {"path": path, "point": escaped(path), "source": escaped(device, "#"), "older": escaped(device)}
    return scripts.MOUNT, names


def _loop(details: Details) -> Way:
    device, image = _like(r"/dev/loop[0-9]+", details["device"]), _absolute(details["image"].removesuffix(DELETED))
    ahead = _like(r"[0-9]*", details.get("read_ahead_kb", ""))
    return scripts.LOOP, {"device": device, "image": image, "ahead": ahead}


def _throttle(details: Details) -> Way:
    device, value = _like(r"[0-9]+:[0-9]+", details["device"]), _like(r"[0-9]+", details["value"])
    return scripts.THROTTLE, {"file": _absolute(details["file"]), "device": device, "value": value}


def _cgroup(details: Details) -> Way:
    """The root of the tree is where our folder is: its group may take processes in, if no other one does (v2)."""
    path = _absolute(details["path"])
    return scripts.CGROUP, {"path": path, "root": path.partition("/assay")[0]}


def _process(details: Details) -> Way:
    return scripts.PROCESS, {name: _like(r"[0-9]+", details[name]) for name in ("pid", "start_ticks")}


def _family(details: Details) -> Way:
    return scripts.FAMILY_ENDED, {"entry": f"{FAMILY}={_like(r'[0-9A-Za-z]+', details['token'])}"}


def _command(details: Details) -> Way:
    words = [str(word) for word in json.loads(details["argv"])]
    return f"set -- {shlex.join(words)}\n{scripts.COMMAND}", {}


WAYS: Mapping[str, Callable[[Details], Way]] = {
    "directory": _directory,
    "file": lambda details: (scripts.OURS + scripts.FILE, {"path": _absolute(details["path"]), "marker": details["marker"]}),
    "own_file": _own_file,
    "mount": _mount,
    "loop": _loop,
    "throttle": _throttle,
    "cgroup": _cgroup,
    "process": _process,
    "family": _family,
    "command": _command,
    "setting": lambda details: (
        scripts.SETTING,
        {
            **{name: _absolute(details[name]) for name in ("path", "back_path")},
            "value": details["value"],
            "back": details["back"],
        },
    ),
}


def escaped(path: str, more: str = "") -> str:
    """Return a name as mountinfo has it: spaces, tabs, newlines, backslashes, and these characters more, in octal."""
    return re.sub(rf"[ \t\n\\{more}]", lambda match: f"\\{ord(match[0]):03o}", path)


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise UsageError(f"found the path {path!r} in a ledger entry for a far host; expected an absolute one")
    return path


def _like(pattern: str, text: str) -> str:
    if not re.fullmatch(pattern, text):
        raise UsageError(f"found {text!r} in a ledger entry for a far host; expected a text like {pattern}")
    return text
