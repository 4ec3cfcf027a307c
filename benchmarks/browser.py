"""Small files of taggers: sizes, labels that change, and the JavaScript module that reads them."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from _common import begin, cpu_seconds, load_splits, yes_or_no  # before numpy

# isort: split
import numpy as np

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.serving import load_tagger

DOCS = Path(__file__).parents[1] / "docs"
MODULE = DOCS / "_static" / "live" / "tagger.js"
N_OPENED = 10
MOST_BYTES = 2_000_000
# Largest share of labels that change, and times in milliseconds.
MOST_CHANGED, MOST_FIRST, MOST_LEARN = 0.003, 300, 50
N_LEARNED = 50
FILES: list[tuple[str, bool, dict[str, int]]] = [
    ("all bits", False, {}),
    ("16 bits", False, {"bits": 16}),
    ("8 bits", False, {"bits": 8}),
    ("8 bits, at most 1.5 MB", False, {"bits": 8, "max_bytes": 1_500_000}),
    ("8 bits, counts", True, {"bits": 8}),
    ("8 bits, counts, at most 2 MB", True, {"bits": 8, "max_bytes": MOST_BYTES}),
]
PROGRAM = """
import { readFileSync } from "node:fs";
import { Tagger } from MODULE;
const { path, X, learned } = JSON.parse(readFileSync(0, "utf8"));
const cpu = () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000;
const start = [performance.now(), cpu()];
const tagger = await Tagger.read(readFileSync(path));
tagger.probabilities(X[0]);
const first = [performance.now() - start[0], cpu() - start[1]];
const labels = [], times = [], learn = [];
for (const words of X) {
  const before = performance.now();
  labels.push(tagger.tag(words));
  times.push(performance.now() - before);
}
for (const [words, y] of learned) {
  const before = cpu();
  tagger.learn(words, y);
  tagger.tag(words);
  learn.push(cpu() - before);
}
const sorted = (values) => values.sort((a, b) => a - b);
const median = (values) => sorted(values)[values.length >> 1];
const most = (values) => sorted(values).at(-1);
console.log(JSON.stringify({ first, labels, label: median(times),
  learn: learned.length ? [median(learn), most(learn)] : null }));
"""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("browser.py", description=__doc__)
    args = begin(
        parser,
        argv,
        "Times in Node are wall-clock times but where it says CPU; targets are CPU times.",
    )
    (X, y), _, (words, labels) = load_splits("ner", args)
    crf = EmpiricalCRF().fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        args.report.table(*files(crf, words, Path(folder)))
        if shutil.which("node") is not None:
            args.report.table(*node(crf, words, labels, Path(folder)))
        if shutil.which("chromium") is not None:
            args.report.table(*live_page(Path(folder)))


def files(crf: EmpiricalCRF, words: list, folder: Path) -> tuple[str, list[str], Iterator]:
    columns = ["file", "MB", "labels changed, %", "to read, CPU ms", "target", "met"]
    return "Files of Dutch names, labels of the test set", columns, file_rows(crf, words, folder)


def file_rows(crf: EmpiricalCRF, words: list, folder: Path) -> Iterator[list[str]]:
    for name, counts, options in FILES:
        path = folder / name
        saved = crf.tagger(counts=counts).save(path, check=words, **options)
        seconds, _ = cpu_seconds(lambda path=path: load_tagger(path), 3)
        changed, target = saved.n_changed / saved.n_tokens, ["", ""]
        if options.get("max_bytes") == MOST_BYTES:
            is_met = saved.n_bytes <= MOST_BYTES and changed <= MOST_CHANGED
            target = [f"2 MB, {100 * MOST_CHANGED:.1f} %", yes_or_no(is_met)]
        figures = [f"{saved.n_bytes / 1e6:.2f}", f"{100 * changed:.3f}", f"{1e3 * seconds:.0f}"]
        yield [name, *figures, *target]


def node(
    crf: EmpiricalCRF, words: list, labels: list, folder: Path
) -> tuple[str, list[str], Iterator]:
    columns = [
        *("file", "to the first label, ms", "CPU ms", "label a sentence, ms"),
        *("learn and label, CPU ms", "at most", "labels unlike Python, %", "target", "met"),
    ]
    return "The module in Node", columns, node_rows(crf, words, labels, folder)


def node_rows(crf: EmpiricalCRF, words: list, labels: list, folder: Path) -> Iterator[list[str]]:
    wanted = crf.predict(words)
    program = PROGRAM.replace("MODULE", json.dumps(MODULE.as_uri()))
    for name, counts, options in FILES:
        learned = [*zip(words[:N_LEARNED], labels[:N_LEARNED], strict=True)] if counts else []
        given = json.dumps({"path": str(folder / name), "X": words, "learned": learned})
        command = ["node", "--no-warnings", "--input-type=module", "--eval", program]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        pairs = [
            (a, b)
            for ours, theirs in zip(found["labels"], wanted, strict=True)
            for a, b in zip(ours, theirs, strict=True)
        ]
        different = sum(a != b for a, b in pairs) / max(len(pairs), 1)
        wall, cpu = found["first"]
        learn = ["", ""] if found["learn"] is None else [f"{ms:.1f}" for ms in found["learn"]]
        is_met = cpu <= MOST_FIRST and different <= MOST_CHANGED
        is_met = is_met and (found["learn"] is None or found["learn"][0] <= MOST_LEARN)
        figures = [f"{wall:.0f}", f"{cpu:.0f}", f"{found['label']:.2f}", *learn]
        target = ["", ""]
        if options.get("max_bytes", MOST_BYTES) == MOST_BYTES:
            limits = f"{MOST_FIRST} ms, {MOST_LEARN} ms, {100 * MOST_CHANGED:.1f} %"
            target = [limits, yes_or_no(is_met)]
        yield [name, *figures, f"{100 * different:.3f}", *target]


def live_page(folder: Path) -> tuple[str, list[str], list[list[str]]]:
    """How long the live page of the documentation takes, on a clock: medians."""
    from playwright.sync_api import sync_playwright

    sys.path.append(str(DOCS))
    from live import model, page

    path, first, learned = folder / "live.html", [], []
    path.write_text(f"<!doctype html><meta charset=utf-8>{page()}", encoding="utf-8")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for _ in range(N_OPENED):
            opened = chromium.new_page()
            opened.goto(path.as_uri())
            first.append(float(opened.get_attribute("#live-live[data-ready]", "data-ready")))
            opened.locator("#live-labels button").nth(1).click()
            message = opened.text_content("#live-message")
            learned.append(float(re.search(r"learned in ([\d.]+) ms", message)[1]))
            opened.close()
    times = [float(np.median(values)) for values in (first, learned)]
    size = len(model())
    is_met = size <= MOST_BYTES and times[0] <= MOST_FIRST and times[1] <= MOST_LEARN
    columns = ["file, kB", "to the first label, ms", "to learn a correction, ms", "target", "met"]
    limits = f"2 MB, {MOST_FIRST} ms, {MOST_LEARN} ms"
    row = [f"{size / 1000:.0f}", f"{times[0]:.0f}", f"{times[1]:.1f}", limits, yes_or_no(is_met)]
    return "The live page in Chromium", columns, [row]


if __name__ == "__main__":
    main()
