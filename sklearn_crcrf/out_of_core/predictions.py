"""Predicted labels of a corpus folder, written part by part."""

import os
from collections.abc import Iterator
from typing import Any

from ..training.monitor import steps
from ..utils.replacing import replacing
from .corpus_folder import CorpusFolder

# Number of sequences whose probabilities are in memory at a time.
CHUNK = 500


def predict_to_file(
    estimator: Any,
    corpus: CorpusFolder,
    path: str | os.PathLike,
    *,
    probabilities: bool = False,
    verbose: int = 0,
) -> None:
    """Write the labels that an estimator predicts, with one part of the corpus in memory.

    The file has a line for each token, and a blank line after each sequence.

    Parameters
    ----------
    estimator : fitted estimator
        Its ``predict`` takes the tokens as the corpus has them.
    corpus : CorpusFolder
        The tokens; labels are not needed.
    path : str or path-like
        The file to write; it appears once all labels are written.
    probabilities : bool, default=False
        Whether a tab and the probability of the label, from ``predict_proba``, follow each label.
    verbose : int, default=0
        Print a line after every ``verbose`` parts.

    Raises
    ------
    ValueError
        If there are to be probabilities, and the estimator has no ``predict_proba``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.out_of_core import predict_to_file, write_corpus
    >>> crf = CRF().fit([["The", "dog"]], [["D", "N"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "text")
    ...     n_written = path.write_text("The\\ndog\\n\\ndog\\n")
    ...     corpus = write_corpus([path], Path(folder, "corpus"))
    ...     predict_to_file(crf, corpus, Path(folder, "labels"))
    ...     Path(folder, "labels").read_text()
    'D\\nN\\n\\nN\\n\\n'
    """
    if probabilities and not hasattr(estimator, "predict_proba"):
        raise ValueError(f"probabilities: {type(estimator).__name__} has no predict_proba")
    n_parts = len(corpus)
    parts = steps(corpus, "labelling, part", lambda number, _: number / n_parts, verbose)
    with replacing(path) as file:
        for X, _ in parts:
            lines = _with_probabilities(estimator, X) if probabilities else estimator.predict(X)
            for sequence in lines:
                file.write("".join(f"{line}\n" for line in sequence).encode() + b"\n")


def _with_probabilities(estimator: Any, X: Any) -> Iterator[list[str]]:
    """Return the labels of each sequence, and their probabilities."""
    column = {label: j for j, label in enumerate(estimator.classes_.tolist())}
    for start in range(0, len(X), CHUNK):
        some = X[start : start + CHUNK]
        predicted = zip(estimator.predict(some), estimator.predict_proba(some), strict=True)
        for labels, rows in predicted:
            found = rows[range(len(labels)), [column[label] for label in labels]].tolist()
            yield [f"{label}\t{p:.6f}" for label, p in zip(labels, found, strict=True)]
