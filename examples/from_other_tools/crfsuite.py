"""The tutorial of CRFsuite: chunks of CoNLL 2000, with the attributes of its ``chunking.py``.

    python crfsuite.py TRAIN TEST [SENTENCES]

TRAIN and TEST are the files of CoNLL 2000: word, part of speech, label. SENTENCES is how many of
TRAIN are used. The program writes data files as ``chunking.py`` does, trains with the parameters
of ``crfsuite learn``, and writes a binary model. With python-crfsuite, it trains there too, and
labels with both models there.

The model is the same, and so are nearly all labels. CRFsuite stops when the objective fell by less
than 0.001 % in ten iterations, and so does this; the iterations are different ones, so the two end
at slightly different places near the optimum. Our model has the same labels in CRFsuite as here.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sklearn_crcrf import CRFsuiteCRF
from sklearn_crcrf.datasets import read_conll, read_crfsuite_items
from sklearn_crcrf.metrics import segment_f1, token_accuracy
from sklearn_crcrf.model_files.conversion import write_crfsuite_model

TEMPLATES: list[list[tuple[str, int]]] = [
    *([("w", d)] for d in (-2, -1, 0, 1, 2)),
    *([("w", d), ("w", d + 1)] for d in (-1, 0)),
    *([("pos", d)] for d in (-2, -1, 0, 1, 2)),
    *([("pos", d), ("pos", d + 1)] for d in (-2, -1, 0, 1)),
    *([("pos", d), ("pos", d + 1), ("pos", d + 2)] for d in (-2, -1, 0)),
]


def attributes(tokens: list[dict[str, str]], t: int) -> list[str]:
    """The attributes of a token, as in CRFsuite's ``chunking.py``."""
    found = []
    for template in TEMPLATES:
        if all(0 <= t + d < len(tokens) for _, d in template):
            name = "|".join(f"{key}[{d}]" for key, d in template)
            found.append(name + "=" + "|".join(tokens[t + d][key] for key, d in template))
    return found + ["__BOS__"] * (t == 0) + ["__EOS__"] * (t == len(tokens) - 1)


def write_items(path: Path, X: list, y: list) -> None:
    """Write a data file of CRFsuite."""
    with open(path, "w", encoding="utf-8") as file:
        for tokens, labels in zip(X, y, strict=True):
            for t, label in enumerate(labels):
                escaped = [
                    name.replace("\\", "\\\\").replace(":", "\\:") for name in attributes(tokens, t)
                ]
                file.write("\t".join([label, *escaped]) + "\n")
            file.write("\n")


def show(name: str, y: list, predicted: list, seconds: float | None = None) -> None:
    """Print accuracy and F1."""
    took = "" if seconds is None else f"  trained in {seconds:.1f} s"
    accuracy, f1 = token_accuracy(y, predicted), segment_f1(y, predicted)
    print(f"{name:34} accuracy {accuracy:.4f}  F1 {100 * f1:.2f}{took}", flush=True)


def compare(model: Path, X: list, y: list, X_test: list, y_test: list, ours: list) -> None:
    """Label with our model in python-crfsuite, and train there too."""
    import pycrfsuite

    def labels_of(path: Path) -> list:
        tagger = pycrfsuite.Tagger()
        tagger.open(str(path))
        return [tagger.tag(pycrfsuite.ItemSequence(tokens)) for tokens in X_test]

    differing = count_different(labels_of(model), ours)
    print(f"our model, labels in CRFsuite: {differing} labels differ")
    trainer: Any = pycrfsuite.Trainer(verbose=False)
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(pycrfsuite.ItemSequence(tokens), labels)
    start = time.process_time()
    trainer.train(str(model.with_suffix(".theirs")))
    seconds = time.process_time() - start
    theirs = labels_of(model.with_suffix(".theirs"))
    show("CRFsuite", y_test, theirs, seconds)
    print(f"{count_different(theirs, ours)} labels of {sum(map(len, y_test))} differ")


def count_different(one: list, other: list) -> int:
    """Number of tokens with different labels."""
    return sum(a != b for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


def main(train: str, test: str, n_sentences: str | None = None) -> None:
    """Train and test."""
    columns = ["w", "pos", "label"]
    X, y = read_conll(train, columns)
    n = len(X) if n_sentences is None else int(n_sentences)
    with tempfile.TemporaryDirectory() as folder:
        items, model = Path(folder) / "train.crfsuite.txt", Path(folder) / "model.crfsuite"
        write_items(items, X[:n], y[:n])
        X_items, y_items = read_crfsuite_items(items)
        write_items(items, *read_conll(test, columns))
        X_test, y_test = read_crfsuite_items(items)
        start = time.process_time()
        crf = CRFsuiteCRF().fit(X_items, y_items)
        seconds = time.process_time() - start
        predicted = crf.predict(X_test)
        show("CRFsuiteCRF()", y_test, predicted, seconds)
        write_crfsuite_model(crf, model)
        try:
            compare(model, X_items, y_items, X_test, y_test, predicted)
        except ImportError:
            print("python-crfsuite is not installed, so there is nothing to compare with")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
