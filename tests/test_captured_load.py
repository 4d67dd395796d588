"""A capture becomes a load: its profile, run by ldap_load on a fresh server, gives a capture with the same mix and searches."""

import json
import os
import random
import socket
import threading
import time

import pytest

from assay.dissect.searches import anonymous
from stage import ldap_captures as made
from stage.captured import captured
from stage.directory_servers import BASE, PASSWORD, slapd
from stage.directory_stage import needs

__all__ = ["slapd"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="capturing needs root"),
    needs("slapd", "ldapsearch", "openssl", "tcpdump"),
]
MIXED = ("search", "compare", "modify", "add", "delete", "rename")
CONNECTIONS, OPERATIONS = 4, 600
AGAIN = """
title = "Again"
question = "Is the load of the capture the same on a fresh server?"
repeats = 1
[targets.directory]
kind = "ldap_openldap"
entries = 1000
indexes = ["uid:eq,sub", "objectClass:eq", "manager:eq"]
server = {{ port = {port} }}
[measures]
"captured.search.ops_per_s" = {{}}
{load}
"""


class Production:
    """The load of a company: searches of all scopes, compares and changes over some connections, with pauses."""

    def __init__(self, port):
        self.port = port
        self.strings = set()
        """Every text of the requests."""
        threads = [threading.Thread(target=self.work, args=(seed,)) for seed in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def text(self, value, tag=4):
        self.strings.add(value)
        return made.text(value, tag)

    def equal(self, name, value):
        return made.tlv(0xA3, self.text(name), self.text(value))

    def search(self, flt, base=BASE, **how):
        self.strings.update([base, *(name for name in how["attributes"] if name.isalpha())])
        return made.search(flt, base=base, **how)

    def one_of_many(self, draw, number, uid, dn):
        """A search: by a name, by two conditions, of one level and of one entry, with a size limit, for nothing."""
        if draw < 0.3:
            return self.search(self.equal("uid", uid), attributes=())
        if draw < 0.38:
            both = made.tlv(0xA0, self.equal("objectClass", "inetOrgPerson"), self.equal("uid", uid))
            return self.search(both, attributes=("mail", "telephoneNumber"))
        if draw < 0.5:  # one in four for nothing
            name = uid if number % 4 else f"nobody{number}"
            return self.search(self.equal("uid", name), f"ou=people,{BASE}", scope=1, attributes=("1.1",))
        if draw < 0.6:
            self.strings.add("objectClass")
            return self.search(made.text("objectClass", 0x87), dn, scope=0, attributes=("*", "modifyTimestamp"))
        if draw < 0.74:
            return self.limited(draw, uid)
        return self.search(self.equal("mail", f"{uid}@nowhere"), attributes=("1.1",))

    def limited(self, draw, uid):
        """A search whose size limit is never reached, or always."""
        if draw < 0.68:
            begin = made.tlv(0xA4, self.text("uid"), made.tlv(0x30, self.text(uid[:-1], 0x80)))
            return self.search(begin, attributes=("mail",), size_limit=50)
        return self.search(self.equal("objectClass", "inetOrgPerson"), attributes=("mail",), size_limit=7)

    def request(self, chance, number):
        uid = f"u{chance.randrange(1000):08d}"
        dn, draw = f"uid={uid},ou=people,{BASE}", chance.random()
        if draw < 0.8:
            return self.one_of_many(draw, number, uid, dn)
        if draw < 0.92:
            return made.tlv(0x6E, self.text(dn), made.tlv(0x30, self.text("uid"), self.text(uid)))
        values = made.tlv(0x31, self.text(f"secret-value-{number}"))
        change = made.tlv(0x30, made.integer(2, 10), made.tlv(0x30, self.text("description"), values))
        return made.tlv(0x66, self.text(dn), made.tlv(0x30, change))

    def work(self, seed):
        chance = random.Random(seed)
        bind = made.tlv(0x60, made.integer(3), self.text(f"cn=admin,{BASE}"), self.text(PASSWORD, 0x80))
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for number, request in enumerate([bind, *(self.request(chance, number) for number in range(OPERATIONS))], 1):
                connection.sendall(made.message(number, request))
                answered(connection)
                if chance.random() < 0.1:
                    time.sleep(0.003)
            connection.sendall(made.message(OPERATIONS + 2, made.UNBIND))


def answered(connection):
    """Read to the end of one answer."""
    held = b""
    while True:
        held += connection.recv(65536)
        while (size := whole(held)) and len(held) >= size:
            part, held = held[:size], held[size:]
            body = part[2 if part[1] < 0x80 else 2 + (part[1] & 0x7F) :]
            if body[2 + body[1]] not in (0x64, 0x73):
                return


def whole(held):
    """The length of the first message; 0 where its head is not whole."""
    if len(held) < 2:
        return 0
    if held[1] < 0x80:
        return 2 + held[1]
    digits = held[1] & 0x7F
    return 2 + digits + int.from_bytes(held[2 : 2 + digits], "big") if len(held) >= 2 + digits else 0


def mix(path):
    """Kind -> its share in percent."""
    found = {one["operation"]: one["requests"] for one in json.loads(path.read_text())["operations"]}
    total = sum(found.get(kind, 0) for kind in MIXED)
    return {kind: 100 * found.get(kind, 0) / total for kind in MIXED}


ALIKE = ("filter", "scope", "attributes", "size_limit")
COUNTS = ("count", "answered", "entries", "empty")


def searches(found):
    """What makes a search another one -> its counts; attributes are numbered by shape."""
    counts = {}
    for one in found["profile"]["searches"]:
        shape = anonymous(one["filter"], {})
        sums = counts.setdefault((shape, one["scope"], one["attributes"], one["size_limit"]), dict.fromkeys(COUNTS, 0))
        for name in COUNTS:
            sums[name] += one[name]
    return counts


def shares(counts, *by):
    """The share of the searches in percent, by some of what makes them other ones."""
    whole, found = sum(one["count"] for one in counts.values()), {}
    for key, one in counts.items():
        kept = tuple(value for name, value in zip(ALIKE, key, strict=True) if name in by)
        found[kept] = found.get(kept, 0) + 100 * one["count"] / whole
    return found


def is_same(one, other, points=1):
    return all(abs(one.get(key, 0) - other.get(key, 0)) <= points for key in {*one, *other})


def are_same_searches(before, after):
    one, other = searches(before), searches(after)
    assert len(one) == 7
    for by in ([name] for name in ALIKE):
        assert is_same(shares(one, *by), shares(other, *by)), (by, one, other)
    assert is_same(shares(one, *ALIKE), shares(other, *ALIKE)), (one, other)
    for key, counts in one.items():
        again = other[key]
        misses = [100 * part["empty"] / part["answered"] for part in (counts, again)]
        assert abs(misses[0] - misses[1]) < 5, (key, counts, again)
        if counts["answered"] > counts["empty"]:
            means = [part["entries"] / (part["answered"] - part["empty"]) for part in (counts, again)]
            assert abs(means[1] - means[0]) <= 0.15 * means[0], (key, counts, again)


def test_the_profile_of_a_capture_gives_a_capture_of_the_same_mix_and_searches(bench, slapd):
    first, second = bench.home / "first.pcap", bench.home / "second.pcap"
    with captured(first, slapd.port):
        load = Production(slapd.port)
    done = bench.run("dissect", first, "--port", slapd.port, "--json=first.json", "--profile", "load.toml")
    assert done.returncode == 0, done.stderr
    before = json.loads((bench.home / "first.json").read_text())
    assert sum(one["requests"] for one in before["operations"] if one["operation"] in MIXED) == CONNECTIONS * OPERATIONS

    profile = (bench.home / "load.toml").read_text()
    assert not [text for text in load.strings if text.lower() in profile.lower()]
    assert "127.0.0" not in profile

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (bench.home / "again.toml").write_text(AGAIN.format(port=port, load=profile.partition("\n[profile]")[0]))
    with captured(second, port):
        done = bench.run("run", "again.toml", "--progress", "none")
    assert done.returncode == 0, done.stderr + done.stdout
    done = bench.run("dissect", second, "--port", port, "--json=second.json")
    assert done.returncode == 0, done.stderr
    one, other = mix(bench.home / "first.json"), mix(bench.home / "second.json")
    assert all(abs(one[kind] - other[kind]) <= 1 for kind in MIXED), (one, other)
    after = json.loads((bench.home / "second.json").read_text())
    are_same_searches(before, after)
    assert after["filters"][0]["filter"] == before["filters"][0]["filter"] == "(uid=?)"
    assert after["habits"]["open_at_once"] >= CONNECTIONS
    assert bench.traces() == []
