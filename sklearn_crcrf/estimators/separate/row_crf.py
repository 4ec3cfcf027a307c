"""A CRF of single tokens, which is a logistic regression over rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state

from ..._kernels.sparse.keys import number_keys
from ...criteria import log_loss
from ...data.ragged import joined_ranges
from ...data.sums import state_scores
from ...linear.corpus import Corpus
from ...linear.designs import observed_pairs
from ...linear.problem import Problem
from ...structures.rows import Rows, softmax
from ...training import FittedState
from ...training.loop import train
from ...utils.searching import places_in
from ...utils.soundness import Array, Requirement, Sound, labels, matrix
from ..crf import CRF
from ..crf.solving import check_supported, choose_solver, solve

# Returns weights of columns for labels; the column after the last attribute is the intercept.
Start = Callable[[np.ndarray, np.ndarray], np.ndarray]
# The parameters of a CRF that mean something without neighbours.
USED = {"sigma", "c1", "features", "solver", "max_iter", "tol", "dtype", "n_jobs", "random_state"}
USED |= {"verbose"}
# Equal rows become one if at most this fraction of them is left.
FEWER = 0.9
# An exponent is chosen by models whose tolerance is this times larger.
ROUGH = 10.0
# Odd numbers that mix the bits of keys.
MIX, MIX_MORE = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(eq=False, repr=False)
class RowCRF(FittedState, Sound, ClassifierMixin, BaseEstimator):
    """Classify rows of attributes as a CRF labels sequences of one token.

    This is multinomial logistic regression, in the kernels of :class:`~sklearn_crcrf.CRF`. There
    are no sequences: rows are trained on as they are, and equal rows with equal labels as one row
    of more weight, which does not change the loss. Each label has an intercept, whose prior is that
    of all weights.

    Parameters
    ----------
    crf : CRF
        Its ``sigma``, ``c1``, ``features``, ``solver``, ``max_iter``, ``tol``, ``dtype``,
        ``random_state`` and ``verbose`` are used. The others must be the defaults, but for
        ``n_jobs``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
    coef_ : ndarray or CSR of shape (n_attributes, n_labels)
    intercept_ : ndarray of shape (n_labels,)
    loss_curve_ : list of float
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.estimators.separate.row_crf import RowCRF
    >>> rows = RowCRF(CRF(sigma=10.0)).fit(np.array([[0.0], [1.0]]), np.array([3, 5]))
    >>> rows.classes_, rows.predict_proba(np.array([[0.0], [1.0]])).argmax(axis=1)
    (array([3, 5]), array([0, 1]))
    """

    crf: Any

    @property
    def verbose(self) -> int:
        """As of the CRF."""
        return self.crf.verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        start: Callable[[], Start | None] = lambda: None,
        n_threads: int = 1,
    ) -> "RowCRF":
        """Train on rows.

        Parameters
        ----------
        X : CSR or ndarray of shape (n_rows, n_attributes)
        y : ndarray of shape (n_rows,)
        sample_weight : ndarray of shape (n_rows,), optional
        start : callable, optional
            Returns a function, such as :meth:`weights` of an earlier model, or None: what training
            starts from. It is called once the rows are ready.
        n_threads : int, default=1
            The result does not depend on it.

        Returns
        -------
        RowCRF

        Raises
        ------
        ValueError
            If the CRF has a parameter that means nothing without neighbours.
        """
        check_row_parameters(self.crf, "crf")
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit(X, y, sample_weight, start, n_threads)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the labels of each row.

        Parameters
        ----------
        X : CSR or ndarray of shape (n_rows, n_attributes)

        Returns
        -------
        ndarray of shape (n_rows, n_labels), columns as in ``classes_``
        """
        scores = state_scores(X, self.coef_, 0, X.shape[0]) + self.intercept_
        softmax(scores, scores)
        return scores

    def weights(self, column: np.ndarray, label: np.ndarray) -> np.ndarray:
        """Return the weights of attributes for labels, 0 for labels that are not known.

        Parameters
        ----------
        column : ndarray of int of shape (n,)
            Numbers of attributes; that after the last one is the intercept.
        label : ndarray of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
        """
        place = places_in(self.classes_, label)
        is_known, is_last = place >= 0, column == self.coef_.shape[0]
        inner, last = np.flatnonzero(is_known & ~is_last), np.flatnonzero(is_known & is_last)
        found = np.zeros(len(column))
        if len(inner):  # else SciPy would return a sparse array
            found[inner] = self.coef_[column[inner], place[inner]]
        found[last] = self.intercept_[place[last]]
        return found

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        start: Callable[[], Start | None],
        n_threads: int,
    ) -> None:
        crf = self.crf
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        self.classes_, ids = np.unique(y, return_inverse=True)
        corpus = distinct_corpus(with_ones(X, row_dtype(crf, X.dtype)), ids, weight)
        pairs = None
        if crf.features == "observed":
            pairs = observed_pairs(sp.csr_array(corpus.X), corpus.y, len(self.classes_))
        self._train(row_problem(crf, corpus, pairs, len(self.classes_), n_threads), start())

    def _train(self, problem: Problem, start: Start | None) -> None:
        """Minimise the objective, and set the fitted attributes."""
        crf = self.crf
        solver = choose_solver(crf.solver, crf.c1)
        check_supported(solver, problem)
        x0 = self._start(problem, start)
        stochastic = {
            "rng": check_random_state(crf.random_state),
            "rate": None,
            "n_seen": problem.corpus.weight.sum(),
        }

        def iterate(callback: Callable) -> OptimizeResult:
            options = {"max_iter": crf.max_iter, "tol": crf.tol, "callback": callback}
            return solve(solver, problem, x0, c1=crf.c1, stochastic=stochastic, **options)

        def set_weights(fitted: Any, x: np.ndarray) -> None:
            coef = problem.coefficients(x)
            fitted.intercept_ = sp.csr_array(coef[-1:]).toarray()[0]
            fitted.coef_ = coef[:-1] if crf.c1 == 0 else sp.csr_array(coef[:-1])

        train(self, iterate, set_weights)

    def _start(self, problem: Problem, start: Start | None) -> np.ndarray:
        """Return the weights from which training starts: zeros, if there are no others."""
        x0 = np.zeros(problem.terms().n_weights, dtype=problem.corpus.X.dtype)
        if start is None:
            return x0
        n_columns, pairs = problem.corpus.X.shape[1], problem.pairs
        if pairs is None:
            every = np.arange(n_columns)
            for k, label in enumerate(self.classes_):
                x0[every * len(self.classes_) + k] = start(every, np.full(n_columns, label))
        else:
            column = np.repeat(np.arange(n_columns), np.diff(pairs.indptr))
            x0[:] = start(column, self.classes_[pairs.indices])
        return x0

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        n_attributes, n_labels = np.shape(self.coef_)[0], len(self.classes_)
        yield from matrix("coef_", self.coef_, (n_attributes, n_labels))
        yield Array("intercept_", self.intercept_, (n_labels,))


