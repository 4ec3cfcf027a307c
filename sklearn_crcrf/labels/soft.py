"""Soft labels: probabilities of all labels of each token, in the place of its label."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.csr import sound_csr
from ..data.graphs import GraphArray
from ..data.layout import Layout, Sequences
from ..data.ragged import SequenceArray, join_rows, joined_ranges, token_name
from ..utils.memory import require_memory
from ..utils.names import check_no_string, shown
from ..utils.real_numbers import real_numbers
from .encoding import LabelIds, encode_labels

# How far sums of probabilities may be from what they should be: single precision rounds them.
TOLERANCE = 1e-5
# About the number of rows that are expanded together.
ROWS = 2**21
# Bytes that a row takes while it is counted.
BYTES_PER_ROW = 100.0
# Smaller products of probabilities have lost digits, and count as zero.
SMALLEST = float(np.finfo(float).tiny)

Expanded = tuple[slice, np.ndarray, list[np.ndarray], np.ndarray]
"""Some events, and of each row its event, its labels, and their probability."""


class GivenProbabilities(NamedTuple):
    """Probabilities of labels as ``fit`` takes them.

    Parameters
    ----------
    y : list of arrays of shape (n_tokens, n_labels), or SequenceArray
    labels : array-like of shape (n_labels,)
    pair_marginals : list of arrays of shape (n_tokens - 1, n_labels, n_labels), optional
    """

    y: Any
    labels: Any
    pair_marginals: Any = None

    def read(self, sequences: Sequences) -> "SoftLabels":
        """Check all numbers, and put the labels in order.

        Parameters
        ----------
        sequences : Sequences
            X and its layout.

        Returns
        -------
        SoftLabels

        Raises
        ------
        ValueError
            If they are no probabilities of the labels, for each token of X; the message says where.
        """
        classes, place = _ordered(self.labels)
        layout = sequences.mirror
        given = SoftLabels(classes, layout.offsets, _probabilities(self.y, len(classes), layout))
        if self.pair_marginals is not None:
            if layout.is_table or isinstance(sequences.X, GraphArray):
                raise ValueError("pair_marginals are for sequences, but X is a table or has graphs")
            pairs = _pair_probabilities(self.pair_marginals, len(classes), layout)
            given = given._replace(pairs=pairs)
            given.check_pairs()
        return given.renumbered(place, len(classes))


def soft_labels(y: Any, labels: Any, pair_marginals: Any = None) -> Any:
    """Return y as it is, or if its columns have labels, as GivenProbabilities.

    Parameters
    ----------
    y, labels, pair_marginals : as ``fit`` takes them

    Raises
    ------
    ValueError
        If there are labels or pair_marginals, but nothing that they could belong to.
    """
    if labels is None and pair_marginals is not None:
        raise ValueError("pair_marginals need labels, the label of each column of y")
    if labels is None:
        return y
    if y is None:
        raise ValueError("labels are given, but y is None: it must have a column for each label")
    return GivenProbabilities(y, labels, pair_marginals)


def declared_labels(y: Any, classes: Any = None) -> Any:
    """Return the classes, or if there are none, the labels of the columns of y, or None."""
    return y.labels if classes is None and isinstance(y, GivenProbabilities) else classes


class SoftLabels(NamedTuple):
    """Probabilities of the labels of all tokens.

    Without pairs, the labels of different tokens are independent. With pairs, the labels of a
    sequence are a Markov chain.

    Parameters
    ----------
    classes : ndarray of shape (n_labels,)
        The labels, in order.
    offsets : ndarray of shape (n_sequences + 1,)
        Where the sequences begin among all tokens.
    tokens : CSR of shape (n_tokens, n_labels)
        The probability of each label; rows sum to 1, entries are positive.
    pairs : CSR of shape (n_tokens, n_labels ** 2), optional
        Column ``i * n_labels + j`` is the probability that the label before the token is i, and its
        own label is j. The rows of first tokens are empty.

    Examples
    --------
    >>> from sklearn_crcrf import SequenceArray
    >>> from sklearn_crcrf.data.sequences import as_sequences
    >>> X = as_sequences([["the", "dog"]])
    >>> y = SequenceArray(np.array([[0.0, 1.0], [0.3, 0.7]]), [0, 2])
    >>> soft = soft_labels(y, ["V", "N"]).read(X)
    >>> soft.classes, soft.tokens.toarray()
    (array(['N', 'V'], dtype='<U1'), array([[1. , 0. ],
           [0.7, 0.3]]))
    >>> _, event, (previous, current), p = next(soft.expand([np.array([0]), np.array([1])]))
    >>> event, previous, current, p
    (array([0, 0]), array([0, 0], dtype=int32), array([0, 1], dtype=int32), array([0.7, 0.3]))
    """

    classes: np.ndarray
    offsets: np.ndarray
    tokens: sp.csr_array
    pairs: sp.csr_array | None = None

    @property
    def n_labels(self) -> int:
        """The number of columns."""
        return self.tokens.shape[1]

    def renumbered(self, ids: np.ndarray, n_labels: int) -> "SoftLabels":
        """Give other ids to the labels.

        Parameters
        ----------
        ids : ndarray of shape (n_labels,)
            The new id of each label.
        n_labels : int
            The number of all ids.

        Returns
        -------
        SoftLabels
            Its ``classes`` stay; they are no longer the labels of the columns.
        """
        ids = ids.astype(np.int64)
        tokens = _with_columns(self.tokens, ids[self.tokens.indices], n_labels)
        if self.pairs is None:
            return self._replace(tokens=tokens)
        first, second = np.divmod(self.pairs.indices, self.n_labels)
        columns = ids[first] * n_labels + ids[second]
        return self._replace(
            tokens=tokens, pairs=_with_columns(self.pairs, columns, n_labels * n_labels)
        )

    def among(self, classes: Any = None) -> tuple[np.ndarray, "SoftLabels"]:
        """Return all labels, and the same probabilities with a column for each.

        Parameters
        ----------
        classes : array-like of labels, optional
            All possible labels; by default these.
        """
        if classes is None:
            return self.classes, self
        labels = LabelIds(classes)
        ids = labels.learn(SequenceArray.from_sequences([self.classes]), "labels")
        classes, _ = labels.classes([])
        return classes, self.renumbered(ids, len(classes))._replace(classes=classes)

    def take(self, tokens: np.ndarray | slice) -> "SoftLabels":
        """Return the probabilities of some of the tokens, which are whole sequences."""
        pairs = None if self.pairs is None else self.pairs[tokens]
        return self._replace(tokens=self.tokens[tokens], pairs=pairs)

    def check_pairs(self) -> None:
        """Raise ValueError unless the sums of pairs are the probabilities of both labels."""
        n, (n_tokens, _) = self.n_labels, self.tokens.shape
        pairs = sp.coo_array(self.pairs)
        current, column = pairs.coords
        is_linked = np.diff(pairs.tocsr().indptr) > 0
        for shift, label, side in ((1, column // n, "after"), (0, column % n, "before")):
            entries = pairs.data, (current - shift, label)
            excess = sp.csr_array(sp.coo_array(entries, shape=(n_tokens, n))) - self.tokens
            token = np.repeat(np.arange(n_tokens), np.diff(excess.indptr))
            wrong = token[abs(excess.data) > TOLERANCE]
            wrong = wrong[
                is_linked[np.minimum(wrong + shift, n_tokens - 1)] & (wrong < n_tokens - shift)
            ]
            if len(wrong):
                raise ValueError(
                    f"{token_name('y', self.offsets, int(wrong[0]))}: the probabilities are not "
                    f"the sums of pair_marginals over the labels of the token {side} it"
                )

    def expand(self, tokens: Sequence[np.ndarray]) -> Iterator[Expanded]:
        """Make a row of each event and of labels that its tokens may have.

        If the labels are independent, the probability of a row is the product of the probabilities
        of its labels, else p(i of s) p(i of s, j of s + 1) / p(i of s) ... for the tokens s, s + 1,
        ...

        Parameters
        ----------
        tokens : sequence of ndarray of shape (n_events,)
            The tokens whose labels an event has, -1 outside of their sequence. If there are pairs,
            each is the token after the one before it.

        Yields
        ------
        events : slice
            Some of the events, so that few rows are in memory at a time.
        event : ndarray of shape (n_rows,), int64
            Which of these events a row is of.
        labels : list of ndarray of shape (n_rows,), int32
            The labels of the tokens, -1 outside of their sequence.
        probability : ndarray of shape (n_rows,)
            Positive. A product below 2e-308 is zero.
        """
        choices = _Choices.of(self)
        n_rows = np.ones(len(tokens[0]))
        for token in tokens:
            n_rows *= choices.sizes[token]
        ends = np.cumsum(n_rows)
        start = 0
        while start < len(n_rows):
            before = ends[start - 1] if start else 0.0
            stop = max(start + 1, int(np.searchsorted(ends, before + ROWS, side="right")))
            n = ends[stop - 1] - before
            require_memory(
                BYTES_PER_ROW * n,
                f"y: {n:,.0f} ways to label {len(tokens)} tokens",
                "set small probabilities to zero",
            )
            yield slice(start, stop), *choices.rows([token[start:stop] for token in tokens])
            start = stop


class _Choices(NamedTuple):
    """The labels that tokens may have, alone or after another label, in one array.

    Parameters
    ----------
    starts, sizes : ndarray of shape (n_tokens + 1,)
        Where the labels of each token are; the last entry is of the outside of a sequence.
    labels, probabilities : ndarray of shape (n_choices,)
    keys : ndarray of shape (n_pairs,), int64, or None
        (token * n_labels + label before) * n_labels + label of the last choices, in order.
    n_labels : int
    """

    starts: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    keys: np.ndarray | None
    n_labels: int

    @classmethod
    def of(cls, soft: SoftLabels) -> "_Choices":
        tokens, pairs, n = soft.tokens, soft.pairs, soft.n_labels
        sizes = np.append(np.diff(tokens.indptr), 1).astype(np.int64)
        labels, p = np.append(tokens.indices, -1), np.append(tokens.data, 1.0)
        keys = None
        if pairs is not None:
            token = np.repeat(np.arange(len(sizes) - 1), np.diff(pairs.indptr))
            keys = token * n * n + pairs.indices
            given = tokens[token - 1, pairs.indices // n]
            with np.errstate(divide="ignore"):
                p = np.append(p, pairs.data / np.asarray(given))
            labels = np.append(labels, pairs.indices % n)
        starts = np.cumsum(sizes) - sizes
        return cls(starts, sizes, labels.astype(np.int32), p, keys, n)

    def rows(self, tokens: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """Make all rows of some events; see :meth:`SoftLabels.expand`."""
        event = np.arange(len(tokens[0]))
        probability, labels = np.ones(len(event)), list[np.ndarray]()
        for of_events in tokens:
            token = of_events[event]
            starts, sizes = self.starts[token], self.sizes[token]
            if self.keys is not None and labels:
                follows = np.flatnonzero((token >= 0) & (labels[-1] >= 0))
                key = (token[follows] * self.n_labels + labels[-1][follows]) * self.n_labels
                first, last = np.searchsorted(self.keys, [key, key + self.n_labels])
                starts[follows] = len(self.labels) - len(self.keys) + first
                sizes[follows] = last - first
            which, choice = np.repeat(np.arange(len(event)), sizes), joined_ranges(starts, sizes)
            event = event[which]
            labels = [*(ids[which] for ids in labels), self.labels[choice]]
            probability = probability[which] * self.probabilities[choice]
        kept = probability >= SMALLEST
        if kept.all():
            return event, labels, probability
        return event[kept], [ids[kept] for ids in labels], probability[kept]


def _ordered(labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels in order, and the place of each given label among them."""
    check_no_string(labels, "labels")
    if not _is_collection(labels) or isinstance(labels, (Set, Mapping)):  # which have no order
        raise ValueError(f"labels must be a list of labels, but is of type {type(labels).__name__}")
    given = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    for column, label in enumerate(given):
        if label is None:
            raise ValueError(f"labels, position {column}: None is no label")
    classes, place = encode_labels(SequenceArray.from_sequences([given]), "labels")
    if len(classes) < len(given):
        twice = int(np.argmax(np.bincount(place) > 1))
        raise ValueError(f"labels: {classes.tolist()[twice]!r} is the label of several columns")
    return classes, place


