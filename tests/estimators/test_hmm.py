"""HMM: against probabilities counted by hand, and as an estimator."""

import pickle
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks
from soft_labels import labellings, random_markov
from toy import make_corpus, with_tags

from sklearn_crcrf import HMM, SequenceArray
from sklearn_crcrf.counts import classifier as base_module
from sklearn_crcrf.datasets import make_label_bias
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures

X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], [], ["dogs", "sleep"], ["dogs"]]
y = [["D", "N", "V"], ["D", "N", "V"], [], ["N", "V"], ["N"]]
NEW = [["the", "cat", "runs"], [], ["dogs"], ["no", "word", "known"]]


@parametrize_with_checks([HMM(sample_unit="token")])
def test_estimator_checks(estimator, check):
    check(estimator)


class ByHand:
    """Smoothed frequencies in dicts of weighted sequences of columns of symbols."""

    def __init__(self, X, y, k, k_labels, weights=None):
        self.labels, self.k = sorted({label for s in y for label in s}), k
        n, self.columns = len(self.labels), range(len(X[0][0]))
        weights = np.ones(len(X)) if weights is None else weights
        first, follows, label, self.seen = {}, {}, {}, [{} for _ in self.columns]

        def add(counts, event, weight):
            counts[event] = counts.get(event, 0) + weight

        for x, s, weight in zip(X, y, weights, strict=True):
            for t, (token, i) in enumerate(zip(x, s, strict=True)):
                add(label, i, weight)
                add(follows, (i, s[t + 1] if t + 1 < len(s) else None), weight)
                if t == 0:
                    add(first, i, weight)
                for counts, symbol in zip(self.seen, token, strict=True):
                    add(counts, (symbol, i), weight)
        total = sum(first.values())
        self.first = {i: (first.get(i, 0) + k_labels) / (total + k_labels * n) for i in self.labels}
        self.follows = {
            (i, j): (follows.get((i, j), 0) + k_labels) / (label[i] + k_labels * (n + 1))
            for i in self.labels
            for j in (*self.labels, None)
        }
        self.label = label

    def symbol(self, column, symbol, label):
        seen, k = self.seen[column], self.k
        n_symbols = len({s for s, _ in seen})
        return (seen.get((symbol, label), 0) + k) / (self.label[label] + k * (n_symbols + 1))

    def joint(self, x, path):
        p = self.first[path[0]]
        for i, j in zip(path, (*path[1:], None), strict=True):
            p *= self.follows[i, j]
        for token, label in zip(x, path, strict=True):
            p *= np.prod([self.symbol(c, token[c], label) for c in self.columns])
        return p

    def paths(self, x):
        every = list(product(self.labels, repeat=len(x)))
        return every, np.array([self.joint(x, path) for path in every])


def columns(X):
    return [[(word,) for word in x] for x in X if x]


@pytest.mark.parametrize(("k", "k_labels"), [(0.1, 1.0), (2.0, 0.3), (1e-3, 0.0)])
@pytest.mark.parametrize("weights", [None, [2.0, 0.5, 9.0, 1.0, 3.0]])
def test_probabilities_counted_by_hand(k, k_labels, weights):
    hmm = HMM(k, k_labels).fit(X, y, sample_weight=weights)
    filled = [i for i, s in enumerate(X) if s]
    of_filled = None if weights is None else [weights[i] for i in filled]
    by_hand = ByHand(columns(X), [y[i] for i in filled], k, k_labels, of_filled)
    assert_allclose(np.exp(hmm.begin_), [by_hand.first[i] for i in "DNV"])
    assert_allclose(np.exp(hmm.end_), [by_hand.follows[i, None] for i in "DNV"])
    expected = [[by_hand.follows[i, j] for j in "DNV"] for i in "DNV"]
    assert_allclose(np.exp(hmm.transitions_), expected)
    for x, (best,), total in zip(
        NEW, hmm.predict_k_best(NEW, 1), hmm.score_samples(NEW), strict=True
    ):
        if x:
            every, joint = by_hand.paths([(word,) for word in x])
            assert_allclose(total, np.log(joint.sum()))
            assert_allclose(best[1], joint.max() / joint.sum())
            assert tuple(best[0]) in [
                p for p, v in zip(every, joint, strict=True) if v > 0.999 * joint.max()
            ]
        else:
            assert total == 0.0


