"""A fresh MooseFS cluster (a master and chunk servers) in a network namespace; each client mounts it by mfsmount (FUSE).

All its servers are on this machine and in one namespace: what they send each other is not on the path to the clients.
Their data are in the experiment's scratch directory, or on the target that `on` names; `through` puts a path before them.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping

from assay.catalogue import Host, Setting, Unit
from assay.errors import TrialError
from assay.machine import file_server, image, mounted, service
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import MountPlan
from assay.records import Value
from assay.settings.knobs import choice, integer, number, quantity, switch

MASTER, CHUNKS, CLIENT = "mfsmaster", "mfschunkserver", "mfsmount"
TOOLS = (MASTER, CHUNKS, CLIENT, "mfscli", "mfssetgoal", "grep")
TO_LOGGERS, TO_CHUNKS, TO_CLIENTS, FIRST_CHUNK_PORT = 9419, 9420, 9421, 9422
EMPTY = "/var/lib/mfs/metadata.mfs.empty"
"""The metadata of a cluster without a file, as the package brings them; the master does not start without any."""
MODES = {"direct": "DIRECT", "never": "NEVER", "auto": "AUTO", "always": "YES"}
MASTER_CONFIG = """WORKING_USER = root
WORKING_GROUP = root
NICE_LEVEL = 0
DISABLE_OOM_KILLER = 0
DATA_PATH = {data}
EXPORTS_FILENAME = {directory}/mfsexports.cfg
TOPOLOGY_FILENAME = {directory}/mfstopology.cfg
MATOML_LISTEN_HOST = {address}
MATOCS_LISTEN_HOST = {address}
MATOCL_LISTEN_HOST = {address}
"""
CHUNK_CONFIG = """WORKING_USER = root
WORKING_GROUP = root
NICE_LEVEL = 0
DISABLE_OOM_KILLER = 0
DATA_PATH = {directory}
HDD_CONF_FILENAME = {directory}/mfshdd.cfg
HDD_LEAVE_SPACE_DEFAULT = 1MiB
HDD_FSYNC_BEFORE_CLOSE = {fsync}
MASTER_HOST = {address}
MASTER_RECONNECTION_DELAY = 1
CSSERV_LISTEN_HOST = {address}
CSSERV_LISTEN_PORT = {port}
"""
EXPORTS = "* / rw,alldirs,admin,maproot=0:0\n"
SETUP = """for config in {configs}; do {chunks} -f -c "$config" start & done"""
"""The chunk servers begin with the master: they look for it again a second after their own beginning."""


def check(_host: Host, setting: Setting) -> tuple[str, ...]:
    """Return copies that would need more chunk servers."""
    copies, servers = integer(setting.knobs, "copies"), integer(setting.knobs, "chunkservers")
    return (f"found copies = {copies} with {servers} chunkservers; expected at most as many copies",) if copies > servers else ()


def lacks(host: Host, _knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what is missing of the master's package."""
    return () if host.exists(EMPTY) else (f"{EMPTY}: not found. Install moosefs-master.",)


def configure(host: Host, instance: FileInstance) -> None:
    """Write the configuration of the master and of each chunk server, and empty metadata."""
    master = posixpath.join(instance.data, "master")
    host.run(["mkdir", "--", master])
    host.run(["cp", "--", EMPTY, posixpath.join(master, "metadata.mfs")])
    values = {"directory": instance.directory, "address": instance.address}
    host.write(instance.path("mfsexports.cfg"), EXPORTS)
    host.write(instance.path("mfstopology.cfg"), "")
    host.write(instance.path("mfsmaster.cfg"), MASTER_CONFIG.format(**values, data=master))
    for place, directory in enumerate(_chunk_directories(instance)):
        disk = posixpath.join(instance.data, f"chunks-{place}")
        host.run(["mkdir", "--", directory, disk])
        host.write(posixpath.join(directory, "mfshdd.cfg"), f"{disk}\n")
        text = CHUNK_CONFIG.format(
            directory=directory,
            address=instance.address,
            port=FIRST_CHUNK_PORT + place,
            fsync=int(bool(instance.knobs["chunkserver_fsync"])),
        )
        host.write(posixpath.join(directory, "mfschunkserver.cfg"), text)


def _chunk_directories(instance: FileInstance) -> tuple[str, ...]:
    return tuple(instance.path(f"chunkserver-{place}") for place in range(integer(instance.knobs, "chunkservers")))


