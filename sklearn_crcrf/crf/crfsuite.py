"""CRF with the names and defaults of sklearn-crfsuite, for programs written for that."""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ..base.docstrings import documented
from ..base.summary import SummaryMixin
from ..data.ragged import SequenceArray, locate, object_array
from ..data.sequences import as_sequences
from ..feature_extraction import SequenceVectorizer
from ..linear import Corpus, observed_pairs, transition_counts
from ..linear.serving import linear_tagger_of
from ..serving import Tagger
from ..training import FittedState
from ..utils.soundness import Fact, Requirement, Sound
from .estimator import CRF
from .features import Features

__all__ = ["CRFsuiteCRF"]


class _Algorithm(NamedTuple):
    """The solver that stands for an algorithm of CRFsuite, and the defaults there.

    The ``tol`` of the solver is about the change of the objective over ``span`` iterations.
    """

    solver: str
    span: int
    max_iterations: int
    delta: float


ALGORITHMS = {
    "lbfgs": _Algorithm("auto", 10, 2**31 - 1, 1e-5),
    "l2sgd": _Algorithm("sgd", 5, 1000, 1e-6),
}
PERIOD = 10
_LISTS = (list, tuple, set, frozenset)


@documented
class CRFsuiteCRF(FittedState, Sound, SummaryMixin, BaseEstimator):
    """CRF with the parameters, methods and attributes of ``sklearn_crfsuite.CRF``.

    It has the same features and the same optimum. A parameter that is None has the default of
    CRFsuite. Where :class:`CRF` offers more, such as probabilities of whole labellings, the
    attribute ``crf_`` has it.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd"}, default=None
        Limited-memory BFGS ("lbfgs", which None stands for) or stochastic gradient descent.
    min_freq : float, default=None
        Features, that is pairs of attribute and label or of two labels, that occur fewer times
        have no weight. None is 0.
    all_possible_states, all_possible_transitions : bool, default=None
        Whether pairs of attribute and label, and of two labels, that do not occur in training
        have weights too. None is False.
    c1, c2 : float, default=None
        Strengths of the penalties ``c1 * |w|`` and ``c2 * ||w||^2``. None is 0 for c1, which
        only "lbfgs" can have, and 1 for c2. Both are named as in CRFsuite; c1 is the same
        as in :class:`CRF`, and c2 is ``1 / (2 sigma ** 2)``.
    max_iterations : int, default=None
        None is no limit for "lbfgs", and 1000 for "l2sgd".
    period : int, default=None
        None is 10.
    delta : float, default=None
        Training stops when the objective fell by less than this part over ``period``
        iterations. None is 1e-5 for "lbfgs", and 1e-6 for "l2sgd".
    verbose : bool, default=False
        Print a line after each iteration.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Of "l2sgd".

    Attributes
    ----------
    crf_ : CRF
        What is trained, on the rows that ``vectorizer_`` makes.
    vectorizer_ : SequenceVectorizer
    classes_ : list
        All labels.
    attributes_ : list of str
        The attributes that have a weight other than zero: keys, or ``"key:value"``.
    num_attributes_ : int
        Number of ``attributes_``.
    state_features_ : dict
        The weights ``{(attribute, label): weight}`` that are not zero.
    transition_features_ : dict
        The weights ``{(label, next label): weight}`` that are not zero.
    {loss_curve_}
    {n_iter_}
    converged_ : bool
        Whether training ended by itself: it was neither interrupted nor ended by
        ``max_iterations``.

    See Also
    --------
    CRF : The same model in the terms of scikit-learn, which takes more kinds of input.

    Examples
    --------
    >>> from sklearn_crcrf import CRFsuiteCRF
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "dogs"}, {"word": "sleep"}]]
    >>> crf = CRFsuiteCRF(c2=0.1).fit(X, [["D", "N"], ["N", "V"]])
    >>> crf.predict_single([{"word": "the"}, {"word": "dogs"}])
    ['D', 'N']
    >>> sorted(crf.state_features_)
    [('word:dog', 'N'), ('word:dogs', 'N'), ('word:sleep', 'V'), ('word:the', 'D')]
    """

    _parameter_constraints: dict = {
        "algorithm": [str, None],
        "min_freq": [Interval(Real, 0, None, closed="left"), None],
        "all_possible_states": ["boolean", None],
        "all_possible_transitions": ["boolean", None],
        "c1": [Interval(Real, 0, None, closed="left"), None],
        "c2": [Interval(Real, 0, None, closed="left"), None],
        "max_iterations": [Interval(Integral, 0, None, closed="left"), None],
        "period": [Interval(Integral, 1, None, closed="left"), None],
        "delta": [Interval(Real, 0, None, closed="left"), None],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        algorithm=None,
        min_freq=None,
        all_possible_states=None,
        all_possible_transitions=None,
        c1=None,
        c2=None,
        max_iterations=None,
        *,
        period=None,
        delta=None,
        verbose=False,
        n_jobs=None,
        random_state=None,
    ):
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.period = period
        self.delta = delta
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.target_tags.required = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> "CRFsuiteCRF":
        """Train.

        Parameters
        ----------
        X : list of sequences
            Their tokens are feature dicts, or lists of attributes that are strings.
        y : list of label lists
        sample_weight : array-like of shape (n_sequences,), optional

        Returns
        -------
        CRFsuiteCRF
            Itself. If training fails, it stays as it was; if it is interrupted, it has the
            weights of the last iteration.

        Raises
        ------
        ValueError
            If CRF cannot do what a parameter asks for, or input is not valid.
        """
        with self._replaced_by(self._unfitted()) as twin:
            twin.crf_, twin.vectorizer_ = self._make_crf(), SequenceVectorizer(separator=":")
            twin.crf_.fit(twin.vectorizer_.fit_transform(_read(X)), y, sample_weight)
            twin.crf_.attribute_names_ = twin.vectorizer_.get_feature_names_out()
        return self

    def predict(self, X: Any, *, subject_to: Any = None) -> np.ndarray:
        """The labels of the best path of each sequence.

        Parameters
        ----------
        X : as in :meth:`fit`
        {subject_to}

        Returns
        -------
        ndarray of n_sequences lists of labels

        Raises
        ------
        ValueError
            If ``subject_to`` does not fit X, or no path that satisfies it is possible.
        """
        labels = self._fitted().predict(self._rows(X), subject_to=subject_to)
        return object_array(labels.tolist())

    def tagger(self) -> Tagger:
        """Make an immutable object that labels one sequence in one compiled call.

        Returns
        -------
        Tagger
            It gives the labels of :meth:`predict`; see :class:`~sklearn_crcrf.serving.Tagger`.
        """
        crf, vectorizer = self._fitted(), self.vectorizer_
        symbols, dtype = vectorizer.vocabulary_.symbols, np.dtype(vectorizer.dtype)
        return linear_tagger_of(crf, symbols, dtype, separator=vectorizer.separator, lists=True)

    def predict_single(self, xseq: Any) -> list:
        """The labels of the best path of one sequence.

        Parameters
        ----------
        xseq : list of dicts

        Returns
        -------
        labels : list
        """
        return self.predict([xseq])[0]

    def predict_marginals(self, X: Any) -> np.ndarray:
        """Marginal probabilities of the labels of each token.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        ndarray of n_sequences lists of dicts
            For each token a dict ``{label: probability}``.
        """
        labels = self.classes_
        marginals = self._fitted().predict_proba(self._rows(X))
        tokens = [dict(zip(labels, row, strict=True)) for row in marginals.data.tolist()]
        return object_array([tokens[a:b] for a, b in pairwise(marginals.offsets)])

    def predict_marginals_single(self, xseq: Any) -> list[dict]:
        """Marginal probabilities of the labels of each token of one sequence.

        Parameters
        ----------
        xseq : list of dicts

        Returns
        -------
        probabilities : list of dicts
            From labels to probabilities, one for each token.
        """
        return self.predict_marginals([xseq])[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the labels of all tokens.

        Parameters
        ----------
        X, y, sample_weight : as in :meth:`fit`

        Returns
        -------
        float
        """
        return self._fitted().score(self._rows(X), y, sample_weight)

    @property
    def classes_(self) -> list:
        """All labels."""
        return self._fitted().classes_.tolist()

    @property
    def attributes_(self) -> list[str]:
        """The attributes that have a weight other than zero: keys, or ``"key:value"``."""
        crf = self._fitted()
        attribute, _ = crf.coef_.nonzero()
        return crf.attribute_names_[np.unique(attribute)].tolist()

    @property
    def num_attributes_(self) -> int:
        """Number of :attr:`attributes_`."""
        return len(self.attributes_)

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """The weights ``{(attribute, label): weight}`` that are not zero."""
        return self._fitted().state_features_

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """The weights ``{(label, next label): weight}`` that are not zero."""
        return self._fitted().transition_features_

    @property
    def loss_curve_(self) -> list[float]:
        """The objective, with the penalties, after each iteration."""
        return self._fitted().loss_curve_

    @property
    def n_iter_(self) -> int:
        """Number of iterations."""
        return self._fitted().n_iter_

    @property
    def converged_(self) -> bool:
        """Whether training ended by itself."""
        return self._fitted().converged_

    def _make_crf(self) -> CRF:
        """The CRF that the parameters describe."""
        algorithm = _or("lbfgs", self.algorithm)
        if algorithm not in ALGORITHMS:
            raise ValueError(
                f"algorithm={algorithm!r}: CRFsuiteCRF has {list(ALGORITHMS)}, which maximise the "
                "likelihood; other ways to train are the parameters criterion and solver of CRF"
            )
        solver, span, max_iterations, delta = ALGORITHMS[algorithm]
        c1, c2 = _or(0.0, self.c1), _or(1.0, self.c2)
        if c1 > 0 and algorithm != "lbfgs":
            raise ValueError(f'c1={c1} needs algorithm="lbfgs", got {algorithm!r}')
        return CRF(
            sigma=(2.0 * c2) ** -0.5 if c2 > 0 else np.inf,
            c1=c1,
            features=_FrequentFeatures(
                _or(0.0, self.min_freq),
                _or(False, self.all_possible_states),
                _or(False, self.all_possible_transitions),
            ),
            solver=solver,
            max_iter=_or(max_iterations, self.max_iterations),
            tol=_or(delta, self.delta) * span / _or(PERIOD, self.period),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def _requirements(self) -> Iterator[Requirement]:
        yield Fact("crf_", isinstance(self.crf_, CRF), "must be a CRF")
        is_vectorizer = isinstance(self.vectorizer_, SequenceVectorizer)
        yield Fact("vectorizer_", is_vectorizer, "must be a SequenceVectorizer")
        n_attributes = self.crf_.coef_.shape[0]
        known = len(self.vectorizer_.vocabulary_) == n_attributes
        yield Fact("vectorizer_.vocabulary_", known, f"must have {n_attributes} symbols")

    def _facts(self) -> dict[str, str]:
        return self.crf_._facts() if hasattr(self, "crf_") else {}

    def _fitted(self) -> CRF:
        check_is_fitted(self, "crf_")
        return self.crf_

    def _rows(self, X: Any) -> SequenceArray:
        check_is_fitted(self, "crf_")
        return self.vectorizer_.transform(_read(X))


class _FrequentFeatures(NamedTuple):
    """The features that CRFsuite chooses: the values of an attribute are summed to a frequency."""

    min_freq: float
    all_states: bool
    all_transitions: bool

    def __call__(self, corpus: Corpus, n_labels: int) -> Features:
        counts = transition_counts(corpus, n_labels)
        seen = self.all_transitions | (counts > 0)
        return Features(self._pairs(corpus, n_labels), seen & (counts >= self.min_freq))

    def _pairs(self, corpus: Corpus, n_labels: int) -> sp.csr_array | None:
        frequency = observed_pairs(sp.csr_array(corpus.X), corpus.y, n_labels)
        if self.all_states and min(frequency.data.min(initial=0.0), 0.0) >= self.min_freq:
            return None
        if self.all_states:
            return sp.csr_array((frequency.toarray() >= self.min_freq).astype(float))
        frequency.data = (frequency.data >= self.min_freq).astype(float)
        frequency.eliminate_zeros()
        return frequency


def _read(X: Any) -> SequenceArray:
    """The tokens of X, where lists of attributes are feature dicts too."""
    sequences, _, mirror = as_sequences(X)
    if mirror.is_table:
        raise ValueError("X must be a list of sequences, and not a table: CRF takes tables too")
    data, offsets = sequences.data, sequences.offsets
    if not (isinstance(data, np.ndarray) and data.dtype.kind == "O"):
        return sequences
    tokens = [
        _counted(attributes, offsets, token) if isinstance(attributes, _LISTS) else attributes
        for token, attributes in enumerate(data.tolist())
    ]
    return SequenceArray(object_array(tokens), offsets)


def _counted(attributes: Collection, offsets: np.ndarray, token: int) -> Counter:
    try:
        return Counter(attributes)
    except TypeError:
        sequence, position = locate(offsets, token)
        raise ValueError(
            f"X, sequence {sequence}, position {position}: attributes must be str, got "
            f"{attributes!r}"
        ) from None


def _or(default: Any, value: Any) -> Any:
    return default if value is None else value
