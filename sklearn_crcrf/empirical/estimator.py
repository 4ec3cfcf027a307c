"""EmpiricalCRF: a conditional random field trained by counting."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import reduce
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import _fit_context, clone
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..base.classifier import (
    Batch,
    raise_if_impossible,
    raise_if_not_finite,
    token_marginals,
)
from ..base.contributions import Contributions
from ..base.docstrings import documented
from ..base.parameters import shared
from ..base.sample_weight import sequence_weights
from ..counts import Counts, Template
from ..counts.classifier import CountingClassifier
from ..counts.edge_types import KINDS_OF_LINKS, edge_types, kind_of_links
from ..counts.observations import Encoder, LabelledObservations, count_folds_of_corpus, relabel
from ..counts.rows import FLOOR
from ..counts.tabulator import Tabulator
from ..counts.triangles import TRIANGLES
from ..data.graphs import GraphArray
from ..data.layout import Sequences
from ..data.ragged import SequenceArray, object_array
from ..feature_extraction.tagger_steps import tagger_steps
from ..labels.encoding import LabelIds, encode_labels
from ..linear import NamedWeights
from ..segments.schemes import are_segments
from ..serving import Tagger
from ..structures import Graph, Scores, SecondOrderChain, Structure, structure_of
from ..structures.inference import INFERENCE, Inference, as_inference
from ..structures.inference.convergence import warn_unless_converged
from ..training.monitor import Training
from ..utils.soundness import Requirement, below, indices
from .contributions import attribute_names
from .experts import Experts, all_experts, chosen_experts
from .fit_exponents import (
    MAX_ITER,
    HeldOut,
    fit_exponents,
    fit_segment_exponents,
    held_out_folds,
    share_found,
)
from .frequencies import FrequencyModel
from .model import Statistics
from .named_weights import named_weights
from .prepared import Prepared
from .product_spelling import ProductSpelling
from .segment_rates import (
    MAX_LENGTH,
    check_segmentations,
    segment_roles,
    segment_templates,
    segmented,
)
from .serving import counted_tagger_of, tagger_of_words
from .signature_spelling import JointSpelling, MaxEntSpelling, MeanSpelling
from .smoothed import SmoothedModel
from .soundness import model_requirements, segment_type_requirements, trigram_requirements
from .trigrams import N_CANDIDATES, TRIGRAMS, TrigramRates

__all__ = ["EmpiricalCRF"]

_METHODS_OUT_OF_FOLD = ("predict", "predict_proba")

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
# The first-order probability of a label that it needs to be considered further. Best paths did not
# change on any corpus, and probabilities by less than 0.002.
THRESHOLD = 3e-5


@documented
class EmpiricalCRF(CountingClassifier):
    r"""CRF over sequences, trees or graphs, trained in closed form, by co-occurrence rates.

    The probability of a labelling is a product of unary probabilities and co-occurrence rates,

    .. math::

       p(y \mid x) = \prod_i \mathrm{CR}(y_i; y_{i+1} \mid x) \prod_j p(y_j \mid x), \qquad
       \mathrm{CR}(a; b) = \frac{p(a, b)}{p(a)\, p(b)},

    and each factor is estimated by counting [1]_ [2]_. By default every zero count is smoothed
    from a broader estimate, and unknown words are judged by their spelling and their
    neighbours. :meth:`ecrn` and :meth:`maxent` give the methods of the papers.

    In the forests of a :class:`GraphArray` each rate is of a parent and a child, so this is exact
    too. The neighbours that predict a label are still the neighbours in the sequence of tokens.
    Types of edges have rates of their own, smoothed towards the common rates. In graphs with
    cycles ``inference`` says how labels are found, :meth:`predict` gives the best label of each
    token, and the order of the tokens does not matter. Rates are the same in both directions of an
    edge, unless its direction tells about labels: a test of the counts decides.

    In a chordal graph each cycle of more than three tokens has a chord. For samples that are
    chordal, and have no clique of four tokens, the product is exact with another factor for each
    triangle [2]_, CR(i; j; k) / (CR(i; j) CR(j; k) CR(i; k)); these rates are smoothed towards 1.
    The inference must be "exact" or "ilp", or "auto" with at most 21 labels. In all other graphs
    with cycles the product of the rates of edges counts evidence several times, so these rates
    have an exponent below 1.

    Parameters
    ----------
    mu_oov : float, default=1.0
        Exponent of the distribution p(y | spelling) of an unknown word: below 1 its neighbours
        count for more, above 1 its spelling does. In [0, inf).
    sigma : float, default=1.0
        Width of all priors. Every pseudo-count is divided by ``sigma ** 2``. Parameters that are
        fitted iteratively have a Gaussian prior, with standard deviation sigma for
        ``spelling="maxent"`` and ``0.1 * sigma`` for ``exponents="fit"``. In (0, inf]; ``inf``
        means plain frequencies.
    spelling : {"product", "joint", "mean", "maxent"}, default="product"
        How p(y | spelling) is estimated: as a product of the co-occurrence rates of y with
        affixes, shape and case; or, from the eleven binary features of the papers, as the
        frequency given all features, the mean of the frequencies given each feature, or an
        exponential model.
    zeros : {"smoothed", "floored", "exact"}, default="smoothed"
        How events that never occurred are scored. Unless they are smoothed, a known word has only
        the labels it was seen with; a pair of words not seen together backs off to the spelling
        if one word is unknown, else to the labels alone; wider context is not used; and a pair
        of labels of frequency zero costs a large constant (floored) or is impossible (exact).
    experts : list of str, default=None
        The attributes that predict a label, besides the word and its spelling: templates such as
        ``"tag[-1]|tag[0]"``, as in :class:`~sklearn_crcrf.Window`. The prior of
        each is the estimate of the one with most of its symbols. By default they are windows of the
        words and of all other columns, and rates of labels depend on the columns of both tokens; if
        experts are given, rates depend on the words only, and the more experts there are, the
        smaller are all default exponents.
    exponents : None, "fit" or dict, default=None
        Exponents of the experts, by name as in ``exponents_``. A dict replaces some of the
        defaults; ``"fit"`` fits all exponents by cross-validation: by maximum likelihood on 20,000
        to 80,000 held-out tokens, or on all if there are fewer, given the counts of the others. The
        rates of labels have the exponent "transition", what the symbols of both tokens add to these
        has the exponent "edges", and what the types of edges add "edge types". In graphs with
        cycles all rates have the exponent "edges", by default 0.5, or "cliques", by default 1, in
        samples where their product is exact.
    validation_fraction : float, default=0.1
        Largest fraction of the tokens that is held out at a time, to fit exponents; the smaller
        it is, the more folds there are. Folds consist of blocks of consecutive sequences.
    inference : {"auto", "exact", "loopy", "trw", "cut", "ilp"} or Inference, default="auto"
        How labels of graphs with cycles are found, as in :class:`GraphCRF`.
    order : {1, 2}, default=1
        2 adds co-occurrence rates of three labels in a row, over the 8 likeliest labels of each
        token of a sequence, without labels of a probability below 0.00003 given rates of two.
    segments : {"counted"}, default=None
        Whether whole segments are counted, too: how often runs of up to 4 tokens with the same
        words, the same shapes after the same word, or the same last word were a segment. They raise
        or lower the scores of whole segments above what the chain says of them, with the exponents
        "segment", "segment shapes" and "segment end". Labels must be in the scheme IOB2, IOBES,
        BILOU or BMES, and labellings that spell no segmentation are impossible.
    min_count : int, default=1
        The least number of times that several symbols must occur together, such as in the expert
        ``"token[-1]|token[0]"``, to have weights; rarer ones are taken to be new. Most of a model
        are weights of pairs that occurred once. Counts that were dropped cannot grow again, so with
        a value above 1 there is no :meth:`partial_fit` and no :meth:`forget`.
    observation : str, default=None
        The key or column that holds the words, if tokens have several; by default the first
        that is not numeric.
    {binning}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, in the order of the columns of probabilities.
    coef_ : CSR of shape (n_attributes, n_labels)
        Weights of attributes; a state score is a sum of rows, each times its exponent. Weights
        are not negative, except without smoothing: then they are logarithms of frequencies.
    {attribute_names_}
    transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
        Transition scores that are the same for all tokens; in forests from parent to child.
    begin_, end_ : ndarray of shape (n_labels,)
        Scores of the labels of first and last tokens, or of roots and leaves; zero in graphs with
        cycles, and unless zeros are smoothed.
    exponents_ : dict
        The exponents in use, by name.
    {counts_}
    {tabulator_}
    {encoder_}
    model_ : SmoothedModel or FrequencyModel
        The estimates made from the counts; computes the scores.
    loss_curve_ : list of float
        Only if exponents were fitted, as the two below: the loss of the sequences plus the
        penalty of the exponents, after each iteration. The exponents of segments are fitted last.
    {n_iter_}
    converged_ : bool
        False if the exponents still changed after 50 iterations.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    CRF : Weights that minimise a loss, of any attributes.
    HMM : Counts of labels and observations together.
    SegmentF1Classifier : Labels for the F1 of segments.

    References
    ----------
    .. [1] Zhu, Hiemstra, Apers, Wombacher, "Closed Form Maximum Likelihood Estimator of
       Conditional Random Fields", 2013.
    .. [2] Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence Labeling", ICMLA 2013.

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

    model_: Any
    _private_estimates = ("_label_ids", "_exponents", "_rank", "_trigrams", "_kept_from")
    _trigrams: TrigramRates | None
    _added_parameters = ("experts", "inference", "segments", "min_count")
    _kept_from = 1  # the min_count of a fit; models of older versions have all counts
    _parameter_constraints: dict = {
        "mu_oov": [Interval(Real, 0, None, closed="left")],
        "spelling": [StrOptions(set(SPELLINGS))],
        "zeros": [StrOptions({"smoothed", "floored", "exact"})],
        "experts": ["array-like", None],
        "exponents": [None, StrOptions({"fit"}), Mapping],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "inference": [StrOptions(set(INFERENCE)), Inference],
        "order": [Interval(Integral, 1, 2, closed="both")],
        "segments": [StrOptions({"counted"}), None],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "observation": [str, None],
        **shared("sigma", "binning", "sample_unit", "n_jobs"),
    }

    def __init__(
        self,
        mu_oov=1.0,
        sigma=1.0,
        *,
        spelling="product",
        zeros="smoothed",
        experts=None,
        exponents=None,
        validation_fraction=0.1,
        inference="auto",
        order=1,
        segments=None,
        min_count=1,
        observation=None,
        binning=None,
        sample_unit="sequence",
        n_jobs=None,
    ):
        self.mu_oov = mu_oov
        self.sigma = sigma
        self.spelling = spelling
        self.zeros = zeros
        self.experts = experts
        self.exponents = exponents
        self.validation_fraction = validation_fraction
        self.inference = inference
        self.order = order
        self.segments = segments
        self.min_count = min_count
        self.observation = observation
        self.binning = binning
        self.sample_unit = sample_unit
        self.n_jobs = n_jobs

    @classmethod
    def ecrn(cls, **params: Any) -> "EmpiricalCRF":
        """The method of the ICMLA 2013 paper (III-D): plain frequencies with back-off.

        Parameters
        ----------
        **params
            Parameters that differ from ``spelling="joint"``, ``zeros="floored"`` and
            ``sigma=inf``; ``spelling="mean"`` averages over single features,
            ``zeros="exact"`` makes events of frequency zero impossible.

        Returns
        -------
        EmpiricalCRF
        """
        return cls(**{"spelling": "joint", "zeros": "floored", "sigma": np.inf, **params})

    @classmethod
    def maxent(cls, **params: Any) -> "EmpiricalCRF":
        """The exponential extension of the 2013 report (3.7.2): fitted distributions.

        Parameters
        ----------
        **params
            Parameters that differ from ``spelling="maxent"``, ``zeros="floored"`` and
            ``sigma=10``.

        Returns
        -------
        EmpiricalCRF
        """
        return cls(**{"spelling": "maxent", "zeros": "floored", "sigma": 10.0, **params})

    def predict(self, X: Any, allowed: Any = None, subject_to: Any = None) -> Any:
        """The labels of the best path of each sequence.

        Parameters
        ----------
        X : as in :meth:`fit`
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
        found = None
        if allowed is None and subject_to is None:
            found = self._predict_words(X)
        return super().predict(X, allowed, subject_to) if found is None else found

    def tagger(self, transformers: Sequence[Any] = ()) -> Tagger:
        """Make an immutable object that labels one sequence in one compiled call.

        Parameters
        ----------
        transformers : sequence of fitted transformers, default=()
            The steps of a pipeline that ends in this classifier, from columns to columns.

        Returns
        -------
        Tagger
            It gives the labels of :meth:`predict`; see :class:`~sklearn_crcrf.serving.Tagger`.

        Raises
        ------
        ValueError
            If X had numbers or no sequences in fit, or ``zeros``, ``spelling`` and ``segments``
            are not the defaults, or an expert has more than three symbols, or a tagger cannot do
            what a transformer does.
        """
        check_is_fitted(self)
        return counted_tagger_of(self, tagger_steps(transformers) if transformers else None)

    def fit_exponents(self, X: Any, y: Any, sample_weight: Any = None) -> "EmpiricalCRF":
        """Fit the exponents of a fitted model to data that was not counted.

        Experts that :meth:`fit` did not count take no part: their exponents are 0 by default, and
        the parameter ``exponents`` neither names them nor is ``"fit"``. Sequences with labels
        that were never counted are left out.

        Parameters
        ----------
        X, y, sample_weight : as in :meth:`fit`
            A sequence weighs as much as its tokens do on average.

        Returns
        -------
        EmpiricalCRF
        """
        check_is_fitted(self)
        with self._replaced_by(copy(self)) as twin:
            twin._fit_exponents_to(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def predict_out_of_fold(
        self,
        X: Any,
        y: Any,
        cv: Any = 5,
        sample_weight: Any = None,
        method: str = "predict",
    ) -> Any:
        """Predictions for all sequences, each by a model trained on the other folds.

        All folds are counted in one pass, then the counts of one fold at a time are subtracted, so
        it costs little more than one fit. This estimator itself does not change.

        Parameters
        ----------
        X, y : as in :meth:`fit`
        cv : int or splitter, default=5
            Number of consecutive folds, or a splitter that tests every sequence exactly once.
        sample_weight : as in :meth:`fit`
        method : {"predict", "predict_proba"}, default="predict"
            Whether to predict labels, or the probabilities of all labels of y, in sorted order.

        Returns
        -------
        labels or probabilities
            In the layout of X. The probability of a label that is in the test fold only is 0.

        Raises
        ------
        ValueError
            If the parameter ``exponents`` is ``"fit"``: pass ``exponents_`` of a fitted model; or
            if there is no such method.
        """
        if method not in _METHODS_OUT_OF_FOLD:
            raise ValueError(f"method must be one of {_METHODS_OUT_OF_FOLD}, got {method!r}")
        if self.exponents == "fit":
            raise ValueError('exponents="fit" is fitted by fit only; give the exponents as a dict')
        return clone(self)._unfitted()._predict_out_of_fold(X, y, cv, sample_weight, method)

    def known_tokens(self, X: Any) -> Any:
        """Which words were seen in training.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        known : bool, in the layout of X
        """
        check_is_fitted(self)
        fitted = copy(self)
        sequences = fitted._check_X(X)
        observations = fitted._encode(sequences.X)
        seen = np.append(fitted.model_.statistics.n_seen, [0.0, 0.0])[observations.ids] > 0
        return sequences.mirror(seen[observations.word])

    @property
    def coef_(self) -> sp.csr_array:
        """Weights of attributes, CSR of shape (n_attributes, n_labels)."""
        return self.model_.coef

    @property
    def attribute_names_(self) -> np.ndarray:
        """The attribute of each row of ``coef_``, such as ``"token[-1]=the|token[0]=dog"``."""
        columns = [f"x{j}" for j in range(self.encoder_.n_attributes or 0)]
        names = attribute_names(self.model_.attribute_keys(), self.encoder_)
        return np.append(names, np.array(columns, dtype=object))

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

    def _unfitted(self) -> "EmpiricalCRF":
        twin = super()._unfitted()
        twin._exponents = dict(self.exponents) if isinstance(self.exponents, Mapping) else {}
        return twin

    def _fit_to(self, corpus: LabelledObservations) -> None:
        if self.exponents == "fit":
            self._fit_with_exponents(corpus)
        else:
            super()._fit_to(corpus)

    def _known(self, y: SequenceArray, weights: np.ndarray) -> tuple[SequenceArray, np.ndarray]:
        # The likelihood of exponents needs all labels.
        return (y, weights) if self.exponents == "fit" else super()._known(y, weights)

    def _new_tabulator(self) -> Tabulator:
        return Tabulator(self.observation, self.binning)

    def _new_encoder(
        self, names: Sequence[str], n_attributes: int | None, links: str, has_types: bool
    ) -> Encoder:
        spelling = SPELLINGS[self.spelling]
        return Encoder(names, spelling.features, spelling.symbols, n_attributes, links, has_types)

    def _fit_with_exponents(self, corpus: LabelledObservations) -> None:
        """Count once, fit the exponents by cross-validation, and estimate from all counts."""
        fold = held_out_folds(
            corpus.offsets, self.validation_fraction, len(np.unique(corpus.labels))
        )
        n_folds = int(fold.max(initial=-1)) + 1
        counts = count_folds_of_corpus(corpus, self._templates(), np.where(fold < 0, n_folds, fold))
        total, parts = reduce(Counts.__add__, counts), []
        weight = sequence_weights(corpus.weights, corpus.offsets)
        for number in range(n_folds):
            held_out = fold == number
            if weight[held_out].any() and weight[~held_out].any():
                self._estimate(total - counts[number], more_labels=corpus.labels)
                parts.append(self._held_out(corpus.take(held_out), weight[held_out]))
        if not parts:
            raise ValueError('exponents="fit" needs tokens in two sequences')
        self._fit_exponents(parts)
        self._estimate(total)

    def _held_out(self, part: LabelledObservations, weight: np.ndarray) -> HeldOut:
        structure = part.structure
        if self.encoder_.links == "any":
            structure = self.model_.structure(structure, part.observations.edge_types)
        prepared = self.model_.prepare(part.observations, structure)
        return HeldOut(self.model_, prepared, self._rank[part.labels], structure, weight)

    def _fit_exponents_to(self, X: Any, y: Any, sample_weight: Any) -> None:
        sequences, weights = self._check_training(X, y, sample_weight, reset=False)
        if self.zeros != "smoothed":
            raise ValueError(f'exponents are fitted only if zeros="smoothed", not {self.zeros!r}')
        labels, ids = encode_labels(sequences.y)
        rank = {label: i for i, label in enumerate(self.classes_.tolist())}
        ids = np.array([rank.get(label, -1) for label in labels.tolist()])[ids]
        sequence = np.repeat(np.arange(len(sequences.X)), sequences.X.lengths)
        usable = np.setdiff1d(np.arange(len(sequences.X)), sequence[ids < 0])
        if len(usable) == 0:
            raise ValueError(f"every sequence has labels that are not among {list(rank)}")
        X = sequences.X[usable]
        ids = SequenceArray(ids, sequences.X.offsets)[usable].data
        weight = sequence_weights(weights, sequences.X.offsets)[usable]
        self._fit_exponents(
            [HeldOut(self.model_, self._prepare(X), ids, self._structure(X), weight)]
        )
        self.model_, self.exponents_ = self.model_.copy(), self._exponents
        self.model_.set_exponents(np.array(list(self._exponents.values())))
        if self._trigrams is not None:
            self._trigrams = self._trigrams.following(self._transition_exponent())

    def _transition_exponent(self) -> float:
        """The exponent of the rates of two labels in a row; 1 without smoothing."""
        return self.model_.exponents.asdict().get("transition", 1.0)

    def _predict_out_of_fold(self, X: Any, y: Any, cv: Any, sample_weight: Any, method: str) -> Any:
        sequences, weights = self._check_training(X, y, sample_weight, reset=True)
        corpus = self._start(sequences, weights, LabelIds())
        X = sequences.X
        tests = [test for _, test in check_cv(cv).split(np.empty(len(X)))]
        fold_of_sequence = np.empty(len(X), dtype=np.int64)
        for fold, test in enumerate(tests):
            fold_of_sequence[test] = fold
        if not np.array_equal(np.sort(np.concatenate(tests)), np.arange(len(X))):
            raise ValueError("cv must put every sequence into exactly one test set")
        folds = count_folds_of_corpus(corpus, self._templates(), fold_of_sequence)
        total = reduce(Counts.__add__, folds)
        classes = self._label_ids.classes(corpus.labels)[0]
        shape = (len(corpus.labels), *([len(classes)] if method == "predict_proba" else []))
        predicted = np.zeros(shape, dtype=float if method == "predict_proba" else classes.dtype)
        fold_of_token = np.repeat(fold_of_sequence, X.lengths)
        for fold, counts in enumerate(folds):
            self._estimate(total - counts)
            found = getattr(self, method)(X[fold_of_sequence == fold]).data
            if method == "predict":
                predicted[fold_of_token == fold] = found
            else:
                columns = np.flatnonzero(np.isin(classes, self.classes_))
                predicted[np.ix_(fold_of_token == fold, columns)] = found
        return sequences.mirror(predicted)

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

    def _check_same_features(self) -> None:
        if not isinstance(self.model_.spelling, SPELLINGS[self.spelling]):
            raise ValueError(f"spelling={self.spelling!r}, but the model was fitted with another")

    def _check_labelled(self, X, y, sample_weight, reset) -> tuple[Sequences, np.ndarray]:
        if self.exponents == "fit" and self.zeros != "smoothed":
            raise ValueError(f'exponents="fit" needs zeros="smoothed", got {self.zeros!r}')
        if self.experts is not None and self.zeros != "smoothed":
            raise ValueError(f'experts need zeros="smoothed", got {self.zeros!r}')
        if self.min_count > 1 and self.zeros != "smoothed":
            raise ValueError(f'min_count needs zeros="smoothed", got {self.zeros!r}')
        if self.segments is not None:
            self._check_segments()
        sequences, weights = super()._check_labelled(X, y, sample_weight, reset)
        if self.segments is not None:
            check_segmentations(sequences.y)
        self._check_links(sequences.X, KINDS_OF_LINKS[-1] if reset else self.encoder_.links)
        return sequences, weights

    def _check_segments(self) -> None:
        """Raise ValueError if other parameters do not allow to count segments."""
        needed = {"zeros": "smoothed", "spelling": "product", "order": 1}
        for name, value in needed.items():
            if (given := getattr(self, name)) != value:
                raise ValueError(f'segments="counted" needs {name}={value!r}, got {given!r}')

    def _templates(self) -> list[Template]:
        """The templates of the events that are counted."""
        if self.zeros == "smoothed":
            given = None if self.exponents == "fit" else self._exponents
            experts = self._experts()
            if hasattr(self, "counts_"):  # models of older versions counted for other experts
                experts = experts.among(self.counts_)
            templates = SmoothedModel.templates(self.encoder_, given, experts)
            if hasattr(self, "counts_") and TRIANGLES not in self.counts_:
                templates = [template for template in templates if template != TRIANGLES]
        elif self.encoder_.n_attributes is None:
            templates = FrequencyModel.templates(self.encoder_)
        else:
            raise ValueError(f'a sparse X needs zeros="smoothed", got {self.zeros!r}')
        if self.segments is not None:
            templates += segment_templates(self.encoder_.names[0])
        return [*templates, TRIGRAMS] if self.order == 2 else templates

    def _joint_templates(self) -> list[Template]:
        """The templates of several symbols, without whole segments and triangles."""
        others = [*segment_templates(self.encoder_.names[0]), TRIANGLES]
        templates = [t for t in self._templates() if t not in others]
        return [template for template in templates if len(template.symbols) > 1]

    def _experts(self) -> Experts:
        """The experts that may take part."""
        encoder = self.encoder_
        given = encoder.names, encoder.lexicon.features, encoder.links
        if self.experts is not None:
            return chosen_experts(self.experts, *given)
        return all_experts(*given, has_words=encoder.n_attributes is None)

    def _estimate(self, counts: Counts, more_labels: Any = ()) -> None:
        """Compute the fitted attributes from the counts."""
        self._kept_from = self.min_count
        if self.min_count > 1:
            counts = counts.without_rare(self._joint_templates(), self.min_count)
        seen = counts[Template(((self.encoder_.names[0], 0),))].events[:, -1]
        self._rank = self._set_classes(seen, more_labels)
        statistics = Statistics(self.encoder_, relabel(counts, self._rank), len(self.classes_))
        strength = (1.0 / max(self.sigma, NARROWEST)) ** 2
        options = {"strength": strength, "mu_oov": self.mu_oov, "exponents": self._exponents}
        spelling = SPELLINGS[self.spelling]
        if self.zeros == "smoothed":
            self.model_ = SmoothedModel(
                statistics,
                spelling,
                experts=self._experts(),
                are_segments=are_segments(self.classes_.tolist()),
                roles=None if self.segments is None else segment_roles(self.classes_),
                **options,
            )
        else:
            floor = FLOOR if self.zeros == "floored" else -np.inf
            self.model_ = FrequencyModel(statistics, spelling, floor=floor, **options)
        self._trigrams = None
        if self.order == 2:
            given = statistics.counts[TRIGRAMS], len(self.classes_), strength
            self._trigrams = TrigramRates(*given, self._transition_exponent())
        self.exponents_ = self.model_.exponents.asdict()
        self.counts_ = counts

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        n = len(self.classes_)
        yield from below("model_", model_requirements(self.model_, self.encoder_, n))
        rates = self.model_.segments
        yield from below("model_.segments", segment_type_requirements(rates, self.classes_))
        yield indices("_rank", self._rank, (len(self._label_ids),), n, -1)
        if self._trigrams is not None:
            yield from below("_trigrams", trigram_requirements(self._trigrams, n))

    def _fit_exponents(self, parts: list[HeldOut]) -> None:
        """Move the exponents towards the greatest likelihood of the labels."""
        training = Training(0, None, MAX_ITER, notify=lambda x: False)
        fitted, self.converged_ = fit_exponents(parts, sigma=self.sigma, callback=training)
        start = parts[0].model.exponents.asdict()
        share = min(FITTED_SHARE, share_found(parts))
        self._exponents = {
            name: start[name] + share * (value - start[name]) for name, value in fitted.items()
        }
        if self.segments is not None:
            structures = [segmented(part.structure.offsets, self.classes_) for part in parts]
            of_segments, converged = fit_segment_exponents(
                parts, structures, self._exponents, sigma=self.sigma, callback=training
            )
            self._exponents |= of_segments
            self.converged_ = self.converged_ and converged
        self.loss_curve_, self.n_iter_ = training.losses, training.n_iter

    def _predict_words(self, X: Any) -> Any:
        """The labels of sequences of words, by the kernel of taggers; None if it does not apply."""
        check_is_fitted(self)
        fitted = copy(self)  # another thread may go on training this estimator
        tagger = tagger_of_words(fitted)
        if tagger is None:
            return None
        sequences = fitted._check_X(X)
        data, offsets = sequences.X.data, sequences.X.offsets.tolist()
        if data.ndim != 1 or data.dtype.kind not in "OU" or isinstance(sequences.X, GraphArray):
            return None
        tokens = data.tolist()
        words = [tokens[start:stop] for start, stop in pairwise(offsets)]
        try:
            found = _label_words(tagger, words, effective_n_jobs(self.n_jobs))
        except (TypeError, ValueError):
            return None  # the general way says what is wrong in X
        labels = [label for path in found for label in path]
        is_plain = fitted.classes_.dtype != object
        return sequences.mirror(
            np.array(labels, fitted.classes_.dtype) if is_plain else object_array(labels)
        )

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        """The best path of each sequence; the best label of each token if no path is possible.

        In graphs with cycles also the best label of each token, unless there are no probabilities.
        """
        if self.encoder_.links == "any" and structure.can("log_partition"):
            return token_marginals(structure, scores, first).argmax(axis=1)
        value, y = structure.maximum(scores)
        raise_if_not_finite(value, structure, scores, first)
        impossible = np.repeat(np.isneginf(value), np.diff(structure.offsets))
        if impossible.any():
            if np.isneginf(scores.state[impossible].max(axis=1)).any():
                raise_if_impossible(value, first)
            y[impossible] = scores.state[impossible].argmax(axis=1)
        return y

    def _linked(self, X: SequenceArray) -> Structure:
        if isinstance(X, GraphArray) and not X.is_forest:
            engine = as_inference(self.inference).reporting(warn_unless_converged)
            return Graph(X.offsets, X.token_edges, engine)
        return structure_of(X)

    def _structure(self, X: SequenceArray) -> Structure:
        if self._trigrams is not None:
            return SecondOrderChain(X.offsets, self._trigrams, N_CANDIDATES, THRESHOLD)
        if self.model_.segments is not None:
            return segmented(X.offsets, self.classes_)
        structure = self._linked(X)
        if self.encoder_.links != "any":
            return structure
        types = self.encoder_.encode_types(edge_types(X, structure))
        return self.model_.structure(structure, types)

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        reason = 'segments="counted"' if self.order == 1 else "order=2"
        if (self.order, self.segments) != (1, None) and not structure.is_sequential():
            raise ValueError(
                f"{reason} needs sequences, in which each token is linked to the next one, but X "
                "has other links"
            )

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

    def _scores_per_token(self) -> int:
        if self._trigrams is not None:
            return N_CANDIDATES**3
        return len(self.classes_) * (1 if self.model_.segments is None else MAX_LENGTH)

    def _named_weights(self) -> NamedWeights:
        if self.zeros != "smoothed":
            raise ValueError(
                f'init: the weights of EmpiricalCRF need zeros="smoothed", got {self.zeros!r}'
            )
        return named_weights(self.model_, self.classes_)

    def _prepare(self, X: SequenceArray) -> Prepared:
        self._check_links(X, self.encoder_.links)
        observations, structure = self._encode(X), self._linked(X)
        if self.encoder_.links == "any":
            structure = self.model_.structure(structure, observations.edge_types)
        return self.model_.prepare(observations, structure)

    def _scores(self, prepared: Prepared, batch: Batch) -> Scores:
        part = prepared.take(batch)
        scores = self.model_.scores(part)
        if self.model_.segments is None:
            return scores
        return self.model_.with_segments(batch.structure, scores, part)

    def _contributions(self, prepared: Prepared, batch: Batch, y: np.ndarray) -> Contributions:
        part = prepared.take(batch)
        entries = self.model_.contributions(part, y, self.classes_, batch.structure)
        if self._trigrams is None or len(y) < 3:
            return entries
        three = y[:-2], y[1:-1], y[2:]
        names = [" → ".join(map(str, self.classes_[[*ids]])) for ids in zip(*three, strict=True)]
        scores = self._trigrams(*three)
        trigrams = Contributions.of("transition", np.arange(2, len(y)), names, scores)
        return Contributions.join([entries, trigrams])


def _label_words(tagger: Tagger, words: list[list[str]], n_threads: int) -> list[list]:
    """The labels of all sequences, on several threads."""
    if n_threads == 1 or len(words) < 2:
        return tagger.many(words)
    size = -(-len(words) // n_threads)
    parts = [words[start : start + size] for start in range(0, len(words), size)]
    found = Parallel(n_jobs=n_threads, prefer="threads")(
        delayed(tagger.many)(part) for part in parts
    )
    return [labels for part in found for labels in part]
