"""What notebooks show: well-formed HTML, in which nothing that comes from data is markup."""

import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, CRFsuiteCRF, EmpiricalCRF, TokenFeatures, Window, explain
from sklearn_crcrf.base.contributions import Contributions
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display import (
    LabelComparison,
    LabelIssueList,
    Lattice,
    TaggedSequence,
    TaggedTree,
)
from sklearn_crcrf.display.notebook._labels import find_scheme, runs_of_segments
from sklearn_crcrf.display.notebook._markup import Markup, element
from sklearn_crcrf.display.notebook.explanation import Explanation
from sklearn_crcrf.estimators.label_issues import LabelIssues

X, Y = make_addresses(40, random_state=0)
TAGS = {
    *("div", "style", "p", "span", "b", "i", "bdi", "mark", "ul", "ol", "li"),
    *("table", "tr", "th", "td", "svg", "line", "polyline", "circle", "text", "title"),
    *("g", "rect"),
}
ATTRIBUTES = {
    *("class", "style", "tabindex", "colspan", "role", "aria-label", "xmlns", "width", "height"),
    *("viewbox", "points", "cx", "cy", "r", "rx", "x", "y", "x1", "x2", "y1", "y2", "text-anchor"),
    *("stroke-width", "stroke-dasharray", "fill-opacity", "dominant-baseline"),
}
EVIL = [
    "<script>document.title='broken'</script>",
    '"><img src=x onerror="document.title=\'broken\'">',
    "'><svg onload=\"document.title='broken'\">",
    "</style></title></text></svg><b onclick=\"document.title='broken'\">&lt;&amp;",
    "javascript:document.title='broken'",
]


