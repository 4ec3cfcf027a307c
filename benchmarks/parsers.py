"""Programs for python-crfsuite, with their data and settings, compared with the same here."""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import ne
from pathlib import Path
from typing import Any, NamedTuple

from _common import (  # before numpy
    begin,
    cpu_seconds,
    in_fresh_process,
    memory_growth,
    yes_or_no,
)

# isort: split
from _crfsuite import import_crfsuite, tag
from _programs import MissingError, Program, programs

from sklearn_crcrf import CRFsuiteCRF, EmpiricalCRF, LatticeCRF
from sklearn_crcrf.compat import pycrfsuite
from sklearn_crcrf.metrics import sequence_accuracy

# How many times faster than python-crfsuite training to the end must be, and one address.
LEAST_FIT = 5.0
# Losses that differ by less than this part are the same.
SAME = 1e-4
LEAST_TAG = {"tagger()": 6.0, "compat.Tagger.tag": 3.0, "with marginals": 3.0}
# How much memory a fit may take at its peak, in multiples of what python-crfsuite takes.
MOST_MEMORY = 1.5
# Seconds and MB of a process that loads a model of CRFsuite, and labels one sequence.
MOST_SECONDS, MOST_MB = 0.15, 40.0
# Whole sequences right by the closed form, with fitted exponents.
LEAST_RIGHT = {"usaddress": 67.0, "probablepeople": 69.0}
N_TAGGED, N_ITERATIONS = 200, 20

# The parameters of the trainer, as CRFsuiteCRF calls them.
NAMES_HERE = {
    "feature.minfreq": "min_freq",
    "feature.possible_states": "all_possible_states",
    "feature.possible_transitions": "all_possible_transitions",
}
# Models of words alone.
MODELS: dict[str, Callable[[], Any]] = {
    "EmpiricalCRF": EmpiricalCRF,
    "EmpiricalCRF, fitted": partial(EmpiricalCRF, exponents="fit"),
    "EmpiricalCRF, fitted, order 3": partial(EmpiricalCRF, exponents="fit", order=3),
    "LatticeCRF": partial(LatticeCRF, random_state=0),
}
LOADING = {
    "python-crfsuite": "import pycrfsuite; t = pycrfsuite.Tagger(); t.open(path); tag = t.tag",
    "compat": "from sklearn_crcrf.compat import pycrfsuite; t = pycrfsuite.Tagger(); t.open(path); "
    "tag = t.tag",
    "load_tagger": "from sklearn_crcrf.serving import load_tagger; tag = load_tagger(path)",
}
LOADED = """
import json, sys, time
path, sequence = sys.argv[1], json.loads(sys.argv[2])
{loading}
tag(sequence)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.process_time(), int(peak.split()[1]) / 1000)
"""

Table = tuple[str, list[str], Iterator[list[str]]]


class Task(NamedTuple):
    """A program, its training and test part, and the attributes of their tokens.

    ``fitted`` is both models, trained to the end: CPU seconds, loss and the model of each.
    """

    program: Program
    train: tuple[list, list]
    test: tuple[list, list]
    attributes: list
    test_attributes: list
    fitted: list


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("parsers.py", description=__doc__)
    tables = {
        "fit": fit_table,
        "tag": tag_table,
        "memory": memory_table,
        "load": load_table,
        "right": right_table,
    }
    every = {program.name: program for program in programs()}
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    parser.add_argument("--programs", nargs="+", choices=every, default=list(every))
    parser.add_argument("--runs", type=int, default=3, help="of each latency; the least counts")
    args = begin(parser, argv)
    warnings.simplefilter("ignore")
    tasks = []
    for name in args.programs:
        try:
            tasks.append(read(every[name], args))
        except MissingError as error:
            args.report.remark(f"Without {name}: {error}.")
    for name in args.tables:
        args.report.table(*tables[name](tasks, args))


def read(program: Program, args: argparse.Namespace) -> Task:
    """The data of a program, and the attributes that it makes of them."""
    splits, features = program.load(args), program.features()
    return Task(
        program,
        splits.train,
        splits.test,
        [features(tokens) for tokens in splits.train[0]],
        [features(tokens) for tokens in splits.test[0]],
        [],
    )


def fitted(task: Task) -> list[tuple[float, float, Any]]:
    """What python-crfsuite and CRFsuiteCRF train to the end, once for all tables."""
    if not task.fitted:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model.crfsuite"))
            seconds, loss = cpu_seconds(partial(train_peer, task, path))
            task.fitted.append((seconds, loss, Path(path).read_bytes()))
        seconds, crf = cpu_seconds(partial(train, task))
        task.fitted.append((seconds, crf.loss_curve_[-1], crf))
    return task.fitted


