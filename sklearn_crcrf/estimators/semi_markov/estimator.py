"""SemiMarkovCRF: conditional random fields of segments."""

from collections.abc import Collection, Iterator
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from ...base.batches import Batch
from ...base.contributions import Contributions
from ...base.docstrings import documented
from ...base.weights import NamedWeights, Weights
from ...data.ragged import SequenceArray, locate
from ...labels.segments.roles import Roles, roles_of
from ...labels.segments.schemes import ONE_TO_ONE
from ...linear.corpus import Corpus
from ...linear.problem import Problem
from ...structures import Scores, SegmentLayout, SemiMarkovChain, Structure, structure_of
from ...utils.soundness import Array, Fact, Requirement
from ..crf import CRF
from .segmented import SegmentedArray
from .terms import Length, SegmentWeights, SpanFeature


@documented
@dataclass(eq=False, repr=False)
class SemiMarkovCRF(CRF):
    """Conditional random field of segments: whole segments have features too [1]_.

    The score of a labelling is the score of a :class:`CRF`, plus for each segment from the
    token s to the token e

    .. math::

       \\mathrm{length\\_coef}_{\\mathrm{type}, \\mathrm{length}} +
       \\phi(x, s, e)^\\top \\mathrm{segment\\_coef}_{\\cdot, \\mathrm{type}},

    where :math:`\\phi` are the features of the span that a :class:`SegmentedArray` holds. Tokens
    have the same features as in a CRF; labellings that spell no segmentation are impossible.

    Without features of segments it is as accurate as a CRF that is constrained to the scheme. It
    gains where whole segments can be compared with something, such as a list of names.

    Parameters
    ----------
    criterion : {"log_loss", "marginal_likelihood", "max_margin", "softmax_margin", \
"expected_cost", "token_error", "mce", "mce_f1"} or callable, default="log_loss"
        The loss of a sequence: a name or an object of :mod:`sklearn_crcrf.criteria`. The first four
        are fast; the others go through a chain of positions in segments. A
        :class:`~sklearn_crcrf.criteria.SoftmaxMargin` can have a cost of wrong segments.
    {sigma}
    {c1}
    features : {"all", "observed"} or callable, default="observed"
        Which features of tokens have a weight, as in :class:`CRF`.
    {min_freq}
    boundaries : bool, default=False
        Whether the first and last labels of sequences have weights too.
    {constraints}
    solver : {"auto", "lbfgs", "owlqn", "sgd", "newton-cg", "cg", "rprop", "quickprop", \
"gpd-quickprop", "gis", "bundle"}, default="auto"
        As in :class:`CRF`.
    {max_iter}
    {tol}
    {warm_start}
    {class_weight}
    {validation_fraction}
    {n_iter_no_change}
    {solver_options}
    decoding : {"auto", "viterbi", "marginal"}, default="auto"
        As in :class:`CRF`. The best labels of single tokens may spell no segmentation.
    {dtype}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Orders the batches of "sgd", and chooses the validation part.
    {verbose}
    segment_sigma : float, default=None
        Standard deviation, in (0, inf), of the Gaussian prior of the weights of lengths and of
        features of segments; by default sigma.
    max_length : int, default=8
        Segments of up to this length have a weight of their length, and features of their span;
        all longer ones, which are found too, share one weight and have no features.
    scheme : {"IOB2", "IOBES", "BIOES", "BILOU", "BMES"}, default="IOB2"
        How labels spell segments. Labels that are not of the scheme are for tokens between
        segments, like "O".

    Attributes
    ----------
    {classes_}
    segment_types_ : ndarray of shape (n_types,)
        The types of segments, which are the labels without their prefixes.
    length_ : ndarray of shape (n_types, max_length + 1)
        The weight of each length from 1 on, and of all longer lengths.
    segment_coef_ : ndarray of shape (n_segment_features, n_types)
        The weight of each feature of segments for each type.
    segment_feature_names_ : ndarray of shape (n_segment_features,)
        The feature of each row of ``segment_coef_``.
    coef_ : ndarray or CSR of shape (n_attributes, n_labels)
        The weight of each attribute for each label; sparse if features are "observed" or c1 is
        positive.
    {transitions_}
    {begin_, end_}
    edge_coef_ : ndarray of shape (n_edge_attributes, n_labels, n_labels)
        Empty, as transitions depend on no attributes.
    edge_attribute_names_ : ndarray of shape (n_edge_attributes,)
        Empty.
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
    CRF : The same without scores of whole segments.

    References
    ----------
    .. [1] Sarawagi, Cohen, "Semi-Markov Conditional Random Fields for Information Extraction",
       NIPS 2004.

    Examples
    --------
    >>> from sklearn_crcrf import SemiMarkovCRF
    >>> X = [["to", "New", "York"], ["in", "Paris"], ["to", "Los", "Angeles"]]
    >>> y = [["O", "B-LOC", "I-LOC"], ["O", "B-LOC"], ["O", "B-LOC", "I-LOC"]]
    >>> crf = SemiMarkovCRF(max_length=2).fit(X, y)
    >>> crf.predict([["in", "Los", "Angeles"]])
    array([list(['O', 'B-LOC', 'I-LOC'])], dtype=object)
    >>> crf.segment_types_, crf.length_.shape
    (array(['LOC'], dtype=object), (1, 3))
    """

    _: KW_ONLY
    features: Any = "observed"
    edge_columns: Collection = field(init=False, default=())
    init: Any = field(init=False, default="auto")
    device: Any = field(init=False, default=None)
    segment_sigma: float | None = None
    max_length: int = 8
    scheme: str = "IOB2"

    _parameter_constraints: ClassVar[dict] = {
        **CRF._parameter_constraints,
        "segment_sigma": [None, Interval(Real, 0, None, closed="neither")],
        "max_length": [Interval(Integral, 1, None, closed="left")],
        "scheme": [str],
    }

    @property
    def segment_types_(self) -> np.ndarray:
        """The types of segments, which are the labels without their prefixes."""
        return self._roles().types

    def _roles(self) -> Roles:
        return roles_of(self.classes_, self.scheme)

    def _tokens(self, X: SequenceArray) -> SequenceArray:
        return SequenceArray(X.data, X.offsets)

    def _structure(self, X: SequenceArray) -> Structure:
        chain = structure_of(X)
        if not chain.always_sequential:
            raise ValueError(f"X: {type(self).__name__} takes sequences, but no trees or graphs")
        if not hasattr(self, "length_"):
            return chain
        max_length = self.length_.shape[1] - 1
        return self._segmented(X, self.segment_feature_names_, max_length)

    def _segmented(self, X: SequenceArray, names: np.ndarray, max_length: int) -> SemiMarkovChain:
        """Return the structure of X, with the features of its spans."""
        spans = None
        if isinstance(X, SegmentedArray) and len(names):
            if not np.array_equal(X.names, names):
                raise ValueError(
                    f"X must have the features of segments of training, which are {_some(names)}, "
                    f"but has {_some(X.names)}"
                )
            longest = X.spans.length.max(initial=0)
            if longest > max_length:
                raise ValueError(
                    f"X has features of spans of {longest} tokens, but max_length is {max_length}"
                )
            spans = X.spans
        elif len(names):
            raise ValueError(
                f"{type(self).__name__} was trained with {len(names)} features of segments, but X "
                "has none"
            )
        return SemiMarkovChain(X.offsets, self._roles(), max_length, spans)

    def _what_needs_all(self, sees: Collection[str] = ()) -> dict[str, bool]:
        return {type(self).__name__: True}

    def _read(self, *data: Any, **options: Any) -> Corpus:
        corpus = super()._read(*data, **options)
        _check_segmentations(corpus, cast(SemiMarkovChain, corpus.structure), self.scheme)
        return corpus

    def _training_structure(self, X: SequenceArray, structure: Structure) -> Structure:
        names = X.names if isinstance(X, SegmentedArray) else np.empty(0, object)
        self.segment_feature_names_ = names
        return self._segmented(X, names, self.max_length)

    def _problem(self, *data: Any) -> Problem:
        problem = super()._problem(*data)
        scale = 1.0
        if self.segment_sigma is not None:
            if np.isinf(self.sigma):
                raise ValueError("segment_sigma needs a finite sigma")
            scale = self.segment_sigma / self.sigma
        types, names = self.segment_types_, self.segment_feature_names_
        before = self.__dict__.pop("_before", None) or SegmentWeights.none()
        length, of_features = before.matching(types, names, self.max_length + 1)
        own_terms = Length(length, scale), SpanFeature(of_features, scale)
        return problem._replace(own_terms=own_terms)

    def _known_weights(self) -> NamedWeights | None:
        known = super()._known_weights()
        if known is None:
            return None
        names = self.segment_types_, self.segment_feature_names_
        return known._replace(own=SegmentWeights(*names, self.length_, self.segment_coef_))

    def _matching(self, known: NamedWeights | None) -> Weights | None:
        self._before = known and known.own
        return super()._matching(known)

    def _set_weights(self, problem: Problem, x: np.ndarray) -> None:
        super()._set_weights(problem, x)
        own_terms: Any = problem.own_terms
        arrays = problem.terms().split(x).shared[-len(own_terms) :]
        self.length_, self.segment_coef_ = (
            term.weights(array) for term, array in zip(own_terms, arrays, strict=True)
        )

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        scores = super()._scores(prepared, batch)
        spans = cast(SemiMarkovChain, batch.structure).spans
        own = SegmentLayout.join(self.length_, spans.features @ self.segment_coef_)
        return scores._replace(own=own)

    def _contributions(self, prepared: Any, batch: Batch, y: np.ndarray) -> Contributions:
        of_tokens = super()._contributions(prepared, batch, y)
        structure = cast(SemiMarkovChain, batch.structure)
        start, stop, kind, span = structure.segments(y)
        n_lengths = self.length_.shape[1]
        length = np.minimum(stop - start, n_lengths)
        names = [
            f"{name} of {n} tokens" if n < n_lengths else f"{name} of {n} tokens or more"
            for name, n in zip(self.segment_types_[kind], length, strict=True)
        ]
        weight = self.length_[kind, length - 1]
        of_lengths = Contributions.of("segment", start, names, weight)
        has_span = np.flatnonzero(span >= 0)
        rows = sp.coo_array(structure.spans.features[span[has_span]])
        segment, feature = has_span[rows.coords[0]], rows.coords[1]
        of_spans = Contributions.of(
            "segment",
            start[segment],
            self.segment_feature_names_[feature],
            self.segment_coef_[feature, kind[segment]],
            rows.data,
        )
        return Contributions.join([of_tokens, of_lengths, of_spans])

    def _scores_per_token(self) -> int:
        return len(self.classes_) + self.length_.size

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        n_features = len(self.segment_feature_names_)
        yield Fact("scheme", self.scheme in ONE_TO_ONE, f"must be one of {ONE_TO_ONE}")
        n_types, n_lengths = len(self.segment_types_), np.shape(self.length_)[-1:]
        yield Fact("length_", n_lengths > (1,), "must have a column for each length")
        yield Array("length_", self.length_, (n_types, *n_lengths))
        yield Array("segment_coef_", self.segment_coef_, (n_features, n_types))
        names = self.segment_feature_names_
        yield Array("segment_feature_names_", names, (n_features,), kind="OUS")


