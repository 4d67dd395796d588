"""A fresh 389 Directory Server in the experiment's scratch directory, filled with people, on a free port.

It is made from the package's `template-dse.ldif` without `dscreate`, which wants systemd and writes below /etc. Every setting
is read back from the running server, and one that is not in force fails the trial.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import shlex

from assay.catalogue import Host, Setting, Target
from assay.errors import TrialError
from assay.machine import directory_server, population, service
from assay.machine.directory_instance import KNOBS, LDAPI, TLS, Instance, Readback, Software, lacks
from assay.machine.ldap import Entry, entries
from assay.records import EndpointKind

TEMPLATE = "/usr/share/dirsrv/data/template-dse.ldif"
CONFIG_FOLDER, SCHEMA_FILE = "/etc/dirsrv/config", "/etc/dirsrv/schema/99user.ldif"
BIND_DN = "cn=Directory Manager"
BACKEND = "userroot"
SHARED_MEMORY = "/dev/shm"  # noqa: S108 (sem_open(3) puts its semaphores there)
BELOW_PLUGINS = "cn=ldbm database,cn=plugins,cn=config"
LEAST_CACHE = 512_000
"""MINCACHESIZE of ldap/servers/slapd/back-ldbm: a cache of exactly this size is one that the server chooses itself."""
CACHE = 256 << 20
"""Entry cache where none is named: the server's own choice depends on the memory of the machine."""
THREADS = 16
FOLDERS = ("ldif", "bak", "run", "logs", "lock", "dbhome", "tmp", "inst")
SYSTEM_INDEXES = {
    "entryrdn": ("subtree",),
    "parentid": ("eq",),
    "ancestorid": ("eq",),
    "objectclass": ("eq",),
    "nsuniqueid": ("eq",),
    "numsubordinates": ("pres",),
}
"""Indexes without which the server refuses to start or to delete."""
USUAL_INDEX = re.compile(r"(?ims)^dn:\s*cn=[^,]+,\s*cn=default indexes,.*^nssystemindex:\s*false")
"""An index of the template that every new backend gets, whether it was asked for or not."""
INNER = frozenset(("nscertsubjectdn", "nstombstonecsn", "targetuniqueid"))
"""System indexes of the template that a backend lists as ordinary ones; no person has such an attribute."""


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return knobs that this server does not have, and values that it does not keep."""
    knobs, found = setting.knobs, []
    if knobs.get("server.cache") == LEAST_CACHE:
        found.append("found server.cache = 512 kB; 389-ds replaces exactly this size by one of its own choice. Use 512 KiB.")
    elif isinstance(cache := knobs.get("server.cache"), int) and cache < LEAST_CACHE:
        found.append(f"found server.cache of {cache} bytes; expected more than {LEAST_CACHE}, the least that 389-ds keeps")
    if knobs.get("read_ahead") is not None:
        found.append("found read_ahead; 389-ds has no such setting. Leave it out.")
    if knobs.get("server.tool_threads") is not None:
        found.append("found server.tool_threads; 389-ds chooses the threads of its import itself. Leave it out.")
    if knobs.get("backend") == "mdb" and knobs.get("durable") is False:
        found.append("found durable = false with backend = mdb; 389-ds has that switch for bdb only")
    found += [
        f"found schema {path}; expected an LDIF file of cn=schema that ends with .ldif"
        for path in population.texts(knobs, "schema")
        if not path.endswith(".ldif")
    ]
    needed = (TEMPLATE, SCHEMA_FILE, f"{CONFIG_FOLDER}/slapd-collations.conf")
    return (*found, *(f"{path}: not found. Install 389-ds-base." for path in needed if not host.exists(path)))


def _config(instance: Instance, *names: str) -> str:
    """A path in its configuration. The server names a semaphore of the machine after this folder: no other may have its name."""
    return instance.path(f"slapd-{hashlib.sha256(instance.directory.encode()).hexdigest()[:12]}", *names)


def way_back(instance: Instance) -> str:
    """Return what removes its semaphore."""
    return json.dumps(["rm", "-f", "--", f"{SHARED_MEMORY}/sem.{posixpath.basename(_config(instance))}.stats"])


def configure(host: Host, instance: Instance, password_hash: str) -> None:
    """Write dse.ldif, the files that the server expects beside it, and its certificate store."""
    host.run(["mkdir", "-p", "--", _config(instance, "schema"), *(instance.path(name) for name in FOLDERS)])
    for name in host.list(CONFIG_FOLDER):
        host.write(_config(instance, name), host.read(f"{CONFIG_FOLDER}/{name}"))
    for path in (SCHEMA_FILE, *population.texts(instance.knobs, "schema")):
        host.write(_config(instance, "schema", posixpath.basename(path)), host.read(path))
    text = _filled(host, instance, password_hash)
    parts = [part.strip("\n") for part in re.split(r"\n\s*\n", text) if part.strip() and USUAL_INDEX.search(part) is None]
    every = "\n\n".join((*parts, *_own_entries(instance))) + "\n\n"  # exactly one empty line between entries, never two
    host.write(_config(instance, "dse.ldif"), every)
    if instance.uses_tls:
        _certificates(host, instance)


def _filled(host: Host, instance: Instance, password_hash: str) -> str:
    """Return the template with our values; the secure port and the caches are lines that it lacks."""
    plain = 0 if instance.transport in (TLS, LDAPI) else instance.port
    values = {
        "schema_dir": _config(instance, "schema"),
        "cert_dir": _config(instance),
        "run_dir": instance.path("run"),
        "log_dir": instance.path("logs"),
        "fqdn": "localhost",
        "ds_port": str(plain),
        "ds_user": host.run(["id", "-un"]).stdout.strip(),
        "rootdn": BIND_DN,
        "ds_passwd": password_hash,
        "ldapi_enabled": "on",
        "ldapi": instance.socket,
        "ldapi_autobind": "off",
        "db_lib": _backend(instance),
        "db_dir": instance.data,
        "db_home_dir": instance.path("dbhome"),
        "config_dir": _config(instance),
        "ds_suffix": instance.base,
        **{f"{name}_dir": instance.path(name) for name in ("lock", "tmp", "ldif", "bak", "inst")},
    }
    text = host.read(TEMPLATE)
    for name, value in values.items():
        text = text.replace(f"%{name}%", value)
    if left := re.findall(r"%[a-z_]+%", text):
        raise TrialError(f"{TEMPLATE} asks for {', '.join(sorted(set(left)))}, which Assay does not know. Report this version.")
    head = [f"nsslapd-threadnumber: {_threads(instance)}", f"nsslapd-listenhost: {instance.address}"]
    if instance.uses_tls:
        own = instance.port if instance.transport == TLS else service.free_port(host, instance.port + 1)  # else 636, everywhere
        head += ["nsslapd-security: on", f"nsslapd-secureport: {own}", f"nsslapd-securelistenhost: {instance.address}"]
    caches = f"nsslapd-backend-implement: {_backend(instance)}\nnsslapd-cache-autosize: 0\nnsslapd-import-cache-autosize: 0"
    text = text.replace(f"nsslapd-backend-implement: {_backend(instance)}", caches)
    return text.replace("cn: config\n", "cn: config\n" + "".join(f"{line}\n" for line in head), 1)


def _own_entries(instance: Instance) -> list[str]:
    """Return the entries of our backend, its suffix and its indexes."""
    root, escaped = f"cn={BACKEND},{BELOW_PLUGINS}", instance.base.replace("=", "\\=").replace(",", "\\,")
    top = "objectClass: top\nobjectClass: "
    backend = (
        f"dn: {root}\n{top}extensibleObject\nobjectClass: nsBackendInstance\ncn: {BACKEND}\nnsslapd-suffix: {instance.base}\n"
        f"nsslapd-cachememsize: {_cache(instance)}\nnsslapd-directory: {instance.path('data', BACKEND)}"
    )
    tree = (
        f"dn: cn={escaped},cn=mapping tree,cn=config\n{top}extensibleObject\nobjectClass: nsMappingTree\ncn: {instance.base}\n"
        f"nsslapd-state: backend\nnsslapd-backend: {BACKEND}"
    )
    indexes = [
        f"dn: cn={name},cn=index,{root}\n{top}nsIndex\ncn: {name}\nnsSystemIndex: {str(name in SYSTEM_INDEXES).lower()}\n"
        + "\n".join(f"nsIndexType: {kind}" for kind in kinds)
        for name, kinds in _indexes(instance).items()
    ]
    return [backend, tree, f"dn: cn=index,{root}\n{top}extensibleObject\ncn: index", *indexes, *_durability(instance)]


def _durability(instance: Instance) -> list[str]:
    if _backend(instance) != "bdb":
        return []
    durable = "off" if instance.knobs.get("durable") is False else "on"
    lines = (
        f"dn: cn=bdb,cn=config,{BELOW_PLUGINS}",
        *("objectClass: top", "objectClass: extensibleObject", "cn: bdb"),
        *("nsslapd-cache-autosize: 0", "nsslapd-import-cache-autosize: 0"),
        f"nsslapd-db-durable-transaction: {durable}",
        f"nsslapd-db-home-directory: {instance.path('dbhome')}",
        f"nsslapd-db-logdirectory: {instance.data}",
    )
    return ["\n".join(lines)]


def _indexes(instance: Instance) -> dict[str, tuple[str, ...]]:
    asked = {name.lower(): kinds for name, kinds in population.indexes_of(instance.knobs)}
    return {**SYSTEM_INDEXES, **{name: kinds for name, kinds in asked.items() if name not in SYSTEM_INDEXES}}


def _backend(instance: Instance) -> str:
    return str(instance.knobs.get("backend") or "bdb")


def _cache(instance: Instance) -> int:
    return population.whole(instance.knobs, "server.cache") or CACHE


def _threads(instance: Instance) -> int:
    return population.whole(instance.knobs, "server.threads") or THREADS


def _certificates(host: Host, instance: Instance) -> None:
    """Put certificate and authority into the server's store of NSS, which has an empty password."""
    store, bundle = _config(instance), instance.path("certificate.p12")
    key = ("-in", instance.certificate, "-inkey", instance.path("key.pem"))
    host.run(["certutil", "-N", "-d", store, "--empty-password"])
    host.run(["openssl", "pkcs12", "-export", *key, "-name", "Server-Cert", "-passout", "pass:", "-out", bundle])
    host.run(["pk12util", "-i", bundle, "-d", store, "-W", "", "-K", ""])
    host.run(["certutil", "-A", "-d", store, "-n", "Assay", "-t", "CT,,", "-i", instance.authority])


