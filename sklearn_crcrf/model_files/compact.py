"""Compact models: what prediction needs, in single precision, mapped into memory."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..base.batch_values import token_marginals
from ..base.batches import Batch
from ..base.classifier import BaseSequenceClassifier
from ..base.unwrap import tagger_of
from ..data.ragged import SequenceArray, object_array
from ..serving import Tagger
from ..serving.content import Content
from ..serving.files import read_content, write_content
from ..serving.small import unpacked
from ..structures import HigherOrderChain, RunTable, Scores, Structure, structure_of
from ..structures.scores import TokenTransitions

ONLY_PREDICTS = (
    "a compact model only predicts: it has no counts and no training data. Train on with the "
    "complete model, which save_model writes without compact=True"
)


@dataclass(eq=False, repr=False)
class CompactClassifier(BaseSequenceClassifier):
    """The model in a compact file, with all ways to predict, and none to train.

    :func:`~sklearn_crcrf.model_files.load_model` makes it of a file that
    :func:`~sklearn_crcrf.model_files.save_model` wrote with ``compact=True``, in a few
    milliseconds: the file is mapped into memory, and read where it is needed.

    Parameters
    ----------
    tagger : Tagger
        The weights.
    sample_unit : {"sequence", "token"}, default="sequence"
        The unit that scikit-learn treats as a sample, as in :class:`~sklearn_crcrf.CRF`.
    n_jobs : int, default=None
        Number of threads of methods other than ``predict``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        All labels.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.model_files import CompactClassifier
    >>> crf = EmpiricalCRF().fit([["the", "dog"], ["dogs"]], [["D", "N"], ["N"]])
    >>> compact = CompactClassifier(crf.tagger())
    >>> compact.predict([["the", "dogs"]]).tolist()
    [['D', 'N']]
    >>> compact.partial_fit([["a"]], [["D"]])
    Traceback (most recent call last):
    ValueError: a compact model only predicts: it has no counts and no training data. Train on ...
    """

    tagger: Tagger
    sample_unit: str = "sequence"
    n_jobs: int | None = None

    @property
    def classes_(self) -> np.ndarray:
        """All labels."""
        labels = list(self.tagger.labels)
        is_plain = len({*map(type, labels)}) == 1 and labels[0] is not None
        return np.array(labels) if is_plain else object_array(labels)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Raise ValueError: there is nothing to train on with."""
        raise ValueError(ONLY_PREDICTS)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Raise ValueError: there are no counts to add to."""
        raise ValueError(ONLY_PREDICTS)

    def forget(self, X: Any, y: Any, sample_weight: Any = None, *, purge: bool = False) -> Any:
        """Raise ValueError: there are no counts to subtract from."""
        raise ValueError(ONLY_PREDICTS)

    def predict(self, X: Any, allowed: Any = None, subject_to: Any = None) -> Any:
        """Return the labels of the best path of each sequence.

        Parameters
        ----------
        X, allowed, subject_to : as in :meth:`sklearn_crcrf.CRF.predict`

        Returns
        -------
        labels
            In the layout of X.
        """
        if allowed is not None or subject_to is not None:
            return super().predict(X, allowed, subject_to)
        sequences = self._check_X(X)
        self._structure(sequences.X)
        ids = self.tagger.label_ids(_sequences(_tokens(sequences.X), sequences.X.offsets))
        return sequences.mirror(self.classes_[ids])

    def _structure(self, X: SequenceArray) -> Structure:
        structure = structure_of(X)
        if not structure.is_sequential():
            raise ValueError("a compact model is for sequences, but X has other links")
        n, tables = len(self.tagger.labels), self.tagger.run_tables
        if not tables:
            return structure
        scores: list[Any] = [RunTable(n, *table) for table in tables]
        return HigherOrderChain(X.offsets, scores)

    def _prepare(self, X: SequenceArray) -> list:
        return _tokens(X)

    def _scores(self, prepared: list, batch: Batch) -> Scores:
        offsets = batch.start + batch.structure.offsets
        own = _sequences(prepared, offsets)
        state, transition, begin, end, edges = self.tagger.scores_of_many(own)
        return Scores(state, transition, begin, end, TokenTransitions(*edges))

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        if self.tagger.decoding == "marginal":
            return token_marginals(structure, scores, first).argmax(axis=1)
        return super()._decode(structure, scores, first)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def save_compact(
    estimator: Any, path: str | os.PathLike, columns: list[str | None] | None, separator: str | None
) -> None:
    """Write the compact model of a fitted estimator; parameters as of ``save_model``."""
    if isinstance(estimator, CompactClassifier):
        tagger = estimator.tagger
    else:
        tagger = tagger_of(estimator).in_single_precision()
    content = tagger.content()
    training = {"training_columns": columns, "training_separator": separator}
    write_content(path, Content({**content.settings, **training}, content.arrays))


def load_compact(
    path: str | os.PathLike, max_bytes: int | None
) -> tuple[CompactClassifier, list[str | None] | None, str | None]:
    """Load the model in a compact file, and the columns of training and their separator."""
    try:
        content = unpacked(read_content(path, max_bytes))
        tagger = Tagger(content)
        longest = max((len(label) for label in tagger.labels if isinstance(label, str)), default=0)
        content.budget.take(4 * longest * len(tagger.labels))  # classes_
        return CompactClassifier(tagger), tagger.training_columns, tagger.training_separator
    except (TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def _tokens(X: SequenceArray) -> list:
    """List all tokens, as taggers take them."""
    if not hasattr(X.data, "names"):
        return X.data.tolist()
    table = X.data
    columns = [table.column(name).tolist() for name in table.names]
    rows = (zip(table.names, row, strict=True) for row in zip(*columns, strict=True))
    return [{name: symbol for name, symbol in row if symbol is not None} for row in rows]


def _sequences(tokens: list, offsets: np.ndarray) -> Iterator[list]:
    return (tokens[a:b] for a, b in pairwise(offsets.tolist()))
