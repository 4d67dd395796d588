"""A notebook with an experiment of ten runs, for tests of what is kept and moved."""

import pytest

import cli_notebook


@pytest.fixture
def lab(tmp_path):
    return cli_notebook.lab(tmp_path / "lab")


@pytest.fixture
def folder(lab):
    return lab / cli_notebook.NAME
