"""Bad input of `assay dissect`, as a user calls it: each message has what was found, what was expected and the way on."""

import os

import pytest

from stage import ldap_captures as made
from stage.assay_process import as_nobody
from stage.ldap_traffic import everything

ROOT = os.geteuid() == 0
INSTEAD = {
    "a.txt": (b"Dear reader,\nthis is a letter.\n", "a text file"),
    "a.json": (b'{"frames": 3}\n', "JSON text"),
    "a.ldif": (b"dn: dc=example\nobjectClass: top\n", "LDIF text"),
    "program": (b"\x7fELF\x02\x01\x01" + bytes(60), "a program"),
    "a.gz": (b"\x1f\x8b\x08\0" + bytes(30), "data packed by gzip that are no capture"),
    "a.zst": (b"\x28\xb5\x2f\xfd" + bytes(30), "data packed by zstd that are no capture"),
    "a.xz": (b"\xfd7zXZ\0" + bytes(30), "data packed by xz: unpack it first"),
    "a.bz2": (b"BZh91AY&SY" + bytes(30), "data packed by bzip2: unpack it first"),
    "a.zip": (b"PK\x03\x04" + bytes(30), "data packed by zip: unpack it first"),
    "random": (bytes(range(1, 200, 3)), "a file of unknown format"),
    "empty": (b"", "an empty file"),
}
FORMATS = {"pcap": made.pcap, "pcapng": made.pcapng, "snoop": made.snoop}


def the_frames(connection=None):
    return made.frames(everything(*([connection] if connection else [])).connection.packets)


def test_what_is_no_capture_is_named_all_at_once(bench, tmp_path):
    for name, (content, _) in INSTEAD.items():
        (tmp_path / name).write_bytes(content)
    done = bench.run("dissect", *INSTEAD, "missing", ".")
    assert (done.returncode, done.stdout) == (1, "")
    for name, (_, found) in INSTEAD.items():
        assert f"{name}: found {found}; expected a capture (pcap, pcapng or snoop)" in done.stderr
    assert "missing: not read (No such file or directory). Check the name and the permissions." in done.stderr
    assert ".: found a directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_is_read_to_where_it_is_cut_or_damaged_and_without_frames_says_so(bench, tmp_path, subtests):
    for name, form in FORMATS.items():
        whole = form(the_frames())
        with subtests.test(cut=name):
            (tmp_path / "cut").write_bytes(whole[:-20])
            done = bench.run("dissect", "cut")
            assert done.returncode == 1
            assert done.stdout.startswith("At least ")
            (line,) = [line for line in done.stdout.splitlines() if line.startswith("cut: ")]
            assert f"{len(the_frames()) - 1} frames read, up to byte " in line
            assert 0 < int(line.partition("up to byte ")[2].split(":")[0].replace(",", "")) < len(whole) - 20
        with subtests.test(damaged=name):
            few, content = len(form(the_frames()[:10])), bytearray(whole)
            content[few : few + 40] = b"\xff" * 40
            (tmp_path / "damaged").write_bytes(content)
            done = bench.run("dissect", "damaged", "--json=all.json")
            assert done.returncode == 1, done.stdout + done.stderr
            assert done.stdout.startswith("At least ")
            assert f"10 frames read, up to byte {few:,}: " in done.stdout
        with subtests.test(none=name):
            (tmp_path / "none").write_bytes(form([]))
            done = bench.run("dissect", "none")
            assert (done.returncode, done.stdout.splitlines()[0]) == (0, "No frames.")


def test_without_ldap_the_ports_are_named_with_the_option(bench, tmp_path):
    hello = b"\x16\x03\x01\x00\x10" + bytes(16)
    connection = made.Connection(server_port=1389)
    connection.open(made.START_NS)
    for number in range(4):
        connection.send(made.START_NS + (number + 1) * made.MS, number % 2, hello)
    frames = made.frames(connection.packets)
    (tmp_path / "other.pcap").write_bytes(made.pcap(frames))
    first = bench.run("dissect", "other.pcap").stdout.splitlines()[0]
    assert first.startswith("No LDAP in ")
    assert f"1389 ({len(frames)} frames)" in first
    assert "--port" in first
    assert "1 connection encrypted by TLS" in bench.run("dissect", "other.pcap", "--port", "1389").stdout.splitlines()[0]
    (tmp_path / "clear.pcap").write_bytes(made.pcap(the_frames(made.Connection(server_port=1389))))
    assert bench.run("dissect", "clear.pcap").stdout.startswith("13 operations")


def test_every_mistake_of_a_call_at_once(bench, tmp_path, subtests):
    words = ("-", "-", "-i", "lo", "--duration", "5 MB", "--port", "0", "--sla", "slow", "--link", "9XX", "--attributes")
    for call, parts in (
        (words, ("- and -i lo", "- more than once", "--duration: ", "--port: found 0", "--sla: ", "--link: ", "--attributes ")),
        (
            ("--duration", "5", "--port", "70000", "--html", "/no/where.html"),
            ("FILE", "--duration", "--port"),
        ),
        (("-i", "nowhere9", "--duration", "1 s"), ("'nowhere9'", "lo")),
    ):
        with subtests.test(call=call):
            done = bench.run("dissect", *call)
            assert (done.returncode, done.stdout) == (1 if "nowhere9" in call else 2, "")
            assert [part for part in parts if part not in done.stderr] == []
    (tmp_path / "a.pcap").write_bytes(made.pcap(the_frames()))
    levels = (
        "fast",
        "search p99",
        "p99",
        "search p98 <= 5 ms",
        "frob p99 <= 5 ms",
        "search p99 > 5 ms",
        "search p99 <= 5 MB",
        "",
    )
    for level in levels:
        with subtests.test(level=level):
            done = bench.run("dissect", "a.pcap", "--sla", level)
            assert (done.returncode, done.stdout) == (2, "")
            assert "--sla: found " in done.stderr
            assert "; expected " in done.stderr


@pytest.mark.skipif(not ROOT, reason="other users need root")
def test_missing_rights_are_named(tmp_path):
    with as_nobody() as bench:
        (bench.home / "secret.pcap").write_bytes(made.pcap(the_frames()))
        (bench.home / "secret.pcap").chmod(0o600)
        live = bench.run("dissect", "-i", "lo", "--duration", "1 s")
        file = bench.run("dissect", "secret.pcap")
    assert (live.returncode, file.returncode) == (1, 1)
    assert "-i lo: capturing needs the capability CAP_NET_RAW. Run as root." in live.stderr
    assert "secret.pcap: not read (Permission denied). Check the name and the permissions." in file.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="other users need root")
def test_places_that_cannot_be_written_are_named_before_anything_is_read(tmp_path):
    closed = tmp_path / "closed"
    (closed / "deeper").mkdir(parents=True)
    closed.chmod(0o700)
    with as_nobody(tmp_path) as bench:
        done = bench.run(
            *("dissect", "-i", "lo", "--html", closed / "a.html", "--profile", closed / "b.toml"),
            *("--save", "--lab", closed / "lab"),
        )
        hidden = [bench.run("dissect", "-i", "lo", f"--json={place / 'c.json'}") for place in (closed, closed / "deeper")]
    assert done.returncode == 2, done.stderr
    for name in ("a.html", "b.toml"):
        assert f"found {closed / name}; expected a file in a writable directory" in done.stderr
    assert f"--lab: found {closed / 'lab'}; expected a directory that can be written" in done.stderr
    for one in hidden:
        assert one.returncode == 2, one.stderr
        assert "c.json cannot be written. Name a file in a directory that you may write to." in one.stderr