def argv(instance: Instance) -> tuple[str, ...]:
    """Return ns-slapd in the foreground."""
    return ("ns-slapd", "-D", _config(instance), "-i", instance.path("run/server.pid"), "-d", "0")


def importer(instance: Instance, ldif: str) -> tuple[str, ...]:
    """Return its offline import."""
    return ("ns-slapd", "ldif2db", "-D", _config(instance), "-n", BACKEND, "-i", ldif)


def counter(instance: Instance) -> str:
    """Return a line that exports the names of the stopped database and counts them."""
    config = shlex.quote(_config(instance))
    return f"ns-slapd db2ldif -D {config} -n {BACKEND} -N -U -a - 2>/dev/null | grep -c '^dn:'"


def refused(_instance: Instance) -> str:
    """Return a line that prints the entries that the import skipped."""
    return 'grep -h -o \'Skipping entry "[^"]*"[^,]*\' import.log logs/errors | sort -u'


def data_files(instance: Instance) -> tuple[str, ...]:
    """Return the files of the database, each index one."""
    if _backend(instance) == "mdb":
        return (posixpath.join(instance.data, "data.mdb"),)
    names = ("id2entry", *(name for name in _indexes(instance)))
    return tuple(posixpath.join(instance.data, BACKEND, f"{name}.db") for name in names)


