"""OpinionPoolCRF: against products of the distributions of its experts, and as an estimator."""

import pickle
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from forests import make_trees
from numpy.testing import assert_allclose
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from toy import make_corpus, with_tags

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    BoostedCRF,
    EmpiricalCRF,
    GraphArray,
    GraphCRF,
    OpinionPoolCRF,
    SequenceArray,
)
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.estimators.opinion_pool import MergedLabels, weighing
from sklearn_crcrf.estimators.opinion_pool import estimator as estimator_module
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures, Window

X, y = make_corpus(n_sequences=40)
X, y = [s[:5] for s in X], [s[:5] for s in y]
X, y = [*X, []], [*y, []]
NEW = [*X[:4], [], ["never", X[0][0], "seen"]]
EXPERTS = [
    ("crf", CRF(sigma=10.0, boundaries=True)),
    ("edges", CRF(edge_columns=["token"])),
    ("empirical", EmpiricalCRF()),
    ("hmm", HMM()),
    ("memm", MEMM()),
    ("lower", make_pipeline(TokenFeatures(["lower", "suffix2"]), CRF(dtype="float32"))),
]
OF_NUMBERS = [("crf", CRF(boundaries=True, tol=0.1)), ("hmm", HMM())]
COUNTED = [("empirical", EmpiricalCRF()), ("hmm", HMM())]


def pool_of(*names, **options):
    return OpinionPoolCRF([e for e in EXPERTS if e[0] in names], random_state=0, **options)


@parametrize_with_checks([OpinionPoolCRF(OF_NUMBERS, weights=[0.4, 0.6])])
def test_estimator_checks(estimator, check):
    check(estimator)


def expected_failures(estimator):
    reason = "what is held out depends on the number of samples"
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


@parametrize_with_checks(
    [OpinionPoolCRF(COUNTED, sample_unit="token", random_state=0)],
    expected_failed_checks=expected_failures,
)
def test_estimator_checks_with_learned_weights(estimator, check):
    check(estimator)


def path_probabilities(crf, x):
    """The probability of every path, in lexicographic order of labels."""
    (paths,) = crf.predict_k_best([x], len(crf.classes_) ** len(x))
    found = {tuple(path): p for path, p in paths}
    return np.array([found[path] for path in product(crf.classes_.tolist(), repeat=len(x))])


@pytest.mark.parametrize("weights", [None, [1, 2, 3, 4, 5, 6], [0, 1, 0, 0.5, 0, 0]], ids=str)
def test_the_pool_is_a_product_of_its_experts(weights):
    pool = OpinionPoolCRF(EXPERTS, weights=weights, random_state=0).fit(X, y)
    assert_allclose(pool.weights_.sum(), 1.0)
    for x in NEW:
        x = x[:3]
        powers = [
            path_probabilities(expert, x) ** weight
            for expert, weight in zip(pool.estimators_, pool.weights_, strict=True)
            if not isinstance(expert, Pipeline)
        ]
        inner = pool.estimators_[-1]
        (found,) = inner[-1].predict_k_best(inner[:-1].transform([x]), 4 ** len(x))
        found = {tuple(path): p for path, p in found}
        powers.append(
            np.array([found[path] for path in product("ABCD", repeat=len(x))]) ** pool.weights_[-1]
        )
        expected = np.prod(powers, axis=0)
        assert_allclose(path_probabilities(pool, x), expected / expected.sum(), atol=1e-7)


@for_each("name", [name for name, _ in EXPERTS])
def test_a_pool_of_one_is_the_expert(name):
    pool, expert = pool_of(name).fit(X, y), clone(dict(EXPERTS)[name]).fit(X, y)
    assert pool.weights_.tolist() == [1.0]
    assert pool.predict(NEW).tolist() == expert.predict(NEW).tolist()
    for p, q in zip(pool.predict_proba(NEW), expert.predict_proba(NEW), strict=True):
        assert_allclose(p, q, atol=1e-6)