@for_each("markov", [False, True])
def test_soft_labels_counted_by_hand(markov):
    rng, labels = np.random.default_rng(0), ["N", "V", "D"]
    words = [["the", "dog", "walks"], ["dogs", "walks", "the"], ["dog"]]
    soft = [random_markov(len(x), 3, rng) for x in words]
    every = [
        (x, *labelling)
        for x, s in zip(words, soft, strict=True)
        for labelling in labellings(s[0], s[1] if markov else None)
    ]
    by_hand = ByHand(
        columns([x for x, _, _ in every]),
        [[labels[i] for i in ids] for _, ids, _ in every],
        0.1,
        1.0,
        [p for _, _, p in every],
    )
    rows, pairs = zip(*soft, strict=True)
    hmm = HMM().fit(words, [*rows], labels=labels, pair_marginals=[*pairs] if markov else None)
    assert_allclose(np.exp(hmm.begin_), [by_hand.first[i] for i in "DNV"])
    expected = [[by_hand.follows[i, j] for j in "DNV"] for i in "DNV"]
    assert_allclose(np.exp(hmm.transitions_), expected)
    _, joint = by_hand.paths([("the",), ("dogs",), ("never",)])
    assert_allclose(hmm.score_samples([["the", "dogs", "never"]]), np.log(joint.sum()))


def test_soft_labels_are_steps_of_baum_and_welch():
    # Fitted to its own expectations, the likelihood of the observations never falls.
    words, labels = make_corpus(n_sequences=40)
    hmm, likelihood = HMM().fit(words[:10], labels[:10]), []
    for _ in range(15):
        given = {"labels": hmm.classes_, "pair_marginals": hmm.predict_pair_proba(words)}
        hmm = HMM(1e-9, 1e-9).fit(words, hmm.predict_proba(words), **given)
        likelihood.append(hmm.score_samples(words).sum())
    assert (np.diff(likelihood) > -1e-6).all() and likelihood[-1] > likelihood[0] + 1.0


def test_columns_are_independent_given_the_label():
    words, labels = make_corpus(n_sequences=30)
    dicts, new = with_tags(words), [[{"word": "never", "tag": "s1"}, {"tag": "never"}]]
    hmm = HMM(0.5, 0.5).fit(dicts, labels)
    rows = [[(token["word"], token["tag"]) for token in x] for x in dicts]
    by_hand = ByHand(rows, labels, 0.5, 0.5)
    short = [x for x in dicts if len(x) <= 4][:8]
    for x, p, total in zip(short, hmm.predict_proba(short), hmm.score_samples(short), strict=True):
        every, joint = by_hand.paths([(token["word"], token["tag"]) for token in x])
        marginals = np.zeros(p.shape)
        for path, value in zip(every, joint / joint.sum(), strict=True):
            marginals[np.arange(len(x)), np.searchsorted(hmm.classes_, path)] += value
        assert_allclose(p, marginals, atol=1e-12)
        assert_allclose(total, np.log(joint.sum()))
    _, joint = by_hand.paths([("never", "s1"), ("", "never")])
    assert_allclose(hmm.score_samples(new), np.log(joint.sum()))


def test_probabilities_sum_to_one():
    """Over all sequences of up to a length there is all but what is still to end."""
    hmm = HMM(0.7, 0.7).fit(X, y)
    symbols = [*hmm.encoder_.symbols("token"), "anything else"]
    of_one = np.exp(logsumexp(hmm.score_samples([[s] for s in symbols])))
    of_two = np.exp(logsumexp(hmm.score_samples([list(s) for s in product(symbols, repeat=2)])))
    ends_at_once = np.exp(hmm.begin_) @ np.exp(hmm.end_)
    assert_allclose(of_one, ends_at_once)
    goes_on = np.exp(hmm.begin_) @ np.exp(hmm.transitions_)
    assert_allclose(of_two, goes_on @ np.exp(hmm.end_))
    assert_allclose(np.exp(hmm.transitions_).sum(axis=1) + np.exp(hmm.end_), 1.0)


