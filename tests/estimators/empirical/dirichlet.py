"""The smoothed estimates in plain dicts: the reference for the scores of the smoothed model."""

import functools
import itertools
from collections import Counter, defaultdict

import numpy as np

from sklearn_crcrf.estimators.empirical.experts import context_experts, edge_experts
from sklearn_crcrf.estimators.empirical.product_spelling import EXPERTS, RARE
from sklearn_crcrf.estimators.empirical.smoothing import CONTEXT_STRENGTH, WORD_STRENGTH
from sklearn_crcrf.feature_extraction.spelling import spelling_table

SPELLING_EXPONENTS = {"label": 1.0, **{expert.feature: expert.exponent for expert in EXPERTS}}
SHORTER = {f"suffix{k}": f"suffix{k - 1}" for k in range(2, 6)}


@functools.cache
def spelled(word, feature):
    return spelling_table([word], [feature]).column(feature)[0]


class Reference:
    """Dirichlet-smoothed estimates in plain dicts, and the scores that they make."""

    def __init__(self, crf, X, y):
        self.exponents, self.mu_oov, self.k = crf.exponents_, crf.mu_oov, crf.sigma**-2
        self.labels = crf.classes_.tolist()
        self.X, self.y = X, y
        self.names = crf.encoder_.names
        self.word = self.names[0]
        self.features = crf.encoder_.lexicon.features
        self.experts = {e.template: e for e in context_experts(self.names, self.features)}
        self.tables = {}
        self.words = self.tally(lambda x, t: (self.symbol(x, t, self.word),))
        totals = sum(self.words.values(), Counter())
        n = sum(totals.values()) + 0.1 * len(self.labels)
        self.prior = {label: (totals[label] + 0.1) / n for label in self.labels}
        self._count_rare_words()

    def symbol(self, x, t, column):
        """The symbol at a position, None outside the sequence."""
        if not 0 <= t < len(x):
            return None
        token = x[t] if isinstance(x[t], dict) else {self.word: x[t]}
        column, _, feature = column.partition(":")
        return spelled(token[column], feature) if feature else token[column]

    def symbols(self, x, t, template):
        return tuple(self.symbol(x, t + offset, column) for column, offset in template.symbols)

    def tally(self, key):
        table = defaultdict(Counter)
        for x, labels in zip(self.X, self.y, strict=True):
            for t, label in enumerate(labels):
                table[key(x, t)][label] += 1
        return table

    def table(self, template):
        if template not in self.tables:
            self.tables[template] = self.tally(lambda x, t: self.symbols(x, t, template))
        return self.tables[template]

    def dirichlet(self, counts, prior, strength):
        k, n = strength * self.k, sum(counts.values())
        return {i: (counts.get(i, 0) + k * prior[i]) / (n + k) for i in self.labels}

    def _count_rare_words(self):
        rare = {w: c for (w,), c in self.words.items() if sum(c.values()) <= RARE}
        base = sum(rare.values(), Counter())
        total = sum(base.values()) + 1.0
        self.base = {i: (base[i] + self.prior[i]) / total for i in self.labels}
        self.rare = {f: defaultdict(Counter) for f in self.features}
        for word, counts in rare.items():
            for feature in self.features:
                self.rare[feature][spelled(word, feature)].update(counts)

    def of_spelling(self, word, feature):
        """Estimate by one spelling feature, and its prior."""
        shorter = SHORTER.get(feature)
        prior = self.base if shorter is None else self.of_spelling(word, shorter)[0]
        counts = self.rare[feature].get(spelled(word, feature), {})
        return self.dirichlet(counts, prior, 1.0), prior

    def log_rates_of_spelling(self, word):
        yield "label", {i: np.log(self.base[i]) for i in self.labels}
        for feature in self.features:
            estimate, prior = self.of_spelling(word, feature)
            yield feature, {i: np.log(estimate[i] / prior[i]) for i in self.labels}

    def of_unseen(self, word):
        """P(y | spelling), with the default exponents."""
        score = dict.fromkeys(self.labels, 0.0)
        for feature, rates in self.log_rates_of_spelling(word):
            for i in self.labels:
                score[i] += SPELLING_EXPONENTS[feature] * rates[i]
        total = sum(map(np.exp, score.values()))
        return {i: np.exp(score[i]) / total for i in self.labels}

    def of_word(self, word):
        return self.dirichlet(self.words[word,], self.of_unseen(word), WORD_STRENGTH)

    def estimate(self, template, symbols):
        """Estimate of a template, and its prior."""
        if template.symbols == ((self.word, 0),):
            return self.of_word(symbols[0]), None
        expert = self.experts.get(template)
        broader = None if expert is None else expert.broader
        prior = self.prior
        if broader is not None:
            shared = [symbols[template.symbols.index(symbol)] for symbol in broader.symbols]
            prior, _ = self.estimate(broader, tuple(shared))
        counts = self.table(template).get(tuple(symbols), {})
        return self.dirichlet(counts, prior, CONTEXT_STRENGTH), prior

    def state(self, x, t):
        """State scores of a token, shape (n_labels,)."""
        word = self.symbol(x, t, self.word)
        n_seen = sum(self.words.get((word,), {}).values())
        kind = "/unseen" if n_seen == 0 else "/seldom" if n_seen <= 10 else ""
        score = np.zeros(len(self.labels))
        for feature, rates in self.log_rates_of_spelling(word):
            if n_seen:
                exponent = self.exponents["spelling" + kind] * SPELLING_EXPONENTS[feature]
            else:
                exponent = self.mu_oov * self.exponents[f"{feature}/unseen"]
            score += exponent * np.array([rates[i] for i in self.labels])
        if n_seen:
            known, unseen = self.of_word(word), self.of_unseen(word)
            rates = np.log([known[i] / unseen[i] for i in self.labels])
            score += self.exponents["word" + kind] * rates
        for template, expert in self.experts.items():
            symbols = self.symbols(x, t, template)
            exponent = self.exponents.get(expert.name + kind, 0.0)
            if exponent and symbols in self.table(template):
                estimate, prior = self.estimate(template, symbols)
                score += exponent * np.log([estimate[i] / prior[i] for i in self.labels])
        return score

    def edge(self, x, t, rate):
        """What conditioning on symbols adds to log CR of the labels before and at a token."""
        score = np.zeros((len(self.labels), len(self.labels)))
        for expert in edge_experts(self.names, self.features):
            symbols = self.symbols(x, t, expert.template)
            counts = self.label_pairs(expert.template).get(symbols)
            if counts is None:
                continue
            (before, p), (here, q) = expert.before, expert.here
            before, _ = self.estimate(before, (symbols[p],))
            here, _ = self.estimate(here, (symbols[q],))
            k, n = expert.strength * self.k, sum(counts.values())
            for (i, a), (j, b) in itertools.product(enumerate(self.labels), repeat=2):
                prior = rate[i, j] * before[a] * here[b]
                estimate = (counts[a, b] + k * prior) / (n + k)
                score[i, j] += expert.exponent * np.log(estimate / prior)
        return score

    def label_pairs(self, template):
        if ("pairs", template) not in self.tables:
            table = defaultdict(Counter)
            for x, labels in zip(self.X, self.y, strict=True):
                for t in range(1, len(labels)):
                    table[self.symbols(x, t, template)][labels[t - 1], labels[t]] += 1
            self.tables["pairs", template] = table
        return self.tables["pairs", template]
