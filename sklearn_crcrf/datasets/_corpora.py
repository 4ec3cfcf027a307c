"""The corpora that can be fetched."""

import io
import os
import random
import re
from functools import cache
from typing import Any, NamedTuple

from sklearn.utils import Bunch

from ._fetch import BROWN, CONLL2000, CONLL2002, CorpusSource, find_part
from ._readers import read_conll


def fetch_conll2000(
    subset: str = "train",
    *,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Bunch | tuple[list, list]:
    """Fetch the chunking data of CoNLL-2000 (English).

    Files are looked for in the folder named by the environment variable ``SKLEARN_CRCRF_DATA``,
    then in ``data_home``, and downloaded only if neither has them.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The part of the data; "all" is all of them in this order.
    data_home : str or path-like, default=None
        Folder of downloaded data. By default the folder of scikit-learn, see
        :func:`sklearn.datasets.get_data_home`.
    download_if_missing : bool, default=True
        If False, raise an OSError instead of downloading.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.
    n_retries : int, default=3
        Number of retries when the download fails.
    delay : float, default=1.0
        Seconds between retries.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        data : list of lists of dicts with the keys "word" and "pos"
        target : list of lists of str, chunk labels in IOB2
        target_names : sorted list of the labels
        feature_names : list of str, the keys of the dicts
        filenames : list of str, the files read
        DESCR : str
    (data, target) : tuple if ``return_X_y`` is True

    Raises
    ------
    OSError
        If the data are missing or their checksum differs.

    Examples
    --------
    >>> from sklearn_crcrf.datasets import fetch_conll2000
    >>> X, y = fetch_conll2000("test", return_X_y=True)  # doctest: +SKIP
    >>> X[0][0], y[0][0]  # doctest: +SKIP
    ({'word': 'Rockwell', 'pos': 'NNP'}, 'B-NP')
    """
    return _fetch(CONLL2000, subset, return_X_y, data_home, download_if_missing, n_retries, delay)


def fetch_conll2002(
    subset: str = "train",
    *,
    language: str = "ned",
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Bunch | tuple[list, list]:
    """Fetch the named entities of CoNLL-2002 (Dutch).

    Files are looked for in the folder named by the environment variable ``SKLEARN_CRCRF_DATA``,
    then in ``data_home``, and downloaded only if neither has them.

    Parameters
    ----------
    subset : {"train", "testa", "testb", "all"}, default="train"
        The part of the data; "testa" is meant for development. "all" is all of them in this
        order.
    language : {"ned"}, default="ned"
        Dutch.
    data_home : str or path-like, default=None
        Folder of downloaded data. By default the folder of scikit-learn, see
        :func:`sklearn.datasets.get_data_home`.
    download_if_missing : bool, default=True
        If False, raise an OSError instead of downloading.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.
    n_retries : int, default=3
        Number of retries when the download fails.
    delay : float, default=1.0
        Seconds between retries.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        data : list of lists of dicts with the keys "word" and "pos"
        target : list of lists of str, entity labels in IOB2
        target_names : sorted list of the labels
        feature_names : list of str, the keys of the dicts
        filenames : list of str, the files read
        DESCR : str
    (data, target) : tuple if ``return_X_y`` is True

    Raises
    ------
    OSError
        If the data are missing or their checksum differs.

    Examples
    --------
    >>> from sklearn_crcrf.datasets import fetch_conll2002
    >>> X, y = fetch_conll2002("testa", return_X_y=True)  # doctest: +SKIP
    >>> X[2][2], y[2][2]  # doctest: +SKIP
    ({'word': 'Californië', 'pos': 'N'}, 'B-LOC')
    """
    if language != "ned":
        raise ValueError(f"language must be 'ned', got {language!r}")
    return _fetch(CONLL2002, subset, return_X_y, data_home, download_if_missing, n_retries, delay)


def fetch_brown(
    *,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Bunch | tuple[list, list]:
    """Fetch the Brown corpus with its part-of-speech tags (English).

    The file is looked for in the folder named by the environment variable
    ``SKLEARN_CRCRF_DATA``, then in ``data_home``, and downloaded only if neither has it.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of downloaded data. By default the folder of scikit-learn, see
        :func:`sklearn.datasets.get_data_home`.
    download_if_missing : bool, default=True
        If False, raise an OSError instead of downloading.
    return_X_y : bool, default=False
        If True, return ``(data, target)`` instead of a Bunch.
    n_retries : int, default=3
        Number of retries when the download fails.
    delay : float, default=1.0
        Seconds between retries.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        data : list of lists of str, the words
        target : list of lists of str, the tags
        target_names : sorted list of the tags
        feature_names : ["word"]
        filenames : list of str, the file read
        DESCR : str
    (data, target) : tuple if ``return_X_y`` is True

    Raises
    ------
    OSError
        If the data are missing or their checksum differs.

    See Also
    --------
    load_brown_splits : Splits of the corpus for training and testing.

    Examples
    --------
    >>> from sklearn_crcrf.datasets import fetch_brown
    >>> X, y = fetch_brown(return_X_y=True)  # doctest: +SKIP
    >>> X[0][:3], y[0][:3]  # doctest: +SKIP
    (['The', 'Fulton', 'County'], ['at', 'np-tl', 'nn-tl'])
    """
    return _fetch(BROWN, "all", return_X_y, data_home, download_if_missing, n_retries, delay)


def _fetch(
    corpus: CorpusSource, subset: str, return_X_y: bool, *options: Any
) -> Bunch | tuple[list, list]:
    """Read some parts of a corpus, with the options of :func:`find_part`."""
    choices = list(dict.fromkeys([*corpus.parts, "all"]))
    if subset not in choices:
        raise ValueError(f"subset must be one of {choices}, got {subset!r}")
    X: list[Any] = []
    y: list[Any] = []
    filenames = []
    for name, part in corpus.parts.items():
        if subset in (name, "all"):
            text, path = find_part(corpus, part, *options)
            X_part, y_part = read_conll(io.StringIO(text), corpus.columns, sep="\t")
            X += X_part
            y += y_part or []
            filenames.append(str(path))
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        target_names=sorted({label for labels in y for label in labels}),
        feature_names=[name for name in corpus.columns if name != "label"],
        filenames=filenames,
        DESCR=corpus.description,
    )


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


def load_brown_splits(
    name: str = "1000-4000", *, raw_tags: bool = False, shuffle: bool = True, **options: Any
) -> Splits:
    """Load a split of the Brown corpus for part-of-speech tagging.

    Sentences that end in ".", "?" or "!" are kept and shuffled by ``random.Random(0)``; the first
    1,000 are for tuning, and the splits are taken from the next 33,623. The sizes are as in
    [1]_ and [2]_; which sentences these papers chose is not known. Their shares of unknown words
    are those of sentences in the order of the corpus, ``shuffle=False``.

    Parameters
    ----------
    name : {"1000-4000", "2500-2500", "4000-1000", "17311-16312", "32623-1000"}, \
            default="1000-4000"
        Number of sentences to train and to test on.
    raw_tags : bool, default=False
        Whether tags keep the suffixes -hl (headline), -tl (title) and -nc (cited word), which are
        stripped by default. These 34,623 sentences have 208 tags without and 401 with them; [1]_
        and [2]_ have 252.
    shuffle : bool, default=True
        If False, the same 34,623 sentences are in the order of the corpus, so that most
        sentences to test on are of other documents than those to train on.
    **options
        Passed to :func:`fetch_brown`: ``data_home``, ``download_if_missing``.

    Returns
    -------
    Splits
        ``train``, ``tuning`` and ``test``, each a pair of words and tags.

    References
    ----------
    .. [1] Z. Zhu, D. Hiemstra, P. Apers, A. Wombacher, "Empirical Co-occurrence Rate Networks
       for Sequence Labeling", ICMLA 2013, doi:10.1109/ICMLA.2013.23.
    .. [2] Z. Zhu, D. Hiemstra, P. Apers, A. Wombacher, "Closed Form Maximum Likelihood
       Estimator of Conditional Random Fields", 2013, hdl:2066/227018.

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
    chosen = order[:34623] if shuffle else sorted(order[:34623])
    n_train, n_test = map(int, name.split("-"))
    tuning, rest = chosen[:1000], chosen[1000:]
    return Splits(
        *(
            ([X[i] for i in part], [y[i] if raw_tags else [*map(bare, y[i])] for i in part])
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
       for Sequence Labeling", ICMLA 2013, doi:10.1109/ICMLA.2013.23.

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