def test_attributes_are_multinomial():
    rng = np.random.default_rng(0)
    rows, labels = rng.poisson(0.7, (80, 6)), rng.integers(3, size=80)
    weights = rng.uniform(0.5, 2.0, size=80)
    hmm = HMM(0.4, 0.0, sample_unit="token").fit(sp.csr_array(rows), labels, weights)
    naive = MultinomialNB(alpha=0.4).fit(rows, labels, weights)
    assert_allclose(hmm.predict_proba(sp.csr_array(rows)), naive.predict_proba(rows))
    assert hmm.attribute_names_.tolist() == [f"x{j}" for j in range(6)]
    assert hmm.coef_.shape == (6, 3)


def test_numbers_are_binned():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 6, size=40)
    rows = [rng.normal(size=(n, 2)) for n in lengths]
    labels = [np.where(r[:, 0] > 0, "a", "b") for r in rows]
    hmm = HMM().fit(rows, labels)
    assert hmm.score(rows, labels) > 0.9
    flat = np.vstack(rows)
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform").fit(flat)
    given = HMM(binning=KBinsDiscretizer(4, encode="ordinal", strategy="uniform")).fit(rows, labels)
    symbols = [[{"a": str(a), "b": str(b)} for a, b in bins.transform(r).astype(int)] for r in rows]
    expected = HMM().fit(symbols, labels)
    assert_allclose(
        np.vstack(given.predict_proba(rows)), np.vstack(expected.predict_proba(symbols))
    )
    assert given.attribute_names_[0].startswith("x0=")


def test_frames_with_words_and_numbers():
    pd = pytest.importorskip("pandas")
    words, labels = make_corpus(n_sequences=20)
    index = pd.MultiIndex.from_tuples([(i, t) for i, s in enumerate(words) for t in range(len(s))])
    flat = [w for s in words for w in s]
    frame = pd.DataFrame({"n": [float(len(w)) for w in flat], "word": flat}, index=index)
    hmm = HMM(sample_unit="token").fit(frame, np.concatenate(labels))
    dicts = [[{"word": w, "n": f"{len(w)}"} for w in s] for s in words]
    expected = HMM().fit(dicts, labels).predict_proba(dicts)
    assert_allclose(hmm.predict_proba(frame), np.vstack(expected))


words = st.sampled_from(["the", "dog", "Dogs", "run-up", "7"])
corpora = st.lists(st.lists(st.tuples(words, st.sampled_from("DNV")), max_size=5), max_size=6)


def split_pairs(corpus):
    return [[w for w, _ in s] for s in corpus], [[label for _, label in s] for s in corpus]


def assert_same_model(hmm, expected, X):
    assert hmm.classes_.tolist() == expected.classes_.tolist()
    for name in ("begin_", "transitions_", "end_", "intercept_"):
        assert np.array_equal(getattr(hmm, name), getattr(expected, name))
    assert np.array_equal(hmm.score_samples(X), expected.score_samples(X))
    assert hmm.predict(X).tolist() == expected.predict(X).tolist()


@settings(max_examples=25, deadline=None)
@given(a=corpora, b=corpora)
def test_data_comes_and_goes(a, b):
    a, b = [[("the", "D")], *a], [*b, [("dog", "N")]]
    new = [["the", "never", "dog"], *split_pairs(a + b)[0]]
    expected = HMM().fit(*split_pairs(a + b))
    hmm = HMM().partial_fit(*split_pairs(a)).partial_fit(*split_pairs(b))
    assert_same_model(hmm, expected, new)
    assert_same_model(hmm.forget(*split_pairs(b)), HMM().fit(*split_pairs(a)), new)


def test_declared_classes_stay():
    hmm = HMM().partial_fit(X[:1], y[:1], classes=["V", "N", "D", "I"])
    assert hmm.classes_.tolist() == ["D", "I", "N", "V"]
    assert np.isfinite(hmm.predict_proba(NEW[:1])[0]).all()
    with pytest.raises(ValueError, match="not among the classes"):
        hmm.partial_fit([["a"]], [["J"]])