def _some(names: np.ndarray) -> str:
    """Return how many names there are, and the first of them."""
    first = ", ".join(map(str, names[:3].tolist()))
    return f"{len(names)} names ({first}{', ...' if len(names) > 3 else ''})"


def _check_segmentations(corpus: Corpus, structure: SemiMarkovChain, scheme: str) -> None:
    """Raise ValueError if labels spell no segmentation; the message says where."""
    known = corpus.y >= 0
    fits = structure.is_segmentation(np.maximum(corpus.y, 0))
    before, after = np.roll(known, 1), np.roll(known, -1)
    before[corpus.offsets[:-1][np.diff(corpus.offsets) > 0]] = True
    after[corpus.offsets[1:][np.diff(corpus.offsets) > 0] - 1] = True
    wrong = ~fits & known & before & after
    if wrong.any():
        sequence, position = locate(corpus.offsets, int(np.argmax(wrong)))
        raise ValueError(
            f"y, sequence {sequence}, position {position}: the label does not fit the labels "
            f'before and after it in the scheme "{scheme}"; convert_scheme can rewrite labels'
        )
    if corpus.allowed is not None:
        n = structure.roles.kind.size
        free = Scores.of(np.zeros((structure.n_tokens, n)), np.zeros((n, n)))
        value, _ = structure.maximum(free.allow(corpus.allowed))
        if np.isneginf(value).any():
            raise ValueError(
                f"y, sequence {int(np.argmin(value))}: no labelling in the scheme "
                f'"{scheme}" agrees with the labels that are known'
            )
