"""Annotation in a browser: how fast it learns, what a wait costs, and what survives a kill."""

import argparse
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from itertools import islice, product
from pathlib import Path

from _common import begin, corpus_file, load_splits, yes_or_no  # before numpy

# isort: split
import numpy as np
from _keys import ORDERS, session
from _served import clicks, loaded, post, resident, served

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.apps.annotation import Annotations, Log, Pool, Workbench, marks_for
from sklearn_crcrf.apps.annotation.doubt import doubts, suspicions
from sklearn_crcrf.apps.annotation.order import Order
from sklearn_crcrf.datasets import fetch_conll2000, fetch_conll2002, read_conll
from sklearn_crcrf.labels.segments.schemes import are_segments
from sklearn_crcrf.metrics import segment_f1, token_accuracy
from sklearn_crcrf.model_files import save_model

# A simulated annotator starts with the first sentences, and takes some at a time. The model of the
# goal knows this number of sentences in text order, or two thirds of the corpus.
N_FIRST, BATCH, N_GOAL = 10, 25, 2000
# The most sentences that may be needed instead, in fractions of the goal.
MOST = 0.55
N_PRESSED = (100, 400)
N_POOL, N_LARGE_POOL = 10_000, 100_000
# Training part, test part, and the columns of their files.
FILES: dict[str, tuple[str, str, list[str | None]]] = {
    "German names": ("germeval2014-test.tsv.gz", "germeval2014-dev.tsv.gz", ["word", "label"]),
    "Greek tags": (
        "ud-el_gdt-train.tsv.gz",
        "ud-el_gdt-test.tsv.gz",
        ["word", "label", None, None],
    ),
}
SECTIONS = ("learning", "keys", "errors", "waiting", "kills", "load")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("annotation.py", description=__doc__)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=[*SECTIONS], help="all")
    parser.add_argument("--seeds", type=int, default=3, help="of simulated annotators")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60, help="of the load test")
    parser.add_argument("--plot", type=Path, help="draw simulated annotators into this file")
    args = begin(parser, argv, "Waiting times are wall-clock times.")
    for section in args.sections:
        globals()[section](args)


def learning(args: argparse.Namespace) -> None:
    """Simulated annotators who take the sentences of greatest doubt."""
    goal, most = "sentences in text order", f"{100 * MOST:.0f} % of them by doubt"
    columns = ["corpus, seed", goal, "score", most, "same score with", "ms each", "met"]
    curves: dict[str, list[tuple[float, dict]]] = {}
    args.report.table("A simulated annotator", columns, simulated(args, curves))
    if args.plot:
        draw(curves, args.plot)
        text = "Score by sentences of greatest doubt; dotted: of all sentences in text order"
        args.report.figure(args.plot, text)


