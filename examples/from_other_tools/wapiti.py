"""The examples of Wapiti, with its default penalties: ``--rho1 0.5 --rho2 0.0001``.

    python wapiti.py wapiti-1.5.0/dat [ITERATIONS [OUTPUTS]]

OUTPUTS is a folder with the outputs of ``wapiti label`` as ``sequences.out``, ``np.out`` and
``ch.out``; then the lines are counted whose labels differ.

Two things decide whether labels agree:

- The patterns of the made-up sequences have no line ``b`` or ``*``, so Wapiti has no weights of
  pairs of labels alone, beside the weights of attributes and pairs of labels. A CRF always has
  them, unless ``features`` leaves them out, as here.
- Wapiti stops when the error rate of the training data changed by less than 0.02 % in five
  iterations, long before the optimum: on noun phrases after 53 iterations, at an objective of 872,
  while 777 is possible. With ``--stopeps 1e-10 --stopwin 100000`` its objective and all 50,000
  labels of the made-up sequences are the same as here.

An early end acts as one more penalty: of 1,896 labels of noun phrases Wapiti has 82 wrong, and this
has 83 after 60 iterations and 90 after 1,000. To end early by intention, use
``validation_fraction``.
"""

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, TemplateFeatures
from sklearn_crcrf.datasets import read_conll
from sklearn_crcrf.estimators.crf.features import Features

# Patterns, training and test data of each example.
EXAMPLES = {
    "sequences": ("pattern.txt", "train.txt", "test.txt"),
    "np": ("nppattern.txt", "nptrain.txt", "nptest.txt"),
    "ch": ("chpattern.txt", "chtrain.txt", "chtest.txt"),
}


def without_transitions(corpus: Any, n_labels: int) -> Features:
    """Weights for all pairs of attribute and label, and none for pairs of labels alone."""
    return Features(None, np.zeros((n_labels, n_labels), dtype=bool))


def main(folder: str, iterations: str = "100", outputs: str | None = None) -> None:
    """Train and test each example."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, files in EXAMPLES.items():
        patterns, train, test = (Path(folder) / file for file in files)
        width = len(train.read_text().split("\n", 1)[0].split())
        columns = [f"column{i}" for i in range(width - 1)] + ["label"]
        X, y = read_conll(train, columns)
        X_test, y_test = read_conll(test, columns)
        text = patterns.read_text()
        features = TemplateFeatures(text, syntax="wapiti")
        bare = {"b", "B", "*"} & set(map(str.strip, text.split("\n")))
        crf = CRF(
            sigma=1e-4**-0.5,
            c1=0.5,
            edge_columns=features.edge_columns,
            features="all" if bare else without_transitions,
            max_iter=int(iterations),
            tol=1e-9,
        )
        start = time.process_time()
        tagger = make_pipeline(features, crf).fit(X, y)
        seconds = time.process_time() - start
        found = [label for labels in tagger.predict(X_test) for label in labels]
        gold = [label for labels in y_test for label in labels]
        wrong = sum(a != b for a, b in zip(found, gold, strict=True))
        line = (
            f"{name:10} {crf.n_iter_:4} iterations {seconds:6.1f} s  objective "
            f"{crf.loss_curve_[-1]:.2f}  {wrong} of {len(gold)} labels wrong"
        )
        if outputs is not None:
            rows = (Path(outputs) / f"{name}.out").read_text().split("\n")
            theirs = [row.split()[-1] for row in rows if row.strip()]
            differing = sum(a != b for a, b in zip(found, theirs, strict=True))
            line += f", {differing} differ from Wapiti"
        print(line, flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
