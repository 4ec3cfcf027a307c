"""What is learned, against perceptrons that enumerate all labellings."""

import numpy as np
import pytest
from example_paths import Case, cases, flat, shaped
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.estimators.perceptron import ArowCRF, PassiveAggressiveCRF, learning
from sklearn_crcrf.estimators.perceptron.learning import LEARNERS, Learned
from sklearn_crcrf.estimators.perceptron.voting import count_votes

seeds = st.integers(0, 2**32 - 1)


def by_definition(case: Case, orders):
    """The weights after each example, and the labels that were found in the last epoch."""
    w, versions = np.zeros(flat(case.examples().zeros()).size), []
    for order in orders:
        found = {}
        for s in order:
            best, _ = case.best(s, w, 0.0)
            found[s] = case.taken(s, best)
            if found[s] != case.gold(s):
                gold = case.features(s, case.gold(s))
                w = w + case.corpus.weight[s] * (gold - case.features(s, found[s]))
            versions.append(w)
    return np.array(versions), found


def learn(case, averaging, orders):
    examples = case.examples()
    nothing = examples.zeros()
    learner = LEARNERS[averaging](Learned(nothing, nothing, 0))
    for order in orders:
        found = learner.learn(examples, order)
    return learner, found


def random_orders(case, seed, n_epochs=3):
    rng, filled = np.random.default_rng(seed), np.flatnonzero(np.diff(case.corpus.offsets))
    return [rng.permutation(filled) for _ in range(n_epochs)]


def votes_by_definition(case, versions, allowed=None):
    votes = np.zeros((len(case.corpus.y), case.n_labels), dtype=int)
    for s, start in enumerate(case.corpus.offsets[:-1]):
        paths = list(case.paths(s))
        if allowed is not None:
            paths = [p for p in paths if all(allowed[start + t, j] for t, j in enumerate(p))]
        features = np.array([case.features(s, path) for path in paths])
        for w in versions:
            values = features @ w
            best = [p for p, v in zip(paths, values, strict=True) if v == values.max()]
            for t, j in enumerate(case.taken(s, best)):
                votes[start + t, j] += 1
    return votes


@given(cases(dtypes=[np.float64]), seeds)
def test_weights_of_all_kinds(case, seed):
    orders = random_orders(case, seed)
    assume(len(orders[0]))
    versions, last_found = by_definition(case, orders)
    for averaging, expected in (
        ("none", versions[-1]),
        ("mean", versions.mean(axis=0)),
        ("vote", versions.mean(axis=0)),
    ):
        learner, found = learn(case, averaging, orders)
        for s, path in last_found.items():
            start, stop = case.corpus.offsets[s : s + 2]
            assert tuple(found[start:stop]) == path
        learned = learner.learned()
        assert_allclose(flat(learned.weights), expected, atol=1e-12)
        assert_array_equal(flat(learned.last), versions[-1])
        assert learned.n_seen == len(versions)
    history = learned.history
    assert history.votes.sum() == len(versions)
    # Every version stands for those examples after which the weights were these.
    distinct = np.append(True, (np.diff(versions, axis=0) != 0).any(axis=1))
    assert np.count_nonzero(history.votes) >= distinct.sum()
    assert_array_equal(
        count_votes(history, case.examples(), None), votes_by_definition(case, versions)
    )


@given(cases(dtypes=[np.float64]), seeds)
def test_votes_for_labels_that_are_allowed(case, seed):
    orders = random_orders(case, seed, 2)
    assume(len(orders[0]))
    rng = np.random.default_rng(seed)
    allowed = rng.random((len(case.corpus.y), case.n_labels)) < 0.5
    allowed[np.arange(len(case.corpus.y)), case.corpus.y] = True
    versions, _ = by_definition(case, orders)
    history = learn(case, "vote", orders)[0].learned().history
    assert_array_equal(
        count_votes(history, case.examples(), allowed),
        votes_by_definition(case, versions, allowed),
    )


@given(cases(), seeds, st.sampled_from(sorted(LEARNERS)))
def test_learning_goes_on_from_what_was_learned(case, seed, averaging):
    orders, examples = random_orders(case, seed, 4), case.examples()
    whole, _ = learn(case, averaging, orders)
    learner, _ = learn(case, averaging, orders[:2])
    again = learner.copy()
    for order in orders[2:]:
        again.learn(examples, order)
    assert learner.learned().n_seen == 2 * len(orders[0])
    expected, learned = whole.learned(), again.learned()
    tolerance = 1e-4 if case.corpus.X.dtype == np.float32 else 1e-10
    assert_allclose(flat(learned.weights), flat(expected.weights), atol=tolerance)
    assert_array_equal(flat(learned.last), flat(expected.last))
    if averaging == "vote":
        assert_array_equal(learned.history.votes, expected.history.votes)


