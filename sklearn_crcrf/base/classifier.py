"""The base of all sequence classifiers: validation, and every way to predict."""

import sys
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_n_features, validate_data

from ..data.layout import Sequences
from ..data.missing import unusual_types
from ..data.ragged import SequenceArray
from ..data.sequences import as_sequences, is_table
from ..labels.encoding import as_label_array
from ..labels.partial import completed, encode_allowed
from ..labels.segments.schemes import scheme_or_bare
from ..labels.soft import GivenProbabilities
from ..structures import Scores, Structure, structure_of
from ..training import FittedState
from ..utils.memory import require_memory, retain_freed_memory
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Sound
from ..utils.warning import warn_caller
from .batch_values import (
    best_paths,
    check_shared_scores,
    log_partition,
    raise_if_impossible,
    raise_if_not_finite,
    spans_of,
    token_marginals,
)
from .batches import Batch, batches_of
from .constrained import SubjectTo, refuse_subject_to
from .contributions import Contributions, path_contributions
from .docstrings import documented
from .no_tokens import NoTokensError
from .sample_weight import token_weights
from .summary import SummaryMixin

SINGLE_TOKENS = (
    "every row of X is a sequence of one token, so nothing is learned of neighbours. Pass a list "
    "of sequences, or a DataFrame whose index has the levels (sequence, position); a transformer "
    "in a Pipeline keeps this index within PerToken, or after set_output(transform='pandas')"
)


