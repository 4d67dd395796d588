"""What one host was asked in a look, the others are asked at once; a smaller look has its questions from a larger one."""

import threading

from assay.hosts.shared_looks import SharedLooks, recalled

ASKED = (("read", "/proc/stat"), ("read", "/proc/4711/io"), ("list", "/proc/4711/task"), ("list", "/sys/block"))


def test_the_first_host_tells_what_is_asked_but_not_of_its_processes():
    looks = SharedLooks()
    assert looks.recall("cpu io") == (), "the first one has to find out"
    found = []
    second = threading.Thread(target=lambda: found.append(looks.recall("cpu io")))
    second.start()
    looks.learn("cpu io", ASKED)
    second.join()
    assert found == [(("read", "/proc/stat"), ("list", "/sys/block"))]
    looks.learn("cpu io", ())
    assert looks.recall("cpu io") == found[0], "what the first one said stays"


def test_a_look_of_some_observers_is_known_from_one_of_more():
    known = {"a b c d": ASKED, "a b": ASKED[:1], "x": ASKED[1:]}
    assert recalled(known, "a b") == recalled(known, "b") == ASKED[:1]
    assert recalled(known, "c a") == ASKED
    assert recalled(known, "a x") == ()
