"""Unknown words, modelled by the eleven binary spelling features of the papers.

The *signature* of a word is the set of features that hold for it. There are few signatures, so
every estimate is a table over them. The classes differ in how they estimate P(y | f) and
P(y, y' | f, f').

References
----------
.. [1] Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence Labeling", ICMLA 2013,
   doi:10.1109/ICMLA.2013.23.
.. [2] Zhu et al., "Closed Form Maximum Likelihood Estimator of Conditional Random Fields",
   2013, hdl:2066/227018.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax

from ...counts import ColumnWindow, Template
from ...counts.lexicon import Lexicon
from ...counts.rows import FLOOR, Storable, sum_rows
from ...feature_extraction.spelling import SIMPLE_FEATURES, spelling_table
from ...utils.linear_algebra import in_one_thread
from ...utils.soundness import Array, Fact, Requirement, indices, sparse
from .model import Statistics


def _signatures() -> tuple[list[str], np.ndarray]:
    """List the symbols of all signatures, and which features hold (n_signatures, 11)."""
    endings = ["x"] + [f.removeprefix("simple:-") for f in SIMPLE_FEATURES[2:]]
    words = ["".join(parts) for parts in product(["x", "X"], ["", "-"], endings)]
    table = spelling_table(words, ["simple", *SIMPLE_FEATURES])
    _, first = np.unique(table.codes[:, 0], return_index=True)
    holds = np.stack([table.column(f)[first] == "True" for f in SIMPLE_FEATURES], axis=1)
    return table.column("simple")[first].tolist(), holds.astype(float)


SIGNATURES, HOLDS = _signatures()
N_SIGNATURES = len(SIGNATURES)
TINY = np.finfo(float).tiny


class SignatureSpelling(Storable):
    """Base of the spelling models whose estimates are tables over signatures.

    Parameters
    ----------
    statistics : Statistics
        Of words with the spelling features of this class.
    strength : float
        Each prior counts as much as this number of observations; 0 for plain frequencies.

    Attributes
    ----------
    names : list of str
        The name of the only slot.
    exponents : ndarray of shape (1,)
    probability : ndarray of shape (n_signatures, n_labels)
        P(y | f).
    coef : CSR of shape (n_signatures, n_labels)
        log P(y | f) minus a common floor, with no entry where P is zero.
    parts : CSR of shape (n_signatures, n_parts)
        What frequencies are given, each by itself: the signature, or the features that hold.
    """

    features = ("simple",)
    symbols = {"simple": SIGNATURES}
    names = ["signature"]
    exponents = np.ones(1)
    has_zeros = True
    parts: sp.csr_array
    # Subclasses implement these.
    _fit: Callable[[np.ndarray], np.ndarray]
    _fit_pairs: Callable[[sp.csr_array], None]
    _joint: Callable[[np.ndarray, np.ndarray], sp.csr_array]
    pair_requirements: Callable[[int], Iterator[Requirement]]

    def __init__(self, statistics: Statistics, strength: float):
        self.label_prior, self.strength = statistics.label_prior, strength
        spelling = statistics.encoder.lexicon.spelling[:, 0]
        by_signature = sum_rows(statistics.by_word, spelling, N_SIGNATURES)
        self.probability = self._fit(by_signature.toarray())
        self.coef = sp.csr_array(self.probability)
        self.coef.data = np.log(self.coef.data) - FLOOR

    def rows(self, spelling: np.ndarray) -> np.ndarray:
        """Rows of ``coef`` for words with these spelling ids, int32 of shape (n_words, 1)."""
        return np.ascontiguousarray(spelling)

    def attribute_keys(self) -> list[tuple[tuple[str, ...], np.ndarray]]:
        """For each slot: its features, and the symbol ids of its rows, (n_rows, n_features)."""
        return [(self.features, np.arange(N_SIGNATURES)[:, None])]

    def fit_pairs(self, lexicon: Lexicon, words: np.ndarray, counts: sp.csr_array) -> None:
        """Learn P(y, y' | f, f') of neighbouring words.

        Parameters
        ----------
        lexicon : Lexicon
        words : int ndarray of shape (n_pairs, 2)
        counts : CSR of shape (n_pairs, n_labels ** 2)
            How often each pair of words has each pair of labels.
        """
        before, after = lexicon.spelling[words, 0].T
        self._fit_pairs(sum_rows(counts, before * N_SIGNATURES + after, N_SIGNATURES**2))

    def pair_codes(self, window: ColumnWindow, pair: Template) -> np.ndarray:
        """Return the codes that :meth:`co_occurrence` takes, of pairs of words."""
        symbols = tuple((f"{word}:{self.features[0]}", offset) for word, offset in pair.symbols)
        before, after = window.of_links(pair._replace(symbols=symbols))
        return np.maximum(before, 0) * N_SIGNATURES + after

    def co_occurrence(self, codes: np.ndarray) -> sp.csr_array:
        """Co-occurrence rates of label pairs, given the spelling of neighbouring words.

        All three probabilities of a rate are conditioned on the same features ([1]_, III-D).

        Parameters
        ----------
        codes : int ndarray of shape (n_pairs,)

        Returns
        -------
        CSR of shape (n_pairs, n_labels ** 2)
            No entry where a pair of labels was never seen with such a pair of words.
        """
        before, after = np.divmod(codes, N_SIGNATURES)
        rates = self._joint(before, after)
        pair = np.repeat(np.arange(len(codes)), np.diff(rates.indptr))
        j, i = np.divmod(rates.indices, self.probability.shape[1])
        rates.data /= self.probability[before[pair], i] * self.probability[after[pair], j]
        return rates

    def requirements(self, lexicon: Lexicon, n_labels: int) -> Iterator[Requirement]:
        """Yield the requirements of estimates for single words."""
        has_same = lexicon.features == self.features
        yield Fact("features", has_same, "must be the features of the lexicon")
        known = len(lexicon.vocabulary(self.features[0]))
        yield Fact("features", known == N_SIGNATURES, f"must have {N_SIGNATURES} symbols")
        yield from sparse("coef", self.coef, (N_SIGNATURES, n_labels))
        yield Array("label_prior", self.label_prior, (n_labels,), 0.0, 1.0)
        yield Array("probability", self.probability, (N_SIGNATURES, n_labels), 0.0, 1.0 + 1e-6)


class JointSpelling(SignatureSpelling):
    """P(y | f) as the frequency of y among the words with this signature ([1]_, III-D)."""

    parts = sp.eye_array(N_SIGNATURES, format="csr")

    def _fit(self, counts: np.ndarray) -> np.ndarray:
        total = counts.sum(axis=1, keepdims=True)
        smoothed = counts + self.strength * self.label_prior
        estimate = smoothed / np.maximum(total + self.strength, TINY)
        return np.where(total > 0, estimate, self.label_prior)

    def _fit_pairs(self, counts: sp.csr_array) -> None:
        self._pairs = normalise(counts)

    def _joint(self, before: np.ndarray, after: np.ndarray) -> sp.csr_array:
        return self._pairs[before * N_SIGNATURES + after]

    def pair_requirements(self, n_labels: int) -> Iterator[Requirement]:
        shape = N_SIGNATURES**2, n_labels**2
        yield from sparse("_pairs", self._pairs, shape, 0.0, has_order=True)


class MeanSpelling(SignatureSpelling):
    """P(y | f) as the mean of the frequencies given each feature that holds.

    A word without any of the features has the label distribution of all words.
    """

    parts = sp.csr_array(HOLDS)

    def _fit(self, counts: np.ndarray) -> np.ndarray:
        by_feature = HOLDS.T @ counts + self.strength * self.label_prior
        seen = by_feature.sum(axis=1, keepdims=True) > 0
        by_feature /= np.maximum(by_feature.sum(axis=1, keepdims=True), TINY)
        weight = HOLDS * seen.T
        total = weight.sum(axis=1, keepdims=True)
        mean = weight @ by_feature / np.maximum(total, 1.0)
        return np.where(total > 0, mean, self.label_prior)

    def _fit_pairs(self, counts: sp.csr_array) -> None:
        self._pairs = normalise(sp.csr_array(np.kron(HOLDS, HOLDS).T) @ counts)

    def _joint(self, before: np.ndarray, after: np.ndarray) -> sp.csr_array:
        holds = HOLDS[before][:, :, None] * HOLDS[after][:, None, :]
        weight = holds.reshape(-1, HOLDS.shape[1] ** 2) * (np.diff(self._pairs.indptr) > 0)
        weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1.0)
        return sp.csr_array(weight) @ self._pairs

    def pair_requirements(self, n_labels: int) -> Iterator[Requirement]:
        yield from sparse("_pairs", self._pairs, (HOLDS.shape[1] ** 2, n_labels**2), 0.0)


class MaxEntSpelling(SignatureSpelling):
    """P(y | f) and P(y, y' | f, f') as exponential models with a Gaussian prior ([2]_, 3.7.2).

    The standard deviation of the prior is ``strength ** -0.5``.
    """

    def _fit(self, counts: np.ndarray) -> np.ndarray:
        weights = _fit_softmax(_with_bias(HOLDS), counts, self.strength)
        return np.exp(log_softmax(_with_bias(HOLDS) @ weights, axis=1))

    def _fit_pairs(self, counts: sp.csr_array) -> None:
        seen = np.flatnonzero(np.diff(counts.indptr))
        self._label_pairs = np.unique(counts.indices)
        if len(seen) == 0:
            return
        features = _pair_features(*np.divmod(seen, N_SIGNATURES))
        counts = counts[seen][:, self._label_pairs]
        self._weights = _fit_softmax(features, counts, self.strength)

    def _joint(self, before: np.ndarray, after: np.ndarray) -> sp.csr_array:
        n_pairs, shape = len(self._label_pairs), (len(before), self.probability.shape[1] ** 2)
        if n_pairs == 0:
            return sp.csr_array(shape)
        scores = _pair_features(before, after) @ self._weights
        probability = np.exp(log_softmax(scores, axis=1)).ravel()
        columns, indptr = np.tile(self._label_pairs, shape[0]), np.arange(shape[0] + 1) * n_pairs
        return sp.csr_array((probability, columns, indptr), shape=shape)

    def pair_requirements(self, n_labels: int) -> Iterator[Requirement]:
        pairs = self._label_pairs
        yield indices("_label_pairs", pairs, (len(pairs),), n_labels**2)
        yield Fact("_label_pairs", bool((np.diff(pairs) > 0).all()), "must rise")
        if len(pairs):
            yield Array("_weights", self._weights, (1 + 2 * HOLDS.shape[1], len(pairs)))


def _with_bias(features: np.ndarray) -> np.ndarray:
    return np.hstack([np.ones((len(features), 1)), features])


def _pair_features(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    return _with_bias(np.hstack([HOLDS[before], HOLDS[after]]))


def _fit_softmax(features: np.ndarray, counts, strength: float) -> np.ndarray:
    """Maximise sum_k counts[k] . log_softmax(features[k] @ W) minus the penalty, in W.

    The penalty is ||W||^2 strength / 2. Counts are of shape (n_rows, n_outcomes).
    """
    shape = features.shape[1], counts.shape[1]
    total = np.asarray(counts.sum(axis=1)).reshape(-1, 1)
    gold = features.T @ counts
    scale = 1.0 / max(total.sum(), 1.0)

    def loss(weights):
        weights = weights.reshape(shape)
        logs = log_softmax(features @ weights, axis=1)
        gradient = features.T @ (total * np.exp(logs)) - gold + strength * weights
        penalty = 0.5 * strength * (weights**2).sum()
        return scale * (penalty - counts.multiply(logs).sum()), scale * np.ravel(gradient)

    counts = sp.csr_array(counts)
    start, options = np.zeros(np.prod(shape)), {"maxiter": 200, "ftol": 1e-9}
    with in_one_thread():
        fitted = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    return fitted.x.reshape(shape)


def normalise(counts: sp.csr_array) -> sp.csr_array:
    """Divide every row by its sum."""
    total = np.repeat(np.asarray(counts.sum(axis=1)).ravel(), np.diff(counts.indptr))
    return sp.csr_array((counts.data / total, counts.indices, counts.indptr), shape=counts.shape)
