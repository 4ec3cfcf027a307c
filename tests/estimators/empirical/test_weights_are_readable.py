"""The weights as the user sees them."""

from itertools import pairwise, product

import numpy as np
import pytest

from sklearn_crcrf import EmpiricalCRF, SequenceVectorizer, as_sequences
from sklearn_crcrf.datasets import make_addresses


@pytest.fixture(scope="module")
def addresses():
    return make_addresses(50, random_state=0)


@pytest.mark.parametrize("spelling", ["product", "joint", "mean", "maxent"])
@pytest.mark.parametrize("zeros", ["smoothed", "floored"])
def test_every_row_has_a_name(addresses, spelling, zeros):
    crf = EmpiricalCRF(spelling=spelling, zeros=zeros).fit(*addresses)
    assert len(crf.attribute_names_) == len(set(crf.attribute_names_)) == crf.coef_.shape[0]


def test_a_smoothed_weight_favours_the_labels_of_a_word(addresses):
    X, y = addresses
    crf = EmpiricalCRF().fit(X, y)
    names = crf.attribute_names_.tolist()
    assert (crf.coef_.data >= 0).all()
    row = crf.coef_[[names.index(f"token[0]={X[0][0]}")]]
    seen = {
        label
        for x, z in zip(X, y, strict=True)
        for w, label in zip(x, z, strict=True)
        if w == X[0][0]
    }
    assert set(crf.classes_[row.indices]) == seen


def test_weights_of_frequencies_are_their_logarithms():
    crf = EmpiricalCRF.ecrn().fit([["a", "b"], ["a", "b"]], [["A", "B"], ["B", "B"]])
    row = crf.coef_[[crf.attribute_names_.tolist().index("token[0]=a")]]
    np.testing.assert_allclose(row.data, np.log([0.5, 0.5]))


def test_columns_of_a_sparse_matrix_come_last(addresses):
    X, y = addresses
    vectorizer = SequenceVectorizer().fit(X)
    crf = EmpiricalCRF().fit(vectorizer.transform(X), y)
    n = len(vectorizer.get_feature_names_out())
    assert crf.attribute_names_[-n:].tolist() == [f"x{j}" for j in range(n)]
    assert crf.coef_.shape == (len(crf.attribute_names_), len(crf.classes_))
    assert crf.coef_[[crf.coef_.shape[0] - n]].nnz > 0


@pytest.mark.parametrize(
    "crf",
    [
        EmpiricalCRF(exponents={"edges": 0.0}),
        EmpiricalCRF(exponents={"edges": 0.0, "boundary": 1.7, "transition": 0.4}),
        EmpiricalCRF(sigma=3.0, exponents={"edges": 0.0}),
    ],
    ids=repr,
)
def test_scores_of_paths_are_sums_of_the_public_weights(addresses, crf):
    """Without edges, a path has the scores of its tokens, of its transitions and of its ends."""
    X, y = addresses
    crf.fit(X, y)
    x = X[0][:3]
    log_state = np.array([_state_scores(crf, x, t) for t in range(len(x))])
    paths = list(product(range(len(crf.classes_)), repeat=len(x)))
    scores = np.array(
        [
            crf.begin_[path[0]]
            + crf.end_[path[-1]]
            + sum(log_state[t, j] for t, j in enumerate(path))
            + sum(crf.transitions_[i, j] for i, j in pairwise(path))
            for path in paths
        ]
    )
    probability = np.exp(scores - scores.max())
    probability /= probability.sum()
    marginals = np.zeros(log_state.shape)
    for path, p in zip(paths, probability, strict=True):
        marginals[np.arange(len(x)), path] += p
    np.testing.assert_allclose(crf.predict_proba([x])[0], marginals, atol=1e-12)
    labels, best = crf.predict_k_best([x], k=1)[0][0]
    np.testing.assert_allclose(best, probability.max())
    assert [crf.classes_[j] for j in paths[probability.argmax()]] == labels


def _state_scores(crf, x, t):
    """The scores of a token: rows of the weights, each times its exponent."""
    names, exponents = crf.attribute_names_.tolist(), crf.exponents_
    prepared = crf._prepare(as_sequences([x]).X)
    factors = crf.model_.state.exponents[prepared.kind[t]]
    rows = prepared.rows[t]
    assert f"token[0]={x[t]}" in [names[row] for row in rows[rows >= 0]]
    assert factors.max() <= max(exponents.values())
    return factors[rows >= 0] @ crf.coef_[rows[rows >= 0]].toarray()


def test_plain_frequencies_have_no_scores_of_ends(addresses):
    crf = EmpiricalCRF.ecrn().fit(*addresses)
    n = len(crf.classes_)
    assert crf.begin_.tolist() == crf.end_.tolist() == [0.0] * n
    smoothed = EmpiricalCRF().fit(*addresses)
    first = smoothed.begin_.argmax()
    assert smoothed.classes_[first] in {labels[0] for labels in addresses[1]}
