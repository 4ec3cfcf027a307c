"""FeatureInduction: a CRF whose features are chosen, and joined from attributes, in training."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ...base.batches import Batch
from ...base.classifier import BaseSequenceClassifier
from ...base.contributions import Contributions
from ...base.docstrings import documented
from ...base.sample_weight import label_weights, sequence_weights
from ...data.ragged import SequenceArray
from ...labels.partial import encode_partial_labels
from ...linear.corpus import check_magnitude, edge_columns, without_columns
from ...linear.encoder import AttributeEncoder
from ...structures import Scores, Structure
from ...training import nested_fits
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Array, Fact, Requirement, below, indices, labels
from ..crf import CRF
from .conjunctions import selected
from .gains import LabelledTokens
from .retraining import SET, Retraining, beside
from .rounds import Induction, Rule, round_sizes

# Parameters of the CRF that are read or set.
NEEDED = {"c1", "class_weight", "dtype", "min_freq", "sigma", *SET}


@documented
@dataclass(eq=False, repr=False)
class FeatureInduction(TransformerMixin, BaseSequenceClassifier):
    """A CRF that starts without attributes, and adds the features that gain most [1]_.

    A feature is a pair of a column and a label, and a column is an attribute or a conjunction of
    attributes, such as ``word=the & pos[-1]=IN``. In every round the candidates are ranked by an
    estimate of how much they would raise the log-likelihood, the best become features, and the CRF
    is trained a little further. Conjunctions are made only where the known label is unlikely so
    far. In the end the CRF is trained until it converges.

    So the attributes can be simple, and a model with few weights finds by itself which of their
    many conjunctions matter. Where useful conjunctions are known, a CRF with templates is as
    accurate, and trained faster.

    Parameters
    ----------
    estimator : CRF, default=None
        The CRF to train, ``CRF()`` for None. Its ``sigma`` and ``c1`` penalise new features too,
        its ``features`` choose the transitions, and columns of fewer tokens than its ``min_freq``
        are left out.
    candidates : {"conjunctions", "attributes"}, default="conjunctions"
        What can become a column: attributes and conjunctions, or attributes only.
    max_order : int, default=3
        Maximum number of attributes in a conjunction. A longer one extends a conjunction that was
        chosen before.
    n_rounds : int, default=6
        Maximum number of rounds. The number of new features doubles from each round to the next.
    criterion : {"gain", "gradient"}, default="gain"
        How candidates are ranked: by the gain in the log-likelihood that a feature has when all
        other weights and the marginals of neighbours stay as they are, or by how far the
        absolute value of the gradient exceeds ``c1``. The gradient is grafting [2]_, which chooses
        the same features as ``CRF(c1=...)`` on the same candidates.
    min_gain : float, default=0.5
        The gain of a feature, or the excess of its gradient, must be larger; in [0, inf). There are
        many more conjunctions than attributes, so the gain of a conjunction counts divided by its
        number of attributes.
    max_features : int, default=16000
        Maximum number of features, pairs of column and label.
    max_proba : float, default=0.9
        Conjunctions are made at tokens whose known label has at most this probability, in [0, 1].
    round_iter : int, default=12
        Maximum number of iterations of training between two rounds.
    verbose : int, default=0
        Print a line after every ``verbose`` rounds; 0 for none.

    Attributes
    ----------
    {classes_}
    estimator_ : CRF
        Trained on the chosen columns.
    coef_ : CSR of shape (n_attributes, n_labels)
        The weights; its attributes are the chosen columns, and its entries the chosen pairs.
    {transitions_}
    attribute_names_ : ndarray of shape (n_attributes,)
        The name of each row of ``coef_``: attributes of X, joined by ``" & "``.
    features_ : list of (str, label)
        The chosen pairs of column and label, in the order in which they were chosen.
    gains_ : ndarray of shape (n_features,)
        The gain of each of these when it was chosen, divided by its number of attributes; or the
        excess of its gradient.
    rounds_ : ndarray of shape (n_features,)
        The number of the round in which it was chosen, from 0.
    curve_ : list of (int, float)
        The number of features, and the objective of the CRF, after each round of training; the
        last are of the final training.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    CRF : Attributes as they are given.
    TemplateFeatures : Conjunctions that are listed by hand.

    References
    ----------
    .. [1] McCallum, "Efficiently Inducing Features of Conditional Random Fields", UAI 2003.
    .. [2] Perkins, Lacker, Theiler, "Grafting: Fast, Incremental Feature Selection by Gradient
       Descent in Function Space", JMLR 2003.

    Examples
    --------
    Neither attribute alone says anything about the label:

    >>> from sklearn_crcrf import FeatureInduction
    >>> tokens = [{"a": a, "b": b} for a in "01" for b in "01"]
    >>> X, y = [[token] for token in tokens] * 5, [["same"], ["other"], ["other"], ["same"]] * 5
    >>> model = FeatureInduction().fit(X, y)
    >>> model.features_[0][0]
    'a=0 & b=0'
    >>> model.predict(X[:4]).tolist()
    [['same'], ['other'], ['other'], ['same']]
    """

    estimator: Any = None
    _: KW_ONLY
    candidates: str = "conjunctions"
    max_order: int = 3
    n_rounds: int = 6
    criterion: Any = "gain"
    min_gain: float = 0.5
    max_features: Any = 16000
    max_proba: float = 0.9
    round_iter: int = 12
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [CRF, None],
        "candidates": [StrOptions({"attributes", "conjunctions"})],
        "max_order": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, 50, closed="both")],
        "criterion": [StrOptions({"gain", "gradient"})],
        "min_gain": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left")],
        "max_proba": [Interval(Real, 0, 1, closed="both")],
        "round_iter": [Interval(Integral, 1, None, closed="left")],
    }

    @property
    def sample_unit(self) -> str:
        """The unit that scikit-learn treats as a sample, as the CRF has it."""
        return self._given_estimator().sample_unit

    @property
    def n_jobs(self) -> int | None:
        """The number of threads that predict, as the CRF has it."""
        return self._given_estimator().n_jobs

    @property
    def coef_(self) -> sp.csr_array:
        """The weights, CSR of shape (n_attributes, n_labels)."""
        return self.estimator_.coef_

    @property
    def transitions_(self) -> np.ndarray:
        """The weight of each pair of a label and the next one; row = previous label."""
        return self.estimator_.transitions_

    @property
    def attribute_names_(self) -> np.ndarray:
        """The name of each row of ``coef_``: attributes of X, joined by ``" & "``."""
        return self.estimator_.attribute_names_

    @property
    def features_(self) -> list[tuple[str, Any]]:
        """The chosen pairs of column and label, in the order in which they were chosen."""
        names = self.get_feature_names_out()[self._places].tolist()
        return list(zip(names, self.classes_[self._labels].tolist(), strict=True))

    def _given_estimator(self) -> CRF:
        return CRF() if self.estimator is None else self.estimator

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "FeatureInduction":
        """Choose features and train.

        Parameters
        ----------
        {X}
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels. Tokens with None, or with a set of labels, are no evidence for
            features; the CRF is trained on them as always.
        {sample_weight}

        Returns
        -------
        FeatureInduction
            Itself. If training fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If there is no token, or input is not valid; the message says where.
        """
        with self._replaced_by(self._unfitted()) as twin, nested_fits():
            twin._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        given = self._given_estimator()
        missing = NEEDED - given.get_params(deep=False).keys()
        if missing:
            raise ValueError(f"estimator={given!r} must have the parameter {min(missing)!r}")
        sequences, weights = self._check_training(X, y, sample_weight, reset=True)
        self._encoder = AttributeEncoder(given.min_freq, given.dtype, given.edge_columns)
        attributes = self._encode(sequences.X, self._encoder.fit_transform)
        check_magnitude(attributes, sequences.X.offsets)
        self.classes_, ids, _ = encode_partial_labels(sequences.y)
        weights_of_labels = label_weights(given.class_weight, self.classes_, ids)
        weight = sequence_weights(weights * weights_of_labels, sequences.X.offsets)
        tokens = LabelledTokens(
            without_columns(attributes, self._encoder.only_edges),
            ids.astype(np.int32, copy=False),
            np.where(ids >= 0, np.repeat(weight, sequences.X.lengths), 0.0),
            len(self.classes_),
        )
        induction = Induction(tokens, self._rule(given))
        on_edges = edge_columns(attributes, self._encoder.edge_attributes)
        training = Retraining(given, sequences, weights, on_edges)
        self._choose_and_train(induction, training)
        self._conjunctions, self._columns = induction.conjunctions, induction.columns
        self._places, self._labels = induction.places, induction.labels
        self.gains_, self.rounds_ = induction.scores, induction.rounds
        self.estimator_: CRF = training.finished(self._names())

    def _rule(self, given: CRF) -> Rule:
        return Rule(
            max_order=self.max_order if self.candidates == "conjunctions" else 1,
            max_proba=self.max_proba,
            min_freq=given.min_freq,
            by_gradient=self.criterion == "gradient",
            least=self.min_gain,
            sigma=given.sigma,
            c1=given.c1,
        )

    def _choose_and_train(self, induction: Induction, training: Retraining) -> None:
        """Choose features in rounds, and train after each of them; the last time, to the end."""
        self.curve_: list[tuple[int, float]] = []
        proba = induction.label_frequencies()
        sizes = round_sizes(self.max_features, self.n_rounds)
        for number, size in enumerate(sizes):
            if not induction.grow(proba, size):
                break
            if number < len(sizes) - 1:
                loss = training.run(induction.matrix, induction.pairs, self.round_iter)
                self._note(number, len(induction.places), loss)
                proba = training.marginals()
        loss = training.run(induction.matrix, induction.pairs)
        self._note(len(self.curve_), len(induction.places), loss)

    def _note(self, number: int, n_features: int, loss: float) -> None:
        self.curve_.append((n_features, loss))
        if self.verbose and (number + 1) % self.verbose == 0:
            print(f"round {number + 1}, {n_features} features, loss {loss:.3f}", flush=True)

    def _names(self) -> np.ndarray:
        """Return the names of the attributes of edges, then the names of the chosen columns."""
        names = self._encoder.names
        of_columns = self._conjunctions.names(names)[self._columns]
        return np.concatenate([names[self._encoder.edge_attributes], of_columns])

    def transform(self, X: Any) -> Any:
        """Return the values of the chosen columns, for another estimator.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        CSR of shape (n_tokens, n_columns) for a table, else SequenceArray
            :meth:`get_feature_names_out` names the columns.
        """
        check_fitted(self)
        sequences = self._check_X(X)
        columns = self._chosen(self._encode(sequences.X))
        if not sequences.mirror.is_table:
            return sequences.X.with_data(columns)
        return columns[sequences.mirror(np.arange(columns.shape[0]))]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the chosen columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects of shape (n_columns,)
        """
        check_fitted(self)
        first = len(self._encoder.edge_attributes)
        return self.attribute_names_[first : first + len(self._columns)]

    def _encode(self, X: SequenceArray, encode: Callable | None = None) -> sp.csr_array:
        encode = self._encoder.transform if encode is None else encode
        # The CRF itself reads the edges of X.
        attributes = sp.csr_array(encode(SequenceArray(X.data, X.offsets)))
        attributes.sort_indices()
        return attributes

    def _chosen(self, attributes: sp.csr_array) -> sp.csr_array:
        """Return the chosen columns of all tokens."""
        attributes = without_columns(attributes, self._encoder.only_edges)
        return selected(self._conjunctions.parts(attributes), self._columns)

    def _structure(self, X: SequenceArray) -> Structure:
        return self.estimator_._structure(X)

    def _prepare(self, X: SequenceArray) -> Any:
        attributes = self._encode(X)
        on_edges = edge_columns(attributes, self._encoder.edge_attributes)
        return self.estimator_._prepare(X.with_data(beside(on_edges, self._chosen(attributes))))

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        return self.estimator_._scores(prepared, batch)

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        return self.estimator_._decode(structure, scores, first)

    def _contributions(self, prepared: Any, batch: Batch, y: np.ndarray) -> Contributions:
        return self.estimator_._contributions(prepared, batch, y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        poor_score = self._given_estimator().__sklearn_tags__().classifier_tags.poor_score
        tags.classifier_tags.poor_score = poor_score
        return tags

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        n_attributes = len(self._encoder.names)
        width = getattr(self, "n_features_in_", None)
        yield from below("_encoder", self._encoder.requirements(n_attributes, width))
        known = self._conjunctions.n_attributes == n_attributes
        yield Fact("_conjunctions", known, f"must have {n_attributes} attributes")
        yield from below("_conjunctions", self._conjunctions.requirements())
        n, n_columns = len(self.gains_), len(self._columns)
        yield indices("_columns", self._columns, (n_columns,), self._conjunctions.n_columns)
        is_set = len(np.unique(self._columns)) == n_columns
        yield Fact("_columns", is_set, "must differ")
        yield indices("_places", self._places, (n,), n_columns)
        yield indices("_labels", self._labels, (n,), len(self.classes_))
        yield Array("gains_", self.gains_, (n,))
        yield Array("rounds_", self.rounds_, (n,), 0, kind="i")
        yield Fact("estimator_", isinstance(self.estimator_, CRF), "must be a CRF")
        same = self.estimator_.classes_.tolist() == self.classes_.tolist()
        yield Fact("estimator_", same, "must have the same labels")
        wide = getattr(self.estimator_, "n_features_in_", None)
        expected = len(self._encoder.edge_attributes) + n_columns
        yield Fact("estimator_", wide == expected, f"must have {expected} columns")
