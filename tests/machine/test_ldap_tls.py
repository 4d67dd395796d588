"""Certificates that are not accepted, each named: by a real handshake with a server that is no directory."""

import datetime as dt
import ipaddress
import socket
import subprocess
import time

import pytest

from assay.machine.ldap import LdapAccess
from assay.machine.ldap_tls import certificate_problem
from stage.served_stage import needs
from stage.targets_host import HOST

x509 = pytest.importorskip("cryptography.x509", reason="needs cryptography")
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402

HERE = ipaddress.ip_address("127.0.0.1")
pytestmark = needs("openssl")


def certificate(path, *, address=HERE, days=1):
    """A certificate for an address, its own authority; return its file, with the key in it."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "directory")])
    now = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key(), serial_number=7)
    made = made.not_valid_before(now - dt.timedelta(days=9)).not_valid_after(now + dt.timedelta(days=days))
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(address)]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, hashes.SHA256())
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return str(path)


def problem(tmp_path, trusted=None, **made):
    """What is said of a server with such a certificate, by a client that trusts it or another one."""
    own = certificate(tmp_path / "own.pem", **made)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", own, "-key", own, "-quiet"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.PIPE) as server:
        for _ in range(200):
            with socket.socket() as link:
                if link.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        try:
            return certificate_problem(HOST, LdapAccess(url=f"ldaps://127.0.0.1:{port}", ca_file=trusted or own))
        finally:
            server.kill()


def test_each_reason_is_named(tmp_path):
    assert problem(tmp_path) is None
    assert problem(tmp_path, days=-1) == "certificate has expired"
    assert problem(tmp_path, address=ipaddress.ip_address("192.0.2.7")) == "IP address mismatch"
    assert "self-signed certificate" in problem(tmp_path, trusted=certificate(tmp_path / "other.pem"))
    assert certificate_problem(HOST, LdapAccess(url="ldap://127.0.0.1:1")) is None, "no certificate is asked for"
