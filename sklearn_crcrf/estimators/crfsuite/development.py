"""Development data, on which the model of each iteration is evaluated."""

from typing import Any

import numpy as np

from ...data.sequences import as_sequences
from ...feature_extraction import SequenceVectorizer
from ...metrics import sequence_accuracy, token_accuracy, token_report
from ...training.monitor import Iteration
from .attribute_lists import attribute_rows, listed


class Development:
    """Sequences that the model is evaluated on; to be called after each iteration.

    Parameters
    ----------
    vectorizer : SequenceVectorizer
        With the attributes of the training data.
    X_dev, y_dev : as X and y of CRFsuiteCRF.fit

    Attributes
    ----------
    X : SequenceArray
        The rows of X_dev.
    y : SequenceArray
        The labels.
    log : list of dict
        What the log of sklearn-crfsuite says of each iteration.

    Raises
    ------
    ValueError
        If the data are not valid, or have no token with a known label.
    """

    def __init__(self, vectorizer: SequenceVectorizer, X_dev: Any, y_dev: Any):
        X_dev = listed(X_dev)
        _, self.y, _ = as_sequences(X_dev, listed(y_dev), "y_dev")
        if np.isnan(token_accuracy(self.y, self.y, zero_division=np.nan)):
            raise ValueError("y_dev has no token with a known label")
        self.X = attribute_rows(vectorizer, X_dev)
        self.log: list[dict[str, float]] = []

    def __call__(self, iteration: Iteration) -> None:
        crf = iteration.model()
        y, labels = crf.predict(self.X), crf.classes_
        report = token_report(self.y, y, labels=labels, output_dict=True, zero_division=0.0)
        means = report["macro avg"]
        self.log.append(
            {
                "avg_precision": means["precision"],
                "avg_recall": means["recall"],
                "avg_f1": means["f1-score"],
                "item_accuracy_float": token_accuracy(self.y, y),
                "instance_accuracy_float": sequence_accuracy(self.y, y),
            }
        )
