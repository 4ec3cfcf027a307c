"""Which labels of each token are likely, in a cascade of ever more exact sums.

First only the labels are left that have one of the best state scores of their token. The posterior
probabilities, from exact sums over the paths that are left, decide about the rest (Weiss & Taskar
2010). For scores of more than two labels in a row, sums of that order follow.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._kernels.lattice.runs import score_lattice_runs
from ...utils.searching import places_in
from ..scores import Scores
from .lattice import Candidates, Lattice, LatticeScores

RunScore = Callable[..., np.ndarray]

# Number of labels of a token whose paths are summed over.
MOST = 16
# The labels that go on to sums of higher order have at least this share of the threshold, and there
# are at most this number of a token.
SHARE, MOST_OF_RUNS = 0.1, 8


class RunTable(NamedTuple):
    """The scores of three or more labels in a row, by the labels before the last one.

    Parameters
    ----------
    n_labels : int
    contexts : int64 ndarray of shape (n_contexts,)
        The labels before the last one, as numbers with one digit for each label, which rise.
    starts : int64 ndarray of shape (n_contexts + 1,)
        The entries of context ``c`` are from ``starts[c]`` to ``starts[c + 1] - 1``.
    last : int32 ndarray of shape (n_entries,)
        The last labels, which rise within a context.
    score : float64 ndarray of shape (n_entries,)
    unseen : float64 ndarray of shape (n_contexts,)
        The score of all other last labels. In all other contexts the score is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import RunTable
    >>> last = np.array([1], dtype=np.int32)
    >>> after_1_0 = np.array([2]), np.array([0, 1]), last, np.array([3.0]), np.array([-1.0])
    >>> table = RunTable(2, *after_1_0)  # of two labels
    >>> table(*np.array([[0, 1, 1], [0, 0, 0], [1, 0, 1]]))
    array([ 0., -1.,  3.])
    """

    n_labels: int
    contexts: np.ndarray
    starts: np.ndarray
    last: np.ndarray
    score: np.ndarray
    unseen: np.ndarray

    @classmethod
    def of_keys(
        cls,
        n_labels: int,
        keys: np.ndarray,
        score: np.ndarray,
        contexts: np.ndarray,
        unseen: np.ndarray,
    ) -> "RunTable":
        """Return the table of runs, which are numbers with one digit for each label, and rise."""
        context, last = np.divmod(keys, n_labels)
        starts = np.append(np.searchsorted(context, contexts), len(keys)).astype(np.int64)
        return cls(n_labels, contexts, starts, last.astype(np.int32), score, unseen)

    def __call__(self, *labels: np.ndarray) -> np.ndarray:
        """Return the scores of labels in a row, all of shape (n,)."""
        *before, last = (np.asarray(ids, dtype=np.int64) for ids in labels)
        context = before[0]
        for ids in before[1:]:
            context = context * self.n_labels + ids
        unseen = np.append(self.unseen, 0.0)[places_in(self.contexts, context)]
        of_entry = np.repeat(self.contexts, np.diff(self.starts)) * self.n_labels + self.last
        at = places_in(of_entry, context * self.n_labels + last)
        return np.where(at < 0, unseen, np.append(self.score, 0.0)[at])

    def of_lattice(self, lattice: Any, n: int, runs: np.ndarray) -> None:
        """Write the scores of all runs of n + 1 labels of a lattice into the array of all runs."""
        score_lattice_runs(
            lattice.runs_of_candidates, lattice.candidates.label, self.n_labels, n, self[1:], runs
        )


def prune_chains(
    offsets: np.ndarray,
    scores: Scores,
    threshold: float,
    gold: np.ndarray | None = None,
    most: int = MOST,
) -> tuple[np.ndarray, Candidates]:
    """Return the labels of chains of a probability of at least a threshold.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,)
    scores : Scores
    threshold : float in (0, 1)
    gold : ndarray of shape (n_tokens,), optional
        Label ids that are always candidates; -1 for none.
    most : int
        Number of labels of a token whose paths are summed over.

    Returns
    -------
    log_z : float64 ndarray of shape (n_sequences,)
        Log-partitions over the paths that the first step leaves.
    candidates : Candidates
        At least one label for each token.
    """
    best = _best_states(scores.state, -np.log(threshold), gold, most)
    lattice = Lattice(offsets, Candidates.of(best, best))
    return _prune(lattice, lattice.scores_of(scores), threshold, gold)


def prune_higher_order(
    offsets: np.ndarray,
    scores: Scores,
    run_scores: Sequence[RunScore],
    threshold: float,
    gold: np.ndarray | None = None,
) -> tuple[np.ndarray, Candidates]:
    """As :func:`prune_chains`, for chains with scores of three or more labels in a row.

    Parameters
    ----------
    offsets, scores, threshold, gold : as in :func:`prune_chains`
    run_scores : sequence of callables
        As in :class:`HigherOrderChain`.
    """
    _, candidates = prune_chains(offsets, scores, SHARE * threshold, gold)
    candidates = candidates.most_probable(MOST_OF_RUNS, gold)
    lattice, of_runs = with_run_scores(offsets, scores, run_scores, candidates)
    return _prune(lattice, of_runs, threshold, gold)


def chain_candidates(chain: Any, scores: Scores, threshold: float, most: int) -> Candidates:
    """Return the most probable labels of chains; some path is possible if any path is.

    Parameters
    ----------
    chain : Chain
    scores : Scores
    threshold : float
        The least probability, by sums over the best labels.
    most : int
        The largest number of labels of a token: those with the best state scores.

    Returns
    -------
    Candidates
    """
    log_z, likely = prune_chains(chain.offsets, scores, threshold, most=most)
    lost = np.flatnonzero(np.isneginf(log_z))
    if len(lost) == 0:
        return likely
    part, tokens, own = chain.subset(lost, scores)
    path, marginals = part.maximum(own)[1], part.marginals(own)[1]
    exact = Candidates.above(marginals, threshold, path).most_probable(most, path)
    source = np.arange(len(scores.state))
    source[tokens] = len(source) + np.arange(len(tokens))
    return Candidates.concatenate([likely, exact]).take(source)


def with_run_scores(
    offsets: np.ndarray, scores: Scores, run_scores: Sequence[RunScore], candidates: Candidates
) -> tuple[Lattice, LatticeScores]:
    """Return the lattice of candidates in which runs of three or more labels have scores, too.

    Parameters
    ----------
    offsets, scores, run_scores : as in :func:`prune_higher_order`
    candidates : Candidates

    Returns
    -------
    lattice : Lattice of order ``len(run_scores) + 1``
    scores : LatticeScores
    """
    lattice = Lattice(offsets, candidates, len(run_scores) + 1)
    of_runs = lattice.scores_of(scores)
    for n, score in enumerate(run_scores, 2):
        if isinstance(score, RunTable):
            score.of_lattice(lattice, n, of_runs.runs)
            continue
        of_runs.runs[lattice.start[n, 0] : lattice.start[n, -1]] = score(*lattice.labels_of_runs(n))
    return lattice, of_runs


def _prune(
    lattice: Lattice, scores: LatticeScores, threshold: float, gold: np.ndarray | None
) -> tuple[np.ndarray, Candidates]:
    log_z, pullback = lattice.log_partition(scores)
    probability: Any = pullback(np.ones(lattice.n_units))
    return log_z, lattice.candidates.pruned(probability.state, threshold, gold)


def _best_states(
    state: np.ndarray, margin: float, gold: np.ndarray | None, most: int
) -> np.ndarray:
    """Return which labels have one of the best scores of their token, (n_tokens, n_labels)."""
    if len(state) == 0:
        return np.zeros(state.shape, dtype=bool)
    best = state >= (state.max(axis=1) - state.dtype.type(margin))[:, None]
    number = best.sum(axis=1)
    best[number == 0, 0] = True  # a score is NaN, and so are sums over the paths
    many = np.flatnonzero(number > most)
    if len(many):
        least = -np.partition(-state[many], most - 1, axis=1)[:, most - 1]
        best[many] &= state[many] >= least[:, None]
    if gold is not None:
        known = np.flatnonzero(gold >= 0)
        best[known, gold[known]] = True
    return best
