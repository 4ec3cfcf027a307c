"""TextTagger: an estimator of spans of characters."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from ..base.unwrap import tagger_of, unwrap
from ..labels.segments.schemes import SCHEMES, read_labels
from ..metrics.spans import span_precision_recall_f1
from ..training import FittedState, nested_fits
from ..utils.names import check_several
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Fact, Requirement, Sound, labels
from .reading import TokenizedTexts, checked_texts, spans_of_each
from .redaction import REPLACE, redacted
from .spans import ALIGNMENTS, Span, checked_spans
from .tagger import SpanTagger
from .tokens import SENTENCES, TOKENIZERS


def _estimator_has(name: str) -> Callable[["TextTagger"], bool]:
    """Return whether the estimator has a method; its AttributeError else."""
    return lambda tagger: bool(getattr(getattr(tagger, "estimator_", tagger.estimator), name))


@dataclass(eq=False, repr=False)
class TextTagger(FittedState, Sound, BaseEstimator):
    """Find spans of characters in texts by a sequence classifier.

    A sample is a document. Its text is cut into sentences and tokens, and the estimator learns and
    predicts the labels of the tokens, which stand for the spans. In cross-validation and searches
    documents stay whole; an estimator whose ``fit`` takes ``groups`` gets the document of each
    sentence. The estimator sees tokens in composed form (NFC), so both normal forms of a text have
    the same spans, at the characters of the given text.

    Parameters
    ----------
    estimator : estimator
        A sequence classifier of tokens that are strings, or a pipeline or search that ends in one.
    tokenizer : {"words", "characters"} or callable, default="words"
        How text is cut into tokens, see :func:`~sklearn_crcrf.text.find_tokens`.
    sentences : {"lines", "rule"} or callable, default="lines"
        How text is cut into sequences, see :func:`~sklearn_crcrf.text.find_sentences`. In training
        no sentence ends within a span.
    alignment : {"expand", "contract", "strict"}, default="expand"
        What becomes of spans that do not begin and end where tokens do, or overlap, see
        :func:`~sklearn_crcrf.text.spans_to_labels`.
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
        How the labels of tokens spell spans.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    classes_ : ndarray of shape (n_labels,)
        The labels of tokens.
    labels_ : list of str
        The labels of spans.

    See Also
    --------
    sklearn_crcrf.text.read_spans : Documents and spans from files of many formats.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF, TextTagger
    >>> texts = ["Ann lives in Rome.", "Bob left Paris."]
    >>> spans = [[(0, 3, "PER"), (13, 17, "LOC")], [(0, 3, "PER"), (9, 14, "LOC")]]
    >>> tagger = TextTagger(EmpiricalCRF()).fit(texts, spans)
    >>> [span[:3] for span in tagger.predict(["Bob lives in Paris."])[0]]
    [(0, 3, 'PER'), (13, 18, 'LOC')]
    >>> tagger.redact("Ann left Rome.")
    '[PER] left [LOC].'
    """

    estimator: Any
    tokenizer: str | Callable = "words"
    sentences: str | Callable = "lines"
    alignment: str = "expand"
    _: KW_ONLY
    scheme: str = "IOB2"

    _parameter_constraints: ClassVar[dict] = {
        "tokenizer": [StrOptions(set(TOKENIZERS)), callable],
        "sentences": [StrOptions(set(SENTENCES)), callable],
        "alignment": [StrOptions(set(ALIGNMENTS))],
        "scheme": [StrOptions(set(SCHEMES))],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, texts: Any, spans: Any, groups: Any = None) -> Self:
        """Learn from texts and their spans.

        Parameters
        ----------
        texts : list of str
            A text for each document.
        spans : list of lists of Span, or of (start, end, label)
            The spans of each text.
        groups : array-like of shape (n_texts,), optional
            The group of each document, for an estimator whose ``fit`` takes groups; by default each
            document is a group.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If a span is not valid, or ``alignment`` refuses it; the message names the document and
            the characters.
        """
        X, y, group = self._training(texts, spans, groups)
        with self._replaced_by(self._unfitted()) as twin, nested_fits():
            grouped = has_fit_parameter(self.estimator, "groups")
            if groups is not None and not grouped:
                raise ValueError(f"the fit of {self.estimator!r} takes no groups")
            twin.estimator_ = clone(self.estimator).fit(
                X, y, **({"groups": group} if grouped else {})
            )
            twin.classes_ = unwrap(twin.estimator_)[0].classes_
        return self

    @available_if(_estimator_has("partial_fit"))
    def partial_fit(self, texts: Any, spans: Any) -> Self:
        """Learn from more texts, by ``partial_fit`` of the estimator.

        Parameters
        ----------
        texts, spans : as in :meth:`fit`

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As of :meth:`fit`.
        """
        return self._changed("partial_fit", texts, spans)

    @available_if(_estimator_has("forget"))
    def forget(self, texts: Any, spans: Any) -> Self:
        """Forget texts that were learned, by ``forget`` of the estimator.

        Parameters
        ----------
        texts, spans : as in :meth:`fit`
            As they were learned, with the same spans.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If they were not learned, or as of :meth:`fit`.
        """
        check_fitted(self)
        return self._changed("forget", texts, spans)

    def _changed(self, method: str, texts: Any, spans: Any) -> Self:
        """Call a method that trains the estimator further."""
        X, y, _ = self._training(texts, spans, None)
        since, is_fitted = self.__dict__, hasattr(self, "estimator_")
        with self._replaced_by(copy(self) if is_fitted else self._unfitted(), since) as twin:
            estimator = copy(self.estimator_) if is_fitted else clone(self.estimator)
            twin.estimator_ = getattr(estimator, method)(X, y)
            twin.classes_ = unwrap(twin.estimator_)[0].classes_
        return self

    @available_if(_estimator_has("conformalize"))
    def conformalize(self, texts: Any, spans: Any, groups: Any = None) -> Self:
        """Calibrate a conformal estimator with texts that it was not fitted to.

        Parameters
        ----------
        texts, spans, groups : as in :meth:`fit`

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a span is not valid, or the promise cannot be kept; see
            :meth:`sklearn_crcrf.ConformalSequenceClassifier.conformalize`.
        """
        check_fitted(self)
        X, y, group = self._training(texts, spans, groups)
        if not X:
            raise ValueError("texts have no tokens to calibrate with")
        self.estimator_.conformalize(X, y, groups=group)
        return self

    def predict(self, texts: Any) -> np.ndarray:
        """Return the spans of texts.

        Parameters
        ----------
        texts : list of str
            A text for each document.

        Returns
        -------
        ndarray of object of shape (n_texts,)
            A list of Span for each text, with the probabilities of ``predict_spans`` of the
            estimator.
        """
        fitted = self._ready()
        read = fitted._read(texts)
        found = np.empty(len(read.texts), dtype=object)
        found[:] = read.spans(fitted._spans_of(read.composed()))
        return found

    def predict_proba(self, texts: Any) -> list[np.ndarray]:
        """Return the probabilities of the labels of all tokens.

        Parameters
        ----------
        texts : list of str
            A text for each document.

        Returns
        -------
        list of ndarray of shape (n_tokens, n_labels)
            For each text. The tokens are those of :func:`~sklearn_crcrf.text.find_tokens`, and
            the columns as in ``classes_``.
        """
        fitted = self._ready()
        read = fitted._read(texts)
        values = np.empty((0, len(fitted.classes_)))
        if X := read.composed():
            values = np.concatenate(fitted.estimator_.predict_proba(X))
        return np.split(values, read.first[1:-1]) if read.texts else []

    def score(self, texts: Any, spans: Any, match: str = "exact") -> float:
        """Return the F1 of predicted spans.

        Parameters
        ----------
        texts : list of str
            A text for each document.
        spans : list of lists of Span, or of (start, end, label)
            The true spans of each text.
        match : {"exact", "overlap"}, default="exact"
            Whether a span must have the same characters as a true one of its label, or only some,
            see :func:`~sklearn_crcrf.metrics.span_precision_recall_f1`.

        Returns
        -------
        float
            In [0, 1].
        """
        texts = checked_texts(texts)
        true = [
            checked_spans(text, own, f"spans of document {number}")
            for number, (text, own) in enumerate(
                zip(texts, spans_of_each(texts, spans), strict=True)
            )
        ]
        return span_precision_recall_f1(true, self.predict(texts), match=match).f1

    def redact(
        self, text: str | list[str], replace: str | Callable[[str, Span], str] = REPLACE
    ) -> Any:
        """Replace the spans that are found in a text.

        Parameters
        ----------
        text : str or list of str
            A text, or several.
        replace : str or callable, default="[{label}]"
            What stands in place of a span: a text, in which ``{label}`` is the label; or a function
            that takes the characters of the span, and the Span, and returns a text. Spans that
            overlap are replaced as one, with the label of the longest.

        Returns
        -------
        str or list of str
            As ``text``.
        """
        texts = [text] if isinstance(text, str) else checked_texts(text)
        both = zip(texts, self.predict(texts), strict=True)
        made = [redacted(one, spans, replace) for one, spans in both]
        return made[0] if isinstance(text, str) else made

    def tagger(self) -> SpanTagger:
        """Make a fast, immutable object that finds the spans of one text.

        Returns
        -------
        SpanTagger
            It finds the spans of ``predict``, without probabilities. It is fast if the estimator
            has a :class:`~sklearn_crcrf.serving.Tagger`, else as slow as ``predict``.
        """
        fitted = self._ready()
        try:
            inner, spans_of = tagger_of(fitted.estimator_), None
        except (AttributeError, ValueError):
            inner, spans_of = None, fitted._spans_of
        return SpanTagger(inner, spans_of, fitted.tokenizer, fitted.sentences, fitted.scheme)

    @property
    def labels_(self) -> list[str]:
        """The labels of spans, which are the labels of tokens without their prefixes."""
        return read_labels(self.classes_.tolist(), self.scheme).types.tolist()

    def _ready(self) -> Self:
        """Return a copy as it is now: another thread may go on training this one."""
        check_fitted(self)
        return copy(self)

    def _read(self, texts: Any) -> TokenizedTexts:
        return TokenizedTexts.of(texts, self.tokenizer, self.sentences)

    def _training(self, texts: Any, spans: Any, groups: Any) -> tuple[list, list, np.ndarray]:
        """Return the sequences of texts, their labels and their groups."""
        read, y = self._read(texts).labelled(spans, self.alignment, self.scheme)
        group = read.documents()
        if groups is not None:
            check_several(groups, "groups")
            groups = list(groups)
            if len(groups) != len(read.texts):
                raise ValueError(f"there are {len(groups)} groups, but {len(read.texts)} texts")
            group = np.asarray(groups)[group]
        return read.composed(), y.tolist(), group

    def _spans_of(self, X: list[list[str]]) -> list:
        """Return the spans of the tokens of each sequence."""
        if not X:
            return []
        classifier, inner = unwrap(self.estimator_, X)
        return classifier.predict_spans(inner, self.scheme)

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        same = self.classes_.tolist() == unwrap(self.estimator_)[0].classes_.tolist()
        yield Fact("classes_", same, "must be the labels of estimator_")