def draw(curves: dict[str, list[tuple[float, dict]]], path: Path) -> None:
    """A picture for each corpus: curves of all seeds, and the scores that they should reach."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(11, 3.6), layout="constrained")
    for ax, (name, of_seeds) in zip(np.atleast_1d(axes), curves.items(), strict=True):
        for seed, (goal, curve) in enumerate(of_seeds):
            scores = [100 * score for score, _ in curve.values()]
            (line,) = ax.plot([*curve], scores, "o-", ms=3, label=f"seed {seed}")
            ax.axhline(100 * goal, color=line.get_color(), ls=":")
        ax.set(title=name, xlabel="sentences of greatest doubt", ylabel="F1 or accuracy, %")
    ax.legend()
    figure.savefig(path)


def simulated(
    args: argparse.Namespace, curves: dict[str, list[tuple[float, dict]]]
) -> Iterator[list[str]]:
    """A row for each corpus and seed; notes the curves."""
    for name, ((X, y), (X_test, y_test)) in corpora(args):
        X_test, y_test = X_test[: args.sentences], y_test[: args.sentences]
        for seed in range(args.seeds):
            ids = np.roll(np.arange(len(X)), -random.Random(seed).randrange(len(X)))[: 3 * N_GOAL]
            part = [X[i] for i in ids], [y[i] for i in ids]
            n_goal = min(N_GOAL, 2 * len(X) // 3)
            goal, curve = simulation(*part, X_test, y_test, n_goal)
            curves.setdefault(name, []).append((goal, curve))
            reached = [n for n, (score, _) in curve.items() if score >= goal]
            score, seconds = curve[max(curve)]
            yield [
                f"{name}, {seed}",
                f"{n_goal:,}",
                f"{100 * goal:.2f}",
                f"{100 * score:.2f}",
                str(reached[0]) if reached else "not reached",
                f"{1000 * seconds / max(curve):.0f}",
                yes_or_no(bool(reached)),
            ]


def simulation(
    X: list, y: list, X_test: list, y_test: list, n_goal: int
) -> tuple[float, dict[int, tuple[float, float]]]:
    """The score in text order, and score and CPU time by the number of sentences by doubt."""

    def score(model: EmpiricalCRF) -> float:
        metric = segment_f1 if are_segments({s for labels in y_test for s in labels}) else None
        return float((metric or token_accuracy)(y_test, model.predict(X_test)))

    goal = score(EmpiricalCRF().fit(X[:n_goal], y[:n_goal]))
    pool, order, model = Pool(X), Order(X), EmpiricalCRF()
    curve, n_most = {}, int(MOST * n_goal)
    chosen, n, seconds = [*range(N_FIRST)], 0, 0.0
    while True:
        start = time.process_time()
        for i in chosen:
            order.set_done(i, True)
        model.partial_fit([X[i] for i in chosen], [y[i] for i in chosen])
        n += len(chosen)
        for ids, values in doubts(model, pool, order.waiting, "entropy"):
            order.values[ids] = values
        chosen = []
        while len(chosen) < min(BATCH, n_most - n, order.n_waiting):
            chosen.append(order.hand_out("a"))
            order.set_done(chosen[-1], True)
        seconds += time.process_time() - start
        if n % 100 < BATCH or not chosen:
            curve[n] = score(model), seconds
        if not chosen:
            return goal, curve


def keys(args: argparse.Namespace) -> None:
    """Keys that a person presses, by the order of the sentences."""
    columns = ["corpus, sentences", "order", "keys a sentence, arrows alone", "with Tab, Home, End"]
    columns += ["proposed right, %", "tokens a sentence", "F1 of the model then"]
    args.report.table("Keys that an annotator presses who knows the names", columns, pressed(args))


def pressed(args: argparse.Namespace) -> Iterator[list[str]]:
    """A row for each corpus of names, number of sentences and order: means of all seeds."""
    for name, ((X, y), (X_test, y_test)) in islice(corpora(args), 2):
        X_test, y_test = X_test[: args.sentences], y_test[: args.sentences]
        for n, order in product(N_PRESSED, ORDERS):
            found = []
            for seed in range(args.seeds):
                ids = np.roll(np.arange(len(X)), -random.Random(seed).randrange(len(X)))[:3000]
                done = session([X[i] for i in ids], [y[i] for i in ids], order, n)
                f1 = segment_f1(y_test, done.model.predict(X_test))
                found.append([done.arrows, done.tab, 100 * done.n_right, done.n_tokens, n * f1])
            *means, f1 = np.mean(found, axis=0) / n
            row = [f"{name}, {n}", order, *(f"{value:.1f}" for value in means)]
            yield [*row, f"{100 * f1:.1f}"]


def errors(args: argparse.Namespace) -> None:
    """Labels changed at random are found among the most suspicious sentences."""
    X, y = fetch_conll2000("train", return_X_y=True, download_if_missing=args.download)
    X = [[token["word"] for token in sentence] for sentence in X[: args.sentences]]
    wrong, where = changed([list(labels) for labels in y[: args.sentences]], 0.02)
    values = np.zeros(len(X))
    for ids, found in suspicions(EmpiricalCRF().fit(X, wrong), Pool(X, wrong), np.arange(len(X))):
        values[ids] = found
    n, labels = len(X) // 10, np.array(where)
    rows = []
    for name, counted in (("changed labels", labels), ("sentences with some", labels > 0)):
        found, possible = (
            counted[np.argsort(-by, kind="stable")[:n]].sum() / counted.sum()
            for by in (values, labels)
        )
        row = [name, f"{100 * found:.1f} %", f"{100 * possible:.1f} %"]
        rows.append([*row, yes_or_no(found >= 0.6)])
    columns = ["share of all", "in the first 10 % of sentences", "at most possible"]
    args.report.table(
        "2 % of the labels of CoNLL-2000 changed", [*columns, "met: at least 60 %"], rows
    )


def changed(y: list[list[str]], share: float) -> tuple[list[list[str]], list[int]]:
    """Labels of which some are others, and the number of these in each sentence."""
    rng, names = random.Random(0), sorted({label for labels in y for label in labels})
    where = []
    for labels in y:
        places = [t for t in range(len(labels)) if rng.random() < share]
        for t in places:
            labels[t] = rng.choice([name for name in names if name != labels[t]])
        where.append(len(places))
    return y, where


def waiting(args: argparse.Namespace) -> None:
    """What a person waits for, in a browser."""
    columns = [
        "sentences",
        "ready, s",
        "next, ms, median",
        "99 of 100",
        "new order, s",
        "MB",
        "met",
    ]
    args.report.table("Waiting", columns, (waited(n, args) for n in (N_POOL, N_LARGE_POOL)))


def waited(n: int, args: argparse.Namespace) -> list[str]:
    n = min(n, 20 * args.sentences) if args.sentences else n
    X, _ = dutch_names("train", args)
    lines = [" ".join(X[i % len(X)]) + ("" if i < len(X) else f" {i}") for i in range(n)]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text.txt")
        text.write_text("\n".join(lines) + "\n", encoding="utf-8")
        start = time.perf_counter()
        with served("annotate", text, "--labels", "PER", "LOC", "ORG") as (address, process):
            ready = time.perf_counter() - start
            times = clicks(address)
            memory = resident(process.pid)
        order = new_order(Pool.of_lines(lines), Path(folder, "other.jsonl"))
    median, most = np.percentile(times, [50, 99])
    met = median <= 0.1 and most <= 0.25 if n == N_POOL else ready <= 5 and memory <= 1500
    row = [f"{ready:.1f}", f"{1000 * median:.0f}", f"{1000 * most:.0f}", f"{order:.1f}"]
    return [f"{n:,}", *row, f"{memory:.0f}", yes_or_no(bool(met))]


def new_order(pool: Pool, path: Path) -> float:
    """Seconds until all sentences are in their new order, after one was accepted."""
    with Log(path) as log, Workbench(pool, log, marks_for(["O", "B-PER"])) as bench:
        for i in range(20):
            bench.accept("a", i, [[0, 1, "PER"]])
        bench.settle()
        start = time.perf_counter()
        bench.accept("a", 20, [])
        bench.settle()
        return time.perf_counter() - start


def kills(args: argparse.Namespace) -> None:
    """The process is killed at random moments; what was acknowledged must be in the log."""
    rng, acknowledged, lost = random.Random(0), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        text, log = Path(folder, "text.txt"), Path(folder, "log")
        text.write_text("\n".join(f"word {i}" for i in range(100_000)), encoding="utf-8")
        expected: list[int] = []
        for _ in range(args.kills):
            with served("annotate", text, "--labels", "A", "--log", log) as (address, process):
                timer = threading.Timer(rng.uniform(0.0, 0.6), process.kill)
                timer.start()
                expected += accepted_until_killed(address, len(expected))
                timer.cancel()
        with Log(log, notice=lambda text: None) as kept:
            found = Annotations(kept.entries)
            standing = {annotation.sentence for annotation in found.standing}
            acknowledged, lost = len(expected), len(set(expected) - standing)
            model = EmpiricalCRF().fit(*labelled(found)).predict_proba([["word", "5"]])[0]
            pool = Pool.of_lines(text.read_text(encoding="utf-8").splitlines())
            with Workbench(pool, kept, marks_for(["O", "B-A"])) as bench:
                bench.settle()
                same = np.array_equal(bench.model.predict_proba([["word", "5"]])[0], model)
    columns = ["kills", "acknowledged", "lost", "log and model agree", "met"]
    row = [str(args.kills), str(acknowledged), str(lost), yes_or_no(same)]
    args.report.table("Kills at random moments", columns, [[*row, yes_or_no(same and not lost)]])


def accepted_until_killed(address: str, first: int) -> list[int]:
    """The sentences whose acceptance was acknowledged."""
    found: list[int] = []
    try:
        while True:
            sentence = first + len(found)
            content = {"by": "a", "sentence": sentence, "marks": [[0, 1, "A"]]}
            if post(address, "/api/accept", content)[0] != 200:
                return found
            found.append(sentence)
    except (OSError, HTTPException):  # also in the middle of an answer
        return found


def labelled(annotations: Annotations) -> tuple[list, list]:
    rows = annotations.standing
    return [list(a.tokens) for a in rows], [list(a.labels) for a in rows]


def load(args: argparse.Namespace) -> None:
    """Many connections at once, to the service that labels text."""
    (X, y), _, (words, _) = load_splits("1000-4000", args)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        save_model(EmpiricalCRF().fit(X, y), path)
        with served("serve", "--model", path) as (address, process):
            before = resident(process.pid)
            times, failed = loaded(address, words, args.seconds)
            growth = resident(process.pid) - before
    rate, most = len(times) / args.seconds, np.percentile(times, 99)
    columns = ["connections", "sentences/s", "99 of 100, ms", "errors", "MB more", "met"]
    met = rate >= 400 and most <= 0.15 and not failed
    row = ["50", f"{rate:.0f}", f"{1000 * most:.0f}", str(failed), f"{growth:.0f}"]
    args.report.table("/tag", columns, [[*row, yes_or_no(bool(met))]])


def corpora(args: argparse.Namespace) -> Iterator[tuple[str, list]]:
    """Name, and words and labels of a training part and of a test part."""
    yield "Dutch names", [dutch_names(part, args) for part in ("train", "testb")]
    for name, (*files, columns) in FILES.items():
        yield name, [read_conll(corpus_file(file), columns, sep="\t") for file in files]


def dutch_names(part: str, args: argparse.Namespace) -> tuple[list, list]:
    """Words and labels."""
    X, y = fetch_conll2002(part, return_X_y=True, download_if_missing=args.download)
    return [[token["word"] for token in sentence] for sentence in X], y


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
