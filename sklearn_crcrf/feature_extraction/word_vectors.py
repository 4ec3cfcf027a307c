"""Word vectors as columns of numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from .._kernels.sparse.keys import number_keys
from ..data.ragged import SequenceArray
from ..data.vocabulary import Vocabulary
from ..utils.names import check_no_string
from ..utils.replaced_parts import check_fitted
from ..utils.soundness import Array, Fact, Requirement
from ._base import SequenceTransformer, as_symbols
from .word_column import HasWordColumn


@dataclass(eq=False, repr=False)
class WordVectors(HasWordColumn, SequenceTransformer):
    """Make columns of numbers from the vectors, or embeddings, of words.

    Parameters
    ----------
    vectors : mapping from str to array of shape (n_dimensions,), or (words, matrix)
        The vector of each word; or a list of words, and a matrix with one row for each. If a word
        occurs more than once, its first row counts.
    unknown : array-like of shape (n_dimensions,), optional
        The vector of all other words. Default: zeros.
    ignore_case : bool, default=False
        Whether a word that is not found is looked up again in lower case.
    column : str, optional
        The column, or key of feature dicts, that holds the token. Default: the one with the
        most different words, whatever the order; if the choice is close, there is a warning.

    Attributes
    ----------
    column_ : str
        The column that holds the token.
    vocabulary_ : Vocabulary
        The words, by number.
    vectors_ : ndarray of shape (n_words, n_dimensions)
        The vectors; float32 or float64, as given.
    unknown_ : ndarray of shape (n_dimensions,)

    See Also
    --------
    WordClusters : Columns of symbols.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import WordVectors
    >>> vectors = WordVectors({"dog": [0.5, 1.0], "cat": [0.4, 0.9]})
    >>> vectors.fit_transform([["a", "dog"], ["cat"]]).data
    array([[0. , 0. ],
           [0.5, 1. ],
           [0.4, 0.9]])
    """

    vectors: Mapping[str, Any] | tuple[Sequence[str], Any]
    unknown: Any = None
    ignore_case: bool = False
    column: str | None = None

    def fit(self, X: Any, y: Any = None) -> "WordVectors":
        """Check the vectors, and number the words.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the vectors are not finite or differ in length, or X lacks the column.
        """
        column = self._choose_column(as_symbols(X))
        words, rows = _read(self.vectors)
        rows = check_array(rows, dtype=[np.float64, np.float32], input_name="vectors")
        if len(words) != len(rows):
            raise ValueError(f"vectors has {len(words)} words, but {len(rows)} rows")
        unknown = np.zeros(rows.shape[1]) if self.unknown is None else self.unknown
        unknown = check_array([unknown], dtype=rows.dtype, input_name="unknown")[0]
        if len(unknown) != rows.shape[1]:
            raise ValueError(
                f"unknown has {len(unknown)} dimensions, but vectors have {rows.shape[1]}"
            )
        vocabulary = Vocabulary()
        _, first = number_keys(vocabulary.add(words).astype(np.int64))
        self.column_, self.vocabulary_ = column, vocabulary
        self.vectors_ = rows if len(first) == len(rows) else rows[first]
        self.unknown_ = unknown
        return self

    def transform(self, X: Any) -> SequenceArray:
        """Look up the vector of every token.

        Parameters
        ----------
        X : list of sequences of str or dict, SequenceArray, or DataFrame
            The tokens.

        Returns
        -------
        SequenceArray of ndarray of shape (n_tokens, n_dimensions)
        """
        check_fitted(self)
        sequences = as_symbols(X)
        table = sequences.data
        j = self._place_of_column(table, sequences.lengths)
        ids = self._look_up(table.categories[j].tolist())
        known = np.flatnonzero(ids >= 0)
        # The last row is for tokens without a symbol, whose code is -1.
        rows = np.tile(self.unknown_, (len(ids) + 1, 1))
        rows[known] = self.vectors_[ids[known]]
        return self._output(sequences.with_data(rows[table.codes[:, j]]), X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: ``"vector0"``, ``"vector1"``, ...

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects of shape (n_dimensions,)
        """
        check_fitted(self)
        return np.array([f"vector{k}" for k in range(len(self.unknown_))], dtype=object)

    def _requirements(self) -> Iterator[Requirement]:
        is_vocabulary = isinstance(self.vocabulary_, Vocabulary)
        yield Fact("vocabulary_", is_vocabulary, "must be a Vocabulary")
        n_dimensions = len(self.unknown_)
        yield Array("unknown_", self.unknown_, (n_dimensions,))
        yield Array("vectors_", self.vectors_, (len(self.vocabulary_), n_dimensions))

    def _look_up(self, words: list[str]) -> np.ndarray:
        """Return the numbers of words, -1 for unknown words."""
        ids = self.vocabulary_.lookup(words)
        if self.ignore_case:
            missing = np.flatnonzero(ids < 0)
            ids[missing] = self.vocabulary_.lookup([words[i].lower() for i in missing])
        return ids


def _read(vectors: Any) -> tuple[list[str], Any]:
    """Words and a matrix of their vectors."""
    if isinstance(vectors, Mapping):
        rows = [np.asarray(row) for row in vectors.values()]
        shapes = {row.shape for row in rows}
        if len(shapes) != 1 or len(*shapes) != 1:
            raise ValueError(
                "vectors must have one vector of numbers for each word, all of the same length"
            )
        return [*vectors], np.array(rows)
    is_pair = isinstance(vectors, (tuple, list)) and len(vectors) == 2
    if is_pair and isinstance(vectors[0], Iterable):
        check_no_string(vectors[0], "the list of words in vectors")
        return [*vectors[0]], vectors[1]
    raise ValueError(
        "vectors must be a mapping from words to vectors, or words and a matrix, "
        f"got a {type(vectors).__name__}"
    )
