"""The base of the classifiers that are trained online: by one sequence after another."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ...base.docstrings import documented
from ...base.no_tokens import may_bring_no_tokens
from ...base.weights import Weights
from ...labels.constraints.constraints import forbidden_scores
from ...linear.classifier import LinearChainClassifier
from ...linear.corpus import Corpus
from ...linear.examples import Coefficients, Examples, find
from ...linear.folder_shards import FolderShards
from ...out_of_core import CorpusFolder
from ...training.loop import CallbackSupportMixin, FitProgress, hold_out, train
from ...utils.soundness import Array, Fact, Requirement, below, matrix
from .learning import Known, LastWeights, Learned
from .out_of_core import FolderExamples, check_out_of_core

EPOCHS = [Interval(Integral, 1, None, closed="left")]


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineParameters:
    """The parameters that all classifiers have which are trained online."""

    min_freq: int = 1
    boundaries: bool = False
    edge_columns: Collection = ()
    constraints: Any = None
    warm_start: bool = False
    class_weight: Any = None
    validation_fraction: float | None = None
    n_iter_no_change: int = 5
    dtype: Any = None
    sample_unit: str = "sequence"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


class ExamplesClassifier(CallbackSupportMixin, LinearChainClassifier):
    """Base of the linear chains that are trained on Examples.

    A subclass has the parameter ``boundaries``.
    """

    boundaries: bool

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Without boundaries there is no intercept, and rows of zeros carry no information.
        tags.classifier_tags.poor_score = not self.boundaries
        return tags

    def _examples(self, corpus: Corpus) -> Examples:
        forbidden = forbidden_scores(self._constraints, len(self.classes_))
        edges, only_edges = self._encoder.edge_attributes, self._encoder.only_edges
        return Examples.of(corpus, edges, self.boundaries, forbidden, only_edges)

    def _set_coefficients(self, coefficients: Coefficients) -> None:
        weights = coefficients.weights(self.boundaries)
        self.coef_, self.transitions_, self.begin_, self.end_, self.edge_coef_ = weights


@documented
class OnlineClassifier(OnlineParameters, ExamplesClassifier):
    """Base of the linear chains that are trained by one sequence after another.

    A subclass has the parameter ``max_iter``, and makes its learner in :meth:`_learner`.
    """

    max_iter: int

    @abstractmethod
    def _learner(self, start: Learned) -> LastWeights:
        """Make what learns from the sequences."""

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on labelled sequences.

        Parameters
        ----------
        {X} Or a :class:`~sklearn_crcrf.out_of_core.CorpusFolder`, which has the labels too, and of
            which one part is in memory at a time.
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels; partial labels are not accepted.
        sample_weight : array-like of shape (n_samples,), nested list or SequenceArray, optional
            One weight for each sequence, or for each row of a table, or for each token; the
            weight of a sequence is then the mean over its tokens. It multiplies corrections. In
            the mean of the weights, all sequences with nonzero weight count alike.

        Returns
        -------
        self
            If training fails, it stays as it was; if it is interrupted, it
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

    @may_bring_no_tokens
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch on more data, starting from the current weights.

        Parameters
        ----------
        X, y : as in :meth:`fit`
        {classes}
        sample_weight : as in :meth:`fit`

        Returns
        -------
        self

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
        """Return what was learned, with the names of attributes and labels."""
        return Known(self._named_weights(), self._last, self._n_seen, self._history)

    def _fit(
        self, X, y, sample_weight, known, classes=None, *, is_part=False, progress=None
    ) -> None:
        extends = is_part and known is not None
        kept = None if known is None or extends else known.named.classes
        corpus = self._read(X, y, sample_weight, classes, extends, kept)
        examples = self._examples(corpus)
        start = Learned.start(examples.zeros(), known, self, goes_on=is_part)
        rng = check_random_state(self.random_state)
        usable = np.flatnonzero((np.diff(examples.offsets) > 0) & (examples.weight != 0))
        order, held_out = hold_out(usable, self.validation_fraction, rng)

        def learn(learner: LastWeights) -> float:
            found = learner.learn(examples, rng.permutation(order))
            return _error(examples, found, order)

        validate = None if held_out is None else self._validation(corpus.take(held_out))
        self._train(learn, start, validate, progress, is_part)

    def _fit_folder(self, folder: CorpusFolder, known: Known | None, progress: FitProgress) -> None:
        """Train out of core."""
        rng = check_random_state(self.random_state)
        with FolderShards(
            folder,
            self,
            min_freq=self.min_freq,
            boundaries=self.boundaries,
            constraints=self.constraints,
            kept_labels=() if known is None else known.named.classes.tolist(),
        ) as shards:
            shards.shape.set_fitted(self)
            examples = FolderExamples(shards, self.boundaries)
            start = Learned.start(examples.zeros(), known, self)
            self._train(lambda learner: examples.learn(learner, rng), start, None, progress)

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
        weights, last, self._n_seen, self._history = learner.learned()
        self._set_coefficients(weights)
        self._last = last.weights(self.boundaries)


def _error(examples: Examples, found: np.ndarray, sequences: np.ndarray) -> float:
    """Return the weighted fraction of the tokens of some sequences that are labelled wrongly."""
    weight = np.zeros(examples.n_sequences)
    weight[sequences] = examples.weight[sequences]
    weight = np.repeat(weight, np.diff(examples.offsets))
    return float(np.average(found != examples.y, weights=weight))
