"""The scores of plain frequencies with back-off against the formulas of [ECRN] III-D."""

import itertools
import pickle
from collections import Counter, defaultdict

import numpy as np
import oracle
import pytest
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from toy import make_corpus, scores_of

from sklearn_crcrf import EmpiricalCRF, GraphArray, explain
from sklearn_crcrf.counts.rows import FLOOR
from sklearn_crcrf.feature_extraction.spelling import SIMPLE_FEATURES, spelling_table

# Pairs of words seen together, pairs of known words not seen together, unknown words with and
# without features, and spellings that were not seen next to each other.
X, Y = make_corpus(seed=5, n_sequences=40)
X_TEST = [
    *X[:10],
    [X[0][0], *X[3][:2], X[7][0]],
    ["zzz", X[0][0], "Unseens", "9-ology", "und", "ity"],
    ["X-tion", "X-tion", "zz", "zz"],
    ["unseenly"],
    [],
]


class Frequencies:
    """Probabilities of [ECRN] III-D in plain dicts; a probability of zero has no entry."""

    def __init__(self, X, y, spelling, known_neighbour="spelling"):
        self.labels = sorted({label for labels in y for label in labels})
        self.spelling, self.known_neighbour = spelling, known_neighbour
        self.tables = defaultdict(Counter)
        for x, labels in zip(X, y, strict=True):
            tokens = list(zip(x, labels, strict=True))
            for word, label in tokens:
                for key in [(), ("word", word), *self.keys(word)]:
                    self.tables[key][label] += 1
            for (w, a), (v, b) in itertools.pairwise(tokens):
                keys = [*itertools.product(self.keys(w), self.keys(v))]
                keys += [("after", w, key) for key in self.keys(v)]
                keys += [("before", v, key) for key in self.keys(w)]
                for key in [("pairs",), ("words", w, v), *keys]:
                    self.tables[key][a, b] += 1

    def keys(self, word):
        """What the spelling of a word is counted by."""
        if self.spelling == "joint":
            return [("signature", spelling_table([word], ["simple"]).column("simple")[0])]
        table = spelling_table([word], SIMPLE_FEATURES)
        return [f for f in SIMPLE_FEATURES if table.column(f)[0] == "True"]

    def frequencies(self, key):
        counts = self.tables[key]
        return {event: n / counts.total() for event, n in counts.items()}

    def mean(self, keys):
        """Mean of the frequencies given those keys that were seen; empty if there are none."""
        seen = [key for key in keys if self.tables[key]]
        mean = Counter()
        for key in seen:
            for event, p in self.frequencies(key).items():
                mean[event] += p / len(seen)
        return mean

    def prior(self):
        """Frequencies of all labels, with a tenth of an observation of each."""
        counts = self.tables[()]
        total = counts.total() + 0.1 * len(self.labels)
        return {label: (counts[label] + 0.1) / total for label in self.labels}

    def of_spelling(self, word):
        return self.mean(self.keys(word)) or self.prior()

    def state(self, word, mu_oov):
        """log p(y | x), -inf for zero."""
        known = ("word", word) in self.tables and self.tables["word", word].total() > 0
        p = self.frequencies(("word", word)) if known else self.of_spelling(word)
        exponent = 1.0 if known else mu_oov
        return np.array([exponent * log(p.get(label, 0.0)) for label in self.labels])

    def way(self, before, here):
        """What a pair of words is scored by."""
        if self.tables["words", before, here]:
            return "words"
        if self.known_neighbour == "word" and self.mean(self.keys_beside(before, here)):
            return "known word"
        both_known = self.tables["word", before] and self.tables["word", here]
        pairs_of_keys = itertools.product(self.keys(before), self.keys(here))
        return "spelling" if not both_known and self.mean(pairs_of_keys) else "labels"

    def keys_beside(self, before, here):
        """The known word with what the spelling of the unknown one is counted by."""
        knows = [bool(self.tables["word", word]) for word in (before, here)]
        if knows == [True, False]:
            return [("after", before, key) for key in self.keys(here)]
        if knows == [False, True]:
            return [("before", here, key) for key in self.keys(before)]
        return []

    def edge(self, before, here):
        """log CR(y; y' | x, x'), -inf for zero."""
        way = self.way(before, here)
        if way == "words":
            joint = self.frequencies(("words", before, here))
            p, q = self.frequencies(("word", before)), self.frequencies(("word", here))
        elif way == "known word":
            joint = self.mean(self.keys_beside(before, here))
            p, q = (
                self.frequencies(("word", word)) if self.tables["word", word] else
                self.of_spelling(word)
                for word in (before, here)
            )  # fmt: skip
        elif way == "spelling":
            joint = self.mean(itertools.product(self.keys(before), self.keys(here)))
            p, q = self.of_spelling(before), self.of_spelling(here)
        else:
            joint, p, q = self.frequencies(("pairs",)), Counter(), Counter()
            for (a, b), probability in joint.items():
                p[a] += probability
                q[b] += probability
        rates = [
            [log(joint.get((a, b), 0.0)) - log(p[a] * q[b]) if joint.get((a, b)) else -np.inf
             for b in self.labels]
            for a in self.labels
        ]  # fmt: skip
        return np.array(rates)