def program(_host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the master in the foreground; `-a`: one that was killed starts again from its changelogs."""
    return (MASTER, "-f", "-a", "-c", instance.path("mfsmaster.cfg"), "start")


def setup(instance: FileInstance) -> str:
    """Return the lines that start the chunk servers beside it."""
    configs = (posixpath.join(directory, "mfschunkserver.cfg") for directory in _chunk_directories(instance))
    return SETUP.format(configs=shlex.join(configs), chunks=CHUNKS)


def _chunkservers(host: Host, instance: FileInstance) -> int:
    """Return how many chunk servers the master has, each with room."""
    words = ("nsenter", f"--net={instance.load}", "--", "mfscli", "-p", "-s", ";", "-H", instance.address, "-SCS")
    listed = host.run(words, check=False, timeout_s=mounted.PATIENCE_S).stdout
    return len(re.findall(rf"{re.escape(instance.address)}[:;]\d+", listed))


def ready(host: Host, instance: FileInstance) -> bool:
    """Return whether every chunk server has come to the master."""
    return _chunkservers(host, instance) == integer(instance.knobs, "chunkservers")


def mount(_host: Host, instance: FileInstance, point: str, word: str) -> MountPlan:
    """Return the client, under a name of its own in the mount table."""
    seconds = integer(instance.knobs, "attribute_cache") / 1e9
    kept = ("mfsattrcacheto", "mfsentrycacheto", "mfsdirentrycacheto", "mfsnegentrycacheto")
    options = (
        "allow_other",
        f"fsname={word}",
        "subtype=mfs",
        f"mfscachemode={MODES[str(instance.knobs['data_cache'])]}",
        *(f"{name}={seconds:g}" for name in kept),
        "mfsnice=0",
        "mfsallowoomkiller",
    )
    argv = (CLIENT, "-f", "-n", "-H", instance.address, "-o", ",".join(options), point)
    return MountPlan(name=CLIENT, argv=argv, filesystem="fuse.mfs", source=word)


def proof(host: Host, instance: FileInstance, plan: MountPlan, point: str) -> str:
    """Set the number of copies for all new files, and prove the mount. Raises TrialError where either does not hold."""
    mounted.check(host, plan.filesystem, point)
    _wait_for_room(host, point)
    copies = str(integer(instance.knobs, "copies"))
    inside = ("nsenter", f"--net={instance.load}", "--")
    host.run([*inside, "mfssetgoal", copies, point], timeout_s=mounted.PATIENCE_S)
    told = host.run([*inside, "mfsgetgoal", point], timeout_s=mounted.PATIENCE_S).stdout
    match = re.search(r":\s*(\d+)\s*$", told)
    if match is None:
        raise TrialError(f"mfsgetgoal: unknown answer: {told[:80]!r}")
    service.require("copies", copies, match[1])
    return mounted.prove_within(host, plan, point, instance.data)


def _wait_for_room(host: Host, point: str) -> None:
    """The master knows a chunk server before it knows the server's space, and shows 0 bytes until then. Raises TrialError."""
    if not mounted.becomes(lambda: image.free_bytes(host, point) > 0):
        raise TrialError(f"{point}: the cluster shows no free space after {mounted.PATIENCE_S:g} s")


def settings(host: Host, instance: FileInstance) -> tuple[tuple[str, str, str], ...]:
    """Return the chunk servers that the master has; copies are read back at each mount, the flush is the file's word."""
    wanted = str(integer(instance.knobs, "chunkservers"))
    copies, fsync = str(integer(instance.knobs, "copies")), "on" if instance.knobs["chunkserver_fsync"] else "off"
    return (
        ("chunkservers", wanted, str(_chunkservers(host, instance))),
        ("copies", copies, copies),
        ("chunkserver_fsync", fsync, fsync),
    )


def version(host: Host, _instance: FileInstance) -> str:
    """Return the version of the servers."""
    done = host.run([MASTER, "-v"], check=False)
    match = re.search(r"\d+\.\d+\.\d+\S*", done.stdout + done.stderr)
    return f"MooseFS {match[0]}" if match else "MooseFS"


SOFTWARE = FileSoftware(
    name=MASTER,
    tools=lambda knobs: TOOLS,
    ports=(TO_LOGGERS, TO_CHUNKS, TO_CLIENTS),
    configure=configure,
    program=program,
    mount=mount,
    settings=settings,
    version=version,
    setup=setup,
    lacks=lacks,
    check=check,
    ready=ready,
    proof=proof,
    keeps_files=False,
)
TARGET = file_server.target(
    "moosefs",
    SOFTWARE,
    number("chunkservers", "chunk servers, each with a directory of its own for its chunks", 3, (1, 16)),
    number("copies", "copies of each chunk, on as many chunk servers (goal)", 2, (1, 9)),
    switch("chunkserver_fsync", "a chunk server flushes a chunk when it closes it (HDD_FSYNC_BEFORE_CLOSE)"),
    choice("data_cache", "what a client keeps of files' data (mfscachemode)", *MODES),
    quantity("attribute_cache", "how long a client may keep attributes and names", Unit.NANOSECONDS, 0, (0, None)),
)
