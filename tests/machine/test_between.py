"""A proxy between a client and a server is named; a server that answers itself has nobody before it. Real processes."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.machine.between import between

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
        who = between(Local(), (client.pid,), (server.pid,), ())
        assert who == (f"{Path(f'/proc/{proxy.pid}/comm').read_text().strip()} ({proxy.pid})" if proxied else "")


def test_a_server_that_has_not_accepted_yet_is_looked_at_again():
    with contextlib.ExitStack() as both:
        late = SERVER.replace("link, _ = server.accept()", "sys.stdin.readline()\nlink, _ = server.accept()", 1)
        server = both.enter_context(running(late, stdin=subprocess.PIPE))
        proxy = both.enter_context(running(SERVER.replace("    one.recv(1)", "    pass"), server.stdout.readline().strip()))
        client = both.enter_context(running(CLIENT, proxy.stdout.readline().strip()))
        assert client.stdout.readline(), "connected to the proxy"
        assert between(HOST, (client.pid,), (server.pid,), ()) == ""
        server.stdin.write("\n")
        server.stdin.flush()
        waited = time.monotonic() + 20
        while not (who := between(HOST, (client.pid,), (server.pid,), ())) and time.monotonic() < waited:
            time.sleep(0.01)
        assert who.endswith(f"({proxy.pid})")


def test_a_load_without_a_connection_has_nobody_before_its_server():
    assert between(Local(), (1 << 22,), (1,), ()) == ""
