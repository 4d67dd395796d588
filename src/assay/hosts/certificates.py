"""Certificates for hosts that take part through Dask: an authority of our own, one certificate for each host, valid for days.

The key of the authority exists only while it signs: nobody can issue another certificate later, and nothing is left to guard.
"""

from __future__ import annotations

import datetime as dt
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import MissingError, RefusedError
from assay.frozen import dataclass
from assay.records import HostSpec

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

DAYS = 7
CONTROLLER, SCHEDULER = "controller", "scheduler"
"""Names of the two that are no hosts: who runs the experiment, and a scheduler that the user starts."""
EARLIER = dt.timedelta(hours=1)
"""Certificates are valid from this long ago, because clocks differ."""
LONGEST_NAME = 64
"""Characters of a common name (X.520)."""
AUTHORITY_FILE = "authority.pem"
DIRECTORY_MODE, FILE_MODE = 0o700, 0o600
FLEET = "Install it: pip install 'assay-lab[fleet]'."
"""How an error says what to do where a library of the extra is missing."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate and its private key, as PEM texts."""

    certificate: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Certificates:
    """The certificate of an authority (PEM), one certificate a name, and until when they are valid (seconds since 1970)."""

    authority: str
    of: Mapping[str, Certificate]
    until_s: int


def issued(names: Sequence[str], *, days: int = DAYS) -> Certificates:
    """Issue one certificate for each name, by a new authority.

    Raises MissingError without the library `cryptography`, RefusedError for a name that cannot be one of a file, or for days < 1.
    """
    if days < 1:
        raise RefusedError(f"found days = {days}; expected 1 or more")
    for name in names:
        _check(name)
    try:
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise MissingError(f"certificates need the Python package cryptography ({error}). {FLEET}") from error
    since = dt.datetime.now(dt.UTC) - EARLIER
    until = since + EARLIER + dt.timedelta(days=days)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _signed(("assay authority", authority_key.public_key()), None, authority_key, (since, until))
    of = {}
    for name in dict.fromkeys(names):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed((name, key.public_key()), authority, authority_key, (since, until))
        of[name] = Certificate(certificate=_text(certificate), key=_private_text(key))
    return Certificates(authority=_text(authority), of=of, until_s=int(until.timestamp()))


def written(certificates: Certificates, directory: str | os.PathLike[str]) -> Mapping[str, tuple[Path, Path]]:
    """Write all of them below a directory: `authority.pem`, and for each name `NAME.certificate.pem` and `NAME.key.pem`.

    The directory is made with mode 0700 where it is not there; the files get mode 0600. Returns (certificate, key) by name.
    Raises RefusedError where the directory is open to other users, or a file is there already.
    """
    place = Path(directory)
    place.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    found = place.stat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise RefusedError(
            f"{place} has owner {found.st_uid} and mode {stat.S_IMODE(found.st_mode):o}; expected yourself and 700. "
            "Name a directory that does not exist, or run: chmod 700."
        )
    _write(place / AUTHORITY_FILE, certificates.authority)
    files = {}
    for name, one in certificates.of.items():
        files[name] = (place / f"{name}.certificate.pem", place / f"{name}.key.pem")
        _write(files[name][0], one.certificate)
        _write(files[name][1], one.key)
    return files


@dataclass(frozen=True, kw_only=True)
class Written:
    """Certificates in a directory: until when they are valid (seconds since 1970), and (certificate, key) by name."""

    directory: str
    authority: str
    until_s: int
    files: Mapping[str, tuple[str, str]]


def for_hosts(specs: Sequence[HostSpec], directory: Path, *, days: int = DAYS) -> Written:
    """Issue and write certificates for the hosts that a running scheduler lends, for that scheduler and for the controller.

    Raises RefusedError where there are no such hosts, or as `issued` and `written`.
    """
    names = [spec.name for spec in specs if spec.via == "dask" and spec.scheduler is not None]
    if not names:
        raise RefusedError(
            'found no host with scheduler = "tls://..."; expected one. All other clusters get certificates when they start.'
        )
    issued_now = issued([CONTROLLER, SCHEDULER, *names], days=days)
    files = {name: (str(certificate), str(key)) for name, (certificate, key) in written(issued_now, directory).items()}
    authority = str(directory / AUTHORITY_FILE)
    return Written(directory=str(directory), authority=authority, until_s=issued_now.until_s, files=files)


def _check(name: str) -> None:
    plain = name.replace("-", "a").replace("_", "a").replace(".", "a")
    if not (name.isascii() and plain.isalnum() and not name.startswith((".", "-")) and len(name) <= LONGEST_NAME):
        raise RefusedError(
            f"found the host name {name!r}; a certificate takes letters, digits, '.', '-' and '_', at most {LONGEST_NAME} of them"
        )


def _signed(
    subject: tuple[str, ec.EllipticCurvePublicKey],
    issuer: x509.Certificate | None,
    signer: ec.EllipticCurvePrivateKey,
    valid: tuple[dt.datetime, dt.datetime],
) -> x509.Certificate:
    """Return a certificate for a name and its public key; without an issuer, that of the authority itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    name, key = subject
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    both_ways = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    extensions: tuple[tuple[x509.ExtensionType, bool], ...] = (
        (x509.BasicConstraints(ca=issuer is None, path_length=0 if issuer is None else None), True),
        (x509.SubjectKeyIdentifier.from_public_key(key), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False),
        (_usage(signs=issuer is None), True),
        *(() if issuer is None else ((both_ways, False), (x509.SubjectAlternativeName([x509.DNSName(name)]), False))),
    )
    builder = x509.CertificateBuilder().subject_name(own).issuer_name(own if issuer is None else issuer.subject)
    builder = builder.public_key(key).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(valid[0]).not_valid_after(valid[1])
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(signer, hashes.SHA256())


def _usage(*, signs: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _text(certificate: x509.Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def _private_text(key: ec.EllipticCurvePrivateKey) -> str:
    from cryptography.hazmat.primitives import serialization as form

    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()).decode()


def _write(path: Path, text: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError as error:
        raise RefusedError(f"{path} exists. Choose another directory, or remove the old certificates.") from error
    with open(descriptor, "w", encoding="ascii") as file:  # noqa: PTH123 - a descriptor, not a path
        file.write(text)
