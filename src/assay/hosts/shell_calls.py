"""What plain tools of a host can do in place of system calls; OSError says what no tool of it can."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NoReturn

from assay.catalogue import CacheStat, Completed, Extents, SocketPeer
from assay.errors import AssayError
from assay.hosts.kernel_calls import KMSG, LOST_RECORDS
from assay.hosts.shell_commands import Commands
from assay.hosts.shell_files import Files, os_error

NAMESPACE = re.compile(r"/proc/[0-9]+/ns/mnt")
PAGES = "PAGES,SIZE"
ALL_PAGES = f"{PAGES},DIRTY_PAGES,WRITEBACK_PAGES,EVICTED_PAGES,RECENTLY_EVICTED_PAGES"
"""Since util-linux 2.40, on Linux 6.5 and newer."""
FLUSH_S = 3600.0
AT_ONCE = 200
"""Files of one command."""
GONE = "No such file or directory"
RECORDS = r"""
[ -r /dev/kmsg ] || { echo "/dev/kmsg: Permission denied" >&2; exit 1; }
dd if=/dev/kmsg bs=8192 iflag=nonblock 2>/dev/null | awk -F'[,;]' -v last="$1" '
  /^[0-9]+,[0-9]+,/ { if (first == "") first = $2; n = $2; new = n + 0 > last + 0 }
  new && last >= 0 { text = text $0 "\n" }
  END { print first, n; printf "%s", text }'
