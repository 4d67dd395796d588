"""A proxy between a client and a server is named; a server that answers itself has nobody before it. Real processes."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.machine.between import doors, others, printed, reached

SERVER = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
link, _ = server.accept()
back = [socket.create_connection(("127.0.0.1", int(port))) for port in sys.argv[1:]]
for one in back:
    one.recv(1)
link.send(b"+")
link.recv(1)
"""
CLIENT = """
import socket, sys
link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
link.recv(1)
print("connected", flush=True)
link.recv(1)
"""


HOST = Local()


@contextlib.contextmanager
def running(*argv, **more):
    with subprocess.Popen([sys.executable, "-c", *map(str, argv)], stdout=subprocess.PIPE, text=True, **more) as one:
        try:
            yield one
        finally:
            one.kill()


@pytest.mark.parametrize("proxied", [True, False])
def test_who_is_between(proxied):
    with contextlib.ExitStack() as both:
        server = both.enter_context(running(SERVER))
        port = server.stdout.readline().strip()
        proxy = both.enter_context(running(SERVER, port)) if proxied else server
        client = both.enter_context(running(CLIENT, proxy.stdout.readline().strip() if proxied else port))
        assert client.stdout.readline(), "connected"
        who = others(Local(), (client.pid,), (server.pid,), ()).between
        assert who == (f"{Path(f'/proc/{proxy.pid}/comm').read_text().strip()} ({proxy.pid})" if proxied else "")


def test_a_server_that_has_not_accepted_yet_is_looked_at_again():
    with contextlib.ExitStack() as both:
        late = SERVER.replace("link, _ = server.accept()", "sys.stdin.readline()\nlink, _ = server.accept()", 1)
        server = both.enter_context(running(late, stdin=subprocess.PIPE))
        proxy = both.enter_context(running(SERVER.replace("    one.recv(1)", "    pass"), server.stdout.readline().strip()))
        client = both.enter_context(running(CLIENT, proxy.stdout.readline().strip()))
        assert client.stdout.readline(), "connected to the proxy"
        assert others(HOST, (client.pid,), (server.pid,), ()).between == ""
        server.stdin.write("\n")
        server.stdin.flush()
        waited = time.monotonic() + 20
        while not (who := others(HOST, (client.pid,), (server.pid,), ()).between) and time.monotonic() < waited:
            time.sleep(0.2)
        assert who.endswith(f"({proxy.pid})")


def test_a_load_without_a_connection_has_nobody_before_its_server():
    assert others(Local(), (1 << 22,), (1,), ()) == ("", "", "", "")


SHARED = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])), reuse_port=True)
print(server.getsockname()[1], flush=True)
links = []
while True:
    links.append(server.accept()[0])
    links[-1].send(b"+")
"""


@pytest.mark.parametrize("count", [1, 2])
def test_who_listens_on_the_port_of_the_server(count):
    """The kernel deals connections out to both: of 24 each gets some."""
    with contextlib.ExitStack() as both:
        first = both.enter_context(running(SHARED, 0))
        port = first.stdout.readline().strip()
        more = [both.enter_context(running(SHARED, port)) for _ in range(count - 1)]
        assert all(one.stdout.readline() for one in more)
        links = [both.enter_context(socket.create_connection(("127.0.0.1", int(port)))) for _ in range(24)]
        assert all(one.recv(1) == b"+" for one in links)
        host, load = Local(), (os.getpid(),)
        assert others(host, load, (first.pid,), ()).beside.endswith(f"({more[0].pid})" if more else "")
        every = others(host, load, (first.pid, *(one.pid for one in more)), ("again",))
        assert (every.between, every.beside, every.instead) == ("", "", "")
        assert every.direct.startswith("0100007F:")


def test_who_answers_in_the_place_of_the_named_server():
    with contextlib.ExitStack() as both:
        named, other = (both.enter_context(running(SERVER)) for _ in range(2))
        port = other.stdout.readline().strip()
        client = both.enter_context(running(CLIENT, port))
        assert client.stdout.readline(), "connected to the other one"
        assert named.stdout.readline()
        who = others(HOST, (client.pid,), (named.pid,), ("place",))
        assert who.instead.endswith(f"({other.pid})")
        assert (who.between, who.beside, who.direct) == ("", "", "")
        assert reached(HOST, (client.pid,)) == (f"127.0.0.1:{port}",)
        assert doors(HOST, (other.pid,)) == (f"127.0.0.1:{port}",)
        assert others(HOST, (client.pid,), (other.pid,), ("right",)).direct


BEHIND = """
import socket, sys
back = socket.socket(socket.AF_UNIX)
back.bind(sys.argv[1])
back.listen()
print("listens", flush=True)
links = [back.accept()[0]]
links[0].recv(1)
"""
BEFORE = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
link, _ = server.accept()
back = socket.socket(socket.AF_UNIX)
if len(sys.argv) > 1: back.connect(sys.argv[1])
link.send(b"+")
link.recv(1)
"""


@pytest.mark.parametrize("keeps", [True, False])
def test_a_proxy_that_reaches_the_server_by_a_unix_socket_is_no_other_server(keeps, tmp_path):
    with contextlib.ExitStack() as both:
        server = both.enter_context(running(BEHIND, tmp_path / "s"))
        assert server.stdout.readline()
        proxy = both.enter_context(running(BEFORE, *([tmp_path / "s"] if keeps else [])))
        client = both.enter_context(running(CLIENT, proxy.stdout.readline().strip()))
        assert client.stdout.readline()
        assert others(HOST, (client.pid,), (server.pid,), (f"unix {keeps}",)).instead == ""


@pytest.mark.parametrize("end", [("0100007F:0050", "127.0.0.1:80"), ("00000000000000000000000001000000:1F90", "[::1]:8080")])
def test_ends_as_people_write_them(end):
    assert printed(end[0]) == end[1]
