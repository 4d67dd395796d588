"""External commands: the {NAME} placeholders in their arguments, their location, and the Debian package of each missing one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assay.catalogue import Host
from assay.errors import RefusedError, UsageError

PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([\w.-]+)\}")
"""A doubled brace is a literal one; a brace around anything but a name (awk, JSON) is unchanged."""


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Replace {NAME} by its value and doubled braces by single ones. Raises UsageError for an unknown name."""

    def one(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return match[0][0]
        if name not in values:
            raise UsageError(f"found {{{name}}}; expected one of: {', '.join(sorted(values))}")
        return values[name]

    return PLACEHOLDER.sub(one, text)


def unknown_placeholders(argv: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return the unknown names in an argument list, each once, in order."""
    names = (match[1] for word in argv for match in PLACEHOLDER.finditer(word) if match[1] is not None)
    wanted = set(known)
    return tuple(dict.fromkeys(name for name in names if name not in wanted))


FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

PACKAGES = {
    "mkfs.ext4": "e2fsprogs",
    "dumpe2fs": "e2fsprogs",
    "filefrag": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "xfs_info": "xfsprogs",
    "xfs_io": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "btrfs": "btrfs-progs",
    "losetup": "mount",
    "mount": "mount",
    "umount": "mount",
    "setpriv": "util-linux",
    "taskset": "util-linux",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "cat": "coreutils",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "nft": "nftables",
    "iptables-restore": "iptables",
    "dd": "coreutils",
    "fio": "fio",
    "ganesha.nfsd": "nfs-ganesha-vfs",
    **dict.fromkeys(("rpc.mountd", "rpc.nfsd", "exportfs"), "nfs-kernel-server"),
    "mt": "mt-st",
    "rpcbind": "rpcbind",
    "qemu-storage-daemon": "qemu-system-common",
    "nbdfuse": "libnbd-bin",
    "nbdkit": "nbdkit",
    "tgtd": "tgt",
    "tgtadm": "tgt",
    "bash": "bash",
    "timeout": "coreutils",
    "od": "coreutils",
    "fallocate": "util-linux",
    "sync": "coreutils",
    "testparm": "samba-common-bin",
    "fusermount": "fuse3",
    "smbd": "samba",
    "apache2": "apache2-bin",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "mfsmaster": "moosefs-master",
    "mfschunkserver": "moosefs-chunkserver",
    "mfsmount": "moosefs-client",
    "mfssetgoal": "moosefs-client",
    "mfscli": "moosefs-cli",
    "glusterd": "glusterfs-server",
    "gluster": "glusterfs-cli",
    "glusterfs": "glusterfs-client",
    "zpool": "zfs-fuse",
    "zfs": "zfs-fuse",
    "pgrep": "procps",
    "scp": "openssh-client",
    "sftp": "openssh-client",
    "nfs-cp": "libnfs-utils",
    "smbclient": "smbclient",
    "slapd": "slapd",
    "ns-slapd": "389-ds-base",
    "ldapsearch": "ldap-utils",
    "bpftrace": "bpftrace",
    "xrdcp": "xrootd-client",
    "xrootd": "xrootd-server",
    "globus-url-copy": "globus-gass-copy-progs",
    "globus-gridftp-server": "globus-gridftp-server-progs",
}
"""Debian 12 package of each tool that Assay calls."""


def programs(commands: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the program of each command, each once, where it can be looked for: a name or a whole path without placeholders."""
    first = (words[0] for words in commands if words)
    return tuple(dict.fromkeys(word for word in first if "{" not in word and ("/" not in word or word.startswith("/"))))


def location(host: Host, tool: str) -> str | None:
    """Return the path of a tool on this host, of the usual folders or else of $PATH; None if it is missing.

    A whole path is where it says.
    """
    if tool.startswith("/"):
        return tool if host.exists(tool) else None
    usual = next((path for folder in FOLDERS if host.exists(path := f"{folder}/{tool}")), None)
    return usual or _on_path(host, tool)


def _on_path(host: Host, tool: str) -> str | None:
    """Return where a shell of the host finds a tool, as commands do that are run by their name; None on a recorded host."""
    try:
        found = host.run(["/bin/sh", "-c", 'command -v -- "$1"', "sh", tool], check=False).stdout.strip()
    except RefusedError:
        return None
    return found if found.startswith("/") else None


def missing(host: Host, tools: Iterable[str]) -> tuple[str, ...]:
    """Return one sentence for each missing tool, with its package; a whole path has none."""
    where = "" if host.name == "local" else f" on {host.name}"
    return tuple(f"{tool}: not found{where}. {_remedy(tool)}" for tool in tools if location(host, tool) is None)


def _remedy(tool: str) -> str:
    return "Correct the path." if tool.startswith("/") else f"Install {PACKAGES.get(tool, tool)}."
