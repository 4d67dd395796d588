"""The settings of devices, as `environment` tells them: on a recorded host, and on this one."""

import os

import pytest

from assay.catalogue import find
from assay.hosts.local import Local
from assay.machine.stack import stack
from assay.observers.device_settings import OBSERVER
from assay.records import Edge, FactClass, Subject, When
from stage.observer_looks import look, recorded


def facts(observer, host, subject, edge=Edge.TRIAL_START):
    return {fact.key: fact for fact in observer.parse("h", "", [look(observer, host, subject, edge, 0)], subject).facts}


def test_a_recorded_host_tells_its_devices_and_how_much_may_be_dirty():
    host = recorded("cgroup_v2")
    device = next(name for name in host.list("/sys/block") if host.list(f"/sys/block/{name}/queue"))
    found = facts(OBSERVER, host, Subject(devices=(device,)))
    assert found["device.0.name"].value == device
    assert found["device.0.name"].fact_class is FactClass.IDENTITY
    assert found["sysctl.vm.dirty_ratio"].value.isdigit()
    assert any(key.startswith("device.0.queue.") for key in found)


def test_what_it_tells_is_what_environment_tells(subtests, tmp_path_factory):
    for edge in [Edge.TRIAL_START, Edge.TRIAL_END]:
        with subtests.test(edge=edge):
            tmp_path = tmp_path_factory.mktemp("case")
            host, devices = Local(), stack(Local(), os.fspath(tmp_path))
            if not devices:
                pytest.skip("the temporary directory is on no block device")
            subject = Subject(devices=devices, directory=str(tmp_path))
            whole = facts(find("observers", "environment"), host, subject, edge)
            found = facts(OBSERVER, host, subject, edge)
            assert len(found) > 10
            assert {key: fact.value for key, fact in found.items()} == {key: whole[key].value for key in found}
            assert {fact.when for fact in found.values()} == {When.BEFORE if edge is Edge.TRIAL_START else When.AFTER}


def test_it_looks_only_where_it_is_named():
    assert OBSERVER.on_request