def test_attributes_that_were_forgotten_are_unknown_again():
    def dicts(*words):
        return [{"word": word, **{f"{word}{k}": "x" for k in range(20)}} for word in words]

    first, second = [dicts("the", "dog", "barks")], [dicts("a", "cat")]
    hmm = HMM().fit(first, [["D", "N", "N"]]).partial_fit(second, [["D", "N"]])
    hmm.forget(second, [["D", "N"]])
    new = [dicts("a", "dog"), dicts("cat")]
    expected = HMM().fit(first, [["D", "N", "N"]])
    for ours, theirs in zip(hmm.predict_proba(new), expected.predict_proba(new), strict=True):
        assert_allclose(ours, theirs)


def test_only_what_was_counted_is_forgotten():
    hmm = HMM().fit(X, y)
    before = hmm.counts_
    with pytest.raises(ValueError, match="never counted"):
        hmm.forget([["zebra"]], [["N"]])
    with pytest.raises(ValueError, match="nothing would be left"):
        hmm.forget(X, y)
    assert hmm.counts_ is before


def test_a_failed_or_interrupted_fit_leaves_the_model_as_it_was(monkeypatch):
    hmm = HMM().fit(X, y)
    before = dict(vars(hmm))
    with pytest.raises(ValueError, match="sequences"):
        hmm.fit(X, y[1:])
    with pytest.raises(ValueError, match="'smoothing'"):
        HMM(smoothing=0.0).fit(X, y)

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(base_module, "count_corpus", stop)
    for change in (hmm.fit, hmm.partial_fit, hmm.forget):
        with pytest.raises(KeyboardInterrupt):
            change(X[:1], y[:1])
    assert vars(hmm) == before


def test_without_smoothing_transitions_not_seen_are_impossible():
    hmm = HMM(transition_smoothing=0.0).fit(X, y)
    assert np.isneginf(hmm.transitions_[0, [0, 2]]).all()
    assert hmm.predict([["dog", "dog", "dog"]]).tolist() == [["D", "N", "V"]]
    with pytest.raises(ValueError, match="no path of sequence 0 is possible"):
        hmm.predict([["dog"] * 4])
    assert np.isneginf(hmm.score_samples([["dog"] * 4])[0])


def test_no_label_bias():
    """[EP] 4.4: as accurate as the best decoding there is, about 95.8."""
    scores = [
        HMM()
        .fit(*make_label_bias(2000, random_state=k))
        .score(*make_label_bias(500, random_state=100 + k))
        for k in range(10)
    ]
    assert abs(100 * np.mean(scores) - 95.8) < 0.5


def test_search_in_a_pipeline():
    corpus, labels = make_corpus(n_sequences=40)
    grid = {"smoothing": [0.01, 0.1, 1.0], "transition_smoothing": [0.1, 1.0]}
    search = GridSearchCV(HMM(), grid, cv=4).fit(corpus, labels)
    refitted = clone(search.best_estimator_).fit(corpus, labels)
    assert search.predict(corpus).tolist() == refitted.predict(corpus).tolist()
    flat = SequenceArray.from_sequences(corpus), SequenceArray.from_sequences(labels)
    assert_allclose(
        cross_val_score(HMM(), *flat, cv=4), cross_val_score(HMM(), corpus, labels, cv=4)
    )
    for steps in ([TokenFeatures(["lower", "suffix2"])], [SequenceVectorizer()]):
        assert make_pipeline(*steps, HMM()).fit(corpus, labels).score(corpus, labels) > 0.5


def test_storing_and_threads():
    corpus, labels = make_corpus(n_sequences=40)
    hmm = HMM().fit(corpus, labels)
    loaded = pickle.loads(pickle.dumps(hmm))
    assert_same_model(loaded, hmm, corpus)
    assert_same_model(loaded.partial_fit(X, y), hmm.partial_fit(X, y), corpus)
    assert_same_model(
        clone(hmm).set_params(n_jobs=2).fit(corpus, labels), HMM().fit(corpus, labels), corpus
    )
