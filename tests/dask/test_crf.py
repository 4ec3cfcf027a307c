"""CRF on workers: the objective of one machine, and the same bits whatever the workers."""

import dask
import numpy as np
import pytest
from dask.sizeof import sizeof
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_crcrf import CRF, HMM, EmpiricalCRF
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.dask import DaskCRF, DaskEmpiricalCRF, computing, read_conll, shards
from sklearn_crcrf.dask.sizes import register_sizes
from sklearn_crcrf.datasets import write_conll
from sklearn_crcrf.linear import Weights
from sklearn_crcrf.linear.parts import read_part
from sklearn_crcrf.out_of_core import write_corpus
from sklearn_crcrf.training.monitor import listening

SOME = [
    (8, {}),
    (2, {"features": "observed", "boundaries": True, "min_freq": 2}),
    (8, {"c1": 0.1, "edge_columns": ["last"], "tol": 1e-3}),
    (8, {"criterion": "pseudo_likelihood", "constraints": "IOB2", "n_jobs": 2}),
]


@pytest.fixture(scope="module")
def columns(corpus):
    """Tokens with two attributes, and labels."""
    X, y = corpus
    return [[{"word": word, "last": word[-1:]} for word in words] for words in X], y


def weights_of(model):
    coef = model.coef_ if isinstance(model.coef_, np.ndarray) else model.coef_.toarray()
    return Weights(coef, model.transitions_, model.begin_, model.end_, model.edge_coef_)


@pytest.mark.parametrize("fan_in, params", SOME)
def test_the_minimum_is_that_of_one_fit(fan_in, params, columns, in_parts, monkeypatch):
    monkeypatch.setattr(shards, "FAN_IN", fan_in)
    X, y = columns
    model, one = DaskCRF(**params).fit(in_parts(X), in_parts(y)), CRF(**params).fit(X, y)
    assert model.classes_.tolist() == one.classes_.tolist()
    assert_array_equal(model.attribute_names_, one.attribute_names_)
    assert type(model.coef_) is type(one.coef_)
    assert model.loss_curve_[0] == pytest.approx(one.loss_curve_[0], rel=1e-12)
    assert model.loss_curve_[-1] == pytest.approx(one.loss_curve_[-1], rel=1e-9)
    for mine, other in zip(weights_of(model), weights_of(one), strict=True):
        assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
    assert vars(model.to_local()).keys() == vars(one).keys()
    assert model.predict(in_parts(X)).compute() == one.predict(X).tolist()


def test_loss_and_gradient_are_those_of_one_machine(columns, in_parts, monkeypatch, client):
    X, y = columns
    given, found = {"features": "observed", "boundaries": True, "sigma": 0.7}, {}

    def at_random(self, problem, *args, **options):
        w = np.random.default_rng(0).normal(size=problem.terms().n_weights)
        found[type(self)] = w, problem.objective()(w)
        original(self, problem, *args, **options)

    original = CRF._train
    monkeypatch.setattr(CRF, "_train", at_random)
    for fan_in, on in ((8, None), (2, client)):
        monkeypatch.setattr(shards, "FAN_IN", fan_in)
        found.clear()
        DaskCRF(**given, tol=1.0, client=on).fit(in_parts(X), in_parts(y))
        CRF(**given, tol=1.0).fit(X, y)
        (w, (loss, gradient)), (same, (expected, expected_gradient)) = found.values()
        assert_array_equal(w, same)
        assert loss == pytest.approx(expected, rel=1e-12)
        assert_allclose(gradient, expected_gradient, rtol=0, atol=1e-12 * abs(gradient).max())


def test_the_same_bits_whatever_the_workers(columns, in_parts, client, own_client, monkeypatch):
    monkeypatch.setattr(shards, "FAN_IN", 3)
    X, y = columns
    models = [
        DaskCRF(features="observed", tol=0.1, client=it).fit(in_parts(X), in_parts(y))
        for it in (None, client, own_client(1))
    ]
    for model in models[1:]:
        assert model.loss_curve_ == models[0].loss_curve_
        for mine, other in zip(weights_of(model), weights_of(models[0]), strict=True):
            assert_array_equal(mine, other)


