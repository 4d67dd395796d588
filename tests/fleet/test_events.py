"""What an event's placeholders stand for."""

from assay.fleet.events import commands_of, values_of
from assay.records import EndpointKind, Event, Place

PLACE = Place(target="disk", host="local", kind=EndpointKind.DIRECTORY, address="/d", private={"loop": "loop3"})


def test_an_event_may_name_the_target_the_workloads_variables_and_its_clients():
    values = values_of(PLACE, {"variables.stop": 1, "size": 4096}, (11, 12))
    event = Event(phase="read", at_ns=5, run=("{directory} {loop} {disk.loop} {variables.stop}", "{client.pid} {client.1.pid}"))
    assert commands_of([event], "read", values) == [(5, ("/d loop3 loop3 1", "11 12"))]
    assert commands_of([event], "write", values) == []
    assert "size" not in values


def test_without_clients_there_is_none_to_name():
    assert "client.pid" not in values_of(PLACE, {}, ())
