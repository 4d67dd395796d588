"""Directory servers for tests: a private slapd, and small ones that answer each request in their own way."""

import contextlib
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

from stage.assay_process import listens, wait_until

BASE = "dc=example,dc=com"
PASSWORD = "secret"
BINDS, SEARCHES, UNBINDS, EXTENDED = 0x60, 0x63, 0x42, 0x77
ENTRY, DONE, REFERENCE = 0x64, 0x65, 0x73
SUCCESS, SIZE_LIMIT, REFERRAL, INVALID, BUSY = 0, 4, 10, 49, 51
SCHEMAS = ("core", "cosine", "inetorgperson")
CONFIG = """\
{schemas}
modulepath {modules}
moduleload back_mdb
pidfile {folder}/pid
{tls}
database config
rootdn cn=admin,cn=config
database mdb
maxsize 268435456
suffix {base}
rootdn cn=admin,{base}
rootpw {password}
directory {folder}/db
index uid,objectClass eq
envflags nosync
database monitor
access to * by * read
"""


def tlv(tag, body):
    """Tag, length, body."""
    length = len(body)
    head = bytes([length]) if length < 0x80 else bytes([0x82, length >> 8, length & 0xFF])
    return bytes([tag]) + head + body


def number(value, tag=2):
    return tlv(tag, value.to_bytes((value.bit_length() // 8) + 1, "big"))


def message(ident, operation):
    return tlv(0x30, number(ident) + operation)


def ended(tag, code=SUCCESS, words=""):
    return tlv(tag, number(code, 0x0A) + tlv(4, b"") + tlv(4, words.encode()))


def entry(person, **other):
    """The entry of one person, as a search gives it."""
    values = {"uid": person, "sn": f"name of {person}", **other}
    attributes = b"".join(tlv(0x30, tlv(4, name.encode()) + tlv(0x31, tlv(4, value.encode()))) for name, value in values.items())
    return tlv(ENTRY, tlv(4, f"uid={person},ou=people,{BASE}".encode()) + tlv(0x30, attributes))


class SmallServer:
    """Answers binds and searches; `lie` gives the messages of the answer to the search number `count` for a uid.

    `refuses` says whether the bind number `count` is refused.
    """

    def __init__(self, lie, refuses=lambda count: False):
        self.lie, self.refuses, self.count, self.binds, self.lock = lie, refuses, 0, 0, threading.Lock()
        self.silent_from = self.silent_until = 0.0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"ldap://127.0.0.1:{self.listener.getsockname()[1]}"
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.open.append(connection)
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        held = b""
        with contextlib.suppress(OSError):
            while received := connection.recv(65536):
                held += received
                while len(held) > 2 and held[1] < 0x80 and len(held) >= held[1] + 2:
                    request, held = held[2 : held[1] + 2], held[held[1] + 2 :]
                    self.rest()
                    if (answer := self.answer(request)) is None:
                        connection.close()
                        return
                    connection.sendall(answer)

    def rest(self):
        """Wait while the server is silent."""
        now = time.monotonic()
        if self.silent_from <= now < self.silent_until:
            time.sleep(self.silent_until - now)

    def answer(self, request):
        """The whole answer to a request; None closes the connection."""
        length = request[1]
        ident, operation = int.from_bytes(request[2 : 2 + length], "big"), request[2 + length :]
        if operation[0] == BINDS:
            with self.lock:
                self.binds += 1
                code = INVALID if self.refuses(self.binds) else SUCCESS
            return message(ident, ended(BINDS + 1, code))
        if operation[0] != SEARCHES:
            return b""
        uid = re.search(rb"\x04\x03uid\x04.(u\d{8})", operation)
        if uid is None:  # a look at the base
            return message(ident, tlv(ENTRY, tlv(4, BASE.encode()) + tlv(0x30, b""))) + message(ident, ended(DONE))
        with self.lock:
            self.count += 1
            count = self.count
        parts = self.lie(uid[1].decode(), count)
        if parts is None:
            return None
        return b"".join(message(part[0] or ident, part[1]) if isinstance(part, tuple) else message(ident, part) for part in parts)

    def close(self):
        self.listener.close()
        for connection in self.open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def honest(uid, _count):
    return [entry(uid), ended(DONE)]


def unasked(uid, _count):
    """The honest answer, and one to a request that nobody made."""
    return [(77, entry(uid)), (77, ended(DONE)), entry(uid), ended(DONE)]


LIES = {
    "empty": lambda uid, count: [ended(DONE)],
    "another": lambda uid, count: [entry("u99999999"), ended(DONE)],
    "attribute": lambda uid, count: [entry(uid, uid="u99999999"), ended(DONE)],
    "twice": lambda uid, count: [entry(uid), entry(uid), ended(DONE)],
    "busy": lambda uid, count: [ended(DONE, BUSY, "later")] if count % 10 == 0 else honest(uid, count),
    "limited": lambda uid, count: [entry(uid), ended(DONE, SIZE_LIMIT)],
    "referred": lambda uid, count: [tlv(REFERENCE, tlv(4, b"ldap://elsewhere/")), ended(DONE)],
    "unasked": unasked,
    "closing": lambda uid, count: None if count % 50 == 0 else honest(uid, count),
}
"""Nine servers that lie, each in its own way."""


@pytest.fixture
def small_server():
    """Start small servers, and close them at the end."""
    with contextlib.ExitStack() as closing:

        def start(lie=honest, **more):
            made = SmallServer(lie, **more)
            closing.callback(made.close)
            return made

        yield start


SLAPD = shutil.which("slapd", path="/usr/sbin:/usr/local/sbin:/usr/bin")


class Slapd:
    """A slapd of its own with some people, in a directory of its own."""

    def __init__(self, folder, people):
        self.folder = folder
        (folder / "db").mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.tls_port = free.getsockname()[1]
        self.password_file = folder / "password"
        self.password_file.write_text(PASSWORD + "\n")
        self.certificate = folder / "certificate.pem"
        self.configure()
        self.load(people)
        self.ldapi = f"ldapi://{str(folder / 'ldapi').replace('/', '%2F')}"
        self.address, self.tls = f"ldap://127.0.0.1:{self.port}", f"ldaps://127.0.0.1:{self.tls_port}"
        urls = f"{self.address} {self.tls} {self.ldapi}"
        config = str(folder / "slapd.conf")
        self.process = subprocess.Popen(
            [SLAPD, "-f", config, "-h", urls, "-d", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(lambda: listens(self.port))

    def configure(self):
        key = self.folder / "key.pem"
        subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "30")
        own = ("-addext", "basicConstraints=critical,CA:FALSE")
        # A certificate that is its own authority, and no certificate authority: what a test server has.
        made = ("-keyout", key, "-out", self.certificate)
        argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made, *subject, *own]
        subprocess.run(argv, check=True, capture_output=True)
        schemas = "\n".join(f"include /etc/ldap/schema/{name}.schema" for name in SCHEMAS)
        tls = f"TLSCertificateFile {self.certificate}\nTLSCertificateKeyFile {key}"
        text = CONFIG.format(schemas=schemas, modules="/usr/lib/ldap", folder=self.folder, tls=tls, base=BASE, password=PASSWORD)
        (self.folder / "slapd.conf").write_text(text)

    def load(self, people):
        lines = [f"dn: {BASE}\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n"]
        lines.append(f"dn: ou=people,{BASE}\nobjectClass: organizationalUnit\nou: people\n")
        for key in range(people):
            uid = f"u{key:08d}"
            person = f"objectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: name of {uid}\nmail: {uid}@example.com\n"
            lines.append(f"dn: uid={uid},ou=people,{BASE}\n{person}")
        (self.folder / "people.ldif").write_text("\n".join(lines))
        files = ("-f", str(self.folder / "slapd.conf"), "-l", str(self.folder / "people.ldif"))
        subprocess.run([SLAPD, "-T", "add", "-q", *files], check=True, capture_output=True)

    def close(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture(scope="module")
def slapd(tmp_path_factory):
    """One private slapd with 1,000 people for the tests of a file."""
    if SLAPD is None or shutil.which("openssl") is None:
        pytest.skip("needs slapd, openssl")
    started = Slapd(tmp_path_factory.mktemp("slapd"), 1000)
    yield started
    started.close()


def monitored(server):
    """Operations that slapd counted, by type; this look itself is a search, and is taken off."""
    argv = ["ldapsearch", "-x", "-LLL", "-H", server.ldapi, "-b", "cn=Operations,cn=Monitor", "-s", "one"]
    found = subprocess.run([*argv, "monitorOpCompleted"], check=True, capture_output=True, text=True).stdout
    counts = re.findall(r"dn: cn=(\w+),cn=Operations.*?monitorOpCompleted: (\d+)", found, re.DOTALL)
    return {name.lower(): int(count) for name, count in counts}
