"""Labels of single sentences: latencies, compared with CRFsuite's; threads, files, starts, HTTP."""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from _common import begin, cpu_seconds, load_splits, n_tokens, yes_or_no  # before numpy

# isort: split
import numpy as np
from _crfsuite import Peer
from _starting import bulk, compact_files, starts, write_files

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.serving import load_tagger

FOLDER = Path(__file__).parent
N_ITERATIONS = 15
N_WARM = 100
N_PREDICTED = 200
# Largest ratio of our median to the median of CRFsuite; 99 of 100 sentences take at most this
# number of medians.
MOST_CRF, MOST_EMPIRICAL, MOST_P99 = 0.15, 0.6, 5.0
LEAST_THREADS, N_REPEATED = 1.8, 5
N_CLIENTS, N_REQUESTS = 4, 500

Sentence = list[Any]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("serving.py", description=__doc__)
    parser.add_argument("--split", default="1000-4000", help="of Brown, for single sentences")
    parser.add_argument("--bulk", default="17311-16312", help="split for many sentences at once")
    parser.add_argument("--large", default="32623-1000", help="split for files and starts")
    args = begin(parser, argv, "Latencies are wall-clock times; CPU times stand next to them.")
    (X, y), _, (words, _) = load_splits(args.split, args)
    with tempfile.TemporaryDirectory() as folder:
        models = fitted(X, y)
        paths = {name: Path(folder, name) for name in models}
        for name, model in models.items():
            model.tagger().save(paths[name])
        peer = crfsuite_tagger(X, y, Path(folder, "crfsuite"))
        args.report.table(*latencies(models, paths, peer, words))
        args.report.table(*files(paths))
        args.report.table(*threads(paths["EmpiricalCRF"], words))
        args.report.table(*load_test(paths["EmpiricalCRF"], words))
        (X, y), _, (words, _) = load_splits(args.bulk, args)
        args.report.table(*bulk(EmpiricalCRF().fit(X, y), words))
        (X, y), _, (words, _) = load_splits(args.large, args)
        model = EmpiricalCRF().fit(X, y)
        large = write_files(model, Path(folder))
        args.report.table(*compact_files(model, large, words))
        args.report.table(*starts(large, Path(folder)))


def fitted(X: list, y: list) -> dict[str, Any]:
    """The models, by name."""
    crf = CRF(max_iter=N_ITERATIONS, tol=0.0)
    crf.fit([feature_dicts(sentence) for sentence in X], y)
    return {
        "CRF": crf,
        "EmpiricalCRF": EmpiricalCRF().fit(X, y),
        "EmpiricalCRF, order 2": EmpiricalCRF(order=2).fit(X, y),
    }


def feature_dicts(sentence: Sequence[str]) -> Sentence:
    """What programs that use CRFsuite usually say of a token."""
    padded = ["<", *map(str.lower, sentence), ">"]
    return [
        {
            "word": padded[t + 1],
            "suffix3": word[-3:],
            "suffix2": word[-2:],
            "prefix2": word[:2],
            "upper": word.isupper(),
            "title": word.istitle(),
            "digit": word.isdigit(),
            "-1": padded[t],
            "+1": padded[t + 2],
        }
        for t, word in enumerate(sentence)
    ]


def crfsuite_tagger(X: list, y: list, path: Path) -> Callable[[Sentence], list]:
    """CRFsuite's tagger with the feature dicts."""
    import pycrfsuite

    items = (pycrfsuite.ItemSequence(feature_dicts(sentence)) for sentence in X)
    Peer(items, y, features="observed").train(str(path), max_iterations=N_ITERATIONS)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger.tag


def latencies(
    models: dict[str, Any], paths: dict[str, Path], peer: Callable, words: list
) -> tuple[str, list[str], Iterator[list[str]]]:
    title = f"One sentence of Brown, of {np.mean([*map(len, words)]):.0f} words on average"
    columns = ["what", "median us", "99 % us", "CPU us", "times CRFsuite", "target", "met"]
    return title, columns, latency_rows(models, paths, peer, words)


def latency_rows(
    models: dict[str, Any], paths: dict[str, Path], peer: Callable, words: list
) -> Iterator[list[str]]:
    dicts = [feature_dicts(sentence) for sentence in words]
    median, p99, cpu = latency(peer, dicts)
    yield ["CRFsuite", f"{median:.0f}", f"{p99:.0f}", f"{cpu:.0f}", "1", "", ""]
    for name in models:
        sentences, most = (dicts, MOST_CRF) if name == "CRF" else (words, MOST_EMPIRICAL)
        own, own_p99, cpu = latency(load_tagger(paths[name]), sentences)
        met = own <= most * median and own_p99 <= MOST_P99 * own
        figures = [f"{own:.1f}", f"{own_p99:.1f}", f"{cpu:.1f}", f"{own / median:.2f}"]
        target = f"{most} times, 99 % within {MOST_P99:.0f} medians", yes_or_no(met)
        yield [f"{name}, tagger", *figures, *(("", "") if "order" in name else target)]
        predict = models[name].predict
        few = sentences[: N_WARM + N_PREDICTED]
        own, own_p99, cpu = latency(lambda s, predict=predict: predict([s]), few)
        figures = [f"{own:.0f}", f"{own_p99:.0f}", f"{cpu:.0f}", f"{own / median:.2f}"]
        yield [f"{name}, predict", *figures, "1000 us", yes_or_no(own <= 1000)]


