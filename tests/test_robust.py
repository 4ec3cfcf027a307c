"""What is large, rare or wrong has a clear outcome, for chains and for the CRF on top of them."""

import os
import signal
import subprocess
import sys

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_crcrf import CRF, SequenceArray
from sklearn_crcrf.criteria import Criterion, LogLoss, log_loss
from sklearn_crcrf.linear import Weights
from sklearn_crcrf.structures import Chain, Scores

X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"], ["a", "dog", "sleeps"]]
y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["D", "N", "V"]]

SOLVERS = [
    CRF(),
    CRF(c1=0.1),
    CRF(solver="sgd", random_state=0),
    CRF(solver="newton-cg"),
    CRF(solver="cg"),
    CRF(features="observed"),
]
solvers = for_each("crf", SOLVERS)
unconverged = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def tokens(n_tokens=60, n_attributes=8, n_labels=4, seed=0):
    """Numbers whose labels can be learnt, and where sequences begin."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(n_tokens, n_attributes))
    labels = (data @ rng.normal(size=(n_attributes, n_labels))).argmax(axis=1)
    offsets = np.append(np.arange(0, n_tokens, 7), n_tokens)
    return data, labels, offsets


def run(program, timeout=120):
    """Run it in a process of its own, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# What is large


@for_each("dtype", [np.float64, np.float32])
@for_each("n_labels", [1, 2, 22])
def test_chains_of_huge_scores(dtype, n_labels):
    rng, offsets = np.random.default_rng(0), np.array([0, 150, 150, 151, 200])
    path_scores = 1e4 * rng.uniform(-1, 1, size=(200, n_labels))
    scores = Scores.of(path_scores.astype(dtype), *_huge(rng, n_labels))
    chain = Chain(offsets)
    log_z, marginals = chain.marginals(scores)
    value, best = chain.maximum(scores)
    assert np.isfinite(log_z).all()
    assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-5)
    # The best path has nearly all probability, or shares it with paths as good.
    assert_allclose(log_z, value, rtol=1e-5)
    assert_allclose(chain.score(scores, best)[0], value, rtol=1e-9)
    entropy = chain.entropy(scores)
    assert ((entropy >= 0) & (entropy <= 5)).all()
    assert_array_equal(chain.k_best(scores, 1)[3][1][0], best[151:])
    assert chain.sample(scores, 3, rng).shape == (3, 200)


def _huge(rng, n_labels):
    sizes = [(n_labels, n_labels), n_labels, n_labels]
    return [1e4 * rng.uniform(-1, 1, size=size) for size in sizes]


@unconverged
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_huge_weights(dtype):
    data, labels, _ = tokens()
    start = Weights(np.full((8, 4), 1e4), *_huge(np.random.default_rng(1), 4), np.zeros((0, 4, 4)))
    crf = CRF(init=start, boundaries=True, max_iter=0, dtype=dtype).fit(data, labels)
    assert np.isfinite(crf.predict_proba(data)).all()
    crf.set_params(max_iter=20).fit(data, labels)
    assert np.isfinite(crf.loss_curve_).all()
    assert crf.loss_curve_[-1] < crf.loss_curve_[0]


@unconverged
@solvers
def test_huge_attributes(crf):
    data, labels, offsets = tokens()
    data, labels = SequenceArray(1e4 * data, offsets), SequenceArray(labels, offsets)
    crf = clone(crf).set_params(max_iter=30).fit(data, labels)
    assert np.isfinite(crf.loss_curve_).all()
    assert np.isfinite(crf.predict_proba(data).data).all()
    assert crf.score(data, labels) > 0.4


