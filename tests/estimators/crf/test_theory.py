"""The test time problem: what the standard likelihood does not decide.

[EP] is Zhu, Hiemstra, Apers, Wombacher, "Closed Form Maximum Likelihood Estimator of Conditional
Random Fields", 2013; the experiments are from 3.4.3 and 4.1 to 4.3. Factors belong to a
label and its word, psi(y, x), and to two labels and their words, phi(y, y', x, x').
"""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.feature_extraction import SequenceVectorizer
from sklearn_crcrf.linear import Weights
from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.linear.designs import SparseDesign
from sklearn_crcrf.linear.objective import Shard
from sklearn_crcrf.linear.terms import Terms, shared_terms
from sklearn_crcrf.solvers import conjugate_gradient, lbfgs
from sklearn_crcrf.structures import structure_of

# Instead of the logarithm of zero; nothing is left of exp(-100) next to 1.
IMPOSSIBLE = -100.0


def tokens(words):
    """Each word, and the pair that it makes with the word before it."""
    first, *others = words
    pairs = zip(words, others, strict=False)
    return [{"word": first}, *({"word": b, "pair": a + b} for a, b in pairs)]


X = [tokens("abcd")] * 5
Y = [[0, 0, 0, 0]] * 4 + [[0, 1, 1, 0]]
BC = [tokens("bc")]
ATTRIBUTES = SequenceVectorizer().fit(X).get_feature_names_out()
IS_WORD = np.array([name.startswith("word=") for name in ATTRIBUTES])

WORD = {"a": [1.0, 0.0], "b": [0.8, 0.2], "c": [0.8, 0.2], "d": [1.0, 0.0]}
PAIR = {
    "ab": np.array([[0.8, 0.2], [0.0, 0.0]]),
    "bc": np.array([[0.8, 0.0], [0.0, 0.2]]),
    "cd": np.array([[0.8, 0.0], [0.2, 0.0]]),
}


def rate(pair):
    """The co-occurrence rate of two labels, given their words."""
    independent = np.outer(WORD[pair[0]], WORD[pair[1]])
    return np.divide(PAIR[pair], independent, out=np.zeros((2, 2)), where=independent > 0)


def weights(psi, phi):
    """Factors as the weights of a CRF; pairs of words have no weights but of transitions."""
    state = [_log(psi.get(name.removeprefix("word="), [1.0, 1.0])) for name in ATTRIBUTES]
    edges = [_log(phi[name.removeprefix("pair=")]) for name in ATTRIBUTES[~IS_WORD]]
    return Weights(np.array(state), np.zeros((2, 2)), np.zeros(2), np.zeros(2), np.array(edges))


def _log(factor):
    factor = np.array(factor)
    return np.log(factor, out=np.full(factor.shape, IMPOSSIBLE), where=factor > 0)


# [EP] eqs. 12 and 13, and eqs. 18 to 20.
EMPIRICAL = weights(WORD, {pair: rate(pair) for pair in PAIR})
TEST_TIME_PROBLEM = weights({}, {"ab": PAIR["ab"], "bc": rate("bc"), "cd": PAIR["cd"]})


def train(X=X, y=Y, **options):
    """Training as in [EP]: without a penalty, and until hardly anything changes."""
    return CRF(**{"sigma": np.inf, "edge_columns": ["pair"], "tol": 1e-9, **options}).fit(X, y)


def log_likelihood(crf):
    (paths,) = crf.predict_k_best(X[:1], k=16)
    probability = {tuple(path): p for path, p in paths}
    return sum(np.log(probability[tuple(labels)]) for labels in Y)


def problem_of_the_paper():
    """The weights are psi of the four words and phi of the three pairs, and no others."""
    rows = SequenceVectorizer().fit_transform(X)
    words, pairs = (sp.csr_array(rows.data[:, columns]) for columns in (IS_WORD, ~IS_WORD))
    corpus = Corpus(words, np.ravel(Y).astype(np.int32), structure_of(rows), np.ones(len(X)))
    blocks = corpus.chunks(2)
    design = SparseDesign(words, 2, [(block[0].start, block[-1].stop) for block in blocks])
    shared = shared_terms(np.full((2, 2), -1), False, pairs)
    terms = Terms(design.n_weights, shared, 2)
    return Shard(design, terms, corpus, log_loss)


