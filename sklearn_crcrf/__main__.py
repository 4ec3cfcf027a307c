"""The command line: a demonstration, and training and labelling with text files.

Without arguments it trains on made-up postal addresses and shows how well that goes.
"""

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence

import joblib
import numpy as np
from sklearn.model_selection import train_test_split

from .datasets import make_addresses, read_conll, write_conll
from .empirical import EmpiricalCRF
from .metrics import known_accuracy, segment_f1, token_accuracy, unknown_accuracy

__all__ = ["main"]

SCHEMES = {"IOB2": r"O|[BI](-.*)?", "IOBES": r"O|[BIES](-.*)?"}
OWN_DATA = """\
The same on your own text, one word and its label per line, a blank line between sequences:

  python -m sklearn_crcrf evaluate TRAIN [TEST]     how accurate it is
  python -m sklearn_crcrf train TRAIN MODEL         train, and write a model
  python -m sklearn_crcrf tag MODEL FILE            label a file of words

Each has the option --columns for files with more columns; --help tells the rest."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        Exit status: 0, or 2 if files or arguments are not valid.
    """
    options = _parser().parse_args(argv)
    try:
        options.run(options)
    except (OSError, ValueError) as error:
        print(f"sklearn-crcrf: error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sklearn-crcrf",
        description="Label sequences with a conditional random field trained by counting. "
        "Without a command: train on made-up postal addresses, and show the accuracy.",
    )
    parser.set_defaults(run=_demonstrate)
    reading = argparse.ArgumentParser(add_help=False)
    reading.add_argument(
        "--columns",
        type=_column_names,
        metavar="word,pos,label",
        help="names of the columns of the files, the word first; 'label' is the one to predict "
        "and '_' leaves one out. Default of evaluate and train: the first is the word, the last "
        "the label. Default of tag: the columns of training, without the label.",
    )
    training = argparse.ArgumentParser(add_help=False)
    training.add_argument(
        "--fit-exponents",
        action="store_true",
        help="weigh the kinds of evidence by what a tenth of the training sequences says: "
        "slower, and usually more accurate",
    )
    commands = parser.add_subparsers(title="commands", metavar="{evaluate,train,tag}")

    evaluate = commands.add_parser(
        "evaluate", parents=[reading, training], help="train, and print the accuracy"
    )
    evaluate.add_argument("train", metavar="TRAIN", help="file with labels; may be gzip")
    evaluate.add_argument(
        "test", metavar="TEST", nargs="?", help="default: a fifth of TRAIN, drawn at random"
    )
    evaluate.set_defaults(run=_evaluate)

    train = commands.add_parser("train", parents=[reading, training], help="write a model")
    train.add_argument("train", metavar="TRAIN", help="file with labels; may be gzip")
    train.add_argument("model", metavar="MODEL", help="file to write, by joblib")
    train.set_defaults(run=_train)

    tag = commands.add_parser("tag", parents=[reading], help="label the words of a file")
    tag.add_argument("model", metavar="MODEL", help="written by train; a model can run any code")
    tag.add_argument("file", metavar="FILE", help="words to label; what it says goes to stdout")
    tag.set_defaults(run=_tag)
    return parser


def _column_names(text: str) -> list[str | None]:
    return [None if name == "_" else name for name in text.split(",")]


def _demonstrate(options: argparse.Namespace) -> None:
    X, y = make_addresses(3000, random_state=0)
    labels = {label for line in y for label in line}
    n_tokens = sum(map(len, X))
    print(f"Made-up postal addresses: {len(X):,} lines, {n_tokens:,} tokens, {len(labels)} labels")
    crf = _report(EmpiricalCRF(), X[:2000], y[:2000], X[2000:], y[2000:])
    print("\nThe first held-out line (* never seen in training):\n")
    known = crf.known_tokens(X[2000:2001])[0]
    words = [word if seen else word + "*" for word, seen in zip(X[2000], known, strict=True)]
    print("\n".join(_aligned(words, crf.predict(X[2000:2001])[0])))
    print(f"\n{OWN_DATA}")


def _evaluate(options: argparse.Namespace) -> None:
    X, y = _read_labelled(options.train, options.columns)
    if options.test is None:
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    else:
        X_test, y_test = _read_labelled(options.test, options.columns)
    _report(_classifier(options), X, y, X_test, y_test)


