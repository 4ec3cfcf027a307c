"""Reports: what annotators say of a token, as events whose probability depends on the truth."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...labels.segments.roles import roles_of
from ...labels.segments.schemes import SCHEMES, read_labels


class Reporting(NamedTuple):
    """How labels are reported, given the true label and what the same annotator said before.

    Where labels spell segments, an annotator who has begun a segment goes on with it or not, right
    or wrong. So the *report* of a token is to continue the open segment, to begin a segment of
    some type, or a label outside segments, and its probability depends on the true label and on
    the *state* of the annotator: the type of the segment of the token before, or none [1]_. A wrong
    type is then an event of the first token of a segment, and not another one at each further
    token. Letters for last tokens tell nothing new: they follow from what comes next. All types
    share the probabilities of an annotator who is not at the first token of a segment together
    with the truth: to stop, to go on, or to begin with the right or with another type.

    Without segments there is one state, and reports are labels.

    Attributes
    ----------
    report : ndarray of shape (n_labels,), int
        The report of each label, where it does not continue a segment.
    opens, joins : ndarray of shape (n_labels,), int
        The state after each label, and the state in which it continues a segment, -1 for none.
    cell : ndarray of shape (n_states, n_labels, n_reports), int
        The probability of a report, given the state and the true label: its place among all
        probabilities of an annotator, -1 for impossible reports.
    log_share : ndarray of the same shape
        Logarithm of the share of the report in this probability, where several reports have it
        together.
    row : ndarray of shape (n_cells,), int
        Probabilities with the same row sum to 1.

    References
    ----------
    .. [1] Simpson, Gurevych, "A Bayesian Approach for Sequence Tagging with Crowds", EMNLP 2019,
       section 3, where the annotator's own previous label matters, too.
    """

    report: np.ndarray
    opens: np.ndarray
    joins: np.ndarray
    cell: np.ndarray
    log_share: np.ndarray
    row: np.ndarray

    @classmethod
    def of(cls, classes: np.ndarray, scheme: str | None) -> "Reporting":
        """Return how labels are reported, in a scheme of segments or in none."""
        n = len(classes)
        if scheme is None:
            zeros, none = np.zeros(n, dtype=int), np.full(n, -1)
            meanings = [[[((z,), report) for report in range(n)] for z in range(n)]]
            return cls(np.arange(n), zeros, none, *_cells(meanings))
        kind = roles_of(classes, scheme).kind.astype(int)
        split = SCHEMES[scheme].split
        known = [c if split(c) else "O" for c in classes.tolist()]
        begins = np.isin(read_labels(known, scheme).role, ["B", "S"])
        outside, n_types = np.flatnonzero(kind < 0), int(kind.max(initial=-1)) + 1
        report = kind.copy()
        report[outside] = n_types + np.arange(len(outside))
        reports = [*range(n_types), *(f"outside {o}" for o in outside), "continue"]
        meanings = [
            [
                [_meaning(open_type, z if k < 0 else None, k, begin, said) for said in reports]
                for z, (k, begin) in enumerate(zip(kind.tolist(), begins.tolist(), strict=True))
            ]
            for open_type in range(-1, n_types)
        ]
        joins = np.where((kind >= 0) & ~begins, kind + 1, -1)
        return cls(report, kind + 1, joins, *_cells(meanings))

    @property
    def n_reports(self) -> int:
        """Number of reports; where labels spell segments, the last one is to continue."""
        return self.cell.shape[2]

    @property
    def n_events(self) -> int:
        """Number of pairs of a state and a report."""
        return len(self.cell) * self.n_reports

    def events(self, ids: np.ndarray, offsets: np.ndarray) -> sp.csr_array:
        """Return which events happened at each token.

        Parameters
        ----------
        ids : ndarray of shape (n_annotators, n_tokens)
            Labels, -1 where an annotator abstained.
        offsets : ndarray of shape (n_sequences + 1,)

        Returns
        -------
        CSR of shape (n_tokens, n_annotators * n_events), of ones
        """
        columns = (self.opens, 0), (self.joins, -1), (self.report, -1)
        opens, joins, report = (np.append(of, of_none)[ids] for of, of_none in columns)
        state = np.zeros_like(opens)
        state[:, 1:] = opens[:, :-1]
        starts = offsets[:-1][np.diff(offsets) > 0]
        state[:, starts] = 0
        # What follows a token without a vote is taken at its word.
        is_first = np.ones_like(ids, dtype=bool)
        is_first[:, 1:] = ids[:, :-1] < 0
        is_first[:, starts] = False
        state = np.where(is_first & (joins > 0), joins, state)
        report = np.where((joins > 0) & (joins == state), self.n_reports - 1, report)
        event = self.n_events * np.arange(len(ids))[:, None] + state * self.n_reports + report
        return indicators(np.where(ids < 0, -1, event), len(ids) * self.n_events)

    def scores(self, tables: np.ndarray) -> np.ndarray:
        """Return the log-probability of each event, given each true label.

        Parameters
        ----------
        tables : ndarray of shape (n_annotators, n_cells)

        Returns
        -------
        ndarray of shape (n_annotators * n_events, n_labels)
        """
        with np.errstate(divide="ignore"):
            padded = np.log(np.pad(tables, ((0, 0), (0, 1))))
        by_state = padded[:, self.cell] + self.log_share
        return by_state.swapaxes(2, 3).reshape(-1, self.cell.shape[1])

    def gather(self, counts: np.ndarray) -> np.ndarray:
        """Sum counts of events over the events that share a probability.

        Parameters
        ----------
        counts : ndarray of shape (n_annotators * n_events, n_labels)
            How often each event happened with each true label.

        Returns
        -------
        ndarray of shape (n_annotators, n_cells)
        """
        n_states, n_labels, n_reports = self.cell.shape
        by_state = counts.reshape(-1, n_states, n_reports, n_labels).swapaxes(2, 3)
        possible = self.cell >= 0
        cells, n_cells = self.cell[possible], len(self.row)
        return np.array([np.bincount(cells, own[possible], n_cells) for own in by_state])

    def normalised(self, counts: np.ndarray) -> np.ndarray:
        """Divide counts, of shape (..., n_cells), by the sums of their rows."""
        rows = np.eye(self.row.max() + 1)[self.row]
        return counts / (counts @ rows)[..., self.row]


def _meaning(open_type: int, outside: int | None, kind: int, begins: bool, said: Any) -> Any:
    """Return what a report means, given the state and the true label: a row, and a place in it.

    Parameters
    ----------
    open_type : int
        The type of the open segment, -1 for none.
    outside : int or None
        The true label, if it is outside segments.
    kind : int
        The type of the true label.
    begins : bool
        Whether the true label is at the first token of a segment.
    said : int, str
        The type of the segment that is begun, a label outside, or to continue.

    Returns
    -------
    (row, place) of hashable objects, None if the report is impossible
    """
    if said == "continue" and open_type < 0:
        return None
    if open_type < 0 and (outside is not None or begins):
        return (outside, kind), said
    state = "none" if open_type < 0 else "same" if open_type == kind else "other"
    place = said if isinstance(said, str) else "same" if said == kind else "other"
    return (outside, begins, state), place


def _cells(meanings: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the different meanings; return ``cell``, ``log_share`` and ``row``."""
    number: dict[Any, int] = {}

    def place(meaning: Any) -> int:
        return -1 if meaning is None else number.setdefault(meaning, len(number))

    cell = np.array([[[*map(place, given)] for given in state] for state in meanings])
    rows: dict[Any, int] = {}
    row = np.array([rows.setdefault(key, len(rows)) for key, _ in number])
    n_states, n_labels, _ = cell.shape
    given = np.arange(n_states * n_labels).reshape(n_states, n_labels, 1)
    _, which, sharing = np.unique(
        given * (len(number) + 1) + cell, return_inverse=True, return_counts=True
    )
    return cell, -np.log(sharing[which].reshape(cell.shape)), row


def indicators(codes: np.ndarray, n_codes: int) -> sp.csr_array:
    """Return how often each code is among the codes of each token.

    Parameters
    ----------
    codes : ndarray of shape (n_annotators, n_tokens)
        -1 for none.
    n_codes : int

    Returns
    -------
    CSR of shape (n_tokens, n_codes)
    """
    spoke = codes.T >= 0
    indptr = np.append(0, np.cumsum(spoke.sum(axis=1)))
    counted = np.ones(indptr[-1]), codes.T[spoke], indptr
    return sp.csr_array(counted, shape=(codes.shape[1], n_codes))
