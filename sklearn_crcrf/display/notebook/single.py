"""One sequence, prepared for the classifier at the end of an estimator."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.classifier import BaseSequenceClassifier
from ...base.unwrap import unwrap
from ...data.ragged import SequenceArray
from ...data.sequences import as_sequences
from ...data.symbols import SymbolTable
from ...utils.replaced_parts import check_fitted


class Single(NamedTuple):
    """A sequence classifier, one sequence after the steps before it, and the texts of tokens."""

    classifier: BaseSequenceClassifier
    X: SequenceArray
    tokens: list[str]


def single(estimator: Any, sequence: Any, tokens: Sequence[str] | None = None) -> Single:
    """Take one sequence through the steps before a sequence classifier.

    Parameters
    ----------
    estimator : fitted sequence classifier, or a pipeline or search that ends in one
    sequence : list of tokens, 2-D array or CSR, SequenceArray or DataFrame
        The last two hold one sequence.
    tokens : sequence of str, optional
        Texts of the tokens; by default the word or first string of each token, or its number.

    Returns
    -------
    Single

    Raises
    ------
    ValueError
        If there is not exactly one sequence, or ``tokens`` has another length.
    """
    is_container = isinstance(sequence, SequenceArray) or hasattr(sequence, "iloc")
    X = sequence if is_container else [sequence]
    outer = as_sequences(X).X
    if len(outer) != 1:
        raise ValueError(f"sequence must be a single sequence, but there are {len(outer)}")
    classifier, inner = unwrap(estimator, X)
    words = getattr(classifier, "observation_", None)
    texts = token_texts(outer, words) if tokens is None else [str(token) for token in tokens]
    if len(texts) != outer.lengths[0]:
        raise ValueError(f"there are {outer.lengths[0]} tokens, but {len(texts)} names of tokens")
    check_fitted(classifier)
    return Single(classifier, as_sequences(inner).X, texts)


def token_texts(X: SequenceArray, words: str | None = None) -> list[str]:
    """Return the texts of the tokens of X: the first string of each token, or its number.

    Parameters
    ----------
    X : SequenceArray
    words : str, optional
        The column that holds the words; tokens that have it are shown by it.

    Returns
    -------
    list of n_tokens str

    Examples
    --------
    >>> from sklearn_crcrf import SequenceArray
    >>> token_texts(SequenceArray.from_sequences([[{"bias": 1.0, "word": "the"}]]))
    ['the']
    """
    data = X.data
    if isinstance(data, SymbolTable):
        texts = (n for n in data.names if n not in data.numbers)
        name = words if words in data.names else next(texts, None)
        return _numbers(len(data)) if name is None else [str(s) for s in data.column(name)]
    if not isinstance(data, np.ndarray) or data.dtype.kind in "biuf":
        return _numbers(data.shape[0])
    return [_text(token, number, words) for number, token in enumerate(data)]


def _text(token: Any, number: int, words: str | None) -> str:
    if isinstance(token, str):
        return str(token)
    values = [token.get(words), *token.values()] if isinstance(token, Mapping) else token
    values = values if isinstance(values, Iterable) else ()
    return next((str(value) for value in values if isinstance(value, str)), str(number))


def _numbers(n_tokens: int) -> list[str]:
    return [str(number) for number in range(n_tokens)]
