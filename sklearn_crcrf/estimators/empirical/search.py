"""EmpiricalCRFCV: settings of EmpiricalCRF, chosen by predictions of sequences left out."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.model_selection import LeaveOneOut

from ...base.batches import Batch
from ...base.classifier import BaseSequenceClassifier, accuracy
from ...base.contributions import Contributions
from ...base.docstrings import documented
from ...base.sample_weight import sequence_weights
from ...counts.classifier import INPUTS
from ...data.layout import Ragged
from ...data.ragged import SequenceArray
from ...metrics import get_sequence_scorer, get_sequence_scorer_names
from ...serving import Tagger
from ...structures import Scores, Structure
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Array, Fact, Requirement, labels
from .estimator import EmpiricalCRF
from .out_of_fold import (
    Answer,
    Kind,
    LabelledCorpus,
    Labels,
    Probabilities,
    SequenceLogProba,
    answers_of,
    are_elsewhere,
    folds_of,
    read_corpus,
)


@documented
@dataclass(eq=False, repr=False)
class EmpiricalCRFCV(BaseSequenceClassifier):
    """EmpiricalCRF whose sigma, mu_oov and order are chosen by cross-validation.

    Every combination of ``sigmas``, ``mu_oovs`` and ``orders`` is scored, and the best one is
    fitted to all sequences. All data is counted once, and the counts of a sequence are subtracted
    before it is labelled, so leaving out each sequence costs about as much as labelling it.

    Parameters
    ----------
    sigmas : array-like of float, default=(0.5, 1.0, 2.0)
        Values of ``sigma`` of :class:`EmpiricalCRF`.
    mu_oovs : array-like of float, default=(0.5, 1.0, 2.0)
        Values of ``mu_oov``.
    orders : array-like of int, default=(1,)
        Values of ``order``.
    cv : int, splitter or iterable of splits, default=None
        The folds that are left out, of which every sequence is in exactly one; None leaves out each
        sequence by itself. Where sequences of a document share names, leave out whole documents:
        ``LeaveOneGroupOut()``, with ``groups``.
    scoring : str or callable, default=None
        What is best; by default the accuracy of tokens. ``"log_proba"`` is the mean log-probability
        of the labellings in y, without sequences whose labels the other folds lack. Else a name of
        :func:`~sklearn_crcrf.metrics.get_sequence_scorer_names`, or a callable
        ``scorer(estimator, X, y)``, whose estimator has only ``predict``, ``predict_proba``,
        ``known_tokens`` and ``classes_``.
    estimator : EmpiricalCRF, default=None
        The values of all other parameters; by default ``EmpiricalCRF()``.

    Attributes
    ----------
    {classes_}
    estimator_ : EmpiricalCRF
        With the best settings, fitted to all sequences.
    sigma_, mu_oov_ : float
        The best settings; of several that are equally good, the first.
    order_ : int
        The best order.
    best_score_ : float
        The score of the best settings.
    cv_results_ : dict
        As in ``GridSearchCV``: "params", "param_sigma", "param_mu_oov", "param_order",
        "mean_test_score" and "rank_test_score". A score is of all left-out predictions together;
        -inf stands for NaN.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    EmpiricalCRF : Its method ``predict_out_of_fold`` gives the predictions for sequences left out.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRFCV
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> X, y = make_addresses(30, random_state=0)
    >>> search = EmpiricalCRFCV(sigmas=[0.3, 1.0], scoring="log_proba", cv=5).fit(X, y)
    >>> search.sigma_, search.mu_oov_
    (1.0, 1.0)
    """

    sigmas: Any = (0.5, 1.0, 2.0)
    mu_oovs: Any = (0.5, 1.0, 2.0)
    orders: Any = (1,)
    _: KW_ONLY
    cv: Any = None
    scoring: Any = None
    estimator: Any = None

    _parameter_constraints: ClassVar[dict] = {
        "sigmas": ["array-like"],
        "mu_oovs": ["array-like"],
        "orders": ["array-like"],
        "cv": ["cv_object", None],
        "scoring": [str, callable, None],
        "estimator": [EmpiricalCRF, None],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the settings, and fit to all sequences.

        Parameters
        ----------
        X, y : as in :meth:`EmpiricalCRF.fit`
        sample_weight : as in :meth:`EmpiricalCRF.fit`
            Scorers get it too. Weights of tokens need the default scorer or "log_proba".
        groups : array-like of shape (n_samples,), optional
            The group of each sequence, or of each row of a table, for ``cv``.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If input is not valid, a list of values is empty, or no score is finite.
        """
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit(X, y, sample_weight, groups)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        settings, like = self._settings(), clone(self._like())
        candidates = [clone(like).set_params(**each) for each in settings]
        for candidate in candidates:
            candidate._validate_params()
        reader = max(candidates, key=lambda candidate: candidate.order)._unfitted()
        sequences, weights = reader._check_training(X, y, sample_weight, reset=True)
        corpus = read_corpus(reader, sequences, weights)
        candidates = [copy(reader).set_params(**each) for each in settings]
        fold = folds_of(LeaveOneOut() if self.cv is None else self.cv, sequences, groups)
        left_out = _LeftOutAnswers(candidates, corpus, fold)
        score = np.array(self._scores_of(left_out, (X, y), sample_weight), dtype=float)
        score[np.isnan(score)] = -np.inf
        if not np.isfinite(score.max()):
            raise ValueError(f"scoring={self.scoring!r}: no score is the best of {score.tolist()}")
        best = int(np.argmax(score))
        self.estimator_ = copy(reader).set_params(**settings[best])
        self.estimator_._fit_to(corpus.observations)
        self.classes_ = self.estimator_.classes_
        self.cv_results_ = _results(settings, score)
        self.__dict__.update({name: vars(reader)[name] for name in INPUTS if name in vars(reader)})

    def _like(self) -> EmpiricalCRF:
        """Return the estimator with all other parameters."""
        return EmpiricalCRF() if self.estimator is None else self.estimator

    def _settings(self) -> list[dict[str, Any]]:
        """List all combinations of settings."""
        if self._like().exponents == "fit":
            raise ValueError('exponents="fit" is fitted by fit only; give the exponents as a dict')
        given = {"sigma": self.sigmas, "mu_oov": self.mu_oovs, "order": self.orders}
        for name, values in given.items():
            if np.ndim(values) != 1 or len(values) == 0:
                raise ValueError(f"{name}s must be a list of at least one value, got {values!r}")
        combinations = product(*(np.asarray(values).tolist() for values in given.values()))
        return [dict(zip(given, values, strict=True)) for values in combinations]

    def _scores_of(
        self, left_out: "_LeftOutAnswers", samples: tuple[Any, Any], sample_weight: Any
    ) -> list[float]:
        """Score each of the candidates."""
        if self.scoring is None:
            return left_out.accuracy()
        if self.scoring == "log_proba":
            return left_out.log_proba()
        scorer = self.scoring
        if isinstance(scorer, str):
            names = ["log_proba", *get_sequence_scorer_names()]
            if scorer not in names:
                raise ValueError(f"scoring must be one of {', '.join(names)}, got {scorer!r}")
            scorer = get_sequence_scorer(scorer)
            if sample_weight is None and not left_out.is_table:
                left_out, samples = left_out.in_arrays()
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return [scorer(stand_in, *samples, **weights) for stand_in in left_out.stand_ins()]

    @property
    def sample_unit(self) -> str:
        """The unit that scikit-learn treats as a sample, as of ``estimator``."""
        return self._like().sample_unit

    @property
    def n_jobs(self) -> int | None:
        """The number of threads that predict, as of ``estimator``."""
        return self._like().n_jobs

    @property
    def sigma_(self) -> float:
        """The best ``sigma``."""
        return self.estimator_.sigma

    @property
    def mu_oov_(self) -> float:
        """The best ``mu_oov``."""
        return self.estimator_.mu_oov

    @property
    def order_(self) -> int:
        """The best ``order``."""
        return self.estimator_.order

    @property
    def best_score_(self) -> float:
        """The score of the best settings."""
        return float(self.cv_results_["mean_test_score"].max())

    def predict(self, X: Any, allowed: Any = None, subject_to: Any = None) -> Any:
        """Return the labels of the best path of each sequence.

        Parameters
        ----------
        X : list of sequences, SequenceArray, GraphArray, 2-D array, CSR or DataFrame
            The sequences to label, in any form that :meth:`fit` takes.
        {allowed}
        {subject_to}

        Returns
        -------
        labels
            In the layout of X, as :meth:`EmpiricalCRF.predict` returns them.

        Raises
        ------
        ValueError
            If ``allowed`` or ``subject_to`` does not fit X, or no path that they allow is possible.
        """
        check_fitted(self)
        return self.estimator_.predict(X, allowed, subject_to)

    def tagger(self, transformers: Sequence[Any] = ()) -> Tagger:
        """Make an immutable object that labels one sequence in one compiled call.

        Parameters
        ----------
        transformers : as in :meth:`EmpiricalCRF.tagger`

        Returns
        -------
        Tagger
            Of ``estimator_``; see :meth:`EmpiricalCRF.tagger`.
        """
        check_fitted(self)
        return self.estimator_.tagger(transformers)

    def known_tokens(self, X: Any) -> Any:
        """Tell which words were seen in training.

        Parameters
        ----------
        X : as in :meth:`predict`

        Returns
        -------
        bool values, in the layout of X
            Whether the word of each token was counted.
        """
        check_fitted(self)
        return self.estimator_.known_tokens(X)

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        self._like()._check_structure(structure, X)

    def _prepare(self, X: SequenceArray) -> Any:
        return self.estimator_._prepare(X)

    def _prepare_scores(self, X: SequenceArray) -> Any:
        return self.estimator_._prepare_scores(X)

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        return self.estimator_._scores(prepared, batch)

    def _structure(self, X: SequenceArray) -> Structure:
        return self.estimator_._structure(X)

    def _scores_per_token(self) -> int:
        return self.estimator_._scores_per_token()

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        return self.estimator_._decode(structure, scores, first)

    def _contributions(self, prepared: Any, batch: Batch, y: np.ndarray) -> Contributions:
        return self.estimator_._contributions(prepared, batch, y)

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        is_one = isinstance(self.estimator_, EmpiricalCRF)
        yield Fact("estimator_", is_one, "must be an EmpiricalCRF")
        same = self.classes_.tolist() == self.estimator_.classes_.tolist()
        yield Fact("classes_", same, "must be the labels of estimator_")
        name, n = "mean_test_score", len(self.cv_results_["params"])
        yield Array(f"cv_results_[{name!r}]", self.cv_results_[name], (n,), -np.inf)


