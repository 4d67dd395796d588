"""The life of a directory server of our own, whichever software it is: set up, filled, started, read back, taken away.

A target brings a `Software`: what differs between servers. All else is the same for each: one directory below the scratch of
the experiment, a free port, a local socket for our own looks, a certificate made for it, and the population.
"""

from __future__ import annotations

import contextlib
import posixpath
import secrets
import shlex
from dataclasses import replace

from assay.catalogue import Host, Setting
from assay.errors import TrialError, refuse
from assay.machine import files, ldap, ownership, population, server, service
from assay.machine.directory_instance import LDAPI, RUNNING, STARTTLS, STOPPED, Instance, Software, lacks, served
from assay.machine.ldap import LdapAccess
from assay.machine.population import Population
from assay.machine.service import Program, Service
from assay.machine.stack import mount_of, stack
from assay.records import Endpoint, EndpointKind, Place, Server, ServerNode, Value

LONGEST_SOCKET = 100
"""Bytes of a socket's path: sockaddr_un takes 108 (unix(7)), and servers add suffixes."""
DAYS = "30"
"""How long a certificate is valid."""
COUNT_SHOWN = 20
"""Refused entries that a failure names."""
ALIKE = ("mount.point", "filesystem", "below", "mount.options")
"""Facts of the mount that do not name a trial's own directory."""


def check(software: Software, host: Host, setting: Setting) -> tuple[str, ...]:
    """Return everything that is wrong, before anything is made."""
    return (
        *lacks(software, host, setting.knobs),
        *population.mistakes(host, setting),
        *population.index_mistakes(setting.knobs),
        *service.port_mistakes(host, setting.knobs.get("server.port")),
        *software.check(host, setting),
    )


def prepare(software: Software, host: Host, setting: Setting) -> Place:
    """Set the server up as its knobs say. Raises UsageError with all mistakes, TrialError where it does not come up so."""
    refuse(check(software, host, setting))
    instance = _instance(software, host, setting)
    folders = (instance.directory, *_socket_folder(instance))
    made: list[Service] = []
    back = software.way_back(instance)
    try:
        for folder in folders:
            _directory(host, setting, folder)
        if back:
            setting.undo.add("command", argv=back)
        return _prepared(software, host, setting, instance, made)
    except BaseException:
        _take_away(setting, made, folders, back)
        raise


def _prepared(software: Software, host: Host, setting: Setting, instance: Instance, made: list[Service]) -> Place:
    host.run(["mkdir", "--", instance.data])
    if instance.uses_tls:
        _certificate(host, instance)
    software.configure(host, instance, ldap.make_password(host, instance.password_file))
    own = setting.own_entries if setting.knobs["state"] == RUNNING else {}
    people = population.provide(host, replace(setting, own_entries=own))
    _scripts(software, host, instance, people)
    cpus, memory = service.limits_of(host, setting.knobs)
    argv = software.argv(instance)
    program = Program(
        name=software.name, argv=argv, directory=instance.directory, cpus=cpus, memory_bytes=memory, is_accounted=True
    )
    made.append(service.install(host, setting.undo, program, f"{software.name}-{setting.trial.id if setting.trial else 0}"))
    settings = _bring_up(software, host, instance, (made[0], program), people)
    private: dict[str, Value] = {
        "directory": instance.directory,
        "socket": instance.socket,
        "folders": (instance.directory, *_socket_folder(instance)),
        "groups": made[0].groups,
        "token": made[0].token,
        "way_back": software.way_back(instance),
        "settings": (*settings, ("population", people.name)),
        "details": tuple(details(software, instance, people).items()),
    }
    is_stopped = setting.knobs["state"] == STOPPED
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.URL,
        address=instance.url,
        devices=stack(host, instance.data),
        filesystem=mount_of(host, instance.data).filesystem,
        private=private,
        server=None if is_stopped else Server(nodes=(_node(software, host, instance, made[0]),)),
        storage=instance.data,
    )


def _instance(software: Software, host: Host, setting: Setting) -> Instance:
    knobs = setting.knobs
    directory = posixpath.join(host.real_path(setting.scratch), ownership.fresh_name())
    socket = posixpath.join(directory, "ldapi")
    if len(socket) > LONGEST_SOCKET:
        socket = posixpath.join("/tmp", ownership.fresh_name(), "ldapi")  # noqa: S108 - a marked directory of our own
    port = knobs.get("server.port")
    base = str(knobs["base"])
    return Instance(
        directory=directory,
        base=base,
        bind_dn=software.bind_dn(base),
        address=str(knobs["address"]),
        port=port if isinstance(port, int) else service.free_port(host, secrets.randbelow(1 << 30)),
        transport=str(knobs["transport"]),
        socket=socket,
        knobs=knobs,
        own_entries=sum(setting.own_entries.values()),
    )


