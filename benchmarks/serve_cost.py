"""What `assay serve` takes: the first byte at 2,000 trials, and 50 pages refreshed each second beside an experiment.

The pages are of all kinds: the list, the experiment, the live view, the metrics, runs. The CPU time is that of the server and
of its children (user and system), from before the experiment to its end. Wanted are a first byte within 0.3 s, and at most 10 %
of one CPU. The experiment's own notebook then says whose that CPU time was.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import large_notebook

ASSAY = str(Path(sys.executable).parent / "assay")
READERS = 50
SECONDS = 30
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
BLOCKS = 200
EXPERIMENTS = 200
EXPERIMENT = """
title = "Beside readers"
question = "Who reads?"
repeats = 1
[targets.here]
kind = "directory"
path = "{path}"
[workloads.w]
kind = "bulk_io"
operations = ["read"]
size = "64 MiB"
record_size = "64 KiB"
duration = "{seconds} s"
cache = "warm"
[measures]
"w.read.bytes_per_s" = {{}}
"""


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure)."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/var/tmp") as name:
        lab = Path(name) / "lab"
        trials = large_notebook.make(lab, BLOCKS)
        folder = next(lab.glob("a-large*")).name
        pages = ("/", f"/experiment/{folder}", f"/experiment/{folder}?page=7", f"/experiment/{folder}/run/0012/1", "/metrics")
        for page in pages:
            with served(lab) as site:
                yield f"{trials:,} trials: first byte of {kind(page)}, first time", f"{first_byte(site, page):.3f} s"
                again = [first_byte(site, page) for _ in range(5)]
                yield f"{trials:,} trials: first byte of {kind(page)}, again", f"{statistics.median(again):.4f} s"
        yield from beside(Path(name), lab, folder)
        yield from many(Path(name) / "many")


def many(lab: Path) -> Iterator[tuple[str, str]]:
    """The same number of trials in 200 experiments of ten: each is read before the address is printed."""
    large_notebook.make(lab, 1)
    first = next(lab.glob("a-large*"))
    for number in range(1, EXPERIMENTS):
        shutil.copytree(first, lab / f"{first.name[:-8]}{number:08d}", copy_function=os.link)
    began = time.perf_counter()
    with served(lab) as site:
        yield f"{EXPERIMENTS} experiments of 10 trials: until the address is printed", f"{time.perf_counter() - began:.1f} s"
        yield f"{EXPERIMENTS} experiments of 10 trials: first byte of /, first time", f"{first_byte(site, '/'):.3f} s"
        again = [first_byte(site, "/") for _ in range(5)]
        yield f"{EXPERIMENTS} experiments of 10 trials: first byte of /, again", f"{statistics.median(again):.4f} s"


def beside(room: Path, lab: Path, folder: str) -> Iterator[tuple[str, str]]:
    """50 pages refreshed each second while an experiment runs."""
    (room / "data").mkdir()
    file = room / "beside.toml"
    file.write_text(EXPERIMENT.format(path=room / "data", seconds=SECONDS))
    runs = [f"/experiment/{folder}/run/{number:04d}/1" for number in range(1, 26)]
    live = [f"/experiment/{folder}/live/now"] * 15
    pages = ["/", "/metrics", *(f"/experiment/{folder}?page={number}" for number in range(1, 9)), *live, *runs]
    with served(lab) as site:
        running = subprocess.Popen(
            [ASSAY, "run", str(file), "--lab", str(lab)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while b"assay_trial_stage{" not in body(site, "/metrics"):
            time.sleep(0.1)
        own = next(one.name for one in lab.glob("beside-readers*"))
        pages[10:25] = [f"/experiment/{own}/live/now"] * 15
        over = threading.Event()
        with ThreadPoolExecutor(READERS) as pool:
            before, began = cpu_s(site.pid), time.monotonic()
            counts = [pool.submit(refresh, site, page, over) for page in pages[:READERS]]
            running.wait(SECONDS * 4 + 60)
            lasted, spent = time.monotonic() - began, cpu_s(site.pid) - before
            over.set()
            asked = sum(one.result() for one in counts)
        yield f"{READERS} pages refreshed each second for {lasted:.0f} s: pages a second", f"{asked / lasted:.1f}"
        yield f"{READERS} pages refreshed each second: CPU of the server", f"{spent / lasted:.2%} of one CPU"
    query = (
        f"SELECT metric, max(value) / 1e9 AS s FROM series WHERE layer = 'other_processes' AND experiment = '{own}' GROUP BY ALL"
    )
    found = subprocess.run([ASSAY, "sql", query, "--lab", str(lab), "--csv"], capture_output=True, text=True, check=True).stdout
    yield "CPU seconds by owner, as the experiment counted them in its phases", "; ".join(found.splitlines()[1:])
    commands = (
        f"SELECT subject, max(value) / 1e9 FROM series WHERE subject LIKE 'command:assay%' AND experiment = '{own}' GROUP BY ALL"
    )
    found = subprocess.run(
        [ASSAY, "sql", commands, "--lab", str(lab), "--csv"], capture_output=True, text=True, check=True
    ).stdout
    yield "Assay among the other programs", "; ".join(found.splitlines()[1:]) or "no"


class Site:
    """A server that runs."""

    def __init__(self, found: dict[str, object]) -> None:
        self.port = urlsplit(str(found["url"])).port or 0
        self.headers = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {found['token']}"}
        self.pid = int(str(found["pid"]))


@contextmanager
def served(lab: Path) -> Iterator[Site]:
    """`assay serve` at a free port."""
    with subprocess.Popen(
        [ASSAY, "serve", "--lab", str(lab), "--port", "0", "--json"], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            text += child.stdout.readline()
        try:
            yield Site(json.loads(text))
        finally:
            child.terminate()


def body(site: Site, page: str) -> bytes:
    """A whole page over a new connection."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    connection.request("GET", page, headers=site.headers)
    found = connection.getresponse()
    text = found.read()
    connection.close()
    if found.status != 200:
        raise RuntimeError(f"{page}: {found.status}")
    return text


def first_byte(site: Site, page: str) -> float:
    """Seconds from the question to the first byte of the body."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    connection.connect()
    began = time.perf_counter()
    connection.request("GET", page, headers=site.headers)
    found = connection.getresponse()
    found.read(1)
    took = time.perf_counter() - began
    connection.close()
    return took


def refresh(site: Site, page: str, over: threading.Event) -> int:
    """One reader: the page each second over a connection that stays, as a browser does; how often."""
    connection, count = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60), 0
    due = time.monotonic()
    while not over.is_set():
        connection.request("GET", page, headers=site.headers)
        found = connection.getresponse()
        found.read()
        if found.status != 200:
            raise RuntimeError(f"{page}: {found.status}")
        count, due = count + 1, due + 1
        over.wait(max(0.0, due - time.monotonic()))
    connection.close()
    return count


def kind(page: str) -> str:
    """A page without the name of the experiment."""
    return "/".join(part[:10] for part in page.split("/"))


def cpu_s(pid: int) -> float:
    """CPU time of a process and its children that have ended."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:15])) * TICK_S


if __name__ == "__main__":
    for what, figure in measure():
        print(f"{what}: {figure}", flush=True)
