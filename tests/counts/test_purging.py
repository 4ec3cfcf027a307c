"""No file has a string that was not counted; after a purge nothing tells what was forgotten."""

import pickle
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from sklearn_crcrf import HMM, EmpiricalCRF, GraphArray, OpinionPoolCRF
from sklearn_crcrf.counts import PartialCounts, count, digest, merge
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.model_files import save_model
from sklearn_crcrf.serving.files import MODEL, read_content

# No other string has this letter, whose bytes no array has by chance.
LETTER = "\N{MATHEMATICAL FRAKTUR SMALL Z}"
NAME = f"Zw{LETTER}qvar{LETTER}a"
pytestmark = pytest.mark.filterwarnings("ignore:the feature dicts of X have more than")


def sentences():
    """The sentence to forget, and others, one of which has one of its words first."""
    X, y = make_addresses(30, random_state=0)
    y = [["B" if label != "O" else "O" for label in labels] for labels in y]
    secret = [NAME, X[7][0], X[3][-1], f"{LETTER}-7"]
    return [secret, *X], [["B", "O", "B", "O"], *y]


def shapes(X):
    return [[{"word": w, "title": w.istitle(), "last": w[-1:]} for w in s] for s in X]


def with_key(X):
    """Only the secret has this key, and the label of no expert on it can be made."""
    return [[{"word": w, **({LETTER: "x"} if LETTER in w else {})} for w in s] for s in X]


def with_numbers(X):
    return [[{"word": w, "size": 1.0 + (len(w) % 2)} for w in s] for s in X]


def bags(X):
    keys = [f"k{i}" for i in range(40)]
    tokens = [[{"word": w} | {w[i : i + 3]: True for i in range(len(w) - 2)} for w in s] for s in X]
    return [[token | {keys[t % 40]: True} for t, token in enumerate(s)] for s in tokens]


def frames(X):
    index = pd.MultiIndex.from_tuples(
        [(s, t) for s, words in enumerate(X) for t in range(len(words))]
    )
    words = [w for s in X for w in s]
    only = [w if LETTER in w else None for w in words]
    return pd.DataFrame({"word": words, "only": only}, index=index)


