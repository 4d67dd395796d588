"""The user-based security of SNMP 3: keys from passwords, authentication and encryption of messages (RFC 3414, 3826, 7860)."""

from __future__ import annotations

import functools
import hashlib
import hmac
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.errors import MissingError, UsageError
from assay.frozen import dataclass
from assay.hosts.snmp_message import OCTETS, Envelope, MessageError, Parameters, element, fields, secured_message

AUTHENTICATIONS = {
    "sha": ("sha1", 12),
    "sha224": ("sha224", 16),
    "sha256": ("sha256", 24),
    "sha384": ("sha384", 32),
    "sha512": ("sha512", 48),
}
"""Name in the file -> hash function, and how many bytes of it go with a message."""
PRIVACIES = ("aes128",)
AUTHENTICATED, ENCRYPTED, REPORTABLE = 1, 2, 4
LEAST_PASSWORD = 8
MEBIBYTE = 1 << 20
BLOCK_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """Who asks: a community of version 2c, or a user of version 3. Its secrets are in no text that Assay prints."""

    community: bytes = b""
    user: str = ""
    authentication: str = ""
    authentication_password: bytes = b""
    privacy: str = ""
    privacy_password: bytes = b""

    def __repr__(self) -> str:
        """Return what may be printed of it."""
        return f"Credentials(user={self.user!r})" if self.user else "Credentials(community)"


def community_of(file: Path) -> Credentials:
    """Read a file with a community: its first line. Raises UsageError."""
    text = _private(file).splitlines()
    if not text or not text[0].strip():
        raise UsageError(f"{file}: found no community; expected it on the first line")
    return Credentials(community=text[0].strip().encode())


def user_of(file: Path) -> Credentials:
    """Read a TOML file with a user of version 3: user, auth, auth_password, privacy, privacy_password. Raises UsageError."""
    try:
        found = tomllib.loads(_private(file))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: found no TOML (line and column of the mistake: {str(error).rpartition('(')[2]}") from None
    mistakes = list(_mistakes(found))
    if mistakes:
        raise UsageError("\n".join(f"{file}: {mistake}" for mistake in mistakes))
    return Credentials(
        user=found["user"],
        authentication=found["auth"],
        authentication_password=found["auth_password"].encode(),
        privacy=found.get("privacy", ""),
        privacy_password=found.get("privacy_password", "").encode(),
    )


def _mistakes(found: Mapping[str, object]) -> list[str]:
    """What is wrong with the keys; no value of a password is in it."""
    keys = ("user", "auth", "auth_password", "privacy", "privacy_password")
    wrong = [f"found unknown key {key!r}; expected {', '.join(keys)}" for key in found if key not in keys]
    needed = keys if "privacy" in found or "privacy_password" in found else keys[:3]
    wrong += [
        f"found no text for {key!r}; expected one" for key in needed if not isinstance(found.get(key), str) or not found[key]
    ]
    if not wrong and found["auth"] not in AUTHENTICATIONS:
        wrong.append(f"found auth = {found['auth']!r}; expected one of {', '.join(AUTHENTICATIONS)}")
    if not wrong and found.get("privacy", PRIVACIES[0]) not in PRIVACIES:
        wrong.append(f"found privacy = {found['privacy']!r}; expected {PRIVACIES[0]}")
    short = [
        key for key in ("auth_password", "privacy_password") if len(str(found.get(key, " " * LEAST_PASSWORD))) < LEAST_PASSWORD
    ]
    return wrong or [f"found {key!r} of fewer than {LEAST_PASSWORD} characters; expected more" for key in short]


def _private(file: Path) -> str:
    """The text of a file that no other user may read. Raises UsageError."""
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"{file}: {reason}. Write the secret of the SNMP agent into this file.") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"{file}: found mode {stat.S_IMODE(mode):04o}; expected 0600. Run `chmod 600 {file}`.")
    return text


@functools.lru_cache(maxsize=64)
def localized(algorithm: str, password: bytes, engine: bytes) -> bytes:
    """Return the key of a password for one agent: the hash of a mebibyte of it, then with the agent's name around."""
    key = hashlib.new(algorithm, (password * (MEBIBYTE // len(password) + 1))[:MEBIBYTE]).digest()
    return hashlib.new(algorithm, key + engine + key).digest()


def sealed(who: Credentials, number: int, agent: Parameters, content: bytes) -> bytes:
    """Return a message of a user to an agent whose name, boots and time are known. Raises MissingError."""
    algorithm, length = AUTHENTICATIONS[who.authentication]
    parameters = replace(agent, user=who.user.encode(), authentication=bytes(length), privacy=b"")
    flags = REPORTABLE | AUTHENTICATED
    if who.privacy:
        salt = os.urandom(8)
        key = localized(algorithm, who.privacy_password, agent.engine)[:BLOCK_BYTES]
        content = element(OCTETS, _encrypted(key, _vector(agent, salt), content))
        parameters, flags = replace(parameters, privacy=salt), flags | ENCRYPTED
    whole = secured_message(number, flags, parameters, content)
    mac = hmac.new(localized(algorithm, who.authentication_password, agent.engine), whole, algorithm).digest()[:length]
    return secured_message(number, flags, replace(parameters, authentication=mac), content)


def opened(who: Credentials, data: bytes, envelope: Envelope) -> bytes:
    """Return the scoped PDU of an answer that is provably the agent's. Raises MessageError, MissingError."""
    algorithm, length = AUTHENTICATIONS[who.authentication]
    given, wanted = envelope.flags, AUTHENTICATED | (ENCRYPTED if who.privacy else 0)
    mac = envelope.parameters.authentication
    if given & wanted != wanted or len(mac) != length or data.count(mac) != 1:
        raise MessageError("found an answer without authentication or encryption; expected both as asked")
    key = localized(algorithm, who.authentication_password, envelope.parameters.engine)
    if not hmac.compare_digest(hmac.new(key, data.replace(mac, bytes(length)), algorithm).digest()[:length], mac):
        raise MessageError("found an answer with a wrong digest; expected that of the password")
    if not who.privacy:
        return envelope.content
    (secret,) = fields(envelope.content, OCTETS)
    key = localized(algorithm, who.privacy_password, envelope.parameters.engine)[:BLOCK_BYTES]
    return _decrypted(key, _vector(envelope.parameters, envelope.parameters.privacy), secret)


def _vector(agent: Parameters, salt: bytes) -> bytes:
    return agent.boots.to_bytes(4, "big") + agent.time.to_bytes(4, "big") + salt


def _encrypted(key: bytes, vector: bytes, text: bytes) -> bytes:
    """AES in cipher feedback mode: each block is masked with the encrypted block before it."""
    found, before = bytearray(), vector
    for at in range(0, len(text), BLOCK_BYTES):
        before = _masked(text[at : at + BLOCK_BYTES], _blocks(key, before))
        found += before
    return bytes(found)


def _decrypted(key: bytes, vector: bytes, text: bytes) -> bytes:
    shifted = (vector + text)[: (len(text) + BLOCK_BYTES - 1) // BLOCK_BYTES * BLOCK_BYTES]
    return _masked(text, _blocks(key, shifted))


def _masked(text: bytes, mask: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(text, mask, strict=False))


def _blocks(key: bytes, text: bytes) -> bytes:
    """Encrypt whole blocks by AES, each by itself."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        raise MissingError("cryptography: not found. Encryption of SNMP 3 needs `pip install 'assay-lab[fleet]'`.") from None
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(text)  # noqa: S305 - the feedback is ours
