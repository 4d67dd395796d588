"""SNMP: messages as bytes, secrets from files, and a real agent (Debian's snmpd) in a network namespace."""

import contextlib
import socket
import subprocess

import pytest

from assay.catalogue import LINUX, Machine, system_of
from assay.errors import LostHostError, RefusedError, UsageError
from assay.hosts import snmp_message as message
from assay.hosts.local import Local
from assay.hosts.snmp import SnmpHost
from assay.hosts.snmp_agent import address_of
from assay.hosts.snmp_security import Credentials, community_of, localized, user_of
from assay.laboratory import hosts
from assay.records import HostSpec
from assay.undo.ledger import Ledger
from stage.assay_process import COMMAND, wait_until
from stage.snmp_agents import COMMUNITY, PORT, PRIVATE, USER, snmp_agent

WHO = Credentials(community=COMMUNITY.encode())
SYS_DESCR = "1.3.6.1.2.1.1.1.0"


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    with snmp_agent(tmp_path_factory.mktemp("agent")) as running:
        yield running


def written(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def credentials(path, user):
    return written(path, "".join(f'{key} = "{value}"\n' for key, value in user.items()))


# ---- messages


def test_messages_and_keys_have_the_bytes_of_the_standard():
    pdu = message.Pdu(kind=message.GET, request=1, error=0, index=0, values=(("1.3.6.1.2.1.1.1.0", None),))
    found = message.community_message(b"public", pdu)
    assert found.hex() == "302602010104067075626c6963a01902010102010002010030 0e300c06082b060102010101000500".replace(" ", "")
    # RFC 3414, A.3.2.
    engine = bytes.fromhex("000000000000000000000002")
    assert localized("sha1", b"maplesyrup", engine).hex() == "6695febc9288e36282235fc7151f128497b38f3f"


def test_an_answer_is_read_with_all_kinds_of_values():
    values = (
        message.element(0x46, bytes(7) + b"\x05") + b"",
        message.element(0x41, b"\x00\xff\xff\xff\xff"),
        message.element(message.OCTETS, b"port 3\n of\tit"),
        message.element(message.OCTETS, b"\x00\x1b!\xff"),
        message.element(0x81, b""),
        message.integer(-5),
    )
    pairs = b"".join(message.element(message.SEQUENCE, message.oid(f"1.3.6.{n}.300") + one) for n, one in enumerate(values))
    pdu = message.integer(77) + message.integer(0) + message.integer(0) + message.element(message.SEQUENCE, pairs)
    parts = message.integer(1) + message.element(message.OCTETS, b"x") + message.element(message.RESPONSE, pdu)
    found = message.parse_community(message.element(message.SEQUENCE, parts))
    assert [value for _, value in found.values] == [5, 0xFFFFFFFF, "port 3 of it", "001b21ff", None, -5]
    assert found.values[1][0] == "1.3.6.1.300"
    assert message.rows(found.values).count("\n") == 5


def test_other_bytes_are_refused(subtests):
    for data in [b"", b"0", b"0\x84\xff\xff\xff\xff", b"0\x80", b"0\x03\x02\x01\x01", b"\x02\x01\x01", b"0\x85aaaaa"]:
        with subtests.test(data=data):
            for parse in (message.parse_community, message.parse_secured):
                with pytest.raises(message.MessageError, match="found"):
                    parse(data)


def test_addresses(subtests):
    found = {"switch": ("switch", 161), "10.0.0.1:1161": ("10.0.0.1", 1161), "[fe80::1%eth0]:161": ("fe80::1%eth0", 161)}
    assert {text: address_of(text) for text in found} == found
    for text in ["", "a b", "user@switch", "switch:0", "switch:99999", "$(reboot)"]:
        with subtests.test(text=text), pytest.raises(UsageError):
            address_of(text)


# ---- secrets


def test_a_secret_is_read_from_a_private_file_alone(tmp_path):
    assert community_of(written(tmp_path / "c", "secret\n")).community == b"secret"
    with pytest.raises(UsageError, match="expected 0600"):
        community_of(written(tmp_path / "c", "secret\n", 0o644))
    with pytest.raises(UsageError, match="No such file"):
        community_of(tmp_path / "none")
    with pytest.raises(UsageError, match="found no community"):
        community_of(written(tmp_path / "c", "\n"))


def test_wrong_credentials_are_named_and_no_password_is_printed(subtests, tmp_path_factory):
    for change, wanted in [
        ({"auth": "md5"}, "expected one of sha"),
        ({"auth_password": "short"}, "fewer than 8"),
        ({"pasword": "x"}, "unknown key 'pasword'"),
        ({"user": ""}, "no text for 'user'"),
        ({"privacy": "des"}, "expected aes128"),
    ]:
        with subtests.test(change=change, wanted=wanted):
            tmp_path = tmp_path_factory.mktemp("case")
            with pytest.raises(UsageError, match=wanted) as error:
                user_of(credentials(tmp_path / "c", PRIVATE | change))
            assert PRIVATE["auth_password"] not in str(error.value)
            assert "password" not in repr(user_of(credentials(tmp_path / "d", PRIVATE)))


# ---- a real agent


@pytest.mark.root
def test_a_device_gives_its_counters(subtests, agent, tmp_path_factory):
    for user in [None, USER, PRIVATE]:
        with subtests.test(user=user):
            tmp_path = tmp_path_factory.mktemp("case")
            who = WHO if user is None else user_of(credentials(tmp_path / "c", user))
            host = SnmpHost("sw", agent.address, who)
            try:
                assert host.run(("get", SYS_DESCR)).stdout.startswith(f"{SYS_DESCR} Linux")
                walked = host.run(("walk", "1.3.6.1.2.1.2.2.1")).stdout.splitlines()
                assert len(walked) > 40, "more rows than one answer holds"
                assert len({line.partition(" ")[0] for line in walked}) == len(walked)
                assert host.list("/sys/class/net") == ("lo", PORT)
                assert host.run(("get", "1.3.6.1.4.1.1.1")).stdout == ""
                assert len(host.machine().serial) == 64
                assert host.run(("get", *[SYS_DESCR] * 100)).stdout.count("Linux") == 100
            finally:
                host.close()


@pytest.mark.root
def test_an_encrypted_question_shows_no_text_on_the_wire(agent, tmp_path):
    host = SnmpHost("sw", agent.address, user_of(credentials(tmp_path / "c", PRIVATE)))
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    listener.bind((agent.link, 0))
    listener.settimeout(0.5)
    try:
        name = host.run(("get", SYS_DESCR)).stdout.split()[1:3]
        seen = b""
        for _ in range(2):
            seen += listener.recv(4096)
        assert name[0].encode() not in seen
        assert PRIVATE["auth_password"].encode() not in seen
    finally:
        listener.close()
        host.close()


@pytest.mark.root
def test_a_wrong_secret_is_named(agent, tmp_path):
    with pytest.raises(LostHostError, match="no answer to SNMP"):
        SnmpHost("sw", agent.address, Credentials(community=b"wrong"))
    wrong = user_of(credentials(tmp_path / "c", USER | {"auth_password": "another password"}))
    with pytest.raises(LostHostError, match=r"wrong password \(digest\)"):
        SnmpHost("sw", agent.address, wrong)
    with pytest.raises(LostHostError, match="unknown user"):
        SnmpHost("sw", agent.address, user_of(credentials(tmp_path / "d", USER | {"user": "nobody"})))


@pytest.mark.root
def test_an_agent_that_restarted_or_stood_still_is_asked_again(agent, tmp_path):
    host = SnmpHost("sw", agent.address, user_of(credentials(tmp_path / "c", PRIVATE)))
    agent.restart()
    assert "Linux" in host.run(("get", SYS_DESCR)).stdout, "its boots and its time are others now"
    host.close()
    host = SnmpHost("sw", agent.address, WHO)
    agent.pause()
    with pytest.raises(OSError, match="no answer"):
        host.run(("get", SYS_DESCR))
    assert host.lost() is None
    agent.resume()

    def answers():
        with contextlib.suppress(OSError):
            return "Linux" in host.run(("get", SYS_DESCR)).stdout

    wait_until(answers)
    host.close()


@pytest.mark.root
def test_nothing_runs_on_a_device(agent):
    host = SnmpHost("sw", agent.address, WHO)
    for attempt in (lambda: host.run(("rm", "-rf", "/")), lambda: host.spawn(("sh",)), lambda: host.write("/x", "")):
        with pytest.raises(RefusedError, match="reached by SNMP"):
            attempt()
    with pytest.raises(FileNotFoundError):
        host.read("/proc/stat")
    assert (host.exists("/"), host.is_root(), host.list("/sys/block"), host.real_path("/a")) == (False, False, (), "/a")
    asked, theirs, answered = host.probe()
    assert asked == theirs == answered
    host.close()


@pytest.mark.root
def test_it_is_opened_as_a_host_of_an_experiment(agent, tmp_path):
    file = written(tmp_path / "c", COMMUNITY)
    spec = HostSpec(name="sw", via="snmp", address=agent.address, options={"community_file": str(file)})
    ledger = Ledger()
    try:
        with hosts.opened([spec], ledger, tmp_path / "engine") as found:
            assert (system_of(found["sw"]), system_of(Local())) == ("SNMP", LINUX)
            assert found["sw"].machine() != Machine(serial="", boot="")
        wrong = HostSpec(name="sw", via="snmp", address=agent.address, options={"community_file": str(tmp_path / "none")})
        with pytest.raises(UsageError, match="No such file"), hosts.opened([wrong], ledger, tmp_path / "engine"):
            pass
    finally:
        ledger.close()


@pytest.mark.root
def test_a_trial_reads_a_port_beside_the_load_and_no_secret_is_kept(agent, tmp_path):
    file = written(tmp_path / "community", COMMUNITY)
    (tmp_path / "data").mkdir()
    experiment = tmp_path / "e.toml"
    experiment.write_text(f"""
title = "a port"
repeats = 1
observers = ["switch_ports"]
[hosts]
sw = {{ via = "snmp", address = "{agent.address}", community_file = "{file}" }}
[targets.t]
kind = "directory"
path = "{tmp_path}/data"
[workloads.w]
kind = "null"
duration = "2 s"
think = "1 ms"
[limits]
"sw.{PORT}" = "1GbE"
[measures]
"w.null.ops_per_s" = {{}}
""")
    subprocess.run((*COMMAND, "run", str(experiment), "--lab", str(tmp_path / "lab")), capture_output=True, check=False)
    query = "select count(*) from series where host = 'sw' and metric = 'rx_bytes' and subject = 'interface:port3'"
    done = subprocess.run((*COMMAND, "sql", "--lab", str(tmp_path / "lab"), query), capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[1]) >= 4, done.stdout
    kept = [path for path in (tmp_path / "lab").rglob("*") if path.is_file() and COMMUNITY.encode() in path.read_bytes()]
    assert kept == []
