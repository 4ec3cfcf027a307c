"""EmpiricalCRF on graphs with cycles."""

import pickle

import numpy as np
import pytest
from graphs import cyclic_labels
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_crcrf import EmpiricalCRF, GraphArray, explain
from sklearn_crcrf.counts.co_occurrence import smoothed_rates
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.structures import Unsupported

LABELS = np.array(["A", "B", "C"])


def make_rings(n=30, seed=0, types=True):
    """Cycles with a chord, whose neighbours often have the same label, and labels."""
    rng = np.random.default_rng(seed)
    X, edges, kinds, y = [], [], [], []
    for _ in range(n):
        length = int(rng.integers(3, 7))
        ends = [(t, (t + 1) % length) for t in range(length)]
        ends += [(0, 2)] if length > 3 else []
        labels = LABELS[np.minimum(np.cumsum(rng.random(length) < 0.4), 2)]
        noisy = np.where(rng.random(length) < 0.4, rng.choice(LABELS, length), labels)
        X.append([f"{label.lower()}{rng.integers(3)}" for label in noisy])
        edges.append([(a, b) if rng.random() < 0.5 else (b, a) for a, b in ends])
        kinds.append(["chord" if e == (0, 2) else "ring" for e in ends])
        y.append(labels.tolist())
    return GraphArray.from_edges(X, edges, kinds if types else None), y


RINGS, Y = make_rings()
NEW, NEW_Y = make_rings(10, seed=1)
PLAIN, _ = make_rings(types=False)
NEW_PLAIN, _ = make_rings(10, seed=1, types=False)


def test_rates_have_no_direction():
    crf = EmpiricalCRF().fit(PLAIN, Y)
    pairs, labels = np.zeros((3, 3)), np.searchsorted(LABELS, np.concatenate(Y))
    for i, j in labels[PLAIN.token_edges]:
        pairs[i, j] += 0.5
        pairs[j, i] += 0.5
    rates = smoothed_rates(pairs, crf.model_.statistics.label_prior, 1.0)
    assert_allclose(crf.transitions_, 0.5 * np.log(rates))
    assert_array_equal(crf.begin_, np.zeros(3))
    assert_array_equal(crf.end_, np.zeros(3))


@pytest.mark.parametrize("directed", [True, False])
def test_labels_that_are_linked_in_a_cycle(directed):
    parts = [cyclic_labels(20, 40, directed=directed, seed=seed) for seed in range(60)]
    words = [[f"w{row.argmax()}" for row in rows] for (rows,), _, _ in parts]
    X = GraphArray.from_edges(words, [edges for _, (edges,), _ in parts])
    y = [ids.tolist() for _, _, ids in parts]
    crf, alone = (EmpiricalCRF(exponents={"edges": tau}).fit(X[:40], y[:40]) for tau in (1.0, 0.0))
    is_symmetric = np.allclose(crf.transitions_, crf.transitions_.T)
    assert is_symmetric is not directed
    assert crf.score(X[40:], y[40:]) > alone.score(X[40:], y[40:]) + (0.1 if directed else 0.02)
    default = EmpiricalCRF().fit(X[:40], y[:40])
    assert default.score(X[40:], y[40:]) > alone.score(X[40:], y[40:]) + 0.1 * directed


def test_the_order_of_tokens_and_ends_does_not_matter():
    rng, X, edges, y, orders = np.random.default_rng(0), [], [], [], []
    for s in range(len(RINGS)):
        order = rng.permutation(RINGS.lengths[s])  # where each token goes
        ends = order[RINGS.edges[RINGS.edge_offsets[s] : RINGS.edge_offsets[s + 1]]]
        swapped = np.where(rng.random((len(ends), 1)) < 0.5, ends, ends[:, ::-1])
        edges.append(swapped)
        back = np.argsort(order)
        X.append(np.array(RINGS[s])[back].tolist())
        y.append(np.array(Y[s])[back].tolist())
        orders.append(order)
    data = [
        RINGS.edge_data[a:b].tolist()
        for a, b in zip(RINGS.edge_offsets[:-1], RINGS.edge_offsets[1:], strict=True)
    ]
    moved = GraphArray.from_edges(X, edges, data)
    crf, other = EmpiricalCRF().fit(RINGS, Y), EmpiricalCRF().fit(moved, y)
    assert_allclose(crf.transitions_, other.transitions_)
    for p, q, order in zip(
        crf.predict_proba(RINGS), other.predict_proba(moved), orders, strict=True
    ):
        assert_allclose(p, q[order], atol=1e-9)