def as_row_classifier(estimator: Any, name: str) -> Any:
    """Return a classifier of rows: a CRF becomes a :class:`RowCRF`, others stay as they are.

    Parameters
    ----------
    estimator : classifier
    name : str
        Its name in the message of a ValueError, if the CRF cannot be one of rows.
    """
    if not isinstance(estimator, CRF):
        return estimator
    check_row_parameters(estimator, name)
    return RowCRF(estimator)


def roughly(estimator: Any) -> Any:
    """Return a classifier of rows for labels that are held out: a :class:`RowCRF` is less exact."""
    if not isinstance(estimator, RowCRF):
        return estimator
    crf = estimator.crf
    return RowCRF(clone(crf).set_params(tol=ROUGH * crf.tol))


def check_row_parameters(crf: Any, owner: str) -> None:
    """Check that a CRF has no parameter that means nothing for rows without neighbours.

    Raises
    ------
    ValueError
        The message names the parameter.
    """
    default = CRF().get_params(deep=False)
    for name, value in crf.get_params(deep=False).items():
        if name not in USED and name in default and not _is_default(value, default[name]):
            raise ValueError(
                f"{owner}=CRF({name}={value!r}): SeparateCRF trains rows without neighbours, by "
                f"the log loss, for which {name} must be the default"
            )
    if not isinstance(crf.features, str):
        raise ValueError(f'{owner}=CRF(features=...) must be "all" or "observed" for rows')
    clone(crf)._validate_params()


