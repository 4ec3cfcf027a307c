"""Templates of CRF++ and Wapiti, against their expansion token by token."""

import re

import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TemplateFeatures
from sklearn_crcrf.metrics import get_sequence_scorer

X = [
    [{"w": "The", "t": "DT"}, {"w": "old", "t": "JJ"}, {"w": "dog", "t": "NN"}],
    [],
    [{"w": "Why", "t": "WP"}],
]


def columns(template, X=X, syntax="crf++"):
    table = TemplateFeatures(template, syntax).transform(X).data
    return {name: table.column(name).tolist() for name in table.names}


def wapiti(template, X=X):
    return list(columns(template, X, "wapiti").values())


def expanded(line, sequence, t, outside):
    """What the programs make of a line that has nothing but %x."""

    def symbol(match):
        at, key = t + int(match[1]), "wt"[int(match[2])]
        distance = at if at < 0 else at - len(sequence) + 1
        return sequence[at][key] if 0 <= at < len(sequence) else outside(distance)

    return re.sub(r"%x\[(-?\d+),(\d)\]", symbol, line)


def crfpp_boundary(distance):
    return f"_B{distance:+d}"


def wapiti_boundary(distance):
    return f"_x{distance:+d}" if abs(distance) < 5 else "_x-#" if distance < 0 else "_x+#"


# Words that look like what joins them, and like what is outside.
words = st.sampled_from(["a", "b", "a/b", "/", "", "_B-1", "_B+1", "_x-1", "_x+#", "B", "é"])
tokens = st.fixed_dictionaries({"w": words, "t": words})
sequences = st.lists(st.lists(tokens, max_size=4), max_size=4).map(lambda s: [*X, *s])
macros = st.tuples(st.integers(-6, 6), st.integers(0, 1)).map(lambda m: f"%x[{m[0]},{m[1]}]")
parts = st.lists(macros | st.sampled_from(["/", "//", "a", "|"]), max_size=3).map("".join)
lines = st.tuples(st.sampled_from(["U:", "U1:", "B:", "B1:"]), macros, parts).map("".join)


@pytest.mark.parametrize(
    ("syntax", "outside"), [("crf++", crfpp_boundary), ("wapiti", wapiti_boundary)]
)
@given(lines=st.lists(lines, max_size=5), X=sequences)
def test_attributes_are_those_of_the_programs(syntax, outside, lines, X):
    if syntax == "wapiti":
        lines = [line[0].lower() + line[1:] for line in lines]
    table = TemplateFeatures("\n".join(lines), syntax).transform(X).data
    made = zip(*map(table.column, table.names), strict=True)
    expected = (
        [expanded(x, s, t, outside) if x[0] in "uU" or t > 0 else None for x in lines]
        for s in X
        for t in range(len(s))
    )
    for symbols, strings in zip(made, expected, strict=False):
        pairs = zip(table.keys, symbols, strict=True)
        assert [None if symbol is None else f"{k}:{symbol}" for k, symbol in pairs] == strings
    assert all(len(set(c)) == len(c) for c in table.categories)


def test_columns_are_named_after_what_templates_begin_with():
    template = """
        U00:%x[0,0]
        U01%x[0,1]
        U02:w=%x[0,0],t=%x[0,1]/end
        U03=/%x[0,1]
        # a comment

        U
    """
    assert columns(template, X[:1]) == {
        "U00": ["The", "old", "dog"],
        "U01": ["DT", "JJ", "NN"],
        "U02:w": ["The,t=DT/end", "old,t=JJ/end", "dog,t=NN/end"],
        "U03=/": ["DT", "JJ", "NN"],
        "U": ["", "", ""],
    }


def test_identifiers_that_differ_stay_different():
    made = columns("U0:%x[0,0]\nU0=%x[0,0]\nU0%x[0,0]\nU1:%x[0,0]")
    assert list(made) == ["U0:", "U0=", "U0", "U1"]