def read_back(host: Host, instance: Instance) -> tuple[Readback, ...]:
    """Return every setting as the running server has it, the cache by the counter of its own."""
    door, root = instance.admin(), f"cn={BACKEND},{BELOW_PLUGINS}"
    config = _one(host, door.search("cn=config", "base", "(objectClass=*)", "nsslapd-threadnumber", "nsslapd-security"))
    cache = _one(host, door.search(f"cn=monitor,{root}", "base", "(objectClass=*)", "maxentrycachesize"))
    store = _one(host, door.search(f"cn=config,{BELOW_PLUGINS}", "base", "(objectClass=*)", "nsslapd-backend-implement"))
    every = door.search(f"cn=index,{root}", "one", "(objectClass=nsIndex)", "cn", "nsIndexType", "nsSystemIndex")
    wanted = {name: " ".join(sorted(kinds)) for name, kinds in _indexes(instance).items()}
    indexes = {
        name: " ".join(sorted(entry.get("nsindextype", ())))
        for entry in entries(host, every)
        if (name := first(entry, "cn").lower()) in wanted or not (first(entry, "nssystemindex") == "true" or name in INNER)
    }
    read = [
        Readback(knob="server.threads", wanted=str(_threads(instance)), found=first(config, "nsslapd-threadnumber")),
        Readback(knob="server.cache", wanted=str(_cache(instance)), found=first(cache, "maxentrycachesize")),
        Readback(knob="backend", wanted=_backend(instance), found=first(store, "nsslapd-backend-implement")),
        Readback(knob="indexes", wanted=_listed(wanted), found=_listed(indexes)),
    ]
    if _backend(instance) == "bdb":
        sync = "nsslapd-db-durable-transaction"
        bdb = _one(host, door.search(f"cn=bdb,cn=config,{BELOW_PLUGINS}", "base", "(objectClass=*)", sync))
        durable = instance.knobs.get("durable") is not False
        read.append(Readback(knob="durable", wanted=str(durable), found=str(first(bdb, sync) == "on")))
    security = first(config, "nsslapd-security")
    transport = instance.transport if (security == "on") == instance.uses_tls else f"security {security}"
    return (*read, Readback(knob="transport", wanted=instance.transport, found=transport))  # and a client of it was answered


