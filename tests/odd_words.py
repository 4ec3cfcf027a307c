"""Words whose spelling has rare cases, and random sequences of such words."""

import numpy as np

ODD = [
    *("", "^", "-", "--", "a-", "-a", "É", "ÉTÉ", "straße", "İstanbul", "ǅ", "e\u0301", "日本"),
    *("\U0001d400x", "\ud800", "3.5", "A1-b2", "x" * 300, "Ing", "ING", "ion", "tion", "S", "ß"),
    *(
        "a\0b",
        "c",
        "cc",
        "Xx",
        "dd",
        "\u0301",
        "\0",
        "\x1c1",
        "a" * 255,
        "B-" * 128,
        "٣",
        "ªb",
        "Ⅷ",
    ),
]
STEMS = ["walk", "talk", "Sing", "dog", "cat", "nation", "pony", "A", "the", "co-op", "3", "12.5"]
ENDINGS = ["", "s", "ed", "ing", "ly", "tion", "ity", "ies", "ogy", "É", "-x"]


def words(rng, n, most=1.0):
    found = []
    for _ in range(n):
        word = STEMS[rng.integers(len(STEMS))] + ENDINGS[rng.integers(int(len(ENDINGS) * most))]
        found.append(word if rng.random() < 0.9 else ODD[rng.integers(len(ODD))])
    return found


def corpus(n, seed=0, n_labels=5, most=0.7):
    rng = np.random.default_rng(seed)
    X = [words(rng, rng.integers(0, 9), most) for _ in range(n)]
    return X, [[f"L{len(word) % 3 + rng.integers(n_labels)}" for word in s] for s in X]


def others():
    rng = np.random.default_rng(1)
    return [[], *([word] for word in ODD), *(words(rng, rng.integers(12)) for _ in range(100))]
