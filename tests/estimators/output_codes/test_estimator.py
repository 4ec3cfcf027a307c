"""OutputCodeCRF: columns, their product, and the nearest codes."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import CRF, GraphArray, OutputCodeCRF, SequenceArray
from sklearn_crcrf.estimators.output_codes.columns import Columns
from sklearn_crcrf.estimators.output_codes.decoding import nearest_code_scores
from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.structures import Chain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make_data(n_labels=5, n_sequences=60, n_attributes=6, seed=0):
    rng = np.random.default_rng(seed)
    weights = 2 * rng.normal(size=(n_attributes, n_labels))
    X = [rng.normal(size=(n, n_attributes)) for n in rng.integers(1, 6, n_sequences)]
    y = [["ABCDEFGHIJ"[j] for j in (x @ weights).argmax(axis=1)] for x in X]
    return X, y


X, y = make_data()
TWO = make_data(n_labels=2)


@pytest.mark.parametrize("code", ["one_vs_rest", [[0], [1]]])
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_one_column_for_two_labels_is_a_crf(code, sigma):
    ours = OutputCodeCRF(code, sigma=sigma, tol=1e-10, max_iter=1000).fit(*TWO)
    crf = CRF(sigma=sigma, tol=1e-12).fit(*TWO)
    assert_allclose(ours.coef_, crf.coef_, atol=1e-5)
    assert_allclose(ours.transitions_, crf.transitions_, atol=1e-5)
    assert_allclose(ours.loss_curve_[-1], crf.loss_curve_[-1], rtol=1e-8)


def test_the_identity_code_of_two_labels_predicts_as_a_crf():
    ours = OutputCodeCRF(np.eye(2), tol=1e-10, max_iter=1000).fit(*TWO)
    assert ours.predict(TWO[0]).tolist() == CRF(tol=1e-12).fit(*TWO).predict(TWO[0]).tolist()


@pytest.fixture(scope="module")
def crf():
    return OutputCodeCRF(code_size=12, random_state=0).fit(X, y)


def column_scores(crf, x, bits):
    """The score of a labelling by bits in each column."""
    log_odds, transitions = x @ crf.column_coef_, crf.column_transitions_.reshape(2, 2, -1)
    columns = np.arange(bits.shape[1])
    links = transitions[bits[:-1], bits[1:], columns].sum(axis=0)
    return (bits * log_odds).sum(axis=0) + links


def test_the_product_is_the_sum_of_the_scores_of_all_columns(crf):
    x = next(x for x in X if len(x) == 3)
    code = crf.code_book_.astype(int)
    paths = list(itertools.product(range(5), repeat=3))
    scores = [column_scores(crf, x, code[list(path)]).sum() for path in paths]
    best = crf.classes_[list(paths[int(np.argmax(scores))])]
    assert crf.predict([x]).tolist() == [best.tolist()]
    of_product = [
        sum(x[t] @ crf.coef_[:, j] for t, j in enumerate(path))
        + sum(crf.transitions_[i, j] for i, j in itertools.pairwise(path))
        for path in paths
    ]
    assert_allclose(np.ptp(np.subtract(scores, of_product)), 0.0, atol=1e-9)


@pytest.mark.parametrize("decoding", ["marginal", "hamming"])
def test_the_nearest_code(crf, decoding):
    """Against enumeration of the bits of every column."""
    x, code = next(x for x in X if len(x) == 3), crf.code_book_.astype(int)
    labellings = np.array(list(itertools.product([0, 1], repeat=3)))
    scores = np.array(
        [column_scores(crf, x, np.repeat(b[:, None], 12, axis=1)) for b in labellings]
    )
    if decoding == "marginal":
        p = np.exp(scores - scores.max(axis=0))
        bits = np.einsum("lk,lt->tk", p / p.sum(axis=0), labellings)
    else:
        bits = labellings[scores.argmax(axis=0)].T
    nearest = np.abs(bits[:, None] - code).sum(axis=2).argmin(axis=1)
    found = clone(crf).set_params(decoding=decoding).fit(X, y).predict([x])
    assert found.tolist() == [crf.classes_[nearest].tolist()]


def test_few_wrong_bits_are_corrected():
    code = OutputCodeCRF("random", 31, random_state=0).fit(X, y).code_book_
    differing = (code[:, None] != code).sum(axis=2)
    distance = differing[~np.eye(5, dtype=bool)].min()
    rng, structure = np.random.default_rng(0), Chain(np.array([0, 5]))

    def labels_of_flipped(n_wrong):
        bits = code.copy()
        for row in bits:
            row[rng.choice(31, n_wrong, replace=False)] ^= True
        nothing = np.zeros((5, 31)), np.zeros((4, 31)), code
        scores = nearest_code_scores(lambda *given: bits, structure, *nothing)
        return structure.maximum(scores)[1]

    for _ in range(20):
        assert_array_equal(labels_of_flipped((distance - 1) // 2), np.arange(5))


def test_the_error_is_below_its_bound():
    easy = [np.eye(5)[["ABCDE".index(j) for j in labels]] for labels in y]
    crf = OutputCodeCRF("one_vs_rest", sigma=20.0, max_iter=500).fit(easy, y)
    wrong = np.mean([list(a) != b for a, b in zip(crf.predict(easy), y, strict=True)])
    assert wrong <= crf.bounds_[-1] < 0.5


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_are_quotients_of_differences(kind, dtype):
    rng = np.random.default_rng(0)
    data = SequenceArray.from_sequences(X)
    rows = data.data.astype(dtype)
    if kind == "sparse":
        rows = sp.csr_array(np.where(rows > 0, rows, 0))
    labels = rng.integers(0, 5, len(data.data)).astype(np.int32)
    weight = rng.random(len(X)) + 0.5
    corpus = Corpus(rows, labels, Chain(data.offsets), weight).longest_first()
    columns = Columns(corpus, rng.random((5, 7)) < 0.5, 0.8, 1)
    x, direction = rng.normal(size=(2, *columns.start().shape)).astype(dtype)
    x[:, 7:] = direction[:, 7:] = 0
    step, gradient = 1e-5 if dtype == np.float64 else 1e-2, columns(x)[1]
    ahead, behind = (columns(x + dtype(s) * direction)[0] for s in (step, -step))
    slope = (gradient.astype(float) * direction).sum(axis=0)
    tol = 1e-6 if dtype == np.float64 else 2e-2
    assert_allclose((ahead - behind) / (2 * step), slope, rtol=tol, atol=tol)


def test_bits_do_not_depend_on_threads():
    one, two = (OutputCodeCRF(code_size=8, n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
    assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("decoding", ["product", "marginal", "hamming"])
def test_trees(decoding):
    parents = [[-1, *[0] * (len(x) - 1)] for x in X]
    trees = GraphArray.from_parents(X, parents)
    crf = OutputCodeCRF(code_size=12, decoding=decoding, random_state=0).fit(trees, y)
    assert crf.score(trees, y) > 0.6


def test_weights_allowed_labels_searches_and_copies(crf):
    weighted = OutputCodeCRF(code_size=12, random_state=0).fit(X, y, sample_weight=[2.0] * len(X))
    doubled = OutputCodeCRF(weighted.code_book_).fit(X + X, y + y)
    assert_allclose(weighted.coef_, doubled.coef_, atol=1e-2)
    allowed = [[None] * len(x) for x in X]
    allowed[0][0] = "E"
    for decoding in ("product", "hamming"):
        other = clone(crf).set_params(decoding=decoding).fit(X, y)
        assert other.predict(X, allowed=allowed)[0][0] == "E"
    assert_array_equal(pickle.loads(pickle.dumps(crf)).predict(X)[0], crf.predict(X)[0])
    search = GridSearchCV(crf, {"code": ["balanced", "one_vs_rest"], "sigma": [0.5, 1.0]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.5


def test_without_attributes():
    """Only transitions have weights."""
    crf = OutputCodeCRF("one_vs_rest", min_freq=10).fit([["a", "b"]] * 3, [["X", "Y"]] * 3)
    assert crf.coef_.shape == (0, 2)
    assert crf.predict([["a", "b", "c"]])[0][1:] in (["X", "Y"], ["Y", "X"])


def test_refusals():
    with pytest.raises(ValueError, match=r"y, sequence 1, position 0: the label is not known"):
        OutputCodeCRF().fit([["a"], ["b"]], [["X"], [None]])
    with pytest.raises(ValueError, match=r"the labels .* have the same code"):
        OutputCodeCRF(code_size=1).fit(X, y)
    with pytest.raises(ValueError, match="code has 2 rows"):
        OutputCodeCRF(np.eye(2)).fit(X, y)
    typed = GraphArray.from_parents([["a", "b"]], [[-1, 0]], edge_type=[["x", "y"]])
    with pytest.raises(ValueError, match="no edges with types"):
        OutputCodeCRF().fit(typed, [["X", "Y"]])
    ring = GraphArray.from_edges([["a", "b", "c"]], [[(0, 1), (1, 2), (2, 0)]])
    with pytest.raises(ValueError, match="cycle"):
        OutputCodeCRF().fit(ring, [["X", "Y", "X"]])


@parametrize_with_checks([OutputCodeCRF(code_size=6, random_state=0, sample_unit="token")])
def test_estimator_checks(estimator, check):
    check(estimator)
