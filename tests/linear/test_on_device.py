"""Training on a device of torch, here its CPU, beside the kernels, enumeration and differences."""

import itertools
import sys
import types
import warnings
from itertools import pairwise

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf import CRF, MEMM, CRFsuiteCRF, SequenceArray
from sklearn_crcrf.criteria import MCE, Piecewise, SoftmaxMargin
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.estimators.crf.features import Features
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.structures import Chain, Scores

torch = pytest.importorskip("torch", reason="torch, which is an extra, is not installed")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

on_device = pytest.importorskip("sklearn_crcrf.linear.on_device")
chains = pytest.importorskip("sklearn_crcrf.structures.chain.on_device")

aten = torch.ops.aten
CPU = torch.device("cpu")
X, Y = make_addresses(60, random_state=0)
RNG = np.random.default_rng(0)
PARTIAL = [[None if RNG.random() < 0.3 else label for label in y] for y in Y]
DENSE = SequenceArray.from_lengths(RNG.normal(size=(sum(map(len, X)), 4)), [*map(len, X)])


def problem_of(crf, X=X, y=Y, sample_weight=None):
    """The training problem of a CRF."""
    crf = crf._unfitted()
    corpus = crf._read(X, y, sample_weight).longest_first()
    crf._n_seen = corpus.weight.sum()
    return crf._problem(corpus, None)


def assert_same(problem, scale=1.0, rtol=1e-10, where=CPU):
    """The objective and its gradient on a device are those of the kernels."""
    dtype = problem.corpus.X.dtype
    device = on_device.DeviceObjective(problem, where)
    w = (scale * np.random.default_rng(1).normal(size=problem.terms().n_weights)).astype(dtype)
    loss, gradient = problem.objective()(w)
    for _ in range(2):  # the second time, memory is used again
        found, derivatives = device(torch.tensor(w, device=where))
    assert_allclose(found, loss, rtol=rtol)
    derivatives = derivatives.cpu().numpy()
    assert derivatives.dtype == dtype
    atol = rtol * max(1.0, np.abs(gradient).max())
    assert_allclose(derivatives, gradient, rtol=rtol, atol=atol)
    return device


CRITERIA = ["log_loss", "softmax_margin", "pseudo_likelihood", "piecewise"]
OPTIONS = [
    {},
    {"boundaries": True, "sigma": 3.0},
    {"features": "observed", "class_weight": "balanced"},
    {"constraints": "IOB2", "boundaries": True},
    {"min_freq": 2},
]


