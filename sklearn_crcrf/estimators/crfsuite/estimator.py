"""CRF with the names and defaults of sklearn-crfsuite, for programs written for that."""

import pickle
import warnings
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from operator import is_
from types import SimpleNamespace
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary, ref

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning

from ...base.batches import Batch
from ...base.classifier import BaseSequenceClassifier
from ...base.contributions import Contributions
from ...base.docstrings import documented
from ...data.layout import Sequences
from ...data.ones import with_small_values
from ...data.ragged import SequenceArray
from ...feature_extraction import SequenceVectorizer
from ...linear.classifier import LinearChainClassifier, linear_tagger_of
from ...serving import Tagger
from ...serving.crfsuite.binary_model import crfsuite_bytes, parse_crfsuite_model
from ...structures import Scores, Structure
from ...training.monitor import listening
from ...utils.replaced_parts import check_fitted
from ...utils.replacing import check_replaceable, replacing
from ...utils.soundness import Fact, Requirement
from ...utils.unpacking import MAX_BYTES, read_limited
from ...utils.warning import warn_caller
from ..crf.estimator import CRF
from ..perceptron.online import OnlineClassifier
from .algorithms import estimator_of
from .attribute_lists import attribute_rows, listed, refuse_table
from .development import Development
from .model_file import ModelFile
from .parameters import VALUES
from .tagger import CRFsuiteTagger, LabelLists
from .weights import as_crfsuite_model, from_crfsuite_model

# The last tagger of an estimator, and the arrays that it was made of.
_TAGGERS: WeakKeyDictionary[Any, tuple[tuple, Tagger]] = WeakKeyDictionary()
# The files of the models of estimators.
_MODEL_FILES: WeakKeyDictionary[Any, ModelFile] = WeakKeyDictionary()