def log(p):
    return np.log(p) if p > 0 else -np.inf


@pytest.fixture(scope="module", params=["joint", "mean"])
def reference(request):
    return Frequencies(X, Y, request.param)


def test_the_sentences_back_off_in_every_way(reference):
    ways = Counter()
    for x in X_TEST:
        for before, here in itertools.pairwise(x):
            ways[reference.way(before, here)] += 1
    assert min(ways[way] for way in ("words", "spelling", "labels")) > 1


@for_each("mu_oov", [1.0, 1.8])
@for_each("zeros", ["floored", "exact"])
def test_state_scores(reference, zeros, mu_oov):
    crf = EmpiricalCRF.ecrn(zeros=zeros, spelling=reference.spelling, mu_oov=mu_oov).fit(X, Y)
    words = [word for x in X_TEST for word in x]
    expected = [reference.state(word, mu_oov) for word in words]
    assert_allclose(scores_of(crf, X_TEST).state, expected, atol=1e-10)
    assert np.isinf(expected).any()


@for_each("zeros", ["floored", "exact"])
def test_pair_scores_are_co_occurrence_rates(reference, zeros):
    crf = EmpiricalCRF.ecrn(zeros=zeros, spelling=reference.spelling).fit(X, Y)
    scores, n = scores_of(crf, X_TEST), len(crf.classes_)
    row = 0
    for x in X_TEST:
        for t in range(len(x)):
            if t:
                expected = reference.edge(x[t - 1], x[t])
                if zeros == "floored":
                    expected = np.maximum(expected, FLOOR)
                found = [oracle.transition_score(scores, row, i, j) for i, j in np.ndindex(n, n)]
                assert_allclose(np.reshape(found, (n, n)), expected, atol=1e-10)
            row += 1


@for_each("zeros", ["floored", "exact"])
@for_each("spelling", ["joint", "mean"])
def test_a_known_neighbour_counts_by_itself(spelling, zeros):
    reference = Frequencies(X, Y, spelling, known_neighbour="word")
    params = {"zeros": zeros, "spelling": spelling, "known_neighbour": "word"}
    crf = EmpiricalCRF.ecrn(**params).fit(X, Y)
    unknown = ["zzz", "Unseens", "9-ology", "und", "ity", "X-tion"]
    X_beside = X_TEST + [x for pair in itertools.product(X[0], unknown) for x in (pair, pair[::-1])]
    X_beside = [list(x) for x in X_beside]
    scores, n, row, ways = scores_of(crf, X_beside), len(crf.classes_), 0, Counter()
    for x in X_beside:
        for t in range(len(x)):
            if t:
                ways[reference.way(x[t - 1], x[t])] += 1
                expected = reference.edge(x[t - 1], x[t])
                if zeros == "floored":
                    expected = np.maximum(expected, FLOOR)
                found = [oracle.transition_score(scores, row, i, j) for i, j in np.ndindex(n, n)]
                assert_allclose(np.reshape(found, (n, n)), expected, atol=1e-10)
            row += 1
    assert min(ways[way] for way in ("words", "known word", "spelling", "labels")) > 0
    beside = next(x for x in X_beside[len(X_TEST) :] if reference.way(*x) == "known word")
    explained = explain(crf, beside).to_frame()
    assert explained["name"].str.endswith("| known word and spelling").any()


def test_the_rate_beside_an_unknown_word_by_hand():
    """Before "Bonn", "in" has O LOC twice and O O once; the word is capitalised each time."""
    X = [["in", "Bonn"], ["in", "Rome"], ["in", "Short"], ["Of", "Rome"]]
    y = [["O", "LOC"], ["O", "LOC"], ["O", "O"], ["O", "LOC"]]
    for spelling, capitalised in (("joint", 3 / 5), ("mean", 3 / 5)):
        params = {"spelling": spelling, "known_neighbour": "word"}
        scores = scores_of(EmpiricalCRF.ecrn(**params).fit(X, y), [["in", "Delft"]])
        # p(O, LOC | in, capital) / (p(O | in) p(LOC | capital))
        rate = np.exp(oracle.transition_score(scores, 1, 1, 0))
        assert_allclose(rate, (2 / 3) / (1 * capitalised), rtol=1e-12)