def _probabilities(y: Any, n_labels: int, layout: Layout) -> sp.csr_array:
    """Return the probabilities of the labels of all tokens."""
    layout.check_index(y, "y")
    lengths, order = np.diff(layout.offsets), getattr(layout, "order", None)
    if not layout.is_table or isinstance(y, SequenceArray):
        return _distributions(y, "y", lengths, (n_labels,), layout.offsets)
    total, rows = np.array([lengths.sum()]), getattr(y, "values", y)  # of a data frame
    if order is None:
        return _distributions([rows], "y", total, (n_labels,), layout.offsets)
    return _distributions([rows], "y", total, (n_labels,), layout.offsets)[order]


def _pair_probabilities(pair_marginals: Any, n_labels: int, layout: Layout) -> sp.csr_array:
    """Return the probabilities of pairs, in the rows of their second tokens."""
    lengths = np.diff(layout.offsets)
    n_pairs = np.maximum(lengths - 1, 0)
    offsets = np.append(0, np.cumsum(n_pairs))
    shape = n_labels, n_labels
    pairs = _distributions(pair_marginals, "pair_marginals", n_pairs, shape, offsets)
    sizes = np.zeros(layout.offsets[-1], dtype=np.int64)
    is_second = np.ones(len(sizes), dtype=bool)
    is_second[layout.offsets[:-1][lengths > 0]] = False
    sizes[is_second] = np.diff(pairs.indptr)
    indptr = np.append(0, np.cumsum(sizes))
    return sp.csr_array((pairs.data, pairs.indices, indptr), shape=(len(sizes), n_labels**2))


