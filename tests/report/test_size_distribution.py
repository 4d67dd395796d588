"""The picture of ages against sizes: well-formed, all cells there, texts escaped, no colour left open in a file."""

import importlib
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from assay.errors import MissingError, UsageError
from assay.report import picture
from assay.report.charts.figure import Table, document
from assay.report.charts.matrix import Matrix, Share, drawn

SVG = "{http://www.w3.org/2000/svg}"


def share(part, files=None, words="x: 1 file"):
    return Share(bytes=part, files=part if files is None else files, label=words)


def matrix(**more):
    given = {
        "title": "Files of /srv/<b>",
        "sentence": "A second tier would hold & keep 92 % of the bytes.",
        "row_title": "not modified for",
        "column_title": "size",
        "rows": ("under 1 day", "2 years or more"),
        "columns": ("up to 1 KiB", "256 KiB to 1 MiB", "over 256 MiB"),
        "cells": ((share(0.0, 0.0), share(0.001), share(0.1)), (share(0.3), share(0.0, 0.2), share(0.6))),
        "row_shares": (share(0.1), share(0.9)),
        "column_shares": (share(0.3), share(0.0, 0.2), share(0.7)),
        "reaching_title": "bytes so old or older",
        "reaching": ("100 %", "90 %"),
        **more,
    }
    return Matrix(**given)


def sheet(matrix):
    return picture.Sheet(
        note="In all 2 files.",
        drawn=drawn(matrix),
        tables=(("By age", Table(head=("age", "files"), rows=(("<1 day", "2"),))),),
        remarks=("Could not be read: <x>",),
    )


def alone(matrix):
    """The picture as a document of its own."""
    return document(matrix.title, matrix.sentence, drawn(matrix))


def test_the_drawing_is_well_formed_has_every_cell_and_stays_on_the_paper():
    root = ET.fromstring(alone(matrix()))
    cells = [one for one in root.iter(f"{SVG}rect") if one.get("rx")]
    assert len(cells) == 6
    strengths = [float(one.get("fill-opacity")) for one in cells]
    assert strengths[5] == 1
    assert strengths[5] > strengths[3] > strengths[2] > strengths[1] > 0
    assert cells[4].get("fill") == cells[1].get("fill") != cells[0].get("fill"), "files without bytes are not nothing"
    texts = ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]
    assert {"Files of /srv/<b>", "10 %", "30 %", "60 %", "256 KiB", "to 1 MiB", "under 1 day"} <= set(texts)
    assert "var(" not in alone(matrix())
    root = ET.fromstring(alone(matrix(row_shares=(share(1.0), share(0.0)), column_shares=(share(1.0),) * 3)))
    _, _, width, height = map(float, root.get("viewBox").split())
    for one in root.iter(f"{SVG}rect"):
        if "%" not in one.get("width"):
            assert float(one.get("x")) >= 0
            assert float(one.get("y")) >= 0
            assert float(one.get("x")) + float(one.get("width")) <= width
            assert float(one.get("y")) + float(one.get("height")) <= height
    nothing = share(0.0)
    empty = matrix(cells=((nothing,) * 3,) * 2, row_shares=(nothing,) * 2, column_shares=(nothing,) * 3)
    assert ET.fromstring(alone(empty)) is not None


def test_the_page_escapes_and_loads_nothing(tmp_path):
    path = tmp_path / "p.html"
    picture.write_sheet(sheet(matrix(title="<script>alert(1)</script>")), path)
    text = path.read_text()
    assert "<script" not in text
    assert "Could not be read: &lt;x&gt;" in text
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append((tag, dict(attributes)))
    parser.feed(text)
    assert not [one for _, one in tags if one.get("src") or (one.get("href") or "#")[0] not in "#d"]
    assert [one["id"] for tag, one in tags if tag == "section"] == ["answer", "table-1", "reading"]


def test_a_picture_alone_by_its_ending_and_only_png_needs_the_library(tmp_path, monkeypatch, subtests):
    for ending, start in [("svg", b"<svg"), ("png", b"\x89PNG")]:
        with subtests.test(ending=ending):
            if ending == "png":
                pytest.importorskip("vl_convert")
            path = tmp_path / f"p.{ending}"
            picture.write_sheet(sheet(matrix()), path)
            assert path.read_bytes().startswith(start)
    with pytest.raises(UsageError, match=r"expected one of: \.html, \.svg, \.png"):
        picture.check(tmp_path / "p.gif")

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    picture.check(tmp_path / "p.svg")
    with pytest.raises(MissingError, match=r"assay-lab\[picture\]"):
        picture.check(tmp_path / "p.png")
