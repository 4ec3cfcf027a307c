"""TextTagger: spans of characters by any sequence classifier."""

import pickle
import unicodedata
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score

from sklearn_crcrf import (
    CRF,
    HMM,
    CalibratedSequenceClassifier,
    ConformalSequenceClassifier,
    EmpiricalCRF,
    FoundLabels,
    LatticeCRF,
    SegmentF1Classifier,
    TextTagger,
    make_sequence_pipeline,
    text_features,
)
from sklearn_crcrf.base.unwrap import unwrap
from sklearn_crcrf.metrics import span_precision_recall_f1
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.text import Span, find_tokens

NAMES, PLACES = ["Ann", "Bob Lee", "Cléo", "Dr. Eva"], ["Rome", "Bad Ems", "Köln"]


def document(number):
    """A text of two lines, and its names."""
    name, place = NAMES[number % 4], PLACES[number % 3]
    text = f"{name} lives in {place}.\r\nThen  {name} left {place}, at 8,44!"
    spans = []
    for part, label in ((name, "PER"), (place, "LOC")):
        start = text.index(part)
        again = text.index(part, start + 1)
        spans += [(at, at + len(part), label) for at in (start, again)]
    return text, spans


TEXTS, SPANS = map(list, zip(*map(document, range(24)), strict=True))
RIGHT = [sorted(spans) for spans in SPANS]


def places(found):
    return [[span[:3] for span in spans] for spans in found]


@pytest.fixture(scope="module")
def tagger():
    return TextTagger(EmpiricalCRF()).fit(TEXTS, SPANS)


def pipeline(crf):
    return make_sequence_pipeline(text_features("names"), crf)


