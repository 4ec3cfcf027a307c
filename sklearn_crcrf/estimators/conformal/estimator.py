"""ConformalSequenceClassifier: another classifier, with sets that keep a promise."""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, LeaveOneOut
from sklearn.utils._param_validation import Interval, StrOptions

from ...base.batch_values import best_paths, spans_of, token_marginals
from ...base.docstrings import documented
from ...base.unwrap import unwrap
from ...data.layout import Sequences
from ...labels.segments.schemes import scheme_or_bare
from ...structures import Scores, Structure
from ...training import nested_fits
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Array, Fact, Requirement, labels
from ..empirical import EmpiricalCRF
from ..empirical.out_of_fold import folds_of, left_out, read_corpus
from ..opinion_pool.expert import Samples, WrappingClassifier, fit_expert
from .risk import risk_threshold
from .truth import Truth, are_of_names

SPANS = "span_log_probability"
Scored = Iterable[tuple[np.ndarray, list[np.ndarray]]]
"""Numbers of sequences, with scores of the batches of them."""


@documented
@dataclass(eq=False, repr=False)
class ConformalSequenceClassifier(WrappingClassifier):
    r"""Conformal prediction: sets of labellings, spans or labels with guaranteed coverage.

    Probabilities are only as good as the model; this promise holds for any model. Labelled
    sequences that it has not seen show how improbable the truth may be for it, and whatever is at
    least as probable belongs to the set. What is promised is the ``target``:

    - "labelling": with probability ``confidence_level``, the set holds the true labelling of the
      whole sequence [1]_, [2]_.
    - "recall": the expected share of the tokens of names (labels other than "O") that are missed is
      at most 1 - ``confidence_level``, by conformal risk control [3]_. A token is found if the best
      path has a name there, or if the probability that its label is not "O" reaches a threshold.
      The share is of one sequence, or group, that has names.
    - "token": the expected share of the tokens of a sequence, or group, whose set of labels lacks
      the true one is at most 1 - ``confidence_level`` [3]_.

    The promise holds on average over calibration and new sequences that are *exchangeable*: drawn
    from the same source in random order. Where the sentences of a document resemble each other,
    documents are drawn, so give them as ``groups``. Nothing is promised for other times, sources or
    annotators.

    To calibrate, call :meth:`conformalize` with sequences that ``fit`` has not seen. With ``cv``,
    ``fit`` calibrates with the training sequences, each scored by a model of the others. This is
    close, but not guaranteed: the jackknife+ and CV+, which predict with all these models, only
    guarantee 1 - 2 (1 - ``confidence_level``) [4]_.

    Parameters
    ----------
    estimator : estimator
        A sequence classifier, or a pipeline or search that ends in one. If it is fitted,
        ``conformalize`` needs no ``fit`` before it.
    confidence_level : float, default=0.9
        What is promised, in (0, 1).
    target : {"labelling", "recall", "token"}, default="labelling"
        What the promise is about, see above.
    cv : None, "left_out", int, splitter or iterable of splits, default=None
        The folds by which ``fit`` calibrates; None if it does not. "left_out" leaves out one
        sequence, or one group, at a time; for an :class:`EmpiricalCRF` without ``exponents="fit"``
        this is exact and takes seconds.
    unit : {"token", "span"}, default="token"
        What "recall" counts: tokens of names, or whole names, which are missed unless all their
        tokens are found.
    k : int, default=100
        For "labelling": how many of the most probable labellings a set can have at most.
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict.

    Attributes
    ----------
    {classes_}
    estimator_ : estimator
        The fitted estimator.
    threshold_ : float
        The least probability of what belongs to a set; there after calibration.
    n_calibration_ : int
        The number of sequences, or groups, that it was calibrated with.
    promise_ : dict
        The parameters that it was calibrated for: target, confidence level, and unit or ``k``.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    CalibratedSequenceClassifier : Probabilities that agree with how often they are right.

    Notes
    -----
    The names of parameters and methods are those of MAPIE 1. ``predict`` gives the labels of the
    estimator; ``predict_set`` gives the sets alone.

    References
    ----------
    .. [1] Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", Springer, 2005.
    .. [2] Singer, Sengupta, Pazdernik, "Uncertainty Quantification for Named Entity Recognition via
       Full-Sequence and Subsequence Conformal Prediction", arXiv:2601.16999, 2026.
    .. [3] Angelopoulos, Bates, Fisch, Lei, Schuster, "Conformal Risk Control", ICLR 2024.
    .. [4] Barber, Candès, Ramdas, Tibshirani, "Predictive Inference with the Jackknife+", Annals of
       Statistics 49 (2021).

    Examples
    --------
    >>> from sklearn_crcrf import ConformalSequenceClassifier, EmpiricalCRF
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> X, y = make_addresses(1200, random_state=0)
    >>> model = ConformalSequenceClassifier(EmpiricalCRF(), confidence_level=0.9)
    >>> model = model.fit(X[:200], y[:200]).conformalize(X[200:700], y[200:700])
    >>> sets = model.predict_set(X[700:])
    >>> holds = [gold in [labels for labels, _ in found] for found, gold in zip(sets, y[700:])]
    >>> round(sum(holds) / len(holds), 2)
    0.89
    """

    estimator: Any
    confidence_level: float = 0.9
    target: str = "labelling"
    _: KW_ONLY
    cv: Any = None
    unit: str = "token"
    k: int = 100
    sample_unit: str = "sequence"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict] = {
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "target": [StrOptions({"labelling", "recall", "token"})],
        "unit": [StrOptions({"token", "span"})],
        "k": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object", StrOptions({"left_out"}), None],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the estimator, and calibrate it out of fold if there is a ``cv``.

        Parameters
        ----------
        X, y, sample_weight : as the estimator takes them
        groups : array-like of shape (n_samples,), optional
            The group of each sequence, such as its document, for ``cv``; a number of folds is of
            whole groups then.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If input is not valid, or the promise cannot be kept, as in :meth:`conformalize`.
        """
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit(Samples(X, y, sample_weight), groups)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def conformalize(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Calibrate with sequences that the estimator was not fitted to.

        Parameters
        ----------
        X, y : as the estimator takes them
            Labels that the estimator does not know count as missed. Tokens whose label is not
            known, and for "labelling" sequences that have one, are left out; so are empty
            sequences, whose only labelling is always right.
        groups : array-like of shape (n_samples,), optional
            The group of each sequence, such as its document, or of each row of a table. Then groups
            are drawn, not sequences, and the promise is for the mean share of new groups.

        Returns
        -------
        self
            If this fails or is interrupted, it stays as it was.

        Raises
        ------
        NotFittedError
            If neither this classifier nor its estimator is fitted.
        ValueError
            If the promise cannot be kept, because there are too few sequences or groups, or the
            true labelling is too often not among the ``k`` best or impossible; or input is not
            valid. The message says what to change.
        """
        with self._replaced_by(copy(self), since=self.__dict__) as twin:
            is_fitted = hasattr(self, "estimator_")
            if not is_fitted:
                check_fitted(unwrap(self.estimator)[0])
                twin._adopt(self.estimator)
            sequences, _ = twin._check_labelled(X, y, None, reset=not is_fitted)
            truth, every = Truth.of(sequences, groups), np.arange(len(sequences.X))
            score = twin._score_of_truth(truth, every, twin._classifier())
            twin._calibrate(truth, [(every, twin._map(X, score)[0])])
        return self

    def predict_set(self, X: Any) -> Any:
        """Return the sets of labellings or labels that keep the promise.

        Parameters
        ----------
        X : as in :meth:`predict`

        Returns
        -------
        list of lists of (labels, probability)
            For "labelling": the set of each sequence, the most probable labelling first. It may be
            empty.
        bool arrays of shape (n_tokens, n_labels), in the layout of :meth:`predict_proba`
            For "token": which labels are in the set of each token.
        bool values, in the layout of :meth:`predict`
            For "recall": which tokens are found; :meth:`predict_spans` joins them to spans.

        Raises
        ------
        NotFittedError
            If nothing was calibrated yet.
        ValueError
            If what is promised has changed since.
        """
        self._check_calibrated()
        if self.target == "labelling":
            # No more labellings can be as probable as this.
            paths = self.predict_k_best(X, min(self.k, int(1 / self.threshold_) + 1))
            return [[path for path in found if path[1] >= self.threshold_] for found in paths]
        if self.target == "token":
            return self._probabilities(X, None, "predict_set", lambda p: p >= self.threshold_)
        results, mirror = self._map(X, self._found)
        return mirror(np.concatenate(results))

    def predict_spans(self, X: Any, scheme: str = "auto") -> list[list[tuple]]:
        """Return the spans of the best paths; for "recall", of all tokens that are found.

        Parameters
        ----------
        X : as in :meth:`predict`
        scheme : {"auto", "IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="auto"
            How labels spell spans; "auto" detects it from the labels.

        Returns
        -------
        list of lists of (start, end, type, probability)
            As in other classifiers. A token that is found although it has the label "O" on the
            best path gets its most probable other label, and joins its neighbours as the scheme
            reads these labels. The probability is that the span is right as it is.

        Raises
        ------
        NotFittedError
            If the target is "recall" and nothing was calibrated yet.
        Unsupported
            If X has other links than sequences, such as trees.
        """
        if self.target != "recall":
            return super().predict_spans(X, scheme)
        self._check_calibrated()
        results, _ = self._map(X, partial(self._found_spans, scheme=scheme), requires=SPANS)
        return [found for result in results for found in result]

    def _fit(self, samples: Samples, groups: Any) -> None:
        sequences, _ = self._check_training(*samples, reset=True)
        with nested_fits():
            self._adopt(fit_expert(clone(self.estimator), *samples))
        if self.cv is not None:
            fold = folds_of(self._splitter(groups is not None), sequences, groups)
            truth = Truth.of(sequences, groups)
            if len({*zip(truth.sample.tolist(), fold.tolist(), strict=True)}) > truth.n_samples():
                raise ValueError(
                    'cv divides groups: pass a number of folds, "left_out" or GroupKFold()'
                )
            self._calibrate(truth, self._out_of_fold(truth, samples, sequences, fold))

    def _splitter(self, has_groups: bool) -> Any:
        if isinstance(self.cv, str):
            return LeaveOneGroupOut() if has_groups else LeaveOneOut()
        return GroupKFold(self.cv) if has_groups and isinstance(self.cv, Integral) else self.cv

    def _adopt(self, fitted: Any) -> None:
        self.estimator_ = fitted
        self.classes_ = self._classifier().classes_

    def _classifier(self) -> Any:
        return unwrap(self.estimator_)[0]

    def _out_of_fold(
        self, truth: Truth, samples: Samples, sequences: Sequences, fold: np.ndarray
    ) -> Scored:
        """Score the sequences of each fold by a model of the other folds."""
        if isinstance(self.estimator, EmpiricalCRF) and self.estimator.exponents != "fit":
            crf = clone(self.estimator)._unfitted()
            corpus = read_corpus(crf, *crf._check_training(*samples, reset=True))
            for _, part in left_out([crf], corpus, fold):
                score = self._score_of_truth(truth, part.sequences, part.estimator)
                yield part.sequences, part.map(score)
            return
        for number in range(fold.max() + 1):
            own, others = (
                samples.take(sequences, mask) for mask in (fold == number, fold != number)
            )
            model, held_out = copy(self), np.flatnonzero(fold == number)
            with nested_fits():
                model._adopt(fit_expert(clone(self.estimator), *others))
            score = self._score_of_truth(truth, held_out, model._classifier())
            yield held_out, model._map(own.X, score)[0]

    def _score_of_truth(self, truth: Truth, sequences: np.ndarray, classifier: Any) -> Callable:
        """Return a function of batches of these sequences: how probable the truth is.

        Its values are of sequences for "labelling", else of tokens.
        """
        columns = truth.columns(sequences, classifier.classes_)

        def score(structure: Structure, scores: Scores, first: int) -> np.ndarray:
            own = columns[first : first + structure.n_units]
            if self.target == "labelling":
                found = zip(best_paths(structure, scores, first, self.k), own, strict=True)
                # One of the paths has these labels, or none.
                return np.array([p[(path == y).all(axis=1)].sum() for (p, path), y in found])
            if self.target == "recall":
                return _names(classifier, structure, scores, first)[1]
            of_label = token_marginals(structure, scores, first)[np.arange(len(own.data)), own.data]
            return np.where(own.data < 0, 0.0, of_label)

        return score

    def _calibrate(self, truth: Truth, scored: Scored) -> None:
        """Set the threshold, by how probable the truth is."""
        samples = "sequences" if truth.n_samples() == len(truth.y) else "groups"
        if self.target == "recall":
            samples += " with names"
            if are_of_names(self.classes_).all():
                raise ValueError(
                    'target="recall" needs the label "O", of tokens that belong to no name, but '
                    f"the labels are {self.classes_.tolist()}"
                )
        score = np.empty(len(truth.y) if self.target == "labelling" else len(truth.ids))
        for sequences, values in scored:
            place = sequences if self.target == "labelling" else truth.tokens(sequences)
            score[place] = np.concatenate(values)
        of_names = Truth.names if self.unit == "span" else Truth.tokens_of_names
        missed = {"labelling": Truth.labellings, "token": Truth.labels, "recall": of_names}
        units = missed[self.target](truth, score)
        self.threshold_ = risk_threshold(*units, self.confidence_level, samples)
        self.n_calibration_, self.promise_ = units.n_samples(), self._promise()
        if self.threshold_ == 0:
            problem = f"{np.mean(units.score == 0):.1%} of the truth has the probability 0"
            remedy = "use a model with smoothed probabilities"
            if self.target == "labelling":
                problem = f"{np.mean(units.score == 0):.1%} of the true labellings are not among "
                problem, remedy = f"{problem}the k={self.k} best", "raise k"
            raise ValueError(
                f"no set keeps confidence_level={self.confidence_level}: {problem}; {remedy}, or "
                "lower confidence_level"
            )

    def _check_calibrated(self) -> None:
        check_fitted(self)
        if not hasattr(self, "promise_"):
            raise NotFittedError(
                "nothing is promised before calibration: call conformalize(X, y) with sequences "
                "that fit has not seen, or fit with a cv"
            )
        if self.promise_ != self._promise():
            raise ValueError(
                f"the promise was {self.promise_}, but the parameters have changed: call "
                "conformalize again"
            )

    def _promise(self) -> dict[str, Any]:
        names = {"labelling": ["k"], "recall": ["unit"], "token": []}[self.target]
        return {name: getattr(self, name) for name in ("target", "confidence_level", *names)}

    def _found(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        """Say which tokens of a batch are probable enough to be of a name."""
        return _names(self._classifier(), structure, scores, first)[1] >= self.threshold_

    def _found_spans(
        self, structure: Structure, scores: Scores, first: int, scheme: str
    ) -> list[list[tuple]]:
        y, score = _names(self._classifier(), structure, scores, first)
        y = np.where(score >= self.threshold_, y, np.argmin(are_of_names(self.classes_)))
        scheme = scheme_or_bare(scheme, self.classes_)
        return spans_of(y, structure, scores, first, self.classes_, scheme)

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        same = self.classes_.tolist() == self._classifier().classes_.tolist()
        yield Fact("classes_", same, "must be the labels of estimator_")
        if hasattr(self, "promise_"):
            yield Array("threshold_", np.asarray(self.threshold_), (), 0.0, 1.0)
            yield Fact("threshold_", self.threshold_ > 0, "must be positive")

    def _map(self, X: Any, function: Callable, *args: Any, **options: Any) -> Any:
        """Apply a function to the scores of the estimator, whatever its structure is."""
        check_fitted(self)
        mirror = self._check_X(X).mirror
        classifier, X = unwrap(self.estimator_, X)
        if self.n_jobs is not None:
            classifier = copy(classifier)
            classifier.n_jobs = self.n_jobs
        return classifier._map(X, function, *args, **options)[0], mirror

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        return self._classifier()._decode(structure, scores, first)


def _names(
    classifier: Any, structure: Structure, scores: Scores, first: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the likeliest label of each token if it is of a name, and how sure it is of one.

    It is for sure, 1, if the best path says so.
    """
    is_name = are_of_names(classifier.classes_)
    y, marginals = (
        classifier._decode(structure, scores, first),
        token_marginals(structure, scores, first),
    )
    on_path = is_name[y]
    likeliest = np.where(is_name, marginals, -1.0).argmax(axis=1)
    # The sum is precise where one minus the probability of "O" is rounded to zero.
    of_name = marginals[:, is_name].sum(axis=1)
    return np.where(on_path, y, likeliest), np.where(on_path, 1.0, of_name)
