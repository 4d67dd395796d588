"""Serving never flushes: every call that would is counted by a library that stands before libc."""

import os
import shutil
import subprocess

import pytest

from assay.notebook.store import Store
from stage import cli_notebook
from stage.cli_notebook import NAME
from stage.served_notebook import served

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void note(const char *name) {
  int to = open(getenv("FLUSH_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (to >= 0) { if (write(to, name, strlen(name)) < 0) abort(); close(to); }
}
#define COUNTED(name) int name(int fd) { static int (*real)(int); \\
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, #name); note(#name "\\n"); return real(fd); }
COUNTED(fsync)
COUNTED(fdatasync)
COUNTED(syncfs)
void sync(void) { note("sync\\n"); }
"""


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc: flushes cannot be counted here")
    folder = tmp_path_factory.mktemp("counter")
    (folder / "flush.c").write_text(SOURCE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", folder / "flush.so", folder / "flush.c", "-ldl"], check=True)
    return folder / "flush.so"


@pytest.fixture
def counted(counter, tmp_path, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", str(counter))
    monkeypatch.setenv("FLUSH_LOG", str(tmp_path / "flushes"))
    return tmp_path / "flushes"


def test_the_counter_counts(counted, tmp_path):
    subprocess.run(["python3", "-c", f"import os; os.fsync(os.open({str(tmp_path)!r}, os.O_RDONLY))"], check=True, env=os.environ)
    assert counted.read_text() == "fsync\n"


def test_no_page_flushes_while_an_experiment_is_written(bench, tmp_path, counted):
    lab = cli_notebook.lab(tmp_path / "lab")
    row = {"trial": 1, "attempt": 1, "workload": "w", "phase": "write", "event": "running"}
    pages = (
        "/",
        "/metrics",
        f"/experiment/{NAME}",
        f"/experiment/{NAME}/live",
        f"/experiment/{NAME}/live/now",
        "/sql?q=SELECT+1&now=1",
    )
    with served(bench, lab) as site, Store.open(next(lab.glob("a-mail*"))) as store:
        for number in range(30):
            store.live({**row, "operations": {"write": {"count": number, "bytes": 0}}})
            for page in pages[: None if number % 10 == 0 else 5]:
                assert site.ask(page).status == 200
        site.until(f"/experiment/{NAME}/report?now=1", lambda one: one.status == 200)
        assert site.end() == 0
    assert not counted.exists()
