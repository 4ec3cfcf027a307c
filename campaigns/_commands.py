"""The command line, with hostile files and options."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random

import _conll
import _dumps
import _files
import _templates
from _campaign import Campaign, Wrong, show
from _guard import guarded

from sklearn_crcrf.apps.cli import main

INTACT = b"the O\ndog B-N\n\na O\ncat I-N\n" * 3
STATUSES = {0, 2}
COLUMNS = ["word,label", "word,label", "word,pos,label", "label", "_", "word,word", ","]
COLUMNS += ["word,known", "x,_,y"]
SETTINGS = ["max_iter=2", "max_iter=0", "sigma=0.1", "sigma=-1", "nonsense=1", "solver=sgd", "="]
SETTINGS += ["sigma=nan", "criterion=mce", "edge_columns=word", "boundaries=True", "smoothing"]
SETTINGS += ["max_iter=1e99"]
ESTIMATORS = ["CRF", "HMM", "EmpiricalCRF", "StructuredPerceptron", "CRFsuiteCRF", "Nonsense", ""]
N_BEST = ["1", "3", "0", "-1", "1000000000", "x"]

# The options of each command, with functions that make their values; a name in capitals is a file.
FITTING = {"--estimator": ESTIMATORS, "--set": SETTINGS, "--template": ["TEMPLATE", "missing"]}
FITTING |= {"--syntax": ["crf++", "wapiti", "x"], "--columns": COLUMNS}
ANY_COMMAND: dict[str, dict[str, list[str]]] = {
    "train": {"": ["TEXT", "-"], "--model": ["new.crcrf", "MODEL", "folder"], **FITTING},
    "tag": {
        "": ["TEXT", "-", "missing"],
        "--model": ["MODEL", "MODEL", "MODEL", "TEXT", "missing"],
        "--columns": COLUMNS,
        "--n-best": N_BEST,
        "--output": ["-", "out.txt", "out.gz", "folder"],
        "--marginals": [""],
        "--one-segment": ["all", "N", "X,Y", ""],
        "--json": [""],
    },
    "evaluate": {"": ["TEXT", "-"], "--model": ["MODEL"], **FITTING},
    "inspect": {"": [], "--model": ["MODEL", "TEXT"]},
    "convert": {
        "": ["DUMP", "DUMP", "TEXT"],
        "--model": ["new.crcrf", "folder"],
        "--format": ["crfsuite", "crf++", "wapiti"],
        "--columns": COLUMNS,
    },
}
NEEDED = {"--model"}


def arguments(rng: Random) -> list[str]:
    """A command line."""
    command = rng.choice(list(ANY_COMMAND))
    files = ANY_COMMAND[command][""]
    line = [command, rng.choice(files)] if files else [command]
    for option, values in ANY_COMMAND[command].items():
        if option and rng.random() < (0.95 if option in NEEDED else 0.15):
            line += [option, rng.choice(values)] if values != [""] else [option]
    if rng.random() < 0.05:
        line.insert(rng.randrange(len(line) + 1), rng.choice(["--nonsense", "", "-", "\udcff"]))
    return line


def write_files(rng: Random) -> bytes:
    """Files with the names that command lines have; returns the standard input."""
    os.makedirs("folder", exist_ok=True)
    text = _conll.mutated(rng) if rng.random() < 0.3 else INTACT
    model = rng.choice([it for it in _files.stored if it.format in ("models", "taggers")])
    template, _ = _templates.mutated(rng)
    dump, _ = _dumps.mutated(rng)
    _files.write_stored(model, Path("MODEL"), rng if rng.random() < 0.4 else None)
    Path("TEXT").write_bytes(text)
    Path("TEMPLATE").write_bytes(template.encode("utf-8", "surrogateescape"))
    Path("DUMP").write_bytes(dump)
    return text


def in_process(rng: Random, number: int) -> str:
    """Run a command in this process."""
    standard_input, line = write_files(rng), arguments(rng)
    show("sklearn-crcrf", *map(repr, line))
    os.environ.pop("SKLEARN_CRCRF_DEBUG", None)
    sys.stdin = io.TextIOWrapper(io.BytesIO(standard_input), "utf-8")
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with redirect_stdout(output), redirect_stderr(errors), guarded(os.getcwd()):
        try:
            status = main(line)
        except SystemExit as end:
            status = end.code
    errors.flush()
    return _judge(line, status, errors.buffer.getvalue().decode(errors="replace"))


def _judge(line: list[str], status: int | None, errors: str) -> str:
    """A command must succeed, or say in one line what is wrong with its input."""
    status = status or 0
    show("status", status, errors)
    if "Traceback" in errors:
        raise Wrong(f"traceback of {line[0]}", errors)
    if status not in STATUSES:
        reason = errors.strip().rpartition("error: ")[2].partition(":")[0]
        raise Wrong(f"status {status} of {line[0]}: {reason}", errors)
    if status == 2 and "sklearn-crcrf: error: " not in errors:
        raise Wrong(f"no message of {line[0]}", errors)
    return f"status {status}"


CAMPAIGNS = [Campaign("commands", in_process, prepare=_files.prepare, batch=20)]
