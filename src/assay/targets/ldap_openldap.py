"""A fresh OpenLDAP server (slapd) in the experiment's scratch directory, filled with people, on a free port.

Nothing below /etc or /var is written. Every setting is read back from the running server, and one that is not in force fails
the trial.
"""

from __future__ import annotations

import posixpath
import re
import shlex

from assay.catalogue import Host, Setting, Target
from assay.machine import directory_server, population
from assay.machine.directory_instance import KNOBS, Instance, Readback, Software, lacks
from assay.machine.ldap import Entry, entries
from assay.records import EndpointKind

SCHEMAS = ("core", "cosine", "inetorgperson", "nis")
SCHEMA_FOLDERS = ("/etc/ldap/schema", "/etc/openldap/schema")
MODULE_FOLDERS = ("/usr/lib/ldap", "/usr/lib64/openldap", "/usr/libexec/openldap")
MODULES = ("back_mdb", "back_monitor")
APPARMOR = "/sys/kernel/security/apparmor/profiles"
THREADS = 16
"""slapd's own default (slapd.conf(5), threads)."""
LEAST_THREADS = 2
LEAST_MAP_BYTES, MAP_TIMES = 1 << 30, 8
"""The largest size of the database, which is only address space until it is filled."""
CONFIG_DN = "cn=config"


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return knobs that this server does not have, and what keeps it from starting."""
    knobs, found = setting.knobs, []
    if knobs.get("server.cache") is not None:
        found.append(
            "found server.cache; slapd with mdb has no cache of its own, the page cache serves it. "
            "Use server.memory, or leave it out."
        )
    if knobs.get("server.threads") == 1:
        found.append(f"found server.threads = 1; expected at least {LEAST_THREADS}, the fewest that slapd runs with")
    if knobs.get("backend") == "bdb":
        found.append("found backend = bdb; slapd 2.5 and later have no such backend. Use mdb.")
    found += [
        f"found schema {path}; expected a file in the format of slapd.conf that ends with .schema"
        for path in population.texts(knobs, "schema")
        if not path.endswith(".schema")
    ]
    if _folder(host, SCHEMA_FOLDERS) is None:
        found.append(f"none of {', '.join(SCHEMA_FOLDERS)} is there. Install slapd.")
    return (*found, *_confined(host))


def _confined(host: Host) -> tuple[str, ...]:
    try:
        profiles = host.read(APPARMOR)
    except OSError:
        return ()
    if re.search(r"slapd \(enforce\)", profiles) is None:
        return ()
    return (
        "AppArmor lets slapd write below /var/lib/ldap only. Run `aa-complain /usr/sbin/slapd`, and `aa-enforce` afterwards.",
    )


def _folder(host: Host, folders: tuple[str, ...]) -> str | None:
    return next((folder for folder in folders if host.exists(folder)), None)


def configure(host: Host, instance: Instance, password_hash: str) -> None:
    """Write slapd.conf."""
    host.write(instance.path("slapd.conf"), "\n".join((*_server_lines(host, instance, password_hash), "")))


def _server_lines(host: Host, instance: Instance, password_hash: str) -> list[str]:
    knobs = instance.knobs
    schemas = _folder(host, SCHEMA_FOLDERS) or ""
    modules = next((folder for folder in MODULE_FOLDERS if host.exists(f"{folder}/back_mdb.la")), None)
    tls = (
        f"TLSCACertificateFile {instance.authority}",
        f"TLSCertificateFile {instance.certificate}",
        f"TLSCertificateKeyFile {instance.path('key.pem')}",
    )
    size = max(LEAST_MAP_BYTES, MAP_TIMES * population.needed_bytes(host, knobs, instance.own_entries))
    flags = _flags(instance)
    return [
        *(f"include {posixpath.join(schemas, name)}.schema" for name in SCHEMAS),
        *(f"include {path}" for path in population.texts(knobs, "schema")),
        *((f"modulepath {modules}", *(f"moduleload {name}" for name in MODULES)) if modules else ()),
        f"threads {_threads(instance)}",
        f"tool-threads {_tool_threads(instance)}",
        "sizelimit unlimited",
        "timelimit unlimited",
        *(tls if instance.uses_tls else ()),
        "database config",
        f"rootdn {CONFIG_DN}",
        f"rootpw {password_hash}",
        "database mdb",
        f'suffix "{instance.base}"',
        f'rootdn "{instance.bind_dn}"',
        f"rootpw {password_hash}",
        f"directory {instance.data}",
        f"maxsize {size}",
        *(f"index {name} {','.join(kinds)}" for name, kinds in population.indexes_of(knobs)),
        *((f"envflags {' '.join(flags)}",) if flags else ()),
        "database monitor",
        f'access to * by dn.exact="{instance.bind_dn}" read',
    ]


def _flags(instance: Instance) -> tuple[str, ...]:
    """Flags of LMDB (mdb_env_open), as slapd-mdb(5) names them."""
    durable, ahead = instance.knobs.get("durable"), instance.knobs.get("read_ahead")
    return (*(("nosync",) if durable is False else ()), *(("nordahead",) if ahead is False else ()))


def _threads(instance: Instance) -> int:
    return population.whole(instance.knobs, "server.threads") or THREADS


def _tool_threads(instance: Instance) -> int:
    return population.whole(instance.knobs, "server.tool_threads") or 1


def argv(instance: Instance) -> tuple[str, ...]:
    """Return slapd in the foreground, at the socket for our own looks and at the address of its clients."""
    urls = (instance.local,) if instance.url == instance.local else (instance.local, instance.url)
    return ("slapd", "-d", "0", "-f", instance.path("slapd.conf"), "-h", " ".join(urls))


def importer(instance: Instance, ldif: str) -> tuple[str, ...]:
    """Return slapadd, quick and without a flush."""
    return ("slapadd", "-q", "-f", instance.path("slapd.conf"), "-b", instance.base, "-l", ldif)


def counter(instance: Instance) -> str:
    """Return a line that counts the entries of the stopped database."""
    conf, base = shlex.quote(instance.path("slapd.conf")), shlex.quote(instance.base)
    return f"slapcat -f {conf} -b {base} -o ldif-wrap=no | grep -c '^dn:'"


def refused(_instance: Instance) -> str:
    """Return a line that prints the entries that slapadd complained about."""
    return 'sed -n \'s/.*\\(could not add entry dn="[^"]*"\\|line [0-9]*.*\\)/\\1/p\' import.log'


def read_back(host: Host, instance: Instance) -> tuple[Readback, ...]:
    """Return every setting as the running server has it in cn=config, and its threads as cn=Monitor counts them."""
    door = instance.admin(CONFIG_DN)
    found = entries(host, door.search(CONFIG_DN, "sub", "(|(objectClass=olcGlobal)(objectClass=olcMdbConfig))"))
    ask = instance.admin().search("cn=Max,cn=Threads,cn=Monitor", "base", "(objectClass=*)", "monitoredInfo")
    pool: Entry = next(iter(entries(host, ask)), {})
    whole: Entry = {name: values for entry in found for name, values in entry.items()}
    indexes = {" ".join(sorted(text.lower().replace(",", " ").split())) for text in whole.get("olcdbindex", ())}
    wanted = {" ".join(sorted((name.lower(), *kinds))) for name, kinds in population.indexes_of(instance.knobs)}
    flags = " ".join(sorted(whole.get("olcdbenvflags", ())))
    read = [
        Readback(knob="server.threads", wanted=str(_threads(instance)), found=first(pool, "monitoredinfo")),
        Readback(knob="server.tool_threads", wanted=str(_tool_threads(instance)), found=first(whole, "olctoolthreads") or "1"),
        Readback(knob="indexes", wanted="; ".join(sorted(wanted)), found="; ".join(sorted(indexes))),
        Readback(knob="backend", wanted="olcMdbConfig", found=_backend(whole)),
        Readback(knob="environment flags", wanted=" ".join(sorted(_flags(instance))), found=flags),
        Readback(knob="durable", wanted=str(instance.knobs.get("durable")), found=str("nosync" not in flags)),
        Readback(
            knob="read_ahead", wanted=str(instance.knobs.get("read_ahead") is not False), found=str("nordahead" not in flags)
        ),
    ]
    certified = not instance.uses_tls or first(whole, "olctlscertificatefile") == instance.certificate
    transport = instance.transport if certified else "no certificate of ours"  # and a client of it was answered
    return (*read, Readback(knob="transport", wanted=instance.transport, found=transport))


def _backend(entry: Entry) -> str:
    return next((name for name in entry.get("objectclass", ()) if name == "olcMdbConfig"), "none")


def first(entry: Entry, name: str) -> str:
    """Return the first value of an attribute; empty without one."""
    return next(iter(entry.get(name, ())), "")


def monitor(instance: Instance) -> tuple[tuple[str, ...], ...]:
    """Return the one search that gives all counters of cn=Monitor."""
    door = instance.admin()
    names = ("monitorOpInitiated", "monitorOpCompleted", "monitorCounter", "monitorConnectionNumber")
    return (door.search("cn=Monitor", "sub", "(|(objectClass=monitorOperation)(objectClass=monitorCounterObject))", *names),)


def version(host: Host) -> str:
    """Return the version of slapd."""
    done = host.run(["slapd", "-VV"], check=False)
    match = re.search(r"slapd (\S+)", done.stderr + done.stdout)
    return f"OpenLDAP {match[1]}" if match else "OpenLDAP"


SOFTWARE = Software(
    name="slapd",
    packages={"slapd": "slapd", "slapadd": "slapd"},
    tls_packages={},
    bind_dn=lambda base: f"cn=admin,{base}",
    check=check,
    configure=configure,
    argv=argv,
    importer=importer,
    counter=counter,
    refused=refused,
    data_files=lambda instance: (posixpath.join(instance.data, "data.mdb"),),
    way_back=lambda _: "",
    read_back=read_back,
    monitor=monitor,
    version=version,
)
TARGET = Target(
    name="ldap_openldap",
    knobs=KNOBS,
    endpoint=EndpointKind.URL,
    check=lambda host, setting: directory_server.check(SOFTWARE, host, setting),
    lacks=lambda host, knobs: lacks(SOFTWARE, host, knobs),
    prepare=lambda host, setting: directory_server.prepare(SOFTWARE, host, setting),
    attach=directory_server.attach,
    drop_caches=lambda host, place: directory_server.drop_caches(SOFTWARE, host, place),
    facts=directory_server.facts,
    teardown=lambda host, setting, place: directory_server.teardown(SOFTWARE, host, setting, place),
    seconds=lambda knobs: (0.0, 2.0 + population.whole(knobs, "entries") * 3e-5),
)