def fit_table(tasks: Sequence[Task], args: argparse.Namespace) -> Table:
    columns = ["program", "sequences", "python-crfsuite, CPU s", "CRFsuiteCRF, CPU s"]
    columns += ["times faster", "target", "met", "loss of python-crfsuite", "loss", "met "]
    return "Training to the end, with their settings", columns, fit_rows(tasks)


def fit_rows(tasks: Sequence[Task]) -> Iterator[list[str]]:
    """Train both, from attributes to the model."""
    for task in tasks:
        (theirs, their_loss, _), (ours, loss, _) = fitted(task)
        times = theirs / ours
        yield [
            *(task.program.name, f"{len(task.attributes):,}", f"{theirs:.1f}", f"{ours:.1f}"),
            *(f"{times:.1f}", f">= {LEAST_FIT:g}", yes_or_no(times >= LEAST_FIT)),
            *(f"{their_loss:,.2f}", f"{loss:,.2f}", yes_or_no(loss <= their_loss * (1 + SAME))),
        ]


def tag_table(tasks: Sequence[Task], args: argparse.Namespace) -> Table:
    columns = ["program", "with", "python-crfsuite, microseconds", "microseconds"]
    title = "Labels of one sequence, by the same model, from its attributes, CPU time"
    return (
        title,
        [*columns, "times faster", "target", "met", "sequences with other labels"],
        tag_rows(tasks, args),
    )


def tag_rows(tasks: Sequence[Task], args: argparse.Namespace) -> Iterator[list[str]]:
    """Label sequences of the test part one by one, in turns."""
    for task in tasks:
        sequences = task.test_attributes[:N_TAGGED]
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model.crfsuite"))
            train_peer(task, path, max_iterations=N_ITERATIONS)
            for name, theirs, ours in ways_to_tag(path):
                label_all = [partial(labelled, tag, sequences) for tag in (theirs, ours)]
                runs = [[cpu_seconds(label) for label in label_all] for _ in range(args.runs)]
                their_time, time = (
                    1e6 * min(run[k][0] for run in runs) / len(sequences) for k in (0, 1)
                )
                their_labels, labels = (found for _, found in runs[0])
                least, times = LEAST_TAG[name], their_time / time
                yield [
                    *(task.program.name, name, f"{their_time:.0f}", f"{time:.0f}"),
                    *(f"{times:.1f}", f">= {least:g}", yes_or_no(times >= least)),
                    f"{sum(map(ne, their_labels, labels))} of {len(labels)}",
                ]


def labelled(tag: Callable, sequences: list) -> list[list]:
    """The labels of sequences, one by one."""
    return [list(tag(sequence)) for sequence in sequences]


def ways_to_tag(path: str) -> Iterator[tuple[str, Callable, Callable]]:
    """What is compared: its name, the function of python-crfsuite, and ours."""
    theirs = import_crfsuite().Tagger()
    theirs.open(path)
    yield "tagger()", theirs.tag, CRFsuiteCRF(model_filename=path).tagger()
    ours = pycrfsuite.Tagger()
    ours.open(path)
    yield "compat.Tagger.tag", theirs.tag, ours.tag
    yield "with marginals", partial(marginals, theirs), partial(marginals, ours)


def marginals(tagger: Any, sequence: list) -> list[tuple[str, float]]:
    """The labels of a sequence, with their probabilities."""
    labels = tagger.tag(sequence)
    return [(label, round(tagger.marginal(label, t), 6)) for t, label in enumerate(labels)]


def memory_table(tasks: Sequence[Task], args: argparse.Namespace) -> Table:
    title = "Growth of memory in a fit, to its peak, each in a process of its own"
    return (
        title,
        ["program", "python-crfsuite, MB", "MB", "times", "target", "met"],
        memory_rows(tasks),
    )


def memory_rows(tasks: Sequence[Task]) -> Iterator[list[str]]:
    """The attributes of all tokens are there before."""
    for task in tasks:
        # Functions of features cannot be sent to another process.
        sent = task._replace(program=task.program._replace(load=None, features=None), fitted=[])
        theirs, ours = (in_fresh_process(growth, name, sent) / 1e6 for name in ("peer", "ours"))
        yield [
            *(task.program.name, f"{theirs:.0f}", f"{ours:.0f}", f"{ours / theirs:.1f}"),
            *(f"<= {MOST_MEMORY:g}", yes_or_no(ours <= MOST_MEMORY * theirs)),
        ]


def growth(name: str, task: Task) -> int:
    """Bytes by which memory grows until its peak in a fit of a few iterations."""
    fit = {"peer": train_peer, "ours": train}[name]
    few = task._replace(attributes=task.attributes[:10], train=tuple(p[:10] for p in task.train))
    fit(few, max_iterations=2)  # imports modules that are imported at first use
    grown, _ = memory_growth(partial(fit, task, max_iterations=N_ITERATIONS))
    return grown


