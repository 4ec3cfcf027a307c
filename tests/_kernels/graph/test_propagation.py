"""Messages between linked tokens, against a few lines of numpy."""

import numpy as np
from cases import for_each
from compiled import compiled
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn_crcrf._kernels.graph.messages import GraphMessages

from sklearn_crcrf.structures.inference.propagation import Slots

kernels = for_each("kernel", compiled("graph.propagation"))
# Around all multiples of vectors.
N_LABELS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 33]


def random_graph(n_tokens, n_links, seed=0):
    rng = np.random.default_rng(seed)
    ends = np.array([rng.choice(n_tokens, 2, replace=False) for _ in range(n_links)]).T
    return Slots.of(np.array([0, n_tokens]), np.ascontiguousarray(ends))


def one_iteration(slots, share, state, tables, of_link, is_max, damping, fixed=()):
    """The messages after one iteration, slot by slot."""
    m = np.zeros((len(slots.link), state.shape[1]))
    add = (
        (lambda x, axis: x.max(axis=axis)) if is_max else (lambda x, axis: logsumexp(x, axis=axis))
    )

    def visit(t, first, last):
        slot = np.arange(slots.start[t], slots.start[t + 1])
        belief = state[t] + share[slot] @ m[slot]
        for s in range(first, last):
            if slots.neighbour[s] in fixed:
                continue
            table = tables[of_link[slots.link[s]]]
            new = add((belief - m[s])[:, None] + (table.T if slots.is_current[s] else table), 0)
            back = slots.reverse[s]
            d = 0.0 if t in fixed else damping
            m[back] = (1 - d) * (new - new.max()) + d * m[back]

    for t in reversed(range(len(state))):
        visit(t, slots.start[t], slots.middle[t])
    for t in range(len(state)):
        visit(t, slots.middle[t], slots.start[t + 1])
    return m


def run(kernel, slots, share, state, tables, of_link, is_max, damping, n_iter=1, tol=0.0):
    key = 2 * of_link[slots.link] + slots.is_current
    n, m = len(state), np.zeros((len(slots.link), state.shape[1]))
    messages = GraphMessages(np.array([0, n]), slots, key, tables, share, state, m)
    fixed = ((state > -np.inf).sum(axis=1) == 1).astype(np.uint8)
    done, residual = np.zeros(1, dtype=np.int64), np.zeros(1)
    potentials, damping = kernel.packed_tables(tables, is_max), np.array([damping])
    what = messages, np.array([0]), fixed, potentials, is_max
    kernel.propagate(*what, damping, tol, n_iter, done, residual)
    return m, int(done[0]), float(residual[0])


@kernels
@for_each("is_max", [False, True])
@for_each("n_labels", N_LABELS)
def test_one_iteration(kernel, is_max, n_labels):
    rng, slots = np.random.default_rng(n_labels), random_graph(12, 40)
    state, tables = rng.normal(size=(12, n_labels)), rng.normal(size=(3, n_labels, n_labels))
    share, of_link = rng.uniform(0.3, 1.0, 40), rng.integers(3, size=40)
    arguments = share[slots.link], state, tables, of_link, is_max, 0.3
    ours, _, _ = run(kernel, slots, *arguments)
    assert_allclose(ours, one_iteration(slots, *arguments), rtol=1e-12, atol=1e-12)


@kernels
@for_each("scale", [300.0, 3000.0])
@for_each("is_max", [False, True])
def test_scores_whose_exponentials_underflow(kernel, scale, is_max):
    rng, slots = np.random.default_rng(0), random_graph(9, 20)
    state, tables = scale * rng.normal(size=(9, 5)), scale * rng.normal(size=(1, 5, 5))
    arguments = np.ones(40), state, tables, np.zeros(20, dtype=int), is_max, 0.0
    ours, _, _ = run(kernel, slots, *arguments)
    assert_allclose(ours, one_iteration(slots, *arguments), rtol=1e-11, atol=1e-9)


@kernels
def test_many_links_of_a_token(kernel):
    """Messages are sent in strips, and apart if links have another table."""
    rng, n = np.random.default_rng(0), 100
    ends = np.stack([np.zeros(n, dtype=int), np.arange(1, n + 1)])
    ends[:, ::3] = ends[::-1, ::3].copy()
    slots = Slots.of(np.array([0, n + 1]), ends)
    state, tables = rng.normal(size=(n + 1, 3)), rng.normal(size=(2, 3, 3))
    arguments = np.ones(2 * n), state, tables, np.sort(rng.integers(2, size=n)), False, 0.0
    ours, n_iter, residual = run(kernel, slots, *arguments, n_iter=5, tol=1e-12)
    assert_allclose(ours, one_iteration(slots, *arguments), rtol=1e-12, atol=1e-12)
    assert n_iter == 2 and residual <= 1e-12


@kernels
def test_tokens_with_one_possible_label(kernel):
    """They send once, without damping, and receive nothing."""
    rng, slots = np.random.default_rng(0), random_graph(8, 16)
    state, tables = rng.normal(size=(8, 4)), rng.normal(size=(1, 4, 4))
    fixed = [2, 5]
    state[fixed, 1:] = -np.inf
    arguments = np.ones(32), state, tables, np.zeros(16, dtype=int), False, 0.5
    ours, _, _ = run(kernel, slots, *arguments)
    assert_allclose(ours, one_iteration(slots, *arguments, fixed=fixed), rtol=1e-12, atol=1e-12)
    assert not ours[np.isin(np.repeat(np.arange(8), np.diff(slots.start)), fixed)].any()


def test_all_instruction_sets_agree():
    rng, slots = np.random.default_rng(0), random_graph(30, 90)
    state, tables = rng.normal(size=(30, 10)), rng.normal(size=(1, 10, 10))
    found = [
        run(p.values[0], slots, np.ones(180), state, tables, np.zeros(90, int), False, 0.1, 40)[0]
        for p in compiled("graph.propagation")
    ]
    for other in found[1:]:
        assert_allclose(other, found[0], atol=1e-12)


def test_slots():
    slots = random_graph(10, 25)
    owner = np.repeat(np.arange(10), np.diff(slots.start))
    assert sorted(slots.order) == list(range(10))
    assert_array_equal(slots.reverse[slots.reverse], np.arange(50))
    assert_array_equal(slots.neighbour[slots.reverse], owner)
    assert_array_equal(slots.link[slots.reverse], slots.link)
    assert_array_equal(slots.is_current[slots.reverse], 1 - slots.is_current)
    for t in range(10):
        others = slots.neighbour[slots.start[t] : slots.start[t + 1]]
        assert (np.diff(others) >= 0).all()
        assert slots.n_earlier[t] == (others < t).sum()
