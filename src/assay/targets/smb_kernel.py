"""A fresh SMB server of the kernel (ksmbd) that listens in a network namespace; clients mount it by the kernel, or by rclone.

A kernel has one ksmbd, and its half in user space (ksmbd.mountd) must be in the machine's first network namespace. ksmbd listens
where an interface of its configuration comes up. So Assay names one that does not exist, and gives that name to the end of the
veth pair in the server's namespace: nothing listens elsewhere, and the socket ends with that namespace.
Its data are in the experiment's scratch directory, or on the target that `on` names.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace

from assay.catalogue import Host, Setting
from assay.errors import TrialError
from assay.machine import file_server, smb_clients
from assay.machine.file_server import FileInstance, FileSoftware
from assay.records import Place, Value
from assay.settings.knobs import switch

DAEMON = "ksmbd.mountd"
PORT = 445
CONTROL = "/sys/class/ksmbd-control"
STATS = f"{CONTROL}/stats"
RUNNING = "running"
VETH_END = "server0"
"""The server's end of the veth pair, before it is given the name of the configuration."""
FIRST_NETWORK = "/proc/1/ns/net"
ABSENT = "this kernel has no SMB server (modprobe ksmbd). Load it, or use smb_samba; the guest of `make long` has it."
TAKEN = "ksmbd runs already, and a kernel has one. End it (ksmbd.control --shutdown), or use smb_samba."
NO_PATH = (
    "found through; expected none: ksmbd listens on an interface that comes up after it, and the end of a path is there before"
)
SWITCHES = {"oplocks": "oplocks", "leases": "smb2 leases"}
CONFIG = """[global]
  bind interfaces only = yes
  interfaces = {interface}
  map to guest = bad user
  guest account = root
  smb2 leases = {leases}
[{share}]
  path = {data}
  read only = no
  guest ok = yes
  force user = root
  force group = root
  oplocks = {oplocks}
"""
SETUP = """mount -t tmpfs -o mode=755 tmpfs /run || exit 1
[ ! -d /etc/ksmbd ] || mount -t tmpfs tmpfs /etc/ksmbd || exit 1
trap 'kill -TERM "$!"; wait "$!"' TERM
(
until grep -qw {running} {stats}; do sleep 0.05; done
ip link set {old} down && ip link set {old} name {interface} && ip link set {interface} up
) &
"""
"""mountd leads a process group of its own, so the script passes SIGTERM on; what mountd writes is seen by itself alone."""
BACK = f"""[ -e {STATS} ] && grep -qw {RUNNING} {STATS} || exit 0
for one in /proc/[0-9]*/exe; do case "$(readlink "$one")" in */ksmbd.*) exit 0;; esac; done
echo hard > {CONTROL}/kill_server
"""
"""The kernel's half does not notice that its mountd has ended. With a mountd, ksmbd is somebody's who started it since."""
WAY_BACK = json.dumps(["/bin/sh", "-c", BACK])
RESET_S, STEP_S = 10.0, 0.02


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what keeps this kernel from serving, and the clients from mounting."""
    if not host.exists(CONTROL):
        return (f"{CONTROL} does not exist: {ABSENT}",)
    return (*((TAKEN,) if is_running(host) else ()), *smb_clients.mistakes(host, knobs))


def is_running(host: Host) -> bool:
    """Return whether the kernel's half serves, ours or another's."""
    try:
        return RUNNING in host.read(STATS).split()
    except OSError:
        return False


def check(_host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the knobs."""
    return (NO_PATH,) if setting.knobs.get("through") else ()


def interface(instance: FileInstance) -> str:
    """Return a name that no other interface of this machine has: the kernel looks for it in every namespace."""
    return f"ks{hashlib.sha256(instance.directory.encode()).hexdigest()[:12]}"


def configure(host: Host, instance: FileInstance) -> None:
    """Write the configuration with one share, and an empty list of users."""
    switches = {name: "yes" if instance.knobs[name] else "no" for name in SWITCHES}
    text = CONFIG.format(interface=interface(instance), share=smb_clients.SHARE, data=instance.data, **switches)
    host.write(instance.path("ksmbd.conf"), text)
    host.write(instance.path("users"), "")
    smb_clients.configure(host, instance)


def program(host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return mountd in the foreground; newer versions call the list of users otherwise."""
    shown = host.run([DAEMON, "--help"], check=False)
    users = "--pwddb" if "--pwddb" in shown.stdout + shown.stderr else "--users"
    files = (f"--config={instance.path('ksmbd.conf')}", f"{users}={instance.path('users')}")
    return ("nsenter", f"--net={FIRST_NETWORK}", "--", DAEMON, "--nodetach", *files)


def setup(instance: FileInstance) -> str:
    """Return the lines that let the kernel listen once it runs."""
    return SETUP.format(running=RUNNING, stats=STATS, old=VETH_END, interface=interface(instance))


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return which client is used; nobody tells the settings that the kernel's half has."""
    used = smb_clients.IN_KERNEL.used(host, instance.knobs)
    return (("client", used, used),)


def version(host: Host, _instance: FileInstance) -> str:
    """Return the version of the kernel, which is the server."""
    return f"ksmbd of Linux {host.read('/proc/sys/kernel/osrelease').strip()}"


def prepare(host: Host, setting: Setting) -> Place:
    """Start the server, with a way back for the kernel's half, which outlives its mountd. Raises UsageError, TrialError."""
    mistakes = SERVED.check(host, setting)
    if not mistakes:
        setting.undo.add("command", argv=WAY_BACK)
    try:
        return SERVED.prepare(host, setting)
    except BaseException:
        if not mistakes:
            setting.undo.undo("command", argv=WAY_BACK)
        raise


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """End mountd, then the kernel's half. Raises TrialError where it goes on."""
    SERVED.teardown(host, setting, place)
    setting.undo.undo("command", argv=WAY_BACK)
    deadline = time.monotonic() + RESET_S
    while is_running(host):
        if time.monotonic() > deadline:
            raise TrialError(f"ksmbd still runs {RESET_S:g} s after its end was ordered ({STATS})")
        time.sleep(STEP_S)


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=lambda knobs: (DAEMON,),
    ports=(PORT,),
    configure=configure,
    program=program,
    mount=smb_clients.plan,
    settings=settings,
    version=version,
    setup=setup,
    lacks=lacks,
    check=check,
    kernel=smb_clients.IN_KERNEL,
)
SERVED = file_server.target(
    "smb_kernel",
    SOFTWARE,
    *smb_clients.KNOBS,
    replace(switch("oplocks", "clients may cache under an oplock or a lease (oplocks)"), default=True),
    switch("leases", "the server grants leases, not oplocks alone (smb2 leases)"),
)
TARGET = replace(
    SERVED,
    prepare=prepare,
    attach=lambda host, setting, place, client: smb_clients.attach(SOFTWARE, host, setting, place, client),
    flush=smb_clients.flush,
    teardown=teardown,
    events={},
)