@given(cases(dtypes=[np.float64]), seeds)
def test_histories_start_from_given_weights(case, seed):
    zeros = case.examples().zeros()
    w = np.random.default_rng(seed).integers(-2, 3, size=flat(zeros).size).astype(float)
    start = shaped(w, zeros)
    orders = random_orders(case, seed, 1)
    learner = LEARNERS["vote"](Learned(start, start, 0))
    learner.learn(case.examples(), orders[0])
    history, last = learner.learned().history, np.zeros_like(w)
    for version in range(len(history.votes)):
        for part, changes in zip(
            (slice(0, zeros.state.size), slice(zeros.state.size, None)), history[2:], strict=True
        ):
            row, column, value = changes.entries(version)
            matrix = np.zeros(zeros.state.shape if part.start == 0 else zeros.pairs.shape)
            np.add.at(matrix, (row, column), value)
            last[part] += matrix.ravel()
    assert_array_equal(last, flat(learner.learned().last))


@pytest.mark.parametrize("averaging", LEARNERS)
@given(
    case=cases(dtypes=[np.float64]), seed=seeds, name=st.sampled_from(["correct", "differences"])
)
def test_an_interrupted_epoch_changes_nothing(averaging, case, seed, name):
    orders, examples = random_orders(case, seed, 2), case.examples()
    learner, _ = learn(case, averaging, orders[:1])
    where = learning if name == "correct" else examples
    before, whole = learner.learned(), getattr(where, name)

    def interrupted(*args):
        whole(*args)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, interrupted)
        if averaging != "none" or name != "differences":
            with pytest.raises(KeyboardInterrupt):
                learner.learn(examples, orders[1])
    after = learner.learned()
    assert_array_equal(flat(after.weights), flat(before.weights))
    assert_array_equal(flat(after.last), flat(before.last))
    assert after.n_seen == before.n_seen
    learner.learn(examples, orders[1])
    expected, _ = learn(case, averaging, orders)
    assert_array_equal(flat(learner.learned().weights), flat(expected.learned().weights))


def steps_by_definition(case, orders, power, sizes, variance):
    """The weights after each example, up to a near tie, which rounding errors would decide."""
    w = np.zeros(flat(case.examples().zeros()).size)
    v, versions = np.full(w.size, variance), []
    for s in np.concatenate(orders):
        best, _ = case.best(s, w, 0.0)
        values = np.array([case.features(s, path) @ w for path in case.paths(s)])
        if w.any() and (values > values.max() - 1e-9).sum() > 1:
            break
        found, gold = case.taken(s, best), case.gold(s)
        d = case.features(s, gold) - case.features(s, found)
        bound, slack, spread = sizes(case.corpus.weight[s])
        if found != gold and d.any() and case.corpus.weight[s]:
            wrong = sum(a != b for a, b in zip(found, gold, strict=True))
            size = min(bound, (wrong**power - w @ d) / (v @ d**2 + slack))
            w, v = w + size * v * d, 1 / (1 / v + d**2 / spread)
        versions.append(w)
    return np.array(versions)


@pytest.mark.parametrize(
    ("crf", "power", "sizes", "variance"),
    [
        (PassiveAggressiveCRF(0.3), 0.5, lambda u: (0.3 * u, 0, np.inf), 1.0),
        (PassiveAggressiveCRF(np.inf, margin="one"), 0, lambda u: (np.inf, 0, np.inf), 1.0),
        (
            PassiveAggressiveCRF(0.3, "squared_hinge", averaging="none"),
            0.5,
            lambda u: (np.inf, 1 / (0.6 * u), np.inf),
            1.0,
        ),
        (ArowCRF(2.0, 0.7), 1, lambda u: (np.inf, 0.7 / u, 0.7 / u), 2.0),
    ],
)
@settings(max_examples=20)
@given(case=cases(dtypes=[np.float64]), seed=seeds)
def test_steps_that_depend_on_the_margin(case, seed, crf, power, sizes, variance):
    assume((case.corpus.weight > 0).all())
    orders = random_orders(case, seed, 2)
    assume(len(orders[0]))
    versions = steps_by_definition(case, orders, power, sizes, variance)
    examples = case.examples()
    learner = crf._learner(Learned(examples.zeros(), examples.zeros(), 0))
    n = len(orders[0])
    for order in (orders[0][: len(versions)], orders[1][: max(len(versions) - n, 0)]):
        learner.learn(examples, order)
    learned = learner.learned()
    assert_allclose(flat(learned.last), versions[-1], atol=1e-8)
    is_mean = getattr(crf, "averaging", "none") == "mean"
    expected = versions.mean(axis=0) if is_mean else versions[-1]
    assert_allclose(flat(learned.weights), expected, atol=1e-8)
