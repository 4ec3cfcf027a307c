"""Integer programs against enumeration: any links, -inf, huge scores, and linear inequalities."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from chains import chains
from enumerated import Enumerated
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.estimators.empirical.segment_rates import segmented
from sklearn_crcrf.labels.inequalities import Inequalities
from sklearn_crcrf.structures import Chain, Scores, TokenTransitions, Unsupported
from sklearn_crcrf.structures.programs.integer_program import IntegerPrograms, best_labelling
from sklearn_crcrf.structures.programs.linked_tokens import LinkedUnits
from sklearn_crcrf.structures.programs.max_marginals import LinkedTrees


@st.composite
def graphs(draw, is_forest=False):
    """Units of a few tokens with links of any direction, and random scores."""
    offsets, scores = draw(chains(dtypes=(np.float64,)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    links = [np.empty((0, 2), dtype=int)]
    for start, stop in pairwise(offsets):
        order = rng.permutation(np.arange(start, stop))
        for n in range(1, len(order)):
            n_links = rng.integers(0, 2 if is_forest else n + 1)
            others = rng.choice(order[:n], n_links, replace=False)
            links += [rng.permutation([[other], [order[n]]]).T for other in others]
    return Enumerated(offsets, *np.concatenate(links).T), scores


def every_labelling(structure, scores, unit):
    paths = structure._every(scores)[unit]
    return paths, structure._scores(scores, unit, paths)


def tolerance(scores):
    """For scores of which the larger ones may cancel."""
    finite = scores.state[np.isfinite(scores.state)]
    return 1e-8 * (1 + np.abs(finite).max(initial=0.0))


@given(graphs())
def test_the_best_labelling_of_any_graph(case):
    structure, scores = case
    value, y = best_labelling(structure, scores)
    expected, _ = structure.maximum(scores)
    assert_allclose(value, expected, rtol=1e-9, atol=tolerance(scores))
    score, _ = structure.score(scores, y)
    possible = value > -np.inf
    assert_allclose(score[possible], value[possible], rtol=1e-9, atol=tolerance(scores))


@given(chains())
def test_the_best_path_of_a_chain(case):
    offsets, scores = case
    chain, scores = Chain(offsets), scores.tokens(slice(None))
    value, y = best_labelling(chain, scores)
    expected, _ = chain.maximum(scores)
    assert_allclose(value, expected, rtol=1e-9, atol=tolerance(scores))
    assert y.dtype == np.int32


@given(graphs(is_forest=True))
def test_max_marginals_of_trees(case):
    structure, scores = case
    units = LinkedUnits(structure, scores)
    for unit in range(structure.n_units):
        tokens = units.take(unit)
        found = LinkedTrees.of(tokens).max_marginals(tokens)
        paths, values = every_labelling(structure, scores, unit)
        of_label = np.full(tokens.state.shape, -np.inf)
        for t in range(len(of_label)):
            np.maximum.at(of_label[t], paths[:, t], values)
        assert_allclose(found.label, of_label, rtol=1e-9, atol=tolerance(scores))
        for link, ends in enumerate(zip(tokens.previous, tokens.current, strict=True)):
            of_pair = np.full(scores.transition.shape, -np.inf)
            np.maximum.at(of_pair, tuple(paths[:, [*ends]].T), values)
            pair = found.pair(link, tokens.transition(link))
            assert_allclose(pair, of_pair, rtol=1e-9, atol=tolerance(scores))


def random_inequalities(rng, n_columns):
    """A few inequalities of labels, some of which hold for few labellings."""
    n_rows = rng.integers(1, 4)
    rows = rng.integers(-2, 3, (n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.6)
    return Inequalities.of(sp.csr_array(rows.astype(float)), rng.integers(-2, 3, n_rows) + 0.0)


def indicators(paths, n_labels):
    one_hot = np.eye(n_labels)[paths]
    return one_hot.reshape(len(paths), -1)


@given(st.one_of(graphs(), graphs(is_forest=True)), st.integers(0, 2**32 - 1))
def test_the_best_labelling_that_satisfies_inequalities(case, seed):
    (structure, scores), rng = case, np.random.default_rng(seed)
    programs, n_labels = IntegerPrograms(structure, scores), len(scores.begin)
    for unit in range(structure.n_units):
        paths, values = every_labelling(structure, scores, unit)
        if paths.shape[1] == 0:
            assert programs.best(unit)[0] == 0.0
            assert programs.is_possible(unit, [])
            continue
        several = [random_inequalities(rng, n_labels * paths.shape[1]) for _ in range(2)]
        rows, _, upper = Inequalities.join(several)
        holds = (indicators(paths, n_labels) @ rows.T <= upper).all(axis=1)
        best = values[holds].max(initial=-np.inf)
        value, y = programs.best(unit, several)
        assert_allclose(value, best, rtol=1e-9, atol=tolerance(scores))
        assert programs.is_possible(unit, several) == (best > -np.inf)
        if best > -np.inf:
            assert holds[(paths == y).all(axis=1)].all()


@pytest.mark.parametrize("seed", range(4))
def test_labels_that_are_left_out_are_not_needed(seed, monkeypatch):
    rng, n_tokens, n_labels = np.random.default_rng(seed), 14, 7
    scores = Scores.of(
        *(rng.normal(size=(n, n_labels)) for n in (n_tokens, n_labels)),
        *rng.normal(size=(2, n_labels)),
    )
    parent = np.array([rng.integers(0, t) for t in range(1, n_tokens)])
    tree = Enumerated([0, 0], parent, np.arange(1, n_tokens))
    tree.offsets = np.array([0, n_tokens])
    rows = (rng.random((6, n_tokens * n_labels)) < 0.4).astype(float)
    few = Inequalities.of(sp.csr_array(rows), np.full(6, 3.0))
    value, y = IntegerPrograms(tree, scores).best(0, [few])
    assert value > -np.inf
    assert (indicators(y[None], n_labels) @ rows.T <= 3).all()
    monkeypatch.setattr(LinkedTrees, "of", lambda tokens: None)
    expected, _ = IntegerPrograms(tree, scores).best(0, [few])
    assert_allclose(value, expected, rtol=1e-9)


def test_added_variables_are_from_0_to_1():
    scores = Scores.of(np.array([[2.0, 0.0], [1.0, 0.0]]), np.zeros((2, 2)))
    programs = IntegerPrograms(Chain(np.array([0, 2])), scores)
    either = sp.csr_array(
        [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    )  # z_0(0) <= u, z_1(0) <= 1 - u
    one_of_two = Inequalities(either, sp.csr_array([[-1.0], [1.0]]), np.array([0.0, 1.0]))
    assert programs.best(0, [one_of_two])[0] == 2.0
    twice = programs.best(0, [one_of_two, one_of_two])
    assert twice[0] == 2.0 and twice[1].tolist() == [0, 1]


class RowsByLink(Enumerated):
    """Two links into one token, each with a row of transition scores of its own."""

    def rows_of_links(self):
        return np.arange(len(self.links()[0]))


def test_each_link_has_its_row_of_transition_scores():
    graph = RowsByLink([0, 3], [0, 1], [2, 2])
    gains = sp.csr_array(np.array([[0.0, 5.0, 0.0, 0.0], [0.0, 0.0, 7.0, 0.0]]))
    of_links = TokenTransitions.from_gains(np.array([0, 1]), gains, np.zeros((2, 2)))
    scores = Scores.of(np.zeros((3, 2)), np.zeros((2, 2)))._replace(token_transitions=of_links)
    # The first link gains 5 from label 1 to 0, the second link 7 from label 0 to 1.
    value, y = best_labelling(graph, scores)
    assert value == [7.0] and y[1:].tolist() == [0, 1]
    scores.state[2, 1] = -3.0
    value, y = best_labelling(graph, scores)
    assert value == [5.0] and y[[0, 2]].tolist() == [1, 0]


def test_without_transition_scores_of_links_there_are_no_rows():
    ring = RowsByLink([0, 3], [0, 1, 0, 2], [1, 2, 2, 1])
    scores = Scores.of(np.zeros((3, 2)), 1 - np.eye(2))
    assert best_labelling(ring, scores)[0] == [3.0]


def test_what_has_no_best_labelling():
    nothing = Chain(np.array([0, 0]))
    assert best_labelling(nothing, Scores.of(np.zeros((0, 2)), np.zeros((2, 2))))[0] == [0.0]
    one = Chain(np.array([0, 1]))
    for worst, expected in ((-np.inf, -np.inf), (np.nan, np.nan), (np.inf, np.nan)):
        scores = Scores.of(np.full((1, 2), worst), np.zeros((2, 2)))
        assert_array_equal(best_labelling(one, scores)[0], [expected])
    scores = Scores.of(np.full((1, 2), -np.inf), np.zeros((2, 2)))
    assert not IntegerPrograms(one, scores).is_possible(0, [])
    with pytest.raises(Unsupported, match=r"^an integer program needs first-order scores, which"):
        best_labelling(segmented(np.array([0, 1]), np.array(["B-x", "I-x"])), scores)
