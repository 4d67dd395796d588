"""Real directory servers for the tests of `assay dsio`, each in a directory of its own, and a client that counts what it asks.

slapd reads a private configuration; ns-slapd gets an instance of its own without dscreate or systemd. Nothing in /etc changes.
The client speaks LDAP by itself: a command for each compare would take longer than all else.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.machine import bpftrace
from stage.assay_process import COMMAND

HOST = Local()
SCHEMA = Path("/etc/ldap/schema/core.schema")
TEMPLATE = Path("/usr/share/dirsrv/data/template-dse.ldif")
WHY_NOT = next(bpftrace.obstacles(HOST), None)
NO_SLAPD = (
    None if shutil.which("slapd", path="/usr/sbin:/usr/lib/openldap") and SCHEMA.exists() else "needs slapd (Debian's paths)"
)
NO_389 = None if shutil.which("ns-slapd", path="/usr/sbin") and TEMPLATE.exists() else "needs 389-ds-base"
PEOPLE = 4000
SUFFIX = "dc=example"
ROOT = {"slapd": f"cn=admin,{SUFFIX}", "ns-slapd": "cn=Directory Manager"}
PASSWORD = "secret12"
READY_S = 300
SLAPD = """include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {home}/pid
threads 4
database mdb
suffix {suffix}
rootdn {root}
rootpw {password}
directory {home}/data
maxsize 1073741824
index objectClass,uid eq
{more}
"""


def needs(*reasons):
    """Skip without tracing, or without what else is missing."""
    found = next(filter(None, (WHY_NOT, *reasons)), None)
    return pytest.mark.skipif(found is not None, reason=found or "")


def ldif():
    """The suffix and so many people of half a kilobyte."""
    yield f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n"
    for number in range(PEOPLE):
        yield (
            f"dn: uid=u{number},{SUFFIX}\nobjectClass: person\nobjectClass: uidObject\nuid: u{number}\ncn: u{number}\nsn: s\n"
            f"description: {number:0400d}\n\n"
        )


@dataclass
class Server:
    """A directory server that runs."""

    home: Path
    software: str
    port: int
    process: subprocess.Popen | None = None

    def start(self):
        """Start it and wait until it answers."""
        words = {
            "slapd": ["/usr/sbin/slapd", "-d", "0", "-f", self.home / "slapd.conf", "-h", f"ldap://127.0.0.1:{self.port}"],
            "ns-slapd": ["/usr/sbin/ns-slapd", "-D", instance(self.home), "-i", self.home / "run/pid", "-d", "0"],
        }[self.software]
        with (self.home / "errors").open("ab") as errors:
            self.process = subprocess.Popen(words, stdout=errors, stderr=errors, process_group=0)
        until = time.monotonic() + READY_S
        while True:
            with contextlib.suppress(OSError), self.client() as client:
                client.bind()
                return self
            assert self.process.poll() is None, (self.home / "errors").read_text()
            assert time.monotonic() < until, "it does not answer"
            time.sleep(0.1)

    def stop(self):
        """End it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(READY_S)
            self.process = None
            Path(f"/dev/shm/sem.{instance(self.home).name}.stats").unlink(missing_ok=True)

    def data(self):
        """The files of the database."""
        return [path for name in ("data", "db") for path in (self.home / name).rglob("*") if path.is_file()]

    def cool(self):
        """Stop it, write everything back, drop its files from the page cache, start it.

        Berkeley DB keeps its buffer pool in files of ns-slapd's `dbhome`: what is in them is read from no disk again.
        """
        self.stop()
        for path in (self.home / "dbhome").glob("__db.*"):
            path.unlink()
        for path in self.data():
            HOST.syscalls.drop_file(str(path))
        return self.start()

    def client(self):
        """A connection."""
        return Client(self)


