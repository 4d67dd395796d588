"""Bytes have a kind: what `assay stat` says of files, pipes, sockets and devices, each really read and written."""

import contextlib
import http.server
import os
import shlex
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

import assay
from assay.hosts import socket_bytes
from assay.hosts.local import Local
from stage.rows import each
from stage.stat_stage import MIB, PYTHON, SIZE, cold, failed, loop_disk, root, stat, warm

pytestmark = root
NEAR = 2 * MIB
"""Libraries, headers of requests."""
LEAST = 1 << 19
ENGINE = Path(assay.__file__).parent / "bin" / "assay-engine"
"""A program of several megabytes."""


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    for place in loop_disk(tmp_path_factory.mktemp("kinds")):
        warm(place / "data")
        yield place


@pytest.fixture(scope="module")
def port(disk):
    """A web server that is not of the command's tree, and has `data`."""
    handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: handler(*given, directory=str(disk)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


FETCH = "import urllib.request as u, shutil, sys; shutil.copyfileobj(u.urlopen(sys.argv[1]), open(sys.argv[2], 'wb'), 1 << 16)"
PAIR = (
    "import os, socket; a, b = socket.socketpair(); child = os.fork(); data = open('data', 'rb').read() if child else b''\n"
    "if child: b.close(); a.sendall(data); a.close(); os.wait()\n"
    "else:\n a.close()\n out = open('out', 'wb')\n while part := os.read(b.fileno(), 1 << 16): out.write(part)"
)


def file_bytes(told):
    """Bytes read of files, and written to them."""
    found = {name: one for name, one in told["measures"].items() if name in ("read", "write")}
    application = told["ladder"]["application"]
    return tuple(application[f"{side}_bytes"] if side in found else 0 for side in ("read", "write"))


def counted():
    counter, why = socket_bytes.listen()
    if counter is None:
        pytest.skip(why)
    counter.close()


@each(
    "script read written kinds",
    ("cat data | cat | head -c 20000000 > out", 20_000_000, 20_000_000, {}),
    ("cat data data data > /dev/null", 3 * SIZE, 0, {"read_bytes": 0}),
    ("head -c 50000000 /dev/zero > out", 0, 50_000_000, {"device_read_bytes": 50_000_000}),
    ("head -c 50000000 < /dev/urandom | cat > /dev/null", 0, 0, {"read_bytes": 100_000_000}),
    ("tar cf - data | cat > out", SIZE, SIZE, {"read_bytes": SIZE}),
    (f'{PYTHON} -c "{PAIR}"', SIZE, SIZE, {"read_bytes": SIZE, "received_bytes": 0}),
    (f'{PYTHON} -c "{FETCH}" http://127.0.0.1:{{port}}/data /dev/null', 0, 0, {"received_bytes": SIZE}),
    (f'{PYTHON} -c "{FETCH}" http://127.0.0.1:{{port}}/data out', 0, SIZE, {"received_bytes": SIZE}),
    ("wget -q -O /dev/null http://127.0.0.1:{port}/data", 0, 0, {"received_bytes": SIZE, "read_bytes": SIZE}),
    ("curl -s -o out http://127.0.0.1:{port}/data", 0, SIZE, {"received_bytes": SIZE}),
)
def test_files_pipes_sockets_and_devices_are_told_apart(disk, port, script, read, written, kinds):
    counted()
    if shutil.which(script.split()[0]) is None:
        return
    with contextlib.suppress(FileNotFoundError):
        (disk / "out").unlink()
    told = stat(disk, "sh", "-c", script.replace("{port}", str(port)), before=("--claim", "load=closed"))
    assert file_bytes(told) == pytest.approx((read, written), abs=NEAR)
    assert {name: told["ladder"]["no_file"][name] for name in kinds} == pytest.approx(kinds, abs=NEAR)


@each("tier", "client-cache", "device")
def test_no_layer_of_storage_is_claimed_of_what_a_socket_brought(disk, port, tier):
    words = (PYTHON, "-c", FETCH, f"http://127.0.0.1:{port}/data", "/dev/null")
    told = stat(disk, *words, before=("--claim", f"tier={tier}"))
    assert (told["verdict"] in ("UNVERIFIED", "TAINTED"), set(told["measures"])) == (True, {"receive"})
    assert "T02" in {finding["rule"] for finding in told["findings"] if finding["state"] == "unverified"}


READ = "./program --version > /dev/null; dd if=data of=/dev/null bs=1M iflag=direct status=none"


@pytest.mark.parametrize("where", ["beside the data", "elsewhere"])
def test_what_a_cold_program_reads_of_itself_is_no_data(disk, tmp_path, where):
    program = (disk if where == "beside the data" else tmp_path) / "program"
    shutil.copy(ENGINE, program)
    for path in (program, disk / "data"):
        cold(path)
    told = stat(disk, "sh", "-c", READ.replace("./program", str(program)), before=("--claim", "tier=device"))
    assert cached_bytes(program) > LEAST
    assert told["ladder"]["storage"]["read_bytes"] == pytest.approx(SIZE, abs=LEAST)
    assert {"T01", "E05"}.isdisjoint(one["rule"] for one in told["findings"] if one["state"] in ("fail", "unverified"))
    warm(disk / "data")


def cached_bytes(path):
    found = Local().syscalls.cachestat(str(path))
    return found.cached * found.page_bytes


@pytest.fixture(scope="module")
def sharing(tmp_path_factory):
    """A disk whose file system makes reflinks."""
    yield from loop_disk(tmp_path_factory.mktemp("sharing"), filesystem="xfs")


COPY = "import os; os.copy_file_range(os.open('data', 0), os.open('out', 65), os.stat('data').st_size)"


@each(
    "script kind",
    ("cp --reflink=always data out", "shared extents"),
    (f'{PYTHON} -c "{COPY}"', "shared extents"),
    (f"fallocate -l {SIZE} out", "preallocated"),
    (f"truncate -s {SIZE} out", "holes"),
    (f"sh -c 'truncate -s {SIZE} thin; cp --sparse=always thin out; rm thin'", "holes"),
    ("ln data out", "another name"),
    ("cp --reflink=never data out", ""),
)
def test_a_file_that_grows_without_data_is_not_written(sharing, script, kind):
    with contextlib.suppress(FileNotFoundError):
        (sharing / "out").unlink()
    told = stat(sharing, *shlex.split(script), before=("--claim", "load=closed"))
    (sharing / "out").unlink()
    claimed = stat(sharing, *shlex.split(script), before=("--claim", "durability=stable-media"))
    grown = [one for one in told["findings"] if one["rule"] == "D09"]
    if kind:
        assert "write" not in told["measures"]
        assert kind in grown[0]["statement"]
        assert "D09" in failed(claimed)
        assert claimed["verdict"] == "INVALID"
    else:
        assert file_bytes(told)[1] == pytest.approx(SIZE, abs=NEAR)
        assert "D09" not in failed(claimed)


def test_each_socket_call_is_counted_once_and_a_peek_is_none():
    counted()
    counter, _ = socket_bytes.listen()
    with contextlib.closing(counter), socket.create_server(("127.0.0.1", 0)) as door:
        with socket.create_connection(door.getsockname()) as one, door.accept()[0] as other:
            os.write(one.fileno(), bytes(5000))
            other.recv(5000, socket.MSG_PEEK | socket.MSG_WAITALL)
            other.recv(5000, socket.MSG_WAITALL)
        near, far = socket.socketpair()
        with near, far:
            near.send(bytes(700))
            os.read(far.fileno(), 700)
        assert counter.used()[os.getpid()] == socket_bytes.SocketUse(700, 700, 5000, 5000)


ELSEWHERE = """
ip link set lo up
{python} -m http.server 8099 > /dev/null 2>&1 &
server=$!
until curl -s -o /dev/null http://127.0.0.1:8099/; do sleep 0.1; done
{assay} stat -- curl -s -o /dev/null http://127.0.0.1:8099/data
kill $server
"""


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("ip")), reason="needs curl and ip")
def test_what_nobody_counted_in_another_network_namespace_is_not_called_little(disk):
    words = ELSEWHERE.format(python=PYTHON, assay=Path(PYTHON).parent / "assay")
    done = subprocess.run(("unshare", "--net", "sh", "-c", words), cwd=disk, check=True, capture_output=True, text=True)
    assert "bytes through sockets not counted" in done.stderr
    assert "moved less than" not in done.stderr
