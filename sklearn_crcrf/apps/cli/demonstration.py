"""The command demo: made-up postal addresses."""

import argparse
import time

from ...datasets import make_addresses
from ...display.notebook.aligned import aligned
from ...estimators.empirical import EmpiricalCRF
from .evaluation import evaluate, print_accuracy, size

OWN_DATA = """\
The same on your own file: a CSV with a header such as sentence,word,label or
text,spans; or one word and its label per line, a blank line between sequences:

  python -m sklearn_crcrf evaluate FILE                  how accurate it is
  python -m sklearn_crcrf train FILE --model MODEL       train, and write a model
  python -m sklearn_crcrf tag FILE --model MODEL         label a file of words
  python -m sklearn_crcrf tag FILE --text --model MODEL  find names or parts in a text

sklearn-crcrf --help tells the rest."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the command has no arguments of its own."""


def run(options: argparse.Namespace) -> None:
    """Train on addresses, and print the accuracy and a labelled address."""
    X, y = make_addresses(3000, random_state=0)
    labels = {label for line in y for label in line}
    n_tokens = sum(map(len, X))
    print(f"Made-up postal addresses: {len(X):,} lines, {n_tokens:,} tokens, {len(labels)} labels")
    start = time.perf_counter()
    crf = EmpiricalCRF().fit(X[:2000], y[:2000])
    print(f"\ntrained on {size(X[:2000])} in {time.perf_counter() - start:.2f} s")
    result = evaluate(crf, X[2000:], y[2000:])
    print(f"labelled   {size(X[2000:])} in {result.seconds:.2f} s\n")
    print_accuracy(result)
    print("\nThe first held-out line (* never seen in training):\n")
    known = crf.known_tokens(X[2000:2001])[0]
    words = [word if seen else word + "*" for word, seen in zip(X[2000], known, strict=True)]
    print("\n\n".join(aligned([words, result.predicted[0]])))
    print(f"\n{OWN_DATA}")
