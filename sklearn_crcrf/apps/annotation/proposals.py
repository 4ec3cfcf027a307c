"""What a model proposes for sentences: the best labellings, and the likeliest labels of tokens."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .marks import Marks, best_marks

N_LABELLINGS, N_LIKELIEST = 5, 6


def proposals(classifier: Any, X: Sequence, marks: Marks) -> list[dict[str, Any]]:
    """Find the best labellings of sentences, and the likeliest labels of their tokens.

    Parameters
    ----------
    classifier : fitted sequence classifier
    X : sequences, none of which is empty
    marks : Marks

    Returns
    -------
    list of dict
        "labellings" are marks with their probabilities, "likeliest" pairs of a label and its
        probability for each token.
    """
    found = []
    paths = classifier.predict_k_best(X, k=2 * N_LABELLINGS)
    for best, rows in zip(paths, classifier.predict_proba(X), strict=True):
        spelled = [([*map(str, labels)], share) for labels, share in best]
        labellings = best_marks(marks, spelled)[:N_LABELLINGS]
        likeliest = _likeliest(classifier.classes_, np.asarray(rows))
        found.append({"labellings": labellings, "likeliest": likeliest})
    return found


def _likeliest(classes: np.ndarray, probability: np.ndarray) -> list[list[tuple[Any, float]]]:
    """Find the likeliest labels of each token, with their probabilities."""
    first = np.argsort(-probability, axis=1, kind="stable")[:, :N_LIKELIEST]
    shares = np.take_along_axis(probability, first, axis=1).astype(float).round(4).tolist()
    labels = classes[first].tolist()
    return [list(zip(*both, strict=True)) for both in zip(labels, shares, strict=True)]
