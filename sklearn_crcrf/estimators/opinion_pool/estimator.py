"""OpinionPoolCRF: the weighted product of the distributions of several chains."""

from collections.abc import Iterator
from copy import copy
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.parallel import Parallel, delayed

from ...base.batches import Batch, batches_of
from ...base.classifier import BaseSequenceClassifier
from ...base.contributions import Contributions
from ...base.docstrings import documented
from ...base.sample_weight import sequence_weights, token_weights
from ...base.unwrap import steps_of
from ...data.layout import Sequences
from ...data.ragged import SequenceArray
from ...labels.partial import encode_partial_labels, label_columns
from ...structures import Scores, Structure, structure_of
from ...structures.weighted_sum import WeightedSum
from ...training import Stop, nested_fits
from ...training.loop import CallbackSupportMixin, FitProgress, hold_out, train
from ...utils.real_numbers import real_numbers
from ...utils.soundness import Array, Fact, Requirement, labels
from ...utils.warning import warn_caller
from .expert import Expert, Samples, as_given, fit_expert, require_chain, rough_expert
from .weighing import MAX_ITER, LabelledBatch, weigh

NOTHING_HELD_OUT = (
    "the weights of the experts are equal: no held-out sequence has labels that the experts know, "
    "so nothing is learned of their weights. Pass more sequences, or set weights"
)


