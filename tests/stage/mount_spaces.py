"""Mount namespaces of a test's own: what others mount is not seen in there, and nobody copies what is mounted there."""

import contextlib
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from stage.assay_process import running

SPACE = ("unshare", "--mount", "--propagation", "private", "sh", "-c")


def letting_go(kept):
    """Shell words that let go of file systems on loop devices, else others could not detach their images; `kept` stays."""
    ours = shlex.quote(str(kept))
    case = f'case $at in {ours}|{ours}/*) ;; *) case $from in /dev/loop*) umount -l -- "$at" || :;; esac;; esac'
    return f"while read -r from at rest; do {case}; done < /proc/self/mounts"


def within_own(kept):
    """What a command is called through to have mounts of its own, and those at and below `kept`."""
    return (*SPACE, f'{letting_go(kept)}; exec "$@"', "sh") if os.geteuid() == 0 else ()


@dataclass(frozen=True)
class MountSpace:
    pid: int

    def through(self, directory="/"):
        return ("nsenter", f"--mount=/proc/{self.pid}/ns/mnt", f"--wd={directory}")

    def run(self, *argv, check=True):
        return subprocess.run([*self.through(), *argv], check=check, capture_output=True)

    def path(self, path):
        """A path in there, as all see it."""
        return Path(f"/proc/{self.pid}/root{path}")


@contextlib.contextmanager
def mount_space():
    with running(*SPACE, f"{letting_go('/nowhere')}; echo up; exec sleep 600") as inside:
        assert inside.stdout.readline() == "up\n"
        yield MountSpace(inside.pid)
