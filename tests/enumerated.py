"""A structure of any links between a few tokens, by the enumeration of all labellings."""

from itertools import pairwise, product

import numpy as np
from scipy.special import logsumexp

from sklearn_crcrf.structures import ScoreGradient, Structure


class Enumerated(Structure):
    """Units of up to eight tokens, and links between any two tokens of a unit.

    Parameters
    ----------
    offsets : ndarray of shape (n_units + 1,)
    previous, current : ndarray of shape (n_links,)
        The tokens that each link leads from and into.
    by_link : bool
        Whether each link has a row of token transitions, as in graphs, or each token.
    """

    def __init__(self, offsets, previous, current, by_link=False):
        super().__init__(offsets)
        assert np.diff(self.offsets).max(initial=0) <= 8
        self._links = np.asarray(previous, dtype=np.int64), np.asarray(current, dtype=np.int64)
        self._by_link = by_link

    def take(self, units):
        units = np.arange(self.n_units)[units]
        lengths = np.diff(self.offsets)[units]
        offsets = np.append(0, np.cumsum(lengths))
        links = []
        for u, origin in zip(units, offsets, strict=False):
            start, stop = self.offsets[u : u + 2]
            inside = (self._links[0] >= start) & (self._links[0] < stop)
            links.append(np.stack([end[inside] - start + origin for end in self._links]))
        ends = np.concatenate([np.zeros((2, 0), dtype=int), *links], axis=1)
        return Enumerated(offsets, *ends, by_link=self._by_link)

    def links(self):
        return self._links

    def rows_of_links(self):
        return np.arange(len(self._links[0])) if self._by_link else self._links[1]

    def score(self, scores, y):
        y = np.asarray(y, dtype=np.int64)
        own = [y[None, a:b] for a, b in pairwise(self.offsets)]
        value = np.array([self._scores(scores, u, own[u])[0] for u in range(self.n_units)])
        return value, self._pullback(scores, own, [np.ones(1)] * self.n_units)

    def log_partition(self, scores):
        every = self._every(scores)
        value, each = self._distributions(scores, every)
        return value, self._pullback(scores, every, each)

    def maximum(self, scores):
        return self._best(scores, [slice(None)] * self.n_units)

    def best_excluding(self, scores, y):
        every = self._every(scores)
        others = [~self._is(paths, y, u) for u, paths in enumerate(every)]
        value, best = self._best(scores, others)
        possible = np.repeat(value > -np.inf, np.diff(self.offsets))
        return value, np.where(possible, best, y).astype(np.int32)

    def log_partition_excluding(self, scores, y):
        every = [p[~self._is(p, y, u)] for u, p in enumerate(self._every(scores))]
        value, each = self._distributions(scores, every)
        return value, self._pullback(scores, every, each)

    def covariance(self, scores, direction):
        every = self._every(scores)
        value, each = self._distributions(scores, every)
        moved = scores._replace(
            state=direction.state,
            transition=direction.transition,
            begin=direction.begin,
            end=direction.end,
            token_transitions=scores.token_transitions._replace(score=direction.token_transitions),
        )
        along = [self._scores(moved, u, paths) for u, paths in enumerate(every)]
        return self._covariances(scores, every, value, each, along)

    def token_marginals(self, scores):
        every = self._every(scores)
        value, each = self._distributions(scores, every)
        marginals = np.zeros(scores.state.shape)
        for u, (paths, p) in enumerate(zip(every, each, strict=True)):
            np.add.at(marginals, (self._tokens(u), paths), p[:, None])

        def pullback(weight, out=None):
            along = [weight[self._tokens(u), p].sum(axis=1) for u, p in enumerate(every)]
            _, pull = self._covariances(scores, every, value, each, along)
            return pull(np.ones(self.n_units), out)

        return marginals, pullback

    def entropy(self, scores):
        every = self._every(scores)
        value, each = self._distributions(scores, every)
        terms = [np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0) for p in each]
        return np.where(value > -np.inf, -np.array([t.sum() for t in terms]), np.nan)

    def k_best(self, scores, k):
        found = []
        for u, paths in enumerate(self._every(scores)):
            value = self._scores(scores, u, paths)
            order = np.argsort(-value, kind="stable")[:k]
            order = order[value[order] > -np.inf]
            found.append((value[order], paths[order].astype(np.int32)))
        return found

    def sample(self, scores, n_samples, rng):
        every = self._every(scores)
        _, each = self._distributions(scores, every)
        drawn = [p[rng.choice(len(p), n_samples, p=q)] for p, q in zip(every, each, strict=True)]
        return np.concatenate(drawn, axis=1).astype(np.int32)

    def conditional_scores(self, scores, y, neighbours=(-1, 1)):
        given = np.array(scores.state, dtype=float)
        given[self.first_tokens()] += scores.begin
        given[self.last_tokens()] += scores.end
        terms = list(self._conditional_terms(len(scores.begin), y, neighbours))
        for token, labels, previous, current, row in terms:
            np.add.at(given, (token, labels), scores.of_transitions(row, previous, current))

        def pullback(weight, out=None):
            gradient = ScoreGradient.of(out, scores)
            gradient.state[:] += weight
            gradient.begin[:] += weight[self.first_tokens()].sum(axis=0)
            gradient.end[:] += weight[self.last_tokens()].sum(axis=0)
            for token, labels, previous, current, row in terms:
                by_label = np.asarray(weight[token, labels], dtype=float)
                gradient.add_transitions(scores, row, previous, current, by_label)
            return gradient

        return given.astype(scores.state.dtype), pullback

    def _conditional_terms(self, n_labels, y, neighbours):
        """Token and label of each conditional score, and the transitions that are in it."""
        previous, current = (np.repeat(end, n_labels) for end in self._links)
        labels, y = np.tile(np.arange(n_labels), len(self._links[0])), np.asarray(y, dtype=int)
        rows = np.repeat(self.rows_of_links(), n_labels)
        if -1 in neighbours:
            yield current, labels, y[previous], labels, rows
        if 1 in neighbours:
            yield previous, labels, labels, y[current], rows

    def _tokens(self, u):
        return np.arange(*self.offsets[u : u + 2])

    def _is(self, paths, y, u):
        return (paths == np.asarray(y)[self._tokens(u)]).all(axis=1)

    def _every(self, scores):
        """All labellings of each unit, (n_labellings, n_tokens of the unit)."""
        labels = range(len(scores.begin))
        return [
            np.array(list(product(labels, repeat=b - a)), dtype=np.int64).reshape(
                len(labels) ** (b - a), b - a
            )
            for a, b in pairwise(self.offsets)
        ]

    def _used(self, u):
        """The tokens that begin, those that end, and the ends and rows of links, of one unit."""
        tokens = self._tokens(u)
        inside = np.isin(self._links[1], tokens)
        links = [end[inside] for end in (*self._links, self.rows_of_links())]
        return np.setdiff1d(tokens, links[1]), np.setdiff1d(tokens, links[0]), *links

    def _scores(self, scores, u, paths):
        """The scores of some labellings of a unit, of shape (n_labellings,)."""
        first, last, *links = self._used(u)
        tokens, a = self._tokens(u), self.offsets[u]
        value = np.asarray(scores.state, dtype=float)[tokens, paths].sum(axis=1)
        value = value + scores.begin[paths[:, first - a]].sum(axis=1)
        value += scores.end[paths[:, last - a]].sum(axis=1)
        for p, c, row in zip(*links, strict=True):
            into = np.full(len(paths), row)
            value += scores.of_transitions(into, paths[:, p - a], paths[:, c - a])
        return value

    def _add(self, scores, u, paths, weight, gradient):
        """Add the scores that labellings use, times a weight of each labelling."""
        first, last, *links = self._used(u)
        tokens, a = self._tokens(u), self.offsets[u]
        np.add.at(gradient.state, (tokens, paths), weight[:, None])
        np.add.at(gradient.begin, paths[:, first - a], weight[:, None])
        np.add.at(gradient.end, paths[:, last - a], weight[:, None])
        for p, c, row in zip(*links, strict=True):
            into = np.full(len(paths), row)
            gradient.add_transitions(scores, into, paths[:, p - a], paths[:, c - a], weight)

    def _distributions(self, scores, every):
        """Log-sums over labellings, and their probabilities; zero where none is possible."""
        value, each = np.empty(self.n_units), []
        for u, paths in enumerate(every):
            found = self._scores(scores, u, paths)
            value[u] = logsumexp(found) if len(found) else -np.inf
            shift = value[u] if np.isfinite(value[u]) else 0.0
            each.append(np.exp(found - shift) if value[u] > -np.inf else np.zeros(len(found)))
        return value, each

    def _best(self, scores, chosen):
        """The best of the labellings chosen."""
        value, best = np.full(self.n_units, -np.inf), np.zeros(self.n_tokens, dtype=np.int32)
        for u, (paths, which) in enumerate(zip(self._every(scores), chosen, strict=True)):
            found = self._scores(scores, u, paths[which])
            if len(found):
                value[u] = found.max()
                best[self._tokens(u)] = paths[which][found.argmax()]
        return value, best

    def _pullback(self, scores, every, each):
        def pullback(weight, out=None):
            gradient = ScoreGradient.of(out, scores)
            for u, (paths, p) in enumerate(zip(every, each, strict=True)):
                self._add(scores, u, paths, weight[u] * p, gradient)
            return gradient

        return pullback

    def _covariances(self, scores, every, value, each, along):
        """Means of numbers of labellings, and the pullback of their covariances."""
        mean = np.array([p @ x for p, x in zip(each, along, strict=True)])
        away = [p * (x - m) for p, x, m in zip(each, along, mean, strict=True)]
        return np.where(value > -np.inf, mean, np.nan), self._pullback(scores, every, away)