def test_a_known_neighbour_counts_by_itself_in_forests():
    parents = [[-1, 0, 0], [1, -1]]
    train = GraphArray.from_parents([["a", "Bb", "c"], ["Dd", "a"]], parents)
    crf = EmpiricalCRF.ecrn(known_neighbour="word").fit(train, [["x", "y", "x"], ["y", "z"]])
    test = GraphArray.from_parents([["Unknown", "a"]], [[1, -1]])
    # As a parent of a capitalised word, "a" was x or z, and the child y.
    assert_allclose(crf.predict_proba(test)[0], [[0, 1, 0], [0.5, 0, 0.5]], atol=1e-12)


@for_each(
    "params, message",
    [
        ({"zeros": "smoothed"}, 'needs zeros="floored" or "exact"'),
        ({"spelling": "maxent"}, 'needs spelling="joint" or "mean", got \'maxent\''),
        ({"spelling": "product"}, 'needs spelling="joint" or "mean", got \'product\''),
        ({"spelling": "joint", "known_neighbour": "both"}, "known_neighbour"),
    ],
)
def test_known_neighbour_refuses_what_it_does_not_know(params, message):
    crf = EmpiricalCRF.ecrn(**{"known_neighbour": "word"} | params)
    with pytest.raises(ValueError, match=message):
        crf.fit(X, Y)


def test_known_neighbour_follows_the_counts():
    params = {"known_neighbour": "word", "spelling": "mean"}
    crf = EmpiricalCRF.ecrn(**params).partial_fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    whole = EmpiricalCRF.ecrn(**params).fit(X, Y)
    expected = np.concatenate(whole.predict_proba(X_TEST))
    forgetful = EmpiricalCRF.ecrn(**params).fit(X + X_TEST[:3], Y + Y[:3])
    for other in (crf, pickle.loads(pickle.dumps(crf)), forgetful.forget(X_TEST[:3], Y[:3])):
        assert_allclose(np.concatenate(other.predict_proba(X_TEST)), expected, atol=1e-12)


def test_begin_and_end_say_nothing():
    scores = scores_of(EmpiricalCRF.ecrn().fit(X, Y), X_TEST)
    assert_array_equal(scores.begin, 0.0)
    assert_array_equal(scores.end, 0.0)


def path_scores(reference, x, floor):
    """Every path and its score."""
    paths = list(itertools.product(range(len(reference.labels)), repeat=len(x)))
    state = [reference.state(word, 1.0) for word in x]
    edges = [np.maximum(reference.edge(a, b), floor) for a, b in itertools.pairwise(x)]
    scores = [
        sum(s[i] for s, i in zip(state, path, strict=True))
        + sum(e[pair] for e, pair in zip(edges, itertools.pairwise(path), strict=True))
        for path in paths
    ]
    return paths, np.array(scores)


@for_each("zeros", ["floored", "exact"])
def test_predictions_are_those_of_the_enumerated_paths(reference, zeros):
    crf = EmpiricalCRF.ecrn(zeros=zeros, spelling=reference.spelling).fit(X, Y)
    n_impossible = 0
    for x in [x for x in X_TEST if 0 < len(x) < 6]:
        paths, scores = path_scores(reference, x, FLOOR if zeros == "floored" else -np.inf)
        if np.isinf(scores.max()):
            n_impossible += 1
            with pytest.raises(ValueError, match="no path of sequence 0 is possible"):
                crf.predict_proba([x])
            continue
        probability = np.exp(scores - logsumexp(scores))
        marginals = np.zeros((len(x), len(crf.classes_)))
        for path, p in zip(paths, probability, strict=True):
            marginals[np.arange(len(x)), path] += p
        assert_allclose(crf.predict_proba([x])[0], marginals, atol=1e-9)
        assert_allclose(crf.confidence([x]), probability.max(), atol=1e-9)
        best = np.searchsorted(crf.classes_, crf.predict([x])[0])
        assert_allclose(scores[paths.index(tuple(best))], scores.max(), atol=1e-9)
    if zeros == "floored":
        assert n_impossible == 0


