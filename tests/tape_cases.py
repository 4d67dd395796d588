"""Runs on a tape drive for the tests of rules: what the load wrote, what the drive counted, where the tape stood."""

from array import array
from dataclasses import replace

from assay.records import Claim, Direction, Durability, EndpointKind, Place, Series, Tier
from audit.case_builder import MIB, Made, case_of

SECOND = 10**9
STABLE = Claim(durability=Durability.STABLE_MEDIA)
DEVICE = Claim(tier=Tier.DEVICE)
AFTER_NEXT_MARK, AT_START, HELD_OPEN = (2, 0), (0, 0), None


def tape_case(
    rule,
    *,
    operation="write",
    claim=STABLE,
    moved=256 * MIB,
    others=4,
    busy_s=0.9,
    moving_s=0.8,
    before=(1, 0),
    after=AFTER_NEXT_MARK,
):
    """256 MiB in 1 s, beginning after the first mark."""
    made = case_of(Made(operation=operation, claim=claim), rule)
    way = made.phase.directions[operation]
    counted = {
        f"{way}_bytes": moved,
        f"{'read' if way is Direction.WRITE else 'write'}_bytes": 0,
        f"{way}_ns": moving_s * SECOND,
        f"{'read' if way is Direction.WRITE else 'write'}_ns": 0,
        "io_ns": busy_s * SECOND,
        "other_operations": others,
    }
    series = [one(metric, ((0, 0), (SECOND, value))) for metric, value in counted.items()]
    looks = [(at, place) for at, place in ((0, before), (SECOND, after)) if place is not None]
    for index, metric in enumerate(("file_number", "block_number")):
        series.append(one(metric, [(at, place[index]) for at, place in looks]))
    place = Place(target="t", host="local", kind=EndpointKind.DEVICE, address="/dev/nst0", tape="st0")
    return replace(
        made,
        run=replace(made.run, places=(place,)),
        observations=replace(made.observations, series=(*made.observations.series, *series)),
    )


def one(metric, points):
    return Series(
        phase="p",
        source="tape:/sys/class/scsi_tape",
        layer="tape",
        host="local",
        subject="device:st0",
        metric=metric,
        unit="count",
        at_ns=array("q", (at for at, _ in points)),
        value=array("d", (float(value) for _, value in points)),
    )
