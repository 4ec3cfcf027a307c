"""The JavaScript module that reads taggers, in Node and in Chromium, and the page that uses it."""

import base64
import gzip
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from unicodedata import category

import numpy as np
import pytest
from browsers import needs_chromium, needs_node, page, run_in_node
from odd_words import ODD, corpus, others

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.serving import load_tagger
from sklearn_crcrf.serving.counted import spell

__all__ = ["page"]  # a fixture

DOCS = Path(__file__).parents[2] / "docs"
MODULE = DOCS / "_static" / "live" / "tagger.js"

# What a tagger of a file answers: labels and probabilities before and after it learned, and whether
# it is the same again once it forgot.
ANSWERS = """
async (Tagger, cases) => {
  const found = [];
  for (const { file, X, learned } of cases) {
    const tagger = await Tagger.read(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
    const answers = () => X.map((words) => [tagger.tag(words), tagger.probabilities(words)]);
    const before = answers();
    if (!learned) {
      found.push([before]);
      continue;
    }
    for (const [words, labels] of learned) tagger.learn(words, labels);
    const after = answers();
    for (const [words, labels] of learned.reverse()) tagger.forget(words, labels);
    found.push([before, after, answers()]);
  }
  return found;
}
"""


def in_node(program, given):
    """What a function of the module and of something returns in Node."""
    return run_in_node(MODULE, program, given)


def without_surrogates(X, y=None):
    """Sequences without words that JSON cannot hold."""
    kept = [[not re.search("[\ud800-\udfff]", word) for word in words] for words in X]
    return [
        [item for item, is_kept in zip(items, mask, strict=True) if is_kept]
        for items, mask in zip(X if y is None else y, kept, strict=True)
    ]


def cases(folder):
    """Files, sentences, sentences to learn, and what Python answers."""
    X, y = corpus(120)
    odd = without_surrogates(X), without_surrogates(X, y)
    X, y = corpus(25, seed=5, most=1.0)
    more_odd = without_surrogates(X), without_surrogates(X, y)
    X, y = make_addresses(200, random_state=0)
    addresses, more, new = (X[:150], y[:150]), (X[150:170], y[150:170]), X[170:]
    frequent = ([["a", "b"]] * 20 + [["a"]], [["A", "B"]] * 20 + [["A"]])
    rare = ([["a", "b", "c"], ["b"]], [["A", "A", "B"], ["A"]])
    many = [[f"w{k}", f"w{k + 1}"] for k in range(300)] * 4
    many = many, [[f"L{word[1:]}" for word in words] for words in many]
    one_more = ([["w5", "w3"]], [["L7", "L1"]])
    three = {"experts": ["token[0]|token[+1]", "token[0]|token[+1]|token[-1]", "token[+1]"]}
    tried = [
        ({}, addresses, new, None, {}),
        ({}, addresses, new, None, {"bits": 8, "max_bytes": 70_000}),
        ({}, addresses, new, more, {}),
        ({}, addresses, new, more, {"bits": 16}),
        ({"sigma": 3.0, "mu_oov": 0.5}, odd, without_surrogates(others()), None, {}),
        ({"sigma": 3.0, "mu_oov": 0.5}, odd, without_surrogates(others()), more_odd, {}),
        ({"exponents": {"edges": 0.2}}, frequent, [["a"], [], ["b", "c", "a"]], rare, {}),
        (three, odd, without_surrogates(others()), more_odd, {}),
        ({}, many, [["w5", "w6", "w3"], ["w1"]], one_more, {}),
    ]
    for k, (parameters, train, X, learned, options) in enumerate(tried):
        crf, path = EmpiricalCRF(**parameters).fit(*train), folder / f"{k}.tagger"
        tagger = crf.tagger(counts=learned is not None)
        tagger.save(path, **options)
        if learned is None:
            tagger = load_tagger(path)  # else weights are made of counts, whatever the bits
        wanted = [[(tagger(words), tagger.probabilities(words)) for words in X]]
        if learned is not None:
            crf.partial_fit(*learned)
            labels, probabilities = crf.predict(X), crf.predict_proba(X)
            wanted.append([*zip(labels, probabilities, strict=True)])
            wanted.append(wanted[0])
        file = base64.b64encode(path.read_bytes()).decode()
        given = None if learned is None else [*zip(*learned, strict=True)]
        yield {"file": file, "X": X, "learned": given}, wanted


