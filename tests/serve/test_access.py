"""No answer without the token, none under a stranger's name, nothing but reading."""

import socket

from stage.cli_notebook import NAME
from stage.served_notebook import cookies

PAGES = (
    *("/", f"/experiment/{NAME}", f"/experiment/{NAME}/live", f"/experiment/{NAME}/live/now", f"/experiment/{NAME}/report"),
    *(f"/experiment/{NAME}/run/0001/1", "/sql?q=SELECT+1", "/metrics", "/static/htmx.min.js", "/static/style.css"),
    *("/nowhere", "/../../etc/passwd"),
)
STRANGERS = ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.0.2.1", "[::1]", "", "localhost.", "0")


def test_no_page_answers_without_the_token(site):
    wrong = ({}, {"Cookie": "assay-1=x"}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"})
    failures = []
    for path in PAGES:
        cut = f"{path}{'&' if '?' in path else '?'}token={site.token[:-1]}"
        for asked, headers in (*((path, one) for one in wrong), (cut, {})):
            found = site.ask(asked, token=False, headers=headers)
            said = "403: another token." if asked == cut else "403: no token."
            if (found.status, found.text.startswith(said), "set-cookie" in found.headers) != (403, True, False):
                failures.append((asked, headers, found.status))
    assert failures == []
    for given in ("\xff\xfe", "", "x" * 5000):
        headers = {"Authorization": f"Bearer {given}".encode("latin-1"), "Cookie": f"assay-{site.port}={given}".encode("latin-1")}
        assert site.ask("/", token=False, headers=headers).status in (400, 403)
    asked = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22 + "==", "Sec-WebSocket-Version": "13"}
    assert site.ask("/", token=False, headers=asked).status in (400, 403, 426)


def test_the_token_of_the_address_becomes_a_cookie_and_leaves_the_address(site):
    found = site.ask(f"/sql?q=SELECT+1&token={site.token}", token=False)
    assert (found.status, found.headers["location"]) == (303, "/sql?q=SELECT+1")
    cookie = cookies(found)[f"assay-{site.port}"]
    assert (cookie.value, cookie["httponly"], cookie["samesite"].lower(), cookie["path"]) == (site.token, True, "strict", "/")
    assert site.ask("/", token=False, headers={"Cookie": f"{cookie.key}={cookie.value}"}).status == 200
    assert site.ask("/metrics", token=False, headers={"Authorization": f"Bearer {site.token}"}).status == 200
    found = site.ask(f"//elsewhere.example/?token={site.token}", token=False)
    assert (found.status, found.headers["location"].startswith("//")) == (303, False), "no other host"


def test_only_our_own_names_are_answered(site):
    answered = {host: site.ask("/", headers={"Host": host}) for host in STRANGERS}
    assert {host: (one.status, "Experiments" in one.text) for host, one in answered.items()} == dict.fromkeys(
        STRANGERS, (421, False)
    )
    ours = ("127.0.0.1", "localhost", "LOCALHOST:99", socket.gethostname())
    assert [site.ask("/", headers={"Host": host}).status for host in ours] == [200] * 4
    assert site.ask("/", headers={"Host": [f"127.0.0.1:{site.port}", "localhost"]}).status in (400, 421)
    with socket.create_connection(("127.0.0.1", site.port), 10) as raw:
        raw.sendall(f"GET / HTTP/1.0\r\nCookie: {site.cookie}\r\n\r\n".encode())
        assert b" 421 " in raw.recv(4096).splitlines()[0] + b" "


def test_pages_can_only_be_read(site):
    methods = ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")
    statuses = {(path, method): site.ask(path, method=method).status for path in PAGES for method in methods}
    assert {call: status for call, status in statuses.items() if status != 405} == {}


def test_every_answer_says_what_it_may_do(site, subtests):
    for path in PAGES[:9]:
        with subtests.test(path=path):
            found = site.ask(path)
            policy = found.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "sandbox" in policy or ("unsafe-eval" not in policy and "script-src 'self'" in policy)
            assert (found.headers["referrer-policy"], found.headers["x-content-type-options"]) == ("no-referrer", "nosniff")
            assert "server" not in found.headers
