"""An S3 server that runs already: Assay writes only below a prefix that it made and marked, and removes it afterwards.

The keys are read by the client from a file of the form of ~/.aws/credentials; they are in no argument, record or report. With
`data`, the directory on this host that holds the bucket's objects, files are compared there, made cold and flushed. Without it
they are fetched once more to be compared, and their cold read is not proved.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
import secrets
from collections.abc import Mapping

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import RefusedError, UsageError, refuse
from assay.machine import external_commands, file_server, files, ownership, s3, server
from assay.machine.s3 import Bucket
from assay.machine.stack import mount_of, stack
from assay.records import Endpoint, EndpointKind, Place, Server, ServerNode, Value

URL = re.compile(r"https?://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?/?")
NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
"""Of a bucket (Amazon S3, bucket naming rules)."""


def lacks(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the programs of clients that this host lacks."""
    return (*s3.missing(host), *external_commands.missing(host, file_server.client_programs(knobs)))


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong: the texts, the files, then what the server says to a look at the bucket."""
    knobs = setting.knobs
    url, bucket, prefix = (str(knobs.get(name) or "") for name in ("url", "bucket", "prefix"))
    found = [*lacks(host, knobs), *s3.key_mistakes(host, str(knobs.get("key_file")))]
    if URL.fullmatch(url) is None:
        found.append(f"found url = {url!r}; expected http://HOST:PORT or https://HOST:PORT")
    if NAME.fullmatch(bucket) is None:
        found.append(f"found bucket = {bucket!r}; expected 3 to 63 small letters, digits, dots and hyphens")
    if prefix and (prefix.startswith("/") or not prefix.endswith("/") or "//" in prefix):
        found.append(f"found prefix = {prefix!r}; expected a text that ends with one slash and begins with none")
    if (data := knobs.get("data")) and host.run(["test", "-d", str(data)], check=False).status != 0:
        found.append(f"{data}: no directory. Correct data: the directory that holds the objects of the bucket.")
    if host.far:
        found.append(f"found host {host.name}; expected this machine: its key file is here")
    return tuple(found) or s3.answers(host, _bucket(host, knobs, ""), prefix)


def prepare(host: Host, setting: Setting) -> Place:
    """Make and mark a prefix of this trial; with `data`, see an object there. Raises UsageError, RefusedError, TrialError."""
    refuse(check(host, setting))
    knobs = setting.knobs
    directory = ownership.fresh_directory(host, setting.undo, setting.scratch)
    prefix = f"{knobs.get('prefix') or ''}assay-{secrets.token_hex(6)}/"
    private: dict[str, Value] = {"directory": directory, "prefix": prefix}
    try:
        bucket = _bucket(host, knobs, directory)
        s3.configure(host, bucket)
        private["undo"] = s3.mark(host, setting.undo, bucket, prefix)
        if knobs.get("data"):
            s3.prove(host, bucket, prefix, str(knobs["data"]))
        return _place(host, setting, bucket, private)
    except BaseException:
        _take_away(host, setting, private)
        raise


def _bucket(host: Host, knobs: Mapping[str, Value], directory: str) -> Bucket:
    return Bucket(
        url=str(knobs["url"]).rstrip("/"),
        name=str(knobs["bucket"]),
        config=posixpath.join(directory, s3.CONFIG),
        key_file=host.real_path(str(knobs["key_file"])),
        region=str(knobs["region"]),
    )


def _place(host: Host, setting: Setting, bucket: Bucket, private: Mapping[str, Value]) -> Place:
    data = setting.knobs.get("data")
    kept = posixpath.join(host.real_path(str(data)), str(private["prefix"]).rstrip("/")) if data else None
    pid_file = setting.knobs.get("server.pid_file")
    node = ServerNode(
        host=host.name,
        pid_file=str(pid_file) if pid_file else None,
        data=(kept,) if kept else (),
        address=_address(bucket.url),
    )
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.BUCKET,
        address=bucket.url,
        devices=stack(host, kept) if kept else (),
        filesystem=mount_of(host, kept).filesystem if kept else None,
        private=private,
        server=Server(nodes=(node,)),
        storage=kept,
    )


def _address(url: str) -> str | None:
    """Return the IP address of a URL; None for a name, whose way is not observed."""
    match = re.match(r"https?://(?:\[([^\]]+)\]|([^:/]+))", url)
    try:
        return str(ipaddress.ip_address(match[1] or match[2])) if match else None
    except ValueError:
        return None


def attach(host: Host, setting: Setting, place: Place, _client: int) -> Endpoint:
    """Return the URL with bucket, prefix and the client's configuration. Raises UsageError on another host."""
    if host.name != place.host:
        raise UsageError(f"found load on host {host.name}; expected {place.host}: the key file is there")
    own = {name: setting.knobs[name] for name in file_server.PROGRAMS if setting.knobs.get(name)}
    if place.storage:
        own["data"] = place.storage
    return s3.endpoint(_bucket(host, setting.knobs, str(place.private["directory"])), str(place.private["prefix"]), own)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the client, and the way to the server."""
    found = [("software", f"an S3 server of somebody else, {s3.version(host)}"), *server.facts(host, place.server)]
    if place.storage:
        found += [pair for pair in files.mount_facts(host, place.storage, place.devices) if pair[0] in file_server.ALIKE]
    return tuple(found)


def drop_caches(host: Host, place: Place) -> None:
    """Give back the pages of the objects of this trial. Raises RefusedError where they cannot be seen."""
    if place.storage is None:
        raise RefusedError(f"target {place.target}: the server's data are not known, so its cache stays. Name them with `data`.")
    files.drop_files(host, place.storage, place.filesystem)


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """Remove the objects of this trial."""
    _take_away(host, setting, place.private)


def _take_away(host: Host, setting: Setting, private: Mapping[str, Value]) -> None:
    if "undo" in private:  # where that fails both stay in the ledger: the configuration is needed to do it later
        s3.unmark(host, setting.undo, str(private["undo"]))
    setting.undo.undo("directory", path=str(private["directory"]))


TARGET = Target(
    name="s3_existing",
    knobs=(
        Knob(name="url", kind=KnobKind.TEXT, required=True, help="http://HOST:PORT or https://HOST:PORT"),
        Knob(name="bucket", kind=KnobKind.TEXT, required=True, help="a bucket that is there"),
        Knob(name="key_file", kind=KnobKind.PATH, required=True, help="keys as in ~/.aws/credentials, mode 600"),
        Knob(name="prefix", kind=KnobKind.TEXT, help="Assay makes its own prefix below this one; ends with a slash"),
        Knob(name="region", kind=KnobKind.TEXT, default=s3.REGION, help="region that requests are signed for"),
        Knob(name="data", kind=KnobKind.PATH, help="directory on this host that holds the bucket's objects, if any"),
        Knob(name="server.pid_file", kind=KnobKind.PATH, help="holds the process id of the server on this host"),
        *(
            Knob(name=name, kind=KnobKind.TEXTS, default=(), is_command=True, help=f"client program of transfer for {name}")
            for name in file_server.PROGRAMS
        ),
    ),
    endpoint=EndpointKind.BUCKET,
    check=check,
    lacks=lacks,
    prepare=prepare,
    attach=attach,
    drop_caches=drop_caches,
    facts=facts,
    teardown=teardown,
)
