"""Models of CRF++ and Wapiti: files that these programs wrote, and ours, against their rules."""

import io
import re
import struct
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from cases import for_each
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, MaxMarginCRF, SequenceVectorizer, TemplateFeatures
from sklearn_crcrf.apps.cli import main
from sklearn_crcrf.model_files.conversion import (
    read_crfpp_model,
    read_wapiti_model,
    write_crfpp_model,
    write_wapiti_model,
)
from sklearn_crcrf.model_files.conversion.crfpp import _keys

MODELS = Path(__file__).parent / "models"
WAPITI = (MODELS / "wapiti").read_text()
SENTENCES = [
    [("the", "DT"), ("dog", "NN"), ("barks", "VB")],
    [("a", "DT"), ("B1", "NN")],
    [("dögs", "NN"), ("bark", "VB")],
]
X = [[{"word": word, "pos": pos} for word, pos in tokens] for tokens in SENTENCES]


def test_a_binary_model_of_crfpp_has_its_probabilities():
    """CRF++ 0.59 has trained it on these sentences; crf_test -v2 says these probabilities."""
    tagger = read_crfpp_model(MODELS / "crfpp.gz")
    assert tagger.predict(X).tolist() == [["D", "N", "V"], ["D", "N"], ["N", "V"]]
    expected = [
        [
            [0.897819, 0.055361, 0.04682],
            [0.02733, 0.946226, 0.026444],
            [0.046154, 0.054614, 0.899232],
        ],
        [[0.863289, 0.081762, 0.054949], [0.057508, 0.86133, 0.081162]],
        [[0.085263, 0.853282, 0.061455], [0.055484, 0.082743, 0.861773]],
    ]
    for found, rows in zip(tagger.predict_proba(X), expected, strict=True):
        np.testing.assert_allclose(found, rows, atol=6e-7)


def test_a_model_of_wapiti_has_its_probabilities():
    """Wapiti 1.5 has trained it on these sentences; label -p -s says these probabilities."""
    tagger = read_wapiti_model(MODELS / "wapiti")
    expected = [[0.680312, 0.771164, 0.694987], [0.605821, 0.582292], [0.544152, 0.602611]]
    for found, of_best in zip(tagger.predict_proba(X), expected, strict=True):
        np.testing.assert_allclose(found.max(axis=1), of_best, atol=6e-7)


LINES = [
    *("u:w=%x[0,0]", "U:w=%X[-1,0]", "u", "*:t=%x[0,1]/%x[1,1]", "b", "b2", "*", "*3"),
    *("b:t=%x[-1,1]%x[0,1]", "u0%x[0,1]", "b%x[0,0]", r'*:m=%m[0,0,"\l*$"]', "u:@=%x[@1,0]"),
    *(r'u:e=%t[0,0,"^\u"]%M[0,1,"a"]', "b:n=%x[-5,0]"),
]


def symbol_of(command, offset, column, regexp, tokens, t):
    absolute, n = offset.startswith("@"), len(tokens)
    at = int(offset.lstrip("@"))
    at = (at + n if at < 0 else at - 1) if absolute else at + t
    if at < 0:
        symbol = f"_x-{-at if at > -5 else '#'}"
    elif at >= n:
        symbol = f"_x+{at - n + 1 if at - n < 4 else '#'}"
    else:
        symbol = tokens[at][int(column)]
    if command in "tm" or command == "M":
        found = re.search(regexp.replace(r"\u", "[A-Z]").replace(r"\l", "[a-z]"), symbol)
        symbol = ("true" if found else "false") if command == "t" else (found[0] if found else "")
    return symbol.lower() if command.isupper() else symbol


def expanded(line, tokens, t):
    """The observation that a pattern of Wapiti makes at a position."""
    macro = r'%(\w)\[(@?-?\d+),(\d+)(?:,"([^"]*)")?\]'
    made = re.sub(macro, lambda m: symbol_of(*m.groups(), tokens, t), line)
    return made[0].lower() + made[1:]


