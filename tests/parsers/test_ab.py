"""ab: failures that overlap, percentiles in whole milliseconds, the last of two runs."""

import re

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ab")
TEXT = recorded("ab-2.3-404.txt")


def test_failed_requests_and_other_answers_are_counted_once():
    text = TEXT.replace(
        "Failed requests:        0", "Failed requests:        7\n   (Connect: 0, Receive: 0, Length: 7, Exceptions: 0)"
    )
    assert PARSER.parse(text)["request.errors"] == 400


def test_answers_of_another_length_are_no_errors_and_doubtful():
    """Pages that change: ab calls each answer failed that is longer or shorter than the first one."""
    text = DYNAMIC
    found = PARSER.parse(text)
    assert (found["request.errors"], found["request.doubtful"], found["request.attempts"]) == (0, 4711, 5000)
    cut = PARSER.parse(
        text.replace("(Connect: 0, Receive: 0,", "(Connect: 0, Receive: 11,").replace("Length: 4711", "Length: 4700")
    )
    assert (cut["request.errors"], cut["request.doubtful"]) == (11, 4700)
    pages = PARSER.parse(text.replace("Total transferred", "Non-2xx responses:      4711\nTotal transferred"))
    assert pages["request.errors"] == 4711
    assert "request.doubtful" not in pages


def test_empty_pages_are_doubtful():
    found = PARSER.parse(re.sub(r"HTML transferred: .*", "HTML transferred:       0 bytes", recorded("ab-2.3-plain.txt")))
    assert (found["request.errors"], found["request.doubtful"]) == (0, found["request.count"])


DYNAMIC = """This is ApacheBench, Version 2.3 <$Revision: 1923142 $>

Server Software:        nginx
Server Port:            8080

Document Length:        1203 bytes

Concurrency Level:      10
Time taken for tests:   2.510 seconds
Complete requests:      5000
Failed requests:        4711
   (Connect: 0, Receive: 0, Length: 4711, Exceptions: 0)
Total transferred:      7250000 bytes
Requests per second:    1992.03 [#/sec] (mean)
Time per request:       5.020 [ms] (mean)
Transfer rate:          2820.76 [Kbytes/sec] received
"""
