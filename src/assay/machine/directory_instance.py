"""A directory server of our own: its knobs, where it is and how it is reached, and what differs between software."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping

from assay.catalogue import Host, Knob, KnobKind, Setting, Unit
from assay.frozen import dataclass
from assay.machine import ldap, population, service
from assay.machine.ldap import LdapAccess
from assay.records import Value

TCP, TLS, STARTTLS, LDAPI = "tcp", "tls", "starttls", "ldapi"
TRANSPORTS = (TCP, TLS, STARTTLS, LDAPI)
RUNNING, EMPTY, STOPPED = "running", "empty", "stopped"
STATES = (RUNNING, EMPTY, STOPPED)
LOOPBACK = "127.0.0.1"

KNOBS = (
    *population.KNOBS,
    Knob(name="state", kind=KnobKind.CHOICE, choices=STATES, default=RUNNING, help="filled, without entries, or not started"),
    Knob(name="server.cache", kind=KnobKind.QUANTITY, unit=Unit.BYTES, low=1, help="entry cache of the server"),
    Knob(name="server.threads", kind=KnobKind.INTEGER, low=1, help="threads of the server"),
    Knob(name="server.tool_threads", kind=KnobKind.INTEGER, low=1, high=64, help="threads of its offline import"),
    Knob(name="indexes", kind=KnobKind.TEXTS, default=("objectClass:eq", "uid:eq", "mail:eq"), help="ATTRIBUTE:KIND,…"),
    Knob(name="backend", kind=KnobKind.CHOICE, choices=("mdb", "bdb"), help="database below the server"),
    Knob(name="durable", kind=KnobKind.SWITCH, default=True, help="whether each change is flushed before its answer"),
    Knob(name="read_ahead", kind=KnobKind.SWITCH, help="whether the kernel reads ahead in the database"),
    Knob(name="transport", kind=KnobKind.CHOICE, choices=TRANSPORTS, default=TCP, help="how clients reach it"),
    Knob(name="address", kind=KnobKind.TEXT, default=LOOPBACK, help="IP address at which it listens"),
    *service.KNOBS,
)


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One server of ours: where it is, how it is reached, what was asked of it."""

    directory: str
    base: str
    bind_dn: str
    address: str
    port: int
    transport: str
    socket: str
    knobs: Mapping[str, Value]
    own_entries: int = 0
    """Entries that a load renames or deletes, besides the population."""

    def path(self, *names: str) -> str:
        """A path in its directory."""
        return posixpath.join(self.directory, *names)

    @property
    def data(self) -> str:
        """The directory of its database."""
        return self.path("data")

    @property
    def url(self) -> str:
        """What clients use."""
        if self.transport == LDAPI:
            return self.local
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'ldaps' if self.transport == TLS else 'ldap'}://{host}:{self.port}"

    @property
    def local(self) -> str:
        """The socket through which Assay itself looks."""
        return f"ldapi://{self.socket.replace('/', '%2F')}"

    @property
    def uses_tls(self) -> bool:
        """Whether its clients need its certificate."""
        return self.transport in (TLS, STARTTLS)

    @property
    def password_file(self) -> str:
        """The password of its administrator."""
        return self.path("password")

    @property
    def certificate(self) -> str:
        """Its certificate."""
        return self.path("certificate.pem")

    @property
    def authority(self) -> str:
        """The certificate of the authority that signed it, made for this server alone."""
        return self.path("authority.pem")

    def admin(self, dn: str | None = None) -> LdapAccess:
        """The administrator, through the socket."""
        return LdapAccess(url=self.local, bind_dn=self.bind_dn if dn is None else dn, password_file=self.password_file)

    def client(self) -> LdapAccess:
        """The administrator as a client of the chosen transport."""
        trust = self.authority if self.uses_tls else ""
        return LdapAccess(
            url=self.url,
            bind_dn=self.bind_dn,
            password_file=self.password_file,
            ca_file=trust,
            starttls=self.transport == STARTTLS,
        )


@dataclass(frozen=True, kw_only=True)
class Readback:
    """One setting: what was asked for, and what the running server says."""

    knob: str
    wanted: str
    found: str


def served(host: Host, instance: Instance) -> Iterator[Readback]:
    """Yield what the root entry of every server says: its suffix, and the definitions of the user's schema."""
    door = instance.admin()
    root = next(iter(ldap.entries(host, door.search("", "base", "(objectClass=*)", "namingContexts", "subschemaSubentry"))), {})
    suffixes = {population.plain_dn(dn): dn for dn in root.get("namingcontexts", ())}
    found = instance.base if population.plain_dn(instance.base) in suffixes else "; ".join(suffixes.values())
    yield Readback(knob="base", wanted=instance.base, found=found)
    schema = population.defined(host, instance.knobs)
    if schema:
        where = next(iter(root.get("subschemasubentry", ())), "")
        shown = ldap.entries(host, door.search(where, "base", "(objectClass=*)", "attributeTypes", "objectClasses"))
        known = population.names_of(text for entry in shown for name, values in entry.items() if name != "dn" for text in values)
        lacking = ", ".join(sorted(schema - known))
        every = f"{len(schema)} definitions"
        yield Readback(knob="schema", wanted=every, found=f"{every} but for {lacking}" if lacking else every)


@dataclass(frozen=True, kw_only=True)
class Software:
    """What differs between directory servers."""

    name: str
    """As records name it: `slapd`, `389-ds`."""
    packages: Mapping[str, str]
    """Each program that it needs -> its Debian package."""
    tls_packages: Mapping[str, str]
    """The same of what it needs for a certificate besides openssl."""
    bind_dn: Callable[[str], str]
    """The administrator's DN, from the base."""
    check: Callable[[Host, Setting], tuple[str, ...]]
    """Knobs that this server does not have, and what else stands against it."""
    configure: Callable[[Host, Instance, str], None]
    """Write its configuration; the last argument is the hash of the administrator's password."""
    argv: Callable[[Instance], tuple[str, ...]]
    """The server in the foreground."""
    importer: Callable[[Instance, str], tuple[str, ...]]
    """Its own offline import of an LDIF file."""
    counter: Callable[[Instance], str]
    """A line of sh that prints how many entries the database of the stopped server has."""
    refused: Callable[[Instance], str]
    """A line of sh that prints which entries the last import refused, from `import.log`."""
    data_files: Callable[[Instance], tuple[str, ...]]
    """The files that an import writes."""
    way_back: Callable[[Instance], str]
    """A command (argv as JSON) that removes what it makes outside its own directory; empty where it makes nothing there."""
    read_back: Callable[[Host, Instance], tuple[Readback, ...]]
    monitor: Callable[[Instance], tuple[tuple[str, ...], ...]]
    """Commands that print its counters; each is one connection, bind and search."""
    version: Callable[[Host], str]
    kept_cache: str = ""
    """Files below its directory that keep its cache while it is stopped, as a pattern of sh; it makes them anew."""


def lacks(software: Software, host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the programs that are missing."""
    needed = {**software.packages, "ldapsearch": "ldap-utils"}
    if knobs.get("transport") in (TLS, STARTTLS):
        needed |= {"openssl": "openssl, which makes the certificate", **software.tls_packages}
    return tuple(
        f"{tool}: not found. Install {package}." for tool, package in needed.items() if not service.is_installed(host, tool)
    )
