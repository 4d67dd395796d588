from assay.cli import tables
from assay.cli.tables import Row


def test_columns_are_aligned_and_notes_go_where_there_is_room():
    rows = [
        Row(cells=("SOUND", "1 s"), note="short"),
        Row(cells=("INVALID", "1,234 s"), note="a note that is too long for the line"),
    ]
    assert tables.table(("verdict", "value"), rows, (1,), width=30).splitlines() == [
        "verdict    value",
        "SOUND        1 s  short",
        "INVALID  1,234 s",
        "    a note that is too long for the line",
    ]


def test_levels_in_words():
    assert tables.levels_text({"target": "ext4", "hosts": ("a", "b")}) == "target=ext4 hosts=a+b"
    assert tables.levels_text({}) == ""