def slapd(home, more=""):
    """slapd with a database of people."""
    (home / "data").mkdir()
    text = SLAPD.format(home=home, suffix=SUFFIX, root=ROOT["slapd"], password=PASSWORD, more=more)
    (home / "slapd.conf").write_text(text)
    (home / "people.ldif").write_text("".join(ldif()))
    subprocess.run(
        ["/usr/sbin/slapadd", "-q", "-f", home / "slapd.conf", "-l", home / "people.ldif"], check=True, capture_output=True
    )
    return Server(home, "slapd", free_port()).start()


INDEXES = (
    "entryrdn:subtree",
    "parentid:eq",
    "ancestorid:eq",
    "objectclass:eq",
    "nsuniqueid:eq",
    "numsubordinates:pres",
    "uid:eq",
)
PLUGINS = "cn=ldbm database,cn=plugins,cn=config"


def ns_slapd(home, backend="bdb"):
    """A 389 Directory Server without dscreate: its own template, filled in."""
    config = instance(home)
    for name in (f"{config.name}/schema", "ldif", "bak", "run", "log", "lock", "db", "dbhome", "tmp", "inst"):
        (home / name).mkdir(parents=True)
    for path in Path("/etc/dirsrv/config").iterdir():
        shutil.copy(path, config)
    shutil.copy("/etc/dirsrv/schema/99user.ldif", instance(home) / "schema")
    port = free_port()
    (config / "dse.ldif").write_text(dse(home, port, backend))
    (home / "ldif/people.ldif").write_text("".join(ldif()))
    subprocess.run(["chown", "-R", "dirsrv:dirsrv", home], check=True)
    load = ["/usr/sbin/ns-slapd", "ldif2db", "-D", config, "-n", "userroot", "-i", home / "ldif/people.ldif"]
    done = subprocess.run(load, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-1500:]}"
    return Server(home, "ns-slapd", port).start()


def instance(home):
    """The directory of the configuration. The server names a semaphore of the machine after it: no other may have its name."""
    return home / f"slapd-{home.name}-{os.getpid()}"


def dse(home, port, backend):
    """The configuration of an instance: the template of the package with a database and its indexes."""
    hashed = subprocess.run(["pwdhash", "-s", "PBKDF2-SHA512", PASSWORD], check=True, capture_output=True, text=True).stdout
    values = {
        "schema_dir": instance(home) / "schema",
        "cert_dir": instance(home),
        "config_dir": instance(home),
        **{f"{name}_dir": home / name for name in ("lock", "tmp", "ldif", "bak", "run", "inst", "log")},
        "fqdn": "localhost",
        "ds_port": port,
        "ds_user": "dirsrv",
        "rootdn": ROOT["ns-slapd"],
        "ds_passwd": hashed.splitlines()[0],
        "ldapi_enabled": "off",
        "ldapi": home / "run/ldapi",
        "ldapi_autobind": "off",
        "db_lib": backend,
        "db_dir": home / "db",
        "db_home_dir": home / "dbhome",
        "ds_suffix": SUFFIX,
    }
    text = TEMPLATE.read_text()
    for key, value in values.items():
        text = text.replace(f"%{key}%", str(value))
    own = "nsslapd-cache-autosize: 0\nnsslapd-import-cache-autosize: 0\n"
    text = "".join(
        line + (own if line.startswith("nsslapd-backend-implement:") else "") for line in text.strip().splitlines(keepends=True)
    )
    entry = "objectClass: top\nobjectClass: extensibleObject\n"
    text += (
        f"\n\ndn: cn=userroot,{PLUGINS}\n{entry}objectClass: nsBackendInstance\ncn: userroot\nnsslapd-suffix: {SUFFIX}\n"
        f"nsslapd-cachememsize: 67108864\nnsslapd-directory: {home}/db/userroot\n\n"
        f"dn: cn=dc\\=example,cn=mapping tree,cn=config\n{entry}objectClass: nsMappingTree\ncn: {SUFFIX}\n"
        f"nsslapd-state: backend\nnsslapd-backend: userroot\n\ndn: cn=index,cn=userroot,{PLUGINS}\n{entry}cn: index\n\n"
    )
    for name, _, kind in (index.partition(":") for index in INDEXES):
        text += (
            f"dn: cn={name},cn=index,cn=userroot,{PLUGINS}\nobjectClass: top\nobjectClass: nsIndex\ncn: {name}\n"
            f"nsSystemIndex: false\nnsIndexType: {kind}\n\n"
        )
    return text


