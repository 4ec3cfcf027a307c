"""EmpiricalCRF: a conditional random field trained by counting."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions

from ...base.batch_values import raise_if_impossible, raise_if_not_finite, token_marginals
from ...base.batches import Batch
from ...base.contributions import Contributions
from ...base.docstrings import documented
from ...base.sample_weight import sequence_weights
from ...base.weights import NamedWeights
from ...counts import Counts, Template
from ...counts.classifier import CountingClassifier
from ...counts.counter import (
    LabelledObservations,
    Spelling,
    count_folds_of_corpus,
    edge_types,
    kind_of_links,
)
from ...counts.links import KINDS_OF_LINKS
from ...counts.observations import ATTRIBUTES
from ...counts.parts import PartialCounts
from ...counts.prepared import Prepared
from ...counts.renumbering import renumber
from ...counts.rows import FLOOR
from ...counts.triangles import TRIANGLES
from ...data.graphs import GraphArray
from ...data.layout import Sequences
from ...data.ragged import SequenceArray
from ...feature_extraction.tagger_steps import tagger_steps
from ...labels.partial import label_columns
from ...labels.segments.schemes import are_segments
from ...labels.soft import GivenProbabilities
from ...serving import Tagger
from ...structures import Graph, HigherOrderChain, Scores, Structure, structure_of
from ...structures.inference import INFERENCE, Inference, as_inference
from ...structures.inference.base import warn_unless_converged
from ...structures.lattice.pruning import MOST_OF_RUNS
from ...training.monitor import Training
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Fact, Requirement, below, indices
from ...utils.warning import warn_caller
from . import live_rows
from .contributions import attribute_names
from .experts import Experts, all_experts, chosen_experts, context_experts
from .fit_exponents import (
    MAX_ITER,
    HeldOut,
    fit_exponents,
    fit_segment_exponents,
    fit_temperature,
    held_out_folds,
    share_found,
)
from .frequencies import FrequencyModel
from .left_out import has_rows
from .model import Statistics
from .out_of_fold import METHODS, answers_of, folds_of, read_corpus
from .product_spelling import ProductSpelling
from .run_rates import RUNS, RunRates
from .segment_rates import (
    MAX_LENGTH,
    check_segmentations,
    segment_roles,
    segment_templates,
    segmented,
)
from .serving import PreparedWords, counted_tagger_of, labels_of_words
from .signature_spelling import JointSpelling, MaxEntSpelling, MeanSpelling
from .smoothed import SmoothedModel
from .without_each import has_all_of_a_label, scores_by_rows

SPELLINGS: dict[str, Any] = {
    "product": ProductSpelling,
    "joint": JointSpelling,
    "mean": MeanSpelling,
    "maxent": MaxEntSpelling,
}
# Least width of a prior: under a narrower one, no counts would change the estimates.
NARROWEST = 1e-6
# How far exponents are moved at most from their initial values to the values of greatest
# likelihood, which make good probabilities, but sometimes worse labels. Where most labels are "O"
# and few others are found, greatest likelihood finds fewer still; so exponents move no further than
# the share of them that is found.
FITTED_SHARE = 0.7
NOTHING_COMPLETE = (
    "exponents keep their defaults: every sequence that could be held out has unknown labels"
)
# Parameters that need the label of every token.
ALL_LABELS = {"exponents": "fit", "segments": "counted"}


@documented
@dataclass(eq=False, repr=False)
class EmpiricalCRF(CountingClassifier):
    r"""CRF over sequences, trees or graphs, trained in closed form from counts.

    The probability of a labelling is a product of the probabilities of single labels and of
    co-occurrence rates of neighbouring labels,

    .. math::

       p(y \mid x) = \prod_i \mathrm{CR}(y_i; y_{i+1} \mid x) \prod_j p(y_j \mid x), \qquad
       \mathrm{CR}(a; b) = \frac{p(a, b)}{p(a)\, p(b)},

    and each factor is estimated by counting [1]_ [2]_. By default zero counts are smoothed by
    broader estimates, and unknown words are judged by their spelling and their neighbours.
    :meth:`ecrn` and :meth:`maxent` give the methods of the papers.

    Parameters
    ----------
    sigma : float, default=1.0
        Width of all priors, from 1e-18 to inf: pseudo-counts are divided by ``sigma ** 2``, so a
        smaller sigma smooths more, and ``inf`` gives plain frequencies. Weights of
        ``spelling="maxent"`` have a Gaussian prior with the standard deviation sigma, and fitted
        exponents one with ``0.1 * sigma``.
    order : {1, 2, 3}, default=1
        2 adds co-occurrence rates of three labels in a row, and 3 also of four, in sequences. Each
        token then keeps at most 8 labels: those with a probability of at least 0.00003 by the rates
        of two labels.
    segments : {"counted"}, default=None
        Whether whole segments are counted too: how often runs of up to 4 tokens with the same
        words, with the same shapes after the same word, or with the same last word were a segment.
        This raises or lowers the scores of whole segments, with the exponents "segment", "segment
        shapes" and "segment end". Labels must be in the scheme IOB2, IOBES, BILOU or BMES;
        labellings that spell no segmentation are impossible.
    exponents : None, "fit" or dict, default=None
        How much each estimate counts, by name as in ``exponents_``. A dict replaces some of the
        defaults. "fit" chooses all by maximum likelihood on held-out folds, with 20,000 to 80,000
        tokens, or all if there are fewer, and then calibrates the probabilities on these tokens.
        Sequences with unknown labels are counted, but not held out. "transition" is the
        exponent of the rates of label pairs, and "edges" of what the symbols of both tokens add to
        these; for trees and graphs see Notes.
    validation_fraction : float, default=0.1
        Largest fraction of the tokens, in (0, 1), in a fold that is held out to fit exponents; the
        smaller, the more folds. Folds consist of blocks of consecutive sequences.
    experts : list of str, default=None
        Templates of the attributes that predict a label besides the word and its spelling, such as
        ``"tag[-1]|tag[0]"``, as in :class:`~sklearn_crcrf.Window`. Each is smoothed towards the one
        with most of its symbols. By default they are windows of the words and of all other
        columns, and rates of labels depend on the columns of both tokens. If experts are given,
        rates depend on the words only, and all default exponents are smaller the more experts
        there are. Unless labels are of segments, or more than 40, rates also depend on the shapes
        and the last characters of both words.
    spelling : {"product", "joint", "mean", "maxent"}, default="product"
        How :math:`p(y \mid \mathrm{spelling})` is estimated: as a product of the co-occurrence
        rates of y with affixes, shape and case; or, from the eleven binary features of the papers,
        as the frequency given all features, the mean of the frequencies given each feature, or an
        exponential model.
    mu_oov : float, default=1.0
        Exponent of :math:`p(y \mid \mathrm{spelling})` of an unknown word, in [0, inf): below 1 its
        neighbours count for more, above 1 its spelling does.
    known_neighbour : {"spelling", "word"}, default="spelling"
        What the rate of a known and an unknown word sees of the known one: its spelling, or the
        word itself. "word" needs ``spelling`` "joint" or "mean", and ``zeros`` "floored" or
        "exact". It found more Dutch names, and fewer parts of speech of Brown.
    zeros : {"smoothed", "floored", "exact"}, default="smoothed"
        How events that never occurred are scored: by a broader estimate, or as in the papers. There
        a known word has only the labels it was seen with; a pair of words not seen together backs
        off to the spelling if one word is unknown, else to the labels alone; wider context is not
        used; and a pair of labels that never occurred costs a large constant ("floored") or is
        impossible ("exact").
    min_count : int, default=1
        How often several symbols, as in ``"token[-1]|token[0]"``, must occur together
        to have weights. Most weights of a model are of pairs that occurred once, so 2 makes it much
        smaller. Above 1, :meth:`partial_fit` and :meth:`forget` raise an error, because counts that
        were dropped cannot change.
    inference : {"auto", "exact", "loopy", "trw", "cut", "ilp"} or Inference, default="auto"
        How labels of graphs with cycles are found, as in :class:`GraphCRF`.
    observation : str, default=None
        The key or column that holds the words, if tokens have several. By default it is the one
        with the most different values, of those that are neither numbers nor truth values and
        differ within sequences; if the choice is close, there is a warning.
    {binning}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict.

    Attributes
    ----------
    {classes_}
    coef_ : CSR of shape (n_attributes, n_labels)
        Weights of attributes; a state score is a sum of rows, each times its exponent. They are
        not negative; without smoothing, they are logarithms of frequencies.
    {attribute_names_}
    transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
        Transition scores that all tokens share; in forests from parent to child.
    begin_, end_ : ndarray of shape (n_labels,)
        Scores of the labels of first and last tokens, or of roots and leaves; zero in graphs with
        cycles, and unless zeros are smoothed.
    exponents_ : dict
        The exponents in use, by name.
    observation_ : str or None
        The key or column that holds the words; None if X has numbers only.
    {counts_}
    {receipt_}
    {tabulator_}
    {encoder_}
    model_ : SmoothedModel or FrequencyModel
        The estimates made from the counts; computes the scores.
    loss_curve_ : list of float
        Only if exponents were fitted, as the two below: the loss of the held-out sequences, plus
        the penalty of the exponents, after each iteration. The exponents of segments come last.
    {n_iter_}
    converged_ : bool
        False if the exponents still changed after 50 iterations.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    CRF : Weights that minimise a loss, of any attributes.
    HMM : Counts of labels and observations together.
    co_occurrence_rate : The rates of any variables.
    SegmentF1Classifier : Labels for the F1 of segments.

    Notes
    -----
    Plain frequencies have the greatest likelihood if the labels of a word are distributed next to
    each of its neighbours as on the whole ([1]_, theorem 1), but not in general:
    :func:`mle_conditions` says how far a model is from the greatest likelihood.

    In the forests of a :class:`GraphArray` each rate is of a parent and a child, and the product is
    as in a chain. The neighbours that predict a label are still those in the sequence of tokens.
    Types of edges have rates of their own, smoothed towards the common rates, with the exponent
    "edge types".

    In graphs with cycles ``inference`` says how labels are found, :meth:`predict` gives the best
    label of each token, and the order of the tokens does not matter. Rates are the same in both
    directions of an edge, unless a test of the counts finds that the direction tells about labels.
    The product of the rates counts evidence several times, so all of them have the exponent
    "edges", by default 0.5. Where the product is right, in forests and in samples whose triangles
    have rates, they have the exponent "cliques", by default 1.

    Triangles have rates in samples that are chordal (each cycle of more than three tokens has a
    chord) and have no clique of four tokens. Then there is another factor for each triangle [2]_,

    .. math::

       \frac{\mathrm{CR}(i; j; k)}{\mathrm{CR}(i; j)\, \mathrm{CR}(j; k)\, \mathrm{CR}(i; k)};

    which is smoothed towards 1. The product is exact where the rates of edges and triangles
    depend on nothing of X but the types of the edges; rates that differ by words are averaged.
    The inference must be "exact" or "ilp", or "auto" with at most 21 labels.

    References
    ----------
    .. [1] Zhu, Hiemstra, Apers, Wombacher, "Closed Form Maximum Likelihood Estimator of
       Conditional Random Fields", 2013, hdl:2066/227018.
    .. [2] Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence Labeling", ICMLA 2013,
       doi:10.1109/ICMLA.2013.23.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> crf = EmpiricalCRF().fit(X, y)
    >>> crf.predict([["the", "cat", "walks"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    >>> crf.forget(X[:1], y[:1]).predict([["a", "cat"]])
    array([list(['D', 'N'])], dtype=object)
    """

    _: KW_ONLY
    sigma: float = 1.0
    order: int = 1
    segments: Any = None
    exponents: Any = None
    validation_fraction: float = 0.1
    experts: Any = None
    spelling: str = "product"
    mu_oov: float = 1.0
    known_neighbour: str = "spelling"
    zeros: str = "smoothed"
    min_count: int = 1
    inference: Any = "auto"
    observation: Any = None
    binning: Any = None
    sample_unit: str = "sequence"
    n_jobs: int | None = None

    _kept_from = 1  # the min_count of the estimates
    _rows: ClassVar[Any] = None  # what has the counts of a model that learns and forgets
    _private_estimates = ("_counter", "_exponents", "_rank", "_run_rates", "_kept_from")
    _parameter_constraints: ClassVar[dict] = {
        "mu_oov": [Interval(Real, 0, None, closed="left")],
        "spelling": [StrOptions(set(SPELLINGS))],
        "zeros": [StrOptions({"smoothed", "floored", "exact"})],
        "known_neighbour": [StrOptions({"spelling", "word"})],
        "experts": ["array-like", None],
        "exponents": [None, StrOptions({"fit"}), Mapping],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "inference": [StrOptions(set(INFERENCE)), Inference],
        "order": [Interval(Integral, 1, 3, closed="both")],
        "segments": [StrOptions({"counted"}), None],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "observation": [str, None],
    }

    @classmethod
    def ecrn(cls, **params: Any) -> "EmpiricalCRF":
        """Make the model of the ICMLA 2013 paper (III-D): plain frequencies with back-off.

        With ``spelling="mean"`` it is EP1, the first method of the 2013 report (3.7.1).

        Parameters
        ----------
        **params
            Parameters other than ``spelling="joint"``, ``zeros="floored"`` and ``sigma=inf``, or
            other values of these.

        Returns
        -------
        EmpiricalCRF
            Not fitted.
        """
        return cls(**{"spelling": "joint", "zeros": "floored", "sigma": np.inf, **params})

    @classmethod
    def maxent(cls, **params: Any) -> "EmpiricalCRF":
        """Make EP2, the exponential extension of the 2013 report (3.7.2): fitted distributions.

        A rate with an unknown word is a fitted distribution of label pairs, divided by two fitted
        distributions of labels. It differs from the report, which divides by the frequencies of a
        known word, and takes the fitted distribution of label pairs also for two known words that
        were not seen together; here these have the rate of their labels alone.

        Parameters
        ----------
        **params
            Parameters other than ``spelling="maxent"``, ``zeros="floored"`` and ``sigma=10``, or
            other values of these.

        Returns
        -------
        EmpiricalCRF
            Not fitted.
        """
        return cls(**{"spelling": "maxent", "zeros": "floored", "sigma": 10.0, **params})

    def predict(self, X: Any, allowed: Any = None, subject_to: Any = None) -> Any:
        """Return the labels of the best path of each sequence.

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
        ready, found = self._ready(X), None
        if allowed is None and subject_to is None and ready._rows is None:
            found = labels_of_words(ready, X)
        if found is not None:
            return found
        return super(EmpiricalCRF, ready).predict(X, allowed, subject_to)

    def tagger(self, transformers: Sequence[Any] = (), *, counts: bool = False) -> Tagger:
        """Make an immutable object that labels one sequence in one compiled call.

        Parameters
        ----------
        transformers : sequence of fitted transformers, default=()
            The steps before this classifier in a pipeline, which turn columns into columns.
        counts : bool, default=False
            Whether files of the tagger have the counts too, so that the tagger of the JavaScript
            module can learn sentences. This needs ``min_count=1``, ``order=1`` and experts with
            "token[+1]" among them.

        Returns
        -------
        Tagger
            It gives the labels of :meth:`predict`; see :class:`~sklearn_crcrf.serving.Tagger`.

        Raises
        ------
        ValueError
            If X had numbers or other links than sequences in fit; ``zeros``, ``spelling`` or
            ``segments`` is not the default; an expert has more than three symbols; X has too many
            columns; or a tagger cannot do what a transformer does.
        """
        check_fitted(self)
        columns = tagger_steps(transformers) if transformers else None
        return counted_tagger_of(self, columns, counts)

    def fit_exponents(self, X: Any, y: Any, sample_weight: Any = None) -> "EmpiricalCRF":
        """Fit the exponents of a fitted model to data that was not counted.

        Experts that :meth:`fit` did not count take no part: those whose exponent is 0 by default,
        unless ``exponents`` is "fit" or names them. Sequences with labels that are unknown, or were
        never counted, are left out. The weight of a sequence is the mean over its tokens.

        Parameters
        ----------
        X, y, sample_weight : as in :meth:`fit`

        Returns
        -------
        self
        """
        check_fitted(self)
        since = self.__dict__
        with self._replaced_by(copy(self), since) as twin:
            twin._fit_exponents_to(X, y, sample_weight)
        return self

    def refit_exponents(self, X: Any, y: Any, sample_weight: Any = None) -> "EmpiricalCRF":
        """Fit the exponents anew to data that was counted, as ``exponents="fit"`` does.

        Fitted exponents still depend on data that was forgotten since, and do not know what was
        learned since. Given all data that is left, in its order, the model becomes the one of a new
        fit. Given a part of it, exponents fit this part; the counts of all other data stay. Experts
        that :meth:`fit` did not count take no part.

        Parameters
        ----------
        X, y, sample_weight
            As they were given to :meth:`fit` or :meth:`partial_fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If some of the data was never counted, ``min_count`` is above 1, or fewer than two
            sequences have tokens.

        Examples
        --------
        >>> from sklearn_crcrf import EmpiricalCRF
        >>> from sklearn_crcrf.datasets import make_addresses
        >>> X, y = make_addresses(60, random_state=0)
        >>> crf = EmpiricalCRF(exponents="fit").fit(X, y).forget(X[40:], y[40:])
        >>> fitted = EmpiricalCRF(exponents="fit").fit(X[:40], y[:40])
        >>> crf.exponents_ == fitted.exponents_
        False
        >>> crf.refit_exponents(X[:40], y[:40]).exponents_ == fitted.exponents_
        True
        """
        check_fitted(self)
        since = self.__dict__
        with self._replaced_by(copy(self), since) as twin:
            twin._refit_exponents(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def predict_out_of_fold(
        self,
        X: Any,
        y: Any,
        cv: Any = 5,
        sample_weight: Any = None,
        method: str = "predict",
        groups: Any = None,
    ) -> Any:
        """Predict each sequence by a model that is trained on the other folds.

        All folds are counted in one pass, then the counts of one fold at a time are subtracted, so
        it costs little more than one fit. This estimator does not change, and need not be fitted.

        Parameters
        ----------
        X, y : as in :meth:`fit`
        cv : int, splitter or iterable of splits, default=5
            Number of consecutive folds, or a splitter that tests every sequence exactly once, such
            as ``LeaveOneOut()``, or ``LeaveOneGroupOut()`` and ``GroupKFold()`` with groups.
        sample_weight : as in :meth:`fit`
        method : {"predict", "predict_proba", "log_proba", "spans"}, default="predict"
            What to return: labels, the probabilities of all labels, the log-probabilities of the
            labels in y, or the segments of the predicted labels.
        groups : array-like of shape (n_samples,), optional
            The group of each sequence, or of each row of a table, such as its document. A sequence
            belongs to one group.

        Returns
        -------
        labels, in the layout of X
            For "predict".
        probabilities, in the layout of X
            For "predict_proba", with the labels of y in sorted order. A label that only the test
            fold has gets the probability 0.
        LogProbabilities
            For "log_proba": of each token, each segment of y, and each sequence; -inf for a label
            that the other folds lack, NaN for the unknown label of a token.
        list of lists of (start, end, type, probability)
            For "spans", as :meth:`predict_spans` returns it.

        Raises
        ------
        ValueError
            If ``exponents`` is "fit" (pass the ``exponents_`` of a fitted model), there is no such
            method, a sequence is not in exactly one test set, or ``groups`` does not fit X.

        Examples
        --------
        >>> from sklearn.model_selection import LeaveOneOut
        >>> from sklearn_crcrf import EmpiricalCRF
        >>> X = [["the", "dog"], ["the", "cat"], ["dogs", "sleep"]]
        >>> y = [["D", "N"], ["D", "N"], ["N", "V"]]
        >>> given = EmpiricalCRF().predict_out_of_fold(X, y, LeaveOneOut(), method="log_proba")
        >>> given.tokens[2][1], given.sequences[2]  # no other sequence has a V
        (-inf, np.float64(-inf))
        """
        if method not in METHODS:
            raise ValueError(f"method must be one of {tuple(METHODS)}, got {method!r}")
        if self.exponents == "fit":
            raise ValueError('exponents="fit" is fitted by fit only; give the exponents as a dict')
        twin = clone(self)._unfitted()
        sequences, weights = twin._check_training(X, y, sample_weight, reset=True)
        corpus = read_corpus(twin, sequences, weights)
        fold = folds_of(cv, sequences, groups)
        (answer,) = answers_of(METHODS[method], [twin], corpus, fold)
        return answer.result()

    def known_tokens(self, X: Any) -> Any:
        """Tell which words were seen in training.

        Parameters
        ----------
        X : as in :meth:`predict`

        Returns
        -------
        bool values, in the layout of X
            Whether the word of each token was counted.
        """
        check_fitted(self)
        fitted = copy(self)
        sequences = fitted._check_X(X)
        observations = fitted._encode(sequences.X)
        seen = np.append(fitted.model_.statistics.n_seen, [0.0, 0.0])[observations.ids] > 0
        return sequences.mirror(seen[observations.word])

    @property
    def observation_(self) -> str | None:
        """The key or column that holds the words; None if X has numbers only."""
        return self.tabulator_.words if self.tabulator_.has_words else None

    @property
    def coef_(self) -> sp.csr_array:
        """Weights of attributes, CSR of shape (n_attributes, n_labels)."""
        return self.model_.coef

    @property
    def attribute_names_(self) -> np.ndarray:
        """The attribute of each row of ``coef_``, such as ``"token[-1]=the|token[0]=dog"``."""
        names = attribute_names(self.model_.attribute_keys(), self.encoder_)
        others = self.encoder_.attribute_names if hasattr(self.model_, "attributes") else []
        return np.append(names, np.array(others, dtype=object))

    @property
    def transitions_(self) -> np.ndarray:
        """Transition scores that are the same for all tokens, row = previous label."""
        return self.model_.common_transitions()

    @property
    def begin_(self) -> np.ndarray:
        """Scores of the first labels of sequences."""
        return self.model_.boundaries()[0]

    @property
    def end_(self) -> np.ndarray:
        """Scores of the last labels of sequences."""
        return self.model_.boundaries()[1]

    def _unfitted(self) -> Self:
        twin = super()._unfitted()
        twin._exponents = twin._given_exponents()
        return twin

    def _given_exponents(self) -> dict[str, float]:
        """Return the exponents that differ from the defaults before any are fitted."""
        return dict(self.exponents) if isinstance(self.exponents, Mapping) else {}

    def _spelling(self) -> Spelling:
        return SPELLINGS[self.spelling].features, SPELLINGS[self.spelling].symbols

    def _templates(self) -> list[Template]:
        if self.zeros == "smoothed":
            given = None if self.exponents == "fit" else self._exponents
            templates = SmoothedModel.templates(self.encoder_, given, self._experts())
        elif self.encoder_.n_attributes is None:
            templates = FrequencyModel.templates(self.encoder_)
        else:
            raise ValueError(f'a sparse X needs zeros="smoothed", got {self.zeros!r}')
        if self.segments is not None:
            templates += segment_templates(self.encoder_.names[0])
        return templates + RUNS[: self.order - 1]

    def _experts(self) -> Experts:
        """Find the experts that may take part."""
        encoder = self.encoder_
        given = encoder.names, encoder.lexicon.features, encoder.links
        if self.experts is not None:
            return chosen_experts(self.experts, *given)
        return all_experts(*given, has_words=encoder.n_attributes is None)

    def _experts_for_labels(self) -> Experts:
        """Find the experts that suit the labels."""
        labels = self.classes_.tolist()
        return self._experts().for_labels(are_segments(labels), len(labels))

    def _estimate(self, counts: Counts, more_labels: Any = ()) -> None:
        self._kept_from = self.min_count
        if self.min_count > 1:
            counts = counts.without_rare(self._pruned_templates(), self.min_count)
        seen = counts[Template(((self.encoder_.names[0], 0),))].events[:, -1]
        self._rank = self._set_classes(seen, more_labels)
        statistics = Statistics(self.encoder_, renumber(counts, self._rank), len(self.classes_))
        strength = self._strength
        spelling, mu_oov = SPELLINGS[self.spelling], self.mu_oov
        exponents: dict[str, float] = self._exponents
        if self.zeros == "smoothed":
            experts = self._experts_for_labels()
            defaults = experts.exponents(are_segments(self.classes_.tolist()))
            roles = None if self.segments is None else segment_roles(self.classes_)
            self.model_: Any = SmoothedModel(
                statistics, spelling, strength, mu_oov, exponents, experts, defaults, roles
            )
        else:
            floor = FLOOR if self.zeros == "floored" else -np.inf
            self.model_ = FrequencyModel(
                statistics, spelling, strength, mu_oov, exponents, floor, self.known_neighbour
            )
        self.exponents_ = self.model_.exponents.asdict()
        self.counts_ = counts
        self._run_rates = self._estimate_runs()

    def _estimate_like(self, other: Self) -> None:
        """Take over estimates from the same counts, where mu_oov and order may be others."""
        for name in ("classes_", "exponents_", "counts_", "_rank", "_kept_from"):
            setattr(self, name, getattr(other, name))
        self.model_ = other.model_.with_mu_oov(self.mu_oov)
        self._run_rates = self._estimate_runs()

    def _estimate_runs(self) -> list[RunRates]:
        """Estimate the rates of three labels in a row, and of more."""
        counts, n_labels = self.model_.statistics.counts, len(self.classes_)
        shared = n_labels, self._strength, self._transition_exponent()
        return [RunRates(counts[template], *shared) for template in RUNS[: self.order - 1]]

    @property
    def _strength(self) -> float:
        """What the pseudo-counts of priors are multiplied by."""
        return (1.0 / max(self.sigma, NARROWEST)) ** 2

    def _pruned_templates(self) -> list[Template]:
        """List the templates whose rare symbols have no weights."""
        if self.min_count == 1:
            return []
        others = {TRIANGLES, *segment_templates(self.encoder_.names[0])}
        return [t for t in self._templates() if len(t.symbols) > 1 and t not in others]

    def _transition_exponent(self) -> float:
        """Return the exponent of the rates of two labels in a row; 1 without smoothing."""
        return self.model_.exponents.asdict().get("transition", 1.0)

    def _take(self, part: PartialCounts) -> None:
        """Estimate from counts, without the fitted exponents of columns that are no more."""
        names = self.encoder_.names
        if names != part.plan.names and not isinstance(self.exponents, Mapping):
            features = self.encoder_.lexicon.features
            before, after = (
                {
                    name
                    for expert in context_experts(some, features)
                    for name in expert.exponent_names
                }
                for some in (names, part.plan.names)
            )
            lost = before - after
            kept = {k: v for k, v in self._exponents.items() if k not in lost}
            self._exponents: dict[str, float] = kept
        super()._take(part)

    def _fit_to(self, corpus: LabelledObservations) -> None:
        """Count once, fit the exponents by cross-validation if asked to, and estimate."""
        if self.exponents != "fit":
            super()._fit_to(corpus)
            return
        self._fit_to_folds(corpus, self._templates())

    def _fit_to_folds(
        self,
        corpus: LabelledObservations,
        templates: list[Template],
        counted: Counts | None = None,
    ) -> None:
        """Fit the exponents by cross-validation, and estimate.

        The corpus is all data, or a part of what was counted.
        """
        fold = held_out_folds(
            corpus.offsets, self.validation_fraction, len(np.unique(corpus.labels))
        )
        n_folds = int(fold.max(initial=-1)) + 1
        counts = count_folds_of_corpus(corpus, templates, np.where(fold < 0, n_folds, fold))
        total, parts = reduce(Counts.__add__, counts), []
        if counted is not None:
            total = total + (counted - total)  # an error if it is no part
        weight = sequence_weights(corpus.weights, corpus.offsets)
        # The likelihood of a sequence needs all labels; tokens of unknown labels have no weight.
        is_complete = sequence_weights((corpus.weights == 0).astype(float), corpus.offsets) == 0
        for number in range(n_folds):
            held_out = is_complete & (fold == number)
            if weight[held_out].any() and weight[fold != number].any():
                self._estimate(total - counts[number], more_labels=corpus.labels)
                observations = corpus.observations.take(np.flatnonzero(held_out))
                prepared = self.model_.prepare(observations)
                structure = self.model_.structure(observations.structure, observations.edge_types)
                y = self._rank[corpus.labels[np.repeat(held_out, np.diff(corpus.offsets))]]
                parts.append(HeldOut(self.model_, prepared, y, structure, weight[held_out]))
        if parts:
            self._fit_exponents(parts)
        elif is_complete.all() or np.count_nonzero(weight) < 2:
            raise ValueError('exponents="fit" needs tokens in two sequences')
        else:
            warn_caller(NOTHING_COMPLETE)
            self.n_iter_, self.converged_ = 0, True
            self.loss_curve_ = list[float]()
        self._estimate_in_order(total)

    def _refit_exponents(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_fits_exponents()
        _, corpus = self._read_again(X, y, sample_weight)
        counted = self.counts_
        self._exponents = self._given_exponents()
        self._fit_to_folds(corpus, [t for t in counted if t != ATTRIBUTES], counted)

    def _scores_without(
        self, X: SequenceArray, corpus: LabelledObservations, chosen: np.ndarray
    ) -> Iterator[tuple[np.ndarray, Self, Structure, Scores]]:
        if has_rows(self):
            lost = has_all_of_a_label(self, corpus)
            yield from scores_by_rows(self, X, corpus, chosen[~lost[chosen]])
            chosen = chosen[lost[chosen]]
        yield from super()._scores_without(X, corpus, chosen)

    def _fit_exponents(self, parts: list[HeldOut]) -> None:
        """Move the exponents towards the greatest likelihood of the labels."""
        training = Training(0, None, MAX_ITER)
        fitted, self.converged_ = fit_exponents(parts, sigma=self.sigma, callback=training)
        start = parts[0].model.exponents.asdict()
        share = min(FITTED_SHARE, share_found(parts))
        moved = {
            name: start[name] + share * (value - start[name]) for name, value in fitted.items()
        }
        temperature = fit_temperature(parts, moved)
        self._exponents = {name: value / temperature for name, value in moved.items()}
        if self.segments is not None:
            structures = [segmented(part.structure.offsets, self.classes_) for part in parts]
            of_segments, converged = fit_segment_exponents(
                parts, structures, self._exponents, sigma=self.sigma, callback=training
            )
            self._exponents |= of_segments
            self.converged_ = self.converged_ and converged
        self.loss_curve_, self.n_iter_ = training.losses, training.n_iter

    def _fit_exponents_to(self, X: Any, y: Any, sample_weight: Any) -> None:
        sequences, weights = self._check_training(X, y, sample_weight, reset=False)
        self._check_fits_exponents()
        ids = label_columns(sequences.y, self.classes_)
        sequence = np.repeat(np.arange(len(sequences.X)), sequences.X.lengths)
        usable = np.setdiff1d(np.arange(len(sequences.X)), sequence[ids < 0])
        if len(usable) == 0:
            raise ValueError(
                f"every sequence has labels that are unknown, or not among {self.classes_.tolist()}"
            )
        X = sequences.X[usable]
        ids = SequenceArray(ids, sequences.X.offsets)[usable].data
        weight = sequence_weights(weights, sequences.X.offsets)[usable]
        structure = self._linked(X) if self._run_rates else self._structure(X)
        self._fit_exponents([HeldOut(self.model_, self._prepare(X), ids, structure, weight)])
        self.model_, self.exponents_ = self.model_.copy(), self._exponents
        self.model_.set_exponents(np.array(list(self._exponents.values())))
        exponent = self._transition_exponent()
        self._run_rates = [rates.following(exponent) for rates in self._run_rates]

    def _check_fits_exponents(self) -> None:
        if self.zeros != "smoothed":
            raise ValueError(f'exponents are fitted only if zeros="smoothed", not {self.zeros!r}')

    def _linked(self, X: SequenceArray) -> Structure:
        if isinstance(X, GraphArray) and not X.is_forest:
            engine = as_inference(self.inference).reporting(warn_unless_converged)
            return Graph(X.offsets, X.token_edges, engine)
        return structure_of(X)

    def _check_needs_no_corpus(self) -> None:
        if self.exponents == "fit":
            raise ValueError(
                'exponents="fit" needs all data at once; call fit_exponents afterwards'
            )

    def _check_can_change(self) -> None:
        kept_from = max(self.min_count, self._kept_from)
        if kept_from > 1:
            raise ValueError(
                f"min_count={kept_from}: the counts of what is rarer are dropped, so they cannot "
                "change any more; fit or fit_parts take all data at once, and min_count=1 keeps all"
            )
        model = vars(self).get("model_")
        if model is not None and not isinstance(model.spelling, SPELLINGS[self.spelling]):
            raise ValueError(f"spelling={self.spelling!r}, but the model was fitted with another")

    def _check_labelled(self, X, y, sample_weight, reset) -> tuple[Sequences, np.ndarray]:
        if self.exponents == "fit" and self.zeros != "smoothed":
            raise ValueError(f'exponents="fit" needs zeros="smoothed", got {self.zeros!r}')
        if self.experts is not None and self.zeros != "smoothed":
            raise ValueError(f'experts need zeros="smoothed", got {self.zeros!r}')
        if self.min_count > 1 and self.zeros != "smoothed":
            raise ValueError(f'min_count needs zeros="smoothed", got {self.zeros!r}')
        if self.known_neighbour == "word":
            if self.zeros == "smoothed":
                raise ValueError('known_neighbour="word" needs zeros="floored" or "exact"')
            if (given := self.spelling) not in ("joint", "mean"):
                raise ValueError(
                    f'known_neighbour="word" needs spelling="joint" or "mean", got {given!r}'
                )
        needed = {"zeros": "smoothed", "spelling": "product", "order": 1}
        for name, value in needed.items() if self.segments is not None else ():
            if (given := getattr(self, name)) != value:
                raise ValueError(f'segments="counted" needs {name}={value!r}, got {given!r}')
        for name, value in ALL_LABELS.items() if isinstance(y, GivenProbabilities) else ():
            if getattr(self, name) == value:
                raise ValueError(
                    f"y has probabilities of labels, but {name}={value!r} needs the labels "
                    "themselves"
                )
        sequences, weights = super()._check_labelled(X, y, sample_weight, reset)
        if self.segments is not None:
            check_segmentations(sequences.y)
        self._check_links(sequences.X, KINDS_OF_LINKS[-1] if reset else self.encoder_.links)
        return sequences, weights

    def _check_links(self, X: SequenceArray, known: str) -> None:
        """Raise ValueError if tokens have links of a kind that is not supported, or not known."""
        structure = self._linked(X)
        self._check_structure(structure, X)
        kind = "next" if structure.is_sequential() else kind_of_links(structure)
        if self.zeros != "smoothed" and kind == "any":
            raise ValueError(f'graphs with cycles need zeros="smoothed", got {self.zeros!r}')
        if KINDS_OF_LINKS.index(kind) > KINDS_OF_LINKS.index(known):
            fitted = {"next": "sequences", "children": "forests"}[known]
            raise ValueError(f"X has other links than the {fitted} that the model was fitted to")

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        reason = 'segments="counted"' if self.order == 1 else f"order={self.order}"
        if (self.order, self.segments) != (1, None) and not structure.is_sequential():
            raise ValueError(
                f"{reason} needs sequences, in which each token is linked to the next one, but X "
                "has other links"
            )

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if facts and len(self.encoder_.names) > 1 and self.observation_ is not None:
            facts["words"] = f"column {self.observation_!r}"
        return facts

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        n, model = len(self.classes_), self.model_
        is_model = isinstance(model, (SmoothedModel, FrequencyModel))
        yield Fact("model_", is_model, f"must be a model, but is a {type(model).__name__}")
        yield from below("model_", model.requirements(self.encoder_, self.classes_))
        yield indices("_rank", self._rank, (len(self._counter.label_ids),), n, -1)
        has_all = isinstance(self._run_rates, list) and len(self._run_rates) < 3
        yield Fact("_run_rates", has_all, "must be a list of at most two RunRates")
        for n_in_row, rates in enumerate(self._run_rates, 3):
            yield Fact("_run_rates", isinstance(rates, RunRates), "must be RunRates")
            yield from below("_run_rates", rates.requirements(n, n_in_row))

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        """Find the best path of each sequence, or of each token the best label if none is possible.

        In graphs with cycles also the best label of each token, unless there are no probabilities.
        """
        if self.encoder_.links == "any" and structure.can("log_partition"):
            return token_marginals(structure, scores, first).argmax(axis=1)
        value, y = structure.maximum(scores)
        raise_if_not_finite(value, structure, scores, first)
        if np.isneginf(value).any():
            impossible = np.repeat(np.isneginf(value), np.diff(structure.offsets))
            if np.isneginf(scores.state[impossible].max(axis=1)).any():
                raise_if_impossible(value, first)
            y[impossible] = scores.state[impossible].argmax(axis=1)
        return y

    def _structure(self, X: SequenceArray) -> Structure:
        if self._run_rates:
            tables: list[Any] = [rates.table() for rates in self._run_rates]
            return HigherOrderChain(X.offsets, tables)
        if self.model_.segments is not None:
            return segmented(X.offsets, self.classes_)
        structure = self._linked(X)
        known, types = self.encoder_.edge_types, edge_types(X, structure)
        ids = None if known is None or types is None else known.lookup(types)
        return self.model_.structure(structure, ids)

    def _scores_per_token(self) -> int:
        if self._run_rates:
            return MOST_OF_RUNS**3  # few tokens have as many runs of likely labels
        return len(self.classes_) * (1 if self.model_.segments is None else MAX_LENGTH)

    def _named_weights(self) -> NamedWeights:
        if self.zeros != "smoothed":
            raise ValueError(
                f'init: the weights of EmpiricalCRF need zeros="smoothed", got {self.zeros!r}'
            )
        return self.model_.named_weights(self.classes_)

    def _ready(self, X: Any) -> Self:
        return super()._ready(X) if self._rows is None else copy(self)

    def _room(self) -> int:
        counted = {*self.counts_} - {ATTRIBUTES}
        if self.min_count > 1 or not has_rows(self) or counted != {*self._templates()}:
            return 0
        n_tokens = float(self.model_.statistics.n_seen.sum())
        return max(live_rows.LEAST_ROOM, int(n_tokens / live_rows.SHARE))

    def _live_rows(self) -> live_rows.CountedLiveRows:
        return live_rows.CountedLiveRows(self)

    def _prepare(self, X: SequenceArray) -> Prepared:
        self._check_links(X, self.encoder_.links)
        if self._rows is None:
            return self.model_.prepare(self._encode(X))
        self.model_, prepared = self._rows.prepare(self, X)
        return prepared

    def _prepare_scores(self, X: SequenceArray) -> Prepared | PreparedWords:
        words = PreparedWords.of(self, X)
        return self._prepare(X) if words is None else words

    def _scores(self, prepared: Prepared | PreparedWords, batch: Batch) -> Scores:
        if isinstance(prepared, PreparedWords):
            return prepared.scores(batch)
        part = prepared.take(batch)
        scores = self.model_.scores(part)
        if self.model_.segments is None:
            return scores
        return self.model_.with_segments(batch.structure, scores, part)

    def _contributions(self, prepared: Prepared, batch: Batch, y: np.ndarray) -> Contributions:
        part = prepared.take(batch)
        entries = self.model_.contributions(part, y, self.classes_, batch.structure)
        for n, rates in enumerate(self._run_rates, 3):
            runs = [y[k : len(y) - n + 1 + k] for k in range(n)]
            names = [" → ".join(map(str, self.classes_[[*ids]])) for ids in zip(*runs, strict=True)]
            last = np.arange(n - 1, max(len(y), n - 1))
            of_runs = Contributions.of("transition", last, names, rates(*runs))
            entries = Contributions.join([entries, of_runs])
        return entries