def wapiti_text(lines, weights, labels):
    """A model of these patterns, with weights by observation."""
    entries, at = [], 0
    for own in weights.values():
        entries += [f"{at + i}={float(w).hex()}" for i, w in enumerate(own) if w]
        at += len(own)
    blocks = [f"#mdl#2#{len(entries)}", f"#rdr#{len(lines)}/1/0"]
    blocks += [f"{len(line.encode())}:{line}," for line in lines]
    for names in (labels, weights):
        blocks += [f"#qrk#{len(names)}", *(f"{len(n.encode())}:{n}," for n in names)]
    return "\n".join([*blocks, *entries]) + "\n"


def drawn_sentences(rng, n):
    words, tags = ["the", "a", "Dog", "7", "x=y", "t"], ["x", "b", "2"]
    return [
        [(words[rng.integers(6)], tags[rng.integers(3)]) for _ in range(rng.integers(1, 6))]
        for _ in range(n)
    ]


@for_each("seed", range(12))
def test_labels_are_those_of_the_patterns(seed, tmp_path):
    rng, labels = np.random.default_rng(seed), ["A", "B", "C"]
    lines = [LINES[i] for i in rng.permutation(len(LINES))[: rng.integers(1, len(LINES) + 1)]]
    n, weights = len(labels), {}
    for tokens in drawn_sentences(rng, 10):
        for line, t in product(lines, range(len(tokens))):
            name = expanded(line, tokens, t)
            size = {"u": n, "b": n * n, "*": n + n * n}[name[0]]
            weights.setdefault(name, rng.normal(size=size) * (rng.random(size) < 0.7))
    text = wapiti_text(lines, weights, labels)
    tagger = read_wapiti_model(io.StringIO(text))
    write_wapiti_model(tagger, tmp_path / "again")
    again = read_wapiti_model(tmp_path / "again")
    for tokens in drawn_sentences(rng, 25):
        state, pair = np.zeros((len(tokens), n)), np.zeros((len(tokens), n, n))
        for line, t in product(lines, range(len(tokens))):
            own = weights.get(name := expanded(line, tokens, t))
            if own is not None and name[0] in "u*":
                state[t] += own[:n]
            if own is not None and name[0] in "b*":
                pair[t] += own[-n * n :].reshape(n, n)
        paths = np.array([*product(range(n), repeat=len(tokens))]).T
        score = sum(of_token[labels] for of_token, labels in zip(state, paths, strict=True))
        for t in range(1, len(tokens)):
            score = score + pair[t][paths[t - 1], paths[t]]
        p = np.exp(score - score.max())
        marginals = [np.bincount(labels, p / p.sum(), n) for labels in paths]
        sequence = [{"word": word, "tag": tag} for word, tag in tokens]
        for model in (tagger, again):
            np.testing.assert_allclose(model.predict_proba([sequence])[0], marginals, atol=1e-9)


def test_a_model_of_wapiti_without_patterns():
    weights = {"u:w=a": [1.0, 0.0], "*:x": [0.5, 0, 0, 2.0, -1.0, 0], "b": [0, 0, 1.0, 0]}
    tagger = read_wapiti_model(io.StringIO(wapiti_text([], weights, ["N", "D"])))
    crf = tagger["crf"]
    assert crf.state_features_ == {("u:w=a", "N"): 1.0, ("*:x", "N"): 0.5}
    edges = dict(zip(crf.edge_attribute_names_, crf.edge_coef_.tolist(), strict=True))
    assert edges == {"*:x": [[0, -1], [2, 0]], "b": [[0, 1], [0, 0]]}  # sorted labels: D, N
    assert tagger.predict([[{"u:w=a": True}, {"b": True}]]).tolist() == [["N", "D"]]


def test_expressions_of_wapiti_are_of_bytes(tmp_path):
    """As "wapiti label" has them: the last two bytes of "ét" are no text, and É is no letter."""
    lines = [r'u:s=%m[0,0,".?.?$"]', r'u:c=%t[0,0,"^\u"]', "u:l=%X[0,0]", 'u:e=%t[0,0,"^é?t"]']
    names = [b"u:s=\xa9t", b"u:c=true", "u:l=École".encode(), "u:l=É".encode(), b"u:e=true"]
    weights = [[4.0, 0.0], [0.0, 1.0], [2.0, 0.0], [3.0, 0.0], [0.0, 2.5]]
    text = wapiti_text(lines, {f"name{i}": w for i, w in enumerate(weights)}, ["N", "D"]).encode()
    for i, name in enumerate(names):
        text = text.replace(b"5:name%d," % i, b"%d:%s," % (len(name), name))
    tagger = read_wapiti_model(io.BytesIO(text))
    write_wapiti_model(tagger, tmp_path / "again")
    assert b"6:u:s=\xa9t," in (tmp_path / "again").read_bytes()
    # "^é?t" is a byte, then perhaps another one, then t: it does not match "t" alone.
    expected = {"ét": 4.0 - 2.5, "École": 2.0, "É": 3.0, "école": 0.0, "Ecole": -1.0, "t": 0.0}
    for model in (tagger, read_wapiti_model(tmp_path / "again")):
        for word, difference in expected.items():
            (((d, n),),) = model.predict_proba([[word]])
            assert np.log(n / d) == pytest.approx(difference)