def _train(options: argparse.Namespace) -> None:
    X, y = _read_labelled(options.train, options.columns)
    joblib.dump(_classifier(options).fit(X, y), options.model, compress=3)


def _tag(options: argparse.Namespace) -> None:
    crf = _load(options.model)
    X, _ = _read(options.file, options.columns or crf.encoder_.names)
    if X:
        write_conll(sys.stdout, X, crf.predict(X).tolist())


def _classifier(options: argparse.Namespace) -> EmpiricalCRF:
    return EmpiricalCRF(exponents="fit" if options.fit_exponents else None)


def _read(path: str, columns: Sequence[str | None] | None) -> tuple[list, list | None]:
    try:
        return read_conll(path, columns)
    except ValueError as error:
        names = f" ({', '.join(c or '_' for c in columns)}; see --columns)" if columns else ""
        raise ValueError(f"{path}: {error}{names}") from error


def _read_labelled(path: str, columns: Sequence[str | None] | None) -> tuple[list, list]:
    X, y = _read(path, columns)
    if not X or y is None:
        raise ValueError(f"{path}: there are no {'labels' if X else 'tokens'}")
    return X, y


def _load(path: str) -> EmpiricalCRF:
    try:
        model = joblib.load(path)
    except OSError:
        raise
    except Exception as error:  # what is no pickle fails in many ways
        raise ValueError(f"{path} cannot be loaded: {error}") from error
    if not isinstance(model, EmpiricalCRF):
        raise ValueError(f"{path} holds a {type(model).__name__}, not an EmpiricalCRF")
    return model


def _report(crf: EmpiricalCRF, X: list, y: list, X_test: list, y_test: list) -> EmpiricalCRF:
    """Fit, predict, and print how long it took and how right it was."""
    start = time.perf_counter()
    crf.fit(X, y)
    fitted = time.perf_counter()
    predicted = crf.predict(X_test)
    done = time.perf_counter()
    known = crf.known_tokens(X_test)
    n_unknown = sum(map(len, X_test)) - sum(map(sum, known))
    print(f"\ntrained on {_size(X)} in {fitted - start:.2f} s")
    print(f"labelled   {_size(X_test)} in {done - fitted:.2f} s\n")
    print(f"accuracy, all tokens       {_percent(token_accuracy(y_test, predicted))}")
    known_share = known_accuracy(y_test, predicted, known, zero_division=np.nan)
    print(f"accuracy, known tokens     {_percent(known_share)}")
    unknown_share = unknown_accuracy(y_test, predicted, known, zero_division=np.nan)
    print(f"accuracy, unknown tokens   {_percent(unknown_share)}   ({n_unknown:,} tokens)")
    scheme = _scheme([*y, *y_test])
    if scheme is not None:
        f1 = segment_f1(y_test, predicted, scheme=scheme, zero_division=np.nan)
        print(f"F1 of segments             {_percent(f1)}")
    return crf


def _scheme(y: list) -> str | None:
    """The scheme that all labels fit, if they mark segments."""
    labels = {label for sequence in y for label in sequence} - {"O"}
    fitting = [s for s, pattern in SCHEMES.items() if all(re.fullmatch(pattern, x) for x in labels)]
    return fitting[0] if labels and fitting else None


def _size(X: list) -> str:
    return f"{len(X):7,} sequences, {sum(map(len, X)):9,} tokens"


def _percent(share: float) -> str:
    return "     -" if np.isnan(share) else f"{100 * share:6.2f} %"


def _aligned(tokens: list[str], labels: list[str], width: int = 80) -> Iterator[str]:
    """Lines of tokens, each above its label, and cut where they are wide."""
    above, below = "", ""
    for token, label in zip(tokens, labels, strict=True):
        size = max(len(token), len(label))
        if len(above) + size >= width:
            yield f"{above.rstrip()}\n{below.rstrip()}\n"
            above, below = "", ""
        above += f"  {token:<{size}}"
        below += f"  {label:<{size}}"
    yield f"{above.rstrip()}\n{below.rstrip()}"


if __name__ == "__main__":
    sys.exit(main())
