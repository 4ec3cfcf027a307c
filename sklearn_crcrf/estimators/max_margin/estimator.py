"""MaxMarginCRF: a chain trained so that gold paths are best by a margin."""

from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from scipy.optimize import OptimizeResult
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ...base.docstrings import documented
from ...linear.examples import Coefficients, Examples
from ...training.loop import FitProgress, train
from ...utils.linear_algebra import in_one_thread
from ..perceptron.online import ExamplesClassifier
from .active_paths import frank_wolfe, minimal_optimisation
from .exponentiated_gradient import ExponentiatedGradient
from .problem import MarginProblem, Solver, minimise
from .subgradient import Subgradient

SOLVERS: dict[str, Callable[[MarginProblem], Solver]] = {
    "bcfw": frank_wolfe,
    "smo": minimal_optimisation,
    "eg": ExponentiatedGradient,
    "subgradient": Subgradient,
}
"""Makers of solvers, by name."""


@documented
@dataclass(eq=False, repr=False)
class MaxMarginCRF(ExamplesClassifier):
    r"""Max-margin Markov network: a linear chain whose gold paths are best by a margin [1]_.

    The score of a labelling is linear in the weights, as in a :class:`CRF`. The gold path of each
    sequence should score higher than any other path, by the number of wrong labels of that path.
    The weights minimise

    .. math::

       \sum_i \mathrm{weight}_i \max_y \left[s(x_i, y) + d(y, y_i) - s(x_i, y_i)\right] +
       \frac{\lVert w \rVert^2}{2 C}

    with d the number of tokens whose labels differ. This is the structural support vector machine
    with one slack per sequence; its usual objective,
    :math:`\lVert w \rVert^2 / 2 + C \sum_i \mathrm{slack}_i`, is C times this one.
    ``CRF("max_margin", sigma)`` minimises the same objective with ``C = sigma ** 2``; here the dual
    is used too, which bounds the distance from the minimum when training ends.

    Scores are not trained to be log-probabilities: :meth:`predict_proba` and similar methods
    normalise them nevertheless. For probabilities train a :class:`CRF`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the margin relative to the norm of the weights, in (0, inf): the C of
        scikit-learn's support vector machines, and ``sigma ** 2`` for the sigma of :class:`CRF`.
        The larger it is, the more passes are needed.
    solver : {"bcfw", "smo", "eg", "subgradient"}, default="bcfw"
        Block-coordinate Frank-Wolfe [2]_; sequential minimal optimisation over pairs of
        labellings [1]_; the online exponentiated gradient [3]_; or averaged stochastic
        subgradients [4]_. The first two are about equally fast. The third loops over sequences in
        Python, which takes about 30 times as long; it and the last close the gap slowly.
    max_iter : int, default=200
        Maximum number of passes over all sequences.
    tol : float, default=1e-2
        Stop when the duality gap is at most this fraction of the objective.
    {min_freq}
    {boundaries}
    {edge_columns}
    {constraints}
    {class_weight}
    dtype : {"float32", "float64"} or None, default=None
        Precision of weights; by default the precision of a numeric X, else float64. In single
        precision the relative gap cannot fall below about 1e-5.
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict; training uses one.
    random_state : int, RandomState or None, default=None
        Chooses the order of the sequences in each pass.
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
        The objective of the best weights up to each pass; the best weights are kept.
    dual_curve_ : list of float
        The largest lower bound of the objective up to each pass.
    duality_gap_ : float
        The last objective minus the last bound; the minimum is lower by at most this much.
    {n_iter_}
    {converged_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    CRF : The same loss, with observed features only or with early stopping if wanted.
    StructuredPerceptron : Faster, without margin and penalty.

    References
    ----------
    .. [1] Taskar, Guestrin, Koller, "Max-Margin Markov Networks", NIPS 2003.
    .. [2] Lacoste-Julien, Jaggi, Schmidt, Pletscher, "Block-Coordinate Frank-Wolfe Optimization
       for Structural SVMs", ICML 2013.
    .. [3] Collins, Globerson, Koo, Carreras, Bartlett, "Exponentiated Gradient Algorithms for
       Conditional Random Fields and Max-Margin Markov Networks", JMLR 9 (2008).
    .. [4] Ratliff, Bagnell, Zinkevich, "(Online) Subgradient Methods for Structured
       Prediction", AISTATS 2007.

    Examples
    --------
    >>> from sklearn_crcrf import MaxMarginCRF
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> crf = MaxMarginCRF(random_state=0).fit(X, y)
    >>> crf.predict([["the", "cat", "walks"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    >>> crf.duality_gap_ < 0.01 * crf.loss_curve_[-1]
    True
    """

    C: float = 1.0
    solver: str = "bcfw"
    _: KW_ONLY
    max_iter: int = 200
    tol: float = 1e-2
    min_freq: int = 1
    boundaries: bool = False
    edge_columns: Collection = ()
    constraints: Any = None
    class_weight: Any = None
    dtype: Any = None
    sample_unit: str = "sequence"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions(set(SOLVERS))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MaxMarginCRF":
        """Train on labelled sequences.

        Parameters
        ----------
        {X}
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels; partial labels are not accepted.
        {sample_weight}

        Returns
        -------
        MaxMarginCRF
            Itself. If training fails, it stays as it was; if it is interrupted, it
            has the best weights of the completed passes.

        Raises
        ------
        ValueError
            If a label is unknown, there is no token, or input is not valid; the message says
            where.
        """
        progress = FitProgress(self, self.max_iter, X, y, sample_weight)
        with self._replaced_by(self._unfitted()) as twin:
            examples = twin._examples(twin._read(X, y, sample_weight))
            twin._train(examples, progress)
        return self

    def _train(self, examples: Examples, progress: FitProgress) -> None:
        """Solve the problem, and set the fitted attributes."""
        problem = MarginProblem(examples, self.C)
        if len(problem.sequences) == 0:
            raise ValueError("sample_weight and class_weight leave no sequence with any weight")
        duals: list[float] = []

        def iterate(callback: Callable) -> OptimizeResult:
            def note(result: OptimizeResult) -> None:
                duals.append(result.dual)
                callback(result)

            with in_one_thread():
                return minimise(
                    problem,
                    SOLVERS[self.solver],
                    max_iter=self.max_iter,
                    tol=self.tol,
                    callback=note,
                    rng=check_random_state(self.random_state),
                )

        train(self, iterate, lambda fitted, x: fitted._set_weights(x, duals), progress=progress)

    def _set_weights(self, x: Coefficients, duals: list[float]) -> None:
        self._set_coefficients(x)
        self.dual_curve_ = duals[: self.n_iter_]
        self.duality_gap_ = self.loss_curve_[-1] - self.dual_curve_[-1]
