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

from assay.cli import dissect as verb
from assay.errors import AssayError
from assay.laboratory.gate import Gate
from stage import ldap_captures as made
from stage.assay_process import wait_until
from stage.captured import passed, reads_frames
from stage.ldap_traffic import agrees, everything

ROOT = os.geteuid() == 0


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
    assert [line.rpartition(": ")[2].split()[0] for line in lines if line.startswith("Service level ")] == ["not", "met"]
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
    query = "SELECT filter, code, count, entries FROM ldap_uses WHERE operation = 'search' AND code = 32"
    assert json.loads(bench.run("sql", query, "--json").stdout)["rows"] == [
        {"filter": "(&(cn=?)(ou=?))", "code": 32, "count": 1, "entries": 0}
    ]
    assert json.loads(bench.run("sql", "SELECT mechanism, layer, binds FROM ldap_binds", "--json").stdout)["rows"] == [
        {"mechanism": "simple", "layer": "none", "binds": 1}
    ]


def test_any_number_of_files_and_standard_input(bench, tmp_path, capture):
    with capture.open("rb") as file:
        values = json.loads(bench.run("dissect", "-", "--json", stdin=file).stdout)
    assert (values["messages"], values["files"][0]["path"]) == (29, "standard input")
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


def test_attribute_names_only_on_request_and_a_gate_for_levels_that_are_not_met(bench, capture, tmp_path):
    done = bench.run("dissect", capture, "--profile", "load.toml", "--attributes", "--sla", "search p99 <= 50 ms", "--gate")
    assert (done.returncode, "(uid=?)" in (tmp_path / "load.toml").read_text()) == (4, True)
    assert bench.run("dissect", capture, "--sla", "bind p99 <= 50 ms", "--gate").returncode == 0


OLDER = """#!/bin/sh
echo '{answer}'
"""


def test_a_reader_of_another_version_is_named_with_the_remedy(monkeypatch, capture, tmp_path):
    engine = tmp_path / "engine"
    monkeypatch.setattr(verb, "engine_path", lambda: engine)
    for answer, words in (
        ({"files": [], "frames": 0}, "lacks abandoned, answers_lost, answers_without_request"),
        ({"refused": [{"kind": "options", "reason": "unknown field `more`"}]}, "unknown field `more`"),
    ):
        engine.write_text(OLDER.format(answer=json.dumps(answer)))
        engine.chmod(0o755)
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
