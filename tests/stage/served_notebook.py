"""`assay serve` as a process of its own, and questions to it that no browser changes on their way."""

import contextlib
import http.client
import json
import select
import signal
from dataclasses import dataclass
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

from stage.assay_process import wait_until


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")


@dataclass
class Served:
    """A server that runs; `ask` sends one question and reads the whole answer."""

    process: object
    port: int
    token: str
    url: str

    @property
    def cookie(self):
        return f"assay-{self.port}={self.token}"

    def ask(self, path, *, method="GET", token=True, headers=None, timeout=300):
        """`path` goes out letter by letter."""
        given = {"Host": f"127.0.0.1:{self.port}", **({"Cookie": self.cookie} if token else {}), **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                for one in value if isinstance(value, list) else [value]:
                    connection.putheader(name, one)
            connection.endheaders()
            found = connection.getresponse()
            return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        finally:
            connection.close()

    def until(self, path, true, within_s=300):
        """The first answer of which the function is true."""
        return wait_until(lambda: (found := self.ask(path)) and true(found) and found, within_s, 0.2)

    def end(self, number=signal.SIGINT):
        """Send a signal; the exit status."""
        self.process.send_signal(number)
        return self.process.wait(300)


@contextlib.contextmanager
def served(bench, lab, *words):
    """A server of a notebook at a free port."""
    process = bench.start("serve", "--lab", str(lab), "--port", "0", "--json", *words)
    try:
        ready, _, _ = select.select([process.stdout], [], [], 60)
        assert ready, "no address after 60 s"
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            text += line
        said = json.loads(text)
        yield Served(process=process, port=urlsplit(said["url"]).port, token=said["token"], url=said["url"])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def cookies(answer):
    """Name -> morsel of the cookies that an answer sets."""
    return SimpleCookie(answer.headers.get("set-cookie", ""))
