"""Requests to the web service, many at once: long, deep, damaged, abandoned and half-sent.

Meanwhile ``/health`` answers; afterwards the service does nothing, and Ctrl-C ends it. How long
that takes is measured: run one job at a time, on a machine that does nothing else.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from random import Random

from _campaign import Campaign, Outcome, Wrong, show
from _mutations import mutated_bytes

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.model_files import save_model

N_LABELS, N_WORDS = 60, 500
STATUSES = {0, 200, 400, 401, 404, 405, 408, 411, 413, 415, 422, 429, 431, 503}  # 0: closed
# Seconds; other processes may be running.
LONGEST_HEALTH, LONGEST_END, LONGEST_WORK = 1.0, 5.0, 0.5
_model: list[bytes] = []


def prepare() -> None:
    """Store a model of many labels."""
    rng = Random(0)
    X = [rng.choices([f"w{k}" for k in range(N_WORDS)], k=20) for _ in range(200)]
    y = [rng.choices([f"T{k}" for k in range(N_LABELS)], k=20) for _ in X]
    save_model(EmpiricalCRF().fit(X, y), "model")
    _model.append(Path("model").read_bytes())


def ask_at_once(rng: Random, number: int) -> Outcome:
    """A service gets some requests at once, and is asked for its health meanwhile."""
    Path("model").write_bytes(_model[0])
    command = "serve", "--model", "model", "--port", "0", "--no-browser"
    folder = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(
        [sys.executable, "-m", "sklearn_crcrf", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": folder},
    )
    url = next((line for line in process.stdout if line.startswith("http")), "")
    port = int(re.search(r":(\d+)", url)[1])
    asked = [_request(rng) for _ in range(rng.choice([1, 5, 20, 45]))]
    show([(path, body[:80], way) for path, body, way in asked])
    slowest = 0.0
    with ThreadPoolExecutor(len(asked)) as pool:
        answers = [pool.submit(_send, port, *request) for request in asked]
        while not all(answer.done() for answer in answers):
            begin = time.monotonic()
            status = _send(port, "/health", b"", "GET")
            slowest = max(slowest, time.monotonic() - begin)
            if status != 200:
                raise Wrong(f"/health answers {status}")
            time.sleep(0.02)
    begin = _cpu_seconds(process.pid)
    time.sleep(1.0)
    working = _cpu_seconds(process.pid) - begin
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        raise Wrong("Ctrl-C does not end the service") from None
    ending = time.monotonic() - begin
    statuses = {answer.result() for answer in answers}
    show(statuses, slowest, working, ending)
    if not statuses <= STATUSES:
        raise Wrong(f"a request gets {sorted(statuses - STATUSES)}")
    if slowest > LONGEST_HEALTH or working > LONGEST_WORK or ending > LONGEST_END:
        raise Wrong("/health, work for nobody or Ctrl-C take long", (slowest, working, ending))
    return Outcome("answered", {"seconds of /health": slowest, "seconds of Ctrl-C": ending})


def _request(rng: Random) -> tuple[str, bytes, str]:
    """A path, a body, and a way to send it."""
    n = rng.choice([1, 10, 100, 1000])
    tokens = rng.choices([f"w{k}" for k in range(N_WORDS)], k=20)
    path = rng.choice(["/tag", "/tag", "/tag", "/explain", "/nonsense"])
    content = {"sentences": [tokens] * n} if path != "/explain" else {"tokens": tokens * n}
    if rng.random() < 0.5:
        content["details"] = True
    body = json.dumps(content).encode()
    if rng.random() < 0.2:
        body = mutated_bytes(rng, body)
    if rng.random() < 0.05:
        body = rng.choice([b"[" * 10**5, b'{"a":' * 10**5, b"[" + b"[]," * 10**5 + b"1]"])
    return path, body, rng.choice(["POST", "POST", "POST", "leave", "half"])


def _send(port: int, path: str, body: bytes, way: str) -> int:
    """The status of an answer; 0 if there is none."""
    headers = {"Content-Type": "application/json"} if body else {}
    if way == "half":
        body, headers["Content-Length"] = body[: len(body) // 2], str(len(body))
    connection = HTTPConnection("localhost", port, timeout=60)
    try:
        connection.request("POST" if body else way, path, body or None, headers)
        if way in ("half", "leave"):
            connection.sock.settimeout(0.3)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, HTTPException):
        return 0
    finally:
        connection.close()


def _cpu_seconds(pid: int) -> float:
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


CAMPAIGNS = [Campaign("requests", ask_at_once, prepare=prepare, n=50, allowed=(), limit=120.0)]
