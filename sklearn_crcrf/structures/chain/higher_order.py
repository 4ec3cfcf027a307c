"""Chains whose scores reach back several labels, over the likely labels of each token."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..base import Structure
from ..candidates import Candidates
from ..lattice.lattice import Lattice, LatticeScores
from ..lattice.pruning import MOST_OF_RUNS, chain_candidates, prune_higher_order, with_run_scores
from ..scores import AddTo, Pullback, ScoreGradient, Scores
from .chain import Chain

# The k best paths may have labels down to the probability RARE, and down to LEAST in sequences that
# then have fewer than MANY paths.
RARE, MANY, LEAST = 1e-8, 10_000, 1e-30


class HigherOrderChain(Structure):
    """Linear chains in which the score of a label depends on several labels before it.

    The scores of labels and of two labels in a row are :class:`Scores`. Labels that are unlikely by
    these scores alone are left out, and sums and maxima are exact over the :class:`Lattice` of what
    is left [1]_. If that leaves no path, the labels come from sums over all labels.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    run_scores : sequence of callables, such as RunTable
        The first one takes label ids i, j, k of shape (n,) and returns the scores that are added
        where these labels follow each other; the second one does so for four labels in a row, and
        so on.
    threshold : float, default=3e-5
        The probability that a label needs, by the scores of labels and pairs. Probabilities differ
        by about 100 times the threshold at most; at most 8 labels of a token are left. With the
        threshold 0 all labels are.

    Attributes
    ----------
    order : int
        The number of labels before a label on which its score depends.

    References
    ----------
    .. [1] Müller, Schmid, Schütze, "Efficient Higher-Order CRFs for Morphological Tagging",
       EMNLP 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import HigherOrderChain, Scores
    >>> def alternating(i, j, k):
    ...     return np.where((i == k) & (i != j), 1.0, 0.0)
    >>> chain = HigherOrderChain(np.array([0, 4]), [alternating])
    >>> chain.maximum(Scores.of(np.array([[0.1, 0.0]] * 4), np.zeros((2, 2))))
    (array([2.2]), array([0, 1, 0, 1], dtype=int32))
    """

    own_scores = True

    def __init__(
        self,
        offsets: np.ndarray,
        run_scores: Sequence[Callable[..., np.ndarray]],
        threshold: float = 3e-5,
    ):
        super().__init__(offsets)
        self.run_scores, self.threshold = run_scores, threshold
        self.order = len(run_scores) + 1
        self.chain = Chain(self.offsets)

    def take(self, units: slice | np.ndarray) -> "HigherOrderChain":
        return HigherOrderChain(self.chain.take(units).offsets, self.run_scores, self.threshold)

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        return self.chain.links()

    def lattice(self, scores: Scores) -> tuple[Lattice, LatticeScores]:
        """Return the lattice of the likely labels, and the scores of all its runs."""
        return self._lattice(scores, self._candidates(scores, self.threshold))

    def score(self, scores: Scores, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """As :meth:`Structure.score`, also for labels that are unlikely."""
        value, pullback = self.chain.score(scores, y)
        y = np.asarray(y, dtype=np.int64)
        sequence = np.repeat(np.arange(self.n_units), np.diff(self.offsets))
        for n, score in enumerate(self.run_scores, 3):
            last = self._ends_of_runs(n)
            own = score(*(y[last - back] for back in range(n - 1, -1, -1)))
            value = value + np.bincount(sequence[last], own, self.n_units)
        return value, pullback

    def log_partition(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        lattice, of_runs = self.lattice(scores)
        value, pull_runs = lattice.log_partition(of_runs)
        return value, partial(_pull_chain, lattice, pull_runs, scores)

    def covariance(self, scores: Scores, direction: ScoreGradient) -> tuple[np.ndarray, Pullback]:
        lattice, of_runs = self.lattice(scores)
        state, transition, begin, end = (np.asarray(part, dtype=float) for part in direction[:4])
        edges = scores.token_transitions._replace(score=direction.token_transitions)
        moves = lattice.scores_of(Scores(state, transition, begin, end, edges))
        mean, pull_runs = lattice.covariance(of_runs, moves)
        return mean, partial(_pull_chain, lattice, pull_runs, scores)

    def token_marginals(self, scores: Scores) -> tuple[np.ndarray, Pullback]:
        # Marginals are derivatives of the log-partition, so derivatives of marginals are
        # covariances.
        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            direction = ScoreGradient.zeros(scores, np.asarray(weight, dtype=float))
            return self.covariance(scores, direction)[1](np.ones(self.n_units), out)

        return self.marginals(scores.tokens(slice(None)))[1], pullback

    def maximum(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        return Lattice.maximum(*self.lattice(scores))

    def marginals(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        return Lattice.marginals(*self.lattice(scores))

    def entropy(self, scores: Scores) -> np.ndarray:
        return Lattice.entropy(*self.lattice(scores))

    def sample(
        self, scores: Scores, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        lattice, of_runs = self.lattice(scores)
        return lattice.sample(of_runs, n_samples, rng)

    def k_best(self, scores: Scores, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """As :meth:`Capabilities.k_best`, of :meth:`for_k_best`."""
        lattice, of_runs = self.for_k_best().lattice(scores)
        return lattice.k_best(of_runs, k)

    def for_k_best(self) -> "HigherOrderChain":
        """Return the same chains with more labels: as many for any k, so that k changes nothing."""
        return _WithManyPaths(self.offsets, self.run_scores, min(self.threshold, RARE))

    def span_log_probability(self, scores: Scores, *spans: Any, **neighbours: Any) -> np.ndarray:
        """As :meth:`Capabilities.span_log_probability`; -inf for labels that are left out."""
        lattice, of_runs = self.lattice(scores)
        return lattice.span_log_probability(of_runs, *spans, **neighbours)

    def likely_labels(
        self, scores: Scores, threshold: float, gold: np.ndarray | None = None
    ) -> tuple[np.ndarray, Candidates]:
        """As :meth:`Structure.likely_labels`; see ``structures/lattice/pruning.py``."""
        return prune_higher_order(self.offsets, scores, self.run_scores, threshold, gold)

    def unit_lattice(
        self, scores: Scores, unit: int, also: np.ndarray | None = None
    ) -> tuple[Lattice, LatticeScores]:
        """As :meth:`Capabilities.unit_lattice`, of the most probable labels."""
        part, own = self.take(slice(unit, unit + 1)), scores.tokens(self._tokens_of(unit))
        candidates = part._candidates(own, min(self.threshold, LEAST))
        if also is not None:
            chosen = np.zeros(own.state.shape, dtype=bool)
            chosen[candidates.token, candidates.label] = True
            chosen[np.arange(len(chosen)), also] = True
            candidates = Candidates.of(chosen, chosen)
        return part._lattice(own, candidates)

    def _tokens_of(self, unit: int) -> slice:
        return slice(*self.offsets[unit : unit + 2].tolist())

    def _candidates(self, scores: Scores, threshold: float) -> Candidates:
        if threshold <= 0.0:
            return Candidates.of(
                np.ones(scores.state.shape, dtype=bool), np.ones(scores.state.shape)
            )
        return chain_candidates(self.chain, scores, threshold, MOST_OF_RUNS)

    def _lattice(self, scores: Scores, candidates: Candidates) -> tuple[Lattice, LatticeScores]:
        return with_run_scores(self.offsets, scores, self.run_scores, candidates)

    def _ends_of_runs(self, n: int) -> np.ndarray:
        """Return the last tokens of all runs of n tokens."""
        position = np.arange(self.n_tokens) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        return np.flatnonzero(position >= n - 1)


class _WithManyPaths(HigherOrderChain):
    """Chains that have even more labels where they would leave few paths."""

    def lattice(self, scores: Scores) -> tuple[Lattice, LatticeScores]:
        candidates = self._candidates(scores, self.threshold)
        log_counts = np.append(0.0, np.cumsum(np.log(np.diff(candidates.indptr))))
        few = np.flatnonzero(np.diff(log_counts[self.offsets]) < np.log(MANY))
        if self.threshold > LEAST and len(few):
            _, tokens, own = self.chain.subset(few, scores)
            more = self.take(few)._candidates(own, LEAST)
            source = np.arange(self.n_tokens)
            source[tokens] = self.n_tokens + np.arange(len(tokens))
            candidates = Candidates.concatenate([candidates, more]).take(source)
        return self._lattice(scores, candidates)


def _pull_chain(
    lattice: Lattice, pull_runs: Pullback, scores: Scores, weight: np.ndarray, out: AddTo = None
) -> ScoreGradient:
    """Bring the derivatives by the scores of runs to the scores of the chain."""
    return lattice.add_to_chain(pull_runs(weight), scores, ScoreGradient.of(out, scores))
