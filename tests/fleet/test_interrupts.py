"""Signals during a trial: at once, after what must not be left half done, and never in the tidying up."""

import os
import signal
import threading

import pytest

from assay.fleet.interrupts import Interrupts


def come(number=signal.SIGINT):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_is_done_and_the_handlers_come_back(number):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), Interrupts():
        come(number)
    assert signal.getsignal(number) is before


def test_a_shield_lets_its_work_be_finished_first():
    done = []
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        with interrupts.shielded():
            come()
            done.append("inside")
        done.append("after")
    assert done == ["inside"]


def test_a_second_signal_breaks_a_shield():
    done = []
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt), interrupts.shielded():
        come()
        done.append("once")
        come(signal.SIGTERM)
        done.append("twice")
    assert done == ["once"]


def test_tidying_up_hears_nothing_and_the_interrupt_comes_after_it():
    done = []
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        with interrupts.deaf():
            come()
            come()
            with interrupts.shielded():
                come()
            done.append("tidy")
        done.append("after")
    assert done == ["tidy"]


def test_an_error_on_the_way_is_not_hidden_by_a_waiting_signal():
    with Interrupts() as interrupts, pytest.raises(OSError, match="device"), interrupts.shielded():
        come()
        raise OSError("device")


def test_other_threads_leave_signals_alone():
    seen = []

    def work():
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
