"""Why a directory server's certificate is not accepted, by a handshake of our own: ldapsearch only says "Can't contact"."""

from __future__ import annotations

import ipaddress
import re

from assay.catalogue import Host
from assay.errors import AssayError
from assay.machine.ldap import LdapAccess

URL = re.compile(r"(ldaps?)://(?:\[([0-9a-fA-F:]+)\]|([^:/]+))(?::(\d+))?")
PORTS = {"ldap": "389", "ldaps": "636"}
VERIFIED = re.compile(r"verif(?:y|ication) error:(?:num=\d+:)?\s*(.+)", re.IGNORECASE)
PATIENCE_S = 10.0


def certificate_problem(host: Host, door: LdapAccess) -> str | None:
    """Say in openssl's words what is wrong with the certificate; None where nothing is, or no handshake could be made."""
    match = URL.match(door.url)
    if match is None or door.any_certificate or not (match[1] == "ldaps" or door.starttls):
        return None
    name = match[2] or match[3]
    argv = [
        *("openssl", "s_client", "-connect", f"{f'[{name}]' if match[2] else name}:{match[4] or PORTS[match[1]]}", "-brief"),
        *("-verify_return_error", "-verify_ip" if _is_address(name) else "-verify_hostname", name),
        *(("-CAfile", door.ca_file) if door.ca_file else ()),
        *(("-starttls", "ldap") if door.starttls else ()),
    ]
    try:
        done = host.run(argv, check=False, input_text="", timeout_s=PATIENCE_S)
    except (AssayError, OSError):
        return None
    told = VERIFIED.search(done.stderr + done.stdout)
    return told[1].strip() if told else None


def _is_address(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False
