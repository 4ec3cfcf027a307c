"""SeparateCRF: a classifier of nodes, times co-occurrence rates of linked nodes to a power."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ...base.batch_values import token_marginals
from ...base.batches import Batch
from ...base.classifier import BaseSequenceClassifier
from ...base.docstrings import documented
from ...data.graphs import GraphArray
from ...data.ragged import SequenceArray
from ...labels.partial import encode_partial_labels
from ...linear.corpus import without_columns
from ...linear.edge_data import EdgeEncoder
from ...linear.encoder import AttributeEncoder
from ...linear.folder_shards import FolderShards
from ...out_of_core import CorpusFolder
from ...out_of_core.corpus_folder import refuse_what_needs_all
from ...structures import Graph, Scores, Structure, structure_of
from ...structures.inference import INFERENCE, Inference, as_inference
from ...structures.inference.base import IterationCount, warn_unless_converged
from ...training import nested_fits
from ...utils.linear_algebra import in_one_thread
from ...utils.soundness import Array, Fact, Requirement, below, indices, labels
from ..crf import CRF
from .held_out import HeldOut
from .in_parts import RowView, SeparateTraining, TokensInParts, check_in_parts, read_tokens
from .nodes import Nodes, log_probabilities
from .out_of_core import FolderTokens
from .pairs import LinkedScores, PairAttributes, PairClassifier, scores_per_token
from .parts import Parts, TrainingData
from .rates import LinkEvidence, LinkRates, TypedLinks
from .row_crf import RowCRF, as_row_classifier

# What is tried: C of LogisticRegression, and exponents of the rates, from cautious to bold.
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# What is trained by maximum entropy, unless another classifier is given.
MAXENT = CRF(sigma=3.0, features="observed", dtype="float32", tol=1e-3)
EXPONENTS = (0.0, 0.1, 0.2, 0.3, 0.45, 0.65, 0.9, 1.2)
PAIR_EXPONENTS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)


@documented
@dataclass(eq=False, repr=False)
class SeparateCRF(BaseSequenceClassifier):
    r"""Classifiers of nodes and of linked nodes, trained separately [1]_.

    No sum over labellings is needed for training:

    .. math::

       p(y \mid x) \propto \prod_t u(y_t \mid x_t) \prod_{(s, t)} \mathrm{CR}(y_s;
       y_t \mid x_s, x_t)^{\mathrm{exponent}},

    with a product over nodes t, whose probabilities u are a classifier's, and one over links. If
    ``pairs="counts"``, the rates do not depend on x: :math:`r(i; j) = p(i, j) / (p(i)\, p(j))` are
    smoothed frequencies. Else v is a classifier of the labels of two linked nodes by the attributes
    of both, and

    .. math::

       \mathrm{CR}(i; j \mid x, x') = (1 - \epsilon)\, \frac{v(i, j \mid x, x')}{u(i \mid x)\,
       u(j \mid x')} + \epsilon\, r(i; j).

    The share :math:`\epsilon` is 0.2, or more if v learns from few links for each pair of labels. v
    knows only the pairs of labels that occur; all others have the counted rate. Where rates say
    nothing, or nodes say it already, the exponent is near 0. It serves any structure: sequences,
    forests, and graphs with cycles, as :class:`GraphArray`. Each type of edges has counted rates of
    its own, smoothed towards the common rates.

    One graph with some known labels is enough: in ``fit(X, known)`` the label None marks unknown
    ones, and ``predict(X, allowed=known)`` conditions on the known ones.

    Parameters
    ----------
    estimator : classifier with predict_proba or CRF, default=None
        Classifies nodes by their attributes. A search, such as a ``GridSearchCV``, chooses its own
        parameters. A :class:`CRF` is trained on nodes without neighbours: logistic regression, with
        ``sigma``, ``c1``, ``features``, ``solver``, ``max_iter``, ``tol`` and ``dtype`` of the CRF,
        which must have no other parameters. None is ``LogisticRegression`` whose strength is chosen
        on held-out labels; with other pairs than "counts" it is the CRF of "maxent".
    exponent : "fit" or float, default="fit"
        The power of the rates, in [0, inf); "fit" chooses it on held-out labels: of nodes, if some
        labels are unknown, else of whole samples. They should be probable together, or, on graphs
        with cycles, each for itself.
    pairs : {"counts", "maxent"} or classifier, default="counts"
        Where the rates of linked labels come from: "counts" are frequencies of labels; "maxent" is
        ``CRF(sigma=3, features="observed", dtype="float32", tol=1e-3)``, trained on pairs of linked
        nodes; or any classifier or CRF, as ``estimator``. A pair has the attributes of both nodes,
        and the type or the attributes of the edge. Links are trained on if both labels are known.
        Without two different pairs of labels, rates are counted.
    edge_columns : collection of str or int, default=None
        The columns of X, or keys of feature dicts, that pairs see of both nodes; None for all.
    sigma : float, default=1.0
        Width of the prior of the counted rates, from 1e-18 to inf; a smaller one smooths more.
    symmetric : "fit" or bool, default="fit"
        Whether rates are the same in both directions of an edge; "fit" chooses it on held-out
        labels. Only for graphs with cycles: in sequences and forests rates have the direction of
        the links.
    inference : {"auto", "exact", "loopy", "trw", "cut", "ilp"} or Inference, default="auto"
        How labels are found on graphs with cycles, as in :class:`GraphCRF`.
    n_folds : int, default=5
        Number of folds of held-out labels. The settings of counted rates are chosen in all folds,
        those of other rates in the first one; a CRF has ten times the tolerance ``tol`` there.
    decoding : {"auto", "viterbi", "marginal"}, default="auto"
        Whether :meth:`predict` finds the best labelling, or the best label of each node; "auto" is
        "marginal" for counted rates and for graphs with cycles, else "viterbi".
    {sample_unit}
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. The rows of pairs are made while nodes
        are trained, from whose weights a CRF of pairs starts; other classifiers of nodes and of
        pairs are trained at the same time.
    random_state : int, RandomState or None, default=0
        Chooses the folds.

    Attributes
    ----------
    {classes_}
    estimator_ : classifier
        Fitted to the nodes whose label is known.
    pair_estimator_ : classifier or None
        Fitted to the links whose labels are known; None if rates are counted. Its class k stands
        for the labels in row k of ``label_pairs_``.
    label_pairs_ : ndarray of shape (n_pairs, 2)
        The pairs of labels that occur at links, as positions in ``classes_``; without rows if rates
        are counted.
    share_ : float
        The share of the counted rates in those of pairs; 1 if rates are counted.
    exponent_ : float
        The exponent in use.
    symmetric_ : bool
        Whether rates are the same in both directions.
    rates_ : ndarray of shape (n_labels, n_labels), row = previous label
        Logarithms of the counted rates of all links; the previous label is the label of the
        first end, or of the parent.
    edge_rates_ : ndarray of shape (n_edge_attributes, n_labels, n_labels)
        The same for each type of edges.
    transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
        ``exponent_ * rates_``: the transition scores of links without a type, if rates are counted.
    edge_attribute_names_ : ndarray of shape (n_edge_attributes,)
        The types of edges, such as ``"edge=vertical"``.
    n_inference_iter_ : int
        The most iterations that inference took in training; 0 if it is exact.
    attribute_names_ : ndarray of shape (n_attributes,)
        The columns that the classifiers see.
    {n_features_in_}
    {feature_names_in_}

    Warns
    -----
    ConvergenceWarning
        If inference did not converge in prediction, or a CRF in training.

    See Also
    --------
    GraphCRF : Nodes and edges trained together.
    CRF : Trained with its transitions, by forward-backward.
    EmpiricalCRF : Both parts counted.

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

    Labels that depend on two words:

    >>> X = [["new", "york"], ["new", "car"], ["york", "is"], ["car", "is"]] * 5
    >>> y = [["B", "I"], ["O", "O"], ["B", "O"], ["O", "O"]] * 5
    >>> SeparateCRF(pairs="maxent").fit(X, y).predict([["new", "york"], ["new", "car"]]).tolist()
    [['B', 'I'], ['O', 'O']]
    """

    estimator: Any = None
    exponent: Any = "fit"
    _: KW_ONLY
    pairs: Any = "counts"
    edge_columns: Collection | None = None
    sigma: float = 1.0
    symmetric: Any = "fit"
    inference: Any = "auto"
    n_folds: int = 5
    decoding: str = "auto"
    sample_unit: str = "sequence"
    n_jobs: int | None = None
    random_state: Any = 0

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "pairs": [StrOptions({"counts", "maxent"}), HasMethods(["fit", "predict_proba"])],
        "edge_columns": [Collection, None],
        "exponent": [StrOptions({"fit"}), Interval(Real, 0, None, closed="left")],
        "symmetric": [StrOptions({"fit"}), "boolean"],
        "inference": [StrOptions(set(INFERENCE)), Inference],
        "decoding": [StrOptions({"auto", "viterbi", "marginal"})],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SeparateCRF":
        """Train the classifier, count the rates, and choose the exponent.

        Parameters
        ----------
        {X} Or a :class:`~sklearn_crcrf.out_of_core.CorpusFolder`, which has the labels too, and of
            which one part is in memory at a time; then both classifiers must be a CRF.
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
            if isinstance(X, CorpusFolder):
                refuse_what_needs_all(y, sample_weight, {})
                row_crfs = self._row_crfs()
                with FolderShards(X, self, read_tokens) as shards:
                    twin._fit_in_parts(FolderTokens(shards), row_crfs)
            else:
                twin._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        sequences, weights = self._check_training(X, y, sample_weight, reset=True)
        are_counted = self._are_counted()
        encoder = AttributeEncoder(1, None, self.edge_columns or ())
        attributes = encoder.fit_transform(_nodes(sequences.X))
        self._encoder, self.attribute_names_ = encoder, encoder.names
        self._edge_encoder = EdgeEncoder().fit(sequences.X)
        self.classes_, ids, _ = encode_partial_labels(sequences.y)
        if not (ids >= 0).any():
            raise ValueError("y: no token has one label that is known, so nothing can be learned")
        self._count = IterationCount()
        links = self._links(sequences.X, self._structure(sequences.X))
        nodes = Nodes(self._of_nodes(attributes), ids, weights, len(self.classes_))
        held_out = HeldOut(nodes, links, self.sigma, self.n_folds, self.random_state)
        if are_counted:
            self._fit_nodes(held_out, nodes, links)
        else:
            of_pairs = self._of_pairs(sequences.X, attributes, links.structure)
            seen = None if self.edge_columns is None else encoder.edge_attributes
            self._fit_parts(held_out, TrainingData(nodes, links, of_pairs, seen))
        state = log_probabilities(self.estimator_, nodes.attributes, nodes.n_labels)
        how = [self.exponent_], self.sigma, self.symmetric_
        ((self.rates_, self.edge_rates_),) = LinkEvidence(links, ids, state).rates(*how)
        self.transitions_ = self.exponent_ * self.rates_
        self.n_inference_iter_ = self._count.n_iter
        del self._count

    def _are_counted(self) -> bool:
        """Return whether rates are counts alone."""
        are_counted = isinstance(self.pairs, str) and self.pairs == "counts"
        if are_counted and self.edge_columns is not None:
            raise ValueError(
                'edge_columns are what pairs see, but pairs="counts" see no attributes'
            )
        return are_counted

    def _row_classifiers(self) -> tuple[Any, Any]:
        """Return the classifiers of nodes and of pairs, if pairs are classified."""
        nodes = MAXENT if self.estimator is None else self.estimator
        pairs = MAXENT if isinstance(self.pairs, str) else self.pairs
        return as_row_classifier(nodes, "estimator"), as_row_classifier(pairs, "pairs")

    def _row_crfs(self) -> tuple[RowCRF, RowCRF | None]:
        """Return the classifiers that can be trained on data in parts; None for counted rates."""
        nodes, pairs = self._row_classifiers()
        if self._are_counted():
            if self.estimator is None:
                raise ValueError(
                    'estimator=None with pairs="counts" is a LogisticRegression, which needs all '
                    "of the data in memory: pass a CRF"
                )
            pairs = None
        else:
            check_in_parts(pairs, "pairs")
        check_in_parts(nodes, "estimator")
        return nodes, pairs

    def _fit_in_parts(self, data: TokensInParts, crfs: tuple[RowCRF, RowCRF | None]) -> None:
        """Train on data in parts."""
        shape, are_counted = data.shape, crfs[1] is None
        for name, value in shape.fitted.items():
            setattr(self, name, value)
        self._encoder, self.attribute_names_ = shape.encoder, shape.encoder.names
        self._edge_encoder, self.classes_ = EdgeEncoder(), shape.classes
        seen = None if self.edge_columns is None else shape.encoder.edge_attributes
        view = RowView(len(self.classes_), len(self.attribute_names_), seen, not are_counted)
        training = SeparateTraining(data, view, crfs, self.sigma, effective_n_jobs(self.n_jobs))
        exponents = EXPONENTS if are_counted else PAIR_EXPONENTS
        self.exponent_, start = training.best_exponent(
            exponents if self.exponent == "fit" else (self.exponent,),
            self.n_folds,
            self.random_state,
        )
        self._set_parts(training.fit(start=start))
        self.rates_, self.edge_rates_ = training.counted_rates(self.estimator_)
        self.transitions_ = self.exponent_ * self.rates_
        self.symmetric_: bool = False
        self.n_inference_iter_ = 0

    def _set_parts(self, parts: Parts) -> None:
        self.estimator_, self.pair_estimator_ = parts.nodes, None
        self.label_pairs_, self.share_ = np.empty((0, 2), dtype=np.int64), 1.0
        if parts.pairs is not None:
            self.pair_estimator_, self.label_pairs_ = parts.pairs.estimator, parts.pairs.labels
            self.share_ = parts.pairs.share

    def _fit_nodes(self, held_out: HeldOut, nodes: Nodes, links: TypedLinks) -> None:
        """Choose all settings in all folds, and train the classifier of nodes alone."""
        estimators: list[Any] = [as_row_classifier(self.estimator, "estimator")]
        if self.estimator is None:
            estimators = [LogisticRegression(C=c, max_iter=1000) for c in STRENGTHS]
        exponents, symmetric = self._choices(links, EXPONENTS)
        estimator, self.exponent_, self.symmetric_ = held_out.best(estimators, exponents, symmetric)
        self._set_parts(Parts(nodes.fitted(estimator, nodes.ids >= 0), None))

    def _fit_parts(self, held_out: HeldOut, data: TrainingData) -> None:
        """Choose the exponent in one fold, and train the classifiers of nodes and of pairs."""
        estimators = self._row_classifiers()
        exponents, symmetric = self._choices(data.links, PAIR_EXPONENTS)
        self.exponent_, self.symmetric_, start = data.best_exponent(
            estimators, exponents, symmetric, self.sigma, held_out, self.n_jobs
        )
        self._set_parts(data.fit(estimators, data.nodes.ids, self.symmetric_, self.n_jobs, start))

    def _choices(
        self, links: TypedLinks, exponents: Sequence[float]
    ) -> tuple[Sequence[float], Sequence[bool]]:
        """Return the exponents to choose from, and whether rates may have no direction."""
        symmetric = (True, False) if self.symmetric == "fit" else (bool(self.symmetric),)
        if links.structure.is_directed:
            symmetric = (False,)
        return exponents if self.exponent == "fit" else (self.exponent,), symmetric

    def _of_nodes(self, attributes: Any) -> Any:
        """Return the attributes of tokens that the classifier of nodes sees."""
        if self._are_counted():
            return attributes
        return without_columns(attributes, self._encoder.only_edges)

    def _of_pairs(self, X: SequenceArray, attributes: Any, structure: Structure) -> PairAttributes:
        """Return the attributes that the classifier of pairs sees, for the links of X."""
        if self.edge_columns is not None:
            attributes = attributes[:, self._encoder.edge_attributes]
        of_edges = self._edge_encoder.transform_edges(X)
        if isinstance(X, GraphArray) and of_edges.shape[1]:
            of_edges = of_edges[_edge_of_link(X, structure)]
        return PairAttributes(attributes, of_edges)

    @property
    def edge_attribute_names_(self) -> np.ndarray:
        """The type of edges of each table of ``edge_rates_``."""
        encoder = self._edge_encoder
        return encoder.names if encoder.kind == "types" else encoder.names[:0]

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
            kind = of_edge[_edge_of_link(X, structure)]
        return TypedLinks(structure, kind, n_types)

    def _prepare(self, X: SequenceArray) -> LinkedScores:
        links, attributes = self._links(X, self._structure(X)), self._encoder.transform(_nodes(X))
        n_labels, pairs = len(self.classes_), None
        state = log_probabilities(self.estimator_, self._of_nodes(attributes), n_labels)
        if self.pair_estimator_ is not None:
            of_labels = self.label_pairs_, self.symmetric_, self.share_
            pairs = PairClassifier(self.pair_estimator_, *of_labels)
        of_pairs = self._of_pairs(X, attributes, links.structure)
        return LinkedScores(pairs, state, links, of_pairs)

    def _scores(self, prepared: LinkedScores, batch: Batch) -> Scores:
        rates = LinkRates(self.rates_, self.edge_rates_)
        return next(prepared.scores(batch, [rates], [self.exponent_]))

    def _scores_per_token(self) -> int:
        n_tables = 1 + len(self.edge_rates_)
        return scores_per_token(len(self.classes_), len(self.label_pairs_), n_tables)

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        decoding = self.decoding
        if decoding == "auto":
            is_paired = self.pair_estimator_ is not None and structure.is_directed
            decoding = "viterbi" if is_paired else "marginal"
        if decoding == "viterbi" or not structure.can("log_partition"):
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
        yield Fact("decoding", self.decoding in ("auto", "viterbi", "marginal"), "is not known")
        is_share = isinstance(self.share_, float) and 0 < self.share_ <= 1
        yield Fact("share_", is_share, "must be above 0, and at most 1")
        pairs, of_pairs = self.label_pairs_, self.pair_estimator_
        yield indices("label_pairs_", pairs, (len(pairs), 2), n)
        order = pairs[:, 0] * n + pairs[:, 1]
        yield Fact("label_pairs_", bool((np.diff(order) > 0).all()), "must be in order")
        yield Fact(
            "label_pairs_", (of_pairs is None) == (len(pairs) == 0), "belong to a classifier"
        )
        if of_pairs is not None:
            reversed_pairs = np.sort(pairs[:, 1] * n + pairs[:, 0])
            is_closed = not self.symmetric_ or np.array_equal(order, reversed_pairs)
            yield Fact("label_pairs_", is_closed, "must hold each pair in both orders")
            n_seen = n_attributes
            if self.edge_columns is not None:
                n_seen = len(self._encoder.edge_attributes)
            n_columns = 2 * n_seen + len(self._edge_encoder.names)
            requirements = _classifier_requirements(of_pairs, len(pairs), n_columns)
            yield from below("pair_estimator_", requirements)


def _nodes(X: SequenceArray) -> SequenceArray:
    """X without its edges, whose types are no attributes of nodes."""
    return SequenceArray(X.data, X.offsets)


def _edge_of_link(X: GraphArray, structure: Structure) -> np.ndarray:
    """Return the number of the edge that is each link: the same pairs of tokens, in two orders."""
    edge = np.empty(X.n_edges, dtype=np.int64)
    edge[np.lexsort(structure.links())] = np.lexsort(X.token_edges.T)
    return edge


def _classifier_requirements(
    estimator: Any, n_labels: int, n_attributes: int
) -> Iterator[Requirement]:
    """Yield what must hold for a classifier of nodes; the arrays of the default classifier too."""
    yield Fact("predict_proba", hasattr(estimator, "predict_proba"), "is missing")
    n_known = len(estimator.classes_)
    yield indices("classes_", estimator.classes_, (n_known,), n_labels)
    if isinstance(estimator, RowCRF):
        yield Fact(
            "coef_", estimator.coef_.shape[0] == n_attributes, f"must have {n_attributes} rows"
        )
    if isinstance(estimator, LogisticRegression):
        n_rows = 1 if n_known == 2 else n_known
        yield Array("coef_", estimator.coef_, (n_rows, n_attributes))
        yield Array("intercept_", estimator.intercept_, (n_rows,))
