"""Linear inequalities of the labels of tokens."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class Inequalities(NamedTuple):
    """Linear inequalities A z + B u <= b of labels z, and of variables u that they add.

    A labelling satisfies them if there are any u in [0, 1] with which it does.

    Parameters
    ----------
    of_labels : CSR of shape (n_rows, n_tokens * n_labels)
        A: column ``t * n_labels + i`` is for z_t(i), which is 1 if token t has label i, else 0.
    of_added : CSR of shape (n_rows, n_added)
        B.
    upper : ndarray of shape (n_rows,)
        b.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.labels.inequalities import Inequalities
    >>> label_0_at_most_once = Inequalities.of(sp.csr_array([[1.0, 0.0, 1.0, 0.0]]), np.ones(1))
    >>> both = Inequalities.join([label_0_at_most_once, label_0_at_most_once])
    >>> both.of_labels.shape, both.of_added.shape
    ((2, 4), (2, 0))
    """

    of_labels: sp.csr_array
    of_added: sp.csr_array
    upper: np.ndarray

    @classmethod
    def of(cls, of_labels: sp.csr_array, upper: np.ndarray) -> "Inequalities":
        """Inequalities that add no variables."""
        return cls(of_labels, sp.csr_array((len(upper), 0)), upper)

    @classmethod
    def join(cls, several: Iterable["Inequalities"]) -> "Inequalities":
        """All inequalities of several over the same labels, each with its own added variables."""
        of_labels, of_added, upper = zip(*several, strict=True)
        return cls(
            sp.vstack(of_labels, format="csr"),
            sp.block_diag(of_added, format="csr"),
            np.concatenate(upper),
        )

    def penalties(self, multipliers: np.ndarray) -> tuple[np.ndarray, float]:
        """Penalties of labels in place of the inequalities.

        For multipliers m >= 0, and any labelling z that satisfies the inequalities,

            0 <= m (b - A z - B u) <= m b + sum_j max(0, -(m B)_j) - (m A) z.

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows,)

        Returns
        -------
        penalty : ndarray of shape (n_tokens * n_labels,)
            m A.
        constant : float
            The rest of the right side.
        """
        of_added = multipliers @ self.of_added
        constant = multipliers @ self.upper - np.minimum(of_added, 0.0).sum()
        return multipliers @ self.of_labels, float(constant)


def label_sums(
    row: np.ndarray, token: np.ndarray, weight: np.ndarray, shape: tuple[int, int]
) -> sp.csr_array:
    """Rows that sum the weights of the labels of tokens.

    Parameters
    ----------
    row, token : ndarray of shape (n,)
        Each token is in the sum of its row.
    weight : ndarray of shape (n_labels,)
    shape : tuple of int
        The numbers of rows and of tokens.

    Returns
    -------
    CSR of shape (n_rows, n_tokens * n_labels)

    Examples
    --------
    >>> import numpy as np
    >>> sums = label_sums(np.array([0, 0]), np.array([0, 2]), np.array([0.0, 1.0]), (1, 3))
    >>> sums.toarray()
    array([[0., 1., 0., 0., 0., 1.]])
    """
    n_labels, (n_rows, n_tokens) = len(weight), shape
    label = np.flatnonzero(weight)
    column = token[:, None] * n_labels + label
    entries = np.tile(weight[label].astype(float), len(token))
    rows = np.repeat(row, len(label))
    return sp.csr_array((entries, (rows, column.ravel())), shape=(n_rows, n_tokens * n_labels))