"""
"""The numbers of the first and the last record that the kernel still has, then the records after a number."""


class ShellCalls:
    """As catalogue.Syscalls. Each call is a command of its own there."""

    def __init__(self, commands: Commands, files: Files, page_bytes: int) -> None:
        self._commands, self._files, self._page_bytes = commands, files, page_bytes
        self._columns = ALL_PAGES
        self._last_record = -1

    def cachestat(self, path: str) -> CacheStat:
        """Count the resident pages of a file by fincore(1); an older one tells no other pages. Raises OSError."""
        done = self._tool("fincore", "-n", "-r", "-b", "-o", self._columns, "--", path)
        if done.status != 0 and self._columns == ALL_PAGES and "column" in done.stderr:
            self._columns = PAGES
            done = self._tool("fincore", "-n", "-r", "-b", "-o", self._columns, "--", path)
        numbers = [int(word) for word in done.stdout.split() if word.isdecimal()]
        if len(numbers) != len(self._columns.split(",")):
            raise _failed(path, done)
        return self._stat(numbers)

    def _stat(self, numbers: Sequence[int]) -> CacheStat:
        cached, size, *others = numbers
        dirty, writeback, evicted, recently = others or (None, None, None, None)
        return CacheStat(
            cached=cached,
            dirty=dirty,
            writeback=writeback,
            evicted=evicted,
            recently_evicted=recently,
            page_bytes=self._page_bytes,
            file_bytes=size,
        )

    def cachestats(self, paths: Sequence[str]) -> tuple[CacheStat, ...]:
        """The same of those of these files that are there, so many at once as a command takes. Raises OSError."""
        return tuple(found for start in range(0, len(paths), AT_ONCE) for found in self._resident(paths[start : start + AT_ONCE]))

    def _resident(self, paths: Sequence[str]) -> Iterator[CacheStat]:
        """A file each; of one that is gone fincore complains and tells the rest."""
        done = self._tool("fincore", "-n", "-r", "-b", "-o", self._columns, "--", *paths)
        if done.status != 0 and self._columns == ALL_PAGES and "column" in done.stderr:
            self._columns = PAGES
            done = self._tool("fincore", "-n", "-r", "-b", "-o", self._columns, "--", *paths)
        complaints = [line for line in done.stderr.splitlines() if not line.endswith(GONE)]
        if done.status != 0 and (complaints or not done.stderr):
            raise os_error(paths[0], "\n".join(complaints) or f"fincore: exit status {done.status}")
        for line in done.stdout.splitlines():
            yield self._stat(list(map(int, line.split())))

    def fiemap(self, path: str) -> Extents:
        """Raise OSError: filefrag(8) tells no bytes by kind."""
        _no_tool("FIEMAP", path)

    def placed(self, path: str) -> tuple[int, int] | None:
        """Raise OSError."""
        _no_tool("FIEMAP", path)

    def drop_file(self, path: str) -> None:
        """Flush a file and give its pages back, by dd(1) of GNU. Raises OSError."""
        done = self._tool("dd", f"of={path}", "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "if=/dev/null")
        if done.status != 0:
            raise _failed(path, done)

    def memory_held(self, length: int) -> AbstractContextManager[None]:
        """Raise OSError."""
        _no_tool(f"holding {length} bytes of memory")

    def spin(self) -> tuple[int, ...]:
        """Raise OSError."""
        _no_tool("timing of the CPU")

    def booted_ns(self) -> int:
        """Return when the host was booted by its wall clock, to a second (btime of /proc/stat). Raises OSError."""
        match = re.search(r"^btime ([0-9]+)$", self._files.read("/proc/stat"), re.MULTILINE)
        if match is None:
            _no_tool("the time of the boot")
        return int(match[1]) * 10**9

    def kernel_log(self) -> str:
        """Return what came into the kernel's log since the former call, by dd(1); nothing at the first. Raises OSError."""
        last = self._last_record
        done = self._tool("sh", "-c", RECORDS, "sh", str(last))
        if done.status != 0:
            raise _failed(KMSG, done)
        end, _, text = done.stdout.partition("\n")
        first, _, number = end.partition(" ")
        self._last_record = int(number or -1)
        if last < 0:
            return ""
        lost = first and int(first) > last + 1
        return "\n".join(filter(None, (LOST_RECORDS if lost else "", text.rstrip("\n"))))

    def syncfs(self, path: str) -> int:
        """Flush the file system that holds path, by sync(1); how long that took at most (ns). Raises OSError."""
        done = self._tool("sync", "-f", "--", path, timeout_s=FLUSH_S)
        if done.status != 0:
            raise _failed(path, done)
        return done.wall_ns

    def unmount_in(self, namespace: str, point: str) -> None:
        """Unmount a mount point of another mount namespace, by nsenter(1). Raises OSError."""
        if not NAMESPACE.fullmatch(namespace):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), namespace)
        done = self._tool("nsenter", f"--mount={namespace}", "umount", "--", point)
        if done.status != 0:
            raise _failed(point, done)

    def cpu_clock(self, pid: int) -> int:
        """Raise OSError."""
        _no_tool("the CPU clock of a process", f"/proc/{pid}")

    def socket_peers(self, pid: int) -> tuple[SocketPeer, ...]:
        """Raise OSError."""
        _no_tool("asking the sockets of a process", f"/proc/{pid}/fd")

    def answer(self, socket: str, line: str) -> str:  # noqa: ARG002 - the same everywhere
        """Raise OSError."""
        _no_tool("an abstract socket", socket)

    def space(self, path: str) -> tuple[float, float]:
        """Return the free shares of space and inodes, by stat(1). Raises OSError."""
        done = self._tool("stat", "-f", "-c", "%a %b %d %c", "--", path)
        numbers = [int(word) for word in done.stdout.split() if word.isdecimal()]
        if done.status != 0 or len(numbers) != 4:
            raise _failed(path, done)
        free, blocks, free_files, files = numbers
        return free / blocks if blocks else 1.0, free_files / files if files else 1.0

    def filesystem_semantics(self, path: str) -> Mapping[str, str]:
        """Raise OSError."""
        _no_tool("the semantics of a file system", path)

    def _tool(self, *argv: str, timeout_s: float = 60.0) -> Completed:
        try:
            return self._commands.run(argv, timeout_s=timeout_s)
        except AssayError as error:
            raise OSError(errno.ENOSYS, str(error)) from error


def _failed(path: str, done: Completed) -> OSError:
    return os_error(path, done.stderr or f"{done.argv[0]}: exit status {done.status}")


def _no_tool(what: str, path: str | None = None) -> NoReturn:
    raise OSError(errno.ENOSYS, f"{what} needs the engine on that host (engine = true)", path)
