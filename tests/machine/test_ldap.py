"""Searches by ldapsearch: their arguments, their answers, and passwords that are in files alone."""

import stat
from pathlib import Path

import pytest

from assay.errors import TrialError
from assay.machine import ldap
from assay.machine.ldap import LdapAccess
from stage.directory_stage import needs
from stage.targets_host import HOST

DOOR = LdapAccess(url="ldap://h:389", bind_dn="cn=a", password_file="/p", ca_file="/ca", starttls=True)


def test_a_search_names_the_password_file_and_never_the_password():
    argv = DOOR.search("dc=x", "sub", "(uid=1)", "cn")
    assert argv[:3] == ("env", "LDAPTLS_CACERT=/ca", "LDAPTLS_REQCERT=demand")
    assert argv[argv.index("-y") + 1] == "/p"
    assert "-ZZ" in argv
    assert "-w" not in argv
    anonymous = LdapAccess(url="ldap://h").search("", "base", "(objectClass=*)")
    assert "-y" not in anonymous
    assert anonymous[0] == "ldapsearch"


def test_ldif_is_read():
    text = "# a comment\ndn: cn=a\nCN: a\ncn:: w7w=\ndescription:\n\ndn: cn=b\n"
    assert list(ldap.parse_ldif(text)) == [{"dn": ("cn=a",), "cn": ("a", "ü"), "description": ("",)}, {"dn": ("cn=b",)}]
    assert list(ldap.parse_ldif("")) == []


def test_what_is_no_ldif_is_refused(subtests):
    for text in ["dn: a\nno colon here\n", "dn:: %%%\n"]:
        with subtests.test(text=text), pytest.raises(TrialError, match="server's answer; expected"):
            list(ldap.parse_ldif(text))


def test_a_password_is_random_private_and_salted(tmp_path):
    hashes = {ldap.make_password(HOST, str(tmp_path / name)) for name in ("a", "b")}
    assert len(hashes) == 2
    texts = [Path(tmp_path / name).read_text() for name in ("a", "b")]
    assert len({*texts}) == 2
    assert all(len(text) == 32 and text not in " ".join(hashes) for text in texts)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    (tmp_path / "far").mkdir()
    copy = ldap.copy_to(HOST, str(tmp_path / "a"), str(tmp_path / "far"))
    assert Path(copy).read_text() == texts[0]
    assert stat.S_IMODE(Path(copy).stat().st_mode) == 0o600


@needs("ldapsearch")
def test_a_server_that_is_not_there_is_named():
    with pytest.raises(TrialError, match=r"ldap://127\.0\.0\.1:1: .*Can't contact LDAP server"):
        ldap.entries(HOST, LdapAccess(url="ldap://127.0.0.1:1").search("", "base", "(objectClass=*)"))


def test_a_distinguished_name():
    assert ldap.dn_mistakes("base", "dc=example,dc=com") == ()
    assert ldap.dn_mistakes("bind_dn", "cn=Directory Manager") == ()
    assert "expected a distinguished name" in ldap.dn_mistakes("base", "example")[0]
