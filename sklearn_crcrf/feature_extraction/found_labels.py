"""Labels that a first model finds, for a token and elsewhere in the text, as columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from ..data.ragged import SequenceArray, joined_ranges
from ..data.sequences import as_sequences
from ..data.symbols import join_columns
from ..labels.segments.label_sequences import factorize
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Fact, Requirement
from ._base import SequenceTransformer, as_symbols
from ._found_columns import CONFIDENCES, Found, Text, column_names, found_table
from .word_column import HasWordColumn, column_number

# A second label must have at least this probability.
_SECOND = 0.05


@dataclass(eq=False, repr=False)
class FoundLabels(HasWordColumn, SequenceTransformer):
    """Add columns of the labels that a first model predicts here and elsewhere in the text.

    What is a name in one sentence is a name in the next, where it may be harder to tell. A second
    model that sees these columns corrects the first one, which knows only one sentence at a time.

    Labels of training data come from models of the other folds, so that the second model sees
    errors like those on new data. As in scikit-learn's ``TargetEncoder``, ``fit_transform(X, y)``
    therefore differs from ``fit(X, y).transform(X)``; a Pipeline calls the right one.

    The columns are:

    - ``"found"``: the label of the token;
    - ``"word_in_document"``, ``"word_in_text"``: the most frequent kind of label of the other
      tokens with the same word, in the document and in all of X; the kind is the type of name
      for labels of segments, or else the label itself;
    - for labels of segments, ``"name_in_document"``, ``"name_in_text"``: the most frequent type of
      the other names of the same words as the name here, and ``"longer_name"``: the most frequent
      type of the longer names in the document that contain the words of the name here;
    - if the first model has ``predict_proba``, ``"found_confidence"``: in which range the
      probability of the label lies; ``"found_second"``: the second most probable label, if its
      probability is at least 0.05.

    A token without other tokens of its word, or outside a name, has no symbol there.

    Parameters
    ----------
    estimator : classifier of sequences
        The first model. It sees X without the column ``groups``.
    cv : int, splitter or iterable of splits, default=5
        The folds of the training sequences. Every sequence must be tested exactly once.
    groups : str, optional
        The column that names the document of each token; it is not part of the output. Default:
        documents are told apart by ``marker``.
    marker : str or None, default="-DOCSTART-"
        A sequence whose first token is this one begins a document. Without any, or with None, all
        of X is one document.
    column : str, optional
        The column, or key of feature dicts, that holds the token. Default: the one with the
        most different words; if the choice is close, there is a warning.

    Attributes
    ----------
    estimator_ : classifier of sequences
        Fitted to all training data.
    classes_ : ndarray of shape (n_labels,)
        The labels seen in fit.
    column_ : str
        The column that holds the token.
    feature_names_in_ : ndarray of str objects
        Names of the columns seen in fit; token strings are one column ``"token"``.

    See Also
    --------
    text_features : Attributes for a second model, which take up these columns.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_crcrf import CRF, EmpiricalCRF
    >>> from sklearn_crcrf.feature_extraction import FoundLabels, text_features
    >>> X = [["Ann", "Lee", "sings"], ["Lee", "sleeps"], ["Bob", "sleeps"], ["Cats", "sing"]]
    >>> y = [["B-PER", "I-PER", "O"], ["B-PER", "O"], ["B-PER", "O"], ["O", "O"]]
    >>> found = FoundLabels(EmpiricalCRF(), cv=2).fit(X, y)
    >>> table = found.transform([["Ann", "Lee", "left"], ["Lee", "too"]]).data
    >>> table.column("longer_name").tolist()
    [None, None, None, 'PER', None]
    >>> two_stages = make_pipeline(FoundLabels(EmpiricalCRF(), cv=2), text_features("names"), CRF())
    >>> two_stages.fit(X, y).predict([["Bob", "sings"]]).tolist()
    [['B-PER', 'O']]
    """

    estimator: Any
    cv: Any = 5
    groups: str | None = None
    marker: str | None = "-DOCSTART-"
    column: str | None = None

    def fit(self, X: Any, y: Any = None) -> "FoundLabels":
        """Fit the first model to all of the training data.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : labels, in the layout of X

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no y, X has no column ``groups`` or ``column``, or the first model cannot be
            fitted.
        """
        self._fit(as_symbols(X), self._labels(X, y))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> SequenceArray:
        """Fit the first model, and add the labels that models of the other folds find.

        Parameters
        ----------
        X, y : as in :meth:`fit`

        Returns
        -------
        SequenceArray of SymbolTable
            With the sequences of X.

        Raises
        ------
        ValueError
            As in :meth:`fit`, and if ``cv`` does not test every sequence exactly once.
        """
        symbols, labels = as_symbols(X), self._labels(X, y)
        self._fit(symbols, labels)
        return self._output(self._with_found(symbols, self._out_of_fold(symbols, labels)), X)

    def transform(self, X: Any) -> SequenceArray:
        """Add the labels that the first model finds.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens. The labels found elsewhere depend on all of X.

        Returns
        -------
        SequenceArray of SymbolTable
            With the sequences of X.

        Raises
        ------
        ValueError
            If a token is not a string or dict, or a column is missing.
        """
        check_fitted(self)
        needed = [name for name in (self.column_, self.groups) if name is not None]
        symbols = as_symbols(X, self.feature_names_in_, needed)
        self._check_columns(symbols.data.names)
        found = self._predictions(self.estimator_, self._observed(symbols))
        return self._output(self._with_found(symbols, found), X)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the input columns. Default: the names seen in fit.

        Returns
        -------
        ndarray of str objects
        """
        check_fitted(self)
        names = self.feature_names_in_.tolist() if input_features is None else input_features
        kept = [name for name in names if name != self.groups]
        return np.array([*kept, *column_names(self.classes_, self._has_probabilities)], object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _requirements(self) -> Iterator[Requirement]:
        labels = set(self.classes_.tolist())
        known = labels >= set(self.estimator_.classes_.tolist())
        yield Fact("estimator_", known, "must predict labels in classes_")

    @property
    def _has_probabilities(self) -> bool:
        return hasattr(self.estimator_, "predict_proba")

    def _fit(self, symbols: SequenceArray, labels: SequenceArray) -> None:
        self._check_columns(symbols.data.names)
        self.estimator_ = clone(self.estimator).fit(self._observed(symbols), labels)
        self.classes_ = np.array(factorize(labels.data)[0])
        self.column_ = self._choose_column(self._observed(symbols))
        self.feature_names_in_ = np.array(symbols.data.names, dtype=object)

    def _labels(self, X: Any, y: Any) -> SequenceArray:
        if y is None:
            raise ValueError(
                "This FoundLabels estimator requires y to be passed, but the target y is None."
            )
        return as_sequences(X, y).y

    def _check_columns(self, names: Sequence[str]) -> None:
        column_number(self.column, names)
        if self.groups is not None:
            column_number(self.groups, names)

    def _observed(self, symbols: SequenceArray) -> SequenceArray:
        """Return the columns that the first model sees."""
        table = symbols.data
        return symbols.with_data(table.select([n for n in table.names if n != self.groups]))

    def _out_of_fold(self, symbols: SequenceArray, labels: SequenceArray) -> Found:
        """What models trained on the other folds predict for every sequence."""
        observed = self._observed(symbols)
        folds = list(check_cv(self.cv).split(observed, labels))
        tested = np.concatenate([test for _, test in folds])
        if not np.array_equal(np.sort(tested), np.arange(len(observed))):
            raise ValueError("cv must test every sequence exactly once")
        found = Found(*np.empty((3, symbols.offsets[-1]), dtype=np.int64))
        for train, test in folds:
            model = clone(self.estimator).fit(observed[train], labels[train])
            tokens = joined_ranges(symbols.offsets[test], symbols.lengths[test])
            predicted = self._predictions(model, observed[test])
            for whole, part in zip(found, predicted, strict=True):
                whole[tokens] = part
        return found

    def _predictions(self, model: Any, observed: SequenceArray) -> Found:
        number = {label: i for i, label in enumerate(self.classes_.tolist())}
        distinct, codes = factorize(model.predict(observed).data)
        labels = np.array([number[label] for label in distinct], dtype=np.int64)[codes]
        if not self._has_probabilities:
            return Found(labels, *np.full((2, len(labels)), -1))
        every = np.arange(len(labels))
        probabilities = np.zeros((len(labels), len(self.classes_)))
        places = [number[label] for label in model.classes_.tolist()]
        probabilities[:, places] = model.predict_proba(observed).data
        confidence = np.searchsorted(CONFIDENCES, probabilities[every, labels], side="right")
        probabilities[every, labels] = 0.0
        second = probabilities.argmax(axis=1)
        second[probabilities[every, second] < _SECOND] = -1
        return Found(labels, second, confidence)

    def _with_found(self, symbols: SequenceArray, found: Found) -> SequenceArray:
        if not isinstance(self.marker, str | None):
            raise ValueError(f"marker must be a str or None, got {self.marker!r}")
        observed = self._observed(symbols).data
        column = self._place_of_column(observed, symbols.lengths)
        words = observed.codes[:, column].astype(np.int64) + 1
        marks = observed.categories[column] == self.marker
        text = Text(words, self._documents(symbols, words, marks), symbols.offsets)
        added = found_table(found, text, self.classes_, self._has_probabilities)
        return symbols.with_data(join_columns([observed, added]))

    def _documents(
        self, symbols: SequenceArray, words: np.ndarray, marks: np.ndarray
    ) -> np.ndarray:
        """Return the number of the document of each token."""
        table = symbols.data
        if self.groups is not None:
            return table.codes[:, column_number(self.groups, table.names)].astype(np.int64) + 1
        documents = np.zeros(len(words), dtype=np.int64)
        if self.marker is not None:
            first = symbols.offsets[:-1][symbols.lengths > 0]
            documents[first] = np.append(False, marks)[words[first]]
        return np.cumsum(documents)
