"""The four examples of CRF++, with the options of their ``exec.sh``.

    python crfpp.py CRF++-0.58/example [OUTPUTS]

OUTPUTS is a folder with the outputs of ``crf_test`` as ``basenp.out``, ``chunking.out``, ...; then
the lines are counted whose labels differ.

The models are the same: with ``crf_learn -e 1e-9`` all labels agree, on all four examples. By
default CRF++ stops when the objective changed by less than 0.01 % in three iterations in a row,
somewhat before the optimum: of its 19,172, 19,172, 981 and 12,678 labels, 5, 4, 4 and 0 then
differ. (On chunking it stops after 29 iterations, and after 59 with ``-e 1e-9``.)

The second half of each ``exec.sh`` trains by MIRA, whose steps are not offered; the nearest
trainers are ``PassiveAggressiveCRF`` and ``MaxMarginCRF``.
"""

import sys
import time
from pathlib import Path

from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, TemplateFeatures
from sklearn_crcrf.datasets import read_conll

# crf_learn -c C -f F is sigma = sqrt(C) and min_freq = F.
EXAMPLES = {
    "basenp": {"sigma": 10**0.5},
    "chunking": {"sigma": 2.0},
    "seg": {"sigma": 2.0, "min_freq": 3},
    "JapaneseNE": {"sigma": 2.0, "min_freq": 3},
}
ENCODINGS = {"JapaneseNE": "euc-jp"}


def main(folder: str, outputs: str | None = None) -> None:
    """Train and test each example."""
    for name, parameters in EXAMPLES.items():
        data, encoding = Path(folder) / name, ENCODINGS.get(name, "utf-8")
        width = len((data / "train.data").read_text(encoding).split("\n", 1)[0].split())
        columns = [f"column{i}" for i in range(width - 1)] + ["label"]
        X, y = read_conll(data / "train.data", columns, encoding=encoding)
        X_test, y_test = read_conll(data / "test.data", columns, encoding=encoding)
        features = TemplateFeatures((data / "template").read_text(encoding))
        crf = CRF(edge_columns=features.edge_columns, **parameters)
        start = time.process_time()
        tagger = make_pipeline(features, crf).fit(X, y)
        seconds = time.process_time() - start
        found = [label for labels in tagger.predict(X_test) for label in labels]
        gold = [label for labels in y_test for label in labels]
        right = sum(a == b for a, b in zip(found, gold, strict=True))
        line = f"{name:10} {crf.n_iter_:4} iterations {seconds:6.1f} s"
        line += f"  accuracy {right / len(gold):.4f}"
        if outputs is not None:
            text = (Path(outputs) / f"{name}.out").read_text(encoding)
            theirs = [row.split()[-1] for row in text.split("\n") if row.strip()]
            differing = sum(a != b for a, b in zip(found, theirs, strict=True))
            line += f"  {differing} of {len(theirs)} labels differ from CRF++"
        print(line, flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
