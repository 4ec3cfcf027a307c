"""Labelled training data, and the chunks and blocks in which an objective goes through it."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.csr import with_values
from ..data.ones import on_places
from ..data.ragged import joined_ranges, locate, longest_first
from ..labels.constraints.constraints import Constraints
from ..labels.soft import SoftLabels
from ..structures import Scores, Structure, TokenTransitions

# About the number of state scores in a chunk, whose units go through a criterion together, and in
# a block of chunks, whose gradient by the weights is computed together.
CHUNK, BLOCK = 2**17, 2**17
# Matrix products are inefficient with fewer rows, that is tokens, than this.
SMALLEST_CHUNK = 1000


class Chunk(NamedTuple):
    """Whole units, tokens ``start`` to ``stop``, that go through a criterion together.

    Parameters
    ----------
    start, stop : int
    structure : Structure
        The structure of these units.
    y : ndarray of shape (stop - start,) of label ids, or bool of shape (stop - start, n_labels), \
or SoftLabels
        Label ids if all labels of the units are known; else which labels each token may have, or
        with which probability.
    weight : ndarray of shape (n_units,)
    no_transitions : TokenTransitions
        The ``token_transitions`` of the scores if transitions depend on no attributes: empty.
    """

    start: int
    stop: int
    structure: Structure
    y: Any
    weight: np.ndarray
    no_transitions: TokenTransitions


class Corpus(NamedTuple):
    """Labelled units of a structure, such as sequences.

    Parameters
    ----------
    X : CSR or ndarray of shape (n_tokens, n_attributes)
    y : ndarray of shape (n_tokens,), int32
        Label ids; -1 where the label is not known, or only in part, as ``allowed`` says, or only
        with a probability, as ``soft`` says.
    structure : Structure
    weight : ndarray of shape (n_units,)
    allowed : bool ndarray of shape (n_tokens, n_labels), optional
        Which labels each token may have.
    soft : SoftLabels, optional
        The probability of each label of each token.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.linear.corpus import Corpus
    >>> from sklearn_crcrf.structures import Chain
    >>> corpus = Corpus(np.eye(3), np.array([0, 1, 0]), Chain(np.array([0, 1, 3])), np.ones(2))
    >>> corpus.take(np.array([1])).X
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """

    X: Any
    y: np.ndarray
    structure: Structure
    weight: np.ndarray
    allowed: np.ndarray | None = None
    soft: SoftLabels | None = None

    @property
    def offsets(self) -> np.ndarray:
        """The first token of each unit, then the total number of tokens."""
        return self.structure.offsets

    @property
    def labels(self) -> Any:
        """Label ids, or SoftLabels."""
        return self.y if self.soft is None else self.soft

    def require_labels(self, who: str = "this estimator") -> None:
        """Raise ValueError if a label is not known; the message says where, and who needs it."""
        if (self.y < 0).any():
            sequence, position = locate(self.offsets, int(np.argmax(self.y < 0)))
            raise ValueError(
                f"y, sequence {sequence}, position {position}: the label is not known, but {who} "
                "needs the label of every token; CRF with its default criterion does not"
            )

    def take(self, units: np.ndarray) -> "Corpus":
        """Return some of the units, in the order given."""
        start, stop = self.offsets[units], self.offsets[units + 1]
        tokens = joined_ranges(start, stop - start)
        allowed = None if self.allowed is None else self.allowed[tokens]
        soft = None if self.soft is None else self.soft.take(tokens)
        structure = self.structure.take(units)
        X = on_places(itemgetter(tokens), self.X) if sp.issparse(self.X) else self.X[tokens]
        return Corpus(X, self.y[tokens], structure, self.weight[units], allowed, soft)

    def astype(self, dtype: Any) -> "Corpus":
        """Return the same units with the values of X in another type."""
        if not sp.issparse(self.X):
            return self._replace(X=self.X.astype(dtype, copy=False))
        return self._replace(X=with_values(self.X, self.X.data.astype(dtype, copy=False)))

    def longest_first(self) -> "Corpus":
        """Order units by decreasing length, without units that are empty or of weight 0."""
        counts = (np.diff(self.offsets) > 0) & (self.weight != 0)
        order = longest_first(self.offsets)
        return self.take(order[counts[order]])

    def chunks(self, n_labels: int) -> list[list[Chunk]]:
        """Return all units, cut into chunks: a list of chunks for each block."""
        chunk_tokens = max(SMALLEST_CHUNK, CHUNK // n_labels)
        n_chunks = -(-int(self.offsets[-1]) // chunk_tokens)
        # With an even number of equal chunks, two threads have equal work.
        n_chunks += n_chunks % 2 if n_chunks > 1 else 0
        wanted = self.offsets[-1] * np.arange(1, n_chunks + 1) // n_chunks
        blocks: list[list[Chunk]] = []
        for chunk in self.cut(np.unique(np.searchsorted(self.offsets, wanted)).tolist()):
            most = max(chunk_tokens, BLOCK // n_labels)
            if blocks and chunk.stop - blocks[-1][0].start <= most:
                blocks[-1].append(chunk)
            else:
                blocks.append([chunk])
        return blocks

    def batches(self, size: int) -> list[Chunk]:
        """Return all units in batches of ``size``."""
        n_units = len(self.weight)
        return self.cut([*range(size, n_units, size), n_units])

    def cut(self, ends: Iterable[int]) -> list[Chunk]:
        """Return chunks that end before the units in ``ends``, each where the next one begins."""
        chunks, first = [], 0
        for last in ends:
            start, stop = int(self.offsets[first]), int(self.offsets[last])
            y: Any = self.y[start:stop] if self.soft is None else self.soft.take(slice(start, stop))
            if self.soft is None and (y < 0).any():
                y = self.allowed[start:stop]  # type: ignore[index]  # given if y has -1
            structure = self.structure.take(slice(first, last))
            none = TokenTransitions.none(structure.n_rows)
            chunks.append(Chunk(start, stop, structure, y, self.weight[first:last], none))
            first = last
        return chunks


def label_counts(corpus: Corpus, n_labels: int) -> np.ndarray:
    """Return how many tokens have each known label, of shape (n_labels,); expected of soft ones."""
    if corpus.soft is not None:
        return corpus.soft.tokens.sum(axis=0)
    return np.bincount(corpus.y[corpus.y >= 0], minlength=n_labels)


def transition_counts(corpus: Corpus, n_labels: int) -> np.ndarray:
    """Return how often known labels are linked, of shape (n_labels, n_labels); row = previous.

    Of soft labels it is the expected number.
    """
    if corpus.soft is not None:
        scores = Scores.of(np.zeros(corpus.soft.tokens.shape), np.zeros((n_labels, n_labels)))
        _, pullback = corpus.structure.gold_score(scores, corpus.soft)
        return pullback(np.ones(corpus.structure.n_units)).transition
    previous, current = (corpus.y[tokens] for tokens in corpus.structure.links())
    known = (previous >= 0) & (current >= 0)
    counts = np.zeros((n_labels, n_labels))
    np.add.at(counts, (previous[known], current[known]), 1.0)
    return counts


def check_magnitude(X: Any, offsets: np.ndarray) -> None:
    """Raise ValueError if training on these attributes could overflow.

    The derivatives by the weights are sums of attribute values over tokens. After a step along
    these derivatives, scores are sums of squares of attribute values, which must be finite.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_tokens, n_attributes), float32 or float64
    offsets : ndarray of shape (n_sequences + 1,)

    Raises
    ------
    ValueError
        The message names the sequence and the position of the largest value.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.linear.corpus import check_magnitude
    >>> check_magnitude(np.array([[1.0], [1e200]]), np.array([0, 2]))
    Traceback (most recent call last):
    ...
    ValueError: X, sequence 0, position 1: the scores would not be finite, with attribute values \
