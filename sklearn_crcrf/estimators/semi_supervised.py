"""SemiSupervisedClassifier: unlabelled sequences, filled with the labels of a model."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import has_fit_parameter

from ..base.batch_values import token_marginals
from ..base.docstrings import documented
from ..base.unwrap import steps_of
from ..data.missing import are_missing
from ..structures import structure_of
from ..training import nested_fits
from ..utils.soundness import Fact, Requirement, labels
from ..utils.warning import warn_caller
from .opinion_pool.expert import Samples, WrappingClassifier, fit_expert, require_chain

# With more labelled tokens than this, unlabelled ones gained half a point at most, or cost some.
MANY = 20_000
# Labels that are less probable count as impossible: each that is left multiplies what is counted.
LEAST = 1e-3


@documented
@dataclass(eq=False, repr=False)
class SemiSupervisedClassifier(WrappingClassifier):
    """A classifier that learns from unlabelled sequences, too.

    The estimator is fitted to the sequences that have labels, labels the others, and is fitted to
    all of them. The next iteration labels them again. Labels that are known stay, and what they say
    of their neighbours counts.

    Unlabelled sequences help where labels are few, mostly by words that the labelled ones lack.
    They cannot correct what a model is sure of, as its mistakes become training data. So they
    weigh less, and one iteration is the default.

    Parameters
    ----------
    estimator : estimator
        A first-order sequence classifier, or a pipeline that ends in one.
    n_iter : int, default=1
        Number of times that unlabelled tokens are labelled and the estimator is fitted again.
    fill : {"best", "expected"}, default="best"
        What unlabelled tokens get: the labels of the best path [1]_, or the probabilities of all
        labels above 0.001, the expectation step of EM [2]_. For "expected" the estimator must take
        probabilities as y, as :class:`EmpiricalCRF`, :class:`HMM` and :class:`CRF` do.
    unlabelled_weight : float, default=0.1
        Weight of unlabelled tokens, in (0, inf), times their ``sample_weight`` [1]_.
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict.

    Attributes
    ----------
    {classes_}
    estimator_ : estimator
        Fitted to all sequences.
    n_iter_ : int
        Number of iterations; fewer than ``n_iter`` if the best labels did not change, 0 if all
        labels are known.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    SequenceLabelModel : Labels from several annotators, rules or models.

    References
    ----------
    .. [1] Nigam, McCallum, Thrun, Mitchell, "Text Classification from Labeled and Unlabeled
       Documents using EM", Machine Learning 39 (2000).
    .. [2] Merialdo, "Tagging English Text with a Probabilistic Model", Computational Linguistics 20
       (1994), where each iteration of EM lowers the accuracy of a tagger that has seen more than
       some thousand labelled sentences.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF, SemiSupervisedClassifier
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> X, y = make_addresses(600, random_state=0)
    >>> known = y[:10] + [[None] * len(labels) for labels in y[10:400]]
    >>> model = SemiSupervisedClassifier(EmpiricalCRF()).fit(X[:400], known)
    >>> few = EmpiricalCRF().fit(X[:10], y[:10])
    >>> round(few.score(X[400:], y[400:]), 2), round(model.score(X[400:], y[400:]), 2)
    (0.65, 0.71)
    """

    estimator: Any
    n_iter: int = 1
    _: KW_ONLY
    fill: str = "best"
    unlabelled_weight: float = 0.1
    sample_unit: str = "sequence"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict] = {
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "fill": [StrOptions({"best", "expected"})],
        "unlabelled_weight": [Interval(Real, 0, None, closed="neither")],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labelled and unlabelled sequences.

        Parameters
        ----------
        X, y, sample_weight : as the estimator takes them
            Labels that are not known are None.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If no label is known, the estimator is not a first-order chain or cannot take what is
            filled in, or input is not valid.

        Warns
        -----
        UserWarning
            If unlabelled sequences are known to lower accuracy, because many tokens have labels, or
            probabilities are filled in more than once; or if all labels are known.
        """
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit(Samples(X, y, sample_weight))
        return self

    def _fit(self, samples: Samples) -> None:
        require_chain("estimator", self.estimator)
        _, last = steps_of(self.estimator)
        if self.fill == "expected" and not has_fit_parameter(last, "labels"):
            raise ValueError(
                f'fill="expected" needs an estimator that takes probabilities as y, but {last!r} '
                "does not"
            )
        sequences, weights = self._check_training(*samples, reset=True)
        self._check_structure(structure_of(sequences.X), sequences.X)
        is_known = ~are_missing(sequences.y.data)
        self._warn(int(is_known.sum()), len(is_known))
        known_before = np.append(0, np.cumsum(is_known))[sequences.X.offsets]
        weights = sequences.mirror(np.where(is_known, weights, self.unlabelled_weight * weights))
        with nested_fits():
            labelled = samples.take(sequences, np.diff(known_before) > 0)
            self._adopt(fit_expert(clone(self.estimator), *labelled))
            filled, self.n_iter_ = None, 0
            while self.n_iter_ < self.n_iter and not is_known.all():
                before, filled = filled, self._filled(samples)
                if self.fill == "best" and _are_equal(before, filled):
                    break
                self._adopt(self._fitted_to_all(samples.X, filled, weights))
                self.n_iter_ += 1

    def _adopt(self, fitted: Any) -> None:
        self.estimator_ = fitted
        self.classes_ = self._expert().classifier.classes_

    def _filled(self, samples: Samples) -> Any:
        """Return y with labels, or probabilities, for tokens that have none, in its layout."""
        if self.fill == "best":
            return self.predict(samples.X, allowed=samples.y)
        found, mirror = self._map(samples.X, token_marginals, allowed=samples.y)
        marginals = np.concatenate(found)
        marginals[marginals < np.minimum(LEAST, marginals.max(axis=1, keepdims=True))] = 0.0
        return mirror(marginals / marginals.sum(axis=1, keepdims=True))

    def _fitted_to_all(self, X: Any, y: Any, weights: Any) -> Any:
        """Fit a clone of the estimator to all sequences."""
        estimator, prefix = clone(self.estimator), ""
        if isinstance(estimator, Pipeline):
            prefix = f"{estimator.steps[-1][0]}__"
        options = {"sample_weight": weights}
        if self.fill == "expected":
            options["labels"] = self.classes_
        return estimator.fit(X, y, **{prefix + name: value for name, value in options.items()})

    def _warn(self, n_known: int, n_tokens: int) -> None:
        """Warn where unlabelled sequences are known to lower accuracy, and if there are none.

        Raises
        ------
        ValueError
            If no label is known.
        """
        problem = None
        if n_known == 0:
            raise ValueError("y: all labels are None, so nothing can be learned")
        if n_known == n_tokens:
            problem = "y has the label of every token; labels that are not known must be None"
        elif self.fill == "expected" and self.n_iter > 1:
            problem = (
                'with fill="expected", accuracy has fallen from the second iteration on wherever '
                f"it was measured, but n_iter is {self.n_iter}"
            )
        elif n_known > MANY:
            problem = (
                f"{n_known:,} tokens have labels; with more than {MANY:,}, unlabelled sequences "
                "gained little where it was measured, or harmed: compare with the estimator alone"
            )
        if problem is not None:
            warn_caller(problem)

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        same = self.classes_.tolist() == self._expert().classifier.classes_.tolist()
        yield Fact("classes_", same, "must be the labels of estimator_")


def _are_equal(y: Any, other: Any) -> bool:
    """Say whether labels in any layout are the same; None equals nothing."""
    return y is not None and y.tolist() == other.tolist()
