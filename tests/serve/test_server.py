"""The server as a program: what it prints, how it ends, what it refuses."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay_process import wait_until
from served_notebook import served


def test_a_signal_ends_it_cleanly_and_it_writes_nothing_into_the_notebook(bench, lab, subtests):
    def state():
        return sorted((str(path), path.stat().st_mtime_ns) for path in lab.rglob("*") if not path.name.endswith(("-shm", "-wal")))

    before = state()
    for number in (signal.SIGINT, signal.SIGTERM):
        with subtests.test(number=number), served(bench, lab) as site:
            for path in ("/", "/metrics", "/sql?q=SELECT+count(*)+FROM+runs", "/experiment/a-mail-spool-abababab/run/0001/1"):
                assert site.ask(path).status == 200
            if number == signal.SIGINT:
                site.until("/experiment/a-mail-spool-abababab/report", lambda one: one.status == 200)
                found = bench.run("serve", "--lab", lab, "--port", site.port)
                assert (found.returncode, found.stdout) == (1, ""), "the port is taken"
                assert f"127.0.0.1 port {site.port}: " in found.stderr
                assert "--port" in found.stderr
            assert site.end(number) == 0
            assert site.process.stderr.read() == ""
            with pytest.raises(OSError, match="refused"):
                socket.create_connection(("127.0.0.1", site.port), 5)
    assert state() == before


def test_ctrl_c_ends_the_query_that_it_works_on(bench, lab):
    with served(bench, lab) as site:
        with socket.create_connection(("127.0.0.1", site.port), 30) as asking:
            query = "SELECT+sum(a.range*b.range)+FROM+range(1000000)+a,range(1000000)+b"
            asking.sendall(f"GET /sql?q={query} HTTP/1.1\r\nHost: localhost\r\nCookie: {site.cookie}\r\n\r\n".encode())
            site.until("/", lambda _: len(bench.processes()) >= 2)
            os.killpg(site.process.pid, signal.SIGINT)
            assert site.process.wait(300) == 0
        wait_until(lambda: not bench.processes(), every_s=0.1)  # the tracker of Python's resources ends a moment later


def test_the_address_is_printed_once_and_not_again_by_an_interrupt(bench, lab):
    """Eight interrupts right after the first line, and one behind the second."""
    for lines in (1, 1, 1, 1, 1, 1, 1, 1, 2):
        process = bench.start("serve", "--lab", str(lab), "--port", "0")
        printed = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=300)
        assert printed[0].startswith("http://127.0.0.1:")
        assert "/?token=" in printed[0]
        assert (out.count("http://"), error, process.returncode) == (0, "", 0), printed
    assert out == "", "two lines are all"


def test_another_address_comes_with_a_warning_and_the_token_of_a_file_is_taken(bench, lab, tmp_path):
    file = tmp_path / "token"
    file.write_text("a-token-of-our-own-4711\n")
    file.chmod(0o644)
    assert "chmod 600" in bench.run("serve", "--lab", lab, "--port", "0", "--token-file", file).stderr
    file.chmod(0o600)
    with served(bench, lab, "--bind", "0.0.0.0", "--token-file", str(file)) as site:
        assert site.token == "a-token-of-our-own-4711"
        ours = {"Authorization": "Bearer a-token-of-our-own-4711", "Host": f"127.0.0.1:{site.port}"}
        assert site.ask("/", token=False, headers=ours).status == 200
        assert site.ask("/", headers={"Host": "evil.example"}).status == 421
        site.end()
        assert "not encrypted" in site.process.stderr.read()
    file.write_text("short")
    assert bench.run("serve", "--lab", lab, "--port", "0", "--token-file", file).returncode == 2


def test_wrong_words_are_usage_errors_and_a_missing_library_has_its_remedy(bench, lab, subtests):
    for words in (("--bind", "no.such.name.invalid"), ("--port", "70000"), ("--token-file", "/nowhere"), ("--lab", "/none")):
        with subtests.test(words=words):
            found = bench.run("serve", *(() if words[0] == "--lab" else ("--lab", lab)), *words)
            assert found.returncode == 2
            assert "Traceback" not in found.stderr
    code = "import sys; sys.modules['uvicorn'] = None; from assay.cli.main import main; main()"
    words = [sys.executable, "-c", code, "serve", "--lab", str(lab), "--port", "0"]
    found = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert (found.returncode, "assay-lab[serve]" in found.stderr) == (1, True)


def test_the_vendored_script_is_the_published_one():
    folder = Path(assay.__file__).parent / "serve" / "static"
    known = dict(reversed(line.split()) for line in (folder / "SHA256").read_text().splitlines())
    assert known.keys() == {"htmx.min.js", "htmx.LICENSE"}
    assert known == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in known}