def distinct_rows(X: sp.csr_array, ids: np.ndarray) -> np.ndarray:
    """Find for each row an equal row that has the same id.

    Rows are equal if they have the same entries in the same order.

    Parameters
    ----------
    X : CSR of shape (n_rows, n_columns)
    ids : ndarray of int of shape (n_rows,)

    Returns
    -------
    ndarray of int64 of shape (n_rows,)
        The number of the row that stands for each row: for most, the first that is equal.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.estimators.separate.row_crf import distinct_rows
    >>> distinct_rows(sp.csr_array([[1.0, 0.0], [1.0, 0.0], [1.0, 2.0]]), np.array([0, 0, 0]))
    array([0, 0, 2])
    """
    n_rows, every = X.shape[0], np.arange(X.shape[0])
    lengths = np.diff(X.indptr)
    bits = np.ascontiguousarray(X.data, dtype=float).view(np.uint64)
    entry = (X.indices.astype(np.uint64) + np.uint64(1)) * MIX ^ (bits * MIX_MORE)
    entry = (entry ^ (entry >> np.uint64(29))) * MIX_MORE
    entry ^= entry >> np.uint64(32)
    sums = np.append(np.uint64(0), np.cumsum(entry * MIX, dtype=np.uint64))
    keys = sums[X.indptr[1:]] - sums[X.indptr[:-1]] + ids.astype(np.uint64) * MIX
    number, first = number_keys((keys >> np.uint64(1)).view(np.int64))
    like = first[number]
    # Different rows may have equal keys; these stand for themselves.
    is_same = (lengths == lengths[like]) & (ids == ids[like])
    own = np.where(is_same, lengths, 0)
    here = joined_ranges(X.indptr[:-1].astype(np.int64), own)
    there = joined_ranges(X.indptr[like].astype(np.int64), own)
    differs = (X.indices[here] != X.indices[there]) | (X.data[here] != X.data[there])
    is_same[np.repeat(every, own)[differs]] = False
    return np.where(is_same, like, every) if n_rows else every


def row_problem(
    crf: Any,
    corpus: Corpus,
    pairs: sp.csr_array | None,
    n_labels: int,
    n_threads: int,
    parts: Any = None,
) -> Problem:
    """Return the training problem of rows: no transitions, and weights of columns and labels.

    Parameters
    ----------
    crf : CRF
        Its ``sigma`` is used.
    corpus, pairs, n_labels, n_threads, parts : as of :class:`Problem`
    """
    return Problem(
        corpus=corpus,
        edge_attributes=np.empty(0, dtype=np.int64),
        n_labels=n_labels,
        pairs=pairs,
        transitions=np.empty((0, 0), dtype=np.int64),
        boundaries=False,
        criterion=log_loss,
        forbidden=None,
        sigma=crf.sigma,
        n_threads=n_threads,
        parts=parts,
    )


def row_dtype(crf: Any, given: Any) -> np.dtype:
    """Return the type of attributes and weights, for attributes of a given type."""
    is_single = np.dtype(crf.dtype or given).itemsize == 4
    return np.dtype(np.float32 if is_single else np.float64)


def distinct_corpus(X: Any, ids: np.ndarray, weight: np.ndarray) -> Corpus:
    """Return the rows to train on: equal rows as one, unless it would save little."""
    chosen, weight = _merged(X, ids, weight)
    return Corpus(X[chosen], ids[chosen].astype(np.int32), Rows(len(chosen)), weight)


def _merged(X: Any, ids: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on, and their weights: those of all rows that are equal."""
    like = distinct_rows(X, ids) if sp.issparse(X) else np.arange(len(ids))
    total = np.bincount(like, weight, minlength=len(ids))
    chosen = np.flatnonzero(total)
    if len(chosen) <= FEWER * np.count_nonzero(weight):
        return chosen, total[chosen]
    chosen = np.flatnonzero(weight)
    return chosen, weight[chosen]


def with_ones(X: Any, dtype: Any) -> Any:
    """X with a column of ones as the last one."""
    ones = np.ones((X.shape[0], 1), dtype=dtype)
    if sp.issparse(X):
        return sp.csr_array(sp.hstack([sp.csr_array(X).astype(dtype), ones], format="csr"))
    return np.hstack([np.asarray(X, dtype=dtype), ones])


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return len(value) == 0 and len(default or ()) == 0
    return value is default or bool(value == default)