@documented
class BaseSequenceClassifier(FittedState, Sound, SummaryMixin, ClassifierMixin, BaseEstimator):
    """Base of classifiers that label every token of a sequence.

    A subclass implements ``fit``, which sets ``classes_``; ``_prepare``, which encodes a
    SequenceArray; and ``_scores``, which returns the scores of one batch of encoded tokens. It has
    the parameters ``sample_unit`` and ``n_jobs``.
    """

    @abstractmethod
    def _prepare(self, X: SequenceArray) -> Any:
        """Encode all tokens of X, once for all batches; X of any kind may have no tokens."""

    def _prepare_scores(self, X: SequenceArray) -> Any:
        """Return the same, where nothing but the scores is needed."""
        return self._prepare(X)

    @abstractmethod
    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        """Scores of a batch."""

    def _structure(self, X: SequenceArray) -> Structure:
        """Return the structure of encoded input."""
        return structure_of(X)

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        """Raise ValueError if the classifier, fitted or not, has no scores for a structure of X.

        A meta-estimator asks before it fits any classifier.
        """

    def _contributions(self, prepared: Any, batch: Batch, y: np.ndarray) -> Contributions:
        """Return the contributions that sum to the score of a path; the batch is one sequence.

        A subclass that can split its scores into weights overrides this.
        """
        return path_contributions(self._scores(prepared, batch), y, self.classes_, batch.structure)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.dict = True
        tags.target_tags.required = True
        if self.sample_unit == "sequence":
            # Splitters that stratify by the labels of a classifier need one label per sample.
            tags.estimator_type = None
        return tags

    def predict(self, X: Any, allowed: Any = None, subject_to: Any = None) -> Any:
        """Return the labels of the best path of each sequence.

        Parameters
        ----------
        X : list of sequences, SequenceArray, GraphArray, 2-D array, CSR or DataFrame
            The sequences to label, in any form that ``fit`` takes.
        {allowed}
        {subject_to}

        Returns
        -------
        labels
            In the layout of X: an object array of lists for lists, a SequenceArray for a
            SequenceArray, else a 1-D array.

        Raises
        ------
        ValueError
            If ``allowed`` or ``subject_to`` does not fit X, or no path that they allow is possible.
        """
        results, mirror = self._map(X, self._decode, allowed, subject_to=subject_to)
        return mirror(self.classes_[np.concatenate(results)])

    def predict_proba(self, X: Any, subject_to: None = None) -> Any:
        """Return marginal probabilities of the labels of each token, by forward-backward.

        Parameters
        ----------
        X : as in :meth:`predict`
        subject_to : None
            Only None: there are no probabilities under constraints.

        Returns
        -------
        probabilities
            A list of arrays of shape (n_tokens, n_labels) for lists, a SequenceArray for a
            SequenceArray, else a 2-D array; columns are in the order of ``classes_``.

        Raises
        ------
        ValueError
            If no path of a sequence is possible, or ``subject_to`` is not None.
        """
        return self._probabilities(X, subject_to, "predict_proba")

    def predict_log_proba(self, X: Any, subject_to: None = None) -> Any:
        """Return logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X, subject_to : as in :meth:`predict_proba`

        Returns
        -------
        log_proba
            In the layout of :meth:`predict_proba`; -inf for a probability of 0.
        """
        with np.errstate(divide="ignore"):
            return self._probabilities(X, subject_to, "predict_log_proba", np.log)

    def predict_pair_proba(self, X: Any) -> list[np.ndarray]:
        """Return the joint probabilities of the labels of neighbouring tokens.

        Parameters
        ----------
        X : list of sequences, or SequenceArray
            The sequences to label.

        Returns
        -------
        list of ndarray of shape (n_tokens - 1, n_labels, n_labels)
            An array for each sequence, with the label of the first token of each pair in the rows.
            Labels are in the order of ``classes_``. Sums over one label are the probabilities of
            :meth:`predict_proba`.

        Raises
        ------
        ValueError
            If no path of a sequence is possible, or tokens are not linked to the next one alone.
        """

        def pairs(structure: Structure, scores: Scores, first: int) -> list[np.ndarray]:
            raise_if_impossible(log_partition(structure, scores, first), first)
            n_pairs = np.maximum(np.diff(structure.offsets) - 1, 0)
            n_numbers = n_pairs.sum() * scores.state.shape[1] ** 2
            require_memory(
                16.0 * n_numbers,
                f"the probabilities of all pairs of labels of {n_pairs.sum():,} pairs of tokens",
                "predict fewer sequences at a time",
            )
            return np.split(structure.pair_marginals(scores), np.cumsum(n_pairs)[:-1])

        results, _ = self._map(X, pairs, requires="pair_marginals")
        return [table for tables in results for table in tables]

    def predict_k_best(
        self, X: Any, k: int = 5, subject_to: Any = None
    ) -> list[list[tuple[list, float]]]:
        """Return the k best paths of each sequence with their probabilities.

        Parameters
        ----------
        X : as in :meth:`predict`
        k : int, default=5
            Number of paths, at least 1.
        subject_to : list of constraints on segments, optional
            Such as :class:`~sklearn_crcrf.labels.OneSegment`. Then only paths that satisfy them are
            found, with their probabilities among all paths that do.

        Returns
        -------
        list of lists of (labels, probability)
            Best first; fewer than k if a sequence has fewer possible paths.

        Raises
        ------
        Unsupported
            If X has other links than sequences, such as trees.
        ValueError
            If a constraint is not on segments, or finding the paths takes too long.
        """
        k = int(check_scalar(k, "k", Integral, min_val=1))  # True counts as 1

        def best(
            structure: Structure, scores: Scores, first: int, constraints: SubjectTo | None
        ) -> list:
            find = best_paths if constraints is None else constraints.best_paths
            found = find(structure, scores, first, k)
            both = ((self.classes_[paths].tolist(), value.tolist()) for value, paths in found)
            return [list(zip(*each, strict=True)) for each in both]

        results, _ = self._map(X, best, requires="k_best", subject_to=subject_to, asks=True)
        return [paths for result in results for paths in result]

    def confidence(self, X: Any, subject_to: Any = None) -> np.ndarray:
        """Return the probability of the best path of each sequence.

        Parameters
        ----------
        X : as in :meth:`predict`
        subject_to : as in :meth:`predict_k_best`

        Returns
        -------
        ndarray of shape (n_sequences,)
            In [0, 1]: 1 for an empty sequence, 0 if no path is possible.
        """

        def probability(
            structure: Structure, scores: Scores, first: int, constraints: SubjectTo | None
        ) -> np.ndarray:
            if constraints is not None:
                found = constraints.best_paths(structure, scores, first)
                return np.array([probability.sum() for probability, _ in found])
            log_z = log_partition(structure, scores, first)
            maximum = structure.maximum(scores)[0] - np.where(np.isneginf(log_z), 0.0, log_z)
            return np.exp(np.minimum(maximum, 0.0))  # the rounding error of huge scores exceeds 1

        results, _ = self._map(X, probability, subject_to=subject_to, asks=True)
        return np.concatenate(results)

    def predict_spans(self, X: Any, scheme: str = "auto") -> list[list[tuple]]:
        """Return the segments of the predicted labels, with their probabilities.

        Parameters
        ----------
        X : as in :meth:`predict`
        scheme : {"auto", "IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="auto"
            How labels spell segments. "auto" detects it from the labels; for labels without
            prefixes it is "IO", where a segment is a run of equal labels.

        Returns
        -------
        list of lists of (start, end, type, probability)
            A list for each sequence; ``end`` is the position after the last token. The probability
            is that the tokens have these labels, and the segment neither begins earlier nor ends
            later.

        Raises
        ------
        Unsupported
            If X has other links than sequences, such as trees.
        """

        spans = partial(self._spans, scheme=scheme)
        results, _ = self._map(X, spans, requires="span_log_probability")
        return [found for result in results for found in result]

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> list[Any]:
        """Draw labellings of all sequences from the distribution over paths.

        Parameters
        ----------
        X : as in :meth:`predict`
        n_samples : int, default=1
            Number of labellings of each sequence, at least 1.
        random_state : int, RandomState or None, default=None
            Determines the draws.

        Returns
        -------
        list of n_samples labels
            Each as :meth:`predict` returns them, for all of X.

        Raises
        ------
        ValueError
            If no path of a sequence is possible.
        """
        n_samples = int(check_scalar(n_samples, "n_samples", Integral, min_val=1))
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)

        def draw(structure: Structure, scores: Scores, first: int) -> np.ndarray:
            raise_if_impossible(log_partition(structure, scores, first), first)
            # Batches may be drawn in any order.
            return structure.sample(scores, n_samples, np.random.default_rng([seed, first]))

        results, mirror = self._map(X, draw)
        return [mirror(self.classes_[y]) for y in np.concatenate(results, axis=1)]

    def entropy(self, X: Any) -> np.ndarray:
        """Return the entropy of the distribution over paths of each sequence, in nats.

        Parameters
        ----------
        X : as in :meth:`predict`

        Returns
        -------
        ndarray of shape (n_sequences,)
            0 for an empty sequence, NaN if no path is possible.
        """

        def entropy(structure: Structure, scores: Scores, first: int) -> np.ndarray:
            log_partition(structure, scores, first)
            return structure.entropy(scores)

        results, _ = self._map(X, entropy)
        return np.concatenate(results)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the labels of all tokens.

        Parameters
        ----------
        X, y : as in ``fit``
            Unknown labels are left out; a set of labels is right if it holds the predicted one.
        sample_weight : array-like of shape (n_samples,), nested list or SequenceArray, optional
            One weight for each sequence, for each row of a table, or for each token.

        Returns
        -------
        float
            In [0, 1].

        Raises
        ------
        ValueError
            If no token has a known label and a positive weight.
        """
        sequences = self._ready(X)._check_X(X, y)
        weights = token_weights(sequences, sample_weight)
        return accuracy(sequences.y, sequences.mirror.flat(self.predict(X), "predicted"), weights)

    def _ready(self, X: Any) -> Self:
        """Return a copy as it is now, to predict X: another thread may go on training this one."""
        check_fitted(self)
        return copy(self)

    def _scores_per_token(self) -> int:
        return len(self.classes_)

    def _train_roughly(self) -> None:
        """Change parameters so that training may end near its optimum, where that saves time."""

    def _check_X(self, X: Any, y: Any = None, reset: bool = False) -> Sequences:
        """Convert X and y to the common form, and check the number and names of attributes."""

        def check_table(table: Any) -> Any:
            if hasattr(table, "iloc"):
                return validate_data(self, table, skip_check_array=True, reset=reset)
            return validate_data(self, table, accept_sparse="csr", dtype=None, reset=reset)

        sequences = as_sequences(X, check_table=check_table)
        is_table = sequences.mirror.is_table
        if not is_table and sequences.X.ndim > 1:
            _check_n_features(self, sequences.X, reset=reset)
        if y is None:
            return sequences
        if isinstance(y, GivenProbabilities):
            return sequences._replace(y=y.read(sequences))
        labels = sequences.mirror.labels(y, "y")
        if is_table:
            check_targets(labels.data)
        return sequences._replace(y=labels)

    def _check_training(
        self, X: Any, y: Any, sample_weight: Any, reset: bool
    ) -> tuple[Sequences, np.ndarray]:
        """Convert the training data to the common form and check it; weights are per token."""
        sequences, weights = self._check_labelled(X, y, sample_weight, reset)
        if sequences.X.offsets[-1] == 0:
            raise NoTokensError("X has no tokens: at least one sequence must not be empty")
        if not weights.any():
            raise ValueError("sample_weight is zero for all tokens")
        return sequences, weights

    def _check_labelled(
        self, X: Any, y: Any, sample_weight: Any, reset: bool
    ) -> tuple[Sequences, np.ndarray]:
        """Return the same for a part of the training data, which may lack tokens or weight."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        sequences = self._check_X(X, y, reset=reset)
        if sequences.X.ndim > 1:
            width = sequences.X.shape[1]
            what = f"the weights and names of the {width:,} columns of X"
            require_memory(64.0 * width, what, "leave out columns, or hash attributes to fewer")
        if sequences.mirror.is_table and (sequences.X.lengths == 1).all():
            warn_caller(SINGLE_TOKENS)
        return sequences, token_weights(sequences, sample_weight)

    def _probabilities(
        self, X: Any, subject_to: Any, method: str, function: Callable = np.asarray
    ) -> Any:
        """Return a function of the marginal probabilities, in the layout of X."""
        refuse_subject_to(subject_to, method)
        _refuse_encoded_labels(X, method)
        marginals, mirror = self._marginals(X)
        mirrored = mirror(function(marginals))
        # An object array of arrays, for a list of sequences, becomes a list of arrays.
        is_nested = isinstance(mirrored, np.ndarray) and mirrored.dtype == object
        return list(mirrored) if is_nested else mirrored

    def _marginals(self, X: Any) -> tuple[np.ndarray, Callable]:
        results, mirror = self._map(X, token_marginals)
        return np.concatenate(results), mirror

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        """Label ids of the best paths; ``first`` is the number of the first sequence."""
        value, y = structure.maximum(scores)
        raise_if_not_finite(value, structure, scores, first)
        raise_if_impossible(value, first)
        return y

    def _spans(
        self, structure: Structure, scores: Scores, first: int, scheme: str
    ) -> list[list[tuple]]:
        """Segments of the best paths of a batch, with their probabilities."""
        y, scheme = self._decode(structure, scores, first), scheme_or_bare(scheme, self.classes_)
        return spans_of(y, structure, scores, first, self.classes_, scheme)

    def _map(
        self,
        X: Any,
        function: Callable[..., Any],
        allowed: Any = None,
        requires: str | None = None,
        subject_to: Any = None,
        scores: Callable[[Any, Any, Batch], Scores] | None = None,
        asks: bool = False,
    ):
        """Apply a function to the scores of every batch, in order, on ``n_jobs`` threads.

        Parameters
        ----------
        X, allowed, subject_to : as in :meth:`predict`
        function : callable
            Takes the structure and scores of a batch, and the number of its first sequence. If
            there are constraints, ``subject_to``, and it does not ask, it must return label ids.
        requires : str, optional
            The capability of the structure that the function needs.
        scores : callable, optional
            Takes a copy of this estimator, what it prepared, and a batch, and returns scores; by
            default as :meth:`_scores`.
        asks : bool, default=False
            Whether the function takes the constraints too, as ``constraints``; None if there are
            none.

        Returns
        -------
        results : list
        mirror : callable
        """
        fitted = self._ready(X)
        fitted._given = X  # for classifiers that pass it on
        sequences = fitted._check_X(X)
        structure = fitted._structure(sequences.X)
        if requires is not None:
            structure.require([requires], type(self).__name__)
        constrained, more = None, {}
        if subject_to is not None:
            constrained = SubjectTo(subject_to, sequences.mirror, structure, fitted.classes_)
        if asks:
            more = {"constraints": constrained if subject_to else None}
        prepared = fitted._prepare_scores(sequences.X)
        masks = None
        if allowed is not None:
            masks = encode_allowed(sequences.mirror.labels(allowed, "allowed"), fitted.classes_)

        def run(batch: Batch) -> Any:
            made = (scores or type(fitted)._scores)(fitted, prepared, batch)
            if masks is not None:
                made = made.allow(masks[batch.start : batch.stop])
            check_shared_scores(made)
            result = function(batch.structure, made, batch.first, **more)
            if constrained is None or asks:
                return result
            return constrained.enforce(result, batch.structure, made, batch.first)

        return fitted._in_batches(structure, run), sequences.mirror

    def _in_batches(self, structure: Structure, run: Callable[[Batch], Any]) -> list:
        """Call a function with every batch, in order, on ``n_jobs`` threads."""
        retain_freed_memory()
        batches = [*batches_of(structure, self._scores_per_token())]
        if len(batches) == 1:
            return [run(batches[0])]
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads")
        return parallel(delayed(run)(batch) for batch in batches)