def _distributions(
    values: Any, name: str, lengths: np.ndarray, shape: tuple[int, ...], offsets: np.ndarray
) -> sp.csr_array:
    """Check distributions, and put each into a sparse row.

    Parameters
    ----------
    values : list of arrays of shape (length, *shape), or SequenceArray
    name : str
    lengths : ndarray of shape (n_arrays,)
    shape : tuple of int
        The shape of one distribution.
    offsets : ndarray of shape (n_sequences + 1,)
        Where the distributions of each sequence begin among all.

    Returns
    -------
    CSR of shape (n_distributions, n_columns)
        The sums of rows are 1, up to rounding, and the entries are positive.
    """
    if isinstance(values, SequenceArray):
        if not np.array_equal(values.lengths, lengths):
            raise ValueError(
                f"{name} must have sequences of the lengths {shown(lengths.tolist())}, but they "
                f"are {shown(values.lengths.tolist())}"
            )
        values, lengths = [values.data], np.array([offsets[-1]])
    if sp.issparse(values) or not _is_collection(values):
        kind = type(values).__name__
        raise ValueError(f"{name} must be a list of arrays or a SequenceArray, but is a {kind}")
    arrays = list(values)
    if len(arrays) != len(lengths):
        raise ValueError(f"X has {len(lengths)} sequences, but {name} has {len(arrays)}")
    is_one = len(lengths) == 1
    rows = join_rows(
        [
            _rows(array, name if is_one else f"{name}, sequence {i}", n, shape)
            for i, (array, n) in enumerate(zip(arrays, lengths.tolist(), strict=True))
        ]
        or [np.zeros((0, int(np.prod(shape))))],
        axis=0,
    )
    rows = sp.csr_array(rows, dtype=float)
    token = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    improper = np.flatnonzero(~((rows.data >= 0) & (rows.data < np.inf)))
    if len(improper):
        where = token_name(name, offsets, int(token[improper[0]]))
        raise ValueError(
            f"{where}: a probability must not be negative, nor NaN, but is {rows.data[improper[0]]}"
        )
    sums = rows.sum(axis=1)
    wrong = np.flatnonzero(abs(sums - 1.0) > TOLERANCE)
    if len(wrong):
        where = token_name(name, offsets, int(wrong[0]))
        raise ValueError(f"{where}: the probabilities sum to {sums[wrong[0]]:.6g}, not to 1")
    rows.data = rows.data / sums[token]
    rows.data[rows.data < SMALLEST] = 0.0
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def _rows(array: Any, where: str, length: int, shape: tuple[int, ...]) -> Any:
    """Return the distributions of a sequence as rows of a matrix, dense or sparse."""
    n_columns = int(np.prod(shape))
    if sp.issparse(array):
        array, shape = sound_csr(array, where, (where + ", position {}").format), (n_columns,)
    else:
        array = real_numbers(array, f"{where}: it must hold probabilities, which are numbers")
    if length == 0 and array.size == 0:
        return np.zeros((0, n_columns))
    if array.shape != (length, *shape):
        raise ValueError(
            f"{where}: probabilities must have the shape {(length, *shape)}, with a column for "
            f"each label, but have {array.shape}"
        )
    return array if sp.issparse(array) else array.reshape(length, n_columns)


def _with_columns(rows: sp.csr_array, columns: np.ndarray, n_columns: int) -> sp.csr_array:
    """Move entries to other columns."""
    entries = rows.data.copy(), columns, rows.indptr  # which are sorted in place
    moved = sp.csr_array(entries, shape=(rows.shape[0], n_columns))
    moved.sort_indices()
    return moved


def _is_collection(values: Any) -> bool:
    """Say whether values can be listed; an array without dimensions cannot."""
    return hasattr(values, "__iter__") and getattr(values, "ndim", 1) > 0
