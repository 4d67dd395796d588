"""Answers of HTTP as they arrive: their status, and whether they are empty; only those of the port."""

import http.server
import os
import threading
import urllib.request
from contextlib import suppress

import pytest

from assay.hosts import http_answers
from assay.hosts.http_answers import Answer
from assay.watch import http as looks
from stage.rows import each


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, body = int(self.path.strip("/")[:3]), b"page" if self.path.endswith("b") else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="a socket of packets needs root")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_what_a_server_really_answers(address):
    class Server(http.server.ThreadingHTTPServer):
        address_family = http_answers.socket.AF_INET6 if ":" in address else http_answers.socket.AF_INET

    with Server((address, 0), Answers) as server, Server((address, 0), Answers) as other:
        for one in (server, other):
            threading.Thread(target=one.serve_forever, daemon=True).start()
        host = f"[{address}]" if ":" in address else address

        def ask():
            for port, path in ((other.server_port, "404b"), *((server.server_port, path) for path in ("200b", "200", "503b"))):
                with suppress(OSError):
                    urllib.request.urlopen(f"http://{host}:{port}/{path}").read()

        timer = threading.Timer(0.1, ask)
        timer.start()
        found = http_answers.look(server.server_port, 1.0)
        timer.join()
        server.shutdown()
        other.shutdown()
    assert found == {Answer(200, False): 1, Answer(200, True): 1, Answer(503, False): 1}


@each(
    "word port",
    ("http://a:8080/x", 8080),
    ("http://[::1]:81/", 81),
    ("http://a/x", 80),
    ("http://u:p@a:82?q", 82),
    ("https://a/", None),
    ("http://a:99999/", None),
    ("a:8080", None),
)
def test_the_port_of_an_address(word, port):
    assert looks.port_of(("wrk", word)) == port
