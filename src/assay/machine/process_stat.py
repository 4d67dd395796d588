"""What the kernel tells of one process in /proc/PID/stat."""

from __future__ import annotations

from assay.catalogue import Host


def stat_fields(host: Host, pid: int | str) -> list[str]:
    """Return the fields after the command's name, the state first (proc_pid_stat(5)). Raises OSError without such a process."""
    return host.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
