"""Fills a file system of the lab until nothing more fits, and gives the room back."""

from __future__ import annotations

import posixpath

from assay.catalogue import Host, Setting, TargetEvent
from assay.errors import TrialError
from assay.records import Place

FILLER = ".assay-fill"
"""Beside the work directory: only the lab's own file systems are filled, so no file of a user has this name."""
LEAST_BYTES = 4096
SCRIPT = """
: > "$1" && at=0 && want=$(($(stat -f -c '%f*%S' -- "$1")))
while [ "$want" -ge {least} ]; do
  if fallocate -o "$at" -l "$want" -- "$1" 2>/dev/null; then at=$((at + want)); else want=$((want / 2)); continue; fi
  want=$(($(stat -f -c '%f*%S' -- "$1")))
done
dd if=/dev/zero of="$1" bs={least} oflag=append conv=notrunc status=none 2>/dev/null
if dd if=/dev/zero of="$1.more" bs={least} count=1 conv=fsync status=none 2>/dev/null; then room=1; else room=0; fi
rm -f -- "$1.more"
exit "$room"
"""


def fill(host: Host, _setting: Setting, place: Place) -> None:
    """Take all the room of the file system that the place's directory is on. Raises TrialError where some is left."""
    path = _path(place)
    if host.run(["sh", "-c", SCRIPT.format(least=LEAST_BYTES), "sh", path], check=False).status:
        raise TrialError(f"{path}: a block of {LEAST_BYTES} bytes still fits; the file system is not full")


def empty(host: Host, _setting: Setting, place: Place) -> None:
    """Give the room back."""
    host.run(["rm", "-f", "--", _path(place)])


def _path(place: Place) -> str:
    return posixpath.join(posixpath.dirname(place.address), FILLER)


EVENT = TargetEvent(do=fill, back=empty, untested="quotas, thin pools and full disks below a file system, and a lack of inodes")
