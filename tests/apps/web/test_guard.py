"""Requests of others are refused."""

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.apps.annotation import Log, Pool, TagMarks, Workbench
from sklearn_crcrf.apps.web import annotation_app, tagging_app
from sklearn_crcrf.apps.web.guard import POLICY, Guard

SCRIPT = "<script>alert(1)</script>"
HOST = "http://localhost:8000"
JSON = {"content-type": "application/json"}


@pytest.fixture
def bench(tmp_path):
    pool = Pool([[SCRIPT, "dog"], ["cats"]])
    with (
        Log(tmp_path / f"{SCRIPT.replace('/', '')}.jsonl") as log,
        Workbench(pool, log, TagMarks(["D", SCRIPT])) as bench,
    ):
        yield bench


def client_of(app, token=None, hosts=("localhost:8000",), base=HOST, public_url=None):
    return TestClient(Guard(app, hosts, token, 1000, public_url), base_url=base)


@pytest.fixture
def client(bench):
    return client_of(annotation_app(bench))


def test_our_own_page_is_answered(client):
    page = client.get("/")
    assert page.status_code == 200 and page.headers["content-security-policy"] == POLICY
    assert page.headers["x-content-type-options"] == "nosniff"
    own = {"origin": HOST, "sec-fetch-site": "same-origin"}
    assert client.post("/api/next", json={"by": "ann"}, headers=own).status_code == 200


@pytest.mark.parametrize("host", ["evil.example:8000", "localhost:9", "localhost", ""])
def test_other_host_names_are_refused(client, host):
    assert client.get("/api/state", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://localhost:9000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_requests_of_other_sites_change_nothing(client, bench, headers):
    answer = client.post("/api/skip", json={"by": "x", "sentence": 0}, headers=headers)
    assert answer.status_code == 403 and bench.annotations.n_entries == 0


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_forms_are_refused(client, bench, kind):
    content = b'{"by": "x", "sentence": 0}'
    answer = client.post("/api/skip", content=content, headers={"content-type": kind})
    assert answer.status_code == 415 and bench.annotations.n_entries == 0


@pytest.mark.parametrize("path", ["next", "accept", "skip", "flag", "undo", "label", "open"])
def test_no_state_changes_by_get(client, path):
    assert client.get(f"/api/{path}").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2fguard.py",
        "/annotate.js/../guard.py",
        "//etc/passwd",
        "/style.css%00.py",
    ],
)
def test_no_path_names_a_file(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"\xff",
        b'{"by": 3}',
        b'{"by": NaN}',
        b'{"by": "ann"}',
        b'{"by": "ann", "sentence": "0"}',
        b'{"by": "ann", "sentence": 99}',
        b'{"by": "ann", "sentence": -1}',
        b'{"by": "ann", "sentence": true}',
        b"[" * 900,
    ],
)
def test_content_that_is_not_valid_is_refused(client, bench, body):
    answer = client.post("/api/flag", content=body, headers=JSON)
    assert answer.status_code == 400 and answer.json()["error"]
    assert bench.annotations.n_entries == 0


def test_long_requests_are_refused(client):
    assert client.post("/api/next", content=b" " * 1001, headers=JSON).status_code == 413

    def parts():
        for _ in range(3):
            yield b" " * 500

    assert client.post("/api/next", content=parts(), headers=JSON).status_code == 413


def test_markup_in_tokens_and_names_stays_text(client):
    answer = client.post("/api/next", json={"by": SCRIPT})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["next"]["tokens"][0] == SCRIPT
    assert SCRIPT not in client.get("/").text


class TestToken:
    TOKEN = "geheim"

    @pytest.fixture
    def client(self, bench):
        return client_of(annotation_app(bench), self.TOKEN)

    @pytest.mark.parametrize(
        "headers",
        [{}, {"authorization": "Bearer wrong"}, {"authorization": "geheim"}, {"cookie": "a=;;=b"}],
    )
    def test_without_it_nothing_is_answered(self, client, headers):
        for path in ("/", "/api/state", "/?token=wrong"):
            assert client.get(path, headers=headers).status_code == 401

    def test_programs_send_it_in_a_header(self, client):
        headers = {"authorization": f"Bearer {self.TOKEN}"}
        assert client.get("/api/state", headers=headers).status_code == 200

    def test_browsers_send_it_once_and_keep_a_cookie(self, client):
        answer = client.get(f"/?token={self.TOKEN}", follow_redirects=False)
        assert answer.status_code == 303 and answer.headers["location"] == "/"
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie
        assert client.get("/api/state").status_code == 200

    def test_a_cookie_is_of_one_port(self, bench):
        guarded = Guard(annotation_app(bench), ["localhost:8000", "localhost:9000"], "geheim", 1000)
        first, other = (TestClient(guarded, f"http://localhost:{p}") for p in (8000, 9000))
        cookies = [c.get("/?token=geheim").request.headers["cookie"] for c in (first, other)]
        assert cookies == [f"sklearn_crcrf_token_{port}=geheim" for port in (8000, 9000)]
        first.cookies.clear()
        for cookie, status in zip(cookies, (200, 401), strict=True):
            assert first.get("/", headers={"cookie": cookie}).status_code == status

    @pytest.mark.parametrize("other", ['prefs={"a": [1, "b"]}', "a b=1", "a[0]=1", "=", "é=é"])
    def test_odd_cookies_of_other_pages_do_not_hide_it(self, client, other):
        cookie = f"{other}; sklearn_crcrf_token_8000={self.TOKEN}"
        answer = client.get("/api/state", headers={"cookie": cookie.encode()})
        assert answer.status_code == 200

    @pytest.mark.parametrize("path", ["//evil.example/%2e%2e", "//evil.example/", "/health"])
    def test_no_address_leads_elsewhere(self, client, path):
        answer = client.get(f"{HOST}{path}?token={self.TOKEN}", follow_redirects=False)
        assert answer.status_code == 401 and "location" not in answer.headers

    def test_a_link_of_another_site_is_followed_by_our_own(self, client):
        client.get(f"/?token={self.TOKEN}")
        client.cookies.clear()  # browsers do not send it with a link
        answer = client.get("/", headers={"sec-fetch-site": "cross-site"})
        assert answer.status_code == 401 and "http-equiv" in answer.text
        answer = client.get("/", headers={"sec-fetch-site": "same-origin"})
        assert answer.status_code == 401 and "token" in answer.json()["error"]

    @pytest.mark.parametrize("token", ["", " ", "a b", "é", "a;b", "a\n"])
    def test_a_token_that_opens_to_all_or_fits_no_cookie_is_refused(self, bench, token):
        with pytest.raises(ValueError, match="token must have at least one character"):
            client_of(annotation_app(bench), token)


