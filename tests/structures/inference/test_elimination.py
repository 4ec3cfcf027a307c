"""Orders of elimination: how wide the junction trees are."""

import itertools

import networkx as nx
import numpy as np
from cases import for_each
from networkx.algorithms.approximation import treewidth_min_fill_in

from sklearn_crcrf.structures.inference.elimination import Elimination


def eliminate(*networks):
    """The elimination of the tokens of some networks, each a unit."""
    joined = nx.disjoint_union_all(networks)
    edges = np.array(joined.edges, dtype=np.int64).reshape(-1, 2)
    offsets = np.append(0, np.cumsum([len(network) for network in networks]))
    return Elimination(offsets, edges[:, 0], edges[:, 1])


@for_each(
    ("network", "width"),
    [
        (nx.empty_graph(3), 0),
        (nx.path_graph(5), 1),
        (nx.random_labeled_tree(30, seed=0), 1),
        (nx.cycle_graph(9), 2),
        (nx.ladder_graph(6), 2),
        (nx.complete_graph(6), 5),
        (nx.grid_2d_graph(3, 7), 3),
        (nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(5)), 4),
    ],
)
def test_widths(network, width):
    elimination = eliminate(nx.empty_graph(2), network)
    assert elimination.width(1) == width
    assert elimination.first_wider(width) is None
    assert not elimination.is_wider(1, width)
    if width > 0:
        assert elimination.first_wider(width - 1) == 1


def test_cores_are_left_to_networkx():
    assert eliminate(nx.cycle_graph(5), nx.random_labeled_tree(9, seed=1)).cores == {}
    lollipop = nx.lollipop_graph(5, 4)
    assert list(eliminate(nx.path_graph(2), lollipop).cores[1]) == [2, 3, 4, 5, 6]


@for_each("seed", range(8))
def test_trees_are_junction_trees(seed):
    """Every link is in a clique, and the cliques of a token are connected."""
    networks = [nx.gnp_random_graph(9, p, seed=seed) for p in (0.2, 0.4, 0.7)]
    elimination = eliminate(*networks)
    trees, joined = elimination.trees, nx.disjoint_union_all(networks)
    for unit, network in enumerate(networks):
        assert elimination.width(unit) <= treewidth_min_fill_in(network)[0]
    assert sorted(trees.token) == list(range(27))
    assert (np.diff(np.searchsorted([0, 9, 18], trees.token, side="right")) >= 0).all()
    bags = []
    for k, (a, b) in enumerate(itertools.pairwise(trees.start)):
        separators = trees.separator[a:b]
        assert (np.diff(separators) < 0).all() and (separators > k).all()
        if a < b:
            parent = separators[-1]
            inside = trees.separator[trees.start[parent] : trees.start[parent + 1]].tolist()
            assert [[*inside, parent][p] for p in trees.place[a:b]] == separators.tolist()
        bags.append({trees.token[k], *trees.token[separators]})
    assert all(any({a, b} <= bag for bag in bags) for a, b in joined.edges)


def test_lower_bounds_are_quick():
    """The width of a large grid is not computed where a bound exceeds the limit."""
    elimination = eliminate(nx.grid_2d_graph(60, 60))
    assert elimination.first_wider(3) == 0
    assert elimination._separators_of_cores == {}


@for_each("seed", range(8))
def test_a_simpler_order_is_hardly_wider(seed):
    networks = [nx.gnp_random_graph(40, p, seed=seed) for p in (0.05, 0.1, 0.2)]
    elimination = eliminate(*networks, nx.grid_2d_graph(8, 30), nx.path_graph(3))
    for unit in range(5):
        width = elimination.width(unit)
        assert not elimination.is_much_wider(unit, width)
        assert elimination.is_much_wider(unit, width // 2 - 1) or unit not in elimination.cores
