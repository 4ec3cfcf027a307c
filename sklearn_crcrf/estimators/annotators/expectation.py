"""Expectation and maximisation: counts of what annotators report and of true labels in a row."""

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from ...base.batches import Batch, batches_of
from ...labels.segments.roles import Roles
from ...structures import Chain, Scores, Structure
from .reports import Reporting, indicators

# The factor of a true label that nobody reported at a token that somebody labelled. Without it, a
# label that is seldom voted for comes to mean tokens of some other kind on which all agree.
UNREPORTED = 1e-3


class Rates(NamedTuple):
    """Counts, or probabilities, of all events.

    Attributes
    ----------
    reports : ndarray of shape (n_annotators, n_cells)
        Of what each annotator reports, see :class:`Reporting`.
    following : ndarray of shape (n_labels, n_labels + 1), row = previous label
        Of labels after a label; the last column is the end of the sequence.
    begin : ndarray of shape (n_labels,)
        Of first labels.
    """

    reports: np.ndarray
    following: np.ndarray
    begin: np.ndarray

    def normalised(self, reporting: Reporting) -> Self:
        """Divide counts by the sums of their distributions."""
        following = self.following / self.following.sum(axis=1, keepdims=True)
        reports = reporting.normalised(self.reports)
        return self._replace(
            reports=reports, following=following, begin=self.begin / self.begin.sum()
        )

    def plus(self, strength: float, prior: Self) -> Self:
        """Add this number of events of each distribution, distributed as the prior."""
        sums = (mine + strength * added for mine, added in zip(self, prior, strict=True))
        return type(self)(*sums)

    def log_density(self, strength: float, prior: Self) -> float:
        """Return the log-density of probabilities by the prior that adds events, up to a constant.

        It is that of Dirichlet distributions whose parameters are one more than what is added.
        """
        logs = (
            (added * np.log(np.where(added > 0, mine, 1.0))).sum()
            for mine, added in zip(self, prior, strict=True)
        )
        return strength * float(sum(logs))


class VotedTokens(NamedTuple):
    """The tokens of all sequences, and what was said of them.

    Attributes
    ----------
    chain : Structure
    votes : CSR of shape (n_tokens, n_labels)
        How many annotators gave each label.
    events : CSR of shape (n_tokens, n_annotators * n_events)
        What each annotator reported, in which state; see :class:`Reporting`.
    reporting : Reporting
    """

    chain: Structure
    votes: sp.csr_array
    events: sp.csr_array
    reporting: Reporting

    @classmethod
    def of(cls, ids: np.ndarray, offsets: np.ndarray, reporting: Reporting) -> Self:
        """Return the tokens with the labels ``ids`` of shape (n_annotators, n_tokens)."""
        votes = indicators(ids, len(reporting.report))
        return cls(Chain(offsets), votes, reporting.events(ids, offsets), reporting)

    def shares(self) -> np.ndarray:
        """Return the share of the votes that each label has, of shape (n_tokens, n_labels)."""
        votes = self.votes.toarray()
        return votes / np.maximum(votes.sum(axis=1, keepdims=True), 1.0)

    def counts_of_shares(self, roles: Roles | None) -> tuple[Rates, Rates]:
        """Return counts as if the shares of the votes were the true labels, and a prior.

        The prior takes all labels that may begin, or follow, for equally likely there, and all
        annotators for alike.

        Parameters
        ----------
        roles : Roles or None
            Where labels spell segments, the labels that are not possible in a row do not count.
        """
        share, n = self.shares(), self.votes.shape[1]
        can_follow, can_begin = np.ones((n, n + 1)), np.ones(n)
        if roles is not None:
            can_follow = np.column_stack([roles.allowed(), roles.ends()]).astype(float)
            can_begin = roles.begins().astype(float)
        (previous, current), (first, last) = self.chain.links(), self.chain.ends
        pairs = np.column_stack([share[previous].T @ share[current], share[last].sum(axis=0)])
        reports = self.reporting.gather(self.events.T @ share)
        counts = Rates(reports, can_follow * pairs, can_begin * share[first].sum(axis=0))
        alike = Rates(reports.sum(axis=0) + 1.0, can_follow, can_begin)
        return counts, alike.normalised(self.reporting)

    def scored(self, rates: Rates) -> Iterator[tuple[Batch, Scores]]:
        """Yield the scores of true labels, batch by batch.

        The sum of the scores of a path z is log p(z, votes), but for :data:`UNREPORTED`.
        """
        with np.errstate(divide="ignore"):
            following, begin = np.log(rates.following), np.log(rates.begin)
        given, n = self.reporting.scores(rates.reports), self.votes.shape[1]
        transition, end = following[:, :n].copy(), following[:, n].copy()
        for batch in batches_of(self.chain, n):
            here = slice(batch.start, batch.stop)
            votes = self.votes[here].toarray()
            is_unreported = (votes == 0) & votes.any(axis=1, keepdims=True)
            state = self.events[here] @ given + np.log(UNREPORTED) * is_unreported
            yield batch, Scores.of(state, transition, begin, end)

    def expected(self, rates: Rates) -> tuple[float, Rates]:
        """Return the log-likelihood, and the expected counts of all events."""
        n, log_likelihood = self.votes.shape[1], 0.0
        events, following = np.zeros((self.events.shape[1], n)), np.zeros((n, n + 1))
        begin = np.zeros(n)
        for batch, scores in self.scored(rates):
            ones = np.ones(batch.structure.n_units)
            log_z, sums = batch.structure.log_partition_and_gradient(scores, ones)
            log_likelihood += float(log_z.sum())
            events += self.events[batch.start : batch.stop].T @ sums.state
            following += np.column_stack([sums.transition, sums.end])
            begin += sums.begin
        return log_likelihood, Rates(self.reporting.gather(events), following, begin)

    def marginals(self, rates: Rates) -> np.ndarray:
        """Return the probabilities of true labels, of shape (n_tokens, n_labels)."""
        return np.concatenate(
            [b.structure.marginals(scores)[1] for b, scores in self.scored(rates)]
        )

    def confusion(self, ids: np.ndarray, rates: Rates, strength: float) -> np.ndarray:
        """Return the probability of each reported label, given the true one.

        Parameters
        ----------
        ids : ndarray of shape (n_annotators, n_tokens)
        rates : Rates
        strength : float
            Number of reports added to those of each annotator and true label, distributed as the
            reports of all annotators.

        Returns
        -------
        ndarray of shape (n_annotators, n_labels, n_labels), row = true label
        """
        n, by = self.votes.shape[1], np.arange(len(ids))[:, None]
        said = indicators(np.where(ids < 0, -1, ids + n * by), n * len(ids))
        counts = (said.T @ self.marginals(rates)).reshape(len(ids), n, n).swapaxes(1, 2)
        together = counts.sum(axis=0) + 1.0
        counts += strength * together / together.sum(axis=1, keepdims=True)
        return counts / counts.sum(axis=2, keepdims=True)
