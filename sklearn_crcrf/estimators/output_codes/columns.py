"""The training objective of all columns of a code together."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._kernels.threads import my_threads
from ..._kernels.tree import binary_labels
from ...linear.corpus import Chunk, Corpus
from ...linear.designs import DenseDesign, sparse_design
from ...linear.message_order import MessageOrder
from ...structures import Structure

N_TRANSITIONS = 4  # from bit 0 to 0, from 0 to 1, from 1 to 0, from 1 to 1


class BitOrder(NamedTuple):
    """The order of the tokens of each unit, in which tokens come before their parents.

    The parent of a token in a sequence is the token before it.

    Parameters
    ----------
    offsets : ndarray of shape (n_units + 1,)
    order : ndarray of shape (n_tokens,)
        Positions within the units.
    parent : ndarray of shape (n_tokens,)
        The position of the parent within the unit, -1 for none.
    """

    offsets: np.ndarray
    order: np.ndarray
    parent: np.ndarray

    @classmethod
    def of(cls, structure: Structure) -> "BitOrder":
        """Return the order for a structure.

        Raises
        ------
        ValueError
            If its links make no forest.
        """
        found = MessageOrder.of(structure)
        if found is None:
            raise ValueError(f"output codes need sequences or trees, not {structure.title}")
        order = found.order
        if not found.upwards:
            lengths = np.diff(structure.offsets)
            order = np.repeat(lengths, lengths) - 1 - order
        return cls(structure.offsets, order, found.previous)


class Columns:
    """The penalised log losses of the binary CRFs of all columns, as a function of their weights.

    A column has a weight for each attribute, which is the score of bit 1 less the score of bit 0,
    and four transition scores. With a Gaussian prior of the same sigma for the scores of both bits,
    their difference has twice the variance.

    Parameters
    ----------
    corpus : Corpus
        With known labels.
    code : bool ndarray of shape (n_labels, n_columns)
    sigma : float
    n_threads : int

    Attributes
    ----------
    losses : ndarray of shape (width,)
        The losses of the last call, without the penalty.
    """

    def __init__(self, corpus: Corpus, code: np.ndarray, sigma: float, n_threads: int):
        self.n_columns, self._n_threads = code.shape[1], n_threads
        self._dtype = corpus.X.dtype
        self._code = _padded(code, self._dtype)
        width = self._code.shape[1]
        self._blocks = corpus.chunks(width)
        self._orders = {c.start: BitOrder.of(c.structure) for b in self._blocks for c in b}
        slices = [(block[0].start, block[-1].stop) for block in self._blocks]
        make = sparse_design if sp.issparse(corpus.X) else DenseDesign
        self._design: Any = make(corpus.X, width, slices)
        self._n_attributes = corpus.X.shape[1]
        self._gold = _gold_transitions(corpus, self._code)
        self._precision = np.full((self._n_attributes + N_TRANSITIONS, 1), sigma**-2, self._dtype)
        self._precision[: self._n_attributes] /= 2
        largest = max((stop - start for start, stop in slices), default=0)
        self._buffer = np.empty((largest, width), dtype=self._dtype)
        self.losses = np.zeros(width)

    def start(self) -> np.ndarray:
        """Weights of zero, of shape (n_attributes + 4, width); columns are padded."""
        width = self._code.shape[1]
        return np.zeros((self._n_attributes + N_TRANSITIONS, width), dtype=self._dtype)

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the objective of each column, and its gradient.

        Parameters
        ----------
        x : ndarray of shape (n_attributes + 4, width)

        Returns
        -------
        objective : ndarray of shape (width,)
        gradient : ndarray of the shape of x
        """
        transitions = x[self._n_attributes :]
        top = transitions.max(axis=0)
        gradient = self._precision * x
        penalty = np.einsum("ij,ij->j", gradient, x, dtype=float) / 2
        potentials = _potentials(transitions, self._dtype)
        loss, pairs_01, pairs_11, parents = self._add_gradient(
            x[: self._n_attributes], potentials, gradient
        )
        n_links = self._gold.sum(axis=0)
        pairs_10 = parents - pairs_11
        pairs_00 = n_links - parents - pairs_01
        expected = np.stack([pairs_00, pairs_01, pairs_10, pairs_11])
        gradient[self._n_attributes :] += expected - self._gold
        self.losses = loss + n_links * top - (self._gold * transitions).sum(axis=0)
        # Padding has no weights.
        gradient[:, self.n_columns :] = 0
        self.losses[self.n_columns :] = 0
        return self.losses + penalty, gradient

    def _add_gradient(
        self, weights: np.ndarray, potentials: np.ndarray, gradient: np.ndarray
    ) -> np.ndarray:
        """Add the gradient by the weights of attributes; return losses and counts."""
        total = np.zeros((4, self._code.shape[1]))
        derivatives = self._design.derivatives(gradient[: self._n_attributes])
        prepared = self._design.weights(np.ascontiguousarray(weights))
        with my_threads(self._n_threads) as threads:
            for number, block in enumerate(self._blocks):
                state = self._buffer[: block[-1].stop - block[0].start]
                own_sums = partial(self._sums, prepared, potentials, block[0].start)
                for sums in threads.map(own_sums, block):
                    total += sums

                def add_share(share: int, number: int = number, state: np.ndarray = state) -> None:
                    self._design.add_gradient(number, state, derivatives, share, self._n_threads)

                threads.map(add_share, range(self._n_threads))
        flat = self._design.flat(derivatives)
        gradient[: self._n_attributes] = flat.reshape(self._n_attributes, self._code.shape[1])
        return total

    def _sums(self, weights: Any, potentials: np.ndarray, origin: int, chunk: Chunk) -> np.ndarray:
        """Losses and counts of a chunk; its derivatives go into the buffer."""
        x = self._buffer[chunk.start - origin : chunk.stop - origin]
        x[:] = self._design.scores(weights, chunk.start, chunk.stop)
        sums = np.zeros((4, x.shape[1]))
        binary_labels.sum_bits(
            *self._orders[chunk.start],
            chunk.y,
            chunk.weight,
            self._code,
            potentials,
            x,
            sums[0],
            sums[1:],
        )
        return sums