def latency(label: Callable[[Sentence], Any], sentences: list) -> tuple[float, float, float]:
    """Median, 99th percentile and CPU time of a sentence, in microseconds."""
    for sentence in sentences[:N_WARM]:
        label(sentence)
    times = []
    cpu = time.process_time()
    for sentence in sentences[N_WARM:]:
        start = time.perf_counter()
        label(sentence)
        times.append(time.perf_counter() - start)
    cpu = time.process_time() - cpu
    median, p99 = 1e6 * np.percentile(times or [0.0], [50, 99])
    return median, p99, 1e6 * cpu / max(len(times), 1)


def files(paths: dict[str, Path]) -> tuple[str, list[str], Iterator[list[str]]]:
    return "Files of taggers", ["model", "MB", "to load, CPU ms", "start, CPU s"], file_rows(paths)


def file_rows(paths: dict[str, Path]) -> Iterator[list[str]]:
    for name, path in paths.items():
        seconds, _ = cpu_seconds(lambda path=path: load_tagger(path), 5)
        program = (
            "import time; from sklearn_crcrf.serving import load_tagger; "
            f"load_tagger({str(path)!r})(['the', 'dog']); print(time.process_time())"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        started = float(done.stdout)
        yield [name, f"{path.stat().st_size / 1e6:.1f}", f"{1e3 * seconds:.1f}", f"{started:.2f}"]


def threads(path: Path, words: list) -> tuple[str, list[str], Iterator[list[str]]]:
    title = "Two threads with one tagger of EmpiricalCRF"
    columns = ["calls", "one thread, k words/s", "two", "times one", "target", "met"]
    return title, columns, thread_rows(path, words)


def thread_rows(path: Path, words: list) -> Iterator[list[str]]:
    tagger = load_tagger(path)
    joined = [[w for s in words[i : i + 50] for w in s] for i in range(0, len(words), 50)]
    batches = [words[i : i + 32] for i in range(0, len(words), 32)]
    ways: list[tuple[str, Callable, list]] = [
        ("a sentence", tagger, words),
        ("50 sentences joined", tagger, joined),
        ("many, 32 sentences", tagger.many, batches),
        ("many, all sentences", tagger.many, [words]),
    ]
    for name, label, calls in ways:
        alone, both = (rounds_per_second(label, calls, n) for n in (1, 2))
        speeds = [f"{speed * n_tokens(words) / 1e3:.0f}" for speed in (alone, both)]
        met = yes_or_no(both >= LEAST_THREADS * alone)
        yield [name, *speeds, f"{both / alone:.2f}", f"{LEAST_THREADS}", met]


def rounds_per_second(label: Callable, calls: list, n_threads: int) -> float:
    """How often all threads together label all words in a second."""

    def work() -> None:
        for argument in calls:
            label(argument)

    work()
    return n_threads / min(_seconds(work, n_threads) for _ in range(N_REPEATED))


def load_test(path: Path, words: list) -> tuple[str, list[str], Iterator[list[str]]]:
    title = f"examples/serve_http.py, {N_CLIENTS} clients on the same machine"
    return title, ["requests/s", "median ms", "99 % ms"], load_rows(path, words)


def load_rows(path: Path, words: list) -> Iterator[list[str]]:
    script = FOLDER.parent / "examples" / "serve_http.py"
    command = [sys.executable, str(script), str(path), "--port", "0"]
    times: list[float] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().rstrip("/\n").rpartition(":")[2])
            seconds = _seconds(lambda: ask(port, words, times), N_CLIENTS)
        finally:
            server.terminate()
    median, p99 = 1e3 * np.percentile(times, [50, 99])
    yield [f"{len(times) / seconds:.0f}", f"{median:.2f}", f"{p99:.2f}"]


def ask(port: int, words: list, times: list[float]) -> None:
    """One client, on one connection."""
    connection = HTTPConnection("localhost", port)
    for sentence in words[:N_REQUESTS]:
        start = time.perf_counter()
        connection.request("POST", "/", json.dumps(sentence))
        answer = json.loads(connection.getresponse().read())
        times.append(time.perf_counter() - start)
        assert len(answer["labels"]) == len(sentence)
    connection.close()


def _seconds(work: Callable[[], None], n_threads: int) -> float:
    """How long several threads take that all do the same."""
    running = [threading.Thread(target=work) for _ in range(n_threads)]
    start = time.perf_counter()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