class Page(HTMLParser):
    """The text, the tags and the attributes of well-formed HTML."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.texts = [], [], [], []
        self.feed(source)
        self.close()
        assert self.open == []
        assert set(self.tags) <= TAGS
        assert {name for name, _ in self.attributes} <= ATTRIBUTES

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


def issues_of(labels, others):
    """A table in which every label of the first sequence is an issue."""
    place = np.arange(len(labels))
    names = np.empty((2, len(labels)), dtype=object)
    names[:] = labels, others
    return LabelIssues(
        0 * place, place, place + 1, *names, np.full(len(labels), 0.25), place, place + 1
    )


def displays(tokens, labels, others):
    """All kinds of displays of one sequence."""
    classes = list(dict.fromkeys([*labels, *others]))
    marginals = np.full((len(tokens), len(classes)), 1 / len(classes))
    parents = np.arange(1, len(tokens) + 1) % len(tokens)
    parents[-1] = -1
    entries = Contributions.of(
        "attribute", np.arange(len(tokens)), tokens, np.arange(len(tokens)) + 1.0, 0.5
    )
    return [
        TaggedSequence(tokens, labels),
        TaggedSequence(tokens, labels, marginals=marginals, classes=classes, scheme=None),
        TaggedSequence(tokens, ["B-" + str(x) for x in labels]),
        TaggedTree(tokens, labels, parents),
        TaggedTree(tokens, labels, parents, marginals=marginals, classes=classes),
        LabelComparison(tokens, labels, others),
        LabelComparison(tokens, [f"B-{x}" for x in labels], [f"I-{x}" for x in others]),
        Lattice(tokens, classes, marginals, [(labels, 0.5), (others, 0.25)]),
        Explanation(tokens, labels, entries, -1.0),
        Explanation(tokens, labels, entries, -1.0, against=others),
        LabelIssueList([tokens], issues_of(labels, others), len(tokens)),
    ]


@for_each("i", range(11))
def test_what_looks_like_markup_is_text(i):
    display = displays(EVIL, EVIL[::-1], EVIL)[i]
    source = display._repr_html_()
    page = Page(source)
    for payload in EVIL:
        # Tokens that are wide are cut in drawings, where their whole text is a title.
        assert payload in page.text
    assert "<script" not in source and "<img" not in source
    assert repr(display) == str(display)


@given(st.lists(st.text("<>&\"'/=ab -\n", min_size=1), min_size=1, max_size=3), st.randoms())
def test_any_text_is_text(tokens, random):
    labels, others = ([random.choice(tokens) for _ in tokens] for _ in range(2))
    for display in displays(tokens, labels, others):
        text = Page(display._repr_html_()).text
        assert all(token in text for token in tokens)


def test_pages_are_self_contained():
    for display in displays(["the", "dog"], ["D", "N"], ["D", "V"]):
        source = display._repr_html_()
        page = Page(source)
        assert source.replace('xmlns="http://www.w3.org/2000/svg"', "").count("http") == 0
        assert "url(" not in source and "@import" not in source
        assert not any(name.startswith("on") for name, _ in page.attributes)
        assert "prefers-color-scheme:dark" in source and "@media print" in source


def test_the_scheme_of_a_page_counts_for_more_than_that_of_the_browser():
    style = TaggedSequence(["a"], ["A"])._repr_html_().partition("</style>")[0]
    of_browser = style.index("@media (prefers-color-scheme:dark)")
    assert of_browser < style.index("[data-theme=light] .crcrf") < style.index("@media print")
    assert style.count("{") == style.count("}")


def test_in_a_browser_nothing_is_run(tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no chromium")
    body = "".join(d._repr_html_() for d in displays(EVIL, EVIL[::-1], EVIL))
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><title>whole</title>{body}", "utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    done = subprocess.run(
        [browser, *options, "--dump-dom", page.as_uri()], capture_output=True, timeout=120
    )
    dom = done.stdout.decode()
    assert "<title>whole</title>" in dom
    assert "<script" not in dom and "<img" not in dom
    assert dom.count("<style") == len(displays(EVIL, EVIL, EVIL))


def test_elements_escape_their_children_and_attributes():
    assert element("b", "<", Markup("<i></i>"), 1, class_='"', aria_label=None) == (
        '<b class="&quot;">&lt;<i></i>1</b>'
    )
    # What is made of markup by the methods of str is text again.
    assert element("b", Markup("<i>") + "x") == "<b>&lt;i&gt;x</b>"


@for_each(
    ("scheme", "labels", "expected"),
    [
        ("auto", ["B-X", "I-X", "O"], "IOB2"),
        ("auto", ["S-X", "O"], "IOBES"),
        ("auto", ["O", "O"], None),
        ("auto", ["D", "N"], None),
        ("auto", [1, 2], None),
        ("auto", [], None),
        ("IOB1", ["B-X"], "IOB1"),
        (None, ["B-X"], None),
    ],
)
def test_whether_labels_mark_segments_is_found_out(scheme, labels, expected):
    assert find_scheme(scheme, labels) == expected


def test_unknown_schemes_are_an_error():
    with pytest.raises(ValueError, match="scheme must be one of auto, IOB1"):
        TaggedSequence(["a"], ["O"], scheme="BIO")
    with pytest.raises(ValueError, match="does not fit the scheme IOB2"):
        str(TaggedSequence(["a"], ["S-X"], scheme="IOB2"))


def test_segments_and_what_is_between_them():
    labels = ["O", "B-X", "I-X", "B-X", "O", "I-Y"]
    expected = [(0, 1, None), (1, 3, "X"), (3, 4, "X"), (4, 5, None), (5, 6, "Y")]
    assert runs_of_segments(labels, "IOB2") == expected
    assert runs_of_segments([], "IOB2") == []


def test_a_tagged_sequence_shows_segments_and_marginals():
    marginals = [[0.05, 0.95, 0.0], [0.3, 0.1, 0.6], [0.0, 0.0, 1.0]]
    classes = ["B-P", "I-P", "O"]
    display = TaggedSequence(
        ["Ann", "Lee", "is"], ["B-P", "I-P", "O"], marginals=marginals, classes=classes
    )
    source = display._repr_html_()
    page = Page(source)
    assert page.tags.count("mark") == 1
    assert "I-P 0.95" in page.text and "B-P 0.05" in page.text
    assert "O 0.00" not in page.text
    assert source.count("token unsure") == 2  # of 0.05 and 0.1
    plain = TaggedSequence(["Ann"], ["B-P"])
    assert "Point at" not in Page(plain._repr_html_()).text


def test_the_same_classes_have_the_same_colours():
    def style_of(display, label):
        source = display._repr_html_()
        return source[: source.index(f">{label}</b>")].rpartition("--h:")[2].split('"')[0]

    first = TaggedSequence(["a", "b"], ["N", "V"], classes=["D", "N", "V"])
    second = TaggedSequence(["b"], ["V"], classes=["D", "N", "V"])
    assert style_of(first, "V") == style_of(second, "V") != style_of(first, "N")


def test_a_comparison_lists_what_is_wrong():
    gold = ["B-P", "I-P", "O", "B-L", "O", "B-P"]
    predicted = ["B-P", "O", "O", "B-P", "B-P", "B-P"]
    display = LabelComparison([*"abcdef"], gold, predicted)
    lines = str(display).splitlines()
    assert lines[0] == "3 of 6 labels are right"
    assert lines[4:] == [
        'wrong boundary: gold P "a b", predicted P "a"',
        'wrong type: gold L "d", predicted P "d"',
        'spurious: predicted P "e"',
    ]
    page = Page(display._repr_html_())
    assert "✗ O" in page.text
    assert [value for name, value in page.attributes if value == "word wrong"] == ["word wrong"] * 3
    assert "wrong boundary" not in str(LabelComparison([*"abcdef"], gold, predicted, scheme=None))


def test_a_list_of_issues_shows_them_in_the_text():
    words = [["Ann", "Lee", *["sings"] * 20], ["Rome"]]
    issues = LabelIssues(
        np.array([0, 1]),
        np.array([0, 0]),
        np.array([1, 1]),
        np.array(["PER", "O"], dtype=object),
        np.array(["PER", "LOC"], dtype=object),
        np.array([0.01, 0.25]),
        np.array([0, 0]),
        np.array([2, 1]),
    )
    display = LabelIssueList(words, issues)
    assert str(display).splitlines() == [
        '1. sequence 0: given PER, suggested PER "Ann Lee", probability 0.01',
        f"   [Ann] Lee{' sings' * 7} …",
        "2. sequence 1: given O, suggested LOC, probability 0.25",
        "   [Rome]",
    ]
    page = Page(display._repr_html_())
    assert "Rome" in page.texts and "Ann" in page.texts
    assert page.text.count("…") == 1
    assert str(LabelIssueList(words, issues, 1)).count("\n") == 1


def test_a_lattice_shows_labels_of_paths_and_likely_ones():
    classes = [f"L{j}" for j in range(30)]
    marginals = np.zeros((2, 30))
    marginals[:, 3], marginals[:, 4:24], marginals[0, 29] = 0.4, 0.02, 0.2
    display = Lattice(["a", "b"], classes, marginals, [(["L3", "L28"], 0.5)])
    shown = display._shown()
    assert {3, 28, 29} <= set(shown)
    assert len(shown) == 15
    page = Page(display._repr_html_())
    assert "a: L29 0.200" in page.texts
    assert str(display).splitlines()[1] == "1. 0.500 L3 L28"


def test_a_tree_shows_parents_above_their_children():
    marginals = [[0.05, 0.95], [0.2, 0.8], [1.0, 0.0], [0.001, 0.999]]
    display = TaggedTree([*"abcd"], [*"YYXY"], [1, -1, 1, -1], marginals=marginals, classes=[*"XY"])
    assert str(display).splitlines() == ["b Y 0.80", "├─ a Y 0.95", "└─ c X 1.00", "d Y 1.00"]
    page = Page(display._repr_html_())
    assert page.tags.count("rect") == 4 and page.tags.count("line") == 2 + 4
    tops = [float(value) for name, value in page.attributes if name == "y"][::3]
    assert tops[0] == tops[2] > tops[1] == tops[3]
    assert page.attributes.count(("stroke-dasharray", "4 3")) == 1  # of 0.8
    assert "a\nY 0.95\nX 0.05" in page.texts and "d\nY 1.00" in page.texts
    plain = TaggedTree(["a", "b"], ["X", "Y"], [-1, 0])
    assert str(plain) == "a X\n└─ b Y"
    assert "Point at" not in Page(plain._repr_html_()).text


def test_deep_and_wide_trees_are_shown():
    n = 1000
    for parents in (range(-1, n - 1), [-1] + [0] * (n - 1), [-1] * n):
        display = TaggedTree(["a"] * n, ["X"] * n, list(parents))
        assert len(str(display).splitlines()) == n
        assert Page(display._repr_html_()).tags.count("rect") == n


@pytest.mark.parametrize("parents", [[0, -1], [1, 0], [2, -1]])
def test_parents_make_a_tree(parents):
    with pytest.raises(ValueError, match="parents"):
        TaggedTree(["a", "b"], ["X", "Y"], parents)


@for_each(
    "wrong",
    [
        lambda: TaggedSequence(["a"], []),
        lambda: TaggedSequence(["a"], ["A"], marginals=[[1.0]]),
        lambda: TaggedSequence(["a"], ["A"], marginals=[[0.5, 0.5]], classes=["A"]),
        lambda: LabelComparison(["a"], ["A"], []),
        lambda: TaggedTree(["a"], ["A", "A"], [-1]),
        lambda: TaggedTree(["a"], ["A"], [-1], marginals=[[0.5, 0.5]], classes=["A"]),
        lambda: TaggedTree(["a"], ["A"], [-1, -1]),
        lambda: LabelIssueList([["a"]], issues_of(["A", "B"], ["C", "C"])),
        lambda: LabelIssueList([["a"]], issues_of(["A", "B"], ["C", "C"])[[1]]),
        lambda: Lattice(["a"], ["A"], [[0.5, 0.5]], []),
        lambda: Lattice(["a"], ["A"], [[1.0]], [(["A", "A"], 1.0)]),
    ],
)
def test_shapes_must_agree(wrong):
    with pytest.raises(ValueError, match=r"tokens|shape|labels"):
        wrong()


def test_nothing_is_shown_as_nothing():
    empty = [
        TaggedSequence([], []),
        LabelComparison([], [], []),
        LabelIssueList([["a"]], issues_of([], [])),
        TaggedTree([], [], []),
        Lattice([], ["A"], np.empty((0, 1)), [([], 1.0)]),
    ]
    for display in empty:
        Page(display._repr_html_())
        str(display)


def test_estimators_of_all_kinds_are_shown():
    models = [
        EmpiricalCRF().fit(X, Y),
        make_pipeline(TokenFeatures(["shape"]), Window([-1, 0, 1]), CRF(tol=1e-3)).fit(X, Y),
    ]
    for model in models:
        (predicted,), (marginals,) = model.predict(X[:1]), model.predict_proba(X[:1])
        tagged = TaggedSequence.from_estimator(model, X[0])
        assert tagged.tokens == X[0]
        assert tagged.labels == list(predicted)
        np.testing.assert_allclose(tagged.marginals, marginals)
        assert tagged.scheme == "IOB2"
        lattice = Lattice.from_estimator(model, X[0], k=2)
        assert lattice.paths[0][0] == list(predicted)
        assert len(lattice.paths) == 2
        comparison = LabelComparison.from_estimator(model, X[0], Y[0])
        assert comparison.predicted == list(predicted)
        for display in (tagged, lattice, comparison, explain(model, X[0])):
            Page(display._repr_html_())


def test_tokens_can_be_named():
    dicts = [[{"w": w.lower()} for w in x] for x in X]
    model = CRFsuiteCRF().fit(dicts, Y)
    assert TaggedSequence.from_estimator(model, dicts[0]).tokens == [w.lower() for w in X[0]]
    assert TaggedSequence.from_estimator(model, dicts[0], tokens=X[0]).tokens == X[0]
    rows = [np.ones((len(x), 1)) for x in X]
    model = CRF(tol=1e-2).fit(rows, Y)
    assert TaggedSequence.from_estimator(model, rows[0]).tokens[:2] == ["0", "1"]
    assert LabelComparison.from_estimator(model, rows[0], Y[0], tokens=X[0]).tokens == X[0]


def test_gold_labels_that_are_not_known_do_not_count():
    gold = ["B-PER", None, {"B-LOC", "O"}, "O"]
    display = LabelComparison([*"abcd"], gold, ["B-PER", "I-PER", "B-LOC", "B-PER"])
    assert str(display).startswith("2 of 3 labels are right")
    assert str(display).count("✗") == 1
    assert 'spurious: predicted PER "d"' in str(display)
    assert "wrong boundary" not in str(display)
    assert display._repr_html_().count("✗") == 2  # one in the legend
