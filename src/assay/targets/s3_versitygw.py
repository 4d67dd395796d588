"""A fresh S3 server (versitygw) in a network namespace; each client reaches its bucket by a program such as rclone.

Every object is a plain file below the bucket's directory, so files are compared where the server keeps them. The data are in the
experiment's scratch directory, or on the target that `on` names; `through` puts a path between both ends.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.catalogue import Host, Knob, KnobKind, Setting
from assay.errors import TrialError
from assay.machine import external_commands, file_server, s3
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.mounted import MountPlan
from assay.machine.s3 import Bucket
from assay.records import Endpoint, EndpointKind, Place, Value

DAEMON, PROGRAM = "versitygw", "server.program"
BUILT = Path(__file__).parents[3] / ".build" / "servers" / DAEMON
"""Where `make servers` leaves it in a working tree."""
PORT = 7070
BUCKET, KEYS, SECRETS = "assay", "keys", "secrets"


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what is missing of the server and of its client."""
    path = knobs.get(PROGRAM)
    if path and not host.exists(str(path)):
        return (*s3.missing(host), f"{path}: not found. Correct {PROGRAM}.")
    if not path and _program(host, None) is None:
        found = f"{DAEMON}: not found. Run `make servers` (needs Go), put it on the PATH, or name it with {PROGRAM}."
        return (*s3.missing(host), found)
    return s3.missing(host)


def _program(host: Host, named: str | None) -> str | None:
    built = str(BUILT) if host.exists(str(BUILT)) else None
    return named or external_commands.location(host, DAEMON) or built


def configure(host: Host, instance: FileInstance) -> None:
    """Make keys of this trial: a file for the clients, and one that the server's shell reads; both are for their owner alone."""
    access, secret = s3.write_keys(host, instance.path(KEYS))
    host.run(["install", "-m", "600", "/dev/null", instance.path(SECRETS)])
    host.write(
        instance.path(SECRETS), f"ROOT_ACCESS_KEY={access} ROOT_SECRET_KEY={secret}\nexport ROOT_ACCESS_KEY ROOT_SECRET_KEY\n"
    )
    s3.configure(host, _bucket(instance))


def _bucket(instance: FileInstance) -> Bucket:
    return Bucket(
        url=f"http://{instance.address}:{PORT}",
        name=BUCKET,
        config=instance.path(s3.CONFIG),
        key_file=instance.path(KEYS),
        namespace=instance.load,
    )


def program(host: Host, instance: FileInstance) -> tuple[str, ...]:
    """Return the server in the foreground; connections stay open as at other servers."""
    named = instance.knobs.get(PROGRAM)
    path = _program(host, str(named) if named else None) or DAEMON
    return (path, "--port", f"{instance.address}:{PORT}", "--region", s3.REGION, "--keep-alive", "posix", instance.data)


def setup(instance: FileInstance) -> str:
    """Return the line that gives the server its keys."""
    return f". {shlex.quote(instance.path(SECRETS))}"


def mount(_host: Host, _instance: FileInstance, _point: str, _word: str) -> MountPlan:
    """Refuse: nothing is mounted. Raises TrialError."""
    raise TrialError(f"{DAEMON}: an S3 server is not mounted")


def version(host: Host, instance: FileInstance) -> str:
    """Return the versions of both ends."""
    done = host.run([program(host, instance)[0], "--version"], check=False)
    match = re.search(r"[Vv]ersion\s*:?\s*(\S+)", done.stdout + done.stderr)
    return f"{DAEMON} {match[1] if match else 'of unknown version'}, {s3.version(host)}"


def prepare(host: Host, setting: Setting) -> Place:
    """Start it, make the bucket through it, and see an object in its data. Raises TrialError; then nothing is left."""
    place = file_server.prepare(SOFTWARE, host, setting)
    try:
        instance = file_server.instance_of(host, setting, place)
        bucket = _bucket(instance)
        host.run([*bucket.command("mkdir", "--s3-no-check-bucket=false", bucket.place())], timeout_s=s3.PATIENCE_S)
        s3.prove(host, bucket, "", f"{instance.data}/{BUCKET}")
    except BaseException:
        file_server.teardown(SOFTWARE, host, setting, place)
        raise
    return place


def attach(host: Host, setting: Setting, place: Place, _client: int) -> Endpoint:
    """Return the bucket with the client's configuration, and where the server keeps its objects. Raises UsageError."""
    instance = file_server.instance_of(host, setting, place)
    reached = file_server.reached(instance)
    return s3.endpoint(_bucket(instance), "", {**reached, "data": f"{instance.data}/{BUCKET}"})


SOFTWARE = FileSoftware(
    name=DAEMON,
    tools=lambda knobs: (),
    ports=(PORT,),
    configure=configure,
    program=program,
    mount=mount,
    settings=lambda host, instance: (),
    version=version,
    setup=setup,
    lacks=lacks,
    mounts=False,
)
SERVED = file_server.target("s3_versitygw", SOFTWARE, Knob(name=PROGRAM, kind=KnobKind.PATH, help="versitygw to run"))
TARGET = replace(SERVED, endpoint=EndpointKind.BUCKET, prepare=prepare, attach=attach)