@documented
@dataclass(eq=False, repr=False)
class OpinionPoolCRF(CallbackSupportMixin, BaseSequenceClassifier, _BaseComposition):
    r"""Logarithmic opinion pool of chains, the experts [1]_.

    The probability of a labelling is the weighted geometric mean of its probabilities under the
    experts,

    .. math::

       p(y \mid x) \propto \prod_k p_k(y \mid x)^{w_k}, \qquad w_k \geq 0, \qquad \sum_k w_k =
       1.

    As every expert is a chain, so is the pool: its scores are weighted sums of the experts'
    scores. All experts are fitted to all sequences; the weights minimise the log loss on held-out
    sequences, with experts fitted to the others. A pool regularises without a prior: it gets closer
    to the truth the better the experts are and the more they differ. So the priors of the experts
    may be weak.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The experts: :class:`CRF`, :class:`EmpiricalCRF` of the first order, :class:`HMM`,
        :class:`MEMM` and other first-order sequence classifiers, or pipelines or searches that
        end in one. ``"drop"`` in place of an estimator leaves it out. The
        functions of :mod:`sklearn_crcrf.estimators.opinion_pool` make lists of experts.
    weights : array-like of shape (n_experts,), default=None
        Weights of the experts, not negative, scaled to sum to one; by default they are learned. If
        there are too few sequences for that, they are equal, with a warning.
    validation_fraction : float, default=0.5
        Fraction of sequences, in (0, 1), held out to learn the weights. Meanwhile, training of a
        :class:`CRF` by L-BFGS ends when the loss falls by less than a tenth in ten iterations; the
        experts of the pool are then trained on all sequences, with their own ``tol``.
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that fit experts, and that predict.
    random_state : int, RandomState or None, default=None
        Chooses the held-out sequences.
    verbose : int, default=0
        Print a line after every ``verbose`` iterations that learn the weights; 0 for none.

    Attributes
    ----------
    {classes_}
    estimators_ : list of estimators
        The fitted experts.
    named_estimators_ : Bunch
        The fitted experts, by name.
    weights_ : ndarray of shape (n_experts,)
        The weights of the experts, which sum to 1.
    loss_curve_ : list of float
        The mean loss of the sequences that are held out, after each iteration that learns the
        weights; none if they are given, or there is one expert.
    {n_iter_}
    converged_ : bool
        False if the weights still changed after 1,000 iterations.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    sklearn_crcrf.estimators.opinion_pool.random_experts : Experts that see random attributes.
    sklearn_crcrf.estimators.opinion_pool.label_experts : Experts that each know few labels.

    References
    ----------
    .. [1] Smith, Cohn, Osborne, "Logarithmic Opinion Pools for Conditional Random Fields",
       ACL 2005.

    Examples
    --------
    >>> from sklearn_crcrf import CRF, HMM, OpinionPoolCRF
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]] * 3
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]] * 3
    >>> pool = OpinionPoolCRF([("crf", CRF()), ("hmm", HMM())], random_state=0).fit(X, y)
    >>> pool.predict([["the", "cat", "walks"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    >>> len(pool.weights_), float(pool.weights_.sum().round(6))
    (2, 1.0)
    """

    estimators: list
    weights: Any = None
    _: KW_ONLY
    validation_fraction: float = 0.5
    sample_unit: str = "sequence"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "estimators": [list],
        "weights": ["array-like", None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters, the experts by name, and the parameters of the experts.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the experts and their parameters too.

        Returns
        -------
        dict
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> "OpinionPoolCRF":
        """Set parameters, such as ``crf=...`` or ``crf__sigma=...`` for the expert "crf".

        Parameters
        ----------
        **params
            The new values.

        Returns
        -------
        OpinionPoolCRF
        """
        self._set_params("estimators", **params)
        return self

    @property
    def named_estimators(self) -> Bunch:
        """The experts as passed, by name."""
        return Bunch(**dict(self.estimators))

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted experts, by name."""
        return Bunch(**dict(zip(dict(self._used()), self.estimators_, strict=True)))

    # Experts may have parameters that are not validated yet.
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "OpinionPoolCRF":
        """Fit all experts, and learn the weights on held-out sequences.

        Parameters
        ----------
        X : list of sequences, SequenceArray, 2-D array, CSR or DataFrame
            An input that all experts accept.
        y : list of label lists, SequenceArray or 1-D array
            Labels. Held-out sequences with unknown labels, or with labels that the experts were
            not trained on, are not used to learn the weights.
        sample_weight : array-like of shape (n_samples,), nested list or SequenceArray, optional
            One weight for each sequence, or for each row of a table, or for each token.

        Returns
        -------
        OpinionPoolCRF
            Itself. If fitting fails or is interrupted, it stays as it was; but an interrupt while
            the weights are learned keeps the weights of the last iteration.

        Raises
        ------
        ValueError
            If an estimator is not a first-order chain, or input is not valid.
        """
        progress = FitProgress(self, MAX_ITER, X, y, sample_weight)
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit(Samples(X, y, sample_weight), progress)
        return self

    def _fit(self, samples: Samples, progress: FitProgress) -> None:
        self._check_experts()
        sequences, weight = self._check_training(*samples, reset=True)
        self._check_structure(structure_of(sequences.X), sequences.X)
        n_experts = len(self._used())
        weights = None if self.weights is None else _as_weights(self.weights, n_experts)
        # Before others are held out: errors name sequences by their place in X.
        self._fit_experts([clone(expert) for _, expert in self._used()], samples)
        self._require_known(sequences.y, weight)
        batches = []
        if weights is None and n_experts > 1:
            batches = self._held_out_batches(samples, sequences, weight)
        if batches:
            train(
                self,
                lambda callback: weigh(batches, n_experts, callback),
                lambda fitted, x: setattr(fitted, "weights_", x),
                progress=progress,
            )
            return
        self.weights_ = np.full(n_experts, 1.0 / n_experts) if weights is None else weights
        self.loss_curve_: list[float] = []
        self.n_iter_, self.converged_ = 0, True
        progress.finish(lambda: vars(self))

    def _check_experts(self) -> None:
        """Raise ValueError if ``estimators`` cannot be experts."""
        if not self.estimators or not all(
            isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str)
            for item in self.estimators
        ):
            raise ValueError("estimators must be a list of (str, estimator), and not empty")
        self._validate_names([name for name, _ in self.estimators])
        if not self._used():
            raise ValueError("estimators: all experts are dropped")
        for name, estimator in self._used():
            require_chain(name, estimator)

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        for name, estimator in self._used():
            try:
                steps_of(estimator)[1]._check_structure(structure, X)
            except ValueError as error:
                raise ValueError(f"expert {name!r}: {error}") from error

    def _used(self) -> list[tuple[str, Any]]:
        return [
            (name, expert)
            for name, expert in self.estimators
            if not (isinstance(expert, str) and expert == "drop")
        ]

    def _fit_experts(self, experts: list, samples: Samples) -> None:
        """Fit experts and set them, and the labels that all of them know."""
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads")
        with nested_fits() as stop:
            self.estimators_ = parallel(
                delayed(_fit_nested)(stop, expert, *samples) for expert in experts
            )
        first, *others = (expert.classifier.classes_ for expert in self._experts())
        known = set(first.tolist()).intersection(*(classes.tolist() for classes in others))
        if not known:
            raise ValueError("the estimators must know a common label, but there is none")
        self.classes_ = first[[label in known for label in first.tolist()]]

    def _require_known(self, y: SequenceArray, weight: np.ndarray) -> None:
        """Raise ValueError if an expert does not know a label that was trained on."""
        labels, ids, _ = encode_partial_labels(y)
        counted = labels[np.unique(ids[(ids >= 0) & (weight > 0)])].tolist()
        for expert in self._experts():
            missing = set(counted) - set(expert.classifier.classes_.tolist())
            if missing:
                raise ValueError(
                    f"expert {expert.name!r} does not know the label {min(missing, key=str)!r}"
                )

    def _experts(self) -> list[Expert]:
        named = zip(dict(self._used()), self.estimators_, strict=True)
        return [Expert.of(name, estimator) for name, estimator in named]

    def _held_out_batches(
        self, samples: Samples, sequences: Sequences, weight: np.ndarray
    ) -> list[LabelledBatch]:
        """Return what experts make of held-out sequences with labels that they know.

        The experts are fitted to the other sequences.
        """
        sequence = np.repeat(np.arange(len(sequences.X)), sequences.X.lengths)
        usable = np.unique(sequence[weight > 0])
        rng = check_random_state(self.random_state)
        _, held_out = hold_out(usable, self.validation_fraction, rng)
        is_held_out = np.zeros(len(sequences.X), dtype=bool)
        is_held_out[held_out] = True
        twin = copy(self)
        experts = [rough_expert(expert) for _, expert in self._used()]
        twin._fit_experts(experts, samples.take(sequences, ~is_held_out))
        unknown = label_columns(sequences.y, twin.classes_) < 0
        is_held_out[sequence[unknown]] = False
        if not is_held_out.any():
            warn_caller(NOTHING_HELD_OUT)
            return []
        return twin._score_batches(samples.take(sequences, is_held_out))

    def _score_batches(self, samples: Samples) -> list[LabelledBatch]:
        """Return what all experts make of sequences with labels that they know."""
        sequences = self._check_X(samples.X, samples.y)
        offsets, y = sequences.X.offsets, label_columns(sequences.y, self.classes_)
        weight = sequence_weights(token_weights(sequences, samples.sample_weight), offsets)
        experts = self._experts()
        prepared = [expert.prepare(samples.X, offsets) for expert in experts]
        batches = []
        for batch in batches_of(structure_of(sequences.X), len(experts) * len(self.classes_)):
            structure, gold = batch.structure, y[batch.start : batch.stop]
            scores = []
            for expert, encoded in zip(experts, prepared, strict=True):
                scores.append(expert.scores(encoded, batch, self.classes_))
                if np.isneginf(structure.score(scores[-1], gold)[0]).any():
                    raise ValueError(
                        f"expert {expert.name!r} gives labels of held-out sequences probability "
                        "zero, so the pool would too: smooth the zeros of the expert, or loosen "
                        "its constraints"
                    )
            own_weight = weight[batch.first : batch.first + structure.n_units]
            batches.append(LabelledBatch(structure, WeightedSum(scores), gold, own_weight))
        return batches

    def _prepare(self, X: SequenceArray) -> list[tuple[float, Expert, Any]]:
        """Return the experts with a weight above zero, and what they make of X."""
        given, experts = as_given(self, X), zip(self.weights_, self._experts(), strict=True)
        return [
            (weight, expert, expert.prepare(given, X.offsets))
            for weight, expert in experts
            if weight > 0
        ]

    def _scores(self, prepared: list[tuple[float, Expert, Any]], batch: Batch) -> Scores:
        scores = [expert.scores(encoded, batch, self.classes_) for _, expert, encoded in prepared]
        return WeightedSum(scores).scores(np.array([weight for weight, *_ in prepared]))

    def _contributions(
        self, prepared: list[tuple[float, Expert, Any]], batch: Batch, y: np.ndarray
    ) -> Contributions:
        several = []
        for weight, expert, encoded in prepared:
            entries = expert.contributions(encoded, batch, self.classes_[y])
            several.append(entries._replace(factor=weight * entries.factor))
        return Contributions.join(several)

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        yield Array("weights_", self.weights_, (len(self.estimators_),), 0.0)
        yield Fact("weights_", bool(self.weights_.any()), "must not all be zero")
        for expert in self._experts():
            known = set(self.classes_.tolist()) <= set(expert.classifier.classes_.tolist())
            yield Fact(f"estimators_, {expert.name!r},", known, "must know all labels")


def _fit_nested(stop: Stop, estimator: Any, *samples: Any) -> Any:
    with nested_fits(stop):
        return fit_expert(estimator, *samples)


def _as_weights(weights: Any, n_experts: int) -> np.ndarray:
    weights = real_numbers(weights, f"weights must be a number for each expert, got {weights!r}")
    if weights.shape != (n_experts,):
        raise ValueError(f"weights has shape {weights.shape}, but there are {n_experts} experts")
    if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.sum() > 0):
        raise ValueError(f"weights must be finite, not negative and not all zero, got {weights}")
    return weights / weights.sum()
