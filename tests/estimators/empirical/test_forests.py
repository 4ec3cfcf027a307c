"""EmpiricalCRF on forests: against chains, counts by hand, and enumeration."""

import pickle
from collections import Counter
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from counted_trees import LABELS, as_paths, make_trees, untyped, with_tag
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from toy import make_corpus, with_tags

from sklearn_crcrf import EmpiricalCRF, GraphArray, SequenceArray, explain
from sklearn_crcrf.base import batches
from sklearn_crcrf.counts import Template
from sklearn_crcrf.counts.co_occurrence import boundary_rates, smoothed_rates
from sklearn_crcrf.counts.links import TYPED_PAIRS
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.structures import structure_of

TREES, Y = make_trees()
TAGGED, _ = make_trees(tokens=with_tag)
NEW, NEW_Y = make_trees(12, seed=1)
WORDS, LABELLED = make_corpus(n_sequences=40)
RNG = np.random.default_rng(0)
SPARSE = [sp.csr_array(RNG.random((len(x), 3)).round(1)) for x in WORDS]
CHAINS = {"words": WORDS, "columns": with_tags(WORDS), "sparse": SPARSE}
SETTINGS = {
    "default": EmpiricalCRF(),
    "sigma": EmpiricalCRF(sigma=2.0, mu_oov=1.5, exponents={"edges": 0.5}),
    "ecrn": EmpiricalCRF.ecrn(),
    "mean": EmpiricalCRF.ecrn(spelling="mean"),
    "maxent": EmpiricalCRF.maxent(),
}
settings = pytest.mark.parametrize("name", SETTINGS)


@settings
def test_results_are_the_same_bits_for_any_number_of_threads(name, monkeypatch):
    monkeypatch.setattr(batches, "CHUNK", 100)
    one, two = (clone(SETTINGS[name]).set_params(n_jobs=n).fit(TREES, Y) for n in (1, 2))
    assert_array_equal(one.predict_proba(NEW).data, two.predict_proba(NEW).data)
    assert_array_equal(one.entropy(NEW), two.entropy(NEW))


# A path is a chain


def assert_same(a, b):
    """Lists of a chain and values of a forest are equal."""
    assert_array_equal(np.concatenate([*a]), b.data)


def assert_same_labels(chain, forest, X, paths):
    """Both find a best labelling; without smoothing there can be several."""
    if chain.zeros == "smoothed":
        assert_same(chain.predict(X), forest.predict(paths))
    assert_allclose(chain.confidence(X), forest.confidence(paths))


def cases():
    for (kind, X), (name, crf) in product(CHAINS.items(), SETTINGS.items()):
        if kind != "sparse" or crf.zeros == "smoothed":
            yield pytest.param(X, crf, id=f"{kind}-{name}")


@for_each(("X", "crf"), [*cases()])
def test_a_path_is_a_chain(X, crf):
    paths = as_paths(X)
    chain, forest = clone(crf).fit(X[:30], LABELLED[:30]), clone(crf).fit(paths[:30], LABELLED[:30])
    for a, b in zip(
        (chain.coef_.data, chain.transitions_, chain.begin_, chain.end_),
        (forest.coef_.data, forest.transitions_, forest.begin_, forest.end_),
        strict=True,
    ):
        assert_array_equal(a, b)
    assert chain.exponents_ == forest.exponents_
    assert_same_labels(chain, forest, X, paths)
    assert_allclose(
        np.concatenate(chain.predict_proba(X)), forest.predict_proba(paths).data, atol=1e-12
    )
    for both in zip(["partial_fit", "forget"], [slice(30, 40), slice(5)], strict=True):
        name, some = both
        getattr(chain, name)(X[some], LABELLED[some])
        getattr(forest, name)(paths[some], LABELLED[some])
        assert_array_equal(chain.transitions_, forest.transitions_)
        assert_array_equal(chain.coef_.data, forest.coef_.data)
        assert_same_labels(chain, forest, X, paths)
    if crf.zeros == "smoothed":
        found = [clone(crf).predict_out_of_fold(x, LABELLED, cv=3) for x in (X, paths)]
        assert_same(*found)
    assert_array_equal(np.concatenate(chain.known_tokens(X)), forest.known_tokens(paths).data)


@pytest.mark.parametrize("X", CHAINS.values(), ids=CHAINS)
def test_fitted_exponents_of_a_path(X):
    chain = EmpiricalCRF(exponents="fit", validation_fraction=0.25, sigma=0.5).fit(X, LABELLED)
    forest = EmpiricalCRF(exponents="fit", validation_fraction=0.25, sigma=0.5).fit(
        as_paths(X), LABELLED
    )
    for name, value in chain.exponents_.items():
        assert forest.exponents_[name] == pytest.approx(value, abs=1e-4)
    more = [crf.fit_exponents(x, LABELLED) for crf, x in ((chain, X), (forest, as_paths(X)))]
    assert more[0].exponents_ == pytest.approx(more[1].exponents_, abs=1e-4)


