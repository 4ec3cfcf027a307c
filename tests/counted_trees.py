"""Random labelled trees for estimators that count, and paths that are trees."""

import numpy as np

from sklearn_crcrf import GraphArray, SequenceArray

WORDS = ["dog", "Dogs", "run-up", "walks", "walking", "7", "x", "the"]
LABELS = ["D", "N", "V"]


def make_trees(n=30, seed=0, longest=7, edge_type="direction", tokens=str):
    """Trees of words, some with several roots, and labels that depend on word and parent."""
    rng = np.random.default_rng(seed)
    X, parents, y = [], [], []
    for _ in range(n):
        length = int(rng.integers(0, longest + 1))
        words = [str(w) for w in rng.choice(WORDS, size=length)]
        order, parent, labels = rng.permutation(length).tolist(), [-1] * length, [""] * length
        for i, token in enumerate(order):
            if i and rng.random() < 0.85:
                parent[token] = order[int(rng.integers(i))]
            above = labels[parent[token]] if parent[token] >= 0 else "V"
            own = LABELS[WORDS.index(words[token]) % 3]
            labels[token] = str(rng.choice([own, above, "N"], p=[0.6, 0.25, 0.15]))
        X.append([tokens(word) for word in words])
        parents.append(parent)
        y.append(labels)
    return GraphArray.from_parents(X, parents, edge_type=edge_type), y


def with_tag(word):
    """A token of two columns."""
    return {"word": word, "tag": word[-1]}


def as_paths(X):
    """Sequences as forests in which the parent of each token is the token before it."""
    sequences = SequenceArray.from_sequences(X)
    return GraphArray.from_parents(sequences, [[*range(-1, n - 1)] for n in sequences.lengths])


def untyped(X):
    """The same graphs without types of edges."""
    return GraphArray(X.data, X.offsets, X.edges, X.edge_offsets)
