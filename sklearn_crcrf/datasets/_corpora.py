"""The corpora that can be fetched."""

import io
import os
from typing import Any

from sklearn.utils import Bunch

from ._fetch import CorpusSource, find_part
from ._readers import read_conll
from ._sources import BROWN, CONLL2000, CONLL2002


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