def test_every_worker_has_as_many_parts(in_parts, client):
    parts = in_parts([["a"]] * 6, [0, 1, 2, 3, 4, 5, 6], bag=False)
    held = computing.persist_evenly(parts, client)
    assert client.gather(held) == [[["a"]]] * 6
    where = [client.who_has([future])[future.key] for future in held]
    assert where[:3] == [where[0]] * 3 and where[3:] == [where[3]] * 3 and where[0] != where[3]
    assert len(computing.persist_evenly(parts[:1], client)) == 1


def test_float32_on_the_wire(columns, in_parts, client, monkeypatch):
    monkeypatch.setattr(shards, "FAN_IN", 3)
    X, y = columns
    given = {"features": "observed", "wire_dtype": "float32", "tol": 1e-3}
    sent, add = [], shards._add

    def spy(within, results, *how):
        total = add(within, results, *how)
        sent.extend([total[1].dtype, *(own.dtype for _, own in results)])
        return total

    monkeypatch.setattr(shards, "_add", spy)
    model = DaskCRF(**given).fit(in_parts(X), in_parts(y))
    assert set(sent) == {np.dtype("float32")} and model.coef_.dtype == np.float64
    monkeypatch.undo()
    monkeypatch.setattr(shards, "FAN_IN", 3)
    on_workers = DaskCRF(**given, client=client).fit(in_parts(X), in_parts(y))
    assert on_workers.loss_curve_ == model.loss_curve_
    one = CRF(features="observed", tol=1e-3).fit(X, y)
    assert model.converged_
    assert model.loss_curve_[0] == pytest.approx(one.loss_curve_[0], rel=1e-7)
    assert model.loss_curve_[-1] == pytest.approx(one.loss_curve_[-1], rel=1e-5)
    assert clone(model).wire_dtype == "float32" and "wire_dtype" not in vars(model.to_local())
    with pytest.raises(ValueError, match="wire_dtype"):
        DaskCRF(wire_dtype="float16").fit(in_parts(X), in_parts(y))


def test_corpus_folders(corpus, in_parts, client, tmp_path):
    cuts = [0, 9, 24, 40]
    X, y = ([sequence for sequence in data if sequence] for data in corpus)
    texts = [tmp_path / f"{k}.txt" for k in range(3)]
    for path, a, b in zip(texts, cuts, cuts[1:], strict=False):
        write_conll(path, X[a:b], y[a:b])
    first = write_corpus(texts[:2], tmp_path / "first")
    second = write_corpus(texts[2:], tmp_path / "second")
    given = {"features": "observed", "tol": 0.1}
    model = DaskCRF(**given, client=client).fit([first, second])
    expected = DaskCRF(**given).fit(*read_conll(texts))
    assert model.loss_curve_ == expected.loss_curve_
    assert_array_equal(model.coef_.data, expected.coef_.data)
    counted, one = DaskEmpiricalCRF(client=client).fit([first, second]), EmpiricalCRF().fit(X, y)
    assert counted.counts_ == one.counts_
    assert counted.predict(X).tolist() == one.predict(X).tolist()
    for wrong in ({"y": in_parts(y)}, {"sample_weight": in_parts(y)}):
        with pytest.raises(ValueError, match="a CorpusFolder has its own labels"):
            DaskCRF().fit(first, **wrong)
    with pytest.raises(TypeError, match=r"y must be a dask\.bag\.Bag or a list"):
        DaskCRF().fit(in_parts(X))
    without = write_corpus(texts[:1], tmp_path / "without", columns=["word", None])
    with pytest.raises(ValueError, match="without has no labels to train on"):
        DaskEmpiricalCRF().fit(without)


