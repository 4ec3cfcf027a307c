"""OutputCodeCRF: many labels, as the bits of a code."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ...base.batches import Batch
from ...base.docstrings import documented
from ...data.sums import state_scores
from ...linear.classifier import LinearChainClassifier
from ...linear.corpus import Corpus
from ...solvers import column_lbfgs
from ...structures import Scores
from ...training.loop import CallbackSupportMixin, FitProgress, train
from ...utils.soundness import Array, Requirement
from .codes import CODES, check_rows_differ, error_bounds, given_code
from .columns import BitOrder, Columns
from .decoding import DECODINGS, nearest_code_scores, product_weights


@documented
@dataclass(eq=False, repr=False)
class OutputCodeCRF(CallbackSupportMixin, LinearChainClassifier):
    """Conditional random field for many labels, as the bits of an error-correcting code [1]_.

    Every label has a code of ``n_columns`` bits. A CRF with the labels 0 and 1 is trained for each
    bit, so that the time of training does not grow with the square of the number of labels. All
    columns are trained in lock step, by maximum likelihood with a Gaussian prior.

    The product of all columns is a :class:`CRF` over the labels: ``coef_`` and ``transitions_``
    are sums over columns. So whatever works with a CRF works with it, but its probabilities are
    products of many columns that know nothing of each other, and are too near to 0 and 1.

    A :class:`CRF` is more accurate wherever its time can be afforded.

    Parameters
    ----------
    code : {"balanced", "random", "one_vs_rest"} or array-like of shape (n_labels, n_columns), \