def test_exact_zeros_may_leave_no_path():
    crf = EmpiricalCRF.ecrn(zeros="exact").fit([["a", "b"], ["b", "a"]], [["A", "B"], ["B", "A"]])
    assert crf.predict([["a", "b"], ["b", "b"]]).tolist() == [["A", "B"], ["B", "B"]]
    assert_array_equal(crf.confidence([["a", "b"], ["b", "b"]]), [1.0, 0.0])
    with pytest.raises(ValueError, match="no path of sequence 1 is possible"):
        crf.predict_proba([["a", "b"], ["b", "b"]])
    floored = EmpiricalCRF.ecrn().fit([["a", "b"], ["b", "a"]], [["A", "B"], ["B", "A"]])
    assert_allclose(floored.predict_proba([["b", "b"]])[0], [[0, 1], [0, 1]])


def test_maxent_backs_off_to_its_fitted_distributions():
    crf = EmpiricalCRF.maxent().fit(X, Y)
    reference, spelling = Frequencies(X, Y, "joint"), crf.model_.spelling
    scores, n = scores_of(crf, X_TEST), len(crf.classes_)
    row, n_backed_off = 0, 0
    for x in X_TEST:
        signature = crf.encoder_.lexicon.lookup(x)[1][:, 0]
        for t, word in enumerate(x):
            known = ("word", word) in reference.tables and reference.tables["word", word]
            expected = reference.state(word, 1.0) if known else None
            if not known:
                expected = np.log(spelling.probability[signature[t]])
                n_backed_off += 1
            assert_allclose(scores.state[row], expected, atol=1e-10)
            if t:
                found = [oracle.transition_score(scores, row, i, j) for i, j in np.ndindex(n, n)]
                counts = reference.tables
                both_known = counts["word", x[t - 1]] and counts["word", word]
                if counts["words", x[t - 1], word] or both_known:
                    rates = reference.edge(x[t - 1], word)
                else:
                    code = np.array([signature[t - 1] * len(spelling.probability) + signature[t]])
                    with np.errstate(divide="ignore"):
                        rates = np.log(spelling.co_occurrence(code).toarray().reshape(n, n).T)
                assert_allclose(np.reshape(found, (n, n)), np.maximum(rates, FLOOR), atol=1e-10)
            row += 1
    assert n_backed_off > 5


def test_exponents():
    plain = EmpiricalCRF.ecrn().fit(X, Y)
    crf = EmpiricalCRF.ecrn(exponents={"edges": 0.5, "word": 2.0, "word/seldom": 3.0}).fit(X, Y)
    before, after = scores_of(plain, X_TEST), scores_of(crf, X_TEST)
    n_seen = Counter(word for x in X for word in x)
    factor = [3.0 if 0 < n_seen[w] <= 10 else 2.0 if n_seen[w] else 1.0 for x in X_TEST for w in x]
    assert_allclose(after.state, before.state * np.array(factor)[:, None], atol=1e-9)
    assert_allclose(after.token_transitions.score, 0.5 * before.token_transitions.score, atol=1e-9)


@pytest.mark.parametrize("zeros", ["floored", "exact"])
def test_mu_oov_of_zero_leaves_unknown_words_to_their_neighbours(zeros):
    crf = EmpiricalCRF.ecrn(mu_oov=0.0, zeros=zeros).fit(X, Y)
    assert_array_equal(scores_of(crf, [["zzz", "Unseens"]]).state, 0.0)
    assert_allclose(crf.predict_proba([["zzz"]])[0], 1 / len(crf.classes_))


def test_a_long_sequence_is_labelled_like_its_parts():
    """Scores add up over a sequence, so that large ones would drown the differences."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 20, 3000)
    labels = (words + rng.integers(0, 3, 3000)) % 3
    crf = EmpiricalCRF.ecrn().fit([[f"w{i}" for i in words]], [labels.tolist()])
    long = [f"w{i}" for i in rng.integers(0, 20, 200_000)]
    whole, part = crf.predict_proba([long, long[100_000:100_500]])
    assert_allclose(whole[100_100:100_400], part[100:400], atol=1e-6)


def test_a_wide_prior_of_the_spelling_changes_unknown_words_alone():
    plain, smoothed = EmpiricalCRF.ecrn().fit(X, Y), EmpiricalCRF.ecrn(sigma=1.0).fit(X, Y)
    words = sorted({word for x in X for word in x})
    assert_array_equal(
        scores_of(plain, [[w] for w in words]).state,
        scores_of(smoothed, [[w] for w in words]).state,
    )
    unknown = [["zx"], ["zxs"], ["zxed"], ["zxing"], ["Zxs"], ["9ly"], ["q-s"], ["Q-ing"]]
    assert np.isinf(scores_of(plain, unknown).state).any()
    assert np.isfinite(scores_of(smoothed, unknown).state).all()