LONG = """
import warnings
import numpy as np
import scipy.sparse as sp
from sklearn_crcrf import CRF, SequenceArray
from sklearn_crcrf.structures import Chain, Scores

warnings.simplefilter("ignore")
n_tokens, n_labels = 340_000, 50
offsets, rng = np.array([0, n_tokens]), np.random.default_rng(0)

def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 2**20

def chain():
    scores = Scores.of(rng.normal(size=(n_tokens, n_labels)), rng.normal(size=(n_labels, n_labels)))
    log_z, marginals = Chain(offsets).marginals(scores)
    assert np.isfinite(log_z).all()
    assert abs(marginals.sum() - n_tokens) < 1e-4
    del marginals
    value, path = Chain(offsets).maximum(scores)
    assert value < log_z and path.shape == (n_tokens,)

def crf():
    word, end = rng.integers(1000, size=n_tokens), np.arange(n_tokens + 1)
    attributes = sp.csr_array((np.ones(n_tokens), word, end), shape=(n_tokens, 1000))
    X, y = SequenceArray(attributes, offsets), SequenceArray(word % n_labels, offsets)
    assert CRF(max_iter=1).fit(X, y).score(X, y) > 0.99

CRF(max_iter=1).fit([["a"], ["b"]], [["A"], ["B"]])
before = peak()
chain()
crf()
print(peak() - before)
"""


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer takes more")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory from /proc")
def test_the_memory_of_a_long_sequence():
    """A million tokens take less than one and a half gigabytes."""
    assert float(run(LONG)) < 0.34 * 1.4


@unconverged
@pytest.mark.parametrize("features", ["all", "observed"])
def test_a_thousand_labels(features):
    rng = np.random.default_rng(0)
    labels = rng.permutation(1000)
    offsets = np.arange(0, 1001, 10)
    attributes = sp.csr_array((np.ones(1000), labels, np.arange(1001)), shape=(1000, 1000))
    data, labels = SequenceArray(attributes, offsets), SequenceArray(labels, offsets)
    crf = CRF(features=features, max_iter=2).fit(data, labels)
    assert crf.loss_curve_[-1] < 1000 * np.log(1000)
    assert crf.score(data, labels) > 0.9
    assert_allclose(crf.predict_proba(data).data.sum(axis=1), 1.0)


# What is rare, or nothing


@solvers
def test_empty_sequences_change_nothing(crf):
    gaps, labels = ([[], *(s for sequence in part for s in (sequence, []))] for part in (X, y))
    one, two = clone(crf).fit(X, y), clone(crf).fit(gaps, labels)
    assert_array_equal(_dense(one.coef_), _dense(two.coef_))
    assert two.predict(gaps).tolist() == [[], *(s for p in one.predict(X) for s in (p, []))]
    assert [len(p) for p in two.predict_proba([[], X[0], []])] == [0, 3, 0]
    assert_array_equal(two.predict_proba([[], X[0], []])[1], one.predict_proba(X[:1])[0])
    assert_allclose(two.confidence([[], X[0], []])[[0, 2]], 1.0)


def _dense(coef):
    return coef.toarray() if sp.issparse(coef) else coef


@pytest.mark.parametrize("nothing", [[], [[]], [[], []]])
def test_nothing_at_all(nothing):
    with pytest.raises(ValueError, match="X has no tokens"):
        CRF().fit(nothing, nothing)
    crf = CRF().fit(X, y)
    assert len(crf.predict(nothing)) == len(nothing)
    assert len(crf.predict_proba(nothing)) == len(nothing)


@solvers
def test_a_label_that_is_seen_once(crf):
    crf = clone(crf).fit([*X, ["oh"]], [*y, ["I"]])
    assert crf.classes_.tolist() == ["D", "I", "N", "V"]
    probability = crf.predict_proba([["oh"]])[0][0]
    assert probability.argmax() == 1
    assert_allclose(probability.sum(), 1.0)


@solvers
def test_one_label_only(crf):
    labels = [["N"] * len(sequence) for sequence in X]
    crf = clone(crf).fit(X, labels)
    assert crf.predict([*X, ["oh"]]).tolist() == [*labels, ["N"]]
    assert_allclose(np.vstack(crf.predict_proba(X)), 1.0)