@pytest.mark.parametrize(
    "estimator",
    [
        EmpiricalCRF(),
        HMM(),
        CRF(sigma=10.0),
        pipeline(CRF(sigma=10.0)),
        LatticeCRF(1, random_state=0),
        CalibratedSequenceClassifier(EmpiricalCRF(), cv=3),
        SegmentF1Classifier(EmpiricalCRF(), cv=3),
        GridSearchCV(EmpiricalCRF(), {"mu_oov": [1.0]}, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators(estimator):
    tagger = TextTagger(estimator).fit(TEXTS, SPANS)
    found = tagger.predict(TEXTS)
    assert places(found) == RIGHT
    assert all(0 < span.probability <= 1 for spans in found for span in spans)
    assert tagger.score(TEXTS, SPANS) == 1.0
    values = tagger.predict_proba(TEXTS[:3])
    for text, rows in zip(TEXTS, values, strict=False):
        assert rows.shape == (len(find_tokens(text)), len(tagger.classes_))
        assert rows.sum(axis=1) == pytest.approx(1.0)
    assert [places([tagger.tagger()(text)])[0] for text in TEXTS[:4]] == RIGHT[:4]


def test_probabilities_are_those_of_the_estimator(tagger):
    classifier, _ = unwrap(tagger.estimator_)
    text = TEXTS[0]
    lines = [
        ["Ann", "lives", "in", "Rome", "."],
        ["Then", "Ann", "left", "Rome", ",", "at", "8,44", "!"],
    ]
    expected = [p for spans in classifier.predict_spans(lines) for *_, p in spans]
    assert [span.probability for span in tagger.predict([text])[0]] == expected


@pytest.mark.parametrize("scheme", ["IOB1", "IOBES", "BILOU", "BMES", "IO"])
def test_schemes(scheme):
    tagger = TextTagger(EmpiricalCRF(), scheme=scheme).fit(TEXTS, SPANS)
    assert places(tagger.predict(TEXTS)) == RIGHT


def test_model_selection():
    tagger = TextTagger(EmpiricalCRF())
    assert cross_val_score(tagger, TEXTS, SPANS, cv=3).tolist() == [1.0] * 3
    groups = np.arange(24) // 4
    found = cross_val_predict(tagger, TEXTS, SPANS, cv=GroupKFold(3), groups=groups)
    assert places(found) == RIGHT
    grid = {"alignment": ["expand", "strict"], "estimator__mu_oov": [1.0, 1.5]}
    search = GridSearchCV(tagger, grid, cv=2, n_jobs=2).fit(np.array(TEXTS, dtype=object), SPANS)
    assert search.best_score_ == 1.0
    assert search.best_estimator_.redact("Bob Lee left.") == "[PER] left."


def test_clones_copies_and_files(tagger, tmp_path):
    twin = clone(tagger)
    assert not hasattr(twin, "estimator_") and twin.get_params()["estimator__mu_oov"]
    save_model(tagger, tmp_path / "names.crcrf")
    for other in (
        pickle.loads(pickle.dumps(tagger)),
        load_model(tmp_path / "names.crcrf").estimator,
    ):
        assert other.predict(TEXTS[:2]).tolist() == tagger.predict(TEXTS[:2]).tolist()
    with pytest.raises(ValueError, match="a compact file holds what labels tokens"):
        save_model(tagger, tmp_path / "small.crcrf", compact=True)
    with pytest.raises(ValueError, match=r"cannot hold this estimator: .*split"):
        own = TextTagger(EmpiricalCRF(), str.split).fit(TEXTS, SPANS)
        save_model(own, tmp_path / "own.crcrf")
    other.classes_ = other.classes_[::-1].copy()
    with pytest.raises(ValueError, match="TextTagger: classes_ must be the labels of estimator_"):
        other.predict(TEXTS)


def test_fits_replace_all_or_nothing(tagger):
    twin = pickle.loads(pickle.dumps(tagger))
    with pytest.raises(ValueError, match="spans of document 1"):
        twin.fit(TEXTS, [[], [(0, 9999, "A")], *SPANS[2:]])
    assert places(twin.predict(TEXTS)) == RIGHT


def test_two_stages():
    stages = make_sequence_pipeline(
        FoundLabels(EmpiricalCRF(), cv=2), text_features("names"), CRF(sigma=10.0)
    )
    try:
        tagger = TextTagger(stages).fit(TEXTS, SPANS)
    except ValueError as error:
        pytest.fail(str(error))
    assert tagger.score(TEXTS, SPANS) > 0.9


@pytest.mark.parametrize(
    ("alignment", "span", "found"),
    [
        ("expand", (1, 3), (0, 3)),
        ("expand", (0, 4), (0, 3)),
        ("contract", (0, 6), (0, 3)),
        ("contract", (1, 3), None),
    ],
)
def test_alignment(alignment, span, found):
    texts, spans = ["Ann sings", "Bob sings"], [[(*span, "PER")], [(0, 3, "PER")]]
    tagger = TextTagger(EmpiricalCRF(), alignment=alignment).fit(texts, spans)
    expected = [] if found is None else [(*found, "PER")]
    assert places(tagger.predict(texts[:1]))[0] == expected
    with pytest.raises(ValueError, match=f"spans of document 0: 'PER' from character {span[0]} to"):
        TextTagger(EmpiricalCRF(), alignment="strict").fit(texts, spans)


def test_a_sentence_does_not_end_within_a_span():
    texts = ["Ann of\nRome sings", "Bob\nsings"]
    tagger = TextTagger(EmpiricalCRF()).fit(texts, [[(0, 11, "PER")], [(0, 3, "PER")]])
    assert set(tagger.classes_) == {"B-PER", "I-PER", "O"}
    # In prediction there are lines.
    assert all("\n" not in texts[0][s.start : s.end] for s in tagger.predict(texts[:1])[0])


def test_sentences_and_tokens_of_callables():
    texts = ["Ann met Bob|Bob left", "Eva met Ann|"]
    spans = [[(0, 3, "PER"), (8, 11, "PER"), (12, 15, "PER")], [(0, 3, "PER"), (8, 11, "PER")]]

    def words(text):
        return text.replace("|", " ").split()

    tagger = TextTagger(
        EmpiricalCRF(), words, lambda text: [part for part in text.split("|") if part]
    )
    assert places(tagger.fit(texts, spans).predict(texts)) == spans
    with pytest.raises(ValueError, match="texts, document 1: tokenizer: token 0, 'Ann', is not in"):
        tagger.set_params(tokenizer=lambda text: ["Ann"]).fit(["Ann", "Bob"], [[], []])


def test_chinese_characters():
    texts = ["王明住在北京。李红去了上海。", "李红住在上海。王明去了北京。"]
    spans = [
        [(0, 2, "PER"), (4, 6, "LOC"), (7, 9, "PER"), (11, 13, "LOC")],
        [(0, 2, "PER"), (4, 6, "LOC"), (7, 9, "PER"), (11, 13, "LOC")],
    ]
    tagger = TextTagger(EmpiricalCRF(), "characters", "rule").fit(texts, spans)
    assert places(tagger.predict(texts)) == spans
    assert tagger.redact("李红去了北京。") == "[PER]去了[LOC]。"


def test_redaction(tagger):
    assert tagger.redact("Ann left Rome.") == "[PER] left [LOC]."
    assert tagger.redact(["Ann left.", "", "left"], "X") == ["X left.", "", "left"]

    def stars(part, span):
        assert isinstance(span, Span)
        return "*" * len(part)

    assert tagger.redact("Ann left Bad Ems.", stars) == "*** left *******."
    assert tagger.redact("Ann left.", "{label:>9}{label}") == "{label:>9}PER left."
    with pytest.raises(ValueError, match="replace must return a string, but returned None"):
        tagger.redact("Ann left.", lambda part, span: None)


class Overlapping(EmpiricalCRF):
    """Finds a name in the first two tokens, and another in the second and third."""

    def predict_spans(self, X, scheme="IOB2"):
        return [[(1, 3, "LOC", 0.25), (0, 2, "PER", 0.5)] for _ in X]


def test_spans_may_overlap():
    tagger = TextTagger(Overlapping()).fit(TEXTS, SPANS)
    found = tagger.predict(["An Bo Catania"])[0]
    assert found == [Span(0, 5, "PER", 0.5), Span(3, 13, "LOC", 0.25)]
    assert tagger.redact("An Bo Catania sings", lambda part, span: repr((part, *span[2:]))) == (
        "('An Bo Catania', 'LOC', 0.5) sings"
    )


class Grouped(EmpiricalCRF):
    """Keeps the groups it gets."""

    def fit(self, X, y, groups=None):
        super().fit(X, y)
        self.groups_ = groups
        return self


def test_documents_are_groups():
    tagger = TextTagger(Grouped()).fit(TEXTS[:3], SPANS[:3])
    assert tagger.estimator_.groups_.tolist() == [0, 0, 1, 1, 2, 2]
    tagger.fit(TEXTS[:3], SPANS[:3], groups=["a", "b", "a"])
    assert tagger.estimator_.groups_.tolist() == ["a", "a", "b", "b", "a", "a"]
    with pytest.raises(ValueError, match="there are 2 groups, but 3 texts"):
        tagger.fit(TEXTS[:3], SPANS[:3], groups=["a", "b"])
    with pytest.raises(ValueError, match=r"EmpiricalCRF\(\) takes no groups"):
        TextTagger(EmpiricalCRF()).fit(TEXTS[:3], SPANS[:3], groups=["a", "b", "c"])


def test_a_tagger_stays_as_it_was(tagger):
    twin = pickle.loads(pickle.dumps(tagger))
    frozen = twin.tagger()
    twin.fit(["x"] * 2, [[(0, 1, "X")]] * 2)
    for one in (frozen, pickle.loads(pickle.dumps(frozen))):
        assert one("Ann left Rome.") == [Span(0, 3, "PER"), Span(9, 13, "LOC")]
        assert one("") == one(" \n") == []
        assert one.redact("Ann left Rome.", "{label}") == "PER left LOC."


@pytest.mark.parametrize(
    ("texts", "spans", "message"),
    [
        ("Ann", [[]], "texts is the single string 'Ann'"),
        (["Ann", None], [[], []], "texts: document 1 must be a string, but is None"),
        (["Ann"], [[], []], "there are spans of 2 documents, but 1 texts"),
        (["Ann", "Bob"], [[], [(0, 4, "PER")]], "spans of document 1: 'PER' from character 0 to 4"),
        (["Ann x y"], [[(0, 5, "A"), (4, 7, "B")]], "spans of document 0: 'A' .* 'B' .* overlap"),
        (["", " "], [[], []], "X"),
        (["Ann", "Bob"], [[], None], "spans of document 1 must be a list, but is None"),
        (["Ann"], [[(0, 3, "A", "x")]], "spans of document 0: a probability must be a number"),
        (pd.DataFrame({"text": ["Ann"]}), [[]], "texts must be a list of strings, but is a DataFr"),
        ({"a": "Ann"}, [[]], "texts must be a list of strings, but is a dict"),
    ],
)
def test_bad_input(texts, spans, message):
    with pytest.raises(ValueError, match=message):
        TextTagger(EmpiricalCRF(), alignment="strict").fit(texts, spans)


def test_neighbours_without_prefixes_name_the_document():
    tagger, texts = TextTagger(EmpiricalCRF(), scheme="IO"), ["x", "Ann Bob"]
    message = (
        "spans of document 1: the scheme IO cannot spell 'PER' from character 0 to 3 and from 4"
    )
    with pytest.raises(ValueError, match=message):
        tagger.fit(texts, [[], [(0, 3, "PER"), (4, 7, "PER")]])
    tagger.fit(["x", "Ann\nBob"], [[], [(0, 3, "PER"), (4, 7, "PER")]])


@pytest.mark.parametrize("groups", ["ab", ["a", None], np.array("a"), 3])
def test_bad_groups(groups):
    conformal = ConformalSequenceClassifier(EmpiricalCRF(), 0.3, target="recall", cv="left_out")
    with pytest.raises(ValueError, match="groups"):
        TextTagger(conformal).fit(["Ann", "Bob x"], [[(0, 3, "PER")]] * 2, groups)


def test_bad_spans_are_not_scored(tagger):
    with pytest.raises(ValueError, match="spans of document 1: 'PER' from character 0 to 9"):
        tagger.score(["Ann", "Bob"], [[], [(0, 9, "PER")]])
    arrays = [np.array([[0, 3, "PER"]], dtype=object)]
    assert tagger.score(["Ann left."], arrays) == tagger.score(["Ann left."], [[(0, 3, "PER")]])


def test_bad_texts_and_replacements_are_not_redacted(tagger):
    for text, message in [(None, "texts must be a list"), (b"Ann", "texts is the single string")]:
        with pytest.raises(ValueError, match=message):
            tagger.redact(text)
    for replace in (None, 3):
        with pytest.raises(ValueError, match="replace must be a string or a function"):
            tagger.redact("no name", replace)


def test_a_tokenizer_must_return_tokens():
    with pytest.raises(ValueError, match="document 0: tokenizer must be a list, but is None"):
        TextTagger(EmpiricalCRF(), lambda text: None).fit(["Ann"], [[]])


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text("Ann Rome\r\n\u0301🙂.'\t", max_size=40), max_size=4))
def test_spans_are_parts_of_any_text(tagger, texts):
    found = tagger.predict(texts)
    assert len(found) == len(texts) == len(tagger.predict_proba(texts))
    for text, spans in zip(texts, found, strict=True):
        starts, ends = find_tokens(text).T.tolist()
        for span in spans:
            assert type(span.start) is int and type(span.probability) is float
            assert span.start in starts and span.end in ends
        assert tagger.redact(text, lambda part, span: part) == text
        assert tagger.tagger()(text) == [Span(*span[:3]) for span in spans]


parted = partial(find_tokens, tokenizer="characters")


def test_the_tokenizer_may_be_any_function():
    assert places(TextTagger(EmpiricalCRF(), parted).fit(TEXTS, SPANS).predict(TEXTS)) == RIGHT


def test_conformal_spans_come_through():
    estimator = ConformalSequenceClassifier(
        EmpiricalCRF(), confidence_level=0.8, target="recall", cv=3
    )
    tagger = TextTagger(estimator).fit(TEXTS, SPANS)
    found = tagger.predict(TEXTS)
    assert span_precision_recall_f1(SPANS, found, match="overlap").recall > 0.9
    tokens = [["Ann", "lives", "in", "Rome", "."]]
    inner = tagger.estimator_.predict_spans(tokens)[0]
    (spans,) = tagger.predict(["Ann lives in Rome."])
    assert [span.probability for span in spans] == [p for *_, p in inner]
    assert tagger.tagger()(TEXTS[0]) == found[0]
    split = TextTagger(ConformalSequenceClassifier(EmpiricalCRF(), 0.5, "recall", cv=None))
    split.fit(TEXTS[:12], SPANS[:12]).conformalize(TEXTS[12:], SPANS[12:])
    assert split.estimator_.n_calibration_ == 12  # documents
    assert not hasattr(TextTagger(EmpiricalCRF()), "conformalize")


def test_learning_and_forgetting_equal_fits(tagger):
    new, spans = ["Zoe left Oslo."], [[(0, 3, "PER"), (9, 13, "TOWN")]]
    every = TextTagger(EmpiricalCRF()).fit(TEXTS + new, SPANS + spans)
    for start in (tagger, TextTagger(EmpiricalCRF()).partial_fit(TEXTS, SPANS)):
        model = pickle.loads(pickle.dumps(start)).partial_fit(new, spans)
        assert model.labels_ == ["LOC", "PER", "TOWN"] == every.labels_
        assert places(model.predict(TEXTS + new)) == places(every.predict(TEXTS + new))
        model.forget(new, spans)
        assert model.labels_ == ["LOC", "PER"] == tagger.labels_
        assert places(model.predict(TEXTS + new)) == places(tagger.predict(TEXTS + new))


def test_what_cannot_be_forgotten_changes_nothing(tagger):
    model = pickle.loads(pickle.dumps(tagger))
    before = vars(model)
    with pytest.raises(ValueError, match="never"):
        model.forget(["Zoe left Oslo."], [[(0, 3, "PER")]])
    assert vars(model) is before
    assert not hasattr(TextTagger(LatticeCRF()), "partial_fit")
    with pytest.raises(NotFittedError):
        TextTagger(EmpiricalCRF()).forget(TEXTS, SPANS)


def test_normal_forms_have_the_same_spans(tagger):
    composed = "Cléo lives in Köln."
    text = unicodedata.normalize("NFD", composed)
    found, expected = tagger.predict([text, composed])
    assert [(text[s.start : s.end], *s[2:]) for s in found] == [
        (unicodedata.normalize("NFD", composed[s.start : s.end]), *s[2:]) for s in expected
    ]
    assert [span.label for span in found] == ["PER", "LOC"]
    assert tagger.tagger()(text) == [Span(*span[:3]) for span in found]
    assert np.array_equal(*tagger.predict_proba([text, composed]))
