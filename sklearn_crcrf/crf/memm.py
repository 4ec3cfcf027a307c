"""MEMM: the maximum entropy Markov model, normalised token by token."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ..base.classifier import Batch
from ..base.contributions import Contributions
from ..criteria import LocalLogLoss, local_log_loss
from ..structures import Scores
from ..structures.local import local_partition
from ..utils.soundness import Fact, Requirement
from .estimator import CRF
from .solving import SOLVERS

__all__ = ["MEMM"]


class MEMM(CRF):
    """Maximum entropy Markov model: each label given the one before it [1]_.

    The probability of a labelling is a product of conditional probabilities,

        p(y | x) = prod_t p(y_t | y_{t-1}, x_t),
        p(j | i, x_t) = exp(x_t @ coef[:, j] + transitions[i, j]) / Z_t(i),

    where Z_t(i) is the sum of the numerators over all labels j. The weights minimise

        ``-sum_t log p(y_t | y_{t-1}, x_t) + ||w||^2 / (2 sigma^2) + c1 |w|_1``

    over the gold labels of all sequences. Training needs no sum over labellings; it is a
    :class:`CRF` whose criterion is :class:`~sklearn_crcrf.criteria.LocalLogLoss`. In prediction
    the probabilities of labels and labellings are exact.

    What x_t says cannot be weighed against x_{t+1}: where few labels can follow a label, the
    observation after it hardly matters. This is the label bias problem [2]_, for which a CRF is
    the cure.

    Parameters
    ----------
    sigma : float, default=1.0
        Standard deviation of the Gaussian prior of every weight, in (0, inf].
    c1 : float, default=0.0
        Strength of the penalty of absolute values, which makes weights exactly zero.
    features : {"all", "observed"} or callable, default="all"
        Which pairs of attribute and label, and of two labels, have a weight.
    min_freq : int, default=1
        Attributes of fewer tokens are left out.
    boundaries : bool, default=False
        Whether the first and the last labels of sequences have weights too.
    edge_columns : collection of str or int, default=()
        Columns of X, or keys of feature dicts, whose attributes also have a weight for every
        pair of labels. With all columns here there is one model for each previous label, as in
        [1]_, beside the one that they share.
    constraints : None, {"IOB1", "IOB2", "IOBES"}, mapping or array, default=None
        What labels may follow a label. Probabilities are normalised over these.
    solver : {"auto", "lbfgs", "owlqn", "sgd", "cg", "rprop", "quickprop", "gis"}, default="auto"
        "auto" is "owlqn" if c1 is positive, else "lbfgs".
    max_iter : int, default=1000
        Iterations, or epochs of "sgd", at most.
    tol : float, default=1e-5
        Stop when the objective falls by less than this part of its value over ten iterations,
        or over five epochs of "sgd".
    init : {"auto", "zeros", "empirical", "log_loss"}, estimator or Weights, default="auto"
        Where training starts, as in :class:`CRF`.
    warm_start : bool, default=False
        Start from the weights of the last fit, for the attributes and labels that it had.
    class_weight : None, "balanced" or dict, default=None
        Weights of labels. A sequence weighs as much as its tokens do on average.
    validation_fraction : float, default=None
        So many of the sequences are not trained on; their loss is taken after each iteration,
        the best weights are kept, and training stops when it no longer falls.
    n_iter_no_change : int, default=10
        Number of iterations in which the validation loss must fall.
    decoding : {"auto", "viterbi", "marginal"}, default="auto"
        Whether :meth:`predict` finds the best path ("auto" too), or the best label of each token.
    dtype : {"float32", "float64"} or None, default=None
        Precision of weights; by default that of a numeric X, else float64.
    sample_unit : {"sequence", "token"}, default="sequence"
        What scikit-learn is told that a sample is.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Orders the batches of "sgd", and chooses the validation part.
    verbose : int, default=0
        Print a line after every so many iterations.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
    coef_ : ndarray or CSR of shape (n_attributes, n_labels)
    transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
    begin_, end_ : ndarray of shape (n_labels,)
    edge_coef_ : ndarray of shape (n_edge_attributes, n_labels, n_labels)
    attribute_names_ : ndarray of shape (n_attributes,)
    state_features_ : dict
        The weights of pairs of attribute and label that are not zero.
    transition_features_ : dict
        The weights of pairs of labels that are not zero.
    loss_curve_ : list of float
        The objective, with the penalty, after each iteration.
    validation_curve_ : list of float
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int
        Number of columns of X, where it has any.
    feature_names_in_ : ndarray of str objects
        Names of the columns of X, where it is a data frame.

    References
    ----------
    .. [1] McCallum, Freitag, Pereira, "Maximum Entropy Markov Models for Information Extraction
       and Segmentation", ICML 2000.
    .. [2] Lafferty, McCallum, Pereira, "Conditional Random Fields: Probabilistic Models for
       Segmenting and Labeling Sequence Data", ICML 2001.

    Examples
    --------
    Where X has one label that can follow, and Y another, the second symbol does not matter:

    >>> from sklearn_crcrf import CRF, MEMM
    >>> X = [list(word) for word in ("rib", "rib", "rob")]
    >>> y = [list(labels) for labels in ("XIB", "XIB", "YOB")]
    >>> follow = {"X": ["I"], "Y": ["O"]}
    >>> MEMM(constraints=follow).fit(X, y).predict([list("rob")]).tolist()
    [['X', 'I', 'B']]
    >>> CRF(constraints=follow).fit(X, y).predict([list("rob")]).tolist()
    [['Y', 'O', 'B']]
    """

    _parameter_constraints: dict = {
        **{
            name: kinds for name, kinds in CRF._parameter_constraints.items() if name != "criterion"
        },
        # The local log loss does not tell its curvature.
        "solver": [StrOptions({"auto", *SOLVERS} - {"newton-cg"})],
    }

    def __init__(
        self,
        sigma=1.0,
        c1=0.0,
        *,
        features="all",
        min_freq=1,
        boundaries=False,
        edge_columns=(),
        constraints=None,
        solver="auto",
        max_iter=1000,
        tol=1e-5,
        init="auto",
        warm_start=False,
        class_weight=None,
        validation_fraction=None,
        n_iter_no_change=10,
        decoding="auto",
        dtype=None,
        sample_unit="sequence",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            local_log_loss,
            sigma,
            c1,
            features=features,
            min_freq=min_freq,
            boundaries=boundaries,
            edge_columns=edge_columns,
            constraints=constraints,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            init=init,
            warm_start=warm_start,
            class_weight=class_weight,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            decoding=decoding,
            dtype=dtype,
            sample_unit=sample_unit,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        yield Fact("criterion", isinstance(self.criterion, LocalLogLoss), "must be LocalLogLoss")

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        scores = super()._scores(prepared, batch)
        return batch.structure.locally_normalised(scores)

    def _contributions(self, prepared: Any, batch: Batch, y: np.ndarray) -> Contributions:
        log_z = local_partition(batch.structure.offsets, super()._scores(prepared, batch))
        names = [f"log Z given {label}" for label in self.classes_[y[:-1]]]
        tokens, given = np.arange(len(y)), np.append(y[:1], y[:-1])
        normalisers = Contributions.of(
            "normalisation", tokens, ["log Z", *names][: len(y)], -log_z[tokens, given]
        )
        return Contributions.join([super()._contributions(prepared, batch, y), normalisers])
