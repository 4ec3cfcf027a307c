"""StructuredPerceptron: a linear chain with error-driven online training."""

from collections.abc import Callable, Iterator
from copy import copy
from numbers import Integral
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ...base.docstrings import documented
from ...data.layout import Layout
from ...labels.constraints.constraints import forbidden_scores
from ...labels.partial import encode_allowed
from ...linear import Corpus, Examples, Weights, find
from ...linear.classifier import LinearChainClassifier
from ...linear.folder_shards import FolderShards
from ...out_of_core import CorpusFolder
from ...structures import Scores, Structure
from ...training.loop import CallbackSupportMixin, FitProgress, train
from ...training.validation import hold_out
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Array, Fact, Requirement, below, matrix
from .learning import LEARNERS, LastWeights, Learned
from .out_of_core import FolderExamples, check_out_of_core
from .resuming import Known
from .voting import WeightHistory, count_votes

__all__ = ["StructuredPerceptron"]


# The parameters that all online trainers have.
ONLINE_CONSTRAINTS: dict = {
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}


@documented
class StructuredPerceptron(CallbackSupportMixin, LinearChainClassifier):
    r"""Structured perceptron, a linear chain with error-driven online training [1]_.

    The score of a labelling is linear in the weights, as in a :class:`CRF`. The sequences are
    labelled one after another by the best path under the current weights,

    .. math::

       y' = \arg\max_y s(x, y),

    and if it is not the gold path y, the weights of the features of y are raised by 1 and the
    weights of the features of y' lowered by 1. This is a subgradient step on
    ``score(y') - score(y)``, without a penalty. Nothing is normalised, so an epoch costs little
    more than labelling all sequences. The mean of the weights over all steps labels new data
    better than the last weights, which depend on the last errors. Of paths with equal scores, the
    one with the lowest labels at its end is taken.

    Scores are not trained to be log-probabilities: :meth:`predict_proba` and similar methods
    normalise them nevertheless, and are strongly overconfident. For probabilities train a
    :class:`CRF`.

    Parameters
    ----------
    averaging : {"mean", "none", "vote"}, default="mean"
        How the weights after all steps are combined: their mean, the last of them, or, for
        :meth:`predict` and :meth:`predict_proba`, a vote of all of them on the label of each
        token [2]_; all other methods then use the mean. A vote takes one prediction per
        correction in training, often 10,000, and all corrections are stored; it is hardly better
        than the mean.
    max_iter : int, default=10
        Maximum number of epochs. Training ends earlier after an epoch without errors.
    {min_freq}
    {boundaries}
    {edge_columns}
    {constraints}
    {warm_start}
    {class_weight}
    {validation_fraction}
    n_iter_no_change : int, default=5
        Number of epochs in which the number of wrong held-out labels must fall.
    {dtype}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict; votes use one.
    random_state : int, RandomState or None, default=None
        Chooses the order of the sequences in each epoch, and the held-out sequences.
    {verbose}

    Attributes
    ----------
    {classes_}
    {coef_}
    {transitions_}
    {begin_, end_}
    {edge_coef_}
    {edge_attribute_names_}
    {attribute_names_}
    {state_features_}
    {transition_features_}
    loss_curve_ : list of float
        Fraction of tokens labelled wrongly in each epoch, each before its correction.
    validation_curve_ : list of float
        Fraction of held-out tokens labelled wrongly after each epoch.
    {n_iter_}
    {converged_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    CRF : ``CRF(MaxMargin(cost=0.0))`` minimises the same loss with a penalty.
    MaxMarginCRF : Gold paths that are best by a margin.

    References
    ----------
    .. [1] Collins, "Discriminative Training Methods for Hidden Markov Models: Theory and
       Experiments with Perceptron Algorithms", EMNLP 2002.
    .. [2] Freund, Schapire, "Large Margin Classification Using the Perceptron Algorithm",
       Machine Learning 37 (1999).

    Examples
    --------
    >>> from sklearn_crcrf import StructuredPerceptron
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> perceptron = StructuredPerceptron(random_state=0).fit(X, y)
    >>> perceptron.predict([["the", "cat", "walks"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    """

    _parameter_constraints: dict = {
        "averaging": [StrOptions(set(LEARNERS))],
        **ONLINE_CONSTRAINTS,
    }

    def __init__(
        self,
        averaging="mean",
        max_iter=10,
        *,
        min_freq=1,
        boundaries=False,
        edge_columns=(),
        constraints=None,
        warm_start=False,
        class_weight=None,
        validation_fraction=None,
        n_iter_no_change=5,
        dtype=None,
        sample_unit="sequence",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.averaging = averaging
        self.max_iter = max_iter
        self.min_freq = min_freq
        self.boundaries = boundaries
        self.edge_columns = edge_columns
        self.constraints = constraints
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.dtype = dtype
        self.sample_unit = sample_unit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Without boundaries there is no intercept, and rows of zeros carry no information.
        tags.classifier_tags.poor_score = not self.boundaries
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "StructuredPerceptron":
        """Train on labelled sequences.

        Parameters
        ----------
        {X} Or a :class:`~sklearn_crcrf.out_of_core.CorpusFolder`, which has the labels too:
            its parts are in memory one after another.
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels; partial labels are not accepted.
        sample_weight : array-like of shape (n_samples,), nested list or SequenceArray, optional
            One weight for each sequence, or for each row of a table, or for each token; the
            weight of a sequence is then the mean over its tokens. It multiplies corrections. In
            the mean of the weights, all sequences with nonzero weight count alike.

        Returns
        -------
        StructuredPerceptron
            The estimator itself. If training fails, it stays as it was; if it is interrupted, it
            has the weights of the last complete epoch.

        Raises
        ------
        ValueError
            If a label is unknown, there is no token, or input is not valid; the message says
            where.
        """
        progress = FitProgress(self, self.max_iter, X, y, sample_weight)
        known = self._known() if self.warm_start and hasattr(self, "coef_") else None
        with self._replaced_by(self._unfitted()) as twin:
            if isinstance(X, CorpusFolder):
                check_out_of_core(self, y, sample_weight)
                twin._fit_folder(X, known, progress)
            else:
                twin._fit(X, y, sample_weight, known, progress=progress)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "StructuredPerceptron":
        """Train for one epoch on more data, starting from the current weights.

        Parameters
        ----------
        X, y, sample_weight : as in :meth:`fit`
        {classes}

        Returns
        -------
        StructuredPerceptron

        Raises
        ------
        ValueError
            As in :meth:`fit`.
        """
        since = self.__dict__
        self._validate_params()  # which scikit-learn leaves out after the first call
        known = self._known() if hasattr(self, "coef_") else None
        with self._replaced_by(self._unfitted() if known is None else copy(self), since) as twin:
            twin.set_params(max_iter=1, validation_fraction=None)
            twin._fit(X, y, sample_weight, known, classes, is_part=True)
        return self

    def _known(self) -> Known:
        """What was learned, with the names of attributes and labels."""
        return Known(self._named_weights(), self._last, self._n_seen, self._history)

    def _fit(
        self, X, y, sample_weight, known, classes=None, *, is_part=False, progress=None
    ) -> None:
        extends = is_part and known is not None
        kept = None if known is None or extends else known.named.classes
        corpus = self._read(X, y, sample_weight, classes, extends, kept)
        examples = self._examples(corpus)
        nothing = examples.zeros()
        start = Learned(nothing, nothing, 0)
        if known is not None:
            names = self.attribute_names_, self._encoder.edge_attributes, self.classes_
            if is_part:
                start = known.learned(*names, self.boundaries)
            else:
                start = known.start(*names, self.boundaries, nothing.state.dtype)
        rng = check_random_state(self.random_state)
        order, held_out = self._hold_out(examples, rng)

        def learn(learner: LastWeights) -> float:
            found = learner.learn(examples, rng.permutation(order))
            return _error(examples, found, order)

        validate = None if held_out is None else self._validation(corpus.take(held_out))
        self._train(learn, start, validate, progress, is_part)

    def _fit_folder(self, folder: CorpusFolder, known: Known | None, progress: FitProgress) -> None:
        """Train out of core."""
        rng = check_random_state(self.random_state)
        options = {name: getattr(self, name) for name in ("min_freq", "boundaries", "constraints")}
        options["kept_labels"] = () if known is None else known.named.classes.tolist()
        with FolderShards(folder, self, **options) as shards:
            shards.shape.set_fitted(self)
            examples = FolderExamples(shards, self.boundaries)
            nothing = examples.zeros()
            start = Learned(nothing, nothing, 0)
            if known is not None:
                names = self.attribute_names_, self._encoder.edge_attributes, self.classes_
                start = known.start(*names, self.boundaries, nothing.state.dtype)
            self._train(lambda learner: examples.learn(learner, rng), start, None, progress)

    def predict(self, X: Any, allowed: Any = None, subject_to: Any = None) -> Any:
        """The labels of the best path of each sequence, or the labels with the most votes.

        Parameters
        ----------
        X : list of sequences, SequenceArray, 2-D array, CSR or DataFrame
        {allowed}
        {subject_to}

        Returns
        -------
        labels
            In the layout of X: an object array of lists for lists, a SequenceArray for a
            SequenceArray, else a 1-D array. Of labels with equally many votes the first is taken;
            the labels of a vote need not be a path that ``constraints`` allow.

        Raises
        ------
        ValueError
            If ``allowed`` or ``subject_to`` does not fit X, or no path that they allow is possible.
        """
        check_fitted(self)
        if self._history is None:
            return super().predict(X, allowed, subject_to)
        super().predict(X, allowed)  # raises an error if no path is possible
        votes, mirror = self._votes(self._history, X, allowed)
        y = votes.argmax(axis=1)
        if subject_to is None:
            return mirror(self.classes_[y])

        def most_votes(structure: Structure, scores: Scores, first: int) -> np.ndarray:
            return y[mirror.offsets[first] : mirror.offsets[first + structure.n_units]]

        results, _ = self._map(X, most_votes, allowed, subject_to=subject_to)
        return mirror(self.classes_[np.concatenate(results)])

    def _marginals(self, X: Any) -> tuple[np.ndarray, Callable]:
        """Marginals, or with ``averaging="vote"`` the fractions of votes."""
        marginals = super()._marginals(X)
        if self._history is None:
            return marginals
        votes, mirror = self._votes(self._history, X)
        return votes / self._n_seen, mirror

    def _votes(
        self, history: WeightHistory, X: Any, allowed: Any = None
    ) -> tuple[np.ndarray, Layout]:
        """Numbers of votes, (n_tokens, n_labels), and the layout of X."""
        sequences = self._check_X(X)
        offsets, masks = sequences.X.offsets, None
        if allowed is not None:
            masks = encode_allowed(sequences.mirror.labels(allowed, "allowed"), self.classes_)
        y, weight = np.zeros(offsets[-1], dtype=np.int32), np.ones(len(offsets) - 1)
        examples = self._examples(
            Corpus(self._prepare(sequences.X)[0], y, self._structure(sequences.X), weight)
        )
        return count_votes(history, examples, masks), sequences.mirror

    def _examples(self, corpus: Corpus) -> Examples:
        forbidden = forbidden_scores(self._constraints, len(self.classes_))
        edges, only_edges = self._encoder.edge_attributes, self._encoder.only_edges
        return Examples.of(corpus, edges, self.boundaries, forbidden, only_edges)

    def _train(
        self,
        learn: Callable[[LastWeights], float],
        start: Learned,
        validate: Callable[[LastWeights], float] | None,
        progress: FitProgress | None,
        is_part: bool = False,
    ) -> None:
        """Train epoch by epoch, and set the fitted attributes.

        ``learn`` takes the learner through an epoch and returns the fraction of wrong tokens.
        """
        learner = self._learner(start)

        def iterate(callback: Callable) -> OptimizeResult:
            for _ in range(self.max_iter):
                loss = learn(learner)
                callback(OptimizeResult(x=learner, fun=loss))
                if loss == 0:
                    raise StopIteration
            message = f"labels were still corrected after max_iter={self.max_iter} epochs"
            return OptimizeResult(success=False, message=message)

        train(
            self,
            iterate,
            lambda fitted, x: fitted._set_weights(x),
            progress=progress,
            validate=validate,
            is_part=is_part,
        )

    def _learner(self, start: Learned) -> LastWeights:
        """What learns from the sequences."""
        return LEARNERS[self.averaging](start)

    def _hold_out(self, examples: Examples, rng) -> tuple[np.ndarray, np.ndarray | None]:
        """The training sequences, and the held-out sequences."""
        usable = np.flatnonzero((np.diff(examples.offsets) > 0) & (examples.weight != 0))
        return hold_out(usable, self.validation_fraction, rng)

    def _validation(self, corpus: Corpus) -> Callable[[LastWeights], float]:
        examples = self._examples(corpus)
        every = np.arange(examples.n_sequences)

        def validate(learner: LastWeights) -> float:
            found, _ = find(examples, learner.learned().weights, 0.0)
            return _error(examples, found, every)

        return validate

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        (n_attributes, n), n_edges = self.coef_.shape, len(self.edge_coef_)
        state, *others = self._last
        yield from matrix("_last.state", state, (n_attributes, n))
        shapes = (n, n), (n,), (n,), (n_edges, n, n)
        for name, value, shape in zip(Weights._fields[1:], others, shapes, strict=True):
            yield Array(f"_last.{name}", value, shape)
        if self._history is not None:
            n_rows = n_attributes + 2 * bool(self.boundaries)
            state_shape, pair_shape = (n_rows, n), (1 + n_edges, n * n)
            yield from below("_history", self._history.requirements(state_shape, pair_shape))
            is_seen = self._history.n_seen == self._n_seen
            yield Fact("_n_seen", is_seen, "must be the number of votes")

    def _set_weights(self, learner: LastWeights) -> None:
        """Set what a learner has learned."""
        learned = learner.learned()
        weights, last = (part.weights(self.boundaries) for part in learned[:2])
        self.coef_, self.transitions_, self.begin_, self.end_, self.edge_coef_ = weights
        self._last, self._n_seen, self._history = last, learned.n_seen, learned.history


def _error(examples: Examples, found: np.ndarray, sequences: np.ndarray) -> float:
    """The weighted fraction of the tokens of some sequences that are labelled wrongly."""
    weight = np.zeros(examples.n_sequences)
    weight[sequences] = examples.weight[sequences]
    weight = np.repeat(weight, np.diff(examples.offsets))
    return float(np.average(found != examples.y, weights=weight))