def _socket_folder(instance: Instance) -> tuple[str, ...]:
    """Return the directory of its socket, where that is not its own."""
    folder = posixpath.dirname(instance.socket)
    return () if folder == instance.directory else (folder,)


def _directory(host: Host, setting: Setting, path: str) -> None:
    ownership.make_directory(host, setting.undo, path, secrets.token_hex(8))
    host.run(["chmod", "700", "--", path])


def _certificate(host: Host, instance: Instance) -> None:
    """Make an authority, and a certificate of it for this address: some clients refuse a certificate that signs itself."""
    key, authority_key, request = (instance.path(name) for name in ("key.pem", "authority-key.pem", "request.pem"))
    fresh = ("-newkey", "rsa:2048", "-nodes")
    own = ("-x509", "-days", DAYS, "-subj", "/CN=Assay", "-keyout", authority_key, "-out", instance.authority)
    host.run(["openssl", "req", *fresh, *own])
    host.run(["openssl", "req", *fresh, "-subj", "/CN=localhost", "-keyout", key, "-out", request])
    host.write(instance.path("names"), f"subjectAltName=DNS:localhost,IP:{instance.address}\nbasicConstraints=CA:FALSE\n")
    signed = ("-CA", instance.authority, "-CAkey", authority_key, "-set_serial", "1", "-extfile", instance.path("names"))
    host.run(["openssl", "x509", "-req", "-days", DAYS, "-in", request, *signed, "-out", instance.certificate])
    host.run(["rm", "-f", "--", authority_key, request])
    ldap.keep(host, instance.authority)


IMPORT = """#!/bin/sh
# Imports FILE as the server's own tool does it; with `inside` its files are flushed before the end.
cd {directory} || exit 1
{argv} >import.log 2>&1
status=$?
cat import.log
[ ! -f logs/errors ] || grep 'Import complete' logs/errors | tail -n 1
[ "$status" -eq 0 ] || exit "$status"
[ "$1" != inside ] || find data -type f -exec sync -- {{}} + || exit 1
echo "assay-import entries={entries} bytes={bytes}"
"""
COUNT = """#!/bin/sh
# Counts the entries of the database against the file, and names those that the import refused.
cd {directory} || exit 1
found=$({counter}) || exit 1
echo "entries $found of {entries}"
[ "$found" -eq {entries} ] && exit 0
echo "the database has $found entries, the file {entries}. Refused:" >&2
{refused} | head -n {shown} >&2
exit 3
"""


def _scripts(software: Software, host: Host, instance: Instance, people: Population) -> None:
    """Write the steps of an import, which prepare and the workload `ldap_import` both run."""
    quoted = shlex.quote(instance.directory)
    argv = shlex.join(software.importer(instance, people.path))
    host.write(instance.path("import"), IMPORT.format(directory=quoted, argv=argv, entries=people.entries, bytes=people.bytes))
    counts = {"counter": software.counter(instance), "refused": software.refused(instance)}
    text = COUNT.format(directory=quoted, entries=people.entries, shown=COUNT_SHOWN, **counts)
    host.write(instance.path("count"), text)


def _bring_up(
    software: Software, host: Host, instance: Instance, made: tuple[Service, Program], people: Population
) -> tuple[tuple[str, str], ...]:
    """Fill it where its state is so, start it, hold every setting and the number of entries against what it says."""
    state = instance.knobs["state"]
    if state == RUNNING:
        host.run(["/bin/sh", instance.path("import")])
        if made[1].memory_bytes is not None:  # what the import read and wrote belongs to no group of the server
            files.drop_files(host, instance.data, mount_of(host, instance.data).filesystem)
    start(software, host, instance)
    settings = [*service.in_force(host, *made)]
    for one in (*software.read_back(host, instance), *served(host, instance)):
        service.require(one.knob, one.wanted, one.found)
        settings.append((one.knob, one.found))
    found = ldap.count(host, instance.admin(), instance.base)
    service.require("entries", str(people.entries if state == RUNNING else 0), str(found))
    settings += [("entries", str(found)), ("state", str(state))]
    if state == STOPPED:
        service.stop(host, instance.directory, software.name)
    return (*settings, ("software", software.version(host)))


