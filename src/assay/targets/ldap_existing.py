"""A directory server that runs already: it is only queried, or written to below one entry that Assay made and marked.

The password is read from a file by the tools of ldap-utils; it is in no argument, record or report. With `write = true` each
trial makes an organisational unit of its own below `base`, and removes it with everything below it afterwards.
"""

from __future__ import annotations

import ipaddress
import json
import re
import secrets
import shlex
from collections.abc import Mapping

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import RefusedError, TrialError, refuse
from assay.machine import ldap, ldap_tls, server
from assay.machine.ldap import Entry, LdapAccess, entries
from assay.records import Endpoint, EndpointKind, Place, Server, ServerNode, Value

URL = re.compile(r"(ldaps?://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?|ldapi://[^\s/]+)/?")
OPENLDAP, DS389 = "slapd", "389-ds"
REMOVAL_S = 3600.0
"""How long the removal of a trial's entries may take; the ledger's own way back has less, and goes on where it was."""
FILES, ANY_CERTIFICATE = ("password_file", "ca_file"), "any_certificate"


def absolute(host: Host, knobs: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return the knobs with whole paths of the files: what undoes a trial may run from another directory."""
    return {**knobs, **{name: host.real_path(str(knobs[name])) for name in FILES if knobs.get(name)}}


def door_of(knobs: Mapping[str, Value]) -> LdapAccess:
    """Return how the server is reached."""
    texts = {name: str(knobs.get(name) or "") for name in ("url", "bind_dn", "password_file", "ca_file")}
    return LdapAccess(**texts, starttls=knobs.get("starttls") is True, any_certificate=knobs.get(ANY_CERTIFICATE) is True)


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong: the texts first, then what the server says to a bind and a look at the base."""
    knobs, found = setting.knobs, []
    url, base = str(knobs.get("url")), str(knobs.get("base"))
    if URL.fullmatch(url) is None:
        found.append(f"found url = {url!r}; expected ldap://HOST:PORT, ldaps://HOST:PORT or ldapi://%2Fpath%2Fof%2Fthe%2Fsocket")
    found += ldap.dn_mistakes("base", base)
    if knobs.get("bind_dn"):
        found += ldap.dn_mistakes("bind_dn", str(knobs["bind_dn"]))
        found += _password_mistakes(host, knobs)
    elif knobs.get("password_file"):
        found.append("found password_file without bind_dn; expected both, or neither for anonymous searches")
    if knobs.get("starttls") is True and not url.startswith("ldap:"):
        found.append(f"found starttls with url {url}; expected ldap://, since ldaps and ldapi are secure already")
    found += lacks(host, knobs)
    return tuple(found) or _answers(host, door_of(knobs), base)


def lacks(host: Host, _knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the program that asks servers, where this host lacks it."""
    is_there = host.run(["/bin/sh", "-c", "command -v ldapsearch"], check=False).status == 0
    return () if is_there else ("ldapsearch: not found. Install ldap-utils.",)


def _password_mistakes(host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
    path = str(knobs.get("password_file") or "")
    if not path:
        return ("found bind_dn without password_file; expected a file that holds the password alone, without a line end",)
    done = host.run(["stat", "-L", "-c", "%a", "--", path], check=False)
    if done.status != 0:
        return (f"{path}: no such file. Correct password_file.",)
    if int(done.stdout.strip()[-2:], 8):
        return (f"{path}: other users may read it (mode {done.stdout.strip()}). Run `chmod 600 {path}`.",)
    return ()


def _answers(host: Host, door: LdapAccess, base: str) -> tuple[str, ...]:
    try:
        found = entries(host, door.search(base, "base", "(objectClass=*)", "1.1"), timeout_s=30.0)
    except TrialError as error:
        if wrong := ldap_tls.certificate_problem(host, door):
            remedy = "Correct ca_file or the name in url, or renew the certificate."
            return (f"{door.url}: its certificate is not accepted: {wrong}. {remedy}",)
        return (f"{error}. Correct url, bind_dn, password_file or base.",)
    return () if found else (f"{door.url}: nothing at base {base} for {door.bind_dn or 'anonymous'}. Correct base or bind_dn.",)


def prepare(host: Host, setting: Setting) -> Place:
    """Describe the server; with `write`, make and mark the entry below which is written. Raises UsageError, TrialError."""
    refuse(check(host, setting))
    knobs = absolute(host, setting.knobs)
    door = door_of(knobs)
    root = next(iter(entries(host, door.search("", "base", "(objectClass=*)", "*", "+"))), {})
    private: dict[str, Value] = {
        "software": _software(root),
        "version": " ".join(root.get("vendorversion", ())) or "not given",
        "contexts": "; ".join(root.get("namingcontexts", ())),
    }
    if knobs.get("write") is True:
        private["own"], private["undo"] = _own_entry(host, setting, door, str(knobs["base"]))
    monitor = _monitor(host, door, _software(root))
    node = ServerNode(host=host.name, address=_address(door.url), software=_software(root) or None, monitor=monitor)
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.URL,
        address=door.url,
        private=private,
        server=Server(nodes=(node,)),
    )


def _software(root: Entry) -> str:
    if "OpenLDAProotDSE" in root.get("objectclass", ()):
        return OPENLDAP
    return DS389 if any("389" in text for text in root.get("vendorname", ()) + root.get("vendorversion", ())) else ""


def _monitor(host: Host, door: LdapAccess, software: str) -> tuple[tuple[str, ...], ...]:
    """Return the searches that give the server's counters; none where this bind may not read them."""
    names = ("monitorOpInitiated", "monitorOpCompleted", "monitorCounter")
    known = {
        OPENLDAP: door.search("cn=Monitor", "sub", "(|(objectClass=monitorOperation)(objectClass=monitorCounterObject))", *names),
        DS389: door.search("cn=snmp,cn=monitor", "base", "(objectClass=*)"),
    }
    argv = known.get(software)
    try:
        return (argv,) if argv and entries(host, argv) else ()
    except TrialError:
        return ()


def _address(url: str) -> str | None:
    """Return the IP address of a URL; None for a name or a socket, whose way is not observed."""
    match = re.match(r"ldaps?://(?:\[([^\]]+)\]|([^:/]+))", url)
    try:
        return str(ipaddress.ip_address(match[1] or match[2])) if match else None
    except ValueError:
        return None


def _own_entry(host: Host, setting: Setting, door: LdapAccess, base: str) -> tuple[str, str]:
    """Make the marked entry after its ledger entry; return its DN and the arguments that remove it."""
    marker = secrets.token_hex(8)
    dn = f"ou=assay-{marker[:12]},{base}"
    look = shlex.join(door.search(dn, "base", f"(description=assay {marker})", "1.1"))
    delete = shlex.join(door.command("ldapdelete", "-r", dn))
    script = f"{look} 2>/dev/null | grep -q '^dn:' || exit 0; {delete} || [ $? -eq {ldap.NO_SUCH_OBJECT} ]"
    back = json.dumps(["/bin/sh", "-c", script])
    setting.undo.add("command", argv=back)
    text = f"dn: {dn}\nobjectClass: organizationalUnit\ndescription: assay {marker}\n"
    done = host.run(door.command("ldapadd"), input_text=text, check=False)
    if done.status != 0:
        setting.undo.undo("command", argv=back)
        raise RefusedError(f"{door.url}: no entry may be made below {base}: {ldap.words_of(done.stderr)}. Leave `write` out.")
    return dn, back


def attach(host: Host, setting: Setting, place: Place, _client: int) -> Endpoint:
    """Return the URL with base, bind DN and password file; these files must be on each client's host."""
    knobs = absolute(host, setting.knobs)
    details: dict[str, Value] = {"base": str(knobs["base"]), "software": place.private["software"]}
    details |= {name: str(knobs[name]) for name in ("bind_dn", "password_file", "ca_file") if knobs.get(name)}
    if knobs.get("starttls") is True:
        details["starttls"] = "on"
    if knobs.get(ANY_CERTIFICATE) is True:
        details[ANY_CERTIFICATE] = "on"
    if "own" in place.private:
        details["writable_base"] = place.private["own"]
    missing = [name for name in FILES if details.get(name) and not host.exists(str(details[name]))]
    refuse([f"{details[name]}: not on host {host.name}. Put {name} there, readable by its owner alone." for name in missing])
    return Endpoint(kind=EndpointKind.URL, address=place.address, details=details)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the software, its version, its suffixes, and the way to it."""
    known = [(name, str(place.private[name])) for name in ("software", "version", "contexts")]
    return (*((name, text) for name, text in known if text), *server.facts(host, place.server))


def drop_caches(_host: Host, place: Place) -> None:
    """Refuse: the server belongs to somebody else. Raises RefusedError."""
    raise RefusedError(
        f"target {place.target} is a server of somebody else, which Assay does not restart. Use cache = unchanged."
    )


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """Remove the entry of this trial with everything below it; a server that flushes each change needs long for many entries."""
    if "undo" in place.private:
        back = str(place.private["undo"])
        host.run([str(word) for word in json.loads(back)], timeout_s=REMOVAL_S, check=False)
        setting.undo.undo("command", argv=back)


TARGET = Target(
    name="ldap_existing",
    knobs=(
        Knob(name="url", kind=KnobKind.TEXT, required=True, help="ldap://HOST:PORT, ldaps://HOST:PORT or ldapi://SOCKET"),
        Knob(name="base", kind=KnobKind.TEXT, required=True, help="entry at and below which is searched"),
        Knob(name="bind_dn", kind=KnobKind.TEXT, help="who binds; default: anonymous"),
        Knob(name="password_file", kind=KnobKind.PATH, help="file with the password alone, mode 600, without a line end"),
        Knob(name="ca_file", kind=KnobKind.PATH, help="certificate of the authority that is trusted"),
        Knob(name="starttls", kind=KnobKind.SWITCH, default=False, help="secure the connection before anything else"),
        Knob(name=ANY_CERTIFICATE, kind=KnobKind.SWITCH, default=False, help="accept a certificate of an unknown authority"),
        Knob(name="write", kind=KnobKind.SWITCH, default=False, help="make an entry below base, and write below that alone"),
    ),
    endpoint=EndpointKind.URL,
    check=check,
    lacks=lacks,
    prepare=prepare,
    attach=attach,
    drop_caches=drop_caches,
    facts=facts,
    teardown=teardown,
)
