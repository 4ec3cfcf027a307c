"""CRF: the linear-chain conditional random field of iterative training."""

from collections.abc import Callable, Collection
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from ...base.docstrings import documented
from ...base.no_tokens import may_bring_no_tokens
from ...base.weights import NamedWeights, Weights
from ...counts.classifier import CountingClassifier
from ...criteria import CRITERIA, as_criterion
from ...data.ones import with_small_values, without_zeros
from ...labels.soft import GivenProbabilities, soft_labels
from ...linear.classifier import DECODERS, LinearChainClassifier, LinearClassifier
from ...linear.corpus import Corpus
from ...linear.folder_shards import FolderShards
from ...linear.parts import ModelShape
from ...linear.problem import Problem
from ...linear.terms import numbered
from ...out_of_core import CorpusFolder
from ...out_of_core.corpus_folder import refuse_what_needs_all
from ...structures import Scores, Structure
from ...training.loop import CallbackSupportMixin, FitProgress, hold_out_of, train
from .features import FEATURES, Features
from .initial_weights import STARTS, given_weights, trained_weights
from .solving import SOLVERS, check_supported, choose_solver, solve

# The tolerance of a model that only says how much it is worth compared with others.
ROUGH = 0.1


@documented
@dataclass(eq=False, repr=False)
class CRF(CallbackSupportMixin, LinearChainClassifier):
    """Linear-chain conditional random field, trained by minimising a loss [1]_.

    The score of a labelling is linear in the weights,

    .. math::

       s(x, y) = \\sum_t x_t^\\top \\mathrm{coef}_{\\cdot, y_t} + \\sum_{t > 0}
       \\mathrm{transitions}_{y_{t-1}, y_t},

    and its probability is :math:`\\exp s(x, y)`, divided by the sum of this over all labellings.
    The weights minimise the sum of the losses of all sequences plus the penalty

    .. math::

       \\frac{\\lVert w \\rVert^2}{2 \\sigma^2} + c_1 \\lVert w \\rVert_1.

    Parameters
    ----------
    criterion : {"log_loss", "piecewise", "pseudo_likelihood", "marginal_likelihood", \
"max_margin", "softmax_margin", "expected_cost", "token_error", "mce", "mce_f1"} or callable, \
default="log_loss"
        The loss of a sequence: a name or an object of :mod:`sklearn_crcrf.criteria`. A grid
        search reaches the parameters of an object as ``criterion__...``.
    {sigma}
    {c1}
    features : {"all", "observed"} or callable, default="all"
        Which pairs of attribute and label, and of two labels, have a weight: all, or those that
        occur in training. A callable chooses them, see
        :mod:`sklearn_crcrf.estimators.crf.features`.
    {min_freq}
    {boundaries}
    {edge_columns}
    {constraints}
    solver : {"auto", "lbfgs", "owlqn", "sgd", "newton-cg", "cg", "rprop", "quickprop", \
"gpd-quickprop", "gis", "bundle"}, default="auto"
        "auto" is "owlqn" if c1 is positive, else what suits the criterion, mostly "lbfgs". "bundle"
        is for convex losses with kinks, such as "max_margin", and knows how near the minimum is.
    {max_iter}
    {tol}
    init : {"auto", "zeros", "empirical", "log_loss"}, estimator or Weights, default="auto"
        Where training starts. "empirical" takes weights from counts of attributes and labels,
        "log_loss" from a fit of the log loss with a sigma of 1. An estimator of this package with
        ``coef_``, such as :class:`EmpiricalCRF` (``zeros="smoothed"``) or :class:`HMM`, is trained
        first, and attributes of the same name get its weights. "auto" is "zeros", or "log_loss" if
        the criterion is not convex or not smooth.
    {warm_start}
    {class_weight}
    {validation_fraction}
    {n_iter_no_change}
    {solver_options}
    decoding : {"auto", "viterbi", "marginal"}, default="auto"
        Whether :meth:`predict` finds the best path, or the best label of each token; "auto" is
        what suits the criterion, mostly "viterbi".
    {dtype}
    {sample_unit}
    device : str or torch.device, default=None
        Where torch trains, such as "cuda" or "cpu"; None for the kernels of this package. A device
        has only the solver "lbfgs", the criteria "log_loss", "softmax_margin", "pseudo_likelihood"
        and "piecewise", and no ``edge_columns``. On a GPU, ``dtype="float32"`` is several times
        faster. In a model file the device must be a str.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Orders the batches of "sgd", and chooses the validation part.
    {verbose}

    Attributes
    ----------
    {classes_}
    coef_ : ndarray or CSR of shape (n_attributes, n_labels)
        The weight of each attribute for each label; sparse if features are "observed" or c1 is
        positive.
    {transitions_}
    {begin_, end_}
    {edge_coef_}
    {edge_attribute_names_}
    {attribute_names_}
    {state_features_}
    {transition_features_}
    {loss_curve_}
    {validation_curve_}
    {n_iter_}
    {converged_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    EmpiricalCRF : Trained by counting, without attributes.
    LatticeCRF : Many labels, and chains of higher order.
    StructuredPerceptron : Faster training, without probabilities.
    CRFsuiteCRF : With the parameters of sklearn-crfsuite.
    text_features : Attributes of words, spelling and neighbours.

    References
    ----------
    .. [1] Lafferty, McCallum, Pereira, "Conditional Random Fields: Probabilistic Models for
       Segmenting and Labeling Sequence Data", ICML 2001.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> crf = CRF(sigma=2.0).fit(X, y)
    >>> crf.predict([["the", "cat", "walks"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    """

    criterion: Any = "log_loss"
    sigma: float = 1.0
    c1: float = 0.0
    _: KW_ONLY
    features: Any = "all"
    min_freq: int = 1
    boundaries: bool = False
    edge_columns: Collection = ()
    constraints: Any = None
    solver: str = "auto"
    max_iter: int = 1000
    tol: float = 1e-5
    init: Any = "auto"
    warm_start: bool = False
    class_weight: Any = None
    validation_fraction: float | None = None
    n_iter_no_change: int = 10
    solver_options: dict | None = None
    decoding: str = "auto"
    dtype: Any = None
    sample_unit: str = "sequence"
    device: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "criterion": [StrOptions(set(CRITERIA)), callable],
        "features": [StrOptions(set(FEATURES)), callable],
        "solver": [StrOptions({"auto", *SOLVERS})],
        "init": [
            StrOptions({"auto", *STARTS}),
            LinearClassifier,
            CountingClassifier,
            Weights,
        ],
        "decoding": [StrOptions({"auto", *DECODERS})],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Without boundaries there is no intercept, and rows of zeros say nothing.
        tags.classifier_tags.poor_score = not self.boundaries
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        labels: Any = None,
        pair_marginals: Any = None,
    ) -> "CRF":
        """Train on labelled sequences.

        Parameters
        ----------
        {X}
            Except in GraphCRF and SemiMarkovCRF, it may be a
            :class:`~sklearn_crcrf.out_of_core.CorpusFolder`, which has the labels too, and of which
            one part is in memory at a time.
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels. None marks an unknown label, and a set lists the possible ones: the
            likelihood is then the sum over all labellings that agree. Or, except in GraphCRF and
            SemiMarkovCRF, probabilities of labels, for the expected log loss: arrays of shape
            (n_tokens, n_labels), or a SequenceArray of such data, possibly CSR.
        {sample_weight}
        {labels}
        {pair_marginals}

        Returns
        -------
        CRF
            Itself. If training fails, it stays as it was; if it is interrupted, it has the
            weights of the last iteration.

        Raises
        ------
        ValueError
            If there is no token, or input is not valid; the message says where.
        """
        y = soft_labels(y, labels, pair_marginals)
        known = self._known_weights() if self.warm_start else None
        progress = FitProgress(self, self.max_iter, X, y, sample_weight)
        with self._replaced_by(self._unfitted()) as twin:
            if isinstance(X, CorpusFolder):
                refuse_what_needs_all(y, sample_weight, self._what_needs_all())
                with FolderShards(X, self, **self._shape_options(known)) as parts:
                    twin._fit_parts(parts, known, progress)
            else:
                twin._fit(X, y, sample_weight, known, progress=progress)
        return self

    @may_bring_no_tokens
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        labels: Any = None,
        pair_marginals: Any = None,
    ) -> "CRF":
        """Go once through more data by stochastic descent, from the present weights.

        Parameters
        ----------
        X, y : as in :meth:`fit`
        {classes}
        sample_weight, labels, pair_marginals : as in :meth:`fit`

        Returns
        -------
        CRF

        Raises
        ------
        ValueError
            If c1 is positive, if there is a device, or as in :meth:`fit`.
        """
        since, y = self.__dict__, soft_labels(y, labels, pair_marginals)
        self._validate_params()  # which scikit-learn leaves out after the first call
        if self.c1 > 0:
            raise ValueError(f"partial_fit has no penalty of absolute values, but c1={self.c1}")
        if self.device is not None:
            raise ValueError(f"partial_fit has no device, but device={str(self.device)!r}")
        known = self._known_weights()
        with self._replaced_by(self._unfitted() if known is None else copy(self), since) as twin:
            twin.set_params(solver="sgd", max_iter=1)
            twin.solver_options = None
            twin._fit(X, y, sample_weight, known, classes=classes, is_part=True)
        return self

    def _train_roughly(self) -> None:
        """Let training end when the loss is near its minimum, if it goes steadily down to that."""
        solver = choose_solver(self.solver, self.c1, as_criterion(self.criterion).solver)
        if solver == "lbfgs" and self.validation_fraction is None:
            self.tol = max(self.tol, ROUGH)

    def _known_weights(self) -> NamedWeights | None:
        """Return the weights of the last fit, where there was one."""
        return self._named_weights() if hasattr(self, "coef_") else None

    def _fit(self, X, y, sample_weight, known, classes=None, is_part=False, progress=None) -> None:
        if isinstance(y, GivenProbabilities):
            self._check_soft_labels()
        rng = check_random_state(self.random_state)
        if not is_part or known is None:
            self._n_seen, self._rate = 0.0, None
        stochastic = {"rng": rng, "rate": self._rate, "n_seen": self._n_seen}
        extends = is_part and known is not None
        kept = None if known is None or extends else known.classes
        corpus = self._read(X, y, sample_weight, classes, extends, kept)
        if not as_criterion(self.criterion).takes_partial_labels:
            corpus.require_labels(f"criterion={self.criterion}")
        if self.solver == "gis" and corpus.soft is None:
            corpus.require_labels('solver="gis"')
        dtype = corpus.X.dtype
        if sp.issparse(corpus.X):  # while sequences are moved, there are two matrices
            corpus = corpus._replace(X=with_small_values(corpus.X))
        corpus, held_out = hold_out_of(corpus.longest_first(), self.validation_fraction, rng)
        held_out = None if held_out is None else held_out.astype(dtype)
        self._n_seen += corpus.weight.sum()
        if known is None and isinstance(self.init, (LinearClassifier, CountingClassifier)):
            known = trained_weights(self.init, self._encoder, X, y, sample_weight)
        before = self._matching(known)
        problem = self._problem(corpus, before if is_part else None, dtype)
        del corpus  # the problem has its own, without zeros
        self._train(problem, before, stochastic, progress, held_out, is_part)

    def _check_soft_labels(self) -> None:
        """Raise ValueError if a parameter needs labels, not their probabilities."""
        if not as_criterion(self.criterion).takes_soft_labels:
            raise ValueError(
                f"y has probabilities of labels, but criterion={self.criterion} needs the labels "
                'themselves; criterion="log_loss" takes probabilities'
            )
        if self.class_weight is not None:
            raise ValueError(
                f"y has probabilities of labels, but class_weight={self.class_weight!r} needs the "
                "labels themselves"
            )

    def _matching(self, known: NamedWeights | None) -> Weights | None:
        """Known weights as weights of the attributes and labels of this fit."""
        names = self.attribute_names_, self.edge_attribute_names_, self.classes_
        return None if known is None else known.matching(*names)

    def _what_needs_all(self, sees: Collection[str] = ("objective", "batches")) -> dict[str, bool]:
        """Say which parameters, as text with their values, need all of the data at once.

        Parameters
        ----------
        sees : collection of str
            What of the data a solver may see.
        """
        criterion, init = as_criterion(self.criterion), self.init
        solver = choose_solver(self.solver, self.c1, criterion.solver)
        sums = ("auto", "zeros", "log_loss")
        return {
            f"criterion={criterion}": not criterion.is_sum,
            f"features={self.features!r}": not isinstance(self.features, str),
            f"class_weight={self.class_weight!r}": self.class_weight is not None,
            f"device={self.device!r}": self.device is not None,
            f"validation_fraction={self.validation_fraction}": self.validation_fraction is not None,
            f"init={init!r}": not isinstance(init, Weights) and init not in sums,
            f'solver="{solver}"': SOLVERS[solver].sees not in sees,
        }

    def _shape_options(self, known: NamedWeights | None) -> dict[str, Any]:
        """Say which weights a model of data in parts has."""
        names = ("min_freq", "features", "boundaries", "constraints")
        options = {name: getattr(self, name) for name in names}
        return {**options, "kept_labels": () if known is None else known.classes.tolist()}

    def _fit_parts(
        self, parts: Any, known: NamedWeights | None, progress: FitProgress | None = None
    ) -> None:
        """Train on data in parts."""
        shape: ModelShape = parts.shape
        shape.set_fitted(self)
        self._n_seen, self._rate = shape.weight, None
        how = {"sigma": self.sigma, "parts": parts}
        problem = shape.problem(shape.empty_corpus(), self.criterion, self.n_jobs, **how)
        stochastic = {"rng": check_random_state(self.random_state), "rate": None, "n_seen": 0}
        self._train(problem, self._matching(known), stochastic, progress)

    def _train(self, problem, before, stochastic, progress, held_out=None, is_part=False) -> None:
        """Minimise the objective from a start, and set the fitted attributes."""
        solver = choose_solver(self.solver, self.c1, problem.criterion.solver)
        check_supported(solver, problem, self.device)
        options = self.solver_options or {}
        if not {*options} <= {*SOLVERS[solver].options}:
            raise ValueError(f'solver="{solver}" does not take solver_options={options}')
        start = self._start(problem, before)
        if solver in ("lbfgs", "owlqn"):
            problem, start = problem.merge_duplicates(start)
        x0 = problem.vector(start)
        shard: Any = None if held_out is None else problem.of(held_out).shard()

        def mean_loss(x: np.ndarray) -> float:
            """Return the mean loss of the sequences that are held out."""
            return shard.total(np.asarray(x), problem.n_threads) / held_out.weight.sum()

        def iterate(callback: Callable) -> OptimizeResult:
            limits = {"max_iter": self.max_iter, "tol": self.tol, "callback": callback}
            how = {"device": self.device, "c1": self.c1, "stochastic": stochastic}
            return solve(solver, problem, x0, **how, **limits, **options)

        result = train(
            self,
            iterate,
            lambda fitted, x: fitted._set_weights(problem, np.asarray(x)),
            progress=progress,
            validate=None if held_out is None else mean_loss,
            is_part=is_part,
        )
        self._rate = result.get("rate", self._rate)

    def _problem(self, corpus: Corpus, kept: Weights | None, dtype: Any = None) -> Problem:
        """Return the training problem; ``dtype`` is the type of X, if X has smaller values."""
        dtype = corpus.X.dtype if dtype is None else dtype
        n_labels = len(self.classes_)
        features = self.features
        choose = FEATURES[features] if isinstance(features, str) else features
        chosen = choose(corpus.astype(dtype), n_labels)
        if not isinstance(chosen, Features):
            raise TypeError(f"features={features!r} must return Features, got {chosen!r}")
        chosen = chosen if kept is None else chosen.including(kept)
        pairs, transitions = chosen.without(self._encoder.only_edges)
        if sp.issparse(corpus.X):  # attributes of value 0 tell which pairs occur, but no more
            corpus = corpus._replace(X=without_zeros(corpus.X, dtype))
        # All sequences share the penalty, also the sequences of earlier calls of partial_fit.
        sigma = self.sigma * np.sqrt(self._n_seen / corpus.weight.sum())
        encoder, numbers = self._encoder, numbered(transitions)
        shape = ModelShape(
            encoder, self.classes_, pairs, numbers, self.boundaries, self._constraints
        )
        return shape.problem(corpus, self.criterion, self.n_jobs, sigma=sigma)

    def _start(self, problem: Problem, before: Weights | None) -> Weights:
        """Return the weights from which training starts."""
        if before is not None:
            return given_weights(before, problem)
        if isinstance(self.init, Weights):
            return given_weights(self.init, problem)
        init = as_criterion(self.criterion).start if self.init == "auto" else self.init
        return STARTS[init](problem)

    def _set_weights(self, problem: Problem, x: np.ndarray) -> None:
        weights = problem.terms().named(x)
        self.coef_ = problem.coefficients(weights.state)
        if self.c1 > 0 and not sp.issparse(self.coef_):
            self.coef_ = sp.csr_array(self.coef_)
        _, self.transitions_, self.begin_, self.end_, self.edge_coef_ = weights

    def _decoding(self) -> str:
        if self.decoding == "auto":
            return as_criterion(self.criterion).decoding
        return self.decoding

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        return DECODERS[self._decoding()](self, structure, scores, first)