@pytest.mark.parametrize("features", ["all", "observed"])
def test_no_label_is_certain(features):
    crf = CRF(features=features).fit(X, [[{"A", "B"}] * len(sequence) for sequence in X])
    assert_allclose(np.vstack(crf.predict_proba(X)), 0.5)


@solvers
def test_attributes_that_were_never_seen(crf):
    crf = clone(crf).fit(X, y)
    some, none = crf.predict_proba([["zebra", "dog"], ["zebra", "unicorn"]])
    assert np.isfinite(some).all() and np.isfinite(none).all()
    # What is known of a token without attributes are the transitions only.
    assert_array_equal(crf.predict_proba([["x", "dog"]])[0], some)
    assert some[1].argmax() == 1
    columns = CRF().fit(sp.csr_array(np.eye(3)), ["a", "b", "c"])
    assert_allclose(columns.predict_proba(sp.csr_array((1, 3))), 1 / 3, rtol=1e-6)


def test_an_attribute_whose_values_cancel_has_a_weight():
    data = sp.csr_array([[1.0], [-1.0], [1.0], [1.0]])
    crf = CRF(features="observed").fit(data, [0, 0, 1, 1])
    assert crf.coef_.nnz == 2


# What is impossible


def test_chains_without_a_path():
    state = np.zeros((7, 2))
    state[3] = -np.inf
    scores, chain = Scores.of(state, np.zeros((2, 2))), Chain(np.array([0, 2, 2, 5, 7]))
    log_z, marginals = chain.marginals(scores)
    assert_array_equal(np.isneginf(log_z), [False, False, True, False])
    assert_array_equal(np.isneginf(chain.maximum(scores)[0]), [False, False, True, False])
    assert_array_equal(marginals[2:5], 0.0)
    assert_allclose(marginals[[0, 1, 5, 6]], 0.5)
    assert_array_equal(np.isnan(chain.entropy(scores)), [False, False, True, False])
    assert len(chain.k_best(scores, 2)[2][0]) == 0
    with pytest.raises(ValueError, match="sequence 2"):
        chain.sample(scores, 1, np.random.default_rng(0))


METHODS = ["predict", "predict_proba", "predict_log_proba", "sample"]


@for_each("method", METHODS)
def test_constraints_that_leave_no_path(method):
    after = {"D": ["N"], "N": ["V"], "V": []}
    crf = CRF(constraints=after).fit(X, y)
    getattr(crf, method)([X[0], [], X[1]])
    with pytest.raises(ValueError, match="no path of sequence 2 is possible"):
        getattr(crf, method)([X[0], [], ["the", "dog", "walks", "home"], X[1]])


def test_labels_that_constraints_forbid():
    after, labels = {"D": ["N"], "N": ["V"]}, [*y[:2], ["N", "N"], y[3]]
    with pytest.raises(ValueError, match="y, sequence 2, position 1"):
        CRF(constraints=after).fit(X, labels)


# What is not as it should be


@for_each("bad", [np.nan, np.inf, -np.inf])
@for_each("make", [np.asarray, sp.csr_array])
def test_attributes_that_are_not_finite(make, bad):
    data, labels, offsets = tokens()
    crf = CRF().fit(SequenceArray(make(data), offsets), SequenceArray(labels, offsets))
    data[17, 3] = bad
    improper, labels = SequenceArray(make(data), offsets), SequenceArray(labels, offsets)
    for attempt in (lambda: CRF().fit(improper, labels), lambda: crf.predict(improper)):
        with pytest.raises(ValueError, match=r"X, sequence 2, position 3: (nan|-?inf)"):
            attempt()
    for attempt in (lambda: CRF().fit(make(data), labels.data), lambda: crf.predict(make(data))):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            attempt()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite(bad):
    crf = CRF().fit([[{"a": 1.0}, {"b": 2.0}]], [["A", "B"]])
    with pytest.raises(ValueError, match="X, sequence 0, position 1: the value of 'b'"):
        crf.predict([[{"a": 1.0}, {"b": bad}]])
    with pytest.raises(ValueError, match="X, sequence 0, position 1: the value of 'b'"):
        CRF().fit([[{"a": 1.0}, {"b": bad}]], [["A", "B"]])