def test_equal_experts_are_one():
    pool = OpinionPoolCRF([("a", HMM()), ("b", HMM())], random_state=0).fit(X, y)
    assert_allclose(pool.weights_, 0.5)
    expected = HMM().fit(X, y).predict_proba(NEW)
    assert_allclose(np.vstack(pool.predict_proba(NEW)), np.vstack(expected))


def test_weights_maximise_the_likelihood_of_what_is_held_out(monkeypatch):
    seen, weigh = [], estimator_module.weigh

    def spy(batches, *others):
        seen.append((batches, weigh(batches, *others)))
        return seen[-1][1]

    monkeypatch.setattr(estimator_module, "weigh", spy)
    pool = pool_of("crf", "hmm", "empirical", validation_fraction=0.4).fit(X, y)
    ((batches, result),) = seen
    weights = result.x
    assert pool.weights_.tolist() == weights.tolist()
    assert pool.converged_ and pool.n_iter_ == len(pool.loss_curve_) > 1
    assert pool.loss_curve_[-1] == min(pool.loss_curve_)

    def loss(weights):
        return sum(
            batch.weight @ log_loss(batch.structure, batch.scores.scores(weights), batch.y)[0]
            for batch in batches
        )

    best = loss(weights)
    for other in [np.ones(3) / 3, *np.random.default_rng(0).dirichlet(np.ones(3), 200)]:
        assert best <= loss(other) + 1e-4
    assert sum(len(batch.weight) for batch in batches) == 16
    assert_allclose(pool.loss_curve_[-1], best / 16)


def test_learning_the_weights_ends_at_the_minimum(monkeypatch):
    calls = []

    def spy(*args):
        calls.append(args)
        return log_loss(*args)

    monkeypatch.setattr(weighing, "log_loss", spy)
    pool = pool_of("crf", "hmm", "empirical").fit(X, y)
    assert pool.converged_ and pool.n_iter_ > 1
    assert len(calls) <= 2 * pool.n_iter_ + 2  # of one batch, with few steps that are too long


def test_given_weights_take_no_iterations():
    pool = pool_of("crf", "hmm", weights=[1, 2]).fit(X, y)
    assert (pool.n_iter_, pool.loss_curve_, pool.converged_) == (0, [], True)


def test_it_tells_how_the_weights_are_learned(capsys):
    pool = pool_of("crf", "hmm", verbose=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"iteration {n}" for n in range(2, pool.n_iter_ + 1, 2)
    ]


def test_too_few_iterations(monkeypatch):
    monkeypatch.setattr(weighing, "MAX_ITER", 1)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        pool = pool_of("crf", "hmm", "empirical").fit(X, y)
    assert pool.n_iter_ == 1 and not pool.converged_


def test_the_distance_of_a_pool():
    """KL(q, pool) = sum_k w_k KL(q, p_k) - sum_k w_k KL(pool, p_k), Smith et al. (2005)."""
    pool = pool_of("crf", "hmm", "memm", weights=[0.2, 0.5, 0.3]).fit(X, y)
    x = X[0][:3]
    experts = [path_probabilities(expert, x) for expert in pool.estimators_]
    pooled = path_probabilities(pool, x)
    q = np.random.default_rng(0).dirichlet(np.ones(len(pooled)))

    def distance(p, r):
        return (xlogy(p, p) - xlogy(p, r)).sum()

    ambiguity = sum(
        w * (distance(q, p) - distance(pooled, p))
        for w, p in zip(pool.weights_, experts, strict=True)
    )
    assert_allclose(distance(q, pooled), ambiguity, atol=1e-9)


def test_a_bad_expert_has_no_weight():
    rng = np.random.default_rng(0)
    shuffled = [list(rng.permutation(list("ABCD") * 2)[: len(s)]) for s in y]
    bad = FrozenEstimator(HMM().fit(X, shuffled))
    pool = OpinionPoolCRF([("good", HMM()), ("bad", bad)], random_state=0)
    pool.set_params(validation_fraction=0.5).fit(X * 3, y * 3)
    assert pool.weights_[1] < 0.1