class TestPort80:
    @pytest.fixture
    def client(self, bench):
        return client_of(annotation_app(bench), hosts=["localhost:80", "[::1]:80"])

    @pytest.mark.parametrize("host", ["localhost", "localhost:80", "[::1]", "LOCALHOST"])
    def test_the_host_needs_no_port(self, client, host):
        headers = {"host": host, "origin": f"http://{host.lower().removesuffix(':80')}"}
        assert client.post("/api/next", json={"by": "a"}, headers=headers).status_code == 200

    @pytest.mark.parametrize("host", ["localhost:8000", "evil.example", "::1"])
    def test_other_hosts_are_refused(self, client, host):
        assert client.get("/", headers={"host": host}).status_code == 421


class TestProxy:
    URL = "https://crf.example.org/labels/"

    @pytest.fixture
    def client(self, bench):
        return client_of(annotation_app(bench), "geheim", public_url=self.URL)

    def next(self, client, **headers):
        headers = {"authorization": "Bearer geheim", **headers}
        return client.post("/api/next", json={"by": "a"}, headers=headers).status_code

    @pytest.mark.parametrize(
        "headers",
        [
            {"host": "crf.example.org", "origin": "https://crf.example.org"},
            {"host": "crf.example.org:443", "origin": "https://crf.example.org"},
            {"host": "localhost:8000", "origin": "https://crf.example.org"},  # set by the proxy
            {"host": "localhost:8000", "origin": "http://localhost:8000"},
            {"host": "crf.example.org"},
        ],
    )
    def test_its_host_and_origin_are_ours(self, client, headers):
        assert self.next(client, **headers, **{"sec-fetch-site": "same-origin"}) == 200

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"host": "crf.example.org", "origin": "http://crf.example.org"}, 403),
            ({"host": "crf.example.org", "origin": "https://evil.example"}, 403),
            ({"host": "crf.example.org", "origin": "http://localhost:8000"}, 403),
            ({"host": "evil.example", "x-forwarded-host": "crf.example.org"}, 421),
            ({"host": "localhost:8000", "origin": "https://localhost:8000"}, 403),
        ],
    )
    def test_others_are_refused_whatever_was_forwarded(self, client, headers, status):
        forwarded = {"x-forwarded-proto": "https", "forwarded": "proto=https;host=crf.example.org"}
        assert self.next(client, **forwarded, **headers) == status

    @pytest.mark.parametrize("prefix", ["", "/labels"])
    def test_the_proxy_may_keep_the_path_or_remove_it(self, client, prefix):
        answer = client.get(f"{prefix}/?token=geheim", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/labels/")
        cookie = answer.headers["set-cookie"].lower()
        assert "path=/labels/;" in cookie and "secure" in cookie
        headers = {"authorization": "Bearer geheim"}
        for path in ("/", "/annotate.js", "/api/state"):
            assert client.get(f"{prefix}{path}", headers=headers).status_code == 200

    @pytest.mark.parametrize(
        ("url", "host"),
        [
            ("HTTPS://Crf.Example.org", "crf.example.org"),
            ("https://bücher.example:443/", "xn--bcher-kva.example"),
            ("https://[2001:DB8::1]/a/", "[2001:db8::1]"),
            ("https://a.example:8443/", "a.example:8443"),
        ],
    )
    def test_the_address_is_taken_as_browsers_write_it(self, bench, url, host):
        client = client_of(annotation_app(bench), "geheim", public_url=url)
        assert self.next(client, host=host, origin=f"https://{host}") == 200

    def test_the_path_needs_its_last_slash(self, client):
        answer = client.get("/labels", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (307, "/labels/")

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "crf.example.org",
            "ftp://a.example",
            "https://",
            "https://a.example:x/",
            "https://a.example/?q=1",
            "https://a.example/a b/",
            "https://a b.example/",
            "https://a..example/",
            "https://a.example//",
            "https://a.example/\n",
            "https://[::1/",
            "https://:443/",
            "https://a.example/#x",
            "https://user:secret@a.example/",
        ],
    )
    def test_an_address_that_is_not_valid_is_refused(self, bench, url):
        with pytest.raises(ValueError, match="public address"):
            client_of(annotation_app(bench), public_url=url)


def test_the_service_is_guarded_as_well():
    model = EmpiricalCRF().fit([["a", "dog"]], [["D", "N"]])
    client = client_of(tagging_app(model))
    assert client.post("/tag", json={"text": "a dog"}).status_code == 200
    evil = {"origin": "http://evil.example"}
    assert client.post("/tag", json={"text": "a dog"}, headers=evil).status_code == 403
    assert client.get("/tag").status_code == 405