@pytest.mark.parametrize(("X", "new"), [(RINGS, NEW), (PLAIN, NEW_PLAIN)], ids=["typed", "plain"])
def test_probabilities_against_enumeration(X, new):
    crf = EmpiricalCRF(inference="exact").fit(X, Y)
    prepared = crf._prepare(new)
    scores, triangles = crf.model_.scores(prepared), crf._structure(new)
    assert len(triangles.triangles) > 5
    marginals = enumerated_marginals(new, scores, triangles)
    assert_allclose(crf.predict_proba(new).data, marginals, atol=1e-9)
    assert_array_equal(crf.predict(new).data, crf.classes_[marginals.argmax(axis=1)])


def enumerated_marginals(X, scores, graph):
    """Sums over all labellings, with the table of each link and triangle."""
    rows = scores.token_transitions
    n, result = scores.state.shape[1], np.empty(scores.state.shape)
    tables = scores.own.reshape(-1, n, n, n)
    for s in range(len(X)):
        start, stop = X.offsets[s : s + 2]
        paths = np.stack(np.meshgrid(*[range(n)] * (stop - start), indexing="ij"), -1)
        paths = paths.reshape(-1, stop - start)
        values = scores.state[start:stop][np.arange(stop - start), paths].sum(axis=1)
        for link in range(*X.edge_offsets[s : s + 2]):
            table = scores.transition.copy()
            row = rows.row[link] if len(rows.score) else -1
            if row >= 0:
                entries = slice(*rows.indptr[row : row + 2])
                table[rows.previous[entries], rows.current[entries]] = rows.score[entries]
            a, b = X.edges[link]
            values += table[paths[:, a], paths[:, b]]
        for tokens, table in zip(graph.triangles - start, graph.table_of_triangle, strict=True):
            if 0 <= tokens.min() < stop - start:
                values += tables[table][tuple(paths[:, tokens].T)]
        p = np.exp(values - values.max())
        p /= p.sum()
        for t in range(stop - start):
            result[start + t] = np.bincount(paths[:, t], p, n)
    return result


@pytest.mark.parametrize("X", [RINGS, PLAIN], ids=["typed", "plain"])
def test_all_rates_have_one_exponent(X):
    pairs = [{"edges": tau, "cliques": 2 * tau} for tau in (0.5, 1.0)]
    half, full = (EmpiricalCRF(exponents=exponents).fit(X, Y) for exponents in pairs)
    of_half, of_full = (crf.model_.scores(crf._prepare(X)) for crf in (half, full))
    assert_allclose(of_full.transition, 2 * of_half.transition)
    assert_allclose(of_full.token_transitions.score, 2 * of_half.token_transitions.score)
    assert_allclose(of_full.own, 2 * of_half.own)
    assert EmpiricalCRF().fit(X, Y).exponents_ == half.exponents_
    with pytest.raises(ValueError, match=r"there is no 'transition'; known are .*'edges'"):
        EmpiricalCRF(exponents={"transition": 0.5}).fit(X, Y)


def test_without_rates_tokens_are_independent():
    crf = EmpiricalCRF(exponents={"edges": 0.0, "cliques": 0.0}).fit(RINGS, Y)
    scores = crf.model_.scores(crf._prepare(NEW)).state
    p = np.exp(scores)
    assert_allclose(crf.predict_proba(NEW).data, p / p.sum(axis=1, keepdims=True), atol=1e-9)


def test_fitted_exponents():
    crf = EmpiricalCRF(exponents="fit", inference="exact", sigma=2.0).fit(RINGS, Y)
    assert {"edges", "cliques", "edge types"} <= crf.exponents_.keys()
    model, prepared = crf.model_.copy(), crf._prepare(NEW)
    y, graph = np.searchsorted(LABELS, np.concatenate(NEW_Y)), crf._structure(NEW)

    def loss(values):
        model.set_exponents(values)
        scores = model.scores(prepared)
        value, pullback = log_loss(graph, scores, y)
        return value.sum(), model.pullback(prepared, scores, pullback(np.ones(len(value))))

    values, step = model.exponents.values + 0.1, 1e-6
    _, gradient = loss(values)
    numeric = [
        (loss(values + step * e)[0] - loss(values - step * e)[0]) / (2 * step)
        for e in np.eye(len(values))
    ]
    assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-5)


def test_counts_add_up():
    whole = EmpiricalCRF().fit(RINGS, Y)
    parts = EmpiricalCRF().fit(RINGS[:12], Y[:12]).partial_fit(RINGS[12:], Y[12:])
    assert_array_equal(whole.predict_proba(RINGS).data, parts.predict_proba(RINGS).data)
    left = parts.forget(RINGS[:20], Y[:20])
    expected = EmpiricalCRF().fit(RINGS[20:], Y[20:])
    assert_array_equal(left.predict_proba(RINGS).data, expected.predict_proba(RINGS).data)