def accuracy(y: SequenceArray, predicted: SequenceArray, weights: np.ndarray) -> float:
    """Return the share of tokens with the right label, as :meth:`BaseSequenceClassifier.score`."""
    y, is_known = completed(y, predicted)
    weights = np.where(is_known, weights, 0.0)
    if not weights.any():
        raise ValueError(
            "there is nothing to score: no token of X has a known label and a positive weight"
        )
    correct = predicted.data.astype(object) == y.data.astype(object)
    return float(np.average(correct.astype(float), weights=weights))


def check_targets(y: np.ndarray) -> None:
    """Raise ValueError if y cannot be the labels of the rows of a table."""
    if y.dtype == object and unusual_types(y):
        known = [label for label in y.tolist() if not isinstance(label, (set, frozenset))]
        y = as_label_array([label for label in known if label is not None])
    if len(y) == 0:
        return
    try:
        check_classification_targets(y)
    except (TypeError, UnboundLocalError) as error:  # as scikit-learn does if y is not one array
        raise ValueError(f"y must be an array of one label for each row of X: {error}") from error


def _refuse_encoded_labels(X: Any, method: str) -> None:
    """Raise ValueError if ``cross_val_predict`` of scikit-learn asks for rows of sequences.

    It numbers the labels of each position apart, so that nothing it returns would be right. Only
    its calls tell this from other data.
    """
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_name != "_fit_and_predict":
        frame = frame.f_back
    is_asking = frame.f_code.co_name == "_fit_and_predict"
    if is_asking and frame.f_locals.get("method") == method and not is_table(X):
        raise ValueError(
            f"cross_val_predict(method={method!r}) of scikit-learn needs one label for each "
            "sample, but a sample is a sequence; use EmpiricalCRF.predict_out_of_fold, or a "
            'table with sample_unit="token"'
        )
