"""BoostedCRF: a chain whose scores are sums of regression trees."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from scipy.optimize import OptimizeResult
from sklearn.base import _fit_context
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from ...base.batches import Batch
from ...base.classifier import BaseSequenceClassifier
from ...base.docstrings import documented
from ...base.sample_weight import label_weights, sequence_weights
from ...data.numbers import as_numbers
from ...data.ragged import SequenceArray
from ...labels.constraints.constraints import as_constraints, forbidden_scores
from ...labels.partial import encode_partial_labels
from ...linear.corpus import Corpus, check_possible
from ...structures import Scores, Structure, structure_of
from ...training.loop import CallbackSupportMixin, FitProgress, hold_out_of, train
from ...utils.memory import require_memory
from ...utils.replaced_parts import check_parts
from ...utils.soundness import Array, Fact, Requirement, below, labels
from .booster import Booster, TrainingData, gold_counts, some_tokens, tree_scores
from .pairs import PairScores, occurring_pairs
from .trees import tree_requirements

VALIDATE = "with validation_fraction, training ends where more trees no longer help"
SEEDS = np.iinfo(np.int32).max
MOST = np.iinfo(np.int32).max  # what a tree can count

# About how many bytes each pair of labels takes at each token: its score, counts, and residual.
BYTES_PER_PAIR = 80.0
NO_PAIRS = np.empty((0, 2), dtype=np.int32)


class Round(NamedTuple):
    """The trees of one round, and the transitions after it."""

    tree: DecisionTreeRegressor | None
    pair_tree: DecisionTreeRegressor | None
    transition: np.ndarray


@documented
@dataclass(eq=False, repr=False)
class BoostedCRF(CallbackSupportMixin, BaseSequenceClassifier):
    r"""Linear-chain CRF of boosted regression trees [1]_.

    The score of a labelling is not linear in the attributes of tokens, but a sum of trees,

    .. math::

       s(x, y) = \sum_t F(x_t)_{y_t} + \sum_{t > 0} \mathrm{transitions}_{y_{t-1}, y_t}, \qquad
       F(x_t) = \mathrm{baseline} + \sum_m \mathrm{tree}_m(x_t),

    and its probability is :math:`\exp s(x, y)`, normalised over all labellings. Each round of
    training computes the marginals :math:`P_t(j)` once. A tree with an output for each label is
    fitted to the residuals :math:`[y_t = j] - P_t(j)`, the gradient of the log-likelihood in F; its
    leaves are Newton steps (n labels),

    .. math::

       \frac{n - 1}{n} \cdot \frac{\sum_t ([y_t = j] - P_t(j))}{\sum_t P_t(j) (1 - P_t(j)) +
       \mathrm{l2}},

    with l2 the ``l2_regularization``, and the transitions move towards values for which the
    expected count of each pair of labels equals its gold count. Both steps are multiplied by the
    learning rate. A step that raises the loss is halved. For sequences of one token this is
    gradient boosting [2]_ of a multinomial model.

    With ``pairs=True`` transitions depend on the token, too. After the first tree of each round,
    marginals are computed again, and a second tree, with an output for each pair of labels (i, j)
    that occurs, is fitted to the residuals :math:`[y_{t-1} = i, y_t = j] - P_t(i, j)` [1]_. Its
    prediction is added to the score of the transition from i to j at t. This takes several times as
    long, and pays where a token says whether the label changes, rather than what it is.

    Tokens are rows of numbers. Trees find thresholds and conjunctions of attributes by
    themselves; for sparse indicators of words, :class:`CRF` is faster and more accurate.

    Parameters
    ----------
    learning_rate : float, default=0.1
        In (0, 1].
    max_iter : int, default=100
        Maximum number of rounds; each adds one tree, or two if ``pairs`` is true.
    max_leaf_nodes : int or None, default=31
        Maximum number of leaves of a tree.
    max_depth : int or None, default=None
        Maximum depth of a tree.
    min_samples_leaf : int, default=5
        Minimum number of tokens in a leaf, or their minimum total weight if tokens have weights.
    max_features : None, int, float or {"sqrt", "log2"}, default=None
        Attributes considered at each split, as in ``DecisionTreeRegressor``; None is all.
    l2_regularization : float, default=1.0
        Added to the curvature in each leaf, and to the counts of labels and of pairs of labels;
        in (0, inf). It corresponds to ``1 / sigma ** 2`` of :class:`CRF`, with a Gaussian prior of
        the value of each leaf. The name is taken from scikit-learn's
        ``HistGradientBoostingClassifier``, as the prior holds for each tree, not for their sum.
    subsample : float, default=1.0
        Fraction of the sequences that each tree is fitted to, in (0, 1].
    pairs : bool, default=False
        Whether pairs of labels have trees, besides single labels.
    influence_trimming : float, default=0.1
        The splits of trees of pairs ignore the tokens that say least about them: those of the
        smallest :math:`\sum_{i,j} P_t(i, j) (1 - P_t(i, j))`, which together have at most this
        fraction of its sum over all tokens [2]_; in [0, 1). All tokens count for the values of
        leaves. It saves time where the model is sure of most tokens.
    {constraints}
    warm_start : bool, default=False
        Start from the trees and transitions of the last fit, and add at most ``max_iter`` rounds to
        them. The columns of X must be the same, and there may be no other labels. Pairs of labels
        that have had no trees get none.
    {class_weight}
    {validation_fraction}
    {n_iter_no_change}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that compute marginals, and that predict.
    random_state : int, RandomState or None, default=None
        Chooses the held-out sequences, subsamples, and attributes if not all are considered.
    {verbose}

    Attributes
    ----------
    {classes_}
    baseline_ : ndarray of shape (n_labels,)
        Logarithms of the frequencies of labels.
    estimators_ : list of DecisionTreeRegressor
        The trees; their predictions are added to the state scores.
    pair_estimators_ : list of DecisionTreeRegressor
        The trees of pairs; their predictions are added to the transition scores of ``pairs_``.
        Empty unless ``pairs`` is true.
    pairs_ : ndarray of shape (n_pairs, 2), int32
        The pairs that have trees, as numbers of ``classes_``: the label of the token before, and
        the label of the token.
    {transitions_}
    loss_curve_ : list of float
        Sum of the log losses of the training sequences, after each round.
    {validation_curve_}
    {n_iter_}
    {converged_}
    feature_importances_ : ndarray of shape (n_attributes,)
        Share of the reduction of the squared error of residuals that each attribute brings.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    CRF : Scores that are linear in the attributes.

    References
    ----------
    .. [1] Dietterich, Ashenfelter, Bulatov, "Training Conditional Random Fields via Gradient
       Tree Boosting", ICML 2004.
    .. [2] Friedman, "Greedy Function Approximation: a Gradient Boosting Machine", Annals of
       Statistics 29 (2001).

    Examples
    --------
    The label is whether two numbers have the same sign, which is not linear in them:

    >>> import numpy as np
    >>> from sklearn_crcrf import BoostedCRF
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.normal(size=(5, 2)) for _ in range(40)]
    >>> y = [np.where(x.prod(axis=1) > 0, "same", "other") for x in X]
    >>> crf = BoostedCRF().fit(X, y)
    >>> crf.predict([np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])])
    array([list(['same', 'other', 'same'])], dtype=object)

    The label stays as it is if the number is positive, and else changes:

    >>> X = [rng.normal(size=(10, 1)) for _ in range(40)]
    >>> y = [np.cumsum(x[:, 0] < 0) % 2 for x in X]
    >>> crf = BoostedCRF(pairs=True).fit(X, y)
    >>> crf.predict([np.array([[1.0], [1.0], [-1.0], [1.0], [-1.0]])])
    array([list([0, 0, 1, 1, 0])], dtype=object)
    """

    learning_rate: float = 0.1
    max_iter: int = 100
    _: KW_ONLY
    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: int = 5
    max_features: Any = None
    l2_regularization: float = 1.0
    subsample: float = 1.0
    pairs: bool = False
    influence_trimming: float = 0.1
    constraints: Any = None
    warm_start: bool = False
    class_weight: Any = None
    validation_fraction: float | None = None
    n_iter_no_change: int = 10
    sample_unit: str = "sequence"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_leaf_nodes": [Interval(Integral, 2, MOST, closed="both"), None],
        "max_depth": [Interval(Integral, 1, MOST, closed="both"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_features": [
            Interval(Integral, 1, MOST, closed="both"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "l2_regularization": [Interval(Real, 0, None, closed="neither")],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "pairs": ["boolean"],
        "influence_trimming": [Interval(Real, 0, 1, closed="left")],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = False
        tags.input_tags.dict = False
        return tags

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of the reduction of the squared error of residuals that each attribute brings.

        Returns
        -------
        ndarray of shape (n_attributes,)
            The mean over all trees.
        """
        trees = [*self.estimators_, *self.pair_estimators_]
        return np.mean([tree.feature_importances_ for tree in trees], axis=0)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "BoostedCRF":
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of sequences, SequenceArray, 2-D array, CSR or DataFrame
            Sequences of rows of numbers; the rows of a 2-D array are sequences of one token, and
            a DataFrame with the index (sequence, position) has a token in each row.
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels; None marks an unknown label, a set lists the possible ones: then
            the likelihood is the probability of all labellings that agree with y.
        {sample_weight}

        Returns
        -------
        BoostedCRF
            Itself. If training fails, it stays as it was; if it is interrupted, it
            has the trees of the completed rounds.

        Raises
        ------
        ValueError
            If tokens are not rows of numbers, or input is not valid.
        """
        progress = FitProgress(self, self.max_iter, X, y, sample_weight)
        goes_on = self.warm_start and hasattr(self, "estimators_")
        if goes_on:
            check_parts(self)
        since = self.__dict__ if goes_on else None
        with self._replaced_by(copy(self) if goes_on else self._unfitted(), since) as twin:
            twin._fit(X, y, sample_weight, goes_on, progress)
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, goes_on: bool, progress: FitProgress
    ) -> None:
        rng = check_random_state(self.random_state)
        corpus = self._read(X, y, sample_weight, goes_on)
        corpus, held_out = hold_out_of(corpus, self.validation_fraction, rng)
        data = self._training_data(corpus)
        validation = None if held_out is None else self._training_data(held_out)
        if not goes_on:
            counts = gold_counts(data)[0] + self.l2_regularization
            self.baseline_ = np.log(counts / counts.sum())
            self.estimators_: list[Any] = []
            self.pair_estimators_: list[Any] = []
            self.transitions_ = np.zeros(2 * self.baseline_.shape)
        if not self.pair_estimators_:
            # Trees that a warm start adds are of the same pairs.
            self.pairs_ = occurring_pairs(gold_counts(data)[1]) if self.pairs else NO_PAIRS
        n_tokens, n_pairs = corpus.X.shape[0], len(self.pairs_)
        require_memory(
            BYTES_PER_PAIR * n_tokens * n_pairs,
            f"the scores of {n_pairs} pairs of labels at {n_tokens:,} tokens",
            "set pairs=False",
        )
        self._boost(data, validation, rng, progress)

    def _training_data(self, corpus: Corpus) -> TrainingData:
        return TrainingData(corpus, self._forbidden(), effective_n_jobs(self.n_jobs))

    def _read(self, X: Any, y: Any, sample_weight: Any, goes_on: bool) -> Corpus:
        """Encode and check the training data."""
        sequences, weights = self._check_training(X, y, sample_weight, reset=not goes_on)
        rows, offsets = self._prepare(sequences.X), sequences.X.offsets
        known = self.classes_ if goes_on else None
        classes, ids, allowed = encode_partial_labels(sequences.y, known)
        self.classes_: np.ndarray = classes
        weights = weights * label_weights(self.class_weight, self.classes_, ids)
        self._constraints = as_constraints(self.constraints, self.classes_)
        structure = structure_of(sequences.X)
        corpus = Corpus(rows, ids, structure, sequence_weights(weights, offsets), allowed)
        check_possible(corpus, self._constraints)
        return corpus.longest_first()

    def _forbidden(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return forbidden_scores(self._constraints, len(self.classes_))

    def _tree_scores(self, rows: np.ndarray | sp.csr_array) -> tuple[np.ndarray, PairScores]:
        """Return the baseline and what the trees add to it, and what the trees of pairs add."""
        state = np.tile(self.baseline_, (rows.shape[0], 1))
        for tree in self.estimators_:
            state += tree_scores(tree, rows)
        pair_scores = PairScores.zeros(rows.shape[0], self.pairs_)
        for tree in self.pair_estimators_:
            pair_scores.values[:] += tree_scores(tree, rows)
        return state, pair_scores

    def _boost(
        self, data: TrainingData, validation: TrainingData | None, rng, progress: FitProgress
    ) -> None:
        """Set the trees and the transitions, round by round."""
        booster = Booster(
            data,
            self.transitions_,
            *self._tree_scores(data.corpus.X),
            rate=self.learning_rate,
            penalty=self.l2_regularization,
        )
        before, pairs_before = self.estimators_, self.pair_estimators_
        rounds, validate = [Round(None, None, booster.transition)], None
        if validation is not None:
            validate = _loss_of_last(validation, *self._tree_scores(validation.corpus.X), rounds)

        def new_tree(weight: float) -> DecisionTreeRegressor:
            return DecisionTreeRegressor(
                max_depth=self.max_depth,
                max_leaf_nodes=self.max_leaf_nodes,
                # The minimum is a total weight, not a number of tokens.
                min_weight_fraction_leaf=min(0.5, self.min_samples_leaf / weight),
                max_features=self.max_features,
                random_state=rng.randint(SEEDS),
            )

        def iterate(callback: Callable) -> OptimizeResult:
            for _ in range(self.max_iter):
                tokens = some_tokens(data.corpus.offsets, self.subsample, rng)
                tree, of_pairs = booster.add(new_tree, tokens), None
                if self.pairs:
                    of_pairs = booster.add_pairs(new_tree, tokens, self.influence_trimming)
                rounds.append(Round(tree, of_pairs, booster.transition))
                x = np.array([len(rounds) - 1])
                callback(OptimizeResult(fun=booster.residuals.loss, x=x))
            message = f"the loss may still fall after max_iter={self.max_iter} rounds; {VALIDATE}"
            return OptimizeResult(x=np.array([0]), success=False, message=message)

        def set_weights(fitted: BoostedCRF, x: np.ndarray) -> None:
            kept = rounds[1 : int(x[0]) + 1]
            fitted.estimators_ = before + [one.tree for one in kept]
            of_pairs = [one.pair_tree for one in kept if one.pair_tree is not None]
            fitted.pair_estimators_ = pairs_before + of_pairs
            fitted.transitions_ = rounds[int(x[0])].transition

        train(self, iterate, set_weights, progress=progress, validate=validate)

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        n = len(self.classes_)
        yield Array("baseline_", self.baseline_, (n,))
        yield Array("transitions_", self.transitions_, (n, n))
        if self._constraints is not None:
            yield from below("_constraints", self._constraints.requirements(n))
        for m, tree in enumerate(self.estimators_):
            yield from below(f"estimators_[{m}]", tree_requirements(tree, self.n_features_in_, n))
        n_pairs = len(self.pairs_)
        yield Array("pairs_", self.pairs_, (n_pairs, 2), 0, n - 1, "i")
        in_order = (np.diff(self.pairs_ @ np.array([1, n])) > 0).all()
        yield Fact("pairs_", bool(in_order), "must be in the order of current, then previous label")
        for m, tree in enumerate(self.pair_estimators_):
            outputs = tree_requirements(tree, self.n_features_in_, n_pairs)
            yield from below(f"pair_estimators_[{m}]", outputs)

    def _scores_per_token(self) -> int:
        return len(self.classes_) + len(self.pairs_)

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        if getattr(X, "edge_data", None) is not None:
            raise ValueError(
                "X has types or attributes of edges, but the transitions of a BoostedCRF depend on "
                "tokens at most; make X without edge_data"
            )

    def _prepare(self, X: SequenceArray) -> np.ndarray | sp.csr_array:
        """Return the attributes of all tokens, in single precision."""
        self._check_structure(structure_of(X), X)
        if isinstance(X.data, np.ndarray) and X.data.ndim == 2:  # also of numbers that are written
            return np.ascontiguousarray(as_numbers(X, np.float32))
        if X.kind == "attributes":
            rows = sp.csr_array(as_numbers(X, np.float32))
            rows.indices, rows.indptr = (
                part.astype(np.int32) for part in (rows.indices, rows.indptr)
            )
            return rows
        if X.data.shape[0] == 0:
            return np.empty((0, self.n_features_in_), dtype=np.float32)
        raise ValueError(
            "tokens must be rows of numbers; turn strings or feature dicts into rows with a "
            "vectorizer, such as sklearn_crcrf.SequenceVectorizer"
        )

    def _scores(self, prepared: np.ndarray | sp.csr_array, batch: Batch) -> Scores:
        state, pair_scores = self._tree_scores(prepared[batch.start : batch.stop])
        forbidden, *ends = self._forbidden()
        scores = Scores.of(state, self.transitions_ + forbidden, *ends)
        return pair_scores.add_to(scores, batch.structure)


def _loss_of_last(
    held_out: TrainingData, state: np.ndarray, pair_scores: PairScores, rounds: list[Round]
) -> Callable[[Any], float]:
    """Return a function that adds the last trees to held-out scores, and returns their loss."""

    def validate(x: Any) -> float:
        last = rounds[-1]
        for tree, scores in ((last.tree, state), (last.pair_tree, pair_scores.values)):
            if tree is not None:
                np.add(scores, tree_scores(tree, held_out.corpus.X), out=scores)
        return held_out.mean_loss(state, last.transition, pair_scores)

    return validate