def test_rows_of_numbers_and_weights(in_parts):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(5, 3)).astype(np.float32) for _ in range(8)]
    y = [(rows[:, 0] > 0).astype(int).tolist() for rows in X]
    weight = [1.0, 2.0, 0.5, 1.0, 0.0, 1.0, 3.0, 1.0]
    cuts = [0, 3, 8]
    model = DaskCRF(boundaries=True).fit(
        in_parts(X, cuts), in_parts(y, cuts), in_parts(weight, cuts)
    )
    one = CRF(boundaries=True).fit(X, y, weight)
    assert model.coef_.dtype == one.coef_.dtype == np.float32
    assert model.n_features_in_ == 3
    assert_allclose(model.coef_, one.coef_, rtol=1e-2, atol=1e-2)
    mixed = [*X[:3], *(rows.astype(float) for rows in X[3:])]
    model.fit(in_parts(mixed, cuts), in_parts(y, cuts))
    assert model.coef_.dtype == np.float64


@pytest.mark.parametrize(
    "params, message",
    [
        ({"class_weight": "balanced"}, "class_weight='balanced' needs all data at once"),
        ({"validation_fraction": 0.1}, "validation_fraction=0.1 needs all data at once"),
        ({"init": HMM()}, r"init=HMM\(\) needs all data at once"),
        ({"features": len}, "features=.* needs all data at once"),
        ({"solver": "sgd"}, 'solver="sgd" needs all data at once'),
        ({"criterion": "mce_f1"}, "criterion=.* needs all data at once"),
        ({"c1": 0.1, "solver": "lbfgs"}, 'c1=0.1 needs solver="owlqn"'),
    ],
)
def test_refused_before_any_work(params, message):
    def untouched():
        raise AssertionError("work was done")

    X = [dask.delayed(untouched)()]
    with pytest.raises(ValueError, match=message):
        DaskCRF(**params).fit(X, X)


def test_from_the_maximum_of_the_likelihood_and_from_the_last_weights(columns, in_parts):
    X, y = columns
    given = {"criterion": "softmax_margin", "init": "log_loss", "tol": 1e-2, "warm_start": True}
    model, one = DaskCRF(**given), CRF(**given)
    for cut in (30, 40):
        cuts = [0, 9, 9, cut]
        model.fit(in_parts(X[:cut], cuts), in_parts(y[:cut], cuts))
        one.fit(X[:cut], y[:cut])
        assert model.loss_curve_[0] == pytest.approx(one.loss_curve_[0], rel=1e-3)
        assert model.loss_curve_[-1] == pytest.approx(one.loss_curve_[-1], rel=1e-2)


def test_errors_say_in_which_part(corpus, in_parts, client):
    X, y = corpus
    partial = [*y[:20], [None] * len(y[20]), *y[21:]]
    with pytest.raises(ValueError, match="part 3: y, sequence 4, position 0"):
        DaskCRF(client=client).fit(in_parts(X), in_parts(partial))
    with pytest.raises(ValueError, match=r"part \d: .*constraints do not allow"):
        DaskCRF(constraints={"O": ["O"]}).fit(in_parts(X), in_parts(y))
    with pytest.raises(ValueError, match="X has no tokens"):
        DaskCRF().fit(in_parts([[], []], [0, 1, 2]), in_parts([[], []], [0, 1, 2]))


def test_an_interrupt_keeps_the_last_iteration(columns, in_parts, client):
    X, y = columns

    def interrupt(iteration):
        if iteration.number == 3:
            raise KeyboardInterrupt

    with listening(interrupt), pytest.warns(match="it was interrupted"):
        model = DaskCRF(client=client).fit(in_parts(X), in_parts(y))
    assert model.n_iter_ == 3 and not model.converged_


def test_parts_and_shards_say_how_large_they_are(columns):
    register_sizes()
    part = shards._read(read_part, CRF(), 0, *columns, None)
    survey = shards._survey(part)
    shard = shards._shard(0, part, survey.shape(), log_loss)
    least = 12 * part.corpus.X.nnz
    assert least < sizeof(part) < 20 * least and least < sizeof(shard) < 20 * least
    assert sizeof(survey) > survey.pairs.nbytes + survey.links.nbytes
    model = CRF(tol=1.0).fit(*columns)
    assert model.coef_.nbytes < sizeof(model) < 3 * model.coef_.nbytes