def test_models_without_weights_or_attributes():
    for weights in ({}, {"u:w=a": [0.0, 0.0], "b": [0.0] * 4}):
        tagger = read_wapiti_model(
            io.StringIO(wapiti_text(["u:w=%x[0,0]", "b"], weights, ["N", "D"]))
        )
        assert tagger["crf"].coef_.shape == (len(weights) > 0, 2)
        assert tagger.predict_proba([["a"]])[0].tolist() == [[0.5, 0.5]]


@for_each(
    ("change", "message"),
    [
        (lambda t: t[1:], "not the beginning of a model of Wapiti"),
        (lambda t: t.replace("#mdl#2", "#mdl#1"), "of the type memm is no CRF"),
        (lambda t: t.replace("#mdl#2", "#mdl#7"), "of the type 7 is no CRF"),
        (lambda t: t.replace("4/1/0", "4/1/1"), "with --me"),
        (lambda t: t.replace("1:b,", "2:b,", 1), "expected a length"),
        (lambda t: t.replace("#qrk#3", "#qrk#4"), "expected a length"),
        (lambda t: t.replace("#qrk#3", "#qrk#2"), "expected '#qrk#'"),
        (lambda t: t.replace("#qrk#3\n1:D,\n1:N,\n1:V,", "#qrk#0"), "has no labels"),
        (lambda t: t.replace("7:u:w=the", "7:x:w=the"), "begins with none of u, b and"),
        (lambda t: t.replace("7:u:w=the", "7:u:v=the"), "no line of the template makes"),
        (lambda t: t.replace("7:u:w=the", "7:u:w=\nhe"), "has a line break"),
        (lambda t: t.replace("1:D,", "1:N,"), "labels are repeated"),
        (lambda t: t.replace("3=0x1", "3=0y1"), "not a number and its weight"),
        (lambda t: t.replace("3=0x1", "-3=0x1"), "not a number and its weight"),
        (lambda t: t.replace("p-2\n", "p+99999\n"), "not a number and its weight"),
        (lambda t: t.replace("3=0x1.a6e43571fc197p-2", "3=nan"), "a weight is not finite"),
        (lambda t: t.replace("\n56=", "\n50="), "repeated, or above"),
        (lambda t: t.replace("\n56=", "\n999999="), "repeated, or above"),
        (lambda t: t.replace("#mdl#2#7", "#mdl#2#8"), "7 weights, but the header says 8"),
        (lambda t: t.replace("u:w=the", "u:w=dog"), "cannot be told from another one"),
    ],
)
def test_damaged_models_of_wapiti(change, message):
    text = WAPITI
    assert change(text) != text
    with pytest.raises(ValueError, match=message):
        read_wapiti_model(io.StringIO(change(text)))


def double_array(keys):
    """A double array of keys and values, with the first places that are free."""
    base, check, used = {}, {}, set()

    def place(at, entries):
        children = {}
        for key, value in entries:
            children.setdefault(key[:1], []).append((key[1:], value))
        codes = {c: c[0] + 1 if c else 0 for c in children}
        begin = 1
        while begin in used or any(begin + code in check for code in codes.values()):
            begin += 1
        base[at] = begin
        used.add(begin)
        check.update(dict.fromkeys((begin + code for code in codes.values()), begin))
        for c, rest in children.items():
            if c:
                place(begin + codes[c], rest)
            else:
                base[begin] = -1 - rest[0][1]

    place(0, [(key.encode(), value) for key, value in keys.items()])
    trie = np.zeros((max([*base, *check]) + 300, 2), dtype=np.int32)
    trie[[*base], 0], trie[[*check], 1] = [*base.values()], [*check.values()]
    return trie


