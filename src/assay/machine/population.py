"""What a directory holds: entries by template, made by the engine (`assay ldif`), or the user's own LDIF file."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Iterable, Mapping

from assay import units
from assay.catalogue import Host, Knob, KnobKind, Setting, Unit
from assay.errors import TrialError
from assay.frozen import dataclass, field
from assay.machine import files
from assay.machine.ldap import parse_ldif
from assay.records import Value

TEMPLATES: Mapping[str, int] = {"person": 527, "account": 672}
"""Template -> mean bytes of LDIF of an entry (measured over the first million)."""
MOST_ENTRIES = 100_000_000
OWN_BYTES = 111
"""Bytes of LDIF of an entry that a load renames or deletes, below the usual base."""
DATABASE_TIMES = 4
"""How much larger a database with indexes is than its LDIF (measured: 3.3 for LMDB, 2.6 for Berkeley DB)."""
BASE = "dc=example,dc=com"
SUFFIX = re.compile(r"(dc|o|ou)=[A-Za-z0-9 _.-]+(,[A-Za-z]+=[A-Za-z0-9 _.-]+)*", re.IGNORECASE)
EXPECTED_SUFFIX = f"expected a DN that begins with dc=, o= or ou=, such as {BASE}"
ATTRIBUTES = frozenset(
    {
        *("objectclass", "uid", "cn", "sn", "givenname", "mail", "employeenumber", "title", "departmentnumber", "l", "street"),
        *("postalcode", "roomnumber", "telephonenumber", "mobile", "description", "manager"),
        *("uidnumber", "gidnumber", "homedirectory", "loginshell", "userpassword"),
        *("ou", "dc", "o", "member", "uniquemember", "memberuid", "entryuuid", "entrycsn"),
    }
)
"""Attributes that entries of the templates have, and those of groups: what may be indexed without a schema of the user."""
SCHEMA = frozenset(
    (
        *ATTRIBUTES,
        *("commonname", "surname", "userid", "rfc822mailbox", "localityname", "stateorprovincename", "organizationname"),
        *("organizationalunitname", "c", "countryname", "domaincomponent", "gn", "streetaddress", "mobiletelephonenumber"),
        *("fax", "pagertelephonenumber", "seealso", "x121address", "st", "registeredaddress", "destinationindicator"),
        *("preferreddeliverymethod", "telexnumber", "teletexterminalidentifier", "owner", "gecos"),
        *("internationalisdnnumber", "facsimiletelephonenumber", "postofficebox", "postaladdress"),
        *("physicaldeliveryofficename", "audio", "businesscategory", "carlicense", "displayname", "employeetype"),
        *("homephone", "homepostaladdress", "initials", "jpegphoto", "labeleduri", "pager", "photo", "secretary"),
        *("usercertificate", "x500uniqueidentifier", "preferredlanguage", "usersmimecertificate", "userpkcs12", "entrydn"),
        *("createtimestamp", "modifytimestamp", "creatorsname", "modifiersname", "structuralobjectclass"),
        *("subschemasubentry", "hassubordinates", "numsubordinates", "entryid", "parentid", "memberof"),
    )
)
"""What people, accounts and groups may have (RFC 4519, RFC 4524, RFC 2798, RFC 2307), and what the servers add themselves."""
OF_SERVERS = ("ns", "pwd")
"""How further attributes of the servers begin."""
KNOBS = (
    Knob(name="entries", kind=KnobKind.INTEGER, default=10_000, low=0, high=MOST_ENTRIES, help="entries of the template"),
    Knob(name="template", kind=KnobKind.TEXT, default="person", help=f"template of the entries: {' or '.join(TEMPLATES)}"),
    Knob(name="seed", kind=KnobKind.INTEGER, default=1, low=0, help="seed of the entries: the same bytes for the same seed"),
    Knob(name="ldif", kind=KnobKind.PATH, help="the user's own LDIF file instead of a template; only read"),
    Knob(name="schema", kind=KnobKind.TEXTS, default=(), help="further schema files, in the server's own format; only read"),
    Knob(name="base", kind=KnobKind.TEXT, default=BASE, help="suffix of the directory"),
)


@dataclass(frozen=True, kw_only=True)
class Population:
    """An LDIF file with the number of its entries."""

    path: str
    entries: int
    bytes: int
    name: str
    """Template, entries and seed, or the user's file."""
    own: Mapping[str, int] = field(default_factory=dict)
    """First letter of a name -> how many entries there are besides for a load that renames or deletes them."""