def check(found, wanted):
    for ours, theirs in zip(found, wanted, strict=True):
        for answers, expected in zip(ours, theirs, strict=True):
            for (labels, p), (right, q) in zip(answers, expected, strict=True):
                assert labels == [*right]
                if labels:
                    np.testing.assert_allclose(p, q, rtol=0, atol=1e-9)


@needs_node
def test_labels_and_learning_in_node(tmp_path):
    given, wanted = zip(*cases(tmp_path), strict=True)
    check(in_node(f"(module, cases) => ({ANSWERS})(module.Tagger, cases)", given), wanted)


@needs_chromium
def test_labels_and_learning_in_chromium(page, tmp_path):
    given, wanted = zip(*cases(tmp_path), strict=True)
    script = f"{MODULE.read_text(encoding='utf-8')}\nwindow.Tagger = Tagger;"
    page.goto("about:blank")
    page.add_script_tag(content=script, type="module")
    page.wait_for_function("() => Boolean(window.Tagger)")
    check(page.evaluate(f"(cases) => ({ANSWERS})(Tagger, cases)", [*given]), wanted)


@needs_node
def test_spelling_of_all_characters():
    points = [k for k in range(0x20000) if category(chr(k)) not in ("Cn", "Cs", "Co")]
    words = [f"a{chr(k)}Z-1" for k in points] + [f"{chr(k)}ing" for k in points]
    words += [word for word in ODD if not re.search("[\ud800-\udfff]", word)]
    found = in_node("({ spell }, words) => words.map(spell)", words)
    different = {
        word.strip("aZ-1ing")
        for word, ours, theirs in zip(words, found, map(spell, words), strict=True)
        if ours != [*theirs]
    }
    # Versions of Unicode differ in a few letters.
    assert len(different) < 15 and min(different, default="\u0250") >= "\u0250"


@needs_node
def test_reasons(tmp_path):
    X, y = make_addresses(60, random_state=0)
    crf = EmpiricalCRF().fit(X, y)
    crf.tagger(counts=True).save(tmp_path / "file")
    words, t = X[0], 1
    program = """async ({ Tagger }, [file, words, t]) => {
      const tagger = await Tagger.read(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
      const [state] = tagger.scores(words);
      return [tagger.explain(words, t), Array.from(state[t])];
    }"""
    file = base64.b64encode((tmp_path / "file").read_bytes()).decode()
    evidence, state = in_node(program, [file, words, t])
    # The factors multiply to the scores, up to what all labels share.
    rates = [one for one in evidence if one.get("rates")]
    total = np.sum([np.log(one["factors"]) for one in rates], axis=0)
    np.testing.assert_allclose(np.ptp(total - state), 0.0, atol=1e-9)
    for one in rates:
        np.testing.assert_allclose(one["factors"], np.power(one["rates"], one["exponent"]))
    # The rate of a word before, from the counts: ((c + 2 q) / (n + 2)) / q.
    (found,) = [one for one in evidence if one["name"] == f"token[-1] = {words[t - 1]}"]
    prior = crf.model_.statistics.label_prior
    pairs = [
        labels[k]
        for tokens, labels in zip(X, y, strict=True)
        for k in range(1, len(tokens))
        if tokens[k - 1] == words[t - 1]
    ]
    counts = np.array([pairs.count(label) for label in crf.classes_])
    wanted = (counts + 2 * prior) / (len(pairs) + 2) / prior
    np.testing.assert_allclose(found["rates"], wanted)
    assert evidence[-2]["name"].startswith("after ") and evidence[-1]["name"].startswith("before ")


REFUSED = """async ({ Tagger }, files) => {
  const messages = [];
  for (const file of files) {
    try {
      const tagger = await Tagger.read(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
      tagger.probabilities(["a", "b", "walks", "London"]);
      messages.push(null);
    } catch (error) {
      messages.push(error.message);
    }
  }
  return messages;
}"""


@needs_node
def test_what_is_no_file_of_a_counted_tagger(tmp_path):
    X, y = corpus(10)
    others = [
        (EmpiricalCRF(order=2).fit(X, y), "order 1"),
        (CRF().fit(X, y), "EmpiricalCRF of words alone"),
        (EmpiricalCRF().fit([[{"w": w, "t": "a"} for w in s] for s in X], y), "words alone"),
    ]
    files, wanted = [b"", b"not a tagger" * 10], ["not a file of a tagger"] * 2
    for estimator, message in others:
        estimator.tagger().save(tmp_path / "file")
        files.append((tmp_path / "file").read_bytes())
        wanted.append(message)
    EmpiricalCRF().fit(X, y).tagger(counts=True).save(tmp_path / "file")
    data, rng = (tmp_path / "file").read_bytes(), np.random.default_rng(0)
    files += [data[:-64], data[:50] + b"?" + data[51:], data[:24] + b"\2" + data[25:]]
    wanted += ["size is wrong", "header of the file is damaged", "version 2"]
    files += [gzip.compress(data)[:-100], gzip.compress(data)[:3]]
    wanted += ["unexpected end"] * 2
    n_known = len(files)
    for place in rng.integers(0, len(data), 200):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        files.append(bytes(changed))
    found = in_node(REFUSED, [base64.b64encode(file).decode() for file in files])
    for message, part in zip(found[:n_known], wanted, strict=True):
        assert part in message


