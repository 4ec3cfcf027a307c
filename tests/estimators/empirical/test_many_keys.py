"""Feature dicts with many keys, most of which few tokens have: a bag of attributes."""

import pickle
import warnings

import numpy as np
import pytest

from sklearn_crcrf import CRF, HMM, EmpiricalCRF, SequenceArray, explain
from sklearn_crcrf.counts import Counts, count, finish, merge
from sklearn_crcrf.counts.tabulator import MOST_KEYS
from sklearn_crcrf.data import symbols
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.utils import memory

WORDS, y = make_addresses(60, random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore:the feature dicts of X have more than")


def grams(word):
    return [word[i : i + 3] for i in range(len(word) - 2)]


def features(word, order=1):
    items = [("word", word), ("title", word.istitle()), *((g, True) for g in grams(word))]
    return dict(items[::order])


X = [[features(w) for w in s] for s in WORDS]
TURNED = [[features(w, -1) for w in s] for s in WORDS]
ESTIMATORS = [EmpiricalCRF(), EmpiricalCRF(order=2), EmpiricalCRF.ecrn(), HMM()]


def same(a, b):
    pairs = zip(a.predict_proba(X), b.predict_proba(X), strict=True)
    return all(np.array_equal(p, q) for p, q in pairs)


@pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
def test_the_order_of_keys_and_of_parts_does_not_matter(model):
    whole = model.fit(X, y)
    assert whole.encoder_.names == ("word", "title")
    assert same(type(model)(**model.get_params()).fit(TURNED, y), whole)
    parts = type(model)(**model.get_params()).partial_fit(X[:20], y[:20])
    assert same(parts.partial_fit(TURNED[20:], y[20:]), whole)
    assert same(parts.forget(X[:10], y[:10]), type(model)(**model.get_params()).fit(X[10:], y[10:]))
    first = count(model, X[:30], y[:30])
    second = count(model, TURNED[30:], y[30:], plan=first.plan)
    assert same(finish(model, merge(first, second)), whole)
    assert same(pickle.loads(pickle.dumps(whole)), whole)


@pytest.mark.parametrize("model", [EmpiricalCRF(), HMM()], ids=repr)
def test_attributes_have_weights_by_name(model, tmp_path):
    model.fit(X, y)
    names = model.attribute_names_.tolist()
    assert len(names) == model.coef_.shape[0] and f"{grams(WORDS[0][1])[0]}=True" in names
    entries = explain(model, X[0]).contributions
    assert {f"{g}=True" for w in WORDS[0] for g in grams(w)} <= {*entries.name}
    assert CRF(init=model).fit(X[:20], y[:20]).score(X[:20], y[:20]) > 0.9
    assert model.predict([[{"word": "Nowhere", "new": True}]]).tolist()[0][0] in model.classes_
    from sklearn_crcrf.model_files import load_model, save_model

    save_model(model, tmp_path / "model")
    assert same(load_model(tmp_path / "model").estimator, model)


def test_bags_help_and_taggers_refuse_them():
    more, labels = make_addresses(100, random_state=1)
    new = [[features(w) for w in s] for s in more]
    assert EmpiricalCRF().fit(X, y).score(new, labels) > 0.8
    with pytest.raises(ValueError, match=f"needs at most {MOST_KEYS} keys"):
        EmpiricalCRF().fit(X, y).tagger()


def test_work_is_linear_in_the_number_of_keys(monkeypatch):
    asked, n_events = [], Counts.n_events.fget
    monkeypatch.setattr(Counts, "n_events", property(lambda c: asked.append(1) or n_events(c)))
    sizes = []
    for n in (100, 200, 400):
        keys = [{f"k{i}-{t}": True for i in range(n // 50)} for t in range(n)]
        pairs = [[{"word": w, **keys[t]} for t in range(n) for w in "ab"]]
        model = EmpiricalCRF().fit(pairs, [["A", "B"] * n])
        sizes.append((len(model.counts_), model.coef_.shape[0], len(model.encoder_.bag)))
    templates, rows, n_attributes = zip(*sizes, strict=True)
    assert len({*templates}) == 1 and len(asked) == 3
    assert n_attributes == (200, 800, 3200)
    assert {n - more for n, more in zip(rows, n_attributes, strict=True)} == {rows[0] - 200}


def test_many_features_and_close_columns_are_told_once_they_are_not_chosen():
    with pytest.warns(UserWarning, match=r"more than 32 keys.*'word'.*CRF learns.*observation="):
        EmpiricalCRF().fit(X, y)
    with pytest.warns(UserWarning, match=r"more than 32 keys.*CRF learns a weight for each attri"):
        HMM().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = EmpiricalCRF(observation="word").fit(X, y)
    assert model.observation_ == "word"
    few = EmpiricalCRF(observation=grams(WORDS[0][1])[0]).fit(X, y)
    assert few.encoder_.names == (few.observation_,)
    with pytest.raises(ValueError, match=r"observation='lemma' is not among the columns.* more"):
        EmpiricalCRF(observation="lemma").fit(X, y)


def test_columns_that_do_not_fit_into_memory_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(memory, "SMALL", 1000)
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000.0)
    table = symbols.ItemTable(SequenceArray.from_sequences(X))
    with pytest.raises(ValueError, match=r"a column for each of the .* keys .* GB of memory"):
        table.columns()


def test_keys_of_neighbours_are_no_columns_where_keys_are_many():
    """Tokens have 20 keys of their own, and the same of both neighbours, as for CRFsuite."""

    def own(word):
        return {"word": word, **{f"key{k}": word[k % len(word)] for k in range(19)}}

    X = []
    for words in WORDS:
        tokens = [own(word) for word in words]
        around = [{}, *tokens, {}]
        X.append(
            [
                {**token, "previous": around[t], "next": around[t + 2]}
                for t, token in enumerate(tokens)
            ]
        )
    model = EmpiricalCRF(observation="word").fit(X, y)
    assert {*model.encoder_.names} == {*own("a")}
    assert {"next:key1=t", "previous:key1=t"} < {*model.attribute_names_.tolist()}