default="balanced"
        The bits of each label, in the order of ``classes_``. "balanced" splits the tokens in
        halves, "random" the labels, and "one_vs_rest" has a column for each label.
    code_size : int, default=64
        Number of columns of a balanced or random code.
    decoding : {"product", "marginal", "hamming"}, default="product"
        What :meth:`predict` finds: the best labelling of the product of all columns, or at each
        token the label whose code is nearest to the marginal probabilities of the bits, or to the
        bits of the best labelling of each column. Codes that differ in d bits correct
        ``(d - 1) // 2`` wrong bits.
    {sigma}
    {min_freq}
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-4
        A column ends when its objective fell by less than this fraction of its value over ten
        iterations.
    {class_weight}
    {dtype}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Makes the code.
    {verbose}

    Attributes
    ----------
    {classes_}
    code_book_ : bool ndarray of shape (n_labels, n_columns)
        The code of each label.
    column_coef_ : ndarray of shape (n_attributes, n_columns)
        The weight of each attribute for bit 1 instead of bit 0.
    column_transitions_ : ndarray of shape (4, n_columns)
        The weights of the transitions from 0 to 0, from 0 to 1, from 1 to 0, and from 1 to 1.
    bounds_ : ndarray of shape (n_columns,)
        Upper bounds of the fraction of training sequences with a wrong label, for the first 1, 2,
        ... columns; inf where two labels have the same code. If the last values still fall, more
        columns help.
    {coef_}
    {transitions_}
    begin_, end_ : ndarray of shape (n_labels,)
        Zero.
    edge_coef_ : ndarray of shape (n_edge_attributes, n_labels, n_labels)
        Empty, as transitions depend on no attributes.
    edge_attribute_names_ : ndarray of shape (n_edge_attributes,)
        Empty.
    {attribute_names_}
    {state_features_}
    {transition_features_}
    loss_curve_ : list of float
        The sum of the objectives of all columns, with the penalty, after each iteration.
    {n_iter_}
    {converged_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LatticeCRF : More accurate with many labels.

    References
    ----------
    .. [1] Cohn, Smith, Osborne, "Scaling Conditional Random Fields Using Error-Correcting Codes",
       ACL 2005.

    Examples
    --------
    >>> from sklearn_crcrf import OutputCodeCRF
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> crf = OutputCodeCRF(code_size=8, random_state=0).fit(X, y)
    >>> crf.predict([["the", "cat", "sleeps"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    >>> crf.code_book_.shape
    (3, 8)
    """

    _labels_by_scores = False

    code: Any = "balanced"
    code_size: int = 64
    _: KW_ONLY
    decoding: str = "product"
    sigma: float = 1.0
    min_freq: int = 1
    max_iter: int = 200
    tol: float = 1e-4
    class_weight: Any = None
    dtype: Any = None
    sample_unit: str = "sequence"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "code": [StrOptions(set(CODES)), "array-like"],
        "code_size": [Interval(Integral, 1, None, closed="left")],
        "decoding": [StrOptions(set(DECODINGS))],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # There is no intercept, and rows of zeros say nothing.
        tags.classifier_tags.poor_score = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "OutputCodeCRF":
        """Make the code, and train its columns.

        Parameters
        ----------
        {X}
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels; partial labels are not accepted.
        {sample_weight}

        Returns
        -------
        OutputCodeCRF
            Itself. If training fails, it stays as it was; if it is interrupted, it
            has the weights of the last iteration.

        Raises
        ------
        ValueError
            If a label is unknown, two labels have the same code, edges have types or attributes,
            there is no token, or input is not valid; the message says where.
        """
        progress = FitProgress(self, self.max_iter, X, y, sample_weight)
        with self._replaced_by(self._unfitted()) as twin:
            corpus = twin._read(X, y, sample_weight)
            corpus.require_labels()
            if len(twin._encoder.edge_attributes):
                raise ValueError("X: OutputCodeCRF takes no edges with types or attributes")
            twin._train(corpus.longest_first(), progress)
        return self

    def _train(self, corpus: Corpus, progress: FitProgress) -> None:
        """Train the columns, and set the fitted attributes."""
        BitOrder.of(corpus.structure)  # raises an error for other structures
        n_labels = len(self.classes_)
        if isinstance(self.code, str):
            weight = np.repeat(corpus.weight, np.diff(corpus.offsets))
            frequencies = np.bincount(corpus.y, weight, minlength=n_labels)
            rng = check_random_state(self.random_state)
            self.code_book_ = CODES[self.code](frequencies, self.code_size, rng)
        else:
            self.code_book_ = given_code(self.code, n_labels)
        check_rows_differ(self.code_book_, self.classes_)
        columns = Columns(corpus, self.code_book_, self.sigma, effective_n_jobs(self.n_jobs))
        train(
            self,
            lambda callback: column_lbfgs(
                columns, columns.start(), max_iter=self.max_iter, tol=self.tol, callback=callback
            ),
            lambda fitted, x: fitted._set_weights(x, columns, corpus.weight.sum()),
            progress=progress,
        )

    def _set_weights(self, x: np.ndarray, columns: Columns, weight: float) -> None:
        columns(x)
        losses = columns.losses[: columns.n_columns]
        self.bounds_ = error_bounds(self.code_book_, losses, weight)
        n_labels, n_columns = self.code_book_.shape
        x = x[:, :n_columns]
        self.column_coef_ = np.ascontiguousarray(x[:-4])
        self.column_transitions_ = x[-4:].astype(float)
        self.coef_, self.transitions_ = product_weights(
            self.column_coef_, self.column_transitions_, self.code_book_
        )
        self.begin_, self.end_ = np.zeros(n_labels), np.zeros(n_labels)
        self.edge_coef_ = np.zeros((0, n_labels, n_labels))

    def predict(self, X: Any, allowed: Any = None, subject_to: Any = None) -> Any:
        """Return the labels of each sequence, as ``decoding`` finds them.

        Parameters
        ----------
        X : list of sequences, SequenceArray, GraphArray, 2-D array, CSR or DataFrame
            The sequences to label, in any form that :meth:`fit` takes.
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
        find_bits = DECODINGS[self.decoding]
        if find_bits is None:
            return super().predict(X, allowed, subject_to)

        def scores(fitted: OutputCodeCRF, prepared: Any, batch: Batch) -> Scores:
            log_odds = state_scores(prepared[0], fitted.column_coef_, batch.start, batch.stop)
            return nearest_code_scores(
                find_bits,
                batch.structure,
                log_odds,
                transitions=fitted.column_transitions_,
                code=fitted.code_book_,
            )

        y, mirror = self._map(X, self._decode, allowed, subject_to=subject_to, scores=scores)
        return mirror(self.classes_[np.concatenate(y)])

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        n_labels, n_attributes = len(self.classes_), len(self.attribute_names_)
        n_columns = len(self.code_book_.T)
        yield Array("code_book_", self.code_book_, (n_labels, n_columns), kind="b")
        yield Array("column_coef_", self.column_coef_, (n_attributes, n_columns))
        yield Array("column_transitions_", self.column_transitions_, (4, n_columns))
        yield Array("bounds_", self.bounds_, (n_columns,), least=0.0, most=np.inf)