def test_fitted_experts_stay_as_they_are():
    frozen = FrozenEstimator(CRF().fit(X[:10], y[:10]))
    pool = OpinionPoolCRF([("frozen", frozen), ("hmm", HMM())], random_state=0).fit(X[10:], y[10:])
    assert pool.estimators_[0] is frozen
    search = GridSearchCV(make_pipeline(Window([0]), CRF()), {"crf__sigma": [0.1, 1.0]}, cv=2)
    pool = OpinionPoolCRF([("search", search), ("hmm", HMM())], random_state=0).fit(X, y)
    assert pool.predict(NEW).shape == (len(NEW),)


@pytest.mark.parametrize(
    ("expert", "message"),
    [
        (EmpiricalCRF(order=2), "expert 'other': order=2 needs sequences"),
        (GraphCRF(), "expert 'other': X has types .* GraphCRF cannot score on a Forest, but CRF"),
        (MergedLabels(BoostedCRF(), ["N"]), "expert 'other': X has types or attributes of edges"),
    ],
)
def test_structures_that_an_expert_does_not_take(expert, message, monkeypatch):
    """Nothing is fitted before."""
    trees, labels = make_trees(20, edge_type="direction")
    monkeypatch.setattr(HMM, "fit", None)
    with pytest.raises(ValueError, match=message):
        OpinionPoolCRF([("hmm", HMM()), ("other", expert)]).fit(trees, labels)
    rings = GraphArray.from_edges([list("abc")] * 9, [[(0, 1), (1, 2), (2, 0)]] * 9)
    with pytest.raises(ValueError, match="sample 0 has a cycle"):
        OpinionPoolCRF([("hmm", HMM()), ("other", expert)]).fit(rings, [list("DNV")] * 9)


def test_what_cannot_be_an_expert():
    for expert in (LogisticRegression(), make_pipeline(Window(), LogisticRegression())):
        with pytest.raises(ValueError, match="expert 'other': it must be a sequence classifier"):
            OpinionPoolCRF([("crf", CRF()), ("other", expert)]).fit(X, y)
    with pytest.raises(ValueError, match=r"expert 'second': .* HigherOrderChain"):
        OpinionPoolCRF([("crf", CRF()), ("second", EmpiricalCRF(order=2))]).fit(X, y)
    fitted = HMM().fit(X, [[{"A": "B"}.get(label, label) for label in s] for s in y])
    with pytest.raises(ValueError, match="expert 'few' does not know the label 'A'"):
        OpinionPoolCRF([("few", FrozenEstimator(fitted)), ("crf", CRF())], random_state=0).fit(X, y)
    impossible = HMM(transition_smoothing=0.0)
    with pytest.raises(ValueError, match="expert 'zeros' gives labels of held-out"):
        OpinionPoolCRF(
            [("zeros", impossible), ("crf", CRF())], validation_fraction=0.8, random_state=0
        ).fit(X, y)