def mistakes(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the knobs of a population on this host."""
    knobs, found = setting.knobs, []
    if knobs.get("template") not in TEMPLATES:
        found.append(f"found template = {knobs.get('template')!r}; expected one of: {', '.join(TEMPLATES)}")
    base = str(knobs.get("base"))
    if SUFFIX.fullmatch(base) is None:
        found.append(f"found base = {base!r}; {EXPECTED_SUFFIX}")
    found += [
        f"{path}: no readable file. Correct `ldif` or `schema`."
        for path in (*texts(knobs, "schema"), *([str(knobs["ldif"])] if knobs.get("ldif") else ()))
        if host.run(["test", "-f", path, "-a", "-r", path], check=False).status != 0
    ]
    return (*found, *_another_base(host, knobs), *_no_room(host, setting))


def _another_base(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return that the user's file begins with another entry than the suffix, if it does."""
    path, base = str(knobs.get("ldif") or ""), str(knobs.get("base"))
    if not path:
        return ()
    line = host.run(["grep", "-m1", "-i", "^dn:", "--", path], check=False).stdout.strip()
    first = next(iter(next(parse_ldif(f"{line}\n"), {}).get("dn", ())), "") if line else ""
    if not first or plain_dn(first) == plain_dn(base):
        return ()
    return (f"found base = {base!r}, and {path} begins with the entry {first}; expected base = {first!r}",)


def plain_dn(dn: str) -> str:
    """Return a DN as it can be compared: small letters, no blanks around its parts."""
    return re.sub(r"\s*([,=])\s*", r"\1", dn.strip().lower())


DEFINED = re.compile(r"\bNAME\s+\(?\s*'([^']+)'")
"""The first name of an attribute or class (RFC 4512, section 4.1)."""


def names_of(texts_of_schema: Iterable[str]) -> set[str]:
    """Return the names of the attributes and classes that are defined in these texts, in small letters."""
    return {name.lower() for text in texts_of_schema for name in DEFINED.findall(text)}


def defined(host: Host, knobs: Mapping[str, Value]) -> set[str]:
    """Return the names that the user's schema files define; LDIF is folded, and a fold may be within a word."""
    found: set[str] = set()
    for path in texts(knobs, "schema"):
        lines = [line for line in host.read(path).splitlines() if not line.startswith("#")]
        text = "\n".join(lines)
        found |= names_of([text.replace("\n ", "") if path.endswith(".ldif") else text])
    return found


def _no_room(host: Host, setting: Setting) -> tuple[str, ...]:
    if not setting.scratch or not host.exists(setting.scratch):
        return ()
    wanted = needed_bytes(host, setting.knobs, sum(setting.own_entries.values()))
    amount = units.human(wanted, Unit.BYTES)
    return tuple(
        f"no room for the population and its database, about {amount}: {text}"
        for text in files.mistakes(host, setting.scratch, wanted)
    )


def needed_bytes(host: Host, knobs: Mapping[str, Value], own: int = 0) -> int:
    """Return about how many bytes LDIF and database take, with so many entries of a load besides those of the template."""
    if knobs.get("ldif"):
        done = host.run(["stat", "-L", "-c", "%s", "--", str(knobs["ldif"])], check=False)
        size = int(done.stdout) if done.status == 0 else 0
        return size * DATABASE_TIMES
    mean = TEMPLATES.get(str(knobs.get("template")), 0)
    return (whole(knobs, "entries") * mean + own * OWN_BYTES) * (1 + DATABASE_TIMES)


def indexes_of(knobs: Mapping[str, Value]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return attribute and kinds of each index: `mail:eq,sub`."""
    pairs = (text.partition(":") for text in texts(knobs, "indexes"))
    return tuple((name.strip(), tuple(kinds.replace(" ", "").split(","))) for name, _, kinds in pairs)


def is_known(attribute: str) -> bool:
    """Return True if the schema of the servers has an attribute, whatever its options (`;binary`)."""
    name = attribute.partition(";")[0].lower()
    return name in SCHEMA or name.startswith(OF_SERVERS)


KINDS = ("eq", "pres", "sub", "approx")


def index_mistakes(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return what is wrong with the indexes: an attribute that no entry has, a kind that there is not."""
    found = []
    for name, kinds in indexes_of(knobs):
        if name.lower() not in ATTRIBUTES and not texts(knobs, "schema") and not knobs.get("ldif"):
            found.append(
                f"found an index of {name!r}; expected an attribute of the template: {', '.join(sorted(ATTRIBUTES))}. "
                "An attribute of your own needs `schema` and `ldif`."
            )
        strange = [kind for kind in kinds if kind not in KINDS]
        if strange:
            found.append(f"found index {name}:{','.join(kinds)}; expected ATTRIBUTE:KIND,… with kinds of: {', '.join(KINDS)}")
    return tuple(found)


def provide(host: Host, setting: Setting) -> Population:
    """Return the LDIF file of a setting, made once for each experiment. Raises TrialError where it cannot be made."""
    knobs = setting.knobs
    if knobs.get("ldif"):
        path = host.real_path(str(knobs["ldif"]))
        return Population(path=path, entries=_count(host, path), bytes=_size(host, path), name=path)
    template, entries, seed, base = str(knobs["template"]), whole(knobs, "entries"), whole(knobs, "seed"), str(knobs["base"])
    name = f"{template}, {entries} entries, seed {seed}"
    own = ",".join(f"{letter}:{count}" for letter, count in sorted(setting.own_entries.items()))
    digest = hashlib.blake2b(f"{name}, {base}, {own}".encode(), digest_size=6).hexdigest()
    path = posixpath.join(setting.scratch, f"population-{digest}.ldif")
    if not host.exists(f"{path}.json"):
        argv = [setting.engine, "ldif", "--template", template, "--entries", str(entries), "--own", own]
        done = host.run([*argv, "--seed", str(seed), "--base", base, "--to", f"{path}.new"])
        host.run(["mv", "-f", "--", f"{path}.new", path])
        written = json.loads(done.stderr.strip().splitlines()[-1])
        host.write(f"{path}.json", json.dumps(written))
    written = json.loads(host.read(f"{path}.json"))
    return Population(path=path, entries=written["entries"], bytes=written["bytes"], name=name, own=setting.own_entries)


def _count(host: Host, path: str) -> int:
    """Return how many entries a file has: lines that begin with `dn:`."""
    done = host.run(["grep", "-c", "-i", "^dn:", "--", path], check=False)
    if not done.stdout.strip().isdigit() or done.stdout.strip() == "0":
        raise TrialError(f"{path}: no entry in it. Use LDIF whose entries begin with `dn:`.")
    return int(done.stdout)


def _size(host: Host, path: str) -> int:
    return int(host.run(["stat", "-L", "-c", "%s", "--", path]).stdout)


def whole(knobs: Mapping[str, Value], name: str) -> int:
    """Return a knob that is a whole number; 0 where it is not set."""
    value = knobs.get(name)
    return value if isinstance(value, int) else 0


def texts(knobs: Mapping[str, Value], name: str) -> tuple[str, ...]:
    """Return a knob that is a list of texts."""
    value = knobs.get(name)
    return tuple(str(item) for item in value) if isinstance(value, tuple) else ()
