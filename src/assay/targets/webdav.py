"""A fresh WebDAV server (Apache with mod_dav) in a network namespace; each client mounts it by rclone.

Its data are in the experiment's scratch directory, or on the target that `on` names; `through` puts a path between both ends.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from assay.catalogue import Host, Setting
from assay.machine import file_server, rclone_client
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import MountPlan
from assay.records import Endpoint, Place, Value

EXCHANGE_TIMES = 5.0
"""Requests of rclone where sshfs makes one: as over SMB, but four for five."""
DAEMON = "apache2"
PORT = 80
MODULES = "/usr/lib/apache2/modules"
LOADED = ("mpm_event", "authz_core", "dav", "dav_fs", "dav_lock")
CONFIG = """ServerRoot "{directory}"
ServerName {address}
Listen {address}:{port}
PidFile "{directory}/apache.pid"
ErrorLog "{directory}/errors"
{modules}
User www-data
Group www-data
DavLockDB /run/locks/dav
DocumentRoot /run/data
EnableSendfile on
<Directory /run/data>
  Dav On
  Require all granted
</Directory>
"""
SETUP = """mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/data /run/locks && chown www-data /run/locks || exit 1
mount --bind {data} /run/data || exit 1"""
"""Its processes are those of a user who may not look into the scratch directory: they see the data at another place."""


def lacks(host: Host, _knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what is missing of Apache."""
    return tuple(
        f"{MODULES}/mod_{name}.so: not found. Install apache2-bin."
        for name in LOADED
        if host.exists(MODULES) and not host.exists(f"{MODULES}/mod_{name}.so")
    )


def configure(host: Host, instance: FileInstance) -> None:
    """Write the configurations of both ends; the server's processes write as www-data, so the data are theirs."""
    modules = "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in LOADED)
    host.run(["chown", "www-data", "--", instance.data])
    values = {"directory": instance.directory, "address": instance.address, "port": PORT}
    host.write(instance.path("apache.conf"), CONFIG.format(**values, modules=modules))
    rclone_client.configure(host, instance, {"type": "webdav", "url": f"http://{instance.address}", "vendor": "other"})


def program(_host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the server in the foreground."""
    return (DAEMON, "-DFOREGROUND", "-f", instance.path("apache.conf"))


def setup(instance: FileInstance) -> str:
    """Return the lines that show the data to the server's processes."""
    return SETUP.format(data=shlex.quote(instance.data))


def mount(_host: Host, instance: FileInstance, point: str, word: str) -> MountPlan:
    """Return the client."""
    return rclone_client.mount(instance, point, word)


def version(host: Host, _instance: FileInstance) -> str:
    """Return the versions of both ends."""
    done = host.run([DAEMON, "-v"], check=False)
    match = re.search(r"Apache/\S+", done.stdout + done.stderr)
    client = host.run([rclone_client.PROGRAM, "version"], check=False).stdout.partition("\n")[0]
    return f"{match[0] if match else 'Apache'}, {client}"


def attach(host: Host, setting: Setting, place: Place, client: int) -> Endpoint:
    """Mount for one client."""
    end = file_server.attach(SOFTWARE, host, setting, place, client)
    instance = file_server.instance_of(host, setting, place)
    return replace(end, details={**end.details, **rclone_client.details(instance, end.address)})


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=lambda knobs: (DAEMON, *rclone_client.TOOLS),
    ports=(PORT,),
    configure=configure,
    program=program,
    mount=mount,
    settings=lambda host, instance: (),
    version=version,
    setup=setup,
    lacks=lacks,
)
TARGET = replace(
    file_server.target("webdav", SOFTWARE), attach=attach, flush=rclone_client.flush, exchange_times=lambda knobs: EXCHANGE_TIMES
)