@for_each(
    ("parameters", "message"),
    [
        ({"estimators": []}, "not empty"),
        ({"estimators": [CRF()]}, "list of"),
        ({"estimators": [("a", CRF()), ("a", CRF())]}, "not unique"),
        ({"estimators": [("a", "drop")]}, "all experts are dropped"),
        ({"weights": [1.0, 2.0, 3.0]}, "weights has shape"),
        ({"weights": [1.0, -1.0]}, "not negative"),
        ({"weights": [0.0, 0.0]}, "not all zero"),
        ({"validation_fraction": 0.99}, "leaves nothing of 40 sequences to train on"),
        ({"validation_fraction": 1.0}, "'validation_fraction'"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        OpinionPoolCRF([("a", CRF()), ("b", HMM())]).set_params(**parameters).fit(X, y)


def test_bad_input_is_named():
    pool = pool_of("crf", "hmm")
    for inputs, message in [
        ((X, None), "requires y"),
        (([[], []], [[], []]), "X has no tokens"),
        ((X, y, np.zeros(len(X))), "sample_weight is zero"),
        ((X, y[:-1]), "sequences"),
    ]:
        with pytest.raises(ValueError, match=message):
            pool.fit(*inputs)


def test_errors_name_sequences_by_their_place_in_all_data():
    labels = [list(of) for of in y]
    labels[30][1] = np.nan
    with pytest.raises(ValueError, match="y, sequence 30, position 1"):
        OpinionPoolCRF(COUNTED, random_state=0).fit(X, labels)


def test_parameters_of_experts():
    pool = pool_of("crf", "hmm")
    assert pool.get_params()["crf__sigma"] == 10.0
    pool.set_params(crf__sigma=2.0, hmm="drop")
    assert pool.named_estimators["crf"].sigma == 2.0
    pool.fit(X, y)
    assert list(pool.named_estimators_) == ["crf"]
    assert pool.weights_.tolist() == [1.0]
    twin = clone(pool)
    assert twin.get_params()["crf__sigma"] == 2.0
    assert not hasattr(twin, "classes_")


def test_search_in_a_pipeline():
    pool = pool_of("crf", "hmm")
    pipeline = Pipeline([("tokens", TokenFeatures(["lower", "suffix2"])), ("pool", pool)])
    grid = {"pool__crf__sigma": [0.3, 3.0], "pool__weights": [None, [0.5, 0.5]]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    refitted = clone(search.best_estimator_).fit(X, y)
    assert search.predict(X).tolist() == refitted.predict(X).tolist()


def test_containers():
    pool = pool_of("crf", "empirical", "hmm").fit(X, y)
    expected = np.vstack(pool.predict_proba(NEW))
    flat = SequenceArray.from_sequences
    again = clone(pool).fit(flat(X), flat(y))
    assert_allclose(again.weights_, pool.weights_)
    assert isinstance(again.predict(flat(NEW)), SequenceArray)
    assert_allclose(again.predict_proba(flat(NEW)).data, expected)
    assert_allclose(
        cross_val_score(pool, flat(X), flat(y), cv=3), cross_val_score(pool, X, y, cv=3)
    )
    dicts = clone(pool).fit(with_tags(X), y)
    assert dicts.predict(with_tags(NEW)).shape == (len(NEW),)
    inside = OpinionPoolCRF([("pool", pool), ("crf", CRF())], random_state=0).fit(X, y)
    assert inside.predict(NEW).shape == (len(NEW),)
    vectors = make_pipeline(SequenceVectorizer(), OpinionPoolCRF(OF_NUMBERS, random_state=0))
    assert vectors.fit(X, y).score(X, y) > 0.6


def test_frames():
    pd = pytest.importorskip("pandas")
    words = [w for s in X for w in s]
    index = pd.MultiIndex.from_tuples([(i, t) for i, s in enumerate(X) for t in range(len(s))])
    frame = pd.DataFrame({"word": words}, index=index)
    pool = pool_of("crf", "hmm", sample_unit="token").fit(frame, np.concatenate(y))
    assert pool.predict(frame).shape == (len(words),)
    shuffled = frame.sample(frac=1, random_state=0)
    labels = pd.Series(np.concatenate(y), index=index)[shuffled.index]
    weights = np.ones(len(words))
    again = clone(pool).fit(shuffled, labels, sample_weight=weights)
    assert again.score(shuffled, labels) > 0.6


def test_tables_and_transformers_of_rows():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(90, 3)), rng.integers(3, size=90)
    rows[:, 0] += 2 * labels
    experts = [("scaled", make_pipeline(StandardScaler(), CRF(boundaries=True))), ("hmm", HMM())]
    pool = OpinionPoolCRF(experts, sample_unit="token", random_state=0).fit(rows, labels)
    assert pool.predict(rows).shape == (90,)
    assert pool.score(rows, labels, rng.uniform(size=90)) > 0.6
    sparse = OpinionPoolCRF(OF_NUMBERS, random_state=0).fit(sp.coo_array(abs(rows)), labels)
    assert sparse.predict_proba(sp.csr_array(abs(rows))).shape == (90, 3)


def test_sample_weights():
    weights = np.arange(len(X)) % 3
    copies = [i for i, n in enumerate(weights) for _ in range(n)]
    pool = OpinionPoolCRF(OF_NUMBERS, weights=[0.3, 0.7]).set_params(crf__tol=1e-12)
    weighted = clone(pool).fit(X, y, sample_weight=weights).predict_proba(NEW)
    copied = clone(pool).fit([X[i] for i in copies], [y[i] for i in copies]).predict_proba(NEW)
    assert_allclose(np.vstack(weighted), np.vstack(copied), atol=1e-5)
    learned = pool_of("crf", "hmm", "lower")
    ones = clone(learned).fit(X, y, sample_weight=np.ones(len(X)))
    assert_allclose(ones.weights_, clone(learned).fit(X, y).weights_, atol=1e-6)
    nested = [[float(w)] * len(s) for w, s in zip(weights, X, strict=True)]
    expected = clone(learned).fit(X, y, sample_weight=weights)
    assert_allclose(clone(learned).fit(X, y, sample_weight=nested).weights_, expected.weights_)


def test_labels_that_are_rare_or_unknown():
    pool = pool_of("crf", "edges", validation_fraction=0.3)
    rare = [["E", *s[1:]] if i == 3 else s for i, s in enumerate(y)]
    assert pool.fit(X, rare).classes_.tolist() == list("ABCDE")
    partial = [[None, *s[1:]] if i % 5 == 0 and s else s for i, s in enumerate(y)]
    assert pool.fit(X, partial).classes_.tolist() == list("ABCD")
    all_held_out = [[f"{i}"] * len(s) for i, s in enumerate(y)]
    with pytest.warns(UserWarning, match="has labels that the experts know"):
        assert pool.fit(X, all_held_out).weights_.tolist() == [0.5, 0.5]
    assert (pool.n_iter_, pool.loss_curve_, pool.converged_) == (0, [], True)


def test_a_failed_or_interrupted_fit_leaves_the_pool_as_it_was(monkeypatch):
    pool = pool_of("crf", "hmm").fit(X, y)
    before = dict(vars(pool))

    def stop(*args):
        raise KeyboardInterrupt

    with pytest.raises(ValueError, match="sequences"):
        pool.fit(X, y[1:])
    for name in ("fit_expert", "weigh"):
        monkeypatch.setattr(estimator_module, name, stop)
        with pytest.raises(KeyboardInterrupt):
            pool.fit(X[:10], y[:10])
    assert vars(pool) == before


def test_threads_and_storing():
    pools = [pool_of("crf", "hmm", "memm", n_jobs=n).fit(X, y) for n in (1, 2)]
    assert pools[0].weights_.tolist() == pools[1].weights_.tolist()
    loaded = pickle.loads(pickle.dumps(pools[0]))
    for pool in (pools[1], loaded):
        for p, q in zip(pool.predict_proba(NEW), pools[0].predict_proba(NEW), strict=True):
            assert np.array_equal(p, q)
    assert not hasattr(pools[0], "_given")


def test_a_pool_is_as_good_as_its_experts():
    words, labels = make_corpus(seed=3, n_sequences=150)
    weak = CRF(sigma=10.0)
    experts = [
        ("all", make_pipeline(Window([-1, 0, 1]), weak)),
        ("word", make_pipeline(TokenFeatures(["suffix2", "lower"]), weak)),
        ("hmm", HMM()),
    ]
    train, test = (words[:100], labels[:100]), (words[100:], labels[100:])
    pool = OpinionPoolCRF(experts, random_state=0).fit(*train)
    alone = [clone(expert).fit(*train).score(*test) for _, expert in experts]
    assert pool.score(*test) > max(alone) - 0.02


@for_each("weights", [{"crf": 1.0}, frozenset([1.0]), ["a", "b"], [[1], [1, 2]]])
def test_weights_must_be_numbers(weights):
    with pytest.raises(ValueError, match="weights must be a number for each expert"):
        pool_of("crf", "hmm", weights=weights).fit(X, y)


def test_experts_must_know_a_common_label():
    sets = [[frozenset([label]) for label in labels] for labels in y]  # for HMM, labels themselves
    with pytest.raises(ValueError, match="the estimators must know a common label"):
        pool_of("crf", "hmm").fit(X, sets)