def test_templates_that_begin_alike_have_attributes_in_common():
    features = TemplateFeatures("U:%x[-1,0]\nU:%x[0,0]\nU:%x[0,0]")
    assert features.get_feature_names_out().tolist() == ["U", "U#2", "U#3"]
    vectorizer = SequenceVectorizer()
    rows = vectorizer.fit_transform(features.transform([["a", "a", "b"]])).data
    assert vectorizer.get_feature_names_out().tolist() == ["U=_B-1", "U=a", "U=b"]
    assert rows.toarray().tolist() == [[1, 2, 0], [0, 3, 0], [0, 1, 2]]


def test_transitions_alone_make_no_column():
    features = TemplateFeatures("U00:%x[0,0]\nB\nB01\nB02:%x[0,1]\nB03:%x[-1,1]/%x[0,1]")
    assert features.fit(X).get_feature_names_out().tolist() == ["U00", "B02", "B03"]
    assert features.edge_columns == ["B02", "B03"]
    assert TemplateFeatures(
        "*\n*:a=%x[0,0]\nb:%x[0,0]\nb:%x[0,1]\nu:%x[0,0]", "wapiti"
    ).edge_columns == ["*:a", "b"]


def test_wapiti_lower_case_and_blanks():
    assert wapiti("u:%X[ 0, 0]/%X[+1,1]", X[:1]) == [["the/jj", "old/nn", "dog/_x+1"]]
    assert columns("U:a=%x[0,0] # comment\n*# comment", X[2:], "wapiti") == {
        "u:a": ["Why"],
        "*": [""],
    }


def test_wapiti_matches():
    assert wapiti(r'u:%t[0,0,"\u"]/%T[1,0,"^\p*$"]', X[:1]) == [
        ["true/false", "false/false", "false/false"]
    ]
    assert wapiti('u:%m[0,0,"^.?.?"]', X[:1]) == [["Th", "ol", "do"]]
    assert wapiti('u:%M[0,0,".?.?$"]|%m[0,0,"[]"]', X[2:]) == [["hy|"]]
    assert wapiti('u:%m[0,0,"\\""]', [['a"b', "c"]]) == [['"', ""]]
    # What is outside is matched too.
    assert wapiti('u:%m[1,0,"\\d"]', X[2:]) == [["1"]]


def test_wapiti_counted_offsets():
    assert wapiti("u:%x[@1,0]/%x[@-1,0]/%x[@2,0]", X) == [
        ["The/dog/old", "The/dog/old", "The/dog/old", "Why/Why/_x+1"]
    ]
    assert wapiti("u:%x[@0,0]/%x[@-3,1]", X[2:]) == [["_x-1/_x-2"]]


def test_no_columns_no_tokens_and_a_missing_symbol():
    assert TemplateFeatures("").transform(X).data.shape == (4, 0)
    assert TemplateFeatures("U:%x[-1,0]\nU").transform([[], []]).data.shape == (0, 2)
    missing = [[{"w": "a", "t": "N"}, {"w": "b"}]]
    assert columns("U0:%x[0,1]\nU1:%x[-1,1]/%x[0,0]", missing) == {
        "U0": ["N", None],
        "U1": ["_B-1/a", "N/b"],
    }


def test_numbers_stand_for_the_columns_of_fit():
    features = TemplateFeatures("U:%x[0,1]").fit(X)
    turned = [[{"t": "DT", "w": "The"}]]
    assert features.transform(turned).data.column("U").tolist() == ["DT"]
    assert TemplateFeatures("U:%x[0,1]").transform(turned).data.column("U").tolist() == ["The"]
    with pytest.raises(ValueError, match="no column 't', which it had in fit"):
        features.transform([[{"w": "The"}]])


