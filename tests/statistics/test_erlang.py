import math

import pytest

from assay.statistics.queueing import slowdown, waiting_share


def direct(servers, load):
    """Erlang's formula as it is written, for few servers."""
    a = servers * load
    waiting = a**servers / math.factorial(servers) / (1 - load)
    return waiting / (sum(a**k / math.factorial(k) for k in range(servers)) + waiting)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.7), (2, 0.5), (4, 0.9), (16, 0.75)])
def test_the_recursion_is_erlangs_formula(servers, load):
    assert waiting_share(servers, load) == pytest.approx(direct(servers, load))


def test_one_server_is_the_single_queue():
    assert slowdown(1, 0.7) == pytest.approx(1 / 0.3)


def test_nobody_waits_alone_and_all_for_ever_at_full_load():
    assert slowdown(8, 0.0) == 1
    assert slowdown(8, 1.0) == math.inf
    assert waiting_share(8, 1.3) == 1


def test_many_servers_do_not_overflow():
    assert 0 < waiting_share(5000, 0.99) < 1


@pytest.mark.parametrize(("servers", "load"), [(0, 0.5), (1, -0.1)])
def test_nonsense_is_refused(servers, load):
    with pytest.raises(ValueError, match="no server"):
        slowdown(servers, load)
