"""Corpora in the splits of published results."""

import random
import re
from functools import cache
from typing import Any, NamedTuple

from ._corpora import fetch_brown, fetch_conll2002

# The numbers of sentences to train and to test on, among the sentences not held out.
BROWN_SPLITS = ("1000-4000", "2500-2500", "4000-1000", "17311-16312", "32623-1000")


class Splits(NamedTuple):
    """Three parts of a corpus, each a pair ``(X, y)`` of lists of lists of str.

    Examples
    --------
    >>> from sklearn_crcrf.datasets import Splits, make_addresses
    >>> splits = Splits(*(make_addresses(n, random_state=n) for n in (30, 10, 20)))
    >>> X_train, y_train = splits.train
    >>> len(X_train), len(splits.test[0])
    (30, 20)
    """

    train: tuple[list, list]
    tuning: tuple[list, list]
    test: tuple[list, list]


def load_brown_splits(name: str = "1000-4000", **options: Any) -> Splits:
    """Load a split of the Brown corpus for part-of-speech tagging.

    Sentences that end in ".", "?" or "!" are kept and every trailing -hl, -tl and -nc is
    stripped from the tags. The sentences are shuffled by ``random.Random(0)``; the first 1,000
    are for tuning, and the splits are taken from the next 33,623. The sizes are as in [1]_ and
    [2]_; which sentences these papers chose is not known.

    Parameters
    ----------
    name : {"1000-4000", "2500-2500", "4000-1000", "17311-16312", "32623-1000"}
        Number of sentences to train and to test on.
    **options
        Passed to :func:`fetch_brown`: ``data_home``, ``download_if_missing``.

    Returns
    -------
    Splits
        ``train``, ``tuning`` and ``test``, each a pair of words and tags.

    References
    ----------
    .. [1] Z. Zhu, D. Hiemstra, P. Apers, A. Wombacher, "Empirical Co-occurrence Rate Networks
       for Sequence Labeling", ICMLA 2013.
    .. [2] Z. Zhu, D. Hiemstra, P. Apers, A. Wombacher, "Closed Form Maximum Likelihood
       Estimator of Conditional Random Fields", 2013.

    Examples
    --------
    >>> from sklearn_crcrf.datasets import load_brown_splits
    >>> (X_train, y_train), _, (X_test, y_test) = load_brown_splits()  # doctest: +SKIP
    >>> len(X_train), len(X_test)  # doctest: +SKIP
    (1000, 4000)
    """
    if name not in BROWN_SPLITS:
        raise ValueError(f"name must be one of {list(BROWN_SPLITS)}, got {name!r}")
    X, y = fetch_brown(return_X_y=True, **options)
    order = [i for i, words in enumerate(X) if words[-1] in (".", "?", "!")]
    random.Random(0).shuffle(order)
    n_train, n_test = map(int, name.split("-"))
    tuning, rest = order[:1000], order[1000:34623]
    return Splits(
        *(
            ([X[i] for i in part], [[*map(bare, y[i])] for i in part])
            for part in (rest[:n_train], tuning, rest[n_train : n_train + n_test])
        )
    )


def load_dutch_ner(**options: Any) -> Splits:
    """Load the Dutch named entities of CoNLL-2002 without sentences of a single token.

    Parameters
    ----------
    **options
        Passed to :func:`fetch_conll2002`: ``data_home``, ``download_if_missing``.

    Returns
    -------
    Splits
        ``train`` (13,221 sentences), ``tuning`` (testa, 2,306) and ``test`` (testb, 4,211),
        each a pair of words and labels in IOB2.

    References
    ----------
    .. [1] Z. Zhu, D. Hiemstra, P. Apers, A. Wombacher, "Empirical Co-occurrence Rate Networks
       for Sequence Labeling", ICMLA 2013.

    Examples
    --------
    >>> from sklearn_crcrf.datasets import load_dutch_ner
    >>> [len(X) for X, y in load_dutch_ner()]  # doctest: +SKIP
    [13221, 2306, 4211]
    """
    parts = []
    for subset in ("train", "testa", "testb"):
        X, y = fetch_conll2002(subset, return_X_y=True, **options)
        kept = [i for i, tokens in enumerate(X) if len(tokens) > 1]
        words = [[token["word"] for token in X[i]] for i in kept]
        parts.append((words, [y[i] for i in kept]))
    return Splits(*parts)


@cache
def bare(tag: str) -> str:
    """Strip the suffixes of a tag."""
    return re.sub(r"(?<=.)(-(hl|tl|nc))+$", "", tag)
