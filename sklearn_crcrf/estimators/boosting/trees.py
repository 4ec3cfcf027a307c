"""Requirements of a loaded regression tree."""

from collections.abc import Iterator

import numpy as np
from sklearn.tree import DecisionTreeRegressor
from sklearn.tree._tree import TREE_LEAF, Tree

from ...utils.soundness import Array, Fact, Requirement


def tree_requirements(
    tree: DecisionTreeRegressor, n_features: int, n_labels: int
) -> Iterator[Requirement]:
    """Requirements that scikit-learn relies on when it descends from the root to a leaf.

    Parameters
    ----------
    tree : DecisionTreeRegressor
    n_features, n_labels : int

    Yields
    ------
    Requirement
    """
    is_tree = isinstance(tree, DecisionTreeRegressor) and isinstance(tree.tree_, Tree)
    yield Fact("tree_", is_tree, "must be a tree")
    nodes = tree.tree_
    # Checked before its arrays are read: their length is the node count that the tree claims.
    n = nodes.node_count
    yield Fact("tree_.node_count", 1 <= n <= nodes.capacity, f"is {n}")
    yield Fact("tree_.n_features", nodes.n_features == n_features, f"must be {n_features}")
    has_outputs = nodes.n_outputs == tree.n_outputs_ == n_labels and nodes.max_n_classes == 1
    yield Fact("tree_.n_outputs", has_outputs, f"must be {n_labels}")
    yield Array("tree_.value", nodes.value, (n, n_labels, 1))
    left, right = nodes.children_left, nodes.children_right
    inner = np.flatnonzero(left != TREE_LEAF)
    for name, children in (("children_left", left[inner]), ("children_right", right[inner])):
        follow = ((children > inner) & (children < n)).all()
        yield Fact(f"tree_.{name}", bool(follow), "must come after their parents")
    feature = nodes.feature[inner]
    is_feature = ((feature >= 0) & (feature < n_features)).all()
    yield Fact("tree_.feature", bool(is_feature), f"must be from 0 to {n_features - 1}")
    yield Array("tree_.threshold", nodes.threshold[inner], inner.shape, -np.inf, np.inf)
