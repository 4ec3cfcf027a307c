"""Work for requests: limits of its cost, turns, and clients that leave."""

import asyncio
import gc
import threading
import time
import weakref

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.testclient import TestClient

from sklearn_crcrf import HMM, EmpiricalCRF, TextTagger
from sklearn_crcrf.apps.web import tagging, tagging_app, work
from sklearn_crcrf.apps.web.json_api import post_steps
from sklearn_crcrf.apps.web.work import Busy, Work, in_slices


class Client:
    """A request whose client leaves after some time."""

    def __init__(self, seconds=60.0):
        self.left = time.monotonic() + seconds

    async def receive(self):
        if time.monotonic() > self.left:
            return {"type": "http.disconnect"}
        await asyncio.sleep(60)


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    monkeypatch.setattr(work, "SLICE", 0.0)  # a step is a slice
    monkeypatch.setattr(work, "LOOK", 0.01)


def steps_of(taken, name, n_steps):
    def steps(reserve):
        for _ in range(n_steps):
            taken.append(name)
            yield name

    return steps


def test_requests_take_turns():
    taken, shared = [], Work(1)

    async def both():
        long = asyncio.create_task(shared.run(steps_of(taken, "a", 200), Client(), 9.0))
        return await shared.run(steps_of(taken, "b", 3), Client(), 9.0), await long

    assert asyncio.run(both()) == ("bbb", "a" * 200)
    assert taken.index("b") < 20 and taken[-100:] == ["a"] * 100


def test_the_work_of_a_client_that_has_left_ends_and_what_waits_is_not_begun():
    taken, shared = [], Work(1)

    def slow(reserve):
        for _ in range(100):
            taken.append(time.sleep(0.2))
            yield ""

    async def all_of_them():
        jobs = [(slow, 0.1), *[(steps_of(taken, "b", 1), 0.0)] * 9]
        runs = [shared.run(steps, Client(seconds), 9.0) for steps, seconds in jobs]
        return await asyncio.gather(*runs, return_exceptions=True)

    assert all(isinstance(found, ClientDisconnect) for found in asyncio.run(all_of_them()))
    assert taken == [None]


def test_time_that_is_over_ends_the_work():
    taken = []

    def steps(reserve):
        while True:
            taken.append(time.sleep(0.01))
            yield ""

    with pytest.raises(TimeoutError):
        asyncio.run(Work(1).run(steps, Client(), 0.1))
    time.sleep(0.05)
    n_taken = len(taken)
    time.sleep(0.1)
    assert len(taken) == n_taken < 12


def test_only_so_much_may_wait_and_it_is_given_back():
    shared, begun, may_end = Work(2), threading.Event(), threading.Event()

    def steps(cost, wait=lambda: None):
        def inner(reserve):
            reserve(cost)
            wait()
            yield "x"

        return inner

    def wait():
        begun.set()
        may_end.wait(9)

    async def all_three():
        first = asyncio.create_task(shared.run(steps(work.MAX_WAITING - 1, wait), Client(), 9.0))
        await asyncio.to_thread(begun.wait, 9)
        with pytest.raises(Busy):
            await shared.run(steps(2.0), Client(), 9.0)
        assert await shared.run(steps(1.0), Client(), 9.0) == "x"
        may_end.set()
        await first
        assert await shared.run(steps(work.MAX_WAITING), Client(), 9.0) == "x"

    asyncio.run(all_three())


def test_who_must_come_again_is_told_when():
    def steps(content, reserve):
        reserve(work.MAX_WAITING + 1)
        yield ""

    route = post_steps("/busy", steps, Work())
    answer = TestClient(Starlette(routes=[route])).post("/busy", json={})
    assert answer.status_code == 503 and int(answer.headers["retry-after"]) > 0
    assert "try again" in answer.json()["error"]


def test_slices_are_all_sentences_in_order():
    costs = [work.SLICE_COST * share for share in (0.4, 0.6, 0.1, 3.0, 0.0, 0.9, 0.2)]
    assert [(s.start, s.stop) for s in in_slices(costs)] == [(0, 2), (2, 3), (3, 4), (4, 6), (6, 7)]
    assert list(in_slices([])) == []


@pytest.fixture(scope="module")
def client():
    labels = [f"T{k}" for k in range(120)]
    return TestClient(tagging_app(EmpiricalCRF().fit([labels], [labels])))


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/tag", {"tokens": ["a"] * 2500, "details": True}),
        ("/explain", {"tokens": ["a"] * 2000}),
    ],
)
def test_what_costs_too_much_is_refused_before_any_work(client, monkeypatch, path, content):
    for name in ("explain", "proposals", "unwrap"):
        monkeypatch.setattr(tagging, name, lambda *args, **options: 1 / 0)
    answer = client.post(path, json=content)
    assert answer.status_code == 413 and "tokens in a sentence" in answer.json()["error"]


def test_the_longest_requests_are_answered(client):
    sentences = [["T3", "a"] * 10] * 1000
    answer = client.post("/tag", json={"sentences": sentences})
    assert len(answer.json()["sentences"]) == 1000
    sentences = sentences[:30]
    found = client.post("/tag", json={"sentences": sentences, "details": True}).json()["sentences"]
    (alone,) = client.post("/tag", json={"tokens": sentences[0], "details": True}).json()[
        "sentences"
    ]
    assert found == [alone] * 30


@pytest.mark.parametrize("value", ["[]", "{}", '{"":{}}', "1", '""', "[,"])
def test_very_many_values_are_refused_before_they_are_made(client, value):
    body = '{"sentences":[' + ",".join([value] * 60_000) + "]}"
    headers = {"content-type": "application/json"}
    answer = client.post("/tag", content=body, headers=headers)
    assert answer.status_code == 413 and "brackets and commas" in answer.json()["error"]


def test_large_numbers_are_refused_before_they_are_made(client):
    body = '{"tokens":' + "9" * 4000 + "}"
    answer = client.post("/tag", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400 and "at most 20 digits" in answer.json()["error"]


def test_what_a_refused_request_held_is_freed_at_once():
    class Content:
        pass

    def steps(reserve):
        content = Content()
        held.append(weakref.ref(content))
        raise ValueError
        yield content

    held = []
    gc.disable()
    try:
        with pytest.raises(ValueError):
            asyncio.run(Work(1).run(steps, Client(), 9.0))
        assert held[0]() is None
    finally:
        gc.enable()


def test_tokens_that_wait_are_not_searched_for_garbage():
    sentences = tagging._sentences({"sentences": [["a", "dog"]]}, TextTagger(HMM()))
    gc.collect()
    assert not gc.is_tracked(sentences[0])
