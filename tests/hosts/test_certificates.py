"""Certificates of hosts: who signs, how long, and who may read the files."""

import json
import ssl
import time

import pytest

from assay.cli import hosts
from assay.errors import RefusedError, UsageError
from assay.hosts import certificates
from assay.records import HostSpec

NAMES = ["controller", "n.1", "n.2"]


def test_each_name_has_a_certificate_of_one_authority_that_is_valid_for_days(tmp_path):
    issued = certificates.issued(NAMES, days=3)
    assert list(issued.of) == NAMES
    assert issued.until_s == pytest.approx(time.time() + 3 * 86400, abs=60)
    files = certificates.written(issued, tmp_path / "new")
    for name, (certificate, key) in files.items():
        context = ssl.create_default_context(cadata=issued.authority)
        context.load_cert_chain(certificate, key)
        found = ssl._ssl._test_decode_cert(str(certificate))
        assert found["subjectAltName"] == (("DNS", name),)
        assert ssl.cert_time_to_seconds(found["notAfter"]) == issued.until_s


def test_the_files_are_for_nobody_else_and_the_authoritys_key_is_in_none(tmp_path):
    place = tmp_path / "new"
    certificates.written(certificates.issued(NAMES), place)
    assert place.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}
    keys = [path.name for path in place.iterdir() if "PRIVATE KEY" in path.read_text()]
    assert sorted(keys) == [f"{name}.key.pem" for name in NAMES]


def test_what_is_there_is_never_written_over(tmp_path):
    certificates.written(certificates.issued(NAMES), tmp_path / "new")
    with pytest.raises(RefusedError, match=r"authority\.pem exists"):
        certificates.written(certificates.issued(NAMES), tmp_path / "new")


def test_a_directory_that_others_can_read_is_refused(tmp_path):
    (tmp_path / "open").mkdir(mode=0o755)
    with pytest.raises(RefusedError, match="mode 755; expected yourself and 700"):
        certificates.written(certificates.issued(NAMES), tmp_path / "open")


def test_names_that_are_no_files_and_no_days_are_refused(subtests):
    for name in ["../x", "a/b", "a\nb", "", ".hidden", "-rf", "$(id)", "a" * 65, "ä"]:
        with subtests.test(name=name), pytest.raises(RefusedError, match="found the host name"):
            certificates.issued([name])
    with pytest.raises(RefusedError, match="found days = 0; expected 1 or more"):
        certificates.issued(NAMES, days=0)


def test_hosts_of_a_running_scheduler_get_theirs_and_so_do_scheduler_and_controller(tmp_path):
    lent = [HostSpec(name=f"n.{number}", via="dask", scheduler="tls://s:8786", group="n") for number in (1, 2)]
    made = certificates.for_hosts([HostSpec(name="local"), *lent], tmp_path / "new", days=1)
    assert list(made.files) == ["controller", "scheduler", "n.1", "n.2"]
    assert {*map(str, (tmp_path / "new").iterdir())} == {made.authority, *(file for pair in made.files.values() for file in pair)}


def test_without_such_hosts_nothing_is_written(tmp_path):
    started = HostSpec(name="n", via="dask", cluster="local")
    with pytest.raises(RefusedError, match="All other clusters get certificates when they start"):
        certificates.for_hosts([started], tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_verb_prints_who_got_one_and_the_same_as_json(tmp_path, capsys):
    lent = [HostSpec(name="n", via="dask", scheduler="tls://s:8786")]
    with pytest.raises(UsageError, match="expected --out DIR"):
        hosts.certificates(lent, None, None)
    assert hosts.certificates(lent, None, tmp_path / "one") == 0
    assert "certificates of controller, scheduler, n, valid until" in capsys.readouterr().out
    assert hosts.certificates(lent, "-", tmp_path / "two") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["files"]["n"] == [str(tmp_path / "two" / f"n.{kind}.pem") for kind in ("certificate", "key")]