def free_port():
    """A port of the loopback that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Client:
    """One connection, one request at a time; each call gives the result code."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=READY_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        self.ids = itertools.count(1)
        self.root = ROOT[server.software]
        self.entries = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def bind(self):
        return self.ask(0x60, integer(3) + text(self.root) + tlv(0x80, PASSWORD.encode()))

    def search(self, number):
        words = text(SUFFIX) + enumerated(2) + enumerated(0) + integer(0) + integer(0) + tlv(1, b"\0")
        return self.ask(0x63, words + tlv(0xA3, text("uid") + text(f"u{number}")) + tlv(0x30, b""))

    def compare(self, number, value="s"):
        return self.ask(0x6E, text(dn(number)) + tlv(0x30, text("sn") + text(value)))

    def modify(self, number, value):
        change = tlv(0x30, enumerated(2) + tlv(0x30, text("description") + tlv(0x31, text(value))))
        return self.ask(0x66, text(dn(number)) + tlv(0x30, change))

    def ask(self, tag, content):
        self.socket.sendall(tlv(0x30, integer(next(self.ids)) + tlv(tag, content)))
        while True:
            kind, body = answer_of(self.message())
            if kind == 0x64:  # an entry
                self.entries += 1
                continue
            assert body[0] == 0x0A
            return body[2]

    def message(self):
        head = self.stream.read(2)
        if len(head) < 2:
            raise OSError("closed")
        size = head[1]
        if size & 0x80:
            size = int.from_bytes(self.stream.read(size & 0x7F), "big")
        return self.stream.read(size)


def answer_of(message):
    """The kind of an answer, and what it contains."""
    rest = message[2 + message[1] :]
    return rest[0], rest[2 + (rest[1] & 0x7F if rest[1] & 0x80 else 0) :]


def dn(number):
    return f"uid=u{number},{SUFFIX}"


def tlv(tag, content):
    size = len(content)
    length = bytes([size]) if size < 0x80 else b"\x84" + size.to_bytes(4, "big")
    return bytes([tag]) + length + content


def text(value):
    return tlv(4, value.encode())


def integer(value):
    return tlv(2, value.to_bytes(4, "big"))


def enumerated(value):
    return tlv(10, bytes([value]))


@contextlib.contextmanager
def watched(tmp_path, server, *words):
    """`assay dsio` on a server while something is done; afterwards the dictionary has its document and its output."""
    file, found = tmp_path / "dsio.json", {}
    command = [*COMMAND, "dsio", "-P", str(server.process.pid), f"--json={file}", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        line = process.stderr.readline()
        assert "Ctrl-C ends the watch." in line, line + process.stderr.read()
        yield found
        process.send_signal(signal.SIGINT)
        found["stdout"], found["stderr"] = process.communicate(timeout=READY_S)
        found["status"] = process.returncode
        found |= json.loads(file.read_text())
    finally:
        process.kill()
        process.communicate()


def per_operation(row, name):
    """The mean of a count."""
    return row[name] / row["count"]


def enterable(path):
    """Let the user of ns-slapd into the directories of pytest."""
    with contextlib.suppress(KeyError):
        pwd.getpwnam("dirsrv")
    for parent in (path, *path.parents):
        if parent == Path(parent.root) or parent == Path("/tmp"):
            break
        parent.chmod(parent.stat().st_mode | 0o011)