@needs_node
def test_what_cannot_be_learned(tmp_path):
    X, y = make_addresses(20, random_state=0)
    files = []
    for counts in (False, True):
        EmpiricalCRF().fit(X, y).tagger(counts=counts).save(tmp_path / "file")
        files.append(base64.b64encode((tmp_path / "file").read_bytes()).decode())
    program = """async ({ Tagger }, files) => {
      const messages = [];
      const read = (k) => Tagger.read(Uint8Array.from(atob(files[k]), (c) => c.charCodeAt(0)));
      const tried = [
        [0, "learn", ["a"], ["B-CITY"]], [1, "learn", ["a"], ["X"]], [1, "learn", ["a"], []],
        [1, "forget", ["a"], ["B-CITY"]], [1, "tag", "a"], [1, "tag", [3]],
      ];
      for (const [k, does, ...given] of tried) {
        const tagger = await read(k), words = ["a", "b"];
        const before = JSON.stringify(tagger.probabilities(words));
        try {
          tagger[does](...given);
        } catch (error) {
          const after = JSON.stringify(tagger.probabilities(words));
          messages.push([error.message, before === after]);
        }
      }
      return messages;
    }"""
    found = in_node(program, files)
    wanted = ["no counts", "label X", "one label for each", "never learned", "strings", "strings"]
    assert len(found) == len(wanted)
    for (message, is_same), part in zip(found, wanted, strict=True):
        assert part in message and is_same


def live():
    pytest.importorskip("docutils")
    spec = spec_from_file_location("live", DOCS / "live.py")
    module = module_from_spec(spec)
    sys.modules["live"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def live_page(tmp_path_factory):
    """The page, without the rest of the site."""
    path = tmp_path_factory.mktemp("live") / "live.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><main>{live().page()}</main>", "utf-8")
    return path


def shown_labels(page):
    found = page.locator("#live-sentence b").all_text_contents()
    return [label.replace("\N{EN DASH}", "O") for label in found]


@needs_chromium
def test_the_page_labels_explains_and_learns_from_a_file(page, live_page):
    page.context.set_offline(True)
    page.goto(live_page.as_uri())
    page.wait_for_selector("#live-live[data-ready]")
    page.context.set_offline(False)
    X, y = make_addresses(300, random_state=0)
    crf = EmpiricalCRF().fit(X, y)
    words = ["Anna", "Lee", ",", "7", "Garden", "Lane", ",", "Ashford"]
    page.fill("#live-text", "Anna Lee, 7 Garden Lane, Ashford")
    assert shown_labels(page) == crf.predict([words])[0]
    assert page.locator("#live-why tr").count() > 5
    page.locator("#live-sentence button").nth(7).click()
    assert page.text_content("#live-word") == "Ashford"
    page.locator("#live-labels button", has_text="B-REGION").click()
    assert "learned in" in page.text_content("#live-message")
    wanted = [*crf.predict([words])[0][:7], "B-REGION"]
    crf.partial_fit([words], [wanted])
    assert shown_labels(page) == crf.predict([words])[0]
    page.locator("#live-labels button").nth(1).click()  # instead of the correction before
    assert page.text_content("#live-learned") == "1 address learned"
    page.click("#live-undo")
    assert page.locator("#live-undo").is_disabled()
    crf.forget([words], [wanted])
    assert shown_labels(page) == crf.predict([words])[0]
    page.fill("#live-text", "")
    assert page.locator("#live-details").is_hidden()
    page.fill("#live-text", "<img src=x onerror=document.title='hacked'>")
    assert page.title() != "hacked"


def test_the_page_is_small():
    size = round(len(live().model()) / 1000)
    assert size < 300 and f"its file takes {size} kB" in (DOCS / "live.rst").read_text("utf-8")
    assert len(MODULE.read_text("utf-8").splitlines()) < 1000
