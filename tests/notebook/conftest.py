"""A notebook with an experiment of ten runs, for tests of what is kept and moved: made once, a copy for each test."""

import shutil

import pytest

import cli_notebook


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    """The notebook itself; nobody changes it."""
    return cli_notebook.lab(tmp_path_factory.mktemp("pristine") / "lab")


@pytest.fixture
def lab(pristine, tmp_path):
    return shutil.copytree(pristine, tmp_path / "lab")


@pytest.fixture
def folder(lab):
    return lab / cli_notebook.NAME
