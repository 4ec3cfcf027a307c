"""Whether a model has the greatest likelihood of its training data, by the conditions of [EP]."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.batch_values import check_shared_scores, raise_if_impossible, raise_if_not_finite
from ...base.batches import batches_of
from ...base.classifier import BaseSequenceClassifier
from ...base.sample_weight import sequence_weights
from ...base.unwrap import unwrap
from ...data.ragged import token_name
from ...labels.encoding import LabelIds
from ...labels.partial import label_columns
from ...structures import Scores, Structure, TokenTransitions
from ...utils.memory import require_memory
from ...utils.replaced_parts import check_fitted
from .estimator import EmpiricalCRF


@dataclass(frozen=True, repr=False)
class Condition:
    """Distributions of labels that are found, compared with those that are wanted.

    Attributes
    ----------
    observations : list
        What the labels are given.
    weight : ndarray of shape (n_observations,)
        How often each of them occurs.
    found, wanted : ndarray of shape (n_observations, n_labels) or (n_observations, n_labels, \
n_labels)
        The probabilities of labels, or of pairs of labels, given each observation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.estimators.empirical.conditions import Condition
    >>> found, wanted = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.25, 0.75], [1.0, 0.0]])
    >>> condition = Condition(["walk", "the"], np.array([4.0, 6.0]), found, wanted)
    >>> condition
    <Condition of 2 observations: 0.25 from satisfied>
    >>> condition.distances, condition.mean_distance
    (array([0.25, 0.  ]), 0.1)
    """

    observations: list
    weight: np.ndarray
    found: np.ndarray
    wanted: np.ndarray

    def __repr__(self) -> str:
        n = len(self.observations)
        return f"<Condition of {n:,} observations: {self.gap:.3g} from satisfied>"

    @property
    def gap(self) -> float:
        """The largest difference of two probabilities; 0 if the condition is satisfied."""
        return float(np.abs(self.found - self.wanted).max(initial=0.0))

    @property
    def distances(self) -> np.ndarray:
        """The total variation distance for each observation, (n_observations,), from 0 to 1."""
        apart = np.abs(self.found - self.wanted)
        return 0.5 * apart.sum(axis=(*range(1, apart.ndim),))

    @property
    def mean_distance(self) -> float:
        """The mean of the distances, weighted by how often each observation occurs."""
        return float(self.distances @ self.weight / max(self.weight.sum(), np.finfo(float).tiny))


@dataclass(frozen=True)
class MLEConditions:
    """How far a model is from the greatest likelihood, from :func:`~sklearn_crcrf.mle_conditions`.

    Attributes
    ----------
    unary : Condition
        Equation 16: for each word, the mean of the marginal probabilities of its labels, and their
        frequencies.
    pairs : Condition
        Equation 17: the same for the label pairs of each pair of linked words; row = label of the
        first word.
    in_pairs : Condition
        The condition of theorem 1, which is of the data alone: the frequencies of the labels of a
        word in one pair of words, and all its own. An observation is a word and the pair.
    log_likelihood : float
        The logarithm of the probability of all labels.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF, mle_conditions
    >>> X, y = [["dogs", "walk"], ["the", "walk"]], [["N", "V"], ["D", "N"]]
    >>> conditions = mle_conditions(EmpiricalCRF.ecrn().fit(X, y), X, y)
    >>> conditions.in_pairs.observations[3], conditions.in_pairs.found[3]  # labels D, N, V
    (('walk', ('the', 'walk')), array([0., 1., 0.]))
    """

    unary: Condition
    pairs: Condition
    in_pairs: Condition
    log_likelihood: float

    @property
    def gap(self) -> float:
        """The larger ``gap`` of ``unary`` and ``pairs``, in [0, 1]; 0 at the maximum."""
        return max(self.unary.gap, self.pairs.gap)


def mle_conditions(
    crf: Any, X: Any, y: Any, sample_weight: Any = None, *, observation: str | None = None
) -> MLEConditions:
    r"""Compute how far a model is from the greatest likelihood of labelled sequences.

    Of all chains with a factor for each label and its word, and one for each pair of labels and
    their words, those have the greatest likelihood that satisfy ([1]_ eqs. 16 and 17)

    .. math::

       \hat p(y_j \mid x_j) = \tilde p(y_j \mid x_j), \qquad
       \hat p(y_i, y_{i+1} \mid x_i, x_{i+1}) = \tilde p(y_i, y_{i+1} \mid x_i, x_{i+1}):

    marginal probabilities of the model, as a mean over all places where the words occur, are the
    frequencies of the data. The closed form of :meth:`EmpiricalCRF.ecrn` satisfies them if the
    labels of a word are distributed next to each of its neighbours as on the whole ([1]_ theorem 1,
    whose proof assumes this):

    .. math::

       \sum_{y_{i+1}} \tilde p(y_i, y_{i+1} \mid x_i, x_{i+1}) = \tilde p(y_i \mid x_i), \qquad
       \sum_{y_i} \tilde p(y_i, y_{i+1} \mid x_i, x_{i+1}) = \tilde p(y_{i+1} \mid x_{i+1}).

    Parameters
    ----------
    crf : fitted sequence classifier, or a pipeline or search that ends in one
        With scores of labels, and of pairs of labels that are linked.
    X, y, sample_weight : as in :meth:`EmpiricalCRF.fit`
        The training data, in sequences, or in samples linked as the classifier takes them. All
        labels are known.
    observation : str, optional
        The key or column that holds the words; by default as in :class:`EmpiricalCRF`.

    Returns
    -------
    MLEConditions

    Raises
    ------
    ValueError
        If a label is unknown to the classifier, X has no words, a sequence is impossible for the
        model, or the model has other scores than of labels and of pairs of linked labels.

    References
    ----------
    .. [1] Zhu, Hiemstra, Apers, Wombacher, "Closed Form Maximum Likelihood Estimator of
       Conditional Random Fields", 2013, hdl:2066/227018.

    Examples
    --------
    Both labels of "b" are as frequent in "a b c", but not in all sentences, so theorem 1 does not
    apply, and the closed form is not the best:

    >>> from sklearn_crcrf import EmpiricalCRF, mle_conditions
    >>> X = [["a", "b", "c"]] * 2 + [["d", "b", "e"]] * 2
    >>> y = [[0, 0, 0], [0, 1, 1], [0, 1, 0], [0, 1, 0]]
    >>> conditions = mle_conditions(EmpiricalCRF.ecrn(zeros="exact").fit(X, y), X, y)
    >>> conditions.unary.observations[1], conditions.unary.found[1], conditions.unary.wanted[1]
    ('b', array([0.375, 0.625]), array([0.25, 0.75]))
    >>> round(conditions.gap, 3), round(conditions.in_pairs.gap, 3)
    (0.25, 0.25)
    >>> round(conditions.log_likelihood, 3)  # instead of 2 log(1/2)
    -1.674
    """
    classifier, inner = unwrap(crf, X)
    check_fitted(classifier)
    word, words, ids, weights = _read(classifier, X, y, sample_weight, observation)
    sequences = classifier._check_X(inner).X
    if sequences.offsets[-1] != len(word):
        raise ValueError("crf: the steps before the classifier do not keep the tokens of X")
    structure, n = classifier._structure(sequences), len(classifier.classes_)
    if structure.own_scores:
        name = type(classifier).__name__
        raise ValueError(f"crf: {name} has other scores than of labels and pairs of labels")
    links = np.stack(structure.links())
    keys, pair = np.unique(word[links], axis=1, return_inverse=True)
    what = f"the label pairs of {keys.shape[1]:,} pairs of words"
    require_memory(32.0 * keys.shape[1] * n**2, what, "take fewer sequences")
    of_pair = weights[links].min(axis=0)
    by_word, by_pair = np.zeros((2, len(words), n)), np.zeros((2, keys.shape[1], n, n))
    np.add.at(by_word[1], (word, ids), weights)
    np.add.at(by_pair[1], (pair, *ids[links]), of_pair)
    log_likelihood, prepared, first_link = 0.0, classifier._prepare(sequences), 0
    of_sequence = sequence_weights(weights, structure.offsets)
    for batch in batches_of(structure, n**2):
        scores = classifier._scores(prepared, batch)
        check_shared_scores(scores)
        log_z, state, transition = _marginals(batch.structure, scores, batch.first)
        tokens = slice(batch.start, batch.stop)
        np.add.at(by_word[0], word[tokens], weights[tokens, None] * state)
        its = slice(first_link, first_link + len(transition))
        np.add.at(by_pair[0], pair[its], of_pair[its, None, None] * transition)
        score = batch.structure.score(scores, ids[tokens])[0]
        units = slice(batch.first, batch.first + batch.structure.n_units)
        log_likelihood += float(of_sequence[units] @ (score - log_z))
        first_link = its.stop
    unary = _condition(words, *by_word)
    pairs = _condition([tuple(words[w] for w in key) for key in keys.T], *by_pair)
    return MLEConditions(unary, pairs, _in_pairs(unary, pairs), log_likelihood)


def _read(
    classifier: BaseSequenceClassifier, X: Any, y: Any, sample_weight: Any, observation: str | None
) -> tuple[np.ndarray, list[str], np.ndarray, np.ndarray]:
    """Number the words of X, and return them, the ids of labels, and the weights of tokens."""
    if observation is None:
        observation = getattr(classifier, "observation_", None)
    reader = EmpiricalCRF(observation=observation)._unfitted()
    sequences, weights = reader._check_training(X, y, sample_weight, reset=True)
    table = reader._read_first(sequences.X, weights, LabelIds()).table
    if not reader.tabulator_.has_words:
        raise ValueError("X has numbers only, but conditions are about words")
    ids = label_columns(sequences.y, classifier.classes_)
    if (ids < 0).any():
        token = int(np.argmax(ids < 0))
        where, label = token_name("y", sequences.X.offsets, token), sequences.y.data[token]
        raise ValueError(f"{where}: {label!r} is no label of the classifier")
    column = table.place(reader.tabulator_.words)
    codes, words = table.codes[:, column], table.categories[column].tolist()
    return np.where(codes < 0, len(words), codes), [*words, ""], ids, weights


def _marginals(
    structure: Structure, scores: Scores, first: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute log-partitions, marginals of tokens, and those of links, (n_links, n, n).

    Every link gets transition scores of its own, whose derivatives are its marginals.
    """
    n, rows = scores.state.shape[1], structure.rows_of_links()
    current, previous = (np.tile(ids, len(rows)) for ids in np.divmod(np.arange(n * n), n))
    value = scores.of_transitions(np.repeat(rows, n * n), previous, current)
    row = np.full(structure.n_rows, -1)
    row[rows] = np.arange(len(rows))
    indptr = np.arange(len(rows) + 1) * n * n
    own = TokenTransitions(
        row, indptr, previous.astype(np.int32), current.astype(np.int32), value.astype(float)
    )
    common = np.full((n, n), value.min(initial=0.0))
    scores = scores._replace(
        state=scores.state.astype(float), transition=common, token_transitions=own
    )
    log_z, pullback = structure.log_partition(scores)
    raise_if_not_finite(log_z, structure, scores, first)
    raise_if_impossible(log_z, first)
    gradient = pullback(np.ones(len(log_z)))
    return log_z, gradient.state, gradient.token_transitions.reshape(-1, n, n).mT


def _condition(observations: list, found: np.ndarray, wanted: np.ndarray) -> Condition:
    """Divide expected and observed counts by how often each observation occurs."""
    weight = wanted.sum(axis=(*range(1, wanted.ndim),))
    seen = np.flatnonzero(weight > 0)
    each = weight[seen].reshape(-1, *[1] * (wanted.ndim - 1))
    kept = [observations[k] for k in seen]
    return Condition(kept, weight[seen], found[seen] / each, wanted[seen] / each)


def _in_pairs(unary: Condition, pairs: Condition) -> Condition:
    """Compare the labels of a word in each pair of words with all its labels."""
    own = dict(zip(unary.observations, unary.wanted, strict=True))
    given = [(word, pair) for pair in pairs.observations for word in pair]
    n = unary.wanted.shape[1]
    found = np.stack([pairs.wanted.sum(axis=2), pairs.wanted.sum(axis=1)], axis=1).reshape(-1, n)
    wanted = np.array([own[word] for word, _ in given]).reshape(-1, n)
    return Condition(given, np.repeat(pairs.weight, 2), found, wanted)
