"""Names of fio's groups: one each, none like another's, and of the direction or the object that they are about."""

from hypothesis import given
from hypothesis import strategies as st

from assay.catalogue import printed

MANNERS = st.builds(
    printed.Manner,
    pattern=st.sampled_from(["", "read", "randread", "rw", "randrw", "write"]),
    engine=st.sampled_from(["", "psync", "libaio", *printed.FIO_OBJECTS]),
)


@given(st.sampled_from(["read", "write"]), st.lists(MANNERS, min_size=1, max_size=12))
def test_each_group_has_a_name_of_its_own(side, manners):
    names = printed.fio_groups(side, dict(enumerate(manners)))
    assert list(names) == list(range(len(manners)))
    assert len(set(names.values())) == len(manners)
    for number, name in names.items():
        wanted = printed.FIO_OBJECTS.get(manners[number].engine, side)
        assert name.isidentifier()
        assert wanted in name
        assert manners[number].has("count")
        assert manners[number].has("bytes") is (wanted == side)


def test_one_that_is_alone_is_called_by_its_direction():
    assert printed.fio_groups("read", {0: printed.Manner(pattern="randread")}) == {0: "read"}
    two = {0: printed.Manner(pattern="read"), 1: printed.Manner(pattern="randread")}
    assert printed.fio_groups("read", two) == {0: "read", 1: "random_read"}
