"""Connections that say nothing, or too slowly."""

import asyncio
import gc
import signal
import socket
import sys
import time
from contextlib import ExitStack
from http.client import HTTPConnection

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from served_apps import served

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.apps.web import connections, guard, serve, tagging_app

HEADER = b"POST /tag HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def app():
    return tagging_app(EmpiricalCRF().fit([["a", "dog"]], [["D", "N"]]))


def connected(host, data):
    made = socket.create_connection(host.split(":"), timeout=9)
    made.sendall(data)
    return made


def status(host):
    connection = HTTPConnection(host, timeout=9)
    connection.request("GET", "/health")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def half_body(host):
    return HEADER % host.encode() + b'Content-Length: 20\r\n\r\n{"tok'


@pytest.mark.parametrize("part", [lambda host: b"", lambda host: b"GET / HT"])
def test_a_header_that_does_not_come_is_waited_for_a_while(app, monkeypatch, part):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    with served(app) as host, connected(host, part(host)) as made:
        assert made.recv(99) == b""
        assert status(host) == 200


def test_a_second_header_that_comes_slowly_is_not_waited_for(app, monkeypatch):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 1.0)
    with served(app) as host:
        request = f"GET /health HTTP/1.1\r\nHost: {host}\r\n\r\nGET / HTTP/1.1\r\nA: "
        with connected(host, request.encode()) as made:
            assert made.recv(9999)
            with pytest.raises(OSError):
                for _ in range(80):
                    made.sendall(b"a")
                    time.sleep(0.1)


def test_a_body_that_does_not_come_is_refused(app, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.3)
    with served(app) as host, connected(host, half_body(host)) as made:
        answer = made.recv(9999)
        assert answer.startswith(b"HTTP/1.1 408 ") and b"connection: close" in answer.lower()
        while made.recv(9999):
            pass


def test_a_client_that_leaves_in_the_middle_of_a_body_has_asked_for_nothing(app):
    reached = []

    async def watched(scope, receive, send):
        reached.append(scope["type"])
        await app(scope, receive, send)

    with served(watched) as host:
        connected(host, half_body(host)).close()
        time.sleep(0.3)
        assert status(host) == 200
    assert reached.count("http") == 1


@pytest.mark.parametrize("name", ["MAX_OF_ADDRESS", "MAX_CONNECTIONS"])
@pytest.mark.parametrize("part", [lambda host: b"GET / HT", half_body])
def test_the_oldest_that_waits_makes_room(app, monkeypatch, name, part):
    monkeypatch.setattr(connections, name, 10)
    with served(app) as host, ExitStack() as stack:
        waiting = []
        for _ in range(30):
            waiting.append(stack.enter_context(connected(host, part(host))))
            time.sleep(0.01)
        assert status(host) == 200
        time.sleep(0.1)
        n_open = 0
        for made in waiting:
            made.setblocking(False)
            try:
                made.recv(99)
            except BlockingIOError:
                n_open += 1
            except ConnectionResetError:
                pass
        assert 8 <= n_open <= 10


def test_bodies_in_memory_are_limited(app, monkeypatch):
    monkeypatch.setattr(guard, "MAX_KEPT", 8)
    with served(app) as host, ExitStack() as stack:
        stack.enter_context(connected(host, half_body(host)))
        time.sleep(0.2)
        with connected(host, half_body(host)) as made:
            assert made.recv(9999).startswith(b"HTTP/1.1 503 ")
        assert status(host) == 200


def test_the_end_waits_for_nobody(app):
    with ExitStack() as stack:
        with served(app) as host:
            for part in (b"", b"GET / HT", half_body(host)):
                stack.enter_context(connected(host, part))
            time.sleep(0.2)
            start = time.monotonic()
        assert time.monotonic() - start < 1.5


def test_there_are_fewer_connections_than_file_descriptors(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda limit: (256, 256))
    assert connections._max_connections() == 85
    monkeypatch.setattr(resource, "getrlimit", lambda limit: (resource.RLIM_INFINITY,) * 2)
    assert connections._max_connections() == connections.MAX_CONNECTIONS


def test_what_serving_sets_for_the_process_is_set_back(app, monkeypatch):
    def settings():
        return sys.getswitchinterval(), gc.get_freeze_count() > 0

    def run(server, sockets):
        inside.append(settings())
        for one in sockets:
            one.close()
        raise KeyboardInterrupt

    before, inside = settings(), []
    monkeypatch.setattr(connections.Server, "run", run)
    with pytest.raises(KeyboardInterrupt):
        serve(app, port=0)
    assert inside[0] != before and settings() == before


def test_the_address_is_printed_when_ctrl_c_is_heard(app, monkeypatch):
    heard_by = []

    def interrupt(*text, **options):
        heard_by.append(signal.getsignal(signal.SIGINT))
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("builtins.print", interrupt)
    with pytest.raises(KeyboardInterrupt):
        serve(app, port=0)
    assert heard_by[0] is not signal.default_int_handler


def test_pieces_of_bodies_are_read_in_turn():
    rounds, read_in = [0], []

    async def receive():
        read_in.append(rounds[0])
        return {"type": "http.request", "body": b" ", "more_body": len(read_in) < 200}

    async def send(message):
        pass

    async def count():
        while True:
            rounds[0] += 1
            await asyncio.sleep(0)

    async def all_of_them():
        guarded = guard.Guard(lambda *messages: send(None), ["localhost"], None, 1000)
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/tag", "headers": headers}
        counting = asyncio.create_task(count())
        await asyncio.gather(
            *(guarded({**scope, "scheme": "http"}, receive, send) for _ in range(20))
        )
        counting.cancel()

    asyncio.run(all_of_them())
    assert max(read_in.count(number) for number in set(read_in[20:])) <= 2
