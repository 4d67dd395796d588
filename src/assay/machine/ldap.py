"""A directory server as a client sees it: searches by ldapsearch(1), answers as LDIF, passwords in files alone.

A password is never an argument and never in a record: it is in a file of mode 600 that only its owner can enter, and in the
memory of this process, so that a client's own host can be given the same file.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import posixpath
import re
import secrets
from collections.abc import Iterator, Sequence

from assay.catalogue import Host
from assay.errors import TrialError
from assay.frozen import dataclass

SEARCH_S = 60.0
"""How long one search of our own may take."""
COUNT = """{ "$@"; echo "status $?"; } | awk '/^dn:/ { n++ } /^status / { s = $2 } END { print n + 0, s }'"""
COUNT_S = 3600.0
"""How long a search for all entries may take; ten million names are counted where they come, and go nowhere else."""
NO_SUCH_OBJECT = 32
"""LDAP result code noSuchObject, and the exit status of the tools of ldap-utils then."""
_KEPT: dict[str, str] = {}
"""Path of a password or certificate of ours -> its text, for the hosts of clients."""


@dataclass(frozen=True, kw_only=True)
class LdapAccess:
    """How a directory server is reached, and as whom."""

    url: str
    bind_dn: str = ""
    password_file: str = ""
    ca_file: str = ""
    starttls: bool = False
    any_certificate: bool = False
    """Whether the certificate of an unknown authority is accepted."""

    def command(self, tool: str, *words: str) -> tuple[str, ...]:
        """Return the argument list of a tool of ldap-utils that goes through this door."""
        trust: tuple[str, ...] = ()
        if self.any_certificate:
            trust = ("env", "LDAPTLS_REQCERT=never")
        elif self.ca_file:
            trust = ("env", f"LDAPTLS_CACERT={self.ca_file}", "LDAPTLS_REQCERT=demand")
        who = ("-D", self.bind_dn, "-y", self.password_file) if self.bind_dn else ()
        secure = ("-ZZ",) if self.starttls else ()
        return (*trust, tool, "-x", "-H", self.url, *secure, *who, *words)

    def search(self, base: str, scope: str, filter_text: str, *attributes: str) -> tuple[str, ...]:
        """Return the argument list of a search; its answer is LDIF without comments and folds."""
        shape = ("-LLL", "-o", "ldif-wrap=no")
        return self.command("ldapsearch", *shape, "-b", base, "-s", scope, filter_text, *attributes)


Entry = dict[str, tuple[str, ...]]
"""Attribute in small letters -> its values; `dn` is one of them."""


def entries(host: Host, argv: Sequence[str], timeout_s: float = SEARCH_S) -> tuple[Entry, ...]:
    """Return the entries that a search finds. Raises TrialError with the server's words."""
    done = host.run(argv, check=False, timeout_s=timeout_s)
    if done.status != 0:
        raise TrialError(f"{_server_of(argv)}: {words_of(done.stderr) or f'exit status {done.status}'}")
    return tuple(parse_ldif(done.stdout))


def count(host: Host, door: LdapAccess, base: str) -> int:
    """Return how many entries a server has at and below a base; 0 where the base itself is not there. Raises TrialError."""
    argv = door.search(base, "sub", "(objectClass=*)", "1.1")
    done = host.run(["/bin/sh", "-c", COUNT, "sh", *argv], timeout_s=COUNT_S)
    found, _, status = done.stdout.strip().partition(" ")
    if status not in ("0", str(NO_SUCH_OBJECT)):
        raise TrialError(f"{door.url}: {words_of(done.stderr) or f'exit status {status}'}")
    return int(found)


def words_of(stderr: str) -> str:
    """Return the sentence of an error text of ldap-utils: `Invalid credentials (49)` with the server's own addition."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and "Warning: Password file" not in line]
    return "; ".join(lines)


def _server_of(argv: Sequence[str]) -> str:
    return next((word for word in argv if "://" in word), "the server")


def parse_ldif(text: str) -> Iterator[Entry]:
    """Yield the entries of an LDIF text whose lines are not folded. Raises TrialError for a line that is none."""
    found: dict[str, list[str]] = {}
    for line in (*text.splitlines(), ""):
        if not line:
            if found:
                yield {name: tuple(values) for name, values in found.items()}
            found = {}
        elif not line.startswith("#"):
            name, value = _attribute(line)
            found.setdefault(name, []).append(value)


def _attribute(line: str) -> tuple[str, str]:
    name, separator, value = line.partition(":")
    if not separator:
        raise TrialError(f"found {line[:60]!r} in the server's answer; expected LDIF")
    if not value.startswith(":"):
        return name.lower(), value.strip()
    try:
        return name.lower(), base64.b64decode(value[1:].strip(), validate=True).decode("utf-8", "replace")
    except binascii.Error as error:
        raise TrialError(f"found {line[:60]!r} in the server's answer; expected base64 ({error})") from error


def make_password(host: Host, path: str) -> str:
    """Write a new password into a file of mode 600, in a directory that nobody else can enter; return its salted hash."""
    password = secrets.token_hex(16)
    _write(host, path, password)
    salt = os.urandom(8)
    digest = hashlib.sha1(password.encode() + salt).digest()  # noqa: S324 - a random password of 128 bits
    return "{SSHA}" + base64.b64encode(digest + salt).decode()


def keep(host: Host, path: str) -> None:
    """Remember a small file of ours, such as a certificate, for the hosts of clients."""
    _KEPT[path] = host.read(path)


def copy_to(host: Host, path: str, directory: str) -> str:
    """Write a file of ours, readable by its owner alone, for a client on another host; return the path there."""
    own = posixpath.join(directory, f"{hashlib.blake2b(path.encode(), digest_size=6).hexdigest()}-{posixpath.basename(path)}")
    _write(host, own, _KEPT[path])
    return own


def _write(host: Host, path: str, password: str) -> None:
    host.run(["/bin/sh", "-c", 'umask 077; cat > "$0"', path], input_text=password)
    _KEPT[path] = password


DN = re.compile(r"[A-Za-z][A-Za-z0-9-]*=[^,=]+(,[A-Za-z][A-Za-z0-9-]*=[^,=]+)*")


def dn_mistakes(name: str, dn: str) -> tuple[str, ...]:
    """Return what is wrong with a distinguished name."""
    return () if DN.fullmatch(dn) else (f"found {name} = {dn!r}; expected a distinguished name, such as dc=example,dc=com",)
