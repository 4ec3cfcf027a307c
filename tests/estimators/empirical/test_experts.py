"""Experts that a user names."""

import numpy as np
import pytest
from counted_trees import make_trees, with_tag
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from toy import make_corpus, with_tags

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.counts import Template
from sklearn_crcrf.estimators.empirical.experts import chosen_experts
from sklearn_crcrf.estimators.empirical.smoothing import CONTEXT_STRENGTH

X, Y = make_corpus(n_sequences=50)
TAGGED = with_tags(X)
EXPERTS = ["tag[0]", "tag[-1]|tag[0]", "word[+1]", "word[0]|tag[0]|tag[+1]"]


def contexts(templates, names=("word", "tag"), features=("shape",), links="next"):
    return {e.name: e for e in chosen_experts(templates, names, features, links).contexts}


def test_the_prior_has_most_of_the_symbols():
    found = contexts([*EXPERTS, "word[0]|tag[0]", "word[0]", "word:shape[0]|word:shape[-1]"])
    broader = {name: expert.broader and expert.broader.symbols for name, expert in found.items()}
    assert broader == {
        "tag[0]": None,
        "word[+1]": None,
        "tag[-1]|tag[0]": (("tag", 0),),
        "word[0]|tag[0]": (("word", 0),),
        "word:shape[0]|word:shape[-1]": None,
        "word[0]|tag[0]|tag[+1]": (("word", 0), ("tag", 0)),
    }
    lengths = [len(expert.template.symbols) for expert in found.values()]
    assert lengths == sorted(lengths)


def test_default_exponents_fall_with_the_number_of_experts():
    experts = chosen_experts(EXPERTS, ("word", "tag"), (), "next")
    exponents = experts.exponents(are_segments=False)
    assert exponents == experts.exponents(are_segments=True)
    names = [name for expert in experts.contexts for name in expert.exponent_names]
    assert {exponents[name] for name in [*names, "word", "spelling/seldom"]} == {5**-0.5}
    crf = EmpiricalCRF(experts=EXPERTS).fit(TAGGED, Y)
    assert crf.exponents_["word"] == crf.exponents_["tag[0]/seldom"] == 5**-0.5
    assert crf.exponents_["shape/unseen"] == 0.83 * 5**-0.5
    assert crf.exponents_["transition"] == crf.exponents_["edges"] == 5**-0.25


def test_only_what_is_named_takes_part():
    crf = EmpiricalCRF(experts=EXPERTS).fit(TAGGED, Y)
    named = {name.partition("/")[0] for name in crf.exponents_}
    assert {name for name in named if "[" in name} == set(EXPERTS)
    columns = {column for template in crf.counts_ for column, _ in template.symbols}
    assert columns == {"word", "tag"}
    # Rates of labels depend on words only.
    assert Template((("tag", -1), ("tag", 0)), (-1, 0)) not in crf.counts_
    assert Template((("word", -1), ("word", 0)), (-1, 0)) in crf.counts_


def test_no_experts():
    labels = [[f"B-{label}" for label in labels] for labels in Y]  # no rates depend on spelling
    crf = EmpiricalCRF(experts=[]).fit(X, labels)
    assert not any("[" in name for name in crf.exponents_)
    assert crf.exponents_["word"] == 1.0
    everything = EmpiricalCRF().fit(X, labels)
    off = crf.exponents_ | {n: 0.0 for n in everything.exponents_ if "[" in n}
    assert_allclose(
        np.concatenate(crf.predict_proba(X)),
        np.concatenate(EmpiricalCRF(exponents=off).fit(X, labels).predict_proba(X)),
    )


