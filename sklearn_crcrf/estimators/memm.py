"""MEMM: the maximum entropy Markov model, normalised token by token."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ..base.batches import Batch
from ..base.contributions import Contributions
from ..base.docstrings import documented
from ..criteria import LocalLogLoss, local_log_loss
from ..structures import Scores
from ..structures.local import local_partition
from ..utils.soundness import Fact, Requirement
from .crf.estimator import CRF
from .crf.solving import SOLVERS


@documented
@dataclass(eq=False, repr=False)
class MEMM(CRF):
    """Maximum entropy Markov model: each label given the one before it [1]_.

    The probability of a labelling is a product of conditional probabilities,

    .. math::

       p(y \\mid x) = \\prod_t p(y_t \\mid y_{t-1}, x_t), \\qquad p(j \\mid i, x_t) =
       \\frac{\\exp(x_t^\\top \\mathrm{coef}_{\\cdot, j} + \\mathrm{transitions}_{ij})}{Z_t(i)},

    where :math:`Z_t(i)` is the sum of the numerators over all labels j. The weights minimise

    .. math::

       -\\sum_t \\log p(y_t \\mid y_{t-1}, x_t) + \\frac{\\lVert w \\rVert^2}{2 \\sigma^2} + c_1
       \\lVert w \\rVert_1

    over the gold labels of all sequences. Training needs no sum over labellings; it is a
    :class:`CRF` whose criterion is :class:`~sklearn_crcrf.criteria.LocalLogLoss`. In prediction
    the probabilities of labels and labellings are exact.

    What :math:`x_t` says cannot be weighed against :math:`x_{t+1}`: where few labels can follow a
    label, the observation after it hardly matters. This is the label bias problem [2]_, for which a
    CRF is the cure.

    Parameters
    ----------
    {sigma}
    {c1}
    features : {"all", "observed"} or callable, default="all"
        Which pairs of attribute and label, and of two labels, have a weight.
    {min_freq}
    {boundaries}
    edge_columns : collection of str or int, default=()
        Columns of X, or keys of feature dicts, whose attributes also have a weight for every
        pair of labels. With all columns here there is one model for each previous label, as in
        [1]_, besides the one that they share.
    constraints : None, {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, \
            mapping or array, default=None
        Which labels may follow each label, as in :class:`CRF`. Probabilities are normalised over
        these.
    solver : {"auto", "lbfgs", "owlqn", "sgd", "cg", "rprop", "quickprop", "gpd-quickprop", "gis", \
"bundle"}, \
default="auto"
        "auto" is "owlqn" if c1 is positive, else "lbfgs".
    {max_iter}
    {tol}
    init : {"auto", "zeros", "empirical", "log_loss"}, estimator or Weights, default="auto"
        Where training starts, as in :class:`CRF`.
    {warm_start}
    {class_weight}
    {validation_fraction}
    {n_iter_no_change}
    {solver_options}
    decoding : {"auto", "viterbi", "marginal"}, default="auto"
        Whether :meth:`predict` finds the best path ("auto" too), or the best label of each token.
    {dtype}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Orders the batches of "sgd", and chooses the validation part.
    {verbose}

    Attributes
    ----------
    {classes_}
    coef_ : ndarray or CSR of shape (n_attributes, n_labels)
        The weight of each attribute for each label.
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
    CRF : Normalised over whole labellings.

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

    criterion: Any = field(default=local_log_loss, init=False)
    device: Any = field(init=False, default=None)

    _parameter_constraints: ClassVar[dict] = {
        **CRF._parameter_constraints,
        # The local log loss does not tell its curvature.
        "solver": [StrOptions({"auto", *SOLVERS} - {"newton-cg"})],
    }

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        yield Fact("criterion", isinstance(self.criterion, LocalLogLoss), "must be LocalLogLoss")

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        scores = super()._scores(prepared, batch)
        return batch.structure.locally_normalised(scores)

    def _contributions(self, prepared: Any, batch: Batch, y: np.ndarray) -> Contributions:
        log_z = local_partition(batch.structure, super()._scores(prepared, batch))
        previous, current = batch.structure.links()
        tokens, given = np.arange(len(y)), y.copy()
        given[current] = y[previous]
        names = np.full(len(y), "log Z", dtype=object)
        names[current] = [f"log Z given {label}" for label in self.classes_[y[previous]]]
        normalisers = Contributions.of(
            "normalisation", tokens, names.tolist(), -log_z[tokens, given]
        )
        return Contributions.join([super()._contributions(prepared, batch, y), normalisers])
