"""Small labelled trees, and their scores from the weights of a model."""

from itertools import product

import numpy as np

from sklearn_crcrf import GraphArray

WORDS, LABELS = ["the", "a", "dog", "cat", "sees", "runs", "far"], ["D", "N", "V"]
KIND = {"the": "D", "a": "D", "dog": "N", "cat": "N", "sees": "V", "runs": "V"}


def make_trees(n, seed=0, longest=5, edge_type=None):
    """Sentences with a tree each, sometimes with two roots, and their labels.

    A token that does not tell its label has the label of its parent where it comes first.
    """
    rng = np.random.default_rng(seed)
    X, parents, y = [], [], []
    for _ in range(n):
        length = int(rng.integers(1, longest + 1))
        x = [WORDS[k] for k in rng.integers(len(WORDS), size=length)]
        tokens = rng.permutation(length).tolist()
        parent = [-1] * length
        for i, token in enumerate(tokens[1:], 1):
            parent[token] = -1 if rng.random() < 0.1 else tokens[int(rng.integers(i))]
        labels = [""] * length
        for token in tokens:
            above = labels[parent[token]] if parent[token] >= 0 else "V"
            default = above if parent[token] < token else "N"
            labels[token] = KIND.get(x[token], default)
        X.append(x)
        parents.append(parent)
        y.append(labels)
    return GraphArray.from_parents(X, parents, edge_type=edge_type), y


def local_scores(model, X, s):
    """The score of each label of the tokens of sample s, given the label of the parent.

    It is computed from the weights. Tokens are strings, each of which is an attribute; edges may
    have types.

    Returns
    -------
    list of ndarray of shape (n_labels, n_labels), row = label of the parent
        The rows of a root are equal.
    """
    names, edges = model.attribute_names_.tolist(), model.edge_attribute_names_.tolist()
    n, (start, stop) = len(model.classes_), X.offsets[s : s + 2]
    coef = model.coef_ if isinstance(model.coef_, np.ndarray) else model.coef_.toarray()
    parents, types = X.parents[start:stop].tolist(), {}
    if X.edge_data is not None:
        types = dict(zip(X.token_edges[:, 1].tolist(), X.edge_data.tolist(), strict=True))
    tables = []
    for t, parent in enumerate(parents):
        word, table = X.data[start + t], np.zeros((n, n))
        table += coef[names.index(word)] if word in names else 0.0
        table += model.begin_ if parent < 0 else model.transitions_
        table += 0.0 if t in parents else model.end_
        for name in (word, f"edge={types.get(start + t)}") if parent >= 0 else ():
            table += model.edge_coef_[edges.index(name)] if name in edges else 0.0
        tables.append(table)
    return tables


def enumerate_labellings(tables, parents):
    """All labellings of a forest as label ids, and the sums of their local scores."""
    labellings = np.array(list(product(range(len(tables[0])), repeat=len(tables))))
    values = np.zeros(len(labellings))
    for t, (table, parent) in enumerate(zip(tables, parents, strict=True)):
        values += table[labellings[:, max(parent, 0)], labellings[:, t]]
    return labellings, values
