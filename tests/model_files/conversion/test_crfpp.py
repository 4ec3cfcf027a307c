"""Every form of a template of CRF++: labels of the model against the rules, spelled out."""

import io
import re
import time
from itertools import product

import numpy as np
import pytest
from cases import for_each

from sklearn_crcrf.model_files.conversion import read_crfpp_model

LABELS = ["A", "B", "C"]
WORDS = ["0", "0a", "a", "00", "a/b", "b", "b/c", "c", "=", "é", "_B-1"]
TAGS = ["x", "b", "y/x"]
FORMS = [
    "U00:%x[0,0]\nB",
    "U00:%x[0,0]\nB0",
    "U00:%x[0,0]\nB\nB",
    "U00:%x[0,0]\nB\nB0\nBigram:\nB=",
    "U00:%x[0,0]\nB%x[0,0]\nB0",  # of the word 0 both lines make B0
    "U00:%x[0,0]\nB0:%x[0,0]\nB0:%x[-1,0]/%x[0,0]\nB",
    "U00:%x[0,0]\nB0:%x[0,1]\nB0:%x[0,1]",
    "U00",
    "U00\nU00\nU:\nU\nB",
    "U%x[0,0]\nU0%x[0,0]\nU00:%x[0,1]",
    "U0:%x[0,0]\nU0=%x[0,0]\nU0%x[0,0]\nB0:%x[0,0]\nB0=%x[0,0]",
    "U0:%x[0,0]\nU0:%x[1,0]\nU0:%x[0,1]",
    "U0:%x[0,0]\nU0:%x[0,0]",
    "U0:%x[0,0]/%x[0,1]\nU0:%x[0,0]%x[1,0]\nU1%x[0,0]/%x[1,0]/\nU1:%x[0,0]/x%x[0,1]x",
    "\n".join(f"U:%x[{offset},0]\nU{offset}:%x[{offset},1]" for offset in range(-4, 5)),
    "U0:%x[0,0] \nU1:%x[0,0]\t\nB \nB0:%x[0,0]  ",
    "U00 \nU01:%x[0,0]\nB0\t",
    "U[0,0]:%x[0,0]\nU 1:%x[0,0] %x[1,0]\nB[0]",
    "Unigram#1:%x[0,0]#\nBigram#",
]


def expanded(line, tokens, t):
    """The attribute that a line of a template makes at position t."""

    def symbol(macro):
        at, column = t + int(macro[1]), int(macro[2])
        if at < 0:
            return f"_B{at}"
        return tokens[at][column] if at < len(tokens) else f"_B+{at - len(tokens) + 1}"

    return re.sub(r"%x\[(-?\d+),(\d+)\]", symbol, line)


def attributes_of(template, tokens):
    """Position and attribute, as often as a line makes it."""
    for line in template.split("\n"):
        for t in range(line.startswith("B"), len(tokens)):
            yield t, expanded(line, tokens, t)


def drawn_sentences(rng, n, n_words):
    return [
        [(WORDS[rng.integers(n_words)], TAGS[rng.integers(3)]) for _ in range(rng.integers(1, 6))]
        for _ in range(n)
    ]