class _LeftOutAnswers:
    """What candidates say of sequences left out; each is asked only for what a score needs.

    Parameters
    ----------
    candidates : list of EmpiricalCRF
    corpus : LabelledCorpus
    fold : int64 ndarray of shape (n_sequences,)
    """

    def __init__(self, candidates: list[EmpiricalCRF], corpus: LabelledCorpus, fold: np.ndarray):
        self._given = candidates, corpus, fold
        self._found: dict[type[Answer], list[Any]] = {}

    def of(self, kind: type[Kind]) -> list[Kind]:
        """Return the answers of all candidates."""
        if kind not in self._found:
            self._found[kind] = answers_of(kind, *self._given)
        return self._found[kind]

    def accuracy(self) -> list[float]:
        """Return the accuracy of the labels of all tokens."""
        _, corpus, _ = self._given
        y, weights = corpus.y.labels, corpus.observations.weights
        return [accuracy(y, y.with_data(labels.found), weights) for labels in self.of(Labels)]

    def log_proba(self) -> list[float]:
        """Return the mean log-probability of the given labels of sequences."""
        _, corpus, fold = self._given
        weights = sequence_weights(corpus.observations.weights, corpus.X.offsets)
        is_lost = ~are_elsewhere(corpus.observations.labels, corpus, fold)
        weights[sequence_weights(is_lost.astype(float), corpus.X.offsets) > 0] = 0.0
        if not weights.any():
            raise ValueError(
                'scoring="log_proba": every sequence with a weight has a label that is in no other '
                "fold"
            )
        used = np.flatnonzero(weights)
        found = [answer.found[used] for answer in self.of(SequenceLogProba)]
        return [float(np.average(values, weights=weights[used])) for values in found]

    @property
    def is_table(self) -> bool:
        """Whether every token is a row of X."""
        return self._given[1].layout.is_table

    def in_arrays(self) -> "tuple[_LeftOutAnswers, tuple[SequenceArray, SequenceArray]]":
        """Return the same in arrays, with X and y, which metrics read faster than lists."""
        candidates, corpus, fold = self._given
        in_arrays = corpus._replace(layout=Ragged(corpus.X.offsets))
        return _LeftOutAnswers(candidates, in_arrays, fold), (corpus.X, corpus.y.labels)

    def stand_ins(self) -> "list[_StandIn]":
        """Return what scorers take for fitted estimators."""
        return [_StandIn(self, number) for number in range(len(self._given[0]))]

    def known_tokens(self) -> Any:
        """Tell which words occur in another fold than their own, in the layout of X."""
        _, corpus, fold = self._given
        observations = corpus.observations.observations
        known = are_elsewhere(observations.ids[observations.word], corpus, fold)
        return corpus.layout(known)

    @property
    def classes(self) -> np.ndarray:
        """All labels."""
        return self._given[1].y.classes


class _StandIn(ClassifierMixin, BaseEstimator):
    """The predictions of a candidate where a scorer asks a fitted estimator, whatever X is."""

    def __init__(self, left_out: _LeftOutAnswers, number: int):
        self.left_out, self.number = left_out, number
        self.classes_ = left_out.classes

    def predict(self, X: Any) -> Any:
        """Return labels."""
        return self.left_out.of(Labels)[self.number].result()

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities."""
        return self.left_out.of(Probabilities)[self.number].result()

    def known_tokens(self, X: Any) -> Any:
        """Return which words are known without the sequences of their fold."""
        return self.left_out.known_tokens()


def _results(settings: list[dict[str, Any]], score: np.ndarray) -> dict[str, Any]:
    """Tabulate the settings and their scores."""
    columns = {f"param_{name}": np.array([each[name] for each in settings]) for name in settings[0]}
    rank = np.array([1 + np.count_nonzero(score > own) for own in score])
    return {"params": settings, **columns, "mean_test_score": score, "rank_test_score": rank}