def test_token_weights_of_a_path():
    rng = np.random.default_rng(0)
    weights = [rng.integers(0, 3, len(x)).tolist() for x in WORDS]
    chain = EmpiricalCRF().fit(WORDS, LABELLED, weights)
    forest = EmpiricalCRF().fit(as_paths(WORDS), LABELLED, weights)
    assert_array_equal(chain.coef_.data, forest.coef_.data)
    assert_array_equal(chain.transitions_, forest.transitions_)
    assert_same(chain.predict(WORDS), forest.predict(as_paths(WORDS)))


# Counts by hand


def tokens_of(X, y):
    """(word, label, parent's word, parent's label, type, is a leaf) of all tokens."""
    for s, labels in enumerate(y):
        start, stop = X.offsets[s : s + 2]
        words, parents = X.data[start:stop], X.parents[start:stop]
        types = dict(zip(X.token_edges[:, 1].tolist(), X.edge_data.tolist(), strict=True))
        for t, (word, label, parent) in enumerate(zip(words, labels, parents, strict=True)):
            above = (words[parent], labels[parent]) if parent >= 0 else (None, None)
            yield word, label, *above, types.get(int(start) + t), t not in parents


def readable(crf, template):
    """The counts of a template, with symbols and labels instead of ids; None outside."""
    labels = [*crf._counter.label_ids.__getstate__()["labels"], None]
    events, weights = crf.counts_[template]
    known = [[*crf.encoder_.symbols(column), None] for column, _ in template.symbols]
    known += [labels] * len(template.labels)
    return {
        tuple(symbols[i] for symbols, i in zip(known, event, strict=True)): weight
        for event, weight in zip(events.tolist(), weights.tolist(), strict=True)
    }


def test_what_is_counted():
    crf, tokens = EmpiricalCRF().fit(TREES, Y), list(tokens_of(TREES, Y))
    pair = Template((("token", -1), ("token", 0)), (-1, 0), linked=True)
    expected = Counter((above, word, i, j) for word, j, above, i, *_ in tokens)
    assert readable(crf, pair) == expected
    expected = Counter((kind, i, j) for _, j, _, i, kind, _ in tokens)
    assert readable(crf, TYPED_PAIRS) == expected
    children = Template((("token", 1),), linked=True)
    expected = Counter((word, i) for word, _, _, i, *_ in tokens if i is not None)
    expected += Counter((None, j) for _, j, *_, is_leaf in tokens if is_leaf)
    assert readable(crf, children) == expected


def test_rates_of_parents_roots_and_leaves():
    crf, tokens = EmpiricalCRF(sigma=1.3).fit(TREES, Y), list(tokens_of(TREES, Y))
    prior, strength = crf.model_.statistics.label_prior, 1.3**-2
    place = {label: i for i, label in enumerate(LABELS)}
    pairs, roots, leaves = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    for _, label, _, above, _, is_leaf in tokens:
        if above is None:
            roots[place[label]] += 1
        else:
            pairs[place[above], place[label]] += 1
        leaves[place[label]] += is_leaf
    rates = np.log(smoothed_rates(pairs, prior, strength))
    assert_allclose(crf.transitions_, crf.exponents_["transition"] * rates, rtol=1e-12)
    exponent = crf.exponents_["boundary"]
    assert_allclose(crf.begin_, exponent * np.log(boundary_rates(roots, prior, strength)))
    assert_allclose(crf.end_, exponent * np.log(boundary_rates(leaves, prior, strength)))


def test_rates_of_types_are_smoothed_towards_the_common_rates():
    crf, tokens = EmpiricalCRF().fit(TREES, Y), list(tokens_of(TREES, Y))
    prior, rate = crf.model_.statistics.label_prior, np.exp(crf.model_.transitions.inner)
    gains = crf.model_.type_rates.coef.toarray().reshape(-1, 3, 3).transpose(0, 2, 1)
    for k, kind in enumerate(crf.encoder_.edge_types.symbols):
        counts = np.zeros((3, 3))
        for _, j, _, i, own, _ in tokens:
            if own == kind:
                counts[LABELS.index(i), LABELS.index(j)] += 1
        n = counts.sum()
        first, second = ((counts.sum(axis=axis) + prior) / (n + 1) for axis in (1, 0))
        smoothed = (counts + 10.0 * rate * np.outer(first, second)) / (n + 10.0)
        expected = np.log(smoothed / np.outer(first, second)) - np.log(rate)
        # A constant that all pairs of labels share does not matter.
        assert_allclose(gains[k] - gains[k].mean(), expected - expected.mean(), atol=1e-9)


# Enumeration