of up to 1e+200 in float64; scale them
    """
    values = X.data if sp.issparse(X) else X
    if values.size == 0:
        return
    largest = max(abs(float(values.max())), abs(float(values.min())))
    limit = np.sqrt(float(np.finfo(values.dtype).max)) / X.shape[0]
    if largest < limit:
        return
    at = int(np.argmax(np.abs(values)))
    token = np.searchsorted(X.indptr, at, side="right") - 1 if sp.issparse(X) else at // X.shape[1]
    sequence, position = locate(offsets, int(token))
    raise ValueError(
        f"X, sequence {sequence}, position {position}: the scores would not be finite, with "
        f"attribute values of up to {largest:.3g} in {values.dtype}; scale them"
    )


def check_possible(corpus: Corpus, constraints: Constraints | None) -> None:
    """Check that the labels of every sequence are possible.

    Raises
    ------
    ValueError
        If the labels of a sequence are not possible; the message says where.
    """
    if constraints is None:
        return
    wrong = constraints.violations(corpus.y, *corpus.structure.links())
    if len(wrong):
        sequence, position = locate(corpus.offsets, int(wrong[0]))
        raise ValueError(
            f"y, sequence {sequence}, position {position}: the constraints do not allow the label "
            "here"
        )
    if corpus.soft is not None:
        scores = Scores.of(np.zeros(corpus.soft.tokens.shape), *constraints.scores())
        value, _ = corpus.structure.gold_score(scores, corpus.soft)
        if np.isneginf(value).any():
            raise ValueError(
                f"y, sequence {np.argmin(value)}: labels have a positive probability that the "
                "constraints do not allow; pair_marginals can give pairs of labels none"
            )
    if corpus.allowed is not None:
        scores = Scores.of(np.zeros(corpus.allowed.shape), *constraints.scores())
        value, _ = corpus.structure.maximum(scores.allow(corpus.allowed))
        if np.isneginf(value).any():
            raise ValueError(
                f"y, sequence {np.argmin(value)}: the constraints allow no labelling that agrees "
                "with the labels that are known"
            )


def edge_columns(X: sp.csr_array | np.ndarray, columns: np.ndarray) -> sp.csr_array:
    """Return the attributes of all tokens on which transitions depend."""
    if len(columns) == 0:
        return sp.csr_array((X.shape[0], 0))
    return sp.csr_array(X[:, columns])


def without_columns(
    X: sp.csr_array | np.ndarray, columns: Sequence[int] | np.ndarray
) -> sp.csr_array | np.ndarray:
    """X with zeros in some of the columns."""
    if len(columns) == 0:
        return X
    kept = np.ones(X.shape[1], dtype=X.dtype)
    kept[columns] = 0
    if not sp.issparse(X):
        return X * kept
    X = sp.csr_array(X @ sp.diags_array(kept))
    X.eliminate_zeros()
    return X