# The same in every form


@for_each("features", ["all", "observed"])
@for_each("index", [np.int32, np.int64])
def test_indices_of_any_size(features, index):
    data, labels, _ = tokens()
    data = sp.csr_array(np.where(data > 0.5, data, 0.0))
    other = data.copy()
    other.indices, other.indptr = data.indices.astype(index), data.indptr.astype(index)
    one, two = (CRF(features=features).fit(values, labels) for values in (data, other))
    assert_array_equal(_dense(one.coef_), _dense(two.coef_))
    assert_array_equal(one.predict_proba(data), one.predict_proba(other))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_or_columns_first(dtype):
    data, labels, _ = tokens()
    data = data.astype(dtype)
    other = np.asfortranarray(data)
    strided = np.repeat(data, 2, axis=1)[:, ::2]
    crf = CRF().fit(data, labels)
    assert crf.coef_.dtype == dtype
    for form in (other, strided):
        assert_array_equal(CRF().fit(form, labels).coef_, crf.coef_)
        assert_array_equal(crf.predict_proba(form), crf.predict_proba(data))


@for_each("make", [np.asarray, sp.csr_array])
@solvers
def test_nobody_writes_to_what_is_given(crf, make):
    data, labels, offsets = tokens()
    given = make(data)
    arrays = (given.data, given.indices, given.indptr) if sp.issparse(given) else (given,)
    for array in (*arrays, labels, offsets):
        array.flags.writeable = False
    weight = np.ones(len(offsets) - 1)
    weight.flags.writeable = False
    data, labels = SequenceArray(given, offsets), SequenceArray(labels, offsets)
    crf = clone(crf).fit(data, labels, sample_weight=weight)
    assert crf.score(data, labels) > 0.9


def test_a_model_in_mapped_memory(tmp_path):
    data, labels, _ = tokens()
    crf = CRF().fit(data, labels)
    joblib.dump(crf, tmp_path / "crf.joblib")
    mapped = joblib.load(tmp_path / "crf.joblib", mmap_mode="r")
    assert_array_equal(mapped.predict_proba(data), crf.predict_proba(data))
    mapped.set_params(warm_start=True).fit(data, labels)


# Threads and processes

PARALLEL = """
import numpy as np
from sklearn_crcrf import CRF
rng = np.random.default_rng(0)
words = rng.integers(50, size=(100, 20))
X, y = [[f"w{w}" for w in row] for row in words], (words % 5).tolist()
"""

FORK = """
import multiprocessing
def work(queue):
    crf = CRF(n_jobs=2).fit(X, y)
    queue.put((crf.loss_curve_[-1], crf.score(X, y)))
if __name__ == "__main__":
    crf = CRF(n_jobs=2).fit(X, y)
    score = crf.score(X, y)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=work, args=(queue,), daemon=True) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        assert queue.get(timeout=50) == (crf.loss_curve_[-1], score)
        child.join(50)
"""

