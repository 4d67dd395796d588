"""A fresh OpenSSH server (sshd) in a network namespace; each client mounts it by sshfs.

Its data are in the experiment's scratch directory, or on the target that `on` names; `through` puts a path between both ends.
Keys, configuration and logs are in a directory of its own, and nothing below /etc, /run or /root is read or written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from assay.catalogue import Host, Knob, KnobKind
from assay.machine import external_commands, file_server
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import MountPlan
from assay.records import Value
from assay.settings.knobs import choice, switch

SSHD, PROGRAM = "sshd", "server.program"
PORT = 22
CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes128-ctr")
OWN_USER = "sshd:x:105:65534::/run/sshd:/usr/sbin/nologin"
"""The user of the part of sshd that speaks before a login, where the package is not installed."""
SETUP = """mount -t tmpfs -o mode=755 tmpfs /run && mkdir -m 755 /run/sshd || exit 1
getent passwd sshd > /dev/null || {{
  {{ cat /etc/passwd && echo {user}; }} > {passwd} && mount --bind {passwd} /etc/passwd || exit 1
}}"""
SERVER_CONFIG = """ListenAddress {address}
HostKey "{directory}/host"
PidFile none
AuthorizedKeysFile "{directory}/user.pub"
AuthenticationMethods publickey
PermitRootLogin prohibit-password
AllowUsers root
StrictModes no
UsePAM no
UseDNS no
DisableForwarding yes
Ciphers {cipher}
Compression no
Subsystem sftp internal-sftp
ForceCommand internal-sftp
"""
CLIENT_CONFIG = """User root
IdentityFile "{directory}/user"
IdentitiesOnly yes
UserKnownHostsFile "{directory}/known"
StrictHostKeyChecking yes
BatchMode yes
Ciphers {cipher}
Compression no
"""
UNCACHED = ("direct_io", "dir_cache=no", "no_readahead")


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what is wrong with the program that the user names, and that none is found where the user names none."""
    path = knobs.get(PROGRAM)
    if path:
        return () if host.exists(str(path)) else (f"{path}: not found. Correct {PROGRAM}.",)
    if external_commands.location(host, SSHD) is not None:
        return ()
    folders = ", ".join(external_commands.FOLDERS)
    install = f"Install {external_commands.PACKAGES[SSHD]}, or name an unpacked one with {PROGRAM}."
    return (f"{SSHD}: not found in {folders}, nor on the PATH. {install}",)


def configure(host: Host, instance: FileInstance) -> None:
    """Make the keys of both ends and their configurations."""
    for name in ("host", "user"):
        host.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", instance.path(name)])
    host.write(instance.path("known"), f"{instance.address} {host.read(instance.path('host.pub'))}")
    values = {"directory": instance.directory, "address": instance.address, "cipher": str(instance.knobs["cipher"])}
    host.write(instance.path("sshd_config"), SERVER_CONFIG.format(**values))
    host.write(instance.path("ssh_config"), CLIENT_CONFIG.format(**values))


def program(host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return sshd in the foreground, by its whole path: it starts itself again for each connection."""
    return (_sshd(host, instance), "-D", "-e", "-f", instance.path("sshd_config"))


def _sshd(host: Host, instance: FileInstance) -> str:
    return str(instance.knobs.get(PROGRAM) or external_commands.location(host, SSHD))


def mount(_host: Host, instance: FileInstance, point: str, word: str) -> MountPlan:
    """Return sshfs in the foreground, under a name of its own in the mount table."""
    knobs = instance.knobs
    options = [
        f"fsname={word}",
        "allow_other",
        *(UNCACHED if knobs["client_cache"] == "none" else ()),
        *(("sshfs_sync",) if knobs["sync_writes"] else ()),
    ]
    source = f"root@{instance.address}:{instance.data}"
    argv = ("sshfs", "-f", source, point, "-F", instance.path("ssh_config"), "-o", ",".join(options))
    return MountPlan(name="sshfs", argv=argv, filesystem="fuse.sshfs", source=word)


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return the one cipher that the clients accept, as ssh reads its configuration: a session has it, or there is none.

    sshd does not tell its own where the machine has no user for it.
    """
    told = host.run(["ssh", "-F", instance.path("ssh_config"), "-G", instance.address], check=False).stdout
    match = re.search(r"^ciphers (.*)$", told, re.MULTILINE)
    return (("cipher", str(instance.knobs["cipher"]), match[1] if match else "not shown"),)


def version(host: Host, instance: FileInstance) -> str:
    """Return the versions of both programs."""
    done = host.run([_sshd(host, instance), "-V"], check=False)
    match = re.search(r"OpenSSH_\S+", done.stderr + done.stdout)
    shown = host.run(["sshfs", "--version"], check=False)
    client = re.search(r"SSHFS version (\S+)", shown.stdout + shown.stderr)
    return f"{match[0] if match else 'OpenSSH'}, sshfs {client[1] if client else 'of unknown version'}"


def setup(instance: FileInstance) -> str:
    """Return the lines that give sshd a /run of its own, and a user where the machine has none for it."""
    return SETUP.format(user=shlex.quote(OWN_USER), passwd=shlex.quote(instance.path("passwd")))


SOFTWARE = FileSoftware(
    name=SSHD,
    tools=lambda knobs: ("ssh-keygen", "ssh", "sshfs"),
    ports=(PORT,),
    configure=configure,
    program=program,
    mount=mount,
    settings=settings,
    version=version,
    setup=setup,
    lacks=lacks,
)
TARGET = file_server.target(
    "sftp_openssh",
    SOFTWARE,
    choice("cipher", "cipher of both ends", *CIPHERS),
    choice("client_cache", "what a client may keep: nothing, or as sshfs does it by default", "none", "default"),
    switch("sync_writes", "each write waits for the server's answer; else sshfs answers at once"),
    Knob(name=PROGRAM, kind=KnobKind.PATH, help="sshd to run; default: the installed one"),
)