def vector(problem, estimate):
    state = estimate.state[IS_WORD].ravel()
    w = np.empty(problem.terms.n_weights)
    return problem.terms.vector(estimate._replace(state=state), w)


@pytest.mark.parametrize("estimate", [EMPIRICAL, TEST_TIME_PROBLEM])
def test_both_estimates_are_maxima_of_the_likelihood(estimate):
    problem = problem_of_the_paper()
    loss, gradient = problem.evaluate(vector(problem, estimate))
    assert len(gradient) == 4 * 2 + 3 * 4
    assert_allclose(loss, 2.50202, atol=1e-5)
    assert_allclose(loss, -4 * np.log(0.8) - np.log(0.2), rtol=1e-12)
    assert_allclose(gradient, 0.0, atol=1e-12)


@pytest.mark.parametrize(("estimate", "labels"), [(EMPIRICAL, [0, 0]), (TEST_TIME_PROBLEM, [1, 1])])
@pytest.mark.parametrize("solver", ["lbfgs", "cg", "newton-cg"])
def test_training_stops_at_both_and_they_disagree(estimate, labels, solver):
    crf = train(init=estimate, solver=solver)
    assert crf.n_iter_ == 0 and crf.converged_
    assert_allclose(log_likelihood(crf), -2.50202, atol=1e-5)
    assert crf.predict(BC)[0] == labels
    # psi psi phi is 0.8 to 0.2 of the empirical estimate, and 1.25 to 5 of the other.
    ((_, p),) = crf.predict_k_best(BC, 1)[0]
    assert_allclose(p, 0.8, rtol=1e-10)


@pytest.mark.parametrize("solver", [lbfgs, conjugate_gradient])
def test_there_is_a_third_maximum(solver):
    """The one that training from zero comes to, in the model of the paper."""
    problem = problem_of_the_paper()
    result = solver(problem.evaluate, np.zeros(problem.terms.n_weights), tol=1e-9)
    assert_allclose(result.fun, 2.50202, atol=1e-5)
    assert_allclose(result.jac, 0.0, atol=1e-4)
    found = problem.terms.named(result.x)
    _, b, c, _ = found.state.reshape(4, 2)
    score = b[:, None] + c + found.edges[1]
    assert score.argmax() == 3  # [1, 1]


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg"])
@pytest.mark.parametrize("features", ["all", "observed"])
def test_more_weights_do_not_help(solver, features):
    """With weights of pairs of words and one label, and of pairs of labels."""
    crf = train(solver=solver, features=features)
    assert crf.n_iter_ > 0 and crf.converged_
    assert_allclose(log_likelihood(crf), -2.50202, atol=1e-5)
    assert_allclose(crf.loss_curve_[-1], 2.50202, atol=1e-5)
    assert crf.predict(BC)[0] == [1, 1]
    ((_, p),) = crf.predict_k_best(BC, 1)[0]
    assert p > 0.9


def test_the_penalty_leaves_one_minimum_which_may_be_wrong_too():
    """[EP] 3.4.3, at the end."""
    for sigma, labels in ((1.0, [0, 0]), (10.0, [1, 1])):
        starts = ["zeros", EMPIRICAL, TEST_TIME_PROBLEM]
        found = [train(sigma=sigma, init=start) for start in starts]
        for crf in found:
            assert crf.predict(BC)[0] == labels
            assert_allclose(crf.edge_coef_, found[0].edge_coef_, atol=1e-3)


def test_more_sentences_solve_the_problem():
    """[EP] 3.4.3: with each pair of words on its own, the wrong estimate is no maximum any more."""
    more, labels = X + [tokens(pair) for pair in ("ab", "bc", "cd")], Y + [[0, 0]] * 3
    crf = train(more, labels, init=TEST_TIME_PROBLEM)
    assert crf.n_iter_ > 0
    assert crf.predict(BC)[0] == [0, 0]
    assert train(more, labels).predict(BC)[0] == [0, 0]


def test_empirical_training_has_no_such_problem():
    crf = EmpiricalCRF.ecrn().fit([list("abcd")] * 5, Y)
    assert crf.predict([list("bc")])[0] == [0, 0]
