"""A real directory server (slapd): what passes on the loopback is what the client asked for and the server answered, live and
from a file of tcpdump: 24,002 pipelined searches, whose message ids come round.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from stage import ldap_captures as made
from stage.assay_process import listens, wait_until
from stage.captured import captured, passed, reads_frames
from stage.ldap_traffic import ENGINE, dissected

SLAPD = shutil.which("slapd", path="/usr/sbin:/usr/lib/openldap:/bin")
SCHEMA = Path("/etc/ldap/schema/core.schema")
pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="capturing needs root"),
    pytest.mark.skipif(not (SLAPD and SCHEMA.exists()), reason="needs slapd (Debian's paths)"),
]
SEARCHES, DEPTH, CONNECTIONS = 12_001, 16, 2
"""Searches of each connection, and how many of them are open at a time."""
ENTRIES = 50


@pytest.fixture
def slapd(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "conf").write_text(
        f"include {SCHEMA}\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\npidfile {tmp_path}/pid\ndatabase mdb\nsuffix dc=x\n"
        f"rootdn cn=admin,dc=x\nrootpw secret\ndirectory {tmp_path}/data\nmaxsize 67108864\ndbnosync\n"
    )
    first = "dn: dc=x\nobjectClass: dcObject\nobjectClass: organization\no: x\ndc: x\n\n"
    people = "".join(f"dn: cn=u{number},dc=x\nobjectClass: person\ncn: u{number}\nsn: s\n\n" for number in range(ENTRIES))
    subprocess.run(["/usr/sbin/slapadd", "-q", "-f", tmp_path / "conf"], input=(first + people).encode(), check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([str(SLAPD), "-d", "0", "-f", tmp_path / "conf", "-h", f"ldap://127.0.0.1:{port}"])
    try:
        wait_until(lambda: listens(port))
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def answers(connection, count):
    """Read until so many results have come: entries and results."""
    found, rest = {0x64: 0, 0x65: 0, 0x61: 0, 0x67: 0}, b""
    while found[0x65] + found[0x61] + found[0x67] < count:
        rest += connection.recv(1 << 16)
        while len(rest) > 2 and len(rest) >= 2 + rest[1] and rest[1] < 0x80:
            found[rest[2 + 2 + rest[3]]] += 1
            rest = rest[2 + rest[1] :]
    return found


def load(port, told, waited_ns):
    """Bind, change an entry, search with several requests open at a time and ids that come round, unbind.

    How long each search was open at the most goes to `waited_ns`: until the last answer of those that were sent with it.
    """
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(
            made.message(1, made.tlv(0x60, made.integer(3), made.text("cn=admin,dc=x"), made.text("secret", 0x80)))
        )
        entries = answers(connection, 1)[0x64]
        change = made.tlv(0x30, made.integer(2, 10), made.tlv(0x30, made.text("sn"), made.tlv(0x31, made.text("t"))))
        connection.sendall(made.message(2, made.tlv(0x66, made.text("cn=u1,dc=x"), made.tlv(0x30, change))))
        answers(connection, 1)
        for number in range(0, SEARCHES, DEPTH):
            count = min(DEPTH, SEARCHES - number)
            asked = [
                made.message(
                    3 + place, made.search(made.equal("cn", f"u{(number + place) % ENTRIES}"), base="dc=x", attributes=("1.1",))
                )
                for place in range(count)
            ]
            began_ns = time.monotonic_ns()
            connection.sendall(b"".join(asked))
            entries += answers(connection, count)[0x64]
            waited_ns.append(count * (time.monotonic_ns() - began_ns))
        connection.sendall(made.message(99, made.UNBIND))
        told.append(entries)


def loaded(port):
    """Run the load over all connections: entries that came, and the sum of the times that searches were open."""
    told, waited_ns = [], []
    threads = [threading.Thread(target=load, args=(port, told, waited_ns)) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(told), sum(waited_ns)


def is_the_load(found, entries, waited_ns):
    kinds = {one["operation"]: one for one in found["operations"]}
    searches, times = SEARCHES * CONNECTIONS, kinds["search"]["response_ns"]
    assert (kinds["search"]["requests"], kinds["search"]["answered"], kinds["search"]["result_codes"]) == (
        searches,
        searches,
        {"0": searches},
    )
    assert found["entries"] == entries == searches
    assert {name: kinds[name]["answered"] for name in ("bind", "modify")} == {"bind": CONNECTIONS, "modify": CONNECTIONS}
    assert (found["unbinds"], found["gaps"], found["unanswered"], found["malformed"]) == (CONNECTIONS, 0, 0, 0)
    assert found["profile"]["depth_max"] <= DEPTH
    assert times["n"] == searches
    assert 0 < times["sum"] <= waited_ns, "no answer is matched to another request with its id"
    assert found["filters"][0] | {"response_ns": None, "bytes": None} == {
        "filter": "(cn=?)",
        "count": searches,
        "answered": searches,
        "entries": searches,
        "bytes": None,
        "result_codes": {"0": searches},
        "response_ns": None,
    }


def test_what_passes_live_and_in_a_file_of_tcpdump_is_what_the_client_asked_for(slapd, tmp_path):
    path, options = tmp_path / "real.pcap", json.dumps({"interface": "lo", "ports": [slapd]})
    reader = subprocess.Popen([ENGINE, "dissect", options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    reads_frames(reader.pid)
    with captured(path, slapd) if shutil.which("tcpdump") else contextlib.nullcontext():
        entries, waited_ns = loaded(slapd)
        passed()
        output, _ = reader.communicate()
    if path.exists():
        is_the_load(dissected(path, ports=[slapd]), entries, waited_ns)
    found = json.loads(output)
    if not found["capture_drops"]:
        is_the_load(found, entries, waited_ns)
    else:
        kinds = {one["operation"]: one for one in found["operations"]}
        assert kinds["search"]["requests"] <= SEARCHES * CONNECTIONS