def start(software: Software, host: Host, instance: Instance) -> None:
    """Start it and wait until a client of its transport gets an answer. Raises TrialError with the server's words."""
    ask = instance.client().search("", "base", "(objectClass=*)", "1.1")
    service.start(host, instance.directory, software.name, lambda: bool(ldap.entries(host, ask, timeout_s=10.0)))


def _node(software: Software, host: Host, instance: Instance, made: Service) -> ServerNode:
    is_local = instance.transport == LDAPI
    return ServerNode(
        host=host.name,
        pid_file=made.pid_file,
        cgroup=made.account,
        data=(instance.data,),
        address=None if is_local else instance.address,
        software=software.name,
        monitor=software.monitor(instance),
    )


def details(software: Software, instance: Instance, people: Population) -> dict[str, Value]:
    """What a client needs beside the URL. The password is in its file alone."""
    found: dict[str, Value] = {
        "base": instance.base,
        "bind_dn": instance.bind_dn,
        "password_file": instance.password_file,
        "writable_base": instance.base,
        "population": people.name,
        "software": software.name,
        "state": str(instance.knobs["state"]),
        "importer": instance.path("import"),
        "counter": instance.path("count"),
        "storage": instance.data,
        "ldif": people.path,
        "ldif_entries": people.entries,
        "ldif_bytes": people.bytes,
        "data_files": software.data_files(instance),
        "own_entries": tuple(f"{letter} {count}" for letter, count in people.own.items()),
    }
    if instance.uses_tls:
        found |= {"ca_file": instance.authority, "starttls": "on" if instance.transport == STARTTLS else "off"}
    return found


def attach(host: Host, setting: Setting, place: Place, _client: int) -> Endpoint:
    """Return what a client is given; on another host it gets copies of the password file and the certificate."""
    pairs = place.private["details"]
    known: dict[str, Value] = (
        {str(pair[0]): pair[1] for pair in pairs if isinstance(pair, tuple)} if isinstance(pairs, tuple) else {}
    )
    if host.name != place.host:
        copied = [name for name in ("password_file", "ca_file") if name in known]
        known |= {name: ldap.copy_to(host, str(known[name]), setting.scratch) for name in copied}
    return Endpoint(kind=EndpointKind.URL, address=place.address, details=known)


def drop_caches(software: Software, host: Host, place: Place) -> None:
    """Stop the server, give the pages of its files back, start it: pages that a process maps cannot be given back."""
    was_running = service.is_running(host, directory := str(place.private["directory"]))
    service.stop(host, directory, software.name)
    host.run(["/bin/sh", "-c", f"cd {shlex.quote(directory)} && rm -f -- {software.kept_cache}"])
    files.drop_files(host, str(place.storage), place.filesystem)
    if was_running:
        door = LdapAccess(url=f"ldapi://{str(place.private['socket']).replace('/', '%2F')}")
        ask = door.search("", "base", "(objectClass=*)", "1.1")
        service.start(host, directory, software.name, lambda: bool(ldap.entries(host, ask, timeout_s=10.0)))
        files.drop_files(host, str(place.storage), place.filesystem)  # what the kernel read ahead and nobody used


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return every setting as the running server gave it, the way to it, and the file system of its data."""
    pairs = place.private["settings"]
    settings = (
        [(f"setting.{pair[0]}", str(pair[1])) for pair in pairs if isinstance(pair, tuple)] if isinstance(pairs, tuple) else []
    )
    mount = [pair for pair in files.mount_facts(host, str(place.storage), place.devices) if pair[0] in ALIKE]
    return (*settings, *server.facts(host, place.server), *mount)


def teardown(software: Software, host: Host, setting: Setting, place: Place) -> None:
    """End the server and remove its directory."""
    private = place.private
    directory, groups = str(private["directory"]), population.texts(private, "groups")
    with contextlib.suppress(TrialError):
        service.stop(host, directory, software.name)
    made = Service(name=software.name, directory=directory, token=str(private["token"]), groups=groups)
    _take_away(setting, [made], population.texts(private, "folders"), str(private["way_back"]))


def _take_away(setting: Setting, made: list[Service], folders: tuple[str, ...], back: str) -> None:
    """Undo what was set up, the latest first."""
    for one in made:
        service.remove(setting.undo, one)
    if back:
        setting.undo.undo("command", argv=back)
    for folder in reversed(folders):
        setting.undo.undo("directory", path=folder)
