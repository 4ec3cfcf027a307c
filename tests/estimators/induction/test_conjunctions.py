"""Conjunctions as columns, and their names."""

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from sklearn_crcrf.estimators.induction.conjunctions import Conjunctions, selected
from sklearn_crcrf.estimators.induction.proposals import with_proposals
from sklearn_crcrf.utils.soundness import require

SETS = [(0, 2), (1, 3), (0, 2, 4), (0, 1, 3), (0, 1, 2, 4)]


def conjunctions():
    made = Conjunctions.none(5)
    parents, lasts = [0, 1, 5, 6, 7], [2, 3, 4, 0, 1]
    for parent, last in zip(parents, lasts, strict=True):
        made = made.joined_with(np.array([parent]), np.array([last]))
    return made


def attributes(n=30):
    return sp.random_array((n, 5), density=0.7, rng=np.random.default_rng(0), format="csr")


def test_members_and_names():
    made = conjunctions()
    assert [tuple(row[row >= 0].tolist()) for row in made.members()[5:]] == SETS
    assert made.orders().tolist() == [1] * 5 + [2, 2, 3, 3, 4]
    assert made.names("abcde").tolist()[3:8] == ["d", "e", "a & c", "b & d", "a & c & e"]


@pytest.mark.parametrize("n", [0, 1, 30])
def test_columns_are_products(n):
    X, made = attributes(n), conjunctions()
    dense = X.toarray()
    products = [reduce(np.multiply, [dense[:, a] for a in members]) for members in SETS]
    expected = np.column_stack([dense, *products])
    columns = made.columns(X)
    assert_allclose(columns.toarray(), expected)
    some = np.array([9, 1, 6])
    assert_allclose(selected(made.parts(X), some).toarray(), expected[:, some])
    assert columns.has_sorted_indices
    assert selected(made.parts(X), some[:0]).shape == (n, 0)


def test_what_is_loaded_is_checked():
    made = conjunctions()
    require("it", made.requirements())
    for parent in (7, -1, 10):
        damaged = made._replace(parent=np.array([0, 1, parent, 6, 7], dtype=np.int32))
        with pytest.raises(ValueError, match="parent"):
            require("it", damaged.requirements())


def test_proposals_are_the_sets_of_attributes_that_occur():
    X = sp.csr_array([[1.0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1]])
    none = Conjunctions.none(4)
    made = with_proposals(none, X, np.full(4, 0.6), least=1.0, max_order=2)
    assert sorted(map(tuple, made.members()[4:].tolist())) == [(0, 1), (1, 3)]
    longer = with_proposals(made, made.columns(X), np.full(4, 0.6), least=0.5, max_order=3)
    # (0, 1) and (1, 3) make the same set of three, which is there once.
    rows = [tuple(m for m in row if m >= 0) for row in longer.members()[6:].tolist()]
    assert sorted(rows) == [(0, 1, 3), (0, 3)]
    alone = with_proposals(none, X, np.full(4, 0.6), least=1.0, max_order=1)
    assert alone.n_columns == 4


def test_of_many_pairs_only_some_tokens_are_looked_at(monkeypatch):
    from sklearn_crcrf.estimators.induction import proposals

    X = sp.csr_array(np.ones((40, 4)))
    monkeypatch.setattr(proposals, "MOST_PAIRS", 100)
    made = with_proposals(Conjunctions.none(4), X, np.ones(40), least=5.0, max_order=2)
    assert len(made.parent) == 6
