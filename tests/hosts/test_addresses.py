"""Addresses as ssh takes them; everything that a shell or ssh's configuration could take for its own is refused."""

import pytest

from assay.errors import UsageError
from assay.hosts.addresses import Address, parsed


def test_what_ssh_takes(subtests):
    for text, host, user, port in [
        ("filer", "filer", None, None),
        ("10.0.0.1", "10.0.0.1", None, None),
        ("root@filer.example.org:2222", "filer.example.org", "root", 2222),
        ("ann@corp@filer", "filer", "ann@corp", None),
        ("::1", "::1", None, None),
        ("[fe80::1%eth0]:22", "fe80::1%eth0", None, 22),
        ("[::1]", "::1", None, None),
    ]:
        with subtests.test(text=text, host=host, user=user, port=port):
            assert parsed(text) == Address(host=host, user=user, port=port)


def test_what_is_no_address(subtests):
    for text in [
        "",
        "-oProxyCommand=id",
        "$(id)",
        "a b",
        "a'b",
        'a"b',
        "a;id",
        "a\nb",
        "`id`",
        "a:",
        "a:0",
        "a:65536",
        "a:1x",
        "a:٣",
        "@a",
        "-l@a",
        "u s@a",
        "[::1",
        "[::1]:",
        "[::1]x",
        "[]",
        "a/b",
        "%h",
        "a%h",
    ]:
        with subtests.test(text=text), pytest.raises(UsageError, match="expected"):
            parsed(text)


def test_the_call_of_ssh():
    assert parsed("u@h:7").ssh == "ssh -p 7 u@h"
    assert parsed("h").ssh == "ssh h"
