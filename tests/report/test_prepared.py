"""Compiled templates that are kept: used again, never where template, library or filter would give another page."""

import sys

import pytest

from assay.report import prepared

TEXT = '{{ "a & b" | shout }} <i>{{ name }}</i>\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "one.j2").write_text(TEXT)
    return tmp_path / "templates"


def page(folder, shout=str.upper):
    made = prepared.environment(folder)
    made.filters["shout"] = shout
    return made.get_template("one.j2").render(name="<x>")


def kept(folder):
    return {path: (path.read_bytes(), path.stat().st_ino) for path in (folder.parent / "__pycache__").glob("*")}


def test_what_was_compiled_is_used_again_until_filter_or_template_changes(folder):
    assert page(folder) == "A &amp; B <i>&lt;x&gt;</i>"
    (first,) = kept(folder).items()
    assert page(folder) == "A &amp; B <i>&lt;x&gt;</i>"
    assert dict([first]) == kept(folder), "not written again"
    page(folder)
    assert page(folder, str.title).startswith("A &amp; B <i>")
    assert page(folder, lambda text: text[:1]).startswith("a <i>")
    page(folder)
    (folder / "one.j2").write_text(TEXT.replace("<i>", "<b>"))
    assert "<b>" in page(folder)


def test_a_damaged_file_is_as_good_as_none(folder, subtests):
    for damage in [lambda whole: b"", lambda whole: whole[: len(whole) // 2], lambda whole: b"\x80" * 99]:
        with subtests.test(damage=damage):
            page(folder)
            ((path, (whole, _)),) = kept(folder).items()
            path.write_bytes(damage(whole))
            assert page(folder) == "A &amp; B <i>&lt;x&gt;</i>"
            assert [one for one, _ in kept(folder).values()] == [whole], "and is mended"


def test_another_version_of_the_library_compiles_anew(folder, monkeypatch):
    page(folder)
    (before,) = kept(folder).values()
    from jinja2 import compiler

    copy = folder.parent / "compiler.py"
    copy.write_bytes(b"")
    monkeypatch.setattr(compiler, "__file__", str(copy))
    page(folder)
    assert [one for one, _ in kept(folder).values()] != [before[0]]


def test_where_nothing_can_be_kept_there_is_a_page_all_the_same(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert page(folder).startswith("A &amp; B")
    assert kept(folder) == {}
    (folder.parent / "__pycache__").write_bytes(b"no folder")
    assert page(folder).startswith("A &amp; B")
    assert (folder.parent / "__pycache__").read_bytes() == b"no folder"
