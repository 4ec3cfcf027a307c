"""A command of the package that serves pages, in a process of its own, and its clients."""

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any


@contextmanager
def served(*command: Any) -> Iterator[tuple[str, subprocess.Popen]]:
    """The address of a command of the package that serves pages, and its process."""
    program = [sys.executable, "-m", "sklearn_crcrf", *map(str, command)]
    process = subprocess.Popen(
        [*program, "--port", "0", "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            found = re.match(r"http://\S+", line)
            if found:
                yield found.group(), process
                break
        else:
            raise RuntimeError("the server has ended")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def post(address: str, path: str, content: dict[str, Any]) -> tuple[int, Any]:
    """Status and content of an answer."""
    host, headers = _host_and_headers(address)
    connection = HTTPConnection(host, timeout=30)
    connection.request("POST", path, json.dumps(content), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"null")


def _host_and_headers(address: str) -> tuple[str, dict[str, str]]:
    host, token = re.match(r"http://([^/]*)/(?:\?token=(.*))?", address).groups()
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    return host, {"Content-Type": "application/json", **bearer}


def resident(pid: int) -> float:
    """Memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1000


def clicks(address: str, n: int = 60) -> list[float]:
    """Seconds from accepting a sentence to the next one on the screen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = chromium.new_page()
        page.goto(address)
        page.wait_for_selector(".token")
        # From the key to the first frame that shows another sentence.
        script = """() => new Promise((done) => {
            const box = document.getElementById("sentence"), start = performance.now();
            new MutationObserver((_, it) => requestAnimationFrame(() => {
                it.disconnect(); done(performance.now() - start);
            })).observe(box, { childList: true });
            document.getElementById("accept").click();
        })"""
        found = []
        for k in range(n):
            page.keyboard.press(str(1 + k % 3))
            found.append(page.evaluate(script) / 1000)
        return found


def loaded(address: str, words: list, seconds: float, n: int = 50) -> tuple[list[float], int]:
    """The times of all answers, and the number of errors."""
    times: list[float] = []
    failed, end = [0], time.perf_counter() + seconds
    host, headers = _host_and_headers(address)

    def work(k: int) -> None:
        connection = HTTPConnection(host, timeout=30)
        while (start := time.perf_counter()) < end:
            k = (k + 1) % len(words)
            body = json.dumps({"tokens": list(words[k])})
            connection.request("POST", "/tag", body, headers)
            answer = connection.getresponse()
            answer.read()
            failed[0] += answer.status != 200
            times.append(time.perf_counter() - start)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, failed[0]