def load_table(tasks: Sequence[Task], args: argparse.Namespace) -> Table:
    columns = ["program", "with", "CPU s", "target", "met", "MB", "target ", "met "]
    return (
        "A process that loads a model of CRFsuite and labels one sequence",
        columns,
        load_rows(tasks),
    )


def load_rows(tasks: Sequence[Task]) -> Iterator[list[str]]:
    """Each in a process of its own, which imports what it needs; least of three runs."""
    for task in tasks:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model.crfsuite"))
            train_peer(task, path, max_iterations=N_ITERATIONS)
            for name, loading in LOADING.items():
                found = [loaded(loading, path, task.test_attributes[0]) for _ in range(3)]
                seconds, mb = map(min, zip(*found, strict=True))
                verdicts = ["", ""], ["", ""]
                if name != "python-crfsuite":
                    verdicts = (
                        [f"<= {MOST_SECONDS:g}", yes_or_no(seconds <= MOST_SECONDS)],
                        [f"<= {MOST_MB:g}", yes_or_no(mb <= MOST_MB)],
                    )
                yield [
                    task.program.name,
                    name,
                    f"{seconds:.2f}",
                    *verdicts[0],
                    f"{mb:.0f}",
                    *verdicts[1],
                ]


def loaded(loading: str, path: str, sequence: list) -> tuple[float, float]:
    """CPU seconds and MB of a process that loads a model, and labels a sequence; or infinity."""
    command = [sys.executable, "-c", LOADED.format(loading=loading), path, json.dumps(sequence)]
    # An installed package has compiled modules; in a checkout, the first of the runs writes them.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    seconds, mb = map(float, done.stdout.split()) if done.returncode == 0 else (math.inf, math.inf)
    return seconds, mb


def right_table(tasks: Sequence[Task], args: argparse.Namespace) -> Table:
    columns = ["program", "sequences", "python-crfsuite", "CRFsuiteCRF", *MODELS, "target", "met"]
    columns += ["EmpiricalCRF of words and lists, fitted", "EmpiricalCRF of the same dicts, fitted"]
    return "Whole sequences right, per cent of the test part", columns, right_rows(tasks)


def right_rows(tasks: Sequence[Task]) -> Iterator[list[str]]:
    """Train and test each model."""
    for task in tasks:
        (_, _, model), (_, _, crf) = fitted(task)
        right = [tag(model, task.test_attributes), crf.predict(task.test_attributes)]
        words, test_words = map(words_of, (task.train[0], task.test[0]))
        right += [make().fit(words, task.train[1]).predict(test_words) for make in MODELS.values()]
        figures = [100 * sequence_accuracy(task.test[1], labels) for labels in right]
        least = LEAST_RIGHT.get(task.program.name)
        yield [
            *(task.program.name, f"{len(test_words):,}"),
            *(f"{figure:.2f}" for figure in figures),
            *(["", ""] if least is None else [f">= {least:g}", yes_or_no(figures[3] >= least)]),
            right_of(task, *of_lists(task)) if task.program.lists else "",
            right_of(task, task.attributes, task.test_attributes)
            if isinstance(task.attributes[0][0], dict)
            else "",
        ]


def right_of(task: Task, X: list, X_test: list) -> str:
    """Per cent of the sequences that the closed form has right, with fitted exponents."""
    labels = EmpiricalCRF(exponents="fit").fit(X, task.train[1]).predict(X_test)
    return f"{100 * sequence_accuracy(task.test[1], labels):.2f}"


def of_lists(task: Task) -> Iterator[list[list[dict[str, Any]]]]:
    """The words of both parts, and what the lists of the program have of them."""
    for (X, _), attributes in (
        (task.train, task.attributes),
        (task.test, task.test_attributes),
    ):
        yield [
            [
                {"word": word, **{key: found[key] for key in task.program.lists}}
                for word, found in zip(*tokens, strict=True)
            ]
            for tokens in zip(X, attributes, strict=True)
        ]


def words_of(X: list) -> list[list[str]]:
    """The words of tokens, which may be dicts with the key "word"."""
    return [[t["word"] if isinstance(t, dict) else t for t in tokens] for tokens in X]


def train(task: Task, **params: Any) -> CRFsuiteCRF:
    """Our model, with the settings of the program."""
    given = {NAMES_HERE.get(name, name): value for name, value in task.program.params.items()}
    return CRFsuiteCRF(**given, **params).fit(task.attributes, task.train[1])


def train_peer(task: Task, path: str = "", **params: Any) -> float:
    """Train python-crfsuite as the program does. Returns its loss; a path stores the model."""
    trainer = import_crfsuite().Trainer(verbose=False, params={**task.program.params, **params})
    for sequence, labels in zip(task.attributes, task.train[1], strict=True):
        trainer.append(sequence, labels)
    trainer.train(path)
    return trainer.logparser.last_iteration["loss"]


if __name__ == "__main__":
    main()