def binary_model(labels, template, starts, weights, factor=1.0):
    trie = double_array(starts).tobytes()
    texts = ["".join(f"{name}\0" for name in names).encode() for names in (labels, template)]
    head = struct.pack("<IIdIIII", 100, 0, factor, len(weights), 1, len(trie), len(texts[0]))
    body = texts[0] + struct.pack("<I", len(texts[1])) + texts[1] + trie
    return head + body + np.array(weights, dtype="<f4").tobytes()


def test_keys_of_a_double_array():
    rng = np.random.default_rng(0)
    keys = {"".join(rng.choice(list("abU0:é語"), rng.integers(1, 9))): 0 for _ in range(300)}
    keys = {key: 3 * value for value, key in enumerate(keys)}
    found, values = _keys(double_array(keys), None)
    assert dict(zip(found.decode().split("\0"), values.tolist(), strict=False)) == keys
    with pytest.raises(ValueError, match="max_bytes=99"):
        _keys(double_array(keys), 99)


SMALL = (["N", "D"], ["U0:%x[0,0]", "B"], {"B": 0, "U0:the": 4, "U0:dog": 6}, np.arange(8) / 4)


def test_a_binary_model_and_its_text_are_the_same():
    binary = read_crfpp_model(io.BytesIO(binary_model(*SMALL, factor=2.0)))
    labels, template, starts, weights = SMALL
    header = ["version: 100", "cost-factor: 2.0", "maxid: 8", "xsize: 1"]
    attributes = [f"{start} {name}" for name, start in starts.items()]
    blocks = header, labels, template, attributes, [f"{w}" for w in weights]
    text = read_crfpp_model(io.StringIO("\n\n".join(map("\n".join, blocks))))
    assert binary["crf"].state_features_ == text["crf"].state_features_
    assert (binary["crf"].transitions_ == text["crf"].transitions_).all()


def test_damaged_binary_models():
    data = binary_model(*SMALL)
    for cut in (4, 30, 40, len(data) // 2, len(data) - 1):
        with pytest.raises(ValueError, match="not complete"):
            read_crfpp_model(io.BytesIO(data[:cut]))
    with pytest.raises(ValueError, match="or has more than its header says"):
        read_crfpp_model(io.BytesIO(data + b"more"))
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(32, len(data))] = rng.choice([0, 1, 2, 255, rng.integers(256)])
        try:
            read_crfpp_model(io.BytesIO(damaged), max_bytes=10**6).predict([["the", "dog"]])
        except ValueError as error:
            assert str(error)


def test_other_encodings():
    template = ["U0:%x[0,0]", "B"]
    data = binary_model(["N", "D"], template, {"U0:a": 0, "B": 2}, [0.0, 1.0, 0, 0, 0, 0])
    turned = data.replace(b"N\0D", b"\xc6\0D")  # "Ć" in ISO 8859-2
    with pytest.raises(ValueError, match="utf-8"):
        read_crfpp_model(io.BytesIO(turned))
    assert "Ć" in read_crfpp_model(io.BytesIO(turned), encoding="iso8859-2").classes_
    for read in (read_crfpp_model, read_wapiti_model):
        with pytest.raises(ValueError, match=r"^encoding must name an encoding of text"):
            read(io.BytesIO(data), encoding="letters")


WORDS = [[word for word, _ in tokens] for tokens in SENTENCES]
LABELS = [["D", "N", "V"], ["D", "N"], ["N", "V"]]
WRITERS = {
    "crf++": (write_crfpp_model, read_crfpp_model, "U0:%x[0,0]\nU1:%x[-1,0]/x\n#c\nB\nB2=%x[0,0]"),
    "wapiti": (write_wapiti_model, read_wapiti_model, "U:%X[0,0] # c\n*:1=%x[-1,0]\n*\nb:%x[0,0]"),
}


