"""What a server answered to curl, by its words and its output."""

from types import SimpleNamespace

from assay.watch.answers import answers
from stage.rows import each

URL = "http://127.0.0.1/f"
HEADERS = "HTTP/1.1 301 Moved\nLocation: x\n\nHTTP/2 200\n\n"


@each(
    "argv stdout stderr expected",
    (("curl", "-s", "-w", "%{http_code} %{speed_download}\\n", URL), "404 12345\n", "", (1, 1, 404)),
    (("curl", "-so", "/dev/null", "-w", "%{speed_download} %{response_code}", URL), "12345 200", "", (1, 0, 0)),
    (("curl", "-sw", "%{json}", URL), '{"http_code":503,"speed_download":1}', "", (1, 1, 503)),
    (("curl", "-v", URL), "", "> GET /\n< HTTP/1.1 500 Oops\n", (1, 1, 500)),
    (("curl", "-siL", URL), HEADERS, "", (1, 0, 0)),
    (("curl", "-si", URL), HEADERS[:20], "", (1, 1, 301)),
    (("curl", "-w", "%{http_code}\\n", URL, URL), "200\n404\n", "", (2, 1, 404)),
    (("curl", "-o", "x", URL), "", "", (1, None, 0)),
    (("curl", "-of", URL), "", "", (1, None, 0)),
    (("curl", "-fsSL", URL), "", "", (1, 0, 0)),
    (("curl", "--fail-with-body", URL), "", "", (1, 0, 0)),
    (("sh", "-c", f"cd /x && curl -sf {URL} | tar x"), "", "", (1, 0, 0)),
    (("curl", "file:///etc/hosts"), "", "", None),
    (("wget", URL), "", "", None),
)
def test_what_the_calls_of_curl_were_answered(argv, stdout, stderr, expected):
    watched = SimpleNamespace(argv=argv, stdout=SimpleNamespace(text=stdout), stderr=SimpleNamespace(text=stderr), status=0)
    found = answers(watched)
    assert (None if found is None else (found.count, found.failed, found.status)) == expected
