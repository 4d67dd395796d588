"""D09: 256 MiB longer by a command that tells no bytes: by data, by shared extents, by holes."""

from dataclasses import replace

from assay.records import Claim, Durability, Tier
from assay.rules.grown_without_data import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of, gauge
from stage.said import ASKED, FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, UNVERIFIED, hold

STABLE, DEVICE = Claim(durability=Durability.STABLE_MEDIA), Claim(tier=Tier.DEVICE)
WRITTEN = Made(
    operation="write",
    claim=STABLE,
    figure="elapsed_ns",
    values={"write.elapsed_ns": 1e9},
    drain_s=0.1,
    seen=Seen(storage_bytes=256 * MIB, lower_bytes=200 * MIB, drain_bytes=57 * MIB),
)
SHARED = but(WRITTEN, storage_bytes=4096, lower_bytes=8192, drain_bytes=8192)
BUSY = but(SHARED, lower_bytes=900 * MIB)


def case(made, layer="growth", **grown):
    """The case where files became so much longer (MiB)."""
    names = {"growth": "grown_bytes", "extents": "file_bytes"}
    each = {names[layer]: 256.0, "hole_bytes": 0.0, "unwritten_bytes": 0.0, **grown}
    found = case_of(but(made, file_bytes=0), "D09")
    series = [one for one in found.observations.series if one.layer != "extents"]
    late = [
        replace(one, at_ns=one.at_ns[-1:], value=one.value[-1:])
        for name, value in each.items()
        for one in [gauge(layer, "path:/f", name, (0.0, value * MIB), made.seconds)]
    ]
    return replace(found, observations=replace(found.observations, series=(*series, *late)))


def judged(made, layer="growth", **grown):
    return RULE.check(case(made, layer, **grown))


def test_states():
    hold(
        ("data passes", judged(WRITTEN), PASS),
        "what shares its extents was not written",
        (judged(SHARED, shared_bytes=256.0), FAIL, INVALIDATES, "shared extents"),
        (judged(but(SHARED, claim=DEVICE), shared_bytes=256.0), FAIL, INVALIDATES),
        (judged(but(SHARED, claim=Claim()), shared_bytes=256.0), FAIL, NOTES),
        (judged(BUSY, shared_bytes=256.0), FAIL, INVALIDATES),
        "nor are holes and space",
        (judged(SHARED, hole_bytes=200.0, unwritten_bytes=56.0), FAIL, INVALIDATES, "holes, preallocated"),
        "without the growth of the files the extents of the data files tell it",
        (judged(WRITTEN, "extents"), PASS),
        (judged(SHARED, "extents"), FAIL, INVALIDATES),
        (judged(SHARED, "extents", hole_bytes=256.0), FAIL, INVALIDATES, "holes"),
        ("who wrote it on a busy device is unknown", judged(BUSY, "extents"), UNVERIFIED),
        ("nobody counted", judged(but(WRITTEN, storage_bytes=None), "extents"), UNVERIFIED),
    )


def test_it_speaks_of_writes_that_tell_no_bytes_and_of_files_that_grew():
    hold(
        (RULE.applies(case(SHARED)), ASKED),
        (RULE.applies(case(but(SHARED, values={"write.bytes": 1e9}))), NOT_ASKED),
        (RULE.applies(case(SHARED, grown_bytes=1.0)), NOT_ASKED),
        (RULE.applies(case_of(but(SHARED, operation="read"), "D09")), NOT_ASKED),
    )
