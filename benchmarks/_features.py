"""The attributes of the comparisons of iterated CRFs, for both packages.

Chunks: words and parts of speech at up to two tokens' distance, and joins of two or three of
them. Named entities and parts of speech: the word, and which of eleven properties it has.
"""

import argparse
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from _common import load_splits
from _crfsuite import Attributes, simple_attributes
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.data.symbols import SymbolTable
from sklearn_crcrf.datasets import Splits
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures, Window

CHUNK_TEMPLATES = (
    *(f"word[{i}]" for i in range(-2, 3)),
    *(f"word[{i}]|word[{i + 1}]" for i in (-1, 0)),
    *(f"pos[{i}]" for i in range(-2, 3)),
    *(f"pos[{i}]|pos[{i + 1}]" for i in range(-2, 2)),
    *(f"pos[{i}]|pos[{i + 1}]|pos[{i + 2}]" for i in range(-2, 1)),
)


class Encoded(NamedTuple):
    """A corpus as both packages train on it.

    Parameters
    ----------
    X, X_test : CSR of shape (n_tokens, n_attributes)
    y : ndarray of shape (n_tokens,) of label ids
    offsets, test_offsets : ndarray of shape (n_sequences + 1,)
    names : ndarray of shape (n_attributes,)
    classes : ndarray of shape (n_labels,)
    splits : Splits
        The splits that the data come from.
    """

    X: sp.csr_matrix
    y: np.ndarray
    offsets: np.ndarray
    X_test: sp.csr_matrix
    test_offsets: np.ndarray
    names: np.ndarray
    classes: np.ndarray
    splits: Splits

    def strings(self) -> Attributes:
        """The names of the attributes of all tokens of the training part."""
        return _strings(self.X, self.offsets, self.names)

    def test_strings(self) -> Attributes:
        """The names of the attributes of all tokens of the test part."""
        return _strings(self.X_test, self.test_offsets, self.names)


def encode(corpus: str, args: argparse.Namespace) -> Encoded:
    """Load a corpus, and make the attributes of its training and test parts."""
    splits = load_splits(corpus, args)
    (X, y), _, (X_test, _) = splits
    columns, vectorizer = columns_of(corpus), SequenceVectorizer()
    train = vectorizer.fit_transform(columns.fit_transform(X))
    test = vectorizer.transform(columns.transform(X_test))
    labels = np.array([label for labels in y for label in labels])
    classes, ids = np.unique(labels, return_inverse=True)
    names = vectorizer.get_feature_names_out()
    return Encoded(
        train.data,
        ids.astype(np.int32),
        train.offsets,
        test.data,
        test.offsets,
        names,
        classes,
        splits,
    )


def columns_of(corpus: str) -> Pipeline:
    """The transformer from tokens of a corpus to columns of symbols."""
    if corpus == "chunking":
        return make_pipeline(Window(CHUNK_TEMPLATES))
    return make_pipeline(TokenFeatures("simple"), FunctionTransformer(leave_out_false))


def leave_out_false(X: SequenceArray) -> SequenceArray:
    """Remove the symbols of properties that do not hold."""
    table = X.data
    false = [symbols.tolist().index("False") for symbols in table.categories[1:]]
    codes = np.where(table.codes == [-2, *false], -1, table.codes)  # -2: all words are kept
    return SequenceArray(SymbolTable(codes, table.categories, table.names), X.offsets)


def _strings(X: sp.csr_matrix, offsets: np.ndarray, names: np.ndarray) -> Attributes:
    strings = names[X.indices].tolist()
    tokens = [strings[start:stop] for start, stop in pairwise(X.indptr.tolist())]
    return [tokens[start:stop] for start, stop in pairwise(offsets.tolist())]


def python_attributes(corpus: str) -> Callable[[Sequence], Attributes]:
    """What makes lists of strings of sentences, as one does for a package that takes these."""
    return _chunk_attributes if corpus == "chunking" else simple_attributes


def _chunk_attributes(X: Sequence[Sequence[dict[str, str]]]) -> Attributes:
    return [_sentence_attributes(sentence) for sentence in X]


def _sentence_attributes(sentence: Sequence[dict[str, str]]) -> list[list[str]]:
    before, after = ["<-2>", "<-1>"], ["<+1>", "<+2>"]
    words = before + [token["word"] for token in sentence] + after
    tags = before + [token["pos"] for token in sentence] + after
    attributes = []
    for t in range(len(sentence)):
        w, p = words[t : t + 5], tags[t : t + 5]
        token = [f"w{i}={w[i]}" for i in range(5)]
        token += [f"w{i},{i + 1}={w[i]}|{w[i + 1]}" for i in (1, 2)]
        token += [f"p{i}={p[i]}" for i in range(5)]
        token += [f"p{i},{i + 1}={p[i]}|{p[i + 1]}" for i in range(4)]
        token += [f"p{i}..{i + 2}={p[i]}|{p[i + 1]}|{p[i + 2]}" for i in range(3)]
        attributes.append(token)
    return attributes
