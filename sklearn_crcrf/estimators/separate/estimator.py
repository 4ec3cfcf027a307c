"""SeparateCRF: a classifier of nodes, times co-occurrence rates of linked labels to a power."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ...base.batch_values import token_marginals
from ...base.batches import Batch
from ...base.classifier import BaseSequenceClassifier
from ...base.docstrings import documented
from ...counts.prepared import PreparedLinks
from ...data.graphs import GraphArray
from ...data.ragged import SequenceArray
from ...labels.partial import encode_partial_labels
from ...linear.edge_data import EdgeEncoder
from ...linear.encoder import AttributeEncoder
from ...structures import Graph, Scores, Structure, structure_of
from ...structures.inference import INFERENCE, Inference, as_inference
from ...structures.inference.base import IterationCount, warn_unless_converged
from ...training import nested_fits
from ...utils.linear_algebra import in_one_thread
from ...utils.soundness import Array, Requirement, below, indices, labels
from .held_out import HeldOut, Nodes, Settings, log_probabilities
from .rates import LinkRates, TypedLinks

# What is tried: C of LogisticRegression, and exponents of the rates, from cautious to bold.
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
EXPONENTS = (0.0, 0.1, 0.2, 0.3, 0.45, 0.65, 0.9, 1.2)


@documented
@dataclass(eq=False, repr=False)
class SeparateCRF(BaseSequenceClassifier):
    r"""Any classifier of nodes, times counted co-occurrence rates of linked labels [1]_.

    The parts are trained separately, and no sum over labellings is needed for that:

    .. math::

       p(y \mid x) \propto \prod_t p(y_t \mid x_t) \prod_{(s, t)} \mathrm{CR}(y_s;
       y_t)^{\mathrm{exponent}},

    with a product over nodes t, whose probabilities are the classifier's, and one over links. The
    rates :math:`\mathrm{CR}(i; j) = p(i, j) / (p(i)\, p(j))` are smoothed frequencies. Where rates
    say nothing, or nodes say it already, the exponent is near 0. It serves any structure:
    sequences, forests, and graphs with cycles, as :class:`GraphArray`. Each type of edges has rates
    of its own, smoothed towards the common rates; numbers as ``edge_data`` are not used.

    One graph with some known labels is enough: in ``fit(X, known)`` the label None marks unknown
    ones, and ``predict(X, allowed=known)`` conditions on the known ones.

    Parameters
    ----------
    estimator : classifier with predict_proba, default=None
        Classifies nodes by their attributes. A search, such as a ``GridSearchCV``, chooses its own
        parameters. None is ``LogisticRegression`` whose strength is chosen on held-out labels.
    exponent : "fit" or float, default="fit"
        The power of the rates, in [0, inf); "fit" chooses it on held-out labels: of nodes, if some
        labels are unknown, else of whole samples.
    {sigma}
    symmetric : "fit" or bool, default="fit"
        Whether rates are the same in both directions of an edge; "fit" chooses it on held-out
        labels. Only for graphs with cycles: in sequences and forests rates have the direction of
        the links.
    inference : {"auto", "exact", "loopy", "trw", "cut", "ilp"} or Inference, default="auto"
        How labels are found on graphs with cycles, as in :class:`GraphCRF`.
    n_folds : int, default=5
        Number of folds of held-out labels.
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict.
    random_state : int, RandomState or None, default=0
        Chooses the folds.

    Attributes
    ----------
    {classes_}
    estimator_ : classifier
        Fitted to the nodes whose label is known.
    exponent_ : float
    symmetric_ : bool
        Whether rates are the same in both directions.
    rates_ : ndarray of shape (n_labels, n_labels), row = previous label
        Logarithms of the co-occurrence rates of all links; the previous label is the label of the
        first end, or of the parent.
    edge_rates_ : ndarray of shape (n_edge_attributes, n_labels, n_labels)
        The same for each type of edges.
    transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
        The transition scores of links without a type, ``exponent_ * rates_``.
    edge_attribute_names_ : ndarray of shape (n_edge_attributes,)
        The types of edges, such as ``"edge=vertical"``.
    n_inference_iter_ : int
        The most iterations that inference took in training; 0 if it is exact.
    attribute_names_ : ndarray of shape (n_attributes,)
        The columns that the classifier sees.
    {n_features_in_}
    {feature_names_in_}

    Warns
    -----
    ConvergenceWarning
        If inference did not converge in prediction.

    See Also
    --------
    GraphCRF : Nodes and edges trained together.

    References
    ----------
    .. [1] Zhu, Hiemstra, Apers, Wombacher, "Separate Training for Conditional Random Fields Using
       Co-occurrence Rate Factorization", TR-CTIT-12-29, arXiv:1008.1566, 2012.

    Examples
    --------
    >>> from sklearn_crcrf import GraphArray, SeparateCRF
    >>> words = [["red", "red", "grey", "grey", "blue", "blue"]]
    >>> path = GraphArray.from_edges(words, [[(k, k + 1) for k in range(5)]])
    >>> known = [["R", "R", None, None, "B", "B"]]
    >>> crf = SeparateCRF(exponent=1.0).fit(path, known)
    >>> crf.predict(path, allowed=[["R", "R", None, "R", "B", "B"]]).tolist()
    [['R', 'R', 'R', 'R', 'B', 'B']]
    """

    estimator: Any = None
    exponent: Any = "fit"
    _: KW_ONLY
    sigma: float = 1.0
    symmetric: Any = "fit"
    inference: Any = "auto"
    n_folds: int = 5
    sample_unit: str = "sequence"
    n_jobs: int | None = None
    random_state: Any = 0

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "exponent": [StrOptions({"fit"}), Interval(Real, 0, None, closed="left")],
        "symmetric": [StrOptions({"fit"}), "boolean"],
        "inference": [StrOptions(set(INFERENCE)), Inference],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SeparateCRF":
        """Train the classifier, count the rates, and choose the exponent.

        Parameters
        ----------
        {X}
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels; nodes with None, or with a set of labels, are not trained on.
        {sample_weight}

        Returns
        -------
        SeparateCRF

        Raises
        ------
        ValueError
            If there is no token, or input is not valid; the message says where.
        """
        # The many small products of the classifier are slower in several threads.
        with self._replaced_by(self._unfitted()) as twin, nested_fits(), in_one_thread():
            twin._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        sequences, weights = self._check_training(X, y, sample_weight, reset=True)
        self._encoder = AttributeEncoder(1, None, ())
        attributes = self._encoder.fit_transform(_nodes(sequences.X))
        self.attribute_names_ = self._encoder.names
        self._edge_encoder = EdgeEncoder().fit(sequences.X)
        self.classes_, ids, _ = encode_partial_labels(sequences.y)
        if not (ids >= 0).any():
            raise ValueError("y: no token has one label that is known, so nothing can be learned")
        self._count = IterationCount()
        links = self._links(sequences.X, self._structure(sequences.X))
        nodes = Nodes(attributes, ids, weights, len(self.classes_))
        estimator, self.exponent_, self.symmetric_ = self._best_settings(nodes, links)
        self.estimator_ = nodes.fitted(estimator, ids >= 0)
        state = log_probabilities(self.estimator_, attributes, nodes.n_labels)
        self.rates_, self.edge_rates_ = LinkRates.estimated(
            links, ids, state, self.exponent_, self.symmetric_, self.sigma
        )
        self.transitions_ = self.exponent_ * self.rates_
        self.n_inference_iter_ = self._count.n_iter
        del self._count

    @property
    def edge_attribute_names_(self) -> np.ndarray:
        """The type of edges of each table of ``edge_rates_``."""
        encoder = self._edge_encoder
        return encoder.names if encoder.kind == "types" else encoder.names[:0]

    def _best_settings(self, nodes: Nodes, links: TypedLinks) -> Settings:
        """Return the settings with the least loss of held-out labels."""
        estimators: list[Any] = [self.estimator]
        if self.estimator is None:
            estimators = [LogisticRegression(C=c, max_iter=1000) for c in STRENGTHS]
        exponents = EXPONENTS if self.exponent == "fit" else (self.exponent,)
        symmetric = (True, False) if self.symmetric == "fit" else (bool(self.symmetric),)
        if links.structure.is_directed:
            symmetric = (False,)
        held_out = HeldOut(nodes, links, self.sigma, self.n_folds, self.random_state)
        return held_out.best(estimators, exponents, symmetric)

    def _structure(self, X: SequenceArray) -> Structure:
        if isinstance(X, GraphArray) and not X.is_forest:
            report = getattr(self, "_count", warn_unless_converged)
            engine = as_inference(self.inference).reporting(report)
            return Graph(X.offsets, X.token_edges, engine)
        return structure_of(X)

    def _links(self, X: SequenceArray, structure: Structure) -> TypedLinks:
        """Return the links of X, with their types."""
        of_edges, n_types = self._edge_encoder.transform_edges(X), len(self.edge_attribute_names_)
        kind = np.zeros(len(structure.links()[0]), dtype=np.int64)
        if isinstance(X, GraphArray) and n_types:
            of_edge, is_known = np.zeros(X.n_edges, dtype=np.int64), np.diff(of_edges.indptr) > 0
            of_edge[is_known] = of_edges.indices + 1
            # The same pairs of tokens, each only once, in two orders.
            kind[np.lexsort(structure.links())] = of_edge[np.lexsort(X.token_edges.T)]
        return TypedLinks(structure, kind, n_types)

    def _prepare(self, X: SequenceArray) -> Any:
        structure = self._structure(X)
        kind = self._links(X, structure).kind
        links = PreparedLinks.of(structure, [], kind)
        attributes = self._encoder.transform(_nodes(X))
        return log_probabilities(self.estimator_, attributes, len(self.classes_)), links

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        state, links = prepared
        links = links.take(batch)
        rates = LinkRates(self.rates_, self.edge_rates_)
        return rates.scores(state[batch.start : batch.stop], self.exponent_, links.types)

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        if not structure.can("log_partition"):
            return super()._decode(structure, scores, first)
        return token_marginals(structure, scores, first).argmax(axis=1)

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        n, n_attributes = len(self.classes_), len(self.attribute_names_)
        yield Array("attribute_names_", self.attribute_names_, (n_attributes,), kind="OUS")
        yield Array("rates_", self.rates_, (n, n))
        yield Array("edge_rates_", self.edge_rates_, (len(self.edge_attribute_names_), n, n))
        yield Array("transitions_", self.transitions_, (n, n))
        width = getattr(self, "n_features_in_", None)
        yield from below("_encoder", self._encoder.requirements(n_attributes, width))
        yield from below("_edge_encoder", self._edge_encoder.requirements())
        yield from below("estimator_", _classifier_requirements(self.estimator_, n, n_attributes))


def _nodes(X: SequenceArray) -> SequenceArray:
    """X without its edges, whose types are no attributes of nodes."""
    return SequenceArray(X.data, X.offsets)


def _classifier_requirements(
    estimator: Any, n_labels: int, n_attributes: int
) -> Iterator[Requirement]:
    """Yield what must hold for a classifier of nodes; the arrays of the default classifier too."""
    n_known = len(estimator.classes_)
    yield indices("classes_", estimator.classes_, (n_known,), n_labels)
    if isinstance(estimator, LogisticRegression):
        n_rows = 1 if n_known == 2 else n_known
        yield Array("coef_", estimator.coef_, (n_rows, n_attributes))
        yield Array("intercept_", estimator.intercept_, (n_rows,))
