"""The pages behind a real proxy, which encrypts."""

import json
import re
import shutil
import socket
import ssl
import subprocess
import time
from contextlib import contextmanager
from http.client import HTTPSConnection

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from served_apps import served

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.apps.web import tagging_app

NGINX, OPENSSL = shutil.which("nginx", path="/usr/sbin:/usr/bin"), shutil.which("openssl")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(not (NGINX and OPENSSL), reason="needs nginx and openssl")

TOKEN = "geheim"
CONFIGURATION = """
daemon off;
pid {folder}/pid;
error_log {folder}/error;
events {{}}
http {{
    access_log off;
    client_body_buffer_size 1m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {folder}/certificate;
        ssl_certificate_key {folder}/key;
        location {location} {{
            proxy_pass http://{host}{target};
            {more}
        }}
    }}
}}
"""
KEEP_HOST = "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme;"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    command = [OPENSSL, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    command += ["-keyout", folder / "key", "-out", folder / "certificate"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def app():
    return tagging_app(EmpiricalCRF().fit([["Ann", "sings"]], [["B-PER", "O"]]))


@contextmanager
def proxied(app, certificate, folder, path, target, more):
    """The port of a proxy that shows the application at a path."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    public = f"https://localhost:{port}{path}"
    for name in ("key", "certificate"):
        shutil.copy(certificate / name, folder)
    with served(app, TOKEN, 10**6, public_url=public) as host:
        values = {"folder": folder, "port": port, "host": host, "location": path}
        (folder / "conf").write_text(CONFIGURATION.format(**values, target=target, more=more))
        process = subprocess.Popen([NGINX, "-e", folder / "error", "-c", folder / "conf"])
        try:
            for _ in range(100):
                with socket.socket() as made:
                    if made.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield public, port
        finally:
            process.terminate()
            process.wait()


WAYS = pytest.mark.parametrize(
    ("path", "target", "more"),
    [
        ("/", "", KEEP_HOST),
        ("/", "", ""),  # the proxy sends its own name for the service as the Host
        ("/labels/", "/", KEEP_HOST),
        ("/labels/", "/", ""),
        ("/labels/", "", KEEP_HOST),
        ("/labels", "", ""),
    ],
)


@WAYS
def test_the_page_works_and_other_sites_do_not(app, certificate, tmp_path, path, target, more):
    with proxied(app, certificate, tmp_path, path, target, more) as (_, port):
        folder = path.removesuffix("/")
        context = ssl.create_default_context(cafile=str(certificate / "certificate"))
        connection = HTTPSConnection("localhost", port, timeout=9, context=context)

        def ask(method, path, body=None, **headers):
            headers = {"Content-Type": "application/json", **headers}
            connection.request(method, f"{folder}{path}", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

        assert ask("GET", "/")[0] == 401
        status, headers, _ = ask("GET", f"/?token={TOKEN}")
        assert (status, headers["location"]) == (303, f"{folder}/")
        assert "secure" in headers["set-cookie"].lower()
        cookie = re.match("[^;]*", headers["set-cookie"])[0]
        assert b"<textarea" in ask("GET", "/", Cookie=cookie)[2]
        for origin, expected in [
            (f"https://localhost:{port}", 200),
            ("https://evil.example", 403),
            ("null", 403),
        ]:
            own = {"Cookie": cookie, "Origin": origin, "Sec-Fetch-Site": "same-origin"}
            status, _, body = ask("POST", "/tag", '{"text": "Ann"}', **own)
            assert status == expected
        status = ask("POST", "/tag", '{"text": "Ann"}', Cookie=cookie, Host="evil.example")[0]
        assert status == (421 if more else 200)  # the proxy may send its own name instead
        body = json.dumps({"text": "a " * 90_000})
        assert ask("POST", "/tag", body, Cookie=cookie)[0] == 400
        connection.close()


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as driver:
        args = ["--no-sandbox", "--disable-gpu"]
        yield driver.chromium.launch(executable_path=CHROMIUM, args=args)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@WAYS
def test_a_browser_labels_text(app, certificate, tmp_path, browser, path, target, more):
    with proxied(app, certificate, tmp_path, path, target, more) as (public, _):
        context = browser.new_context(ignore_https_errors=True)
        page = context.new_page()
        page.goto(f"{public.removesuffix('/')}/?token={TOKEN}")
        page.fill("#text", "Ann sings")
        page.get_by_role("button", name="Label").click()
        page.wait_for_selector("text=1 sentences")
        assert page.url == f"{public.removesuffix('/')}/"
        context.close()
