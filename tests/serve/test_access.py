"""No answer without the token, none under a stranger's name, nothing but reading."""

import socket

import pytest

from cli_notebook import NAME
from served_notebook import cookies

PAGES = (
    "/",
    f"/experiment/{NAME}",
    f"/experiment/{NAME}/live",
    f"/experiment/{NAME}/live/now",
    f"/experiment/{NAME}/report",
    f"/experiment/{NAME}/run/0001/1",
    "/sql?q=SELECT+1",
    "/metrics",
    "/static/htmx.min.js",
    "/static/style.css",
    "/nowhere",
    "/../../etc/passwd",
)


def test_no_page_answers_without_the_token(site, subtests):
    for path in PAGES:
        for headers in [{}, {"Cookie": "assay-1=x"}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}]:
            with subtests.test(path=path, headers=headers):
                found = site.ask(path, token=False, headers=headers)
                assert found.status == 403
                assert found.text == "403: no token. Open the address that `assay serve` printed.\n"


def test_a_wrong_token_in_the_address_is_refused(site, subtests):
    for path in PAGES:
        with subtests.test(path=path):
            found = site.ask(f"{path}{'&' if '?' in path else '?'}token={site.token[:-1]}", token=False)
            assert found.status == 403
            assert "set-cookie" not in found.headers


@pytest.mark.parametrize("given", ["\xff\xfe", "", "x" * 5000])
def test_a_token_of_other_letters_is_refused(site, given):
    headers = {"Authorization": f"Bearer {given}".encode("latin-1"), "Cookie": f"assay-{site.port}={given}".encode("latin-1")}
    assert site.ask("/", token=False, headers=headers).status in (400, 403)


def test_the_token_of_the_address_becomes_a_cookie_and_leaves_the_address(site):
    found = site.ask(f"/sql?q=SELECT+1&token={site.token}", token=False)
    assert (found.status, found.headers["location"]) == (303, "/sql?q=SELECT+1")
    cookie = cookies(found)[f"assay-{site.port}"]
    assert (cookie.value, cookie["httponly"], cookie["samesite"].lower(), cookie["path"]) == (site.token, True, "strict", "/")
    assert site.ask("/", token=False, headers={"Cookie": f"{cookie.key}={cookie.value}"}).status == 200


def test_the_redirect_leads_to_no_other_host(site):
    found = site.ask(f"//elsewhere.example/?token={site.token}", token=False)
    assert found.status == 303
    assert not found.headers["location"].startswith("//")


def test_a_bearer_token_reads_the_metrics(site):
    assert site.ask("/metrics", token=False, headers={"Authorization": f"Bearer {site.token}"}).status == 200


def test_a_name_that_is_not_ours_gets_no_answer(site, subtests):
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.0.2.1", "[::1]", "", "localhost.", "0"]:
        with subtests.test(host=host):
            found = site.ask("/", headers={"Host": host})
            assert found.status == 421
            assert "Experiments" not in found.text


def test_two_names_or_none_get_no_answer(site):
    assert site.ask("/", headers={"Host": [f"127.0.0.1:{site.port}", "localhost"]}).status in (400, 421)
    with socket.create_connection(("127.0.0.1", site.port), 10) as raw:
        raw.sendall(f"GET / HTTP/1.0\r\nCookie: {site.cookie}\r\n\r\n".encode())
        assert b" 421 " in raw.recv(4096).splitlines()[0] + b" "


def test_our_own_names_are_answered(site, subtests):
    for host in ["127.0.0.1", "localhost", "LOCALHOST:99", socket.gethostname()]:
        with subtests.test(host=host):
            assert site.ask("/", headers={"Host": host}).status == 200


def test_pages_can_only_be_read(site, subtests):
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]:
        for path in PAGES:
            with subtests.test(method=method, path=path):
                assert site.ask(path, method=method).status == 405


def test_every_answer_says_what_it_may_do(site, subtests):
    for path in PAGES[:9]:
        with subtests.test(path=path):
            found = site.ask(path)
            policy = found.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "sandbox" in policy or ("unsafe-eval" not in policy and "script-src 'self'" in policy)
            assert (found.headers["referrer-policy"], found.headers["x-content-type-options"]) == ("no-referrer", "nosniff")
            assert "server" not in found.headers


def test_a_websocket_gets_no_answer(site):
    asked = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22 + "==", "Sec-WebSocket-Version": "13"}
    assert site.ask("/", token=False, headers=asked).status in (400, 403, 426)