def bit_probabilities(order: BitOrder, log_odds: np.ndarray, transitions: np.ndarray) -> np.ndarray:
    """Return the marginal probability of bit 1 of each token in each column.

    Parameters
    ----------
    order : BitOrder
    log_odds : ndarray of shape (n_tokens, n_columns)
    transitions : ndarray of shape (4, n_columns)

    Returns
    -------
    ndarray of shape (n_tokens, n_columns)
    """
    n_tokens, n_columns = log_odds.shape
    x = _padded(log_odds, log_odds.dtype)
    values = _potentials(_padded(transitions, transitions.dtype), x.dtype)
    code = np.zeros((1, x.shape[1]), dtype=x.dtype)
    y, weight = np.zeros(n_tokens, dtype=np.int32), np.ones(len(order.offsets) - 1)
    unused = np.empty((4, x.shape[1]))
    binary_labels.sum_bits(*order, y, weight, code, values, x, unused[0], unused[1:])
    return x[:, :n_columns]


def _potentials(transitions: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return exp(score - largest score of the column), but no product of them underflows.

    Transition scores are of shape (4, width).
    """
    values = np.exp(transitions.astype(float) - transitions.max(axis=0)).astype(dtype)
    return np.maximum(values, 1e-30, dtype=dtype)


def _padded(columns: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """With columns of zeros, so that their number is a multiple of the width of vectors."""
    n_rows, n_columns = columns.shape
    width = -(-n_columns // binary_labels.WIDTH) * binary_labels.WIDTH
    padded = np.zeros((n_rows, width), dtype=dtype)
    padded[:, :n_columns] = columns
    return padded


def _gold_transitions(corpus: Corpus, code: np.ndarray) -> np.ndarray:
    """Return how often pairs of bits are linked in the gold labels, of shape (4, width)."""
    previous, current = corpus.structure.links()
    unit = corpus.structure.units_of(current)
    n_labels = len(code)
    pair = corpus.y[previous] * np.int64(n_labels) + corpus.y[current]
    counts = np.bincount(pair, corpus.weight[unit], n_labels**2).reshape(n_labels, n_labels)
    return np.stack([(a * (counts @ b)).sum(axis=0) for a, b in linked_bits(code)])


def linked_bits(code: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return which labels have the first bit and the second bit of each of the four transitions."""
    ones = code.astype(float)
    zeros = 1.0 - ones
    return [(zeros, zeros), (zeros, ones), (ones, zeros), (ones, ones)]
