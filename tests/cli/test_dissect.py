"""The verb as a user calls it: terminal, JSON, page, profile, notebook, gates, and every mistake."""

import json
import os
import re
import signal
import socket
import threading
import tomllib
from pathlib import Path

import pytest

import ldap_captures as made
from assay.cli import dissect as verb
from assay.errors import AssayError
from assay.laboratory.gate import Gate
from assay_process import Bench, as_nobody, wait_until
from captured import passed, reads_frames
from ldap_traffic import agrees, everything

ROOT = os.geteuid() == 0


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "ldap.pcap"
    path.write_bytes(made.pcap(made.frames(everything().connection.packets), nanoseconds=True))
    return path


def test_the_terminal_and_all_files(bench, capture, tmp_path):
    done = bench.run(
        *("dissect", capture, "--sla", "search p99 <= 50 ms", "--sla", "bind max <= 1 s", "--link", "1GbE"),
        *("--html", "page.html", "--profile", "load.toml", "--save", "--json=all.json"),
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 40
    assert lines[0].startswith("13 operations in ")
    assert "Service level search p99 <= 50 ms: not met" in done.stdout
    assert "Service level bind max <= 1 s: met" in done.stdout
    assert "of 1GbE" in done.stdout
    values = json.loads((tmp_path / "all.json").read_text())
    assert values["schema"] == "assay.dissect/1"
    assert values["complete"] is True
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 3
    assert not re.findall(r"(?:src|href)=.http", page)
    profile = (tmp_path / "load.toml").read_text()
    assert tomllib.loads(profile)["profile"]["mix"]["search"] == pytest.approx(0.4444, abs=1e-4)
    for secret in ("TopSecret", "secret-value", "dc=example", "10.0.0", "uid"):
        assert secret not in profile
    query = "SELECT operation, requests FROM ldap_operations WHERE operation = 'search'"
    assert json.loads(bench.run("sql", query, "--json").stdout)["rows"] == [{"operation": "search", "requests": 4}]
    filters = json.loads(bench.run("sql", "SELECT filter, count FROM ldap_filters ORDER BY count DESC", "--json").stdout)
    assert filters["rows"] == [{"filter": "(uid=?)", "count": 3}, {"filter": "(&(cn=?)(ou=?))", "count": 1}]
    clients = json.loads(bench.run("sql", "SELECT client, operations FROM ldap_clients", "--json").stdout)
    assert clients["rows"] == [{"client": "10.0.0.1", "operations": 13}]


def test_standard_input_and_json_alone(bench, capture):
    with capture.open("rb") as file:
        done = bench.run("dissect", "-", "--json", stdin=file)
    values = json.loads(done.stdout)
    assert (values["messages"], values["files"][0]["path"]) == (29, "standard input")


def test_any_number_of_files(bench, tmp_path):
    talk = everything()
    ordered = sorted(talk.connection.packets, key=lambda one: one.t_ns)
    folder = tmp_path / ("pieces-" * 20)
    folder.mkdir()
    for number in range(1500):  # more than an argument of a program can name
        (folder / f"{number:04}").write_bytes(made.pcap(made.frames(ordered[number : number + 1]), nanoseconds=True))
    done = bench.run("dissect", "--json", *(str(one) for one in folder.iterdir()))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (len(found["files"]), found["frames"], found["complete"]) == (1500, len(ordered), True)
    agrees(found, talk.truth)


NAMED = (
    *("frames", "messages", "connections", "opaque_connections", "operations", "result_codes"),
    *("entries", "references", "unanswered", "abandoned", "notices", "unbinds"),
    *("slower_1s", "filters", "gaps", "gap_bytes", "cut_bytes"),
    *("retransmitted", "out_of_order", "capture_drops", "complete", "remarks"),
)
TIMES = ("n", "sum", "max", "p50", "p90", "p99", "p999")


def test_the_promised_names_are_in_the_json_and_on_its_page(bench, capture):
    found = json.loads(bench.run("dissect", capture, "--json").stdout)
    assert (found["schema"], sorted(set(NAMED) - found.keys())) == ("assay.dissect/1", [])
    for one in found["operations"]:
        assert {"operation", "requests", "answered", "response_ns", "first_entry_ns"} <= one.keys()
        assert set(TIMES) <= one["response_ns"].keys()
        assert set(TIMES) <= one["first_entry_ns"].keys()
    assert {"filter", "count"} <= found["filters"][0].keys()
    page = (Path(__file__).parents[2] / "docs" / "dissect-json.md").read_text()
    assert [name for name in found if name != "schema" and f"`{name}`" not in page and f"`{name}[]`" not in page] == []


def test_attribute_names_only_on_request(bench, capture, tmp_path):
    bench.run("dissect", capture, "--profile", "load.toml", "--attributes")
    assert "(uid=?)" in (tmp_path / "load.toml").read_text()


def test_a_gate_fails_for_a_level_that_is_not_met(bench, capture):
    assert bench.run("dissect", capture, "--sla", "search p99 <= 50 ms", "--gate").returncode == 4
    assert bench.run("dissect", capture, "--sla", "bind p99 <= 50 ms", "--gate").returncode == 0


def test_a_cut_file_is_read_to_there(bench, capture):
    content = capture.read_bytes()
    capture.write_bytes(content[:-30])
    done = bench.run("dissect", capture)
    assert done.returncode == 1
    assert done.stdout.startswith("At least 13 operations")
    assert "the file ends inside a frame" in done.stdout


def test_no_capture_is_named_as_what_it_is(bench, tmp_path):
    (tmp_path / "a.txt").write_text("Dear reader\n")
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8b\x08\0")
    (tmp_path / "empty").write_bytes(b"")
    done = bench.run("dissect", "a.txt", "a.gz", "empty", "missing", ".")
    assert done.returncode == 1
    for part in ("a text file", "packed by gzip", "an empty file", "No such file or directory", "a directory"):
        assert part in done.stderr


def test_every_mistake_at_once(bench):
    done = bench.run(
        "dissect",
        "--duration",
        "5",
        "--link",
        "9XX",
        "--sla",
        "fast",
        "--port",
        "70000",
        "--html",
        "/no/where.html",
        "--attributes",
    )
    assert done.returncode == 2
    for part in ("FILE...", "--duration", "--link", "--sla", "--port", "/no/where.html", "--attributes without --profile"):
        assert part in done.stderr


def test_what_is_no_service_level_is_answered_with_one(bench, capture, subtests):
    for level in ["", "p99", "search p99", "search p98 <= 5 ms", "lookup p99 <= 5 ms", "search p99 < 5 ms"]:
        with subtests.test(level=level):
            done = bench.run("dissect", capture, "--sla", level)
            assert done.returncode == 2
            assert f"--sla: found {level!r}; expected" in done.stderr
            assert '"search p99 <= 50 ms"' in done.stderr


def test_without_ldap_the_ports_are_named(bench, tmp_path):
    packets = everything(made.Connection(server_port=1389)).connection.packets
    (tmp_path / "a.pcap").write_bytes(made.pcap(made.frames(packets)))
    done = bench.run("dissect", "a.pcap")
    assert "1389" in done.stdout
    assert bench.run("dissect", "a.pcap", "--port", "1389").stdout.startswith("13 operations")


def test_an_interface_that_is_not_there(bench):
    done = bench.run("dissect", "-i", "nowhere9", "--duration", "1 s")
    assert done.returncode == 1
    assert "found no interface 'nowhere9'" in done.stderr
    assert "lo" in done.stderr


@pytest.mark.skipif(not ROOT, reason="other users need root")
def test_no_rights_are_named(tmp_path):
    with as_nobody() as bench:
        done = bench.run("dissect", "-i", "lo", "--duration", "1 s")
    assert done.returncode == 1
    assert "CAP_NET_RAW" in done.stderr


OLDER = """#!/bin/sh
echo '{answer}'
"""


def test_a_reader_of_another_version_is_named_with_the_remedy(monkeypatch, capture, tmp_path, subtests):
    for answer, words in [
        ({"files": [], "frames": 0}, "lacks abandoned, answers_lost, answers_without_request. The reader is of"),
        ({"refused": [{"kind": "options", "reason": "unknown field `more`"}]}, "unknown field `more`. The reader is of another"),
    ]:
        with subtests.test(answer=answer):
            engine = tmp_path / "engine"
            engine.write_text(OLDER.format(answer=json.dumps(answer)))
            engine.chmod(0o755)
            monkeypatch.setattr(verb, "engine_path", lambda engine=engine: engine)
            with pytest.raises(AssayError, match="Run `make build`") as caught:
                verb.dissect(verb.CaptureWords(files=(str(capture),)), verb.CaptureOutputs(), Gate.OFF)
            assert words in str(caught.value)


def talk(server, count):
    with server.accept()[0] as connection:
        for _ in range(count):
            connection.recv(4096)
            connection.sendall(made.message(1, made.result(0x65)))


@pytest.mark.root
@pytest.mark.skipif(not ROOT, reason="capturing needs root")
def test_live_on_the_loopback(bench, subtests):
    for ended in ["duration", "interrupt"]:
        with subtests.test(ended=ended):
            with socket.create_server(("127.0.0.1", 0)) as server:
                port = server.getsockname()[1]
                words = ["--duration", "6 s"] if ended == "duration" else []
                process = bench.start("dissect", "-i", "lo", "--port", str(port), "--json", *words)
                reads_frames(*wait_until(bench.engines))
                thread = threading.Thread(target=talk, args=(server, 50))
                thread.start()
                with socket.create_connection(("127.0.0.1", port)) as client:
                    for _ in range(50):
                        client.sendall(made.message(1, made.search(made.equal("cn", "a"))))
                        client.recv(4096)
                thread.join()
                if ended == "interrupt":
                    passed()
                    os.killpg(process.pid, signal.SIGINT)
                output, error = process.communicate()
            values = json.loads(output)
            assert (values["operations"][0]["requests"], values["operations"][0]["answered"]) == (50, 50), error
            assert (values["capture_drops"], values["gaps"], values["retransmitted"]) == (0, 0, 0)