@documented
@dataclass(eq=False, repr=False)
class CRFsuiteCRF(BaseSequenceClassifier):
    """CRF with the parameters, methods and attributes of ``sklearn_crfsuite.CRF``.

    It has the same features and the same optimum. A parameter that is None has the default of
    CRFsuite. It has all methods of :class:`CRF` too, such as :meth:`predict_proba`.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, default=None
        "lbfgs" (None) and "l2sgd" train a :class:`CRF`. "ap" is :class:`StructuredPerceptron`,
        "pa" :class:`PassiveAggressiveCRF` and "arow" :class:`ArowCRF`, with a weight for every pair
        of labels, and of attribute and label. Full names of CRFsuite, such as
        "averaged-perceptron", are taken too.
    min_freq : float, default=None
        Pairs of attribute and label, and of two labels, that occur fewer times have no weight. None
        is 0.
    all_possible_states, all_possible_transitions : bool, default=None
        Whether pairs of attribute and label, and of two labels, that do not occur in training
        have weights too. None is False.
    c1, c2 : float, default=None
        Strengths of the penalties :math:`c_1 \\lVert w \\rVert_1` and
        :math:`c_2 \\lVert w \\rVert^2`. None is 0 for c1, which only "lbfgs" can have, and 1 for
        c2. Both are named as in CRFsuite; c1 is the same as in :class:`CRF`, and c2 is
        ``1 / (2 sigma ** 2)``.
    max_iterations : int, default=None
        Maximum number of iterations. None is no limit for "lbfgs", 1000 for "l2sgd", and 100 for
        the others.
    num_memories : int, default=None
        Of "lbfgs": number of last steps that the direction is computed from. None is 6 if
        ``max_iterations`` is at most 100, so that training takes the steps of CRFsuite; else more.
    epsilon : float, default=None
        Of "lbfgs": training also stops when the length of the gradient is at most this part of
        that of the weights, or this if that is below 1. None is 1e-5.
    period : int, default=None
        Number of iterations over which ``delta`` is measured. None is 10.
    delta : float, default=None
        Training stops when the objective fell by less than this part over ``period``
        iterations. None is 1e-5 for "lbfgs", and 1e-6 for "l2sgd".
    linesearch, max_linesearch : object, default=None
        Accepted and ignored: it changes the search for the optimum, not the optimum.
    calibration_eta, calibration_rate, calibration_samples : object, default=None
        Accepted and ignored, as ``linesearch`` is.
    calibration_candidates, calibration_max_trials : object, default=None
        Accepted and ignored, as ``linesearch`` is.
    pa_type : {0, 1, 2}, default=None
        Of "pa": steps without a limit, PA-I, or PA-II. None is 1.
    c : float, default=None
        Of "pa": limit of the steps. None is 1.
    error_sensitive : bool, default=None
        Of "pa": whether the margin is the square root of the number of wrong labels, not 1. None
        is True.
    averaging : bool, default=None
        Of "pa": whether the mean of the weights after all steps is taken. None is True.
    variance, gamma : float, default=None
        Of "arow", as in :class:`ArowCRF`. None is 1.
    verbose : bool, default=False
        Print a line after each iteration, and the accuracy on development data.
    model_filename : str or path-like, default=None
        A binary model of CRFsuite: fit writes it, which needs labels that are strings, and without
        fit it is read when it is needed first. ``modelfile.name`` is its name, or that of a
        temporary file.
    keep_tempfiles : bool, default=False
        Accepted and ignored: there are no temporary files.
    trainer_cls : object, default=None
        Accepted and ignored, as ``linesearch`` is.
    device : str or torch.device, default=None
        Of "lbfgs" without c1: where torch trains, as in :class:`CRF`.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Orders the sequences; "lbfgs" does not use it.

    Attributes
    ----------
    crf_ : CRF, StructuredPerceptron, PassiveAggressiveCRF or ArowCRF
        What is trained, on the rows that ``vectorizer_`` makes.
    vectorizer_ : SequenceVectorizer
        Turns feature dicts into rows.
    dev_score_ : float or None
        Accuracy of the labels of ``X_dev``, if it was given.
    tagger_ : :class:`~sklearn_crcrf.estimators.crfsuite.tagger.CRFsuiteTagger`
        The methods ``labels``, ``tag``, ``set``, ``marginal``, ``probability`` and ``info`` of
        ``pycrfsuite.Tagger``. Before fit, this attribute and the next ones, up
        to ``transition_features_``, are None.
    training_log_ : SimpleNamespace
        Its ``iterations`` are dicts with the number ``num`` and the ``loss`` of each iteration,
        and ``last_iteration`` is the last of them. With ``X_dev`` they also say how well its labels
        are found after the iteration: ``avg_precision``, ``avg_recall`` and ``avg_f1``, the means
        over all labels, ``item_accuracy_float`` and ``instance_accuracy_float``.
    size_ : int
        Number of bytes of the pickled ``crf_``.
    classes_ : ndarray of shape (n_labels,)
        All labels, sorted.
    attributes_ : list of str
        The attributes that have a weight other than zero: keys, or ``"key:value"``.
    num_attributes_ : int
        Number of ``attributes_``.
    state_features_ : dict
        The weights ``{(attribute, label): weight}`` that are not zero.
    transition_features_ : dict
        The weights ``{(label, next label): weight}`` that are not zero.
    {loss_curve_}
    {n_iter_}
    converged_ : bool
        Whether training ended by itself: it was neither interrupted nor ended by
        ``max_iterations``.

    See Also
    --------
    CRF : The same model in the terms of scikit-learn, which takes more kinds of input.

    Examples
    --------
    >>> from sklearn_crcrf import CRFsuiteCRF
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "dogs"}, {"word": "sleep"}]]
    >>> crf = CRFsuiteCRF(c2=0.1).fit(X, [["D", "N"], ["N", "V"]])
    >>> crf.predict_single([{"word": "the"}, {"word": "dogs"}])
    ['D', 'N']
    >>> sorted(crf.state_features_)
    [('word:dog', 'N'), ('word:dogs', 'N'), ('word:sleep', 'V'), ('word:the', 'D')]
    """

    algorithm: str | None = None
    min_freq: float | None = None
    all_possible_states: bool | None = None
    all_possible_transitions: bool | None = None
    c1: float | None = None
    c2: float | None = None
    max_iterations: int | None = None
    num_memories: int | None = None
    epsilon: float | None = None
    period: int | None = None
    delta: float | None = None
    linesearch: Any = None
    max_linesearch: Any = None
    calibration_eta: Any = None
    calibration_rate: Any = None
    calibration_samples: Any = None
    calibration_candidates: Any = None
    calibration_max_trials: Any = None
    pa_type: int | None = None
    c: float | None = None
    error_sensitive: bool | None = None
    averaging: bool | None = None
    variance: float | None = None
    gamma: float | None = None
    verbose: bool = False
    model_filename: Any = None
    keep_tempfiles: bool = False
    trainer_cls: Any = None
    _: KW_ONLY
    device: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    _parameter_constraints: ClassVar[dict] = VALUES

    sample_unit: ClassVar[str] = "sequence"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.input_tags.sparse = tags.input_tags.string = False
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None, *, sample_weight: Any = None
    ) -> "CRFsuiteCRF":
        """Train on labelled sequences.

        Parameters
        ----------
        X : list or generator of sequences
            Their tokens are feature dicts, or lists of attributes that are strings. Keys and
            values may also be bytes in UTF-8. A sequence may be a generator, or a
            ``pycrfsuite.ItemSequence``. A GraphArray holds trees.
        y : list or generator of label lists
            Any hashable labels.
        X_dev, y_dev : sequences and labels like X and y, optional
            Data that the model is evaluated on after each iteration; training does not depend on
            it.
        sample_weight : array-like of shape (n_sequences,), optional
            One weight for each sequence.

        Returns
        -------
        CRFsuiteCRF
            Itself. If training fails, it stays as it was; if it is interrupted, it has the
            weights of the last iteration.

        Raises
        ------
        ValueError
            If CRF cannot do what a parameter asks for, only one of ``X_dev`` and ``y_dev`` is
            given, or input is not valid.
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError("X_dev and y_dev must be given together")
        if self.trainer_cls is not None:
            warn_caller("trainer_cls has no effect: no trainer is told of the iterations")
        if self.model_filename is not None:
            check_replaceable(self.model_filename)
        with self._replaced_by(self._unfitted()) as twin:
            twin.crf_, twin.vectorizer_ = estimator_of(self), SequenceVectorizer(separator=":")
            rows = attribute_rows(twin.vectorizer_, X, learn=True)
            dev = None if X_dev is None else Development(twin.vectorizer_, X_dev, y_dev)
            with nullcontext() if dev is None else listening(dev):
                twin._fit_rows(rows, listed(y), sample_weight)
            twin.dev_score_, twin._dev_log = None, []
            if dev is not None:
                twin.dev_score_, twin._dev_log = twin.crf_.score(dev.X, dev.y), dev.log
                if self.verbose:
                    print(f"accuracy on X_dev: {twin.dev_score_:.4f}")
            if self.model_filename is not None:
                content = crfsuite_bytes(as_crfsuite_model(twin.crf_))
                with replacing(self.model_filename) as file:
                    file.write(content)
        return self

    def _fit_rows(self, rows: SequenceArray, y: Any, sample_weight: Any) -> None:
        """Train on the rows that ``vectorizer_`` has made, which get smaller values."""
        rows.data = with_small_values(rows.data)
        with warnings.catch_warnings():
            # The number of iterations is a budget, as in CRFsuite.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.crf_.fit(rows, y, sample_weight)
        self.crf_.attribute_names_ = self.vectorizer_.get_feature_names_out()

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "CRFsuiteCRF":
        """Go once through more data, from the present weights, as ``partial_fit`` of ``crf_``.

        Parameters
        ----------
        X, y : as in :meth:`fit`
            Attributes that the first call has not seen get no weight.
        {classes}
        sample_weight : as in :meth:`fit`

        Returns
        -------
        CRFsuiteCRF

        Raises
        ------
        ValueError
            If c1 is positive, or as in :meth:`fit`.
        """
        since, trained = self.__dict__, self._trained()
        with self._replaced_by(self._unfitted() if trained is None else copy(self), since) as twin:
            if trained is None:
                twin.crf_, twin.vectorizer_ = estimator_of(self), SequenceVectorizer(separator=":")
            else:
                twin.crf_ = copy(trained)
                twin.crf_.attribute_names_ = trained._encoder.names  # those of the columns
            twin.dev_score_, twin._dev_log = None, []
            rows = attribute_rows(twin.vectorizer_, X, learn=trained is None)
            twin.crf_.partial_fit(rows, listed(y), classes, sample_weight)
            twin.crf_.attribute_names_ = twin.vectorizer_.get_feature_names_out()
        return self

    def predict(self, X: Any, allowed: Any = None, subject_to: Any = None) -> list[list]:
        """Return the labels of the best path of each sequence.

        Parameters
        ----------
        X : as in :meth:`fit`
        {allowed}
        {subject_to}

        Returns
        -------
        LabelLists
            A list of one list of labels for each sequence; an array of it has dtype object.

        Raises
        ------
        ValueError
            If ``allowed`` or ``subject_to`` does not fit X, or no path that they allow is possible.
        """
        return LabelLists(super().predict(X, allowed, subject_to).tolist())

    def tagger(self) -> Tagger:
        """Make an immutable object that labels one sequence in one compiled call.

        Returns
        -------
        Tagger
            It gives the labels of :meth:`predict`; see :class:`~sklearn_crcrf.serving.Tagger`.
        """
        crf, vectorizer = self._fitted(), self.vectorizer_
        symbols, dtype = vectorizer.vocabulary_.symbols, np.dtype(vectorizer.dtype)
        return linear_tagger_of(crf, symbols, dtype, separator=vectorizer.separator, lists=True)

    def _kept_tagger(self) -> Tagger:
        """Return the result of :meth:`tagger`, made once for the same weights."""
        crf = self._trained() or self._fitted()
        vectorizer = self.vectorizer_
        parts = (
            *(crf.coef_, crf.transitions_, crf.begin_, crf.end_, crf.classes_),
            *(crf._encoder, crf._constraints, crf._decoding()),
            *(vectorizer.vocabulary_, vectorizer.separator),
        )
        kept = _TAGGERS.get(self)
        if kept is None or not all(map(is_, kept[0], parts)):
            _TAGGERS[self] = kept = parts, self.tagger()
        return kept[1]

    def predict_single(self, xseq: Any) -> list:
        """Return the labels of the best path of one sequence.

        Parameters
        ----------
        xseq : list of dicts
            The tokens of a sequence.

        Returns
        -------
        list of labels
        """
        return CRFsuiteTagger(self).tag(xseq)

    def predict_marginals(self, X: Any) -> list[list[dict]]:
        """Return the probabilities of the labels of each token.

        Parameters
        ----------
        X : as in :meth:`fit`

        Returns
        -------
        LabelLists
            A list for each sequence, with a dict ``{label: probability}`` for each token.
        """
        crf = self._fitted()
        labels, marginals = crf.classes_.tolist(), crf.predict_proba(self._rows(X))
        tokens = [dict(zip(labels, row, strict=True)) for row in marginals.data.tolist()]
        return LabelLists([tokens[a:b] for a, b in pairwise(marginals.offsets)])

    def predict_marginals_single(self, xseq: Any) -> list[dict]:
        """Return the probabilities of the labels of each token of one sequence.

        Parameters
        ----------
        xseq : list of dicts
            The tokens of a sequence.

        Returns
        -------
        list of dicts
            A dict ``{label: probability}`` for each token.
        """
        tagger = CRFsuiteTagger(self)
        tagger.set(xseq)
        return [dict(zip(tagger.labels(), row, strict=True)) for row in tagger.marginals()]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the labels of all tokens.

        Parameters
        ----------
        X, y, sample_weight : as in :meth:`fit`

        Returns
        -------
        float
        """
        return self._fitted().score(self._rows(X), listed(y), sample_weight)

    @property
    def tagger_(self) -> CRFsuiteTagger | None:
        """The methods of ``pycrfsuite.Tagger`` for this model; None before fit."""
        return None if self._trained() is None else CRFsuiteTagger(self)

    @property
    def modelfile(self) -> ModelFile:
        """A file with the model: its ``name`` is ``model_filename``, or a temporary one."""
        return _MODEL_FILES.setdefault(self, ModelFile(ref(self)))

    @property
    def training_log_(self) -> SimpleNamespace | None:
        """The losses of the iterations, as a log of sklearn-crfsuite has them; None before fit."""
        if self._trained() is None:
            return None
        curve = getattr(self.crf_, "loss_curve_", ())
        iterations = [{"num": i, "loss": loss, "scores": {}} for i, loss in enumerate(curve, 1)]
        for iteration, scores in zip(iterations, self._dev_log, strict=False):
            iteration.update(scores)
        last = iterations[-1] if iterations else None
        return SimpleNamespace(iterations=iterations, last_iteration=last)

    @property
    def size_(self) -> int | None:
        """Number of bytes of the pickled ``crf_``; None before fit."""
        crf = self._trained()
        return None if crf is None else len(pickle.dumps(crf, pickle.HIGHEST_PROTOCOL))

    @property
    def classes_(self) -> np.ndarray | None:
        """All labels; None before fit."""
        return getattr(self._trained(), "classes_", None)

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have a weight other than zero: keys, or ``"key:value"``."""
        crf = self._trained()
        if crf is None:
            return None
        return crf.attribute_names_[np.unique(crf.coef_.nonzero()[0])].tolist()

    @property
    def num_attributes_(self) -> int | None:
        """Number of :attr:`attributes_`; None before fit."""
        attributes = self.attributes_
        return None if attributes is None else len(attributes)

    @property
    def state_features_(self) -> dict[tuple[str, Any], float] | None:
        """The weights ``{(attribute, label): weight}`` that are not zero; None before fit."""
        return getattr(self._trained(), "state_features_", None)

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float] | None:
        """The weights ``{(label, next label): weight}`` that are not zero; None before fit."""
        return getattr(self._trained(), "transition_features_", None)

    @property
    def loss_curve_(self) -> list[float]:
        """The objective, with the penalties, after each iteration."""
        return self._fitted().loss_curve_

    @property
    def n_iter_(self) -> int:
        """Number of iterations."""
        return self._fitted().n_iter_

    @property
    def converged_(self) -> bool:
        """Whether training ended by itself."""
        return self._fitted().converged_

    def _requirements(self) -> Iterator[Requirement]:
        is_trained = isinstance(self.crf_, CRF | OnlineClassifier)
        yield Fact("crf_", is_trained, "must be a CRF or a StructuredPerceptron")
        is_vectorizer = isinstance(self.vectorizer_, SequenceVectorizer)
        yield Fact("vectorizer_", is_vectorizer, "must be a SequenceVectorizer")
        n_attributes = self.crf_.coef_.shape[0]
        known = len(self.vectorizer_.vocabulary_) == n_attributes
        yield Fact("vectorizer_.vocabulary_", known, f"must have {n_attributes} symbols")

    def _facts(self) -> dict[str, str]:
        return self.crf_._facts() if hasattr(self, "crf_") else {}

    def _trained(self) -> LinearChainClassifier | None:
        """Return what was trained, or is in the file of ``model_filename``, or None."""
        if not hasattr(self, "crf_") and self.model_filename is not None:
            with suppress(FileNotFoundError), open(self.model_filename, "rb") as file:
                model = parse_crfsuite_model(read_limited(file, MAX_BYTES))
                self.crf_, self.vectorizer_ = from_crfsuite_model(model, ":", MAX_BYTES)
                self.dev_score_: float | None = None
                self._dev_log: list[dict[str, float]] = []
        return getattr(self, "crf_", None)

    def _fitted(self) -> LinearChainClassifier:
        self._trained()
        check_fitted(self, "crf_")
        return self.crf_

    def _rows(self, X: Any) -> SequenceArray:
        self._fitted()
        return attribute_rows(self.vectorizer_, X)

    def _ready(self, X: Any) -> Self:
        self._fitted()
        return copy(self)

    def _check_X(self, X: Any, y: Any = None, reset: bool = False) -> Sequences:
        sequences = super()._check_X(listed(X), None if y is None else listed(y), reset)
        refuse_table(sequences.mirror.is_table)
        return sequences

    def _structure(self, X: SequenceArray) -> Structure:
        return self.crf_._structure(X)

    def _prepare(self, X: SequenceArray) -> Any:
        return self.crf_._prepare(attribute_rows(self.vectorizer_, X))

    def _prepare_scores(self, X: SequenceArray) -> Any:
        return self.crf_._prepare_scores(attribute_rows(self.vectorizer_, X))

    def _scores(self, prepared: Any, batch: Batch) -> Scores:
        return self.crf_._scores(prepared, batch)

    def _contributions(self, prepared: Any, batch: Batch, y: np.ndarray) -> Contributions:
        return self.crf_._contributions(prepared, batch, y)

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        return self.crf_._decode(structure, scores, first)
