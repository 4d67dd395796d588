"""Signals during a trial: at once, after what must not be left half done, and never in the tidying up."""

import os
import signal
import threading

import pytest

from assay.trial.interrupts import Interrupts


def come(number=signal.SIGINT):
    os.kill(os.getpid(), number)


def test_a_signal_ends_what_is_done_and_the_handlers_come_back(subtests):
    for number in [signal.SIGINT, signal.SIGTERM]:
        with subtests.test(number=number):
            before = signal.getsignal(number)
            with pytest.raises(KeyboardInterrupt), Interrupts():
                come(number)
            assert signal.getsignal(number) is before


def shielded(interrupts, done):
    with interrupts.shielded():
        come()
        done.append("inside")
    done.append("after")


def shielded_twice(interrupts, done):
    with interrupts.shielded():
        come()
        done.append("once")
        come(signal.SIGTERM)
        done.append("twice")


def tidied(interrupts, done):
    with interrupts.uninterrupted():
        come()
        come()
        with interrupts.shielded():
            come()
        done.append("tidy")
    done.append("after")


def broken(interrupts, done):
    with interrupts.shielded():
        come()
        done.append("before")
        raise OSError("device")


def test_what_must_not_be_left_half_done_is_done_before_the_interrupt(subtests):
    for work, error, expected in [
        (shielded, KeyboardInterrupt, ["inside"]),
        (shielded_twice, KeyboardInterrupt, ["once"]),
        (tidied, KeyboardInterrupt, ["tidy"]),
        (broken, OSError, ["before"]),
    ]:
        with subtests.test(work=work, error=error, expected=expected):
            done = []
            with Interrupts() as interrupts, pytest.raises(error):
                work(interrupts, done)
            assert done == expected


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