def labellings(crf, X, s):
    """All labellings of a sample as label ids, and their scores from the explained terms."""
    model, sample = crf.model_, X[s : s + 1]
    structure, prepared = structure_of(sample), crf._prepare(sample)
    paths = np.array(list(product(range(len(crf.classes_)), repeat=len(sample.data))))
    scores = [
        model.contributions(prepared, path, crf.classes_, structure).value.sum() for path in paths
    ]
    return paths, np.array(scores)


@settings
def test_labels_and_probabilities_against_enumeration(name):
    crf = clone(SETTINGS[name]).fit(TREES, Y)
    predicted, probability = crf.predict(NEW), crf.predict_proba(NEW)
    confidence = crf.confidence(NEW)
    for s in np.flatnonzero((NEW.lengths > 0) & (NEW.lengths < 6)).tolist():
        paths, scores = labellings(crf, NEW, s)
        p = np.exp(scores - scores.max())
        p /= p.sum()
        found = (crf.classes_[paths] == predicted[s]).all(axis=1)
        assert scores[found] == pytest.approx(scores.max())
        assert confidence[s] == pytest.approx(p.max())
        for t in range(paths.shape[1]):
            marginal = np.bincount(paths[:, t], p, len(crf.classes_))
            assert_allclose(probability[s][t], marginal, atol=1e-9)


@pytest.mark.parametrize("name", ["default", "ecrn"])
def test_an_explanation_sums_to_the_score(name):
    crf = clone(SETTINGS[name]).fit(TREES, Y)
    for s in range(len(NEW)):
        if len(NEW[s]) == 0:
            continue
        sample = NEW[s : s + 1]
        found = explain(crf, sample)
        y = np.searchsorted(crf.classes_, crf.predict(sample)[0])
        scores = crf.model_.scores(crf._prepare(sample))
        score = structure_of(sample).score(scores, y)[0][0]
        assert found.contributions.value.sum() == pytest.approx(score)
    names = " ".join(explain(crf, NEW[2:3]).contributions.name)
    if name == "default":
        assert "edge=" in names and "token[parent]=" in names


# Data that comes and goes


@settings
@pytest.mark.parametrize("X", [TREES, TAGGED, untyped(TREES)], ids=["typed", "columns", "untyped"])
def test_counts_add_up(name, X):
    crf = clone(SETTINGS[name])
    whole = clone(crf).fit(X, Y)
    parts = clone(crf).fit(X[:12], Y[:12]).partial_fit(X[12:], Y[12:])
    assert_array_equal(whole.predict_proba(X).data, parts.predict_proba(X).data)
    left = parts.forget(X[:20], Y[:20])
    expected = clone(crf).fit(X[20:], Y[20:])
    assert_array_equal(left.predict_proba(X).data, expected.predict_proba(X).data)


@pytest.mark.parametrize("name", ["default", "ecrn"])
def test_out_of_fold(name):
    crf = clone(SETTINGS[name])
    expected = cross_val_predict(crf, TREES, SequenceArray.from_sequences(Y), cv=4)
    assert crf.predict_out_of_fold(TREES, Y, cv=4) == expected


def test_other_containers_of_the_same_trees():
    crf = EmpiricalCRF().fit(TREES, Y)
    order = np.random.default_rng(0).permutation(len(NEW))
    assert crf.predict(NEW[order]) == crf.predict(NEW)[order]
    assert crf.predict(NEW[:0]).tolist() == []


# Exponents


@pytest.fixture(scope="module")
def held_out():
    crf = EmpiricalCRF(exponents="fit", validation_fraction=0.25).fit(TREES, Y)
    labels = np.searchsorted(crf.classes_, np.concatenate([y for y in NEW_Y if y]))
    return crf.model_, crf._prepare(NEW), labels, structure_of(NEW)


def test_gradient_in_the_exponents(held_out):
    model, prepared, y, structure = held_out
    model = model.copy()

    def loss(values):
        model.set_exponents(values)
        scores = model.scores(prepared)
        value, pullback = log_loss(structure, scores, y)
        return value.sum(), model.pullback(prepared, scores, pullback(np.ones(len(value))))

    rng, step = np.random.default_rng(0), 1e-6
    values = model.exponents.values + rng.uniform(0.05, 0.3, len(model.exponents.values))
    _, gradient = loss(values)
    numeric = [
        (loss(values + step * e)[0] - loss(values - step * e)[0]) / (2 * step)
        for e in np.eye(len(values))
    ]
    assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-5)
    moving = {n for n, g in zip(model.exponents.names, gradient, strict=True) if abs(g) > 1e-3}
    assert {"transition", "boundary", "edges", "edge types"} <= moving