@for_each(
    ("template", "message"),
    [
        ("template.txt", "line 1, column 1: .*; template is the text of a template, not the name"),
        ("U:%x[0,0]\nX", "line 2, column 1: expected U or B, found 'X'"),
        ("  u:%x[0,0]", "line 1, column 3: expected U or B, found 'u'"),
        ("U:%t[0,0]", "line 1, column 4: expected x, found 't'"),
        ("U:100%", "line 1, column 7: expected x, found the end of the line"),
        ("U:%x", "line 1, column 5: expected \\[, found the end"),
        ("U:%x[a,0]", "line 1, column 6: expected an offset, found 'a'"),
        ("U:%x[@1,0]", "line 1, column 6: expected an offset, found '@'"),
        ("U:%x[0000000000,0]", "line 1, column 15: expected a comma, found '0'"),
        ("U:%x[0;0]", "line 1, column 7: expected a comma, found ';'"),
        ("U:%x[0,-1]", "line 1, column 8: expected the number of a column, found '-'"),
        ("\n\nU:%x[0,0", "line 3, column 9: expected \\], found the end of the line"),
        ("U:%x[0,0]/%x[0,2]", r"line 1, column 11: .* no column number 2; .* \['w', 't'\]"),
    ],
)
def test_errors_of_crfpp_are_located(template, message):
    with pytest.raises(ValueError, match=f"template, {message}"):
        TemplateFeatures(template).fit(X)
    with pytest.raises(ValueError, match=f"template, {message}"):
        TemplateFeatures(template).transform(X)


@for_each(
    ("template", "message"),
    [
        ("x:", "column 1: expected u or b or \\*, found 'x'"),
        ("u:%y[0,0]", "column 4: expected x or t or m, found 'y'"),
        ("u:%t[0,0]", "column 9: expected a comma, found ']'"),
        ("u:%t[0,0,a]", "column 10: expected a regular expression in double quotes"),
        ('u:%t[0,0,"a#"]', "column 12: expected closing quotes, found the end of the line"),
        ('u:%m[0,0,"ab**"]', 'column 14: there is no character before "\\*"'),
        ('u:%m[0,0,"?"]', 'column 11: there is no character before "\\?"'),
        ('u:%x[0,0,"a"]', "column 9: expected \\], found ','"),
        ("u:%x[*0,0]", "column 6: expected an offset, found '\\*'"),
    ],
)
def test_errors_of_wapiti_are_located(template, message):
    with pytest.raises(ValueError, match=f"template, line 2, {message}"):
        TemplateFeatures("u\n" + template, "wapiti").fit(X)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (TemplateFeatures("U", "mallet"), "syntax must be one of"),
        (TemplateFeatures("U", {}), "syntax must be one of"),
        (TemplateFeatures(["U"]), "template must be a str"),
    ],
)
def test_wrong_parameters(features, message):
    with pytest.raises(ValueError, match=message):
        features.fit(X)


SENTENCES = [["the", "dog", "barks"], ["dogs", "bark"], ["the", "dogs", "bark"], ["a", "dog"]] * 3
LABELS = [["D", "N", "V"], ["N", "V"], ["D", "N", "V"], ["D", "N"]] * 3


def test_in_a_pipeline_and_a_search():
    features = TemplateFeatures("U0:%x[-1,0]\nU1:%x[0,0]\nB=1:%x[0,0]")
    pipeline = make_pipeline(features, CRF(edge_columns=features.edge_columns))
    templates = [features.template, "B=1:%x[0,0]"]
    search = GridSearchCV(
        pipeline,
        {"templatefeatures__template": templates, "crf__sigma": [1.0, 3.0]},
        scoring=get_sequence_scorer("token_accuracy"),
        cv=3,
    ).fit(SENTENCES, LABELS)
    assert search.best_score_ == 1.0
    assert search.predict(SENTENCES).tolist() == LABELS
    crf = search.best_estimator_["crf"]
    n_edges = sum(name.startswith("B=1=") for name in crf.attribute_names_)
    assert crf.edge_coef_.shape == (n_edges, 3, 3)
    assert n_edges == 4  # dog, barks, bark, dogs: none of the first words


def test_columns_for_empirical_training():
    features = TemplateFeatures("U0:%x[-1,0]\nU1:%x[0,0]")
    pipeline = make_pipeline(features, EmpiricalCRF(observation="U1")).fit(SENTENCES, LABELS)
    assert pipeline.predict([["the", "dog", "bark"]]).tolist() == [["D", "N", "V"]]