@for_each(
    ("syntax", "middle"),
    [(syntax, middle) for syntax in WRITERS for middle in ([], [SequenceVectorizer()])],
)
def test_a_trained_pipeline_is_written_and_read(syntax, middle, tmp_path):
    write, read, template = WRITERS[syntax]
    edges = {} if middle else {"edge_columns": TemplateFeatures(template, syntax).edge_columns}
    for classifier in (CRF(**edges), CRF(c1=0.1, **edges), MaxMarginCRF(max_iter=20)):
        if middle and isinstance(classifier, MaxMarginCRF):
            continue
        lines = template if edges and isinstance(classifier, CRF) else template.split("\n")[0]
        tagger = make_pipeline(TemplateFeatures(lines, syntax), *middle, classifier)
        tagger.fit(WORDS, LABELS)
        write(tagger, tmp_path / "model")
        again = read(tmp_path / "model")
        new = [["the", "bark", "dog", "the"], ["zzz"], *WORDS]
        assert again.predict(new).tolist() == tagger.predict(new).tolist()
        if isinstance(classifier, CRF):
            for ours, theirs in zip(
                again.predict_proba(new), tagger.predict_proba(new), strict=True
            ):
                np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_what_models_of_crfpp_and_wapiti_cannot_hold(tmp_path):
    crf = CRF(boundaries=True).fit(WORDS, LABELS)
    path = tmp_path / "model"
    for write, syntax in ((write_crfpp_model, "crf++"), (write_wapiti_model, "wapiti")):
        features = TemplateFeatures("U:%x[0,0]", syntax)

        def fitted(*steps, y=LABELS, features=features):
            return make_pipeline(features, *steps).fit(WORDS, y)

        for other in (crf, make_pipeline(SequenceVectorizer(), CRF()).fit(WORDS, LABELS)):
            with pytest.raises(TypeError, match="it can hold a pipeline of TemplateFeatures"):
                write(other, path)
        cannot = [
            (fitted(CRF(boundaries=True)), "boundaries=True"),
            (fitted(CRF(constraints={"D": ["N"]})), "constraints"),
            (fitted(CRF(), y=[[1, 2, 3], [1, 2], [2, 3]]), "labels that are not strings"),
            (fitted(CRF(), y=[["a b", "N", "V"], ["a b", "N"], ["N", "V"]]), "it has a space"),
            (fitted(SequenceVectorizer(separator=":"), CRF()), "separator=':'"),
        ]
        for tagger, message in cannot:
            with pytest.raises(ValueError, match=message):
                write(tagger, path)
        edges = make_pipeline(features, CRF(edge_columns=["U" if syntax == "crf++" else "u"]))
        with pytest.raises(ValueError, match=r"\(edge_columns\)"):
            write(edges.fit(WORDS, LABELS), path)
    with pytest.raises(ValueError, match="a template of syntax='wapiti'"):
        write_crfpp_model(fitted(CRF()), path)
    one_label = make_pipeline(TemplateFeatures("U:%x[0,0]"), CRF()).fit([["a"]], [["D"]])
    with pytest.raises(ValueError, match="all of this one are zero"):
        write_crfpp_model(one_label, path)
    assert not path.exists()


def test_convert_a_model_of_wapiti(tmp_path, capsys):
    text, model, words = tmp_path / "w", tmp_path / "model", tmp_path / "words.txt"
    text.write_text(WAPITI)
    words.write_text("the DT\ndog NN\n")
    assert main(["convert", str(text), "--model", str(model)]) == 0
    assert main(["tag", str(words), "--model", str(model), "--columns", "word,pos"]) == 0
    assert capsys.readouterr() == ("the\tDT\tD\ndog\tNN\tN\n\n", "")


def test_models_are_read_in_linear_time():
    """Half of the weights are zero, so that no two labels have the same attributes."""
    labels = [f"L{i:02}" for i in range(36)]
    seconds = []
    for n in (2_000, 16_000):
        names = [f"u:w=w{i}" for i in range(n)]
        number = np.flatnonzero(np.random.default_rng(0).random(n * 36) < 0.5)
        entries = "".join(f"{i}=0x1.8p-1\n" for i in number.tolist())
        strings = "".join(f"{len(name)}:{name},\n" for name in labels)
        attributes = "".join(f"{len(name)}:{name},\n" for name in names)
        text = f"#mdl#2#{len(number)}\n#rdr#1/0/0\n11:u:w=%x[0,0],\n#qrk#36\n{strings}#qrk#{n}\n"
        start = time.process_time()
        read_wapiti_model(io.StringIO(text + attributes + entries))
        seconds.append(time.process_time() - start)
    assert seconds[1] < 20 * seconds[0] + 1.0