def test_exponents_of_edges_stay_positive():
    crf = EmpiricalCRF(exponents="fit", validation_fraction=0.25, sigma=10.0).fit(TREES, Y)
    assert crf.exponents_["edges"] > 0 and crf.exponents_["edge types"] > 0
    with pytest.raises(ValueError, match="'edge types' must not be negative"):
        EmpiricalCRF(exponents={"edge types": -0.1}).fit(TREES, Y)


def test_without_exponents_types_do_not_matter():
    crf = EmpiricalCRF(exponents={"edge types": 0.0}).fit(TREES, Y)
    bare = EmpiricalCRF().fit(untyped(TREES), Y)
    assert_allclose(crf.predict_proba(NEW).data, bare.predict_proba(untyped(NEW)).data, atol=1e-12)


def test_types_that_were_never_seen_have_the_common_rates():
    crf, bare = (EmpiricalCRF().fit(X, Y) for X in (TREES, untyped(TREES)))
    other = GraphArray(NEW.data, NEW.offsets, NEW.edges, NEW.edge_offsets, ["?"] * NEW.n_edges)
    assert_allclose(
        crf.predict_proba(other).data, bare.predict_proba(untyped(NEW)).data, atol=1e-12
    )


@pytest.mark.parametrize("edges", [0.0, 1.0])
def test_links_that_share_a_row(edges):
    """Rows are shared where there are few different ones, as for trees of numbers."""
    rng = np.random.default_rng(0)
    X = TREES.with_data(sp.csr_array(rng.poisson(0.5, (len(TREES.data), 5)).astype(float)))
    crf = EmpiricalCRF(exponents={"edges": edges}).fit(X, Y)
    prepared = crf._prepare(X)
    scores = crf.model_.scores(prepared)
    assert len(scores.token_transitions.indptr) - 1 <= 3 * 3 * 3
    row, links = prepared.links.row(), prepared.links
    gains = crf.model_._edge_gains(links.edges) * edges
    gains = gains + crf.exponents_["edge types"] * crf.model_.type_rates.gains(links.types)
    n, (_, current) = 3, structure_of(X).links()
    i, j = (np.repeat(np.arange(n), n), np.tile(np.arange(n), n))
    for token in current[:50]:
        found = scores.of_transitions(np.full(n * n, token), i, j)
        own = gains[[row[token]]].toarray().reshape(n, n).T
        assert_allclose(found, (crf.transitions_ + own).ravel(), atol=1e-12)


# Stored models


@pytest.mark.parametrize("X", [TREES, untyped(TREES)], ids=["typed", "untyped"])
@pytest.mark.parametrize("name", ["default", "ecrn"])
def test_stored_models(X, name, tmp_path):
    crf = clone(SETTINGS[name]).fit(X, Y)
    expected = crf.predict_proba(X)
    assert pickle.loads(pickle.dumps(crf)).predict_proba(X) == expected
    save_model(crf, tmp_path / "m")
    loaded = load_model(tmp_path / "m").estimator
    assert loaded.predict_proba(X) == expected
    again = loaded.partial_fit(NEW if X is TREES else untyped(NEW), NEW_Y)
    assert again.predict(X) == crf.partial_fit(NEW if X is TREES else untyped(NEW), NEW_Y).predict(
        X
    )


# Errors


def test_second_order_needs_sequences():
    with pytest.raises(ValueError, match="order=2 needs sequences"):
        EmpiricalCRF(order=2).fit(TREES, Y)
    crf = EmpiricalCRF(order=2).fit(WORDS, LABELLED)
    assert_same(crf.predict(WORDS), crf.predict(as_paths(WORDS)))
    with pytest.raises(ValueError, match="order=2 needs sequences"):
        crf.predict(untyped(TREES))


def test_links_that_the_model_does_not_know():
    crf = EmpiricalCRF().fit(WORDS, LABELLED)
    for use in (crf.predict, lambda X: crf.partial_fit(X, Y), lambda X: crf.forget(X, Y)):
        with pytest.raises(ValueError, match="X has other links than the sequences"):
            use(untyped(TREES))
    forest = EmpiricalCRF().fit(untyped(TREES), Y).partial_fit(WORDS, LABELLED)
    assert len(forest.predict(WORDS)) == len(WORDS)


def test_types_are_there_always_or_never():
    crf, bare = EmpiricalCRF().fit(TREES, Y), EmpiricalCRF().fit(untyped(TREES), Y)
    with pytest.raises(ValueError, match="the edges have no types, but the edges of the first"):
        crf.predict(untyped(NEW))
    with pytest.raises(ValueError, match="the edges have types, but the edges of the first"):
        bare.partial_fit(NEW, NEW_Y)


def test_attributes_of_edges_are_not_counted():
    data = np.ones((TREES.n_edges, 2))
    X = GraphArray(TREES.data, TREES.offsets, TREES.edges, TREES.edge_offsets, data)
    with pytest.raises(ValueError, match="edge_data has attributes of edges"):
        EmpiricalCRF().fit(X, Y)
