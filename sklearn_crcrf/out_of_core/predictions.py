"""Predicted labels of a corpus folder, written part by part."""

import os
from typing import Any

from ..training.monitor import steps
from ..utils.replacing import replacing
from .corpus_folder import CorpusFolder

__all__ = ["predict_to_file"]


def predict_to_file(
    estimator: Any, corpus: CorpusFolder, path: str | os.PathLike, *, verbose: int = 0
) -> None:
    """Write the labels that an estimator predicts, with one part of the corpus in memory.

    The file has a line for each token, and a blank line after each sequence.

    Parameters
    ----------
    estimator : fitted estimator
        Its ``predict`` takes the tokens as the corpus has them.
    corpus : CorpusFolder
    path : str or path-like
        Gets its content once all labels are written.
    verbose : int, default=0
        Print a line after every ``verbose`` parts.

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
    n_parts = len(corpus)
    parts = steps(corpus, "labelling, part", lambda number, _: number / n_parts, verbose)
    with replacing(path) as file:
        for X, _ in parts:
            for labels in estimator.predict(X):
                file.write("".join(f"{label}\n" for label in labels).encode() + b"\n")
