"""Text models of CRFsuite, and models of CRF++ and Wapiti: read, and asked."""

import io
import struct
from random import Random
from typing import Any

from _answers import check_answers
from _campaign import Campaign, show
from _mutations import mutated_bytes

from sklearn_crcrf.model_files.conversion import (
    read_crfpp_model,
    read_crfsuite_dump,
    read_wapiti_model,
)

LABELS = ["N", "D", "B-X", "I-X", "ü", "x y"]
WORDS = ["the", "dog", "a:b", "=", "é", "-->", ""]
WEIGHTS = ["2.000000", "-0.5", "0", "30", "-700", "1e-320"] * 10 + ["1e308", "-1e308"]
STRINGS = [
    *(b"0: N\n", b"word:the", b"(1) D --> D: 1e308\n", b"nan", b"1e400", b"U00:dog\n", b"inf"),
    *(b"maxid: 1000000000\n", b"99999999999999 B\n", b"0 B\n", b"-1 B\n", b"cost-factor: 1e300\n"),
    *(b"U00:%x[5,0]\n", b"B01:%x[0,0]\n", b"LABELS = {\n", b"}\n", b"}"),
]
SENTENCES = {
    "crfsuite": [[{"word": "the"}, {"word": "dog"}], [{"word": "zzz", "n": 2.5}], []],
    "crf++": [["the", "dog"], ["zzz"], []],
    "wapiti": [["the", "dog"], ["zzz"], []],
    "binary": [["", ""], [""], []],
}
READERS = {
    "crfsuite": read_crfsuite_dump,
    "crf++": read_crfpp_model,
    "binary": read_crfpp_model,
    "wapiti": read_wapiti_model,
}


def mutated(rng: Random) -> tuple[bytes, str]:
    """A model, in most cases with some changes, and its program."""
    program = rng.choice(list(READERS))
    data = MAKERS[program](rng)
    return data if rng.random() < 0.3 else mutated_bytes(rng, data, STRINGS), program


def _crfsuite(rng: Random) -> bytes:
    labels = rng.sample(LABELS, rng.randrange(1, 4))
    names = [f"word:{word}" for word in rng.sample(WORDS, rng.randrange(1, 4))]
    sections = {
        "FILEHEADER": ["magic: lCRF"],
        "LABELS": [f"{i:5}: {label}" for i, label in enumerate(labels)],
        "ATTRIBUTES": [f"{i:5}: {name}" for i, name in enumerate(names)],
        "TRANSITIONS": _arrows(rng, 1, labels, labels),
        "STATE_FEATURES": _arrows(rng, 0, names, labels),
    }
    lines = [line for name, body in sections.items() for line in (f"{name} = {{", *body, "}", "")]
    return "\n".join(lines).encode()


def _arrows(rng: Random, kind: int, sources: list[str], targets: list[str]) -> list[str]:
    pairs = [f"  ({kind}) {source} --> {target}" for source in sources for target in targets]
    return [f"{pair}: {rng.choice(WEIGHTS)}" for pair in pairs if rng.random() < 0.5]


def _crfpp(rng: Random) -> bytes:
    labels = rng.sample(LABELS[:-1], rng.randrange(1, 4))
    n = len(labels)
    words = rng.sample(WORDS, rng.randrange(1, 3))
    sizes = {"B": n * n} | {f"U00:{word}": n for word in words}
    if rng.random() < 0.3:
        sizes |= {f"B01:{word}": n * n for word in words}
    starts, end = {}, 0
    for name, size in sizes.items():
        starts[name], end = end, end + size
    blocks = [
        ["version: 100", "cost-factor: 1", f"maxid: {end}", "xsize: 1"],
        labels,
        ["U00:%x[0,0]", "B01:%x[0,0]", "B"],
        [f"{start} {name}" for name, start in starts.items()],
        [rng.choice(WEIGHTS) for _ in range(end)],
    ]
    return "\n".join("\n".join(block) + "\n" for block in blocks).encode()


def _wapiti(rng: Random) -> bytes:
    labels = rng.sample(LABELS[:-1], rng.randrange(1, 4))
    n, words = len(labels), rng.sample(WORDS, rng.randrange(1, 3))
    patterns = ["u:%x[0,0]", '*:%M[0,0,"^.?"]', "b"]
    names = [*(f"u:{word}" for word in words), *(f"*:{word[:1]}" for word in words[:1]), "b"]
    n_weights = sum({"u": n, "*": n + n * n, "b": n * n}[name[0]] for name in names)
    weights = [f"{i}={float(rng.choice(WEIGHTS)).hex()}" for i in range(n_weights)]
    lines = [f"#mdl#2#{n_weights}", f"#rdr#{len(patterns)}/0/0"]
    lines += [f"{len(pattern)}:{pattern}," for pattern in patterns]
    for of in (labels, names):
        lines += [f"#qrk#{len(of)}", *(f"{len(name.encode())}:{name}," for name in of)]
    return "\n".join([*lines, *weights, ""]).encode()


def _binary(rng: Random) -> bytes:
    """A binary model of CRF++, whose attributes have one letter, which is that of their line."""
    trie = [[1, 0], *[[0, 0]] * 90]
    trie[1 + ord("B") + 1], trie[1 + ord("U") + 1] = [3, 1], [2, 1]
    trie[2], trie[3] = [-5, 2], [-1, 3]
    array = b"".join(struct.pack("<ii", *unit) for unit in trie)
    labels, template, weights = b"N\0D\0", b"U\0B\0", [float(rng.choice(WEIGHTS)) for _ in range(6)]
    head = struct.pack("<IIdIIII", 100, 0, 1.0, 6, 1, len(array), len(labels)) + labels
    head += struct.pack("<I", len(template)) + template
    return head + array + b"".join(struct.pack("<f", min(max(w, -1e30), 1e30)) for w in weights)


MAKERS = {"crfsuite": _crfsuite, "crf++": _crfpp, "binary": _binary, "wapiti": _wapiti}


def read_and_ask(rng: Random, number: int) -> str:
    """Read a model; if it is accepted, ask the model."""
    data, program = mutated(rng)
    show(program, data.decode(errors="replace"))
    model: Any = READERS[program](io.BytesIO(data))
    classifier = model.crf_ if program == "crfsuite" else model
    if program == "crfsuite":
        model.predict_marginals(SENTENCES[program])
        check_answers(rng, classifier, model.vectorizer_.transform(SENTENCES[program]))
    else:
        check_answers(rng, classifier, SENTENCES[program])
    return f"{program}: read and asked"


CAMPAIGNS = [Campaign("dumps", read_and_ask, batch=500)]