def model_of(template, rng):
    """The text of a model, and its weights by attribute."""
    sentences, n = drawn_sentences(rng, 12, len(WORDS) - 2), len(LABELS)
    names = sorted({name for tokens in sentences for _, name in attributes_of(template, tokens)})
    weights, starts = {}, []
    for name in names:
        starts.append(sum(w.size for w in weights.values()))
        weights[name] = rng.normal(size=n if name.startswith("U") else (n, n))
    values = np.concatenate([w.ravel() for w in weights.values()])
    blocks = [
        ["version: 100", "cost-factor: 1", f"maxid: {len(values)}", "xsize: 2"],
        LABELS,
        template.split("\n"),
        [f"{start} {name}" for start, name in zip(starts, names, strict=True)],
        [f"{value:.16f}" for value in values],
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n", weights


def best_labels(template, weights, tokens):
    """The labels of the highest score among all."""
    state = np.zeros((len(tokens), len(LABELS)))
    pair = np.zeros((len(tokens), len(LABELS), len(LABELS)))
    for t, name in attributes_of(template, tokens):
        if name in weights:
            (state if name.startswith("U") else pair)[t] += weights[name]

    def score(path):
        steps = sum(pair[t][path[t - 1], path[t]] for t in range(1, len(path)))
        return sum(state[t][y] for t, y in enumerate(path)) + steps

    best = max(product(range(len(LABELS)), repeat=len(tokens)), key=score)
    return [LABELS[y] for y in best]


def as_sequence(tokens):
    return [{"word": word, "tag": tag} for word, tag in tokens]


@for_each(("template", "seed"), [(form, seed) for form in FORMS for seed in range(3)])
def test_labels_are_those_of_the_template(template, seed):
    rng = np.random.default_rng(seed)
    text, weights = model_of(template, rng)
    tagger = read_crfpp_model(io.StringIO(text))
    sentences = drawn_sentences(rng, 25, len(WORDS))
    expected = [best_labels(template, weights, tokens) for tokens in sentences]
    assert tagger.predict(list(map(as_sequence, sentences))).tolist() == expected


@for_each(
    ("attribute", "closest"),
    [
        ("U01:a", "U01:%x[0,0]/%x[0,1]"),
        ("U2:a", "U01:%x[0,0]/%x[0,1]"),
        ("U9x", "U9"),
        ("B0", "B"),
        ("B1:ab", "B1:a%x[0,0]c"),
        ("B1:a", "B1:a%x[0,0]c"),
    ],
)
def test_what_no_line_makes_is_refused(attribute, closest):
    template = ["U01:%x[0,0]/%x[0,1]", "U9", "B", "B1:a%x[0,0]c"]
    text, _ = model_of("\n".join(template), np.random.default_rng(0))
    name = next(line for line in text.split("\n") if re.match(rf"\d+ {attribute[0]}", line))
    broken = text.replace(name, f"{name.split()[0]} {attribute}")
    message = f"makes the attribute {attribute!r}; the closest one is {closest!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        read_crfpp_model(io.StringIO(broken))


def test_lines_that_differ_in_spaces_at_the_end_are_refused():
    text, _ = model_of("U0:%x[0,0]\nU0:%x[0,0] \nB", np.random.default_rng(0))
    with pytest.raises(ValueError, match="begin with 'U0:' with and without spaces at the end"):
        read_crfpp_model(io.StringIO(text))


def test_repeated_attributes_are_refused():
    text, _ = model_of("U0:%x[0,0]\nB", np.random.default_rng(0))
    broken = re.sub(r"\n(\d+) U0:b\n", r"\n\1 U0:a\n", text)
    assert broken != text
    with pytest.raises(ValueError, match=r"repeated: '\d+ U0:a'"):
        read_crfpp_model(io.StringIO(broken))


def test_many_attributes_take_linear_time():
    n, n_labels = 20_000, 20
    weights = np.random.default_rng(0).choice(["0", "0.25"], p=[0.1, 0.9], size=n * n_labels)
    blocks = [
        ["version: 100", "cost-factor: 1", f"maxid: {n * n_labels}", "xsize: 1"],
        [f"L{i:02}" for i in range(n_labels)],
        [f"U{i:02}:%x[{i % 5 - 2},0]" for i in range(30)],
        [f"{i * n_labels} U{i % 30:02}:w{i}" for i in range(n)],
        weights.tolist(),
    ]
    text = "\n\n".join("\n".join(block) for block in blocks) + "\n"
    start = time.process_time()
    read_crfpp_model(io.StringIO(text))
    assert time.process_time() - start < 4  # one second; 10 s to compare all with all