def trees(X):
    parents = [[-1, *(t // 2 for t in range(len(s) - 1))] for s in X]
    kinds = [[w[:2] for w in s] for s in X]
    return GraphArray.from_parents(X, parents, edge_type=kinds)


def rings(X):
    edges = [[(t, t + 1) for t in range(len(s) - 1)] + [(0, 2)] for s in X]
    kinds = [[(s[a] + s[b])[:1] for a, b in pairs] for s, pairs in zip(X, edges, strict=True)]
    return GraphArray.from_edges(X, edges, kinds)


def lists(X):
    return X


CASES = [
    (EmpiricalCRF(), lists),
    (EmpiricalCRF(order=2), lists),
    (EmpiricalCRF(order=3, sigma=2.0, mu_oov=1.5), lists),
    (EmpiricalCRF(segments="counted"), lists),
    (EmpiricalCRF(exponents={"word": 0.5, "token[-2]|token[-1]": 0.2}), lists),
    (EmpiricalCRF(experts=["token[-1]", "token:shape[0]"]), lists),
    (EmpiricalCRF.ecrn(), lists),
    (EmpiricalCRF.ecrn(spelling="mean", known_neighbour="word"), lists),
    (EmpiricalCRF.maxent(), lists),
    (HMM(), lists),
    *((model, make) for model in (EmpiricalCRF(), HMM()) for make in (shapes, with_key, frames)),
    *((model, make) for model in (EmpiricalCRF(), HMM()) for make in (with_numbers, bags, trees)),
    (EmpiricalCRF.ecrn(), shapes),
    (EmpiricalCRF(experts=["title[0]"]), shapes),
    (EmpiricalCRF(), rings),
]
IDS = [f"{model!r}-{make.__name__}" for model, make in CASES]


def units(X, chosen):
    if isinstance(X, pd.DataFrame):
        parts = [X.loc[[i]] for i in chosen]
        return pd.concat(parts)
    return X[np.array(chosen)] if isinstance(X, GraphArray) else [X[i] for i in chosen]


def labels_of(X, y, chosen):
    found = [y[i] for i in chosen]
    return [*chain(*found)] if isinstance(X, pd.DataFrame) else found


def part(X, y, chosen):
    return units(X, chosen), labels_of(X, y, chosen)


def contents(model, folder):
    """What all files of a model hold, and as one text; tables of strings have random keys."""
    save_model(model, folder / "model")
    found = {"bytes": (folder / "model").read_bytes()}
    unpacked = {"model": read_content(folder / "model", None, False, MODEL)}
    try:
        model.tagger().save(folder / "tagger")
        save_model(model, folder / "compact", compact=True)
    except (AttributeError, ValueError):
        pass  # it has none
    else:
        unpacked |= {name: read_content(folder / name, None) for name in ("tagger", "compact")}
    text = pickle.dumps(model)
    for name, (settings, arrays, *_) in unpacked.items():
        found[name] = {"settings": repr(settings)}
        for key, array in arrays.items():
            text += array.tobytes()
            if not key.endswith((".key", ".slots")):
                found[name][key] = array.shape, array.tobytes()
        text += found[name]["settings"].encode()
    return found, text


def holds_the_name(text):
    """Whether a text has the letter, in UTF-8 or escaped."""
    return LETTER.encode() in text or ascii(LETTER)[1:-1].encode() in text


@pytest.mark.parametrize("model, make", CASES, ids=IDS)
def test_files_after_forgetting_are_those_of_a_fit_without(model, make, tmp_path):
    words, y = sentences()
    X, n = make(words), len(words)
    # The secret comes first, so that a fit without it gives other ids.
    crf = clone(model).fit(*part(X, y, [*range(n)]))
    assert holds_the_name(contents(crf, tmp_path)[1])
    crf.forget(*part(X, y, [0]), purge=True)
    other = clone(model).fit(*part(X, y, [*range(n - 1, 0, -1)])).partial_fit(*part(X, y, [5]))
    other.forget(*part(X, y, [5]), purge=True)
    found, text = contents(crf, tmp_path)
    assert found == contents(other, tmp_path)[0]
    assert not holds_the_name(text) and b"receipt" not in text
    # A plain fit without it has the same content, with other ids.
    rest = clone(model).fit(*part(X, y, [*range(1, n)]))
    assert crf.receipt_.digest_after == digest(PartialCounts(*rest._counter, rest.counts_))
    new = part(X, y, [0, 3, 4])[0]
    assert np.array_equal(flat(rest.predict(new)), flat(crf.predict(new)))
    if model.get_params().get("zeros") != "exact":
        assert np.array_equal(flat(rest.predict_proba(new)), flat(crf.predict_proba(new)))


@pytest.mark.parametrize("model, make", CASES, ids=IDS)
def test_files_are_the_same_if_what_is_forgotten_came_last(model, make, tmp_path):
    words, y = sentences()
    words, y = [*words[1:], words[0]], [*y[1:], y[0]]
    X, n = make(words), len(words)
    crf = clone(model).fit(*part(X, y, [*range(n)])).forget(*part(X, y, [n - 1]))
    found, text = contents(crf, tmp_path)
    assert not hasattr(crf, "receipt_")
    if make is not with_key:  # the keys are those of the first data
        assert found == contents(clone(model).fit(*part(X, y, [*range(n - 1)])), tmp_path)[0]
        assert not holds_the_name(text)


def flat(values):
    return np.concatenate([np.atleast_1d(part) for part in values])


X, Y = sentences()


@pytest.mark.parametrize("weight", [0.0, None])
@pytest.mark.parametrize("model", [EmpiricalCRF(), EmpiricalCRF.ecrn(), HMM()], ids=repr)
def test_strings_without_a_label_are_not_stored(model, weight, tmp_path):
    y, weights = ([[None] * len(X[0]), *Y[1:]], None) if weight is None else (Y, [0.0] + [1.0] * 30)
    crf = clone(model).fit(X, y, weights)
    found, text = contents(crf, tmp_path)
    assert not holds_the_name(text)
    assert crf.predict(X).tolist() == clone(model).fit(X[1:], Y[1:]).predict(X).tolist()
    in_parts = clone(model).fit_parts([(X[:2], y[:2], weights and weights[:2]), (X[2:], Y[2:])])
    assert contents(in_parts, tmp_path)[0] == found


def test_fitted_exponents_do_not_keep_strings(tmp_path):
    dicts = with_key(X)
    y = [[None] * len(X[0]), *Y[1:]]
    assert not holds_the_name(contents(EmpiricalCRF(exponents="fit").fit(X, y), tmp_path)[1])
    crf = EmpiricalCRF(exponents="fit").fit(dicts, Y)
    assert f"{LETTER}[0]" in crf.exponents_
    crf.forget(dicts[:1], Y[:1], purge=True)
    assert not holds_the_name(contents(crf, tmp_path)[1])
    refitted = EmpiricalCRF(exponents="fit").fit(dicts[1:], Y[1:])
    assert crf.exponents_.keys() == refitted.exponents_.keys()
    named = EmpiricalCRF(exponents={f"{LETTER}[0]": 0.5}).fit(dicts, Y)
    with pytest.raises(ValueError, match="exponents: there is no"):
        named.forget(dicts[:1], Y[:1], purge=True)
    assert f"{LETTER}[0]" in named.exponents_


def test_models_of_models_do_not_keep_strings(tmp_path):
    pool = OpinionPoolCRF([("counted", EmpiricalCRF()), ("hmm", HMM())]).fit(X, Y)
    assert holds_the_name(contents(pool, tmp_path)[1])
    for expert in pool.estimators_:
        expert.forget(X[:1], Y[:1])
    assert not holds_the_name(contents(pool, tmp_path)[1])


def test_the_receipt_says_what_was_removed():
    crf = EmpiricalCRF().fit(X, Y)
    before = crf.counts_.n_events
    assert crf.forget(X[:1], Y[:1], purge=True) is crf
    receipt = crf.receipt_
    assert NAME in receipt.strings and X[7][0] not in receipt.strings
    assert receipt.n_rows == before - crf.counts_.n_events > 0
    assert NAME not in repr(receipt)
    assert receipt.digest_before == digest(count(EmpiricalCRF(), X, Y))
    assert receipt.digest_after == digest(count(EmpiricalCRF(), X[1:], Y[1:]))
    turned = [[*reversed(Y[1])], *Y[2:]]
    assert receipt.digest_after != digest(count(EmpiricalCRF(), X[1:], turned))
    halves = count(EmpiricalCRF(), X[9:], Y[9:]), count(EmpiricalCRF(), X[1:9], Y[1:9])
    assert receipt.digest_after == digest(merge(*halves))
    for change in (lambda: crf.partial_fit(X[:1], Y[:1]), lambda: crf.forget(X[:1], Y[:1])):
        change()
        assert not hasattr(crf, "receipt_")


def test_a_purge_that_fails_changes_nothing():
    crf = EmpiricalCRF().fit(X, Y)
    before = crf.counts_
    with pytest.raises(ValueError, match="nothing would be left"):
        crf.forget(X, Y, purge=True)
    with pytest.raises(ValueError, match="never counted"):
        crf.forget([[NAME]], [["O"]], purge=True)
    assert crf.counts_ is before and not hasattr(crf, "receipt_")


def test_a_purged_model_learns_and_forgets():
    crf = EmpiricalCRF().fit(X, Y).forget(X[:1], Y[:1], purge=True).partial_fit(X[:1], Y[:1])
    expected = EmpiricalCRF().fit(X, Y)
    assert all(map(np.array_equal, crf.predict_proba(X), expected.predict_proba(X)))
    loaded = pickle.loads(pickle.dumps(crf.forget(X[:3], Y[:3], purge=True)))
    rest = EmpiricalCRF().fit(X[3:], Y[3:])
    assert all(map(np.array_equal, loaded.predict_proba(X), rest.predict_proba(X)))
    loaded.partial_fit(X[:3], Y[:3])
    assert all(map(np.array_equal, loaded.predict_proba(X), expected.predict_proba(X)))


def test_attributes_of_a_sparse_matrix_have_no_names():
    rng = np.random.default_rng(0)
    rows, y = sp.csr_array(rng.poisson(0.4, (30, 7))), rng.integers(3, size=30)
    crf = EmpiricalCRF().fit(rows, y).forget(rows[:5], y[:5], purge=True)
    assert crf.receipt_.strings == () and crf.receipt_.digest_before != crf.receipt_.digest_after
    assert np.array_equal(
        crf.predict_proba(rows), EmpiricalCRF().fit(rows[5:], y[5:]).predict_proba(rows)
    )
