"""GraphCRF: conditional random fields over graphs with cycles."""

from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from ...base.batches import Batch
from ...base.contributions import (
    Contributions,
)
from ...base.docstrings import documented
from ...base.weights import Weights
from ...data.graphs import GraphArray
from ...data.layout import Sequences
from ...data.ragged import SequenceArray
from ...linear.classifier import DECODERS
from ...linear.corpus import Corpus
from ...linear.edge_data import EdgeEncoder
from ...linear.problem import Problem
from ...structures import Graph, Scores, Structure, structure_of
from ...structures.inference import INFERENCE, Inference, as_inference
from ...structures.inference.base import IterationCount, warn_unless_converged
from ...utils.soundness import Requirement, below
from ..crf import CRF
from .problem import LinkFeature, check_not_negative, labelled_part, tied_pairs


def _trains_by_parts(crf: "GraphCRF") -> bool:
    return not crf.associative


@documented
@dataclass(eq=False, repr=False)
class GraphCRF(CRF):
    """Conditional random field over graphs of any kind, also with cycles [1]_.

    The score of a labelling is linear in the weights,

    .. math::

       s(x, y) = \\sum_t x_t^\\top \\mathrm{coef}_{\\cdot, y_t} + \\sum_{(s, t)}
       \\mathrm{table}^{st}_{y_s, y_t}, \\qquad \\mathrm{table}^{st} = \\mathrm{transitions} +
       \\sum_k e_{st, k}\\, \\mathrm{edge\\_coef}_k,

    with a sum over nodes t and one over edges (s, t), and :math:`e_{st}` the attributes of an
    edge: its numbers, or a 1 for its type. Its probability is :math:`\\exp s(x, y)`, divided by the
    sum of this over all labellings, which is exact or approximated, as ``inference`` says. Of a
    :class:`GraphArray` that is a forest, :class:`CRF` is the faster model.

    One graph of which some labels are known is enough to train on: ``fit(X, known)`` leaves out the
    nodes whose label is None, and their edges, and ``predict(X, allowed=known)`` takes the known
    labels into account.

    Parameters
    ----------
    criterion : {"log_loss", "piecewise", "pseudo_likelihood", "marginal_likelihood", \
"max_margin", "softmax_margin", "expected_cost", "token_error", "mce", "mce_f1"} or callable, \
default="pseudo_likelihood"
        The loss of a sample: a name or an object of :mod:`sklearn_crcrf.criteria`. The
        pseudo-likelihood and "piecewise" need no inference, so they are exact on any graph. But
        where neighbours are nearly always equal, as in smooth images, they make tables far too
        strong, and all nodes get one label: use the log loss with ``inference="trw"``, an upper
        bound of the exact loss, or "max_margin". The perceptron is ``MaxMargin(cost=0)``.
    {sigma}
    features : {"all", "observed"} or callable, default="all"
        Which pairs of attribute and label have a weight, as in :class:`CRF`.
    {min_freq}
    solver : {"auto", "lbfgs", "owlqn", "sgd", "newton-cg", "cg", "rprop", "quickprop", \
"gpd-quickprop", "gis", "bundle"}, default="auto"
        "auto" is what suits the criterion, mostly "lbfgs". "bundle" is for "max_margin". These
        two keep associative tables from becoming negative.
    {max_iter}
    {tol}
    init : {"zeros", "log_loss"} or Weights, default="zeros"
        Where training starts: "log_loss" is the maximum of the likelihood with a sigma of 1.
    {warm_start}
    decoding : {"auto", "viterbi", "marginal"}, default="auto"
        Whether :meth:`predict` finds the best labelling, or the best label of each node; "auto" is
        the label of each node if the inference has probabilities.
    {dtype}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Orders the samples of "sgd".
    {verbose}
    inference : {"auto", "exact", "loopy", "trw", "cut", "ilp"} or Inference, default="auto"
        How sums and maxima over labellings are found: a name or an object of
        :mod:`sklearn_crcrf.structures.inference`, where damping and limits are set. "auto" is
        exact where tables are small, else loopy belief propagation.
    symmetric : bool, default=False
        Whether the tables are symmetric, since edges have no direction.
    associative : bool, default=False
        Whether edges only reward equal labels: tables are diagonal, and not negative.

    Attributes
    ----------
    {classes_}
    coef_ : ndarray or CSR of shape (n_attributes, n_labels)
        The weight of each attribute for each label.
    transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
        The table that all edges share; the previous label is the label of the first end.
    edge_coef_ : ndarray of shape (n_edge_attributes, n_labels, n_labels)
        What each type or attribute of edges adds to it.
    edge_attribute_names_ : ndarray of shape (n_edge_attributes,)
        Such as ``"edge=vertical"``, or ``"edge0"``.
    {attribute_names_}
    begin_, end_ : ndarray of shape (n_labels,)
        Zero: nodes of graphs have no order.
    {state_features_}
    {transition_features_}
    {loss_curve_}
    validation_curve_ : list of float
        Empty, as no samples are held out.
    {n_iter_}
    {converged_}
    n_inference_iter_ : int
        The most iterations that inference took in training; 0 if it needs none.
    {n_features_in_}
    {feature_names_in_}

    Warns
    -----
    ConvergenceWarning
        If training or, in prediction, inference did not converge.

    See Also
    --------
    AssociativeMarkovNetwork : Edges that reward equal labels.
    SeparateCRF : Any classifier of nodes, and counted rates.
    CRF : For sequences and trees.

    References
    ----------
    .. [1] Sutton, McCallum, "An Introduction to Conditional Random Fields", Foundations and Trends
       in Machine Learning 4 (4), 2012.

    Examples
    --------
    >>> from sklearn_crcrf import GraphArray, GraphCRF
    >>> words = [["red", "red", "grey", "blue"]]
    >>> ring = GraphArray.from_edges(words, [[(0, 1), (1, 2), (2, 3), (3, 0)]])
    >>> crf = GraphCRF(symmetric=True).fit(ring, [["R", "R", "R", "B"]])
    >>> crf.predict(ring[:1]).tolist()
    [['R', 'R', 'R', 'B']]
    """

    criterion: Any = "pseudo_likelihood"
    c1: float = field(init=False, default=0.0)
    _: KW_ONLY
    boundaries: bool = field(init=False, default=False)
    edge_columns: Collection = field(init=False, default=())
    constraints: Any = field(init=False, default=None)
    init: Any = "zeros"
    class_weight: Any = field(init=False, default=None)
    device: Any = field(init=False, default=None)
    validation_fraction: float | None = field(init=False, default=None)
    n_iter_no_change: int = field(init=False, default=10)
    solver_options: dict | None = field(init=False, default=None)
    inference: Any = "auto"
    symmetric: bool = False
    associative: bool = False

    _parameter_constraints: ClassVar[dict] = {
        **CRF._parameter_constraints,
        "inference": [StrOptions(set(INFERENCE)), Inference],
        "symmetric": ["boolean"],
        "associative": ["boolean"],
        "init": [StrOptions({"zeros", "log_loss"}), Weights],
    }

    @property
    def edge_attribute_names_(self) -> np.ndarray:
        """The type or attribute of edges of each table of ``edge_coef_``."""
        return self._edge_encoder.names

    @available_if(_trains_by_parts)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "GraphCRF":
        """Go once through more graphs by stochastic descent, as :meth:`CRF.partial_fit` does.

        Stochastic descent cannot keep associative tables from becoming negative, so there is no
        such method if ``associative=True``.

        Parameters
        ----------
        X, y : as in :meth:`fit`
        {classes}
        sample_weight : as in :meth:`fit`

        Returns
        -------
        GraphCRF
        """
        return cast("GraphCRF", super().partial_fit(X, y, classes, sample_weight))

    def _tokens(self, X: SequenceArray) -> SequenceArray:
        return SequenceArray(X.data, X.offsets)  # edges have attributes of their own

    def _fit(self, *args: Any, **options: Any) -> None:
        self._count = IterationCount()
        super()._fit(*args, **options)
        self.n_inference_iter_ = self._count.n_iter
        del self._count

    def _check_training(
        self, X: Any, y: Any, sample_weight: Any, reset: bool
    ) -> tuple[Sequences, np.ndarray]:
        sequences, weights = super()._check_training(X, y, sample_weight, reset)
        nodes, labels, kept = labelled_part(sequences.X, sequences.y)
        if not kept.any():
            raise ValueError("y: all labels are None, so there is nothing to train on")
        encoder = EdgeEncoder() if reset else copy(self._edge_encoder)
        self._edge_encoder: EdgeEncoder = encoder.fit(nodes, extend=not reset)
        return sequences._replace(X=nodes, y=labels), weights[kept]

    def _what_needs_all(self, sees: Collection[str] = ()) -> dict[str, bool]:
        return {type(self).__name__: True}

    def _check_soft_labels(self) -> None:
        raise ValueError("y has probabilities of labels, but GraphCRF needs the labels themselves")

    def _structure(self, X: SequenceArray) -> Structure:
        links = links_of(X)
        attributes = self._edge_encoder.transform_edges(X) if isinstance(X, GraphArray) else None
        report = getattr(self, "_count", warn_unless_converged)
        engine = as_inference(self.inference).reporting(report)
        return Graph(X.offsets, links, engine, attributes)

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        has_data = getattr(X, "edge_data", None) is not None
        if has_data and not hasattr(structure, "link_attributes"):
            name, kind = type(self).__name__, type(structure).__name__
            raise ValueError(
                f"X has types or attributes of edges, which {name} cannot score on a {kind}, but "
                "CRF can"
            )

    def _problem(self, corpus: Corpus, *how: Any) -> Problem:
        problem = super()._problem(corpus, *how)
        link_attributes = cast(Graph, corpus.structure).link_attributes
        if self.associative:
            check_not_negative(link_attributes)
        tied = tied_pairs(problem.n_labels, symmetric=self.symmetric, associative=self.associative)
        tied = np.where(problem.transitions < 0, -1, tied)
        n = link_attributes.shape[1]
        return problem._replace(
            transitions=tied,
            own_terms=(LinkFeature(n, tied),) if n else (),
            are_not_negative=self.associative,
        )

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        scores = super()._scores(prepared, batch)
        if len(self.edge_coef_) == 0:
            return scores
        n = len(self.classes_)
        feature = LinkFeature(len(self.edge_coef_), np.arange(n * n).reshape(n, n))
        return feature.add_scores(self.edge_coef_, batch, scores)

    def _contributions(self, prepared: Any, batch: Batch, y: np.ndarray) -> Contributions:
        of_links = cast(Graph, batch.structure).link_attributes
        of_nodes = super()._contributions(prepared, batch, y)
        return Contributions.join([of_nodes, self._edge_contributions(of_links, batch, y)])

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        yield from below("_edge_encoder", self._edge_encoder.requirements())

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        decoding = self.decoding
        if decoding == "auto":
            decoding = "marginal" if structure.can("log_partition") else "viterbi"
        return DECODERS[decoding](self, structure, scores, first)


def links_of(X: SequenceArray) -> np.ndarray:
    """Return the two ends of each link of X; the links of a sequence join neighbours.

    Parameters
    ----------
    X : SequenceArray

    Returns
    -------
    ndarray of shape (n_links, 2), int64

    Examples
    --------
    >>> from sklearn_crcrf import SequenceArray
    >>> links_of(SequenceArray.from_sequences([["a", "b", "c"]])).tolist()
    [[0, 1], [1, 2]]
    """
    if isinstance(X, GraphArray):
        return X.token_edges
    return np.stack(structure_of(X).links(), axis=1)