def _one(host: Host, words: tuple[str, ...]) -> Entry:
    return next(iter(entries(host, words)), {})


def _listed(indexes: dict[str, str]) -> str:
    return "; ".join(f"{name} {kinds}" for name, kinds in sorted(indexes.items()))


def first(entry: Entry, name: str) -> str:
    """Return the first value of an attribute; empty without one."""
    return next(iter(entry.get(name, ())), "")


def monitor(instance: Instance) -> tuple[tuple[str, ...], ...]:
    """Return the searches that give the counters of operations, and those of the entry cache."""
    door, root = instance.admin(), f"cn={BACKEND},{BELOW_PLUGINS}"
    return (
        door.search("cn=snmp,cn=monitor", "base", "(objectClass=*)"),
        door.search(f"cn=monitor,{root}", "base", "(objectClass=*)", "entrycachehits", "entrycachetries", "maxentrycachesize"),
    )


def version(host: Host) -> str:
    """Return the version of ns-slapd."""
    done = host.run(["ns-slapd", "-v"], check=False)
    match = re.search(r"389-Directory/(\S+)", done.stdout + done.stderr)
    return f"389-ds {match[1]}" if match else "389-ds"


SOFTWARE = Software(
    name="389-ds",
    packages={"ns-slapd": "389-ds-base"},
    tls_packages={"certutil": "libnss3-tools", "pk12util": "libnss3-tools"},
    bind_dn=lambda base: BIND_DN,
    check=check,
    configure=configure,
    argv=argv,
    importer=importer,
    counter=counter,
    refused=refused,
    data_files=data_files,
    way_back=way_back,
    read_back=read_back,
    monitor=monitor,
    version=version,
    kept_cache="dbhome/__db.*",
)
TARGET = Target(
    name="ldap_389ds",
    knobs=KNOBS,
    endpoint=EndpointKind.URL,
    check=lambda host, setting: directory_server.check(SOFTWARE, host, setting),
    lacks=lambda host, knobs: lacks(SOFTWARE, host, knobs),
    prepare=lambda host, setting: directory_server.prepare(SOFTWARE, host, setting),
    attach=directory_server.attach,
    drop_caches=lambda host, place: directory_server.drop_caches(SOFTWARE, host, place),
    facts=directory_server.facts,
    teardown=lambda host, setting, place: directory_server.teardown(SOFTWARE, host, setting, place),
    seconds=lambda knobs: (0.0, 5.0 + population.whole(knobs, "entries") * 5e-4),
)