NESTED = """
from sklearn.model_selection import GridSearchCV
if __name__ == "__main__":
    results = []
    for n_jobs in (1, 2):
        crf = CRF(n_jobs=n_jobs, max_iter=10, tol=0.5)
        search = GridSearchCV(crf, {"sigma": [0.1, 1.0]}, cv=2, n_jobs=n_jobs, error_score="raise")
        results.append(search.fit(X, y).cv_results_["mean_test_score"])
    assert (results[0] == results[1]).all(), results
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_fork_after_threads():
    exec(PARALLEL + FORK, {"__name__": "__main__"})


@unconverged
def test_threads_in_processes():
    # Not in a process of its own: others have been started for other tests already.
    exec(PARALLEL + NESTED, {"__name__": "__main__"})


# What ends early


class Failing(Criterion):
    """The log loss, but its n-th call does something else."""

    curvature = LogLoss.curvature

    def __init__(self, n, fail):
        self.n, self.fail = n, fail

    def __call__(self, structure, scores, labels):
        self.n -= 1
        if self.n == 0:
            self.fail()
        return log_loss(structure, scores, labels)


def interrupt():
    raise KeyboardInterrupt


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


@solvers
@for_each("n_calls", [5, 6, 7])
def test_an_interrupted_fit_has_the_weights_of_the_last_iteration(crf, n_calls):
    crf = clone(crf).set_params(criterion=Failing(n_calls * _calls(crf), interrupt), tol=0.0)
    with pytest.warns(match="training did not converge: it was interrupted"):
        crf.fit(X, y)
    assert not crf.converged_
    assert crf.n_iter_ == len(crf.loss_curve_) > 0
    with pytest.warns(match="did not converge"):
        plain = clone(crf).set_params(criterion="log_loss", max_iter=crf.n_iter_).fit(X, y)
    assert crf.loss_curve_ == plain.loss_curve_
    assert_array_equal(_dense(crf.coef_), _dense(plain.coef_))
    assert_array_equal(crf.transitions_, plain.transitions_)
    assert crf.predict(X).tolist() == plain.predict(X).tolist()


def _calls(crf):
    """Stochastic descent looks for its rate before it begins."""
    return 10 if crf.solver == "sgd" else 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c(n_jobs):
    crf = CRF(criterion=Failing(6, press_ctrl_c), n_jobs=n_jobs, tol=0.0)
    with pytest.warns(match="training did not converge: it was interrupted"):
        crf.fit(X, y)
    assert not crf.converged_
    assert crf.predict(X).tolist() == y


@solvers
def test_an_interrupt_before_the_first_iteration_leaves_all_as_it_was(crf):
    crf = clone(crf).set_params(criterion=Failing(1, interrupt))
    with pytest.raises(KeyboardInterrupt):
        crf.fit(X, y)
    with pytest.raises(NotFittedError):
        crf.predict(X)
    _check_unchanged(crf, KeyboardInterrupt, lambda crf: crf.fit(X, y))


def _fail():
    raise RuntimeError("this is a test")


@solvers
@for_each("n_calls", [1, 5])
def test_a_fit_that_fails_leaves_all_as_it_was(crf, n_calls):
    crf = clone(crf).set_params(criterion=Failing(n_calls, _fail))
    _check_unchanged(crf, RuntimeError, lambda crf: crf.fit(X, y))


def test_improper_input_leaves_all_as_it_was():
    improper = [[[1.0, np.nan]]], [["A"]]
    for attempt in (
        lambda crf: crf.fit(*improper),
        lambda crf: crf.partial_fit(*improper),
        lambda crf: crf.fit(X, y[:-1]),
        lambda crf: crf.partial_fit(X, [["D"] * 2, *y[1:]]),
        lambda crf: crf.fit(X, y, sample_weight=[-1.0, 1.0, 1.0, 1.0]),
        lambda crf: crf.predict([[1.0, np.nan]]),
    ):
        _check_unchanged(CRF(), ValueError, attempt)


def test_a_part_that_fails_leaves_all_as_it_was():
    crf = CRF(criterion=Failing(3, _fail), solver="lbfgs", random_state=0)
    _check_unchanged(crf, RuntimeError, lambda crf: crf.partial_fit([["zebra"]], [["Z"]]))


def _check_unchanged(crf, error, attempt):
    """A fitted estimator is, after an attempt that fails, what it was before."""
    criterion = crf.criterion
    crf.set_params(criterion="log_loss").fit(X, y)
    crf.set_params(criterion=criterion)
    before, expected = dict(vars(crf)), crf.predict_proba([*X, ["zebra"]])
    if isinstance(criterion, Failing):
        criterion.n = max(criterion.n, 1)
    with pytest.raises(error):
        attempt(crf)
    assert vars(crf).keys() == before.keys()
    assert all(vars(crf)[name] is value for name, value in before.items())
    for ours, theirs in zip(crf.predict_proba([*X, ["zebra"]]), expected, strict=True):
        assert_array_equal(ours, theirs)