def test_out_of_fold():
    found = EmpiricalCRF().predict_out_of_fold(RINGS, Y, cv=3)
    first = EmpiricalCRF().fit(RINGS[10:], Y[10:]).predict(RINGS[:10])
    assert found[:10] == first


def test_batches_and_other_structures():
    crf = EmpiricalCRF().fit(RINGS, Y)
    order = np.random.default_rng(0).permutation(len(NEW))
    assert_allclose(crf.predict_proba(NEW[order]).data, crf.predict_proba(NEW)[order].data)
    trees = GraphArray.from_parents([["a1", "b2"]], [[-1, 0]], edge_type=[["", "ring"]])
    assert len(crf.predict(trees)) == 1


def test_known_labels():
    crf = EmpiricalCRF().fit(RINGS, Y)
    known = [[label if t == 0 else None for t, label in enumerate(y)] for y in NEW_Y]
    predicted = crf.predict(NEW, allowed=known)
    assert all(p[0] == y[0] for p, y in zip(predicted, NEW_Y, strict=True))


def test_unknown_labels_are_not_counted():
    is_known = [[(s + t) % 3 > 0 for t in range(len(of))] for s, of in enumerate(Y)]
    known = [
        [label if k else None for label, k in zip(of, ks, strict=True)]
        for of, ks in zip(Y, is_known, strict=True)
    ]
    weights = [[float(k) for k in ks] for ks in is_known]
    crf, expected = EmpiricalCRF().fit(RINGS, known), EmpiricalCRF()
    assert crf.counts_ == expected.fit(RINGS, Y, sample_weight=weights).counts_
    predicted = crf.predict(RINGS, allowed=known)
    for labels, found in zip(known, predicted, strict=True):
        assert all(k is None or k == p for k, p in zip(labels, found, strict=True))
    assert crf.partial_fit(NEW, NEW_Y).forget(RINGS, known).counts_.n_events > 0
    with pytest.raises(ValueError, match="all labels are None"):
        crf.partial_fit(NEW[:1], [[None] * len(NEW_Y[0])])
    with pytest.warns(UserWarning, match="exponents keep their defaults"):
        EmpiricalCRF(exponents="fit").fit(RINGS, known)


def test_an_explanation_sums_to_the_score():
    crf, names = EmpiricalCRF(inference="exact").fit(RINGS, Y), set()
    for s in range(8):
        sample = NEW[s : s + 1]
        y = np.searchsorted(crf.classes_, crf.predict(sample)[0])
        scores = crf.model_.scores(crf._prepare(sample))
        found = explain(crf, sample).contributions
        score = crf._structure(sample).score(scores, y)[0][0]
        assert found.value.sum() == pytest.approx(score)
        names |= {*found.name.tolist()}
    assert any("edge=ring" in name for name in names)
    assert any("| triangle" in name for name in names)


def test_engines_without_probabilities():
    crf = EmpiricalCRF(inference="ilp").fit(RINGS, Y)
    assert len(crf.predict(NEW[:2])) == 2
    with pytest.raises(Unsupported):
        crf.predict_proba(NEW[:2])
    with pytest.raises(Unsupported, match="fitting exponents needs log_partition"):
        clone(crf).set_params(exponents="fit").fit(RINGS, Y)


def test_errors():
    with pytest.raises(ValueError, match="order=2 needs sequences"):
        EmpiricalCRF(order=2).fit(RINGS, Y)
    with pytest.raises(ValueError, match="graphs with cycles need zeros="):
        EmpiricalCRF.ecrn().fit(RINGS, Y)
    trees = GraphArray.from_parents([["a1", "b2"]], [[-1, 0]])
    with pytest.raises(ValueError, match="X has other links than the forests"):
        EmpiricalCRF().fit(trees, [["A", "B"]]).predict(PLAIN)
    with pytest.raises(ValueError, match="'inference' parameter"):
        EmpiricalCRF(inference="guess").fit(RINGS, Y)


def test_stored_models(tmp_path):
    crf = EmpiricalCRF().fit(RINGS, Y)
    assert pickle.loads(pickle.dumps(crf)).predict_proba(NEW) == crf.predict_proba(NEW)
    save_model(crf, tmp_path / "m")
    assert load_model(tmp_path / "m").estimator.predict_proba(NEW) == crf.predict_proba(NEW)
