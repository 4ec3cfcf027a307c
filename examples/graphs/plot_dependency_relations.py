"""
Label the words of dependency trees
===================================

In a dependency tree every word has a head: "dogs" depends on "chase" in "dogs chase cats". Here the
trees are given, and the relation of each word to its head is the label: subject, object, and so on.
Neighbours in the text say little about it, and neighbours in the tree say much.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, GraphArray, Window
from sklearn_crcrf.datasets import read_conll
from sklearn_crcrf.display import TaggedTree, TransitionDisplay
from sklearn_crcrf.metrics import sequence_accuracy, token_accuracy

# %%
# The data
# --------
# The English Web Treebank of Universal Dependencies is read from the folder that the environment
# variable ``SKLEARN_CRCRF_DATA`` names. Without it, a small grammar makes sentences: a clause has a
# subject, a verb or a predicate noun, and may have objects and a subordinate clause.
WORDS = {
    "DET": ["the", "a", "every"],
    "ADJ": ["old", "big", "red"],
    "ADP": ["of", "with", "near"],
    "NOUN": ["dogs", "cats", "street", "garden", "friends", "park", "rain", "water"],
    "VERB": ["see", "like", "chase", "follow"],
    "SCONJ": ["that", "because"],
    "AUX": ["are"],
}


def maybe(rng, probability, tag, relation):
    """Perhaps a single word, as (tag, relation, dependents before it, dependents after it)."""
    return [(tag, relation, [], [])] if rng.random() < probability else []


def noun(rng, relation, more=0.4):
    before = [("ADP", "case", [], [])] if relation in ("obl", "nmod") else []
    before += maybe(rng, 0.6, "DET", "det") + maybe(rng, 0.3, "ADJ", "amod")
    before += maybe(rng, 0.3, "NOUN", "compound")
    after = [noun(rng, "nmod", more / 2)] if rng.random() < more else []
    return "NOUN", relation, before, after


def clause(rng, relation, more=0.5):
    before = [] if relation == "root" else [("SCONJ", "mark", [], [])]
    before.append(noun(rng, "nsubj"))
    kind = str(rng.choice(["ccomp", "advcl"], p=[0.7, 0.3]))
    after = [clause(rng, kind, more / 2)] if rng.random() < more else []
    if rng.random() < 0.3:  # "dogs are friends"
        _, _, own, modifiers = noun(rng, relation)
        return "NOUN", relation, [*before, ("AUX", "cop", [], []), *own], modifiers + after
    objects = [noun(rng, kind) for kind in ("obj", "obl") if rng.random() < 0.5]
    return "VERB", relation, before, objects + after


def add_words(rng, part, head, words):
    """Write a part of a sentence as a list of (word, its head, its relation)."""
    tag, relation, before, after = part
    word = {"form": str(rng.choice(WORDS[tag])), "tag": tag}
    for dependent in before:
        add_words(rng, dependent, word, words)
    words.append((word, head, relation))
    for dependent in after:
        add_words(rng, dependent, word, words)


def make_treebank(rng, n_sentences):
    X, y = [], []
    for _ in range(n_sentences):
        words = []
        add_words(rng, clause(rng, "root"), None, words)
        number = {id(word): i for i, (word, _, _) in enumerate(words, 1)}
        X.append([{**word, "head": number.get(id(head), 0)} for word, head, _ in words])
        y.append([relation for _, _, relation in words])
    return X, y


def read_treebank(part):
    """The words of each sentence, with tags and heads, and their relations."""
    folder = Path(os.environ["SKLEARN_CRCRF_DATA"])
    X, y = read_conll(folder / f"ud-en_ewt-{part}.tsv.gz", ["form", "tag", "head", "label"])
    return X, [[relation.split(":")[0] for relation in labels] for labels in y]


try:
    (X_train, y_train), (X_test, y_test) = read_treebank("train"), read_treebank("test")
    X_train, y_train = X_train[:1000], y_train[:1000]
except (KeyError, OSError):
    rng = np.random.default_rng(0)
    (X_train, y_train), (X_test, y_test) = make_treebank(rng, 200), make_treebank(rng, 1000)

print(f"{len(X_train)} sentences to train on, {len(X_test)} to test on")
short = next(i for i, words in enumerate(X_test) if 6 <= len(words) <= 9 and i > 3)
for number, (word, label) in enumerate(zip(X_test[short], y_test[short], strict=True), 1):
    print(f"{number:2}  {word['form']:12} {word['tag']:6} head {word['head']:>2}  {label}")

# %%
# The same words as single tokens, as chains and as trees
# --------------------------------------------------------
# :meth:`GraphArray.from_heads <sklearn_crcrf.GraphArray.from_heads>` makes trees of the heads. A
# graph without edges has only single tokens, and a plain list of sentences is a chain.


def with_heads(sentences):
    """Add the head of each word, and on which side it is."""
    root = {"form": "", "tag": ""}
    extended = []
    for words in sentences:
        heads = [int(word["head"]) for word in words]
        extended.append(
            [
                word
                | {
                    "head form": (words[head - 1] if head else root)["form"],
                    "head tag": (words[head - 1] if head else root)["tag"],
                    "side": "root" if head == 0 else "before" if head < number else "after",
                }
                for number, (word, head) in enumerate(zip(words, heads, strict=True), 1)
            ]
        )
    return extended


def structures(sentences):
    trees = GraphArray.from_heads(with_heads(sentences))
    tokens = [trees[i] for i in range(len(trees))]  # the words without "head"
    return {
        "single words": GraphArray.from_edges(tokens, [[]] * len(tokens)),
        "chain": tokens,
        "tree": trees,
    }


train, test = structures(X_train), structures(X_test)

# %%
# All models are :class:`~sklearn_crcrf.CRF`, and see each word, its tag, its last letters and the
# tags of its neighbours in the text. Half of the models also see its head: that is what the tree
# gives as attributes. Only a structure lets the *label* of the head matter as well.
of_text = ["form[0]", "tag[0]", "tag[-1]|tag[0]", "tag[0]|tag[1]"]
of_heads = [
    "tag[0]|side[0]|head tag[0]",
    "tag[0]|side[0]|head form[0]",
    "form[0]|side[0]|head tag[0]",
]
views = {"text": of_text, "text and head": of_text + of_heads}

models, predicted = {}, {}
print(f"{'':30} words  sentences")
for view, templates in views.items():
    for name in train:
        model = make_pipeline(Window(templates), CRF(tol=1e-3))
        model.fit(train[name], y_train)
        models[view, name], predicted[view, name] = model, model.predict(test[name])
        accuracies = [f(y_test, predicted[view, name]) for f in (token_accuracy, sequence_accuracy)]
        print(f"{view:15} {name:14} {accuracies[0]:.1%}  {accuracies[1]:.1%}")

# %%
# A chain hardly helps: the label of the word before says little. The head as an attribute helps
# much, with any structure. The tree adds to that, most of all for whole sentences.
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
metrics = {"words": token_accuracy, "whole sentences": sequence_accuracy}
colors = ["#bbbbbb", "#e69f00", "#0072b2"]
for ax, (title, metric) in zip(axes, metrics.items(), strict=True):
    for k, (name, color) in enumerate(zip(train, colors, strict=True)):
        heights = [100 * metric(y_test, predicted[view, name]) for view in views]
        bars = ax.bar(np.arange(2) + 0.27 * (k - 1), heights, width=0.25, color=color, label=name)
        ax.bar_label(bars, fmt="%.0f")
    ax.set_xticks(range(2), [f"attributes of {view}" for view in views])
    ax.set(ylim=(0, 112), ylabel="per cent right", title=f"Relations: {title}")
axes[1].legend(loc="upper left")
plt.show()

# %%
# One of the sentences as the last model labels it: the head of a word is above it. Point at a word
# for the probabilities of its labels.
best = models["text and head", "tree"]
TaggedTree.from_estimator(best, test["tree"][short : short + 1])

# %%
# Labels of heads and dependents
# ------------------------------
# The row is the label of the head, and the column the label of the dependent. Relations to a verb
# that is the root differ from relations to a noun that is an object, whatever their words are.
relations, counts = np.unique(np.concatenate(y_train), return_counts=True)
frequent = relations[np.argsort(-counts)[:14]]
display = TransitionDisplay.from_estimator(models["text", "tree"], labels=[*np.sort(frequent)])
display.ax_.set(xlabel="label of the dependent", ylabel="label of the head")
plt.show()

# %%
# Where the tree helps
# --------------------
# The nearer the head, the more of the tree is visible in the text. So a chain finds relations to
# the next word, and loses most where the head is far away.
distance = np.concatenate(
    [
        [
            abs(int(word["head"]) - number) if int(word["head"]) else 0
            for number, word in enumerate(words, 1)
        ]
        for words in X_test
    ]
)
gold = np.concatenate(y_test)
groups = {
    "1": (1, 1),
    "2": (2, 2),
    "3": (3, 3),
    "4": (4, 4),
    "5 to 7": (5, 7),
    "8 or more": (8, 999),
}
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for key, color, marker in (
    (("text", "chain"), "#e69f00", "s"),
    (("text", "tree"), "#56b4e9", "o"),
    (("text and head", "tree"), "#0072b2", "D"),
):
    right = np.concatenate(list(predicted[key])) == gold
    of_groups = [
        100 * right[(distance >= low) & (distance <= high)].mean() for low, high in groups.values()
    ]
    ax.plot(
        list(groups),
        of_groups,
        marker + "-",
        color=color,
        label=f"{key[1]}, attributes of {key[0]}",
    )
ax.set(
    xlabel="distance of a word from its head",
    ylabel="per cent right",
    title="Relations by distance",
)
ax.legend()
plt.show()

# %%
# What if the tree is wrong?
# --------------------------
# A tree is given here, as in a treebank. In practice a parser makes it, and some heads are wrong.
# We attach some words to the head of their head instead, which always makes a tree again.


def with_wrong_heads(sentences, share, rng):
    changed = []
    for words in sentences:
        heads = [int(word["head"]) for word in words]
        moved = [
            heads[head - 1] if head and heads[head - 1] and rng.random() < share else head
            for head in heads
        ]
        changed.append([word | {"head": head} for word, head in zip(words, moved, strict=True)])
    return changed


shares = [0, 0.1, 0.2, 0.4, 0.6]
curves = {view: [] for view in views}
n_wrong = []
for share in shares:
    wrong = with_wrong_heads(X_test, share, np.random.default_rng(0))
    pairs = zip(np.concatenate(X_test), np.concatenate(wrong), strict=True)
    n_wrong.append(100 * np.mean([int(a["head"]) != b["head"] for a, b in pairs]))
    trees = structures(wrong)["tree"]
    for view, accuracies in curves.items():
        accuracies.append(100 * token_accuracy(y_test, models[view, "tree"].predict(trees)))

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for (view, accuracies), color, marker in zip(
    curves.items(), ["#56b4e9", "#0072b2"], "oD", strict=True
):
    ax.plot(n_wrong, accuracies, marker + "-", color=color, label=f"tree, attributes of {view}")
chain = 100 * token_accuracy(y_test, predicted["text", "chain"])
ax.axhline(chain, color="#e69f00", ls="--", label="chain, attributes of text")
ax.set(
    xlabel="wrong heads, per cent of the words",
    ylabel="per cent right",
    title="Relations in wrong trees",
)
ax.legend()
plt.show()