@for_each("criterion", [*CRITERIA, SoftmaxMargin(cost=0.3), Piecewise("edges+tokens")])
@for_each("options", OPTIONS)
def test_the_objective_is_that_of_the_kernels(criterion, options):
    weight = np.random.default_rng(2).integers(0, 4, size=len(X)) / 2
    assert_same(problem_of(CRF(criterion, **options)))
    assert_same(problem_of(CRF(criterion, **options), sample_weight=weight))
    assert_same(problem_of(CRF(criterion, dtype="float32", **options)), rtol=2e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@for_each("criterion", CRITERIA)
@for_each("dtype", ["float32", "float64"])
def test_every_card_does_the_same(criterion, dtype):
    cards = [torch.device("cuda", number) for number in range(torch.cuda.device_count())]
    for y in (Y, PARTIAL) if criterion != "pseudo_likelihood" else (Y,):
        for options, scale, card in itertools.product(OPTIONS, (1.0, 100.0), cards):
            problem = problem_of(CRF(criterion, dtype=dtype, **options), y=y)
            assert_same(problem, scale, 1e-4 if dtype == "float32" else 1e-9, card)


@for_each("criterion", ["log_loss", SoftmaxMargin(cost=0.3), "piecewise"])
@for_each("options", OPTIONS)
def test_partial_labels(criterion, options):
    assert_same(problem_of(CRF(criterion, **options), y=PARTIAL), rtol=1e-9)


@for_each("criterion", CRITERIA)
def test_dense_attributes_and_single_tokens(criterion):
    assert_same(problem_of(CRF(criterion), DENSE))
    tokens = np.concatenate([rows.tolist() for rows in DENSE])
    labels = np.concatenate(Y)
    assert_same(problem_of(CRF(criterion), tokens, labels))


@for_each("criterion", CRITERIA)
@for_each("dtype", ["float32", "float64"])
@for_each("scale", [30.0, 1000.0])
def test_sums_that_underflow_are_exact(criterion, dtype, scale):
    for y in (Y, PARTIAL) if criterion != "pseudo_likelihood" else (Y,):
        crf = CRF(criterion, dtype=dtype, constraints="IOB2")
        assert_same(problem_of(crf, y=y), scale, 1e-4 if dtype == "float32" else 1e-9)


@for_each("criterion", CRITERIA)
@for_each("y", [Y, PARTIAL])
def test_batches_that_fit_into_memory(criterion, y):
    if criterion == "pseudo_likelihood" and y is PARTIAL:
        return
    problem = problem_of(CRF(criterion, boundaries=True), y=y)
    with pytest.MonkeyPatch.context() as patch:
        for n_scores in (1, 100 * problem.n_labels):
            patch.setattr(on_device, "N_SCORES", n_scores)
            n_parts = len(assert_same(problem, rtol=1e-9).parts)
            assert n_parts == len(Y) if n_scores == 1 else 5 < n_parts < 10


@for_each("criterion", CRITERIA)
def test_the_gradient_is_that_of_differences(criterion):
    problem = problem_of(CRF(criterion, boundaries=True), X[:4], Y[:4])
    objective = on_device.DeviceObjective(problem, CPU)
    rng = np.random.default_rng(3)
    w, direction = rng.normal(size=(2, problem.terms().n_weights))
    _, gradient = objective(torch.tensor(w))
    ahead, behind = (objective(torch.tensor(w + h * direction))[0] for h in (1e-5, -1e-5))
    assert_allclose(gradient.numpy() @ direction, (ahead - behind) / 2e-5, rtol=1e-6)


def test_expected_counts_against_all_paths():
    rng, offsets, n = np.random.default_rng(4), np.array([0, 3, 4, 8, 10]), 3
    scores = Scores.of(rng.normal(size=(10, n)), rng.normal(size=(n, n)))
    order, weight = chains.TimeMajor(offsets), rng.random(4)
    chain = chains.DeviceChain(order, weight, chains.Memory(n, np.float64, CPU))
    chain.scores.copy_(torch.tensor(scores.state[order.tokens]))
    value, state, transition = chain.expected(scores.transition)
    log_z, marginals, pairs = 0.0, np.zeros((10, n)), np.zeros((n, n))
    for unit, (a, b) in enumerate(pairwise(offsets)):
        paths, values, probability = oracle.distribution(scores, a, b)
        log_z += weight[unit] * np.logaddexp.reduce(values)
        for path, p in zip(paths, weight[unit] * probability, strict=True):
            marginals[np.arange(a, b), path] += p
            np.add.at(pairs, (path[:-1], path[1:]), p)
    assert_allclose(value, log_z)
    assert_allclose(state.numpy(), marginals[order.tokens])
    assert_allclose(transition, pairs)


class Recorded(TorchDispatchMode):
    """What a graph of a GPU does: the same operations again, on the same memory.

    Anything that waits for a number is an error while it records.
    """

    def __init__(self):
        super().__init__()
        self.calls, self.n_replays = [], 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert function not in (aten._local_scalar_dense.default, aten._to_copy.default)
        assert not any(tag == torch.Tag.data_dependent_output for tag in function.tags)
        out = function(*args, **(kwargs or {}))
        self.calls.append((function, args, kwargs or {}, out))
        return out

    def replay(self):
        self.n_replays += 1
        for function, args, kwargs, out in self.calls:
            found = function(*args, **kwargs)
            if found.data_ptr() != out.data_ptr():
                out.copy_(found)


@for_each("criterion", ["log_loss", "piecewise"])
@for_each("y", [Y[:15], PARTIAL[:15]])
def test_recursions_can_be_captured_and_replayed(criterion, y):
    graphs = []

    class Stream:
        """Stands for streams, devices and contexts of CUDA."""

        def __init__(self, *_, **__): ...
        def wait_stream(self, other): ...
        def __enter__(self): ...
        def __exit__(self, *_): ...

    def captured(graph, stream):
        assert isinstance(stream, Stream)
        graphs.append(graph)
        return graph

    def run(chain):
        chain._graph = chain._graph or chain._captured()
        chain._graph.replay()

    with pytest.MonkeyPatch.context() as patch:
        for name in ("Stream", "stream", "current_stream", "device"):
            patch.setattr(torch.cuda, name, Stream)
        patch.setattr(torch.cuda, "CUDAGraph", Recorded)
        patch.setattr(torch.cuda, "graph", captured)
        patch.setattr(chains.DeviceChain, "run", run)
        problem = problem_of(CRF(criterion, constraints="IOB2", boundaries=True), X[:15], y)
        patch.setattr(on_device, "N_SCORES", 100 * problem.n_labels)
        device = assert_same(problem, rtol=1e-9)
        assert_same(problem, 1000.0, rtol=1e-9)
        assert len(graphs) == 2 * len(device.parts) > 2
        assert {graph.n_replays for graph in graphs} == {4 if None in y[0] + y[1] else 2}


def test_batches_by_the_memory_of_a_card(monkeypatch):
    free = {"mem_get_info": (2800, 0), "memory_reserved": 400, "memory_allocated": 400}
    memory = chains.Memory(5, np.float32, torch.device("cuda"))
    objective = types.SimpleNamespace(device=memory.device, _memory=memory)
    for known, n_tokens in (
        ({}, 10),
        ({"memory_allocated": 120}, 11),
        ({"mem_get_info": (9, 0)}, 1),
        ({"mem_get_info": (2**40, 0)}, (2**31 - 1) // 5),
    ):
        for name, value in {**free, **known}.items():
            monkeypatch.setattr(torch.cuda, name, lambda device, value=value: value)
        assert on_device.DeviceObjective._most_tokens(objective, 5) == n_tokens


class NoDoubles(TorchDispatchMode):
    """Some devices have no float64."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        given = (*args, *(kwargs or {}).values(), out)
        assert not any(getattr(a, "dtype", a) is torch.float64 for a in given), function
        return out


@for_each("criterion", CRITERIA)
@for_each("scale", [1.0, 1000.0])
def test_no_doubles_where_there_are_none(criterion, scale):
    with pytest.MonkeyPatch.context() as patch, NoDoubles():
        patch.setattr(chains.Memory, "widest", torch.float32)
        for y in (Y, PARTIAL) if criterion != "pseudo_likelihood" else (Y,):
            options = {"dtype": "float32", "boundaries": True}
            crf = CRF(criterion, **options)
            assert_same(problem_of(crf, X[:20], y[:20]), scale, rtol=1e-4)
        with pytest.warns(match="max_iter=3"):
            crf.set_params(device="cpu", max_iter=3).fit(X[:20], Y[:20])


@pytest.mark.parametrize("name", ["allow_tf32", "fp32_precision"])
def test_products_have_their_full_precision(monkeypatch, name):
    settings = torch.backends.cuda.matmul
    if not hasattr(settings, name):
        pytest.skip(f"this torch has no {name}")
    state = {
        "allow_tf32": lambda: settings.allow_tf32,
        "fp32_precision": lambda: settings.fp32_precision,
    }
    lower = {"allow_tf32": True, "fp32_precision": "tf32"}[name]
    before, seen = state[name](), []

    def called(self, *args, original=on_device.DeviceObjective.__call__):
        seen.append(getattr(settings, "fp32_precision", settings))
        return original(self, *args)

    monkeypatch.setattr(on_device.DeviceObjective, "__call__", called)
    setattr(settings, name, lower)
    try:
        with pytest.warns(match="max_iter"):
            CRF(device="cpu", dtype="float32", max_iter=2).fit(X, Y)
        assert state[name]() == lower and set(seen) <= {"ieee", settings}
    finally:
        setattr(settings, name, before)


def test_settings_of_torch_change_nothing():
    crf = CRF(device="cpu", dtype="float32").fit(X, Y)
    for context in (torch.autocast("cpu", torch.bfloat16), torch.device("meta")):
        with context:
            again = CRF(device="cpu", dtype="float32").fit(X, Y)
        assert_array_equal(again.transitions_, crf.transitions_)


def test_a_long_sequence_in_single_precision():
    rng, n = np.random.default_rng(5), 4
    offsets = np.array([0, 3000, 3010])
    scores = Scores.of(3 * rng.normal(size=(3010, n)), 3 * rng.normal(size=(n, n)))
    order = chains.TimeMajor(offsets)
    chain = chains.DeviceChain(order, np.ones(2), chains.Memory(n, np.float32, CPU))
    chain.scores.copy_(torch.tensor(scores.state[order.tokens]))
    value, state, transition = chain.expected(scores.transition)
    log_z, expected = Chain(offsets).log_partition_and_gradient(scores, np.ones(2))
    assert_allclose(value, log_z.sum(), rtol=1e-6)
    assert_allclose(state.numpy(), expected.state[order.tokens], atol=1e-3)
    assert_allclose(transition, expected.transition, rtol=1e-4)


@for_each("criterion", CRITERIA)
@for_each("options", [{}, {"features": "observed", "boundaries": True}])
def test_the_fitted_model_is_the_same(criterion, options):
    with warnings.catch_warnings(action="error"):
        here, there = (
            CRF(criterion, tol=1e-8, device=device, **options).fit(X, Y) for device in (None, "cpu")
        )
    assert_allclose(there.loss_curve_[-1], here.loss_curve_[-1], rtol=1e-6)
    assert there.converged_ and len(there.loss_curve_) == there.n_iter_
    for name in ("coef_", "transitions_", "begin_", "end_"):
        ours, theirs = (getattr(crf, name) for crf in (here, there))
        assert type(ours) is type(theirs) and ours.dtype == theirs.dtype
    assert_allclose(there.transitions_, here.transitions_, atol=0.02)
    assert there.predict(X).tolist() == here.predict(X).tolist()
    again = CRF(criterion, tol=1e-8, device=CPU, **options).fit(X, Y)
    assert_array_equal(again.transitions_, there.transitions_)


def test_features_that_a_function_chooses_and_weights_of_tokens():
    def choose(corpus, n_labels):
        rng = np.random.default_rng(0)
        pairs = rng.random((corpus.X.shape[1], n_labels)) < 0.5
        return Features(sp.csr_array(pairs), rng.random((n_labels, n_labels)) < 0.9)

    assert_same(problem_of(CRF(features=choose)))


def test_it_goes_on_from_earlier_weights_and_is_saved(tmp_path):
    crf, here = (CRF(device=d, warm_start=True, dtype="float32").fit(X, Y) for d in ("cpu", None))
    n_iter = crf.n_iter_
    assert crf.fit(X, Y).n_iter_ < n_iter
    assert_allclose(crf.loss_curve_[0], here.fit(X, Y).loss_curve_[0], rtol=1e-5)
    save_model(crf, tmp_path / "model")
    loaded, _ = load_model(tmp_path / "model")
    with pytest.raises(ValueError, match=r"it holds torch\.device"):
        save_model(CRF(device=CPU).fit(X[:5], Y[:5]), tmp_path / "other")
    assert loaded.device == "cpu" and loaded.predict(X).tolist() == crf.predict(X).tolist()


def test_progress_validation_and_interrupts(capsys):
    crf = CRF(device="cpu", validation_fraction=0.2, random_state=0, verbose=1).fit(X, Y)
    here = CRF(validation_fraction=0.2, random_state=0).fit(X, Y)
    assert "gradient norm" in capsys.readouterr().out
    assert len(crf.validation_curve_) == crf.n_iter_
    assert_allclose(min(crf.validation_curve_), min(here.validation_curve_), rtol=1e-3)
    with pytest.MonkeyPatch.context() as patch:
        calls = []

        def stop(self, *args, original=on_device.DeviceObjective.__call__):
            calls.append(1)
            if len(calls) == 6:
                raise KeyboardInterrupt
            return original(self, *args)

        patch.setattr(on_device.DeviceObjective, "__call__", stop)
        with pytest.warns(match="interrupted"):
            crf = CRF(device="cpu").fit(X, Y)
    assert crf.n_iter_ in (3, 4) and np.isfinite(crf.transitions_).all()
    with pytest.warns(match="max_iter"):
        assert CRF(device="cpu", max_iter=2).fit(X, Y).n_iter_ == 2


@for_each("when", [0, 1])
def test_an_interrupt_before_the_first_step_leaves_the_model_as_it_was(when):
    crf = CRF(device="cpu").fit(X, Y)
    before, calls = dict(vars(crf)), []

    def stop(self, *args, original=on_device.Part.add):
        calls.append(1)
        if len(calls) > when:
            raise KeyboardInterrupt
        return original(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_device.Part, "add", stop)
        for model in (crf, CRF(device="cpu")):
            calls.clear()
            with pytest.raises(KeyboardInterrupt):
                model.fit(X[:9], Y[:9])
    assert vars(crf) == before and not hasattr(model, "coef_")


class Callback:
    """Keeps the transitions of the first iterations, then stops training."""

    def __init__(self):
        self.transitions = []

    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...
    def on_fit_task_begin(self, estimator, context, **_): ...

    def on_fit_task_end(self, estimator, context, *, fitted_estimator, **_):
        self.transitions.append(fitted_estimator.transitions_)
        return len(self.transitions) == 5


def test_callbacks_see_the_weights_and_stop_training():
    pytest.importorskip("sklearn.callback")
    here, there = Callback(), Callback()
    for callback, device in ((here, None), (there, "cpu")):
        crf = CRF(device=device).set_callbacks(callback).fit(X, Y)
        assert crf.n_iter_ == 5 and crf.converged_
        assert_array_equal(callback.transitions[-1], crf.transitions_)
    assert_allclose(there.transitions, here.transitions, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"c1": 0.1}, 'does not have solver="owlqn"'),
        ({"solver": "sgd"}, 'does not have solver="sgd"'),
        ({"criterion": "max_margin"}, r"does not have criterion=MaxMargin\(\)"),
        ({"criterion": MCE(), "init": "zeros"}, "does not have criterion=MCE"),
        ({"edge_columns": ["w"]}, "does not have edge_columns"),
        ({"device": "nowhere"}, "device='nowhere' is not there, or"),
        ({"device": "cuda:99"}, "device='cuda:99' is not there"),
        ({"device": "meta"}, "device='meta' is not there, or has no sparse products of float64"),
        ({"device": "meta", "dtype": "float32"}, "sparse products of float32: "),
        ({"criterion": SoftmaxMargin(-1.0)}, "cost must be finite and not negative"),
    ],
)
def test_what_a_device_does_not_have(options, message):
    crf = CRF(**{"device": "cpu", **options})
    with pytest.raises(ValueError, match=message):
        crf.fit([[{"w": word} for word in x] for x in X], Y)
    assert not hasattr(crf, "coef_")


def test_parameters_of_crfsuite():
    items = [[[f"w={word}"] for word in x] for x in X]
    here, there = (CRFsuiteCRF(device=device).fit(items, Y) for device in (None, "cpu"))
    assert there.predict(items) == here.predict(items)
    assert_allclose(there.crf_.loss_curve_[-1], here.crf_.loss_curve_[-1], rtol=1e-6)
    for options, message in (
        ({"c1": 1.0}, 'does not have solver="owlqn"'),
        ({"algorithm": "l2sgd"}, 'does not have solver="sgd"'),
        ({"algorithm": "ap"}, 'device=cpu is not for algorithm="ap"'),
    ):
        with pytest.raises(ValueError, match=message):
            CRFsuiteCRF(device="cpu", **options).fit(items, Y)


def test_probabilities_of_labels_and_partial_fit_are_refused():
    with pytest.raises(ValueError, match="does not have labels with probabilities"):
        CRF(device="cpu").fit([["a"]], [np.array([[0.3, 0.7]])], labels=["x", "y"])
    with pytest.raises(ValueError, match="partial_fit has no device, but device='cpu'"):
        CRF(device="cpu").partial_fit(X, Y)
    with pytest.raises(TypeError):
        MEMM(device="cpu")
    with pytest.raises(ValueError, match="needs the label of every token"):
        CRF("pseudo_likelihood", device="cpu").fit(X, PARTIAL)


def test_torch_is_named_if_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="device='cpu' needs torch: pip install"):
        CRF(device="cpu").fit(X, Y)
