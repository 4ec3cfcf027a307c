"""HMM: a hidden Markov model whose hidden labels are known in training."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from ..base.batches import Batch
from ..base.contributions import (
    Contributions,
    entries_at,
    transition_contributions,
    transition_names,
)
from ..base.docstrings import documented
from ..base.weights import NamedWeights, Weights
from ..counts.classifier import CountingClassifier
from ..counts.counts import BOUNDARY, Counts, Template
from ..counts.links import EDGE_TYPE, TYPED_PAIRS
from ..counts.observations import ATTRIBUTES
from ..counts.prepared import Prepared, PreparedLinks, with_tables
from ..counts.renumbering import renumber
from ..counts.rows import Rows, StateWeights, label_counts, place_rows
from ..data.ragged import SequenceArray
from ..data.sums import state_scores
from ..structures import Scores
from ..utils.soundness import Array, Fact, Requirement, below

LABELS = Template((), (0,))
FROM_PREVIOUS = Template((), (-1, 0))
TO_NEXT = Template((), (0, 1))


# The distribution for all types of links counts as much as this number of links of a type.
STRENGTH = 10.0


@documented
@dataclass(eq=False, repr=False)
class HMM(CountingClassifier):
    r"""Hidden Markov model of labelled sequences or trees, trained by counting [1]_.

    It models labels and observations jointly,

    .. math::

       p(x, y) = p(y_1)\, p(\mathrm{end} \mid y_n) \prod_{t > 1} p(y_t \mid y_{t-1}) \prod_t
       \prod_c p(x_{tc} \mid y_t),

    where the symbols :math:`x_{tc}` of the columns c of a token are independent, given its label.
    Each distribution is a smoothed frequency: with k added to the count of each event,

    .. math::

       p(\mathrm{symbol} \mid \mathrm{label}) = \frac{c(\mathrm{symbol}, \mathrm{label}) +
       k}{c(\mathrm{label}) + k (n_{\mathrm{symbols}} + 1)},

    where the additional symbol stands for all unknown ones. A label is followed by one of the
    labels or by the end of the sequence. As counts add up, data may arrive in batches, by
    :meth:`partial_fit`, and be removed again, by :meth:`forget`.

    In the forests of a :class:`GraphArray` the label before a label is the label of the parent,
    :math:`y_1` are the labels of roots, and leaves are followed by the end. So p(x) compares
    observations of the same tree: it does not sum to 1 over trees, as numbers of children have no
    probability. If edges have types, :math:`p(y_t \mid y_{t-1})` is also given the type of the edge
    between them, and its prior is the distribution of all types.

    Token strings are one column; feature dicts and data frames have a column for each key or
    name, and a missing value is a symbol too. ``binning`` turns numeric columns into symbols:
    their distributions are histograms. An entry of a sparse X is how often a token has an
    attribute, and :math:`p(x_t \mid y_t)` is multinomial, as in scikit-learn's ``MultinomialNB``.

    Parameters
    ----------
    smoothing : float, default=0.1
        Added to the counts of symbols, or of attributes, with each label; in (0, inf). It is the
        ``alpha`` of scikit-learn's ``MultinomialNB``. Other estimators have a prior of width sigma
        in its place: it corresponds to a multiple of ``1 / sigma ** 2`` of :class:`EmpiricalCRF`.
    transition_smoothing : float, default=1.0
        Added to the counts of first labels, of transitions and of last labels; in [0, inf). With
        0, transitions that were never seen are impossible.
    {binning}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict.

    Attributes
    ----------
    {classes_}
    begin_, end_ : ndarray of shape (n_labels,)
        :math:`\log p(y_1)`, and :math:`\log p(\mathrm{end} \mid y_n)`.
    transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
        :math:`\log p(y_t \mid y_{t-1})`.
    edge_transitions_ : ndarray of shape (n_edge_types, n_labels, n_labels)
        The same, given each type of edges, in the order of first occurrence.
    coef_ : CSR of shape (n_attributes, n_labels)
        :math:`\log p(\mathrm{symbol} \mid \mathrm{label})`, minus the same for an unknown symbol.
    intercept_ : ndarray of shape (n_labels,)
        :math:`\log p(\mathrm{token} \mid \mathrm{label})` of a token whose symbols are all unknown.
    {attribute_names_}
    {counts_}
    {receipt_}
    {tabulator_}
    {encoder_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    EmpiricalCRF : Counted too, but of labels given the observations.

    References
    ----------
    .. [1] Rabiner, "A Tutorial on Hidden Markov Models and Selected Applications in Speech
       Recognition", Proceedings of the IEEE 77 (1989).

    Examples
    --------
    >>> from sklearn_crcrf import HMM
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> hmm = HMM().fit(X, y)
    >>> hmm.predict([["the", "cat", "runs"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    >>> hmm.score_samples([["the", "cat", "runs"], ["runs", "cat", "the"]]).round(1)
    array([-8.2, -9.8])
    """

    smoothing: float = 0.1
    transition_smoothing: float = 1.0
    _: KW_ONLY
    binning: Any = None
    sample_unit: str = "sequence"
    n_jobs: int | None = None

    _private_estimates = ("_counter", "_attribute_weight", "_weights")
    _parameter_constraints: ClassVar[dict] = {
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "transition_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def score_samples(self, X: Any) -> np.ndarray:
        r"""Return log-probabilities of observations, :math:`p(x) = \sum_y p(x, y)`.

        Parameters
        ----------
        X : as in :meth:`predict`

        Returns
        -------
        ndarray of shape (n_sequences,)
            -inf if no path is possible, 0 for an empty sequence.
        """
        results, _ = self._map(X, lambda chain, scores, first: chain.log_partition(scores)[0])
        return np.concatenate(results)

    @property
    def attribute_names_(self) -> np.ndarray:
        """The attribute of each row of ``coef_``, such as ``"token=dog"``."""
        names = [f"{c}={s}" for c in self._columns() for s in self.encoder_.symbols(c)]
        names += self.encoder_.attribute_names
        return np.array(names, dtype=object)

    def _columns(self) -> tuple[str, ...]:
        """List the columns that are counted."""
        names = self.encoder_.names
        return names if self.tabulator_.has_words else names[1:]

    def _templates(self) -> list[Template]:
        columns = [Template(((name, 0),)) for name in self._columns()]
        typed = [] if self.encoder_.edge_types is None else [TYPED_PAIRS]
        return [LABELS, FROM_PREVIOUS, TO_NEXT, *columns, *typed]

    def _estimate(self, counts: Counts) -> None:
        rank = self._set_classes(counts[LABELS].events[:, 0])
        ordered = renumber(counts, rank)
        self._estimate_labels(ordered)
        self._estimate_symbols(ordered)
        self.counts_ = counts

    def _estimate_labels(self, counts: Counts) -> None:
        """Set the log-probabilities of labels, given the previous label."""
        n = len(self.classes_)
        # Label -1, the boundary, indexes the last row and column.
        into, out = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
        for table, pairs in ((counts[FROM_PREVIOUS], into), (counts[TO_NEXT], out)):
            pairs[tuple(table.events.T)] = table.weights
        self.begin_ = _log_probability(into[BOUNDARY, :n], self.transition_smoothing)
        following = _log_probability(out[:n], self.transition_smoothing)
        self.transitions_, self.end_ = following[:, :n].copy(), following[:, n].copy()
        types = self.encoder_.edge_types
        pairs = np.zeros((0 if types is None else len(types), n, n))
        if types is not None:
            events, weights = counts[TYPED_PAIRS]
            linked = (events >= 0).all(axis=1)
            pairs[tuple(events[linked].T)] = weights[linked]
        self.edge_transitions_ = given_types(pairs, self.transitions_)

    def _estimate_symbols(self, counts: Counts) -> None:
        """Set the log-probabilities of symbols, or of attributes, given labels."""
        n, k = len(self.classes_), self.smoothing
        labels, weights = counts[LABELS]
        n_tokens = np.bincount(labels[:, 0], weights, n)
        self.intercept_, blocks = np.zeros(n), []
        for column in self._columns():
            index, by_label = label_counts(counts[Template(((column, 0),))], n)
            self.intercept_ += np.log(k / (n_tokens + k * (len(index) + 1)))
            n_known = len(self.encoder_.vocabulary(column))
            blocks.append(place_rows(_association(by_label, k), index, n_known))
        self._attribute_weight: np.ndarray | None = None
        if ATTRIBUTES in counts:
            index, by_label = label_counts(counts[ATTRIBUTES], n)
            n_attributes, n_columns = self.encoder_.n_weighted, self.encoder_.n_attributes
            total = np.bincount(by_label.indices, by_label.data, n)
            self._attribute_weight = np.log(k / (total + k * (n_columns or len(index) + 1)))
            blocks.append(place_rows(_association(by_label, k), index, n_attributes))
        n_entries = sum(len(block.data) for block in blocks)
        self._weights = StateWeights(blocks, np.ones((1, len(self._columns()))), n_entries)

    @property
    def coef_(self) -> sp.csr_array:
        """Weights of symbols, CSR of shape (n_attributes, n_labels)."""
        return self._weights.coef

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        n = len(self.classes_)
        for name, shape in (("begin_", (n,)), ("end_", (n,)), ("transitions_", (n, n))):
            yield Array(name, getattr(self, name), shape, -np.inf, 0.0)
        yield Array("intercept_", self.intercept_, (n,))
        n_types = len(self.encoder_.edge_types or ())
        yield Array("edge_transitions_", self.edge_transitions_, (n_types, n, n), -np.inf, 0.0)
        columns = self._columns()
        sizes = [len(self.encoder_.vocabulary(column)) for column in columns]
        if self._attribute_weight is not None:
            yield Array("_attribute_weight", self._attribute_weight, (n,))
            sizes.append(self.encoder_.n_weighted)
        are_weights = isinstance(self._weights, StateWeights)
        yield Fact("_weights", are_weights, "must be StateWeights")
        yield from below("_weights", self._weights.requirements(sizes, (1, len(columns)), n))

    def _named_weights(self) -> NamedWeights:
        """Name the weights of symbols and attributes, each with its share of the intercept."""
        blocks = [self._weights.coef[a:b] for a, b in pairwise([*self._weights.starts, None])]
        intercepts = [_log_unseen(block) for block in blocks]
        if self._attribute_weight is not None:
            intercepts[-1] = self._attribute_weight
        coef = [b.toarray() + i for b, i in zip(blocks, intercepts, strict=True)]
        n, no_edges = len(self.classes_), np.empty(0, dtype=object)
        weights = Weights(
            np.concatenate(coef), self.transitions_, self.begin_, self.end_, np.empty((0, n, n))
        )
        return NamedWeights(self.attribute_names_, no_edges, self.classes_, weights)

    def _prepare(self, X: SequenceArray) -> Prepared:
        observations, starts = self._encode(X), self._weights.starts
        rows = np.full((len(observations.word), len(self._columns())), -1, dtype=np.int32)
        for slot, (column, start) in enumerate(zip(self._columns(), starts, strict=False)):
            ids = observations.columns[column]
            rows[:, slot] = np.where(ids < 0, -1, ids + start)
        attributes = observations.attributes
        if self.encoder_.bag is not None and self._attribute_weight is not None:
            is_counted = np.diff(self.coef_.indptr)[starts[-1] :] > 0
            attributes = attributes.copy()  # of which some may be forgotten
            attributes.data *= is_counted[attributes.indices]
        links = PreparedLinks.of(observations.structure, [], observations.edge_types)
        return Prepared(rows, np.zeros(len(rows), dtype=np.int8), links, attributes)

    def _scores(self, prepared: Prepared, batch: Batch) -> Scores:
        part = prepared.take(batch)
        state = self._weights.scores(part.rows, part.kind) + self.intercept_
        if self._attribute_weight is not None:
            start = self._weights.starts[-1]
            coef = self.coef_[start:] if start else self.coef_
            state += state_scores(part.attributes, coef, 0, len(state))
            state += np.outer(part.attributes.sum(axis=1), self._attribute_weight)
        scores = Scores.of(state, self.transitions_, self.begin_, self.end_)
        tables, links = self.edge_transitions_, part.links
        if len(tables) == 0:
            return scores
        table = np.where(links.types < 0, len(tables), links.types)  # the last one is of all types
        tables = np.concatenate([tables, self.transitions_[None]])
        return with_tables(scores, np.where(links.is_link, table, -1), tables)

    def _contributions(self, prepared: Prepared, batch: Batch, y: np.ndarray) -> Contributions:
        part, names = prepared.take(batch), self.attribute_names_
        token, slot = np.nonzero(part.rows >= 0)
        row = part.rows[token, slot]
        weight = entries_at(self.coef_, row, y[token])
        structure, tokens = batch.structure, np.arange(len(y))
        (previous, current), of_links = structure.links(), structure.rows_of_links()
        named = transition_names(y[previous], y[current], self.classes_)
        if self.encoder_.edge_types is not None:
            kinds = [*(f" | edge={name}" for name in self.encoder_.symbols(EDGE_TYPE)), ""]
            named = [
                f"{k}{kinds[i]}" for k, i in zip(named, part.links.types[of_links], strict=True)
            ]
        scores = self._scores(prepared, batch)
        weights = scores.of_transitions(of_links, y[previous], y[current])
        none = np.zeros_like(self.transitions_)
        entries = [
            Contributions.of("attribute", token, names[row], weight),
            Contributions.of("attribute", tokens, ["any symbol"] * len(y), self.intercept_[y]),
            Contributions.of("transition", current, named, weights),
            transition_contributions(none, self.begin_, self.end_, y, self.classes_, structure),
        ]
        if self._attribute_weight is not None:
            given = sp.coo_array(part.attributes)
            token, attribute = given.coords[0], given.coords[1] + self._weights.starts[-1]
            weight = entries_at(self.coef_, attribute, y[token]) + self._attribute_weight[y[token]]
            named = names[attribute]
            entries.append(Contributions.of("attribute", token, named, weight, given.data))
        return Contributions.join(entries)


def _log_probability(counts: np.ndarray, smoothing: float) -> np.ndarray:
    """Logarithms of smoothed frequencies along the last axis; -inf where nothing was counted."""
    counts = counts + smoothing
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.log(counts / np.where(total > 0, total, 1.0))


def _log_unseen(weights: sp.csr_array) -> np.ndarray:
    """Return log p(unknown symbol | label), given the weights of the known symbols."""
    n_seen = np.count_nonzero(np.diff(weights.indptr))
    ratio = np.bincount(weights.indices, np.expm1(weights.data), weights.shape[1])
    return -np.log1p(n_seen + ratio)


def _association(counts: Rows, smoothing: float) -> Rows:
    """Return log((c + k) / k) for every count c."""
    return counts._replace(data=np.log1p(counts.data / smoothing))


def given_types(pairs: np.ndarray, transitions: np.ndarray) -> np.ndarray:
    """log p(y_t | y_{t-1}, type).

    The labels after label i by links of a type have the distribution
    (c(i, j) + k q(j | i)) / (c(i) + k), where q is their distribution for all types, times the
    probability for all types that label i is followed by a label, and not by the end.

    Parameters
    ----------
    pairs : ndarray of shape (n_types, n_labels, n_labels)
        How often two labels are linked by each type, row = previous label.
    transitions : ndarray of shape (n_labels, n_labels)
        log p(y_t | y_{t-1}).

    Returns
    -------
    ndarray of shape (n_types, n_labels, n_labels)

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([[[0.0, 10.0], [0.0, 0.0]]])
    >>> np.exp(given_types(pairs, np.log([[0.5, 0.5], [0.2, 0.2]])))
    array([[[0.25, 0.75],
            [0.2 , 0.2 ]]])
    """
    following = np.exp(transitions)
    has_next = following.sum(axis=1, keepdims=True)
    prior = following / np.where(has_next > 0, has_next, 1.0)
    total = pairs.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.log(has_next * (pairs + STRENGTH * prior) / (total + STRENGTH))