def test_weights_are_estimates_relative_to_the_prior():
    crf = EmpiricalCRF(experts=["tag[0]", "tag[-1]|tag[0]"], sigma=1.2).fit(TAGGED, Y)
    model, stats, strength = crf.model_, crf.model_.statistics, CONTEXT_STRENGTH / 1.2**2
    tokens = [
        (x[t - 1]["tag"] if t else None, x[t]["tag"], y[t])
        for x, y in zip(TAGGED, Y, strict=True)
        for t in range(len(x))
    ]
    names, coef = crf.attribute_names_.tolist(), crf.coef_.toarray()
    assert len(model._contexts) == 2
    for before, tag, _ in set(tokens):
        of_tag = np.array([sum(t[1:] == (tag, c) for t in tokens) for c in crf.classes_])
        of_pair = np.array([sum(t == (before, tag, c) for t in tokens) for c in crf.classes_])
        prior = (of_tag + strength * stats.label_prior) / (of_tag.sum() + strength)
        where = "<boundary>" if before is None else before
        assert_allclose(
            coef[names.index(f"tag[0]={tag}")],
            np.log1p(of_tag / (strength * stats.label_prior)),
        )
        assert_allclose(
            coef[names.index(f"tag[-1]={where}|tag[0]={tag}")],
            np.log1p(of_pair / (strength * prior)),
        )


def test_exponents_are_fitted_and_given():
    fitted = EmpiricalCRF(experts=EXPERTS, exponents="fit").fit(TAGGED, Y)
    given = EmpiricalCRF(experts=EXPERTS, exponents=fitted.exponents_).fit(TAGGED, Y)
    assert given.exponents_ == fitted.exponents_
    assert fitted.exponents_["word[+1]"] != 5**-0.5
    for p, q in zip(given.predict_proba(TAGGED), fitted.predict_proba(TAGGED), strict=True):
        assert_array_equal(p, q)


@pytest.mark.parametrize("trees", [True, False])
def test_counts_add_up(trees):
    data, labels = make_trees(tokens=with_tag) if trees else (TAGGED, Y)
    crf = EmpiricalCRF(experts=EXPERTS)
    whole = clone(crf).fit(data, labels)
    parts = clone(crf).fit(data[:20], labels[:20]).partial_fit(data[20:], labels[20:])
    for p, q in zip(whole.predict_proba(data), parts.predict_proba(data), strict=True):
        assert_array_equal(p, q)


@pytest.mark.parametrize(
    ("experts", "message"),
    [
        (["tag"], "experts: 'tag' must be made of parts like 'word"),
        (["lemma[0]"], "experts: 'lemma.0.' needs a column 'lemma'"),
        (["tag[0]", "tag[0]"], "experts: 'tag.0.' has the symbols of another template"),
        (["tag[0]|tag[1]", "tag[1]|tag[0]"], "has the symbols of another template"),
        ("tag[0]", "experts"),
        ([0], "experts"),
    ],
)
def test_templates_that_are_not_valid(experts, message):
    with pytest.raises(ValueError, match=message):
        EmpiricalCRF(experts=experts).fit(TAGGED, Y)


def test_plain_frequencies_have_no_experts():
    with pytest.raises(ValueError, match="experts need zeros="):
        EmpiricalCRF.ecrn(experts=["word[-1]"]).fit(X, Y)


def test_transitions_depend_on_spelling_unless_labels_are_many_or_of_segments():
    X = [[f"a{i}", f"b{i}{'' if i % 2 else ','}", f"c{i}", f"d{i}"] for i in range(40)]
    y = [["Y", "Y", *("YZ" if i % 2 else "ZZ")] for i in range(40)]
    crf = EmpiricalCRF().fit(X, y)
    assert {name for t, _ in crf.model_._edges for name, _ in t.symbols} == {
        *("token", "token:shape", "token:suffix1")
    }
    other = [[f"L{i}" for i in range(40)]]
    names = [["B-Y" if label == "Y" else "O" for label in labels] for labels in y]
    for labels, more in ((y, other), (names, [["B-Y"] * 40])):
        model = EmpiricalCRF().fit([*X, ["w"] * 40], [*labels, *more]).model_
        assert [name for t, _ in model._edges for name, _ in t.symbols] == ["token"] * 3


def test_names_of_columns_may_have_colons():
    rows = [[("a", "x"), ("b", "y"), ("a", "y")], [("b", "x"), ("c", "y")]]
    labels = [["B-P", "I-P", "O"], ["O", "B-P"]]
    proba = []
    for name in ("tag", "-1:tag"):
        X = [[{"word": word, name: tag} for word, tag in row] for row in rows]
        proba.append(np.concatenate(EmpiricalCRF().fit(X, labels).predict_proba(X)))
    assert_array_equal(*proba)
