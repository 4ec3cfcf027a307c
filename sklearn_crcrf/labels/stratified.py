"""SequenceStratifiedKFold: folds of whole sequences with about the same labels."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state, check_scalar

from .partial import encode_partial_labels
from .segments.label_sequences import is_nested, label_sequences


class SequenceStratifiedKFold(BaseCrossValidator):
    """Folds of whole sequences, or of whole groups, with about the same share of every label.

    scikit-learn's ``StratifiedKFold`` needs one label for each sample. ``KFold``, ``GroupKFold``,
    ``ShuffleSplit`` and ``GroupShuffleSplit`` of scikit-learn split sequences as they are, but a
    rare type of name may miss a fold.

    Sequences with much of a rare label are placed first, each in the fold where the sum of the
    squared shares of its labels grows least, as greedy methods for several labels of a sample do
    [1]_.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Whether to place sequences that are alike in random order.
    random_state : int, RandomState or None, default=None
        Used when ``shuffle`` is True.

    References
    ----------
    .. [1] Sechidis, Tsoumakas, Vlahavas, "On the Stratification of Multi-label Data", ECML PKDD
       2011.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_crcrf import EmpiricalCRF, SequenceStratifiedKFold
    >>> X, y = [["Ann"], ["Bo"], ["York"], ["Rome"]], [["PER"], ["PER"], ["LOC"], ["LOC"]]
    >>> [test.tolist() for _, test in SequenceStratifiedKFold(2).split(X, y)]
    [[0, 2], [1, 3]]
    >>> cross_val_score(EmpiricalCRF(), X, y, cv=SequenceStratifiedKFold(2)).shape
    (2,)
    """

    # Groups reach it from cross_val_score where metadata is routed.
    __metadata_request__split = {"groups": True}

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None):
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : ignored

        Returns
        -------
        int
        """
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the numbers of the training and of the test sequences of each fold.

        Parameters
        ----------
        X : sequences of any kind
        y : list of label lists, or SequenceArray
            Tokens whose label is not known do not count.
        groups : array-like of shape (n_sequences,), optional
            The group of each sequence, such as its document. No group is divided.

        Yields
        ------
        train, test : int ndarray

        Raises
        ------
        ValueError
            If there are fewer sequences, or groups, than folds; or if y has one label for each
            sample, which ``StratifiedKFold`` and ``StratifiedGroupKFold`` of scikit-learn take.
        """
        return super().split(X, y, groups)

    def _iter_test_indices(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator:
        check_scalar(self.n_splits, "n_splits", Integral, min_val=2)
        if y is None or not is_nested(y):
            raise ValueError(
                "y must have a list of labels for each sequence; for rows of a table use "
                "StratifiedGroupKFold of scikit-learn, with the sequences as groups"
            )
        labels = label_sequences(y, "y")
        classes, ids, _ = encode_partial_labels(labels)
        sample, n = np.arange(len(labels)), len(labels)
        if groups is not None:
            numbers: dict[Any, int] = {}
            sample = np.array([numbers.setdefault(group, len(numbers)) for group in groups])
            n = len(numbers)
        if n < self.n_splits:
            raise ValueError(f"n_splits={self.n_splits} folds need as many samples, but X has {n}")
        is_known = ids >= 0
        places = np.repeat(sample, labels.lengths)[is_known], ids[is_known]
        counts = sp.csr_array((np.ones(is_known.sum()), places), shape=(n, len(classes)))
        fold = self._folds(counts)[sample]
        for number in range(self.n_splits):
            yield np.flatnonzero(fold == number)

    def _folds(self, counts: sp.csr_array) -> np.ndarray:
        """Return the fold of each sample, which has these numbers of labels."""
        share = sp.csr_array(counts / np.maximum(counts.sum(axis=0), 1))
        n, n_labels = share.shape
        order = np.arange(n)
        if self.shuffle:
            check_random_state(self.random_state).shuffle(order)
        rarest = share.max(axis=1).toarray().ravel() if n_labels else np.zeros(n)
        order = order[np.argsort(-rarest[order], kind="stable")]
        fold, n_placed = np.empty(n, dtype=np.int64), np.zeros(self.n_splits)
        placed = np.zeros((self.n_splits, n_labels))
        for sample in order.tolist():
            own = slice(share.indptr[sample], share.indptr[sample + 1])
            label, value = share.indices[own], share.data[own]
            # The sum of the squares grows by twice this, and by what is the same in all folds.
            growth = placed[:, label] @ value
            fold[sample] = number = np.lexsort((n_placed, growth))[0]
            placed[number, label] += value
            n_placed[number] += 1
        return fold
