"""A served notebook that the tests of this folder share, one a worker; none of them changes it."""

import pytest

import cli_notebook
from assay_process import Bench, kill
from served_notebook import served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture
def lab(tmp_path):
    return cli_notebook.lab(tmp_path / "lab")


@pytest.fixture(scope="session")
def notebook(tmp_path_factory):
    return cli_notebook.lab(tmp_path_factory.mktemp("served") / "lab")


@pytest.fixture(scope="session")
def site(tmp_path_factory, notebook):
    bench = Bench(tmp_path_factory.mktemp("home"))
    with served(bench, notebook) as found:
        yield found
    for pid in bench.processes():
        kill(pid)
