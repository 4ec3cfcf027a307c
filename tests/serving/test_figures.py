"""The interactive figures of "Understanding CRFs": what they compute, and what they show."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from browsers import needs_chromium, needs_node, page, run_in_node
from numpy.testing import assert_allclose

from sklearn_crcrf import CRF, HMM, MEMM, EmpiricalCRF, mle_conditions

__all__ = ["page"]  # a fixture

DOCS = Path(__file__).parents[2] / "docs"
MODULE = DOCS / "_static" / "understanding" / "figures.js"
CHAPTERS = DOCS / "understanding"
FIGURE = re.compile(r"\.\. interactive:: (\w+)\n\n((?: {3}.*\n)+)\n((?: {3}.*\n)+)")

X = [["the", "dog", "walks"], ["the", "walk"], ["dogs", "walk"], ["dogs", "walk", "the", "dog"]]
y = [["D", "N", "V"], ["D", "N"], ["N", "V"], ["N", "V", "D", "N"]]
X_NAMES, Y_NAMES = [["Ann", "Lee", "sings"], ["Bo", "runs"]], [["B-P", "I-P", "O"], ["B-P", "O"]]


def random_crf(seed, constraints=None, labels=("B-P", "I-P", "O")):
    rng = np.random.default_rng(seed)
    crf = CRF(constraints=constraints).fit(X_NAMES, Y_NAMES)
    crf.coef_[:] = 2 * rng.normal(size=crf.coef_.shape)
    crf.transitions_[crf.transitions_ > -1e100] = (
        2 * rng.normal(size=(3, 3))[crf.transitions_ > -1e100]
    )
    return crf


def chain(crf, words):
    state = crf.coef_[[list(crf.attribute_names_).index(word) for word in words]]
    return {"state": state.tolist(), "transition": crf.transitions_.tolist()}


@needs_node
def test_chains_against_the_package():
    words = [["Bo"], ["Lee", "runs"], ["Ann", "Lee", "Bo", "sings"], ["runs"] * 6]
    crfs = [random_crf(seed) for seed in range(5)]
    cases = [chain(crf, of) for crf in crfs for of in words]
    found = run_in_node(
        MODULE,
        """({ Chain }, cases) => cases.map((given) => {
          const chain = new Chain(given), { T, n } = chain, pairs = [];
          for (let t = 1; t < T; t++) {
            for (let k = 0; k < n * n; k++) pairs.push(chain.pair(t, Math.floor(k / n), k % n));
          }
          const all = chain.labellings();
          return { pairs, marginals: chain.marginals, path: chain.path, all: all.length,
            p: chain.probability(chain.path), logZ: chain.logZ,
            sum: all.reduce((sum, path) => sum + chain.probability(path), 0) };
        })""",
        cases,
    )
    for answer, (crf, of), given in zip(found, product(crfs, words), cases, strict=True):
        labels, probability = crf.predict_k_best([of], 1)[0][0]
        assert [crf.classes_[j] for j in answer["path"]] == labels
        assert answer["all"] == 3 ** len(of)
        assert_allclose([answer["p"], answer["sum"]], [probability, 1.0])
        assert_allclose(answer["marginals"], crf.predict_proba([of])[0])
        assert_allclose(answer["pairs"], np.ravel(crf.predict_pair_proba([of])[0]))
        state, transition = np.array(given["state"]), np.array(given["transition"])
        paths = product(range(3), repeat=len(of))
        scores = [
            state[np.arange(len(of)), path].sum() + transition[path[:-1], path[1:]].sum()
            for path in map(np.array, paths)
        ]
        assert_allclose(answer["logZ"], np.logaddexp.reduce(scores))


@needs_node
def test_segments_under_constraints_against_the_package():
    words = ["Ann", "Lee", "Bo", "sings"]
    crfs = [random_crf(seed, "IOB2") for seed in range(5)]
    cases = []
    for crf in crfs:
        given = chain(crf, words)
        given["transition"][2][1] = None  # I-P after O, and first, below
        cases.append(given | {"begin": [0, None, 0], "labels": crf.classes_.tolist()})
    found = run_in_node(
        MODULE,
        """({ Chain, segmentsOf }, cases) => cases.map((given) => {
          const chain = new Chain(given), found = {};
          for (const path of chain.labellings()) {
            for (const span of segmentsOf(path.map((j) => given.labels[j]))) {
              found[span] = (found[span] ?? 0) + chain.probability(path);
            }
          }
          return found;
        })""",
        cases,
    )
    n_spans = 0
    for answer, crf in zip(found, crfs, strict=True):
        for start, end, _, probability in crf.predict_spans([words])[0]:
            assert_allclose(answer[f"{start},{end}"], probability)
            n_spans += 1
    assert n_spans > 5


FEATURES = [["D", None, "N"], ["N", None, "V"], ["V", None, "D"], [None, "the", "D"]]
FEATURES += [[None, "dog", "N"], [None, "walks", "V"], [None, "walk", "N"], [None, "walk", "V"]]
FEATURES += [[None, "dogs", "N"]]


@needs_node
def test_the_gradient_is_that_of_the_objective_and_zero_where_the_package_stops():
    crf = CRF(sigma=0.8, features="observed", tol=1e-10).fit(X, y)
    names, classes = list(crf.attribute_names_), list(crf.classes_)
    best = [
        crf.coef_[names.index(word), classes.index(label)]
        if before is None
        else crf.transitions_[classes.index(before), classes.index(label)]
        for before, word, label in FEATURES
    ]
    some, step = np.random.default_rng(0).normal(size=9), 1e-5 * np.eye(9)
    points = [best, some, *(some + step), *(some - step)]
    given = {"X": X, "y": y, "labels": classes, "features": FEATURES, "sigma": 0.8}
    found = run_in_node(
        MODULE,
        """({ Features }, [given, points]) => {
          const features = new Features(given);
          return points.map((weights) => features.expect(weights));
        }""",
        [given, [np.asarray(point).tolist() for point in points]],
    )
    objectives = [answer["objective"] for answer in found]
    assert_allclose(objectives[0], -crf.loss_curve_[-1])
    assert_allclose(found[0]["gradient"], 0.0, atol=1e-6)
    slopes = (np.array(objectives[2:11]) - objectives[11:]) / 2e-5
    assert_allclose(found[1]["gradient"], slopes, rtol=1e-5, atol=1e-8)


def counted(zeros, ones, elsewhere):
    sentences = [["a", "b", "c"]] * (zeros + ones) + [["d", "b", "e"]] * elsewhere
    labels = [[0, 0, 0]] * zeros + [[0, 1, 1]] * ones + [[0, 1, 0]] * elsewhere
    return sentences, labels


@needs_node
def test_counts_against_the_package():
    cases = [(1, 1, 2), (1, 1, 0), (3, 2, 0), (2, 1, 5), (1, 4, 12)]
    found = run_in_node(
        MODULE, "({ closedForm }, cases) => cases.map((counts) => closedForm(...counts))", cases
    )
    for answer, counts in zip(found, cases, strict=True):
        sentences, labels = counted(*counts)
        closed = EmpiricalCRF.ecrn(zeros="exact").fit(sentences, labels)
        conditions = mle_conditions(closed, sentences, labels)
        assert_allclose(answer["closed"], closed.predict_proba([["a", "b", "c"]])[0][1], atol=1e-9)
        assert_allclose(answer["likelihoods"][1], conditions.log_likelihood)
        assert (counts[2] == 0) == np.allclose(*answer["likelihoods"])
        share = np.array(counts[:2]) / sum(counts[:2])
        best = (np.array(counts[:2]) * np.log(share)).sum()  # the empirical distribution
        assert_allclose([*answer["greatest"], answer["likelihoods"][0]], [*share, best])
        assert_allclose(answer["onesOfB"], conditions.unary.wanted[1][1])


@needs_node
def test_label_bias_against_the_package():
    cases = [(11, 9, 1), (7, 9, 1), (11, 9, 9), (1, 2, 20)]
    answers = run_in_node(
        MODULE,
        """({ ribAndRob }, cases) => cases.map((counts) => {
          const { MEMM, rates } = ribAndRob(...counts);
          return [MEMM, rates].map((chain) => chain.probability([0, 0, 0]));
        })""",
        cases,
    )
    for answer, counts in zip(answers, cases, strict=True):
        sentences = [list("rib")] * counts[0] + [list("rob")] * (counts[1] + counts[2])
        labels = [list("XIB")] * counts[0] + [list("YOB")] * counts[1] + [list("XIB")] * counts[2]
        for p, model, tolerance in zip(
            answer, (MEMM(sigma=1e3), EmpiricalCRF.ecrn(zeros="exact")), (1e-3, 1e-9), strict=True
        ):
            found = model.fit(sentences, labels).predict_k_best([list("rob")], 2)[0]
            (wanted,) = [q for of, q in found if of == ["X", "I", "B"]]
            assert_allclose(p, wanted, atol=tolerance)
    # The worked example of ECRN, II-B and III-C.
    assert_allclose(answers[0], [12 / 21, 1 / 10])


def interactive():
    pytest.importorskip("docutils")
    spec = spec_from_file_location("interactive", DOCS / "interactive.py")
    module = module_from_spec(spec)
    sys.modules["interactive"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def opened(page, tmp_path):
    """Opens the figure of a chapter, without the rest of the site and without a network."""

    def open_figure(chapter):
        text = (CHAPTERS / f"{chapter}.rst").read_text(encoding="utf-8")
        ((name, caption, expression),) = FIGURE.findall(text)
        html = interactive().figure(text, name, " ".join(caption.split()), f"({expression})")
        path = tmp_path / f"{chapter}.html"
        path.write_text(f"<!doctype html><meta charset=utf-8><main>{html}</main>", "utf-8")
        page.goto(path.as_uri())
        page.wait_for_selector("figure[data-figure] svg[aria-label]")
        return page

    page.context.set_offline(True)
    page.set_viewport_size({"width": 390, "height": 844})
    yield open_figure
    page.context.set_offline(False)


def shown(page):
    """The numbers in the words below a figure, in full."""
    found = page.eval_on_selector_all(
        "[data-shown]",
        "nodes => nodes.map(node => [node.dataset.shown, Number(node.dataset.value)])",
    )
    return dict(found)


def control(page, label):
    return page.locator(".controls").get_by_label(label, exact=True)


def move(page, label, value):
    control(page, label).evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
    )


def best(model, words):
    labels, probability = model.predict_k_best([words], 1)[0][0]
    return " ".join(labels), probability


def best_with_rates(words, power):
    """The best labelling by the rates of labels, one of many."""
    pairs = np.array([[1, 4, 1], [1, 1, 4], [2, 1, 1]]) / 16
    rates = pairs / np.outer(pairs.sum(axis=1), pairs.sum(axis=0))
    tokens = [token for pair in zip(X, y, strict=True) for token in zip(*pair, strict=True)]
    scores = {}
    for labels in product("DNV", repeat=len(words)):
        at = ["DNV".index(label) for label in labels]
        scores[" ".join(labels)] = np.prod(
            [
                tokens.count(pair) / sum(word == pair[0] for word, _ in tokens)
                for pair in zip(words, labels, strict=True)
            ]
        ) * np.prod(rates[at[:-1], at[1:]] ** power)
    best = max(scores, key=scores.get)
    return best, scores[best] / sum(scores.values())


@needs_chromium
def test_word_by_word_or_with_neighbours(opened):
    page = opened("tokens")
    for power in (0, 0.4, 0.6, 1):
        move(page, "Weight of neighbours", power)
        labels, probability = best_with_rates(["the", "walk"], power)
        assert labels in page.text_content(".words") and ("D N" in labels) == (power > 0.5)
        assert_allclose(shown(page)["probability"], probability)
    control(page, "Sentence").select_option("dogs walk the walk")
    labels, probability = best_with_rates(["dogs", "walk", "the", "walk"], 1)
    assert labels == "N V D N" and labels in page.text_content(".words")
    assert_allclose(shown(page)["probability"], probability)


@needs_chromium
def test_one_labelling_in_three_models(opened):
    page, words = opened("models"), ["the", "walk"]
    for model in (HMM(), MEMM(), CRF()):
        control(page, type(model).__name__).check()
        model.fit(X, y)
        for labels, probability in model.predict_k_best([words], 4)[0]:
            for word, label in zip(words, labels, strict=True):
                control(page, word).select_option(label)
            found = shown(page)
            assert_allclose(found["probability"], probability)
            assert_allclose(found["product"], probability * found["sum"])
            if isinstance(model, HMM):
                assert_allclose(found["sum"], np.exp(model.score_samples([words])[0]))
            if isinstance(model, MEMM):
                assert_allclose(found["sum"], 1.0)


@needs_chromium
def test_scores_and_their_sum(opened):
    page, words, crf = opened("partition"), ["the", "walk"], CRF().fit(X, y)
    assert_allclose(shown(page)["probability"], best(crf, words)[1])
    move(page, "Weight D → V", 2.0)
    crf.transitions_[0, 2] = 2.0
    before = shown(page)
    assert best(crf, words)[0] == "D V"
    assert_allclose(before["probability"], best(crf, words)[1])
    move(page, "All scores of “the” +", 1.5)
    assert_allclose(shown(page)["logZ"], before["logZ"] + 1.5)
    assert_allclose(shown(page)["probability"], before["probability"])
    move(page, "Weight walk: V", -1.0)
    crf.coef_[list(crf.attribute_names_).index("walk"), 2] = -1.0
    assert_allclose(shown(page)["probability"], best(crf, words)[1])


@needs_chromium
def test_the_lattice_step_by_step(opened):
    page, words, crf = opened("lattice"), ["dogs", "walk", "the", "walk"], CRF().fit(X, y)
    state = np.exp(crf.coef_[[list(crf.attribute_names_).index(word) for word in words]])
    pairs, alpha, beta = np.exp(crf.transitions_), [state[0]], [np.ones(3)]
    for t in (1, 2, 3):
        alpha.append((alpha[-1] @ pairs) * state[t])
    for t in (3, 2, 1):
        beta.append(pairs @ (state[t] * beta[-1]))
    found = []
    for _ in range(12):
        found.append(shown(page)["value"])
        page.get_by_role("button", name="Next").click()
    assert_allclose(found, np.ravel(alpha))
    assert_allclose(shown(page)["Z"], alpha[-1].sum())
    control(page, "Backward").check()
    for step, value in enumerate(np.ravel(beta), 1):
        move(page, "Step", step)
        assert_allclose(shown(page)["value"], value)
    control(page, "Both").check()
    for step, value in enumerate(np.ravel(crf.predict_proba([words])[0]), 1):
        move(page, "Step", step)
        assert_allclose(shown(page)["value"], value)
    control(page, "Viterbi").check()
    move(page, "Step", 16)
    labels, probability = best(crf, words)
    assert labels in page.text_content(".words")
    assert_allclose(shown(page)["probability"], probability)


@needs_chromium
def test_observed_minus_expected(opened):
    page, crf = opened("gradient"), CRF(sigma=1.0, features="observed", tol=1e-10).fit(X, y)
    assert_allclose(shown(page)["expected"], 7 / 9)  # of seven pairs, all equally probable
    assert_allclose(shown(page)["objective"], -11 * np.log(3))
    for _ in range(8):
        page.get_by_role("button", name="20 steps").click()
    assert_allclose(shown(page)["objective"], -crf.loss_curve_[-1])
    assert_allclose(shown(page)["largest"], 0, atol=1e-6)
    D_N = sum(pairs[:, 0, 1].sum() for pairs in crf.predict_pair_proba(X))
    assert_allclose(shown(page)["expected"], D_N, rtol=1e-6)
    control(page, "Feature").select_option("the: D")
    page.get_by_role("button", name="Back to zero").click()
    assert_allclose(shown(page)["expected"], 1.0)
    move(page, "Its weight", 2.5)
    assert_allclose(shown(page)["expected"], 3 * np.exp(2.5) / (np.exp(2.5) + 2))


@needs_chromium
def test_the_closed_form_and_its_condition(opened):
    page = opened("counting")
    for elsewhere in (2, 0, 7):
        move(page, "d b e → 0 1 0", elsewhere)
        sentences, labels = counted(1, 1, elsewhere)
        closed = EmpiricalCRF.ecrn(zeros="exact").fit(sentences, labels)
        wanted = mle_conditions(closed, sentences, labels).log_likelihood
        assert_allclose(shown(page)["closed"], wanted)


@needs_chromium
def test_label_bias(opened):
    page = opened("label_bias")
    assert_allclose(shown(page)["XIB"], 12 / 21)
    control(page, "co-occurrence rates").check()
    assert_allclose(shown(page)["XIB"], 1 / 10)
    move(page, "rob → X I B", 9)
    assert_allclose(shown(page)["XIB"], 1 / 2)


@needs_chromium
def test_constraints_and_known_labels(opened):
    page, words = opened("segments"), ["Lee", "runs", "Ann"]
    crf = CRF().fit(X_NAMES, Y_NAMES)
    labels, probability = best(crf, words)
    assert labels in page.text_content(".words")
    assert_allclose(shown(page)["probability"], probability)
    control(page, "I-P cannot come first").check()
    control(page, "I-P cannot follow O").check()
    proper = [
        (labels, p)
        for labels, p in crf.predict_k_best([words], 27)[0]
        if labels[0] != "I-P" and "O I-P" not in " ".join(labels)
    ]
    left = sum(p for _, p in proper)
    assert " ".join(proper[0][0]) in page.text_content(".words")
    assert_allclose(shown(page)["left"], left)
    assert_allclose(shown(page)["probability"], proper[0][1] / left)
    control(page, "runs").select_option("I-P")
    labels = crf.predict([words], allowed=[["B-P", "I-P", None]])[0]
    assert " ".join(labels) in page.text_content(".words")
    control(page, "Lee").select_option("O")
    assert "No labelling is left" in page.text_content(".words")


@needs_chromium
def test_figures_fit_into_narrow_windows(opened):
    for chapter in (path.stem for path in CHAPTERS.glob("*.rst") if path.stem != "index"):
        page = opened(chapter)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), chapter
        label = page.get_attribute("figure svg", "aria-label")
        assert page.text_content(".words") in label and page.text_content("figcaption") in label
        nameless = page.eval_on_selector_all(
            "input, select", "nodes => nodes.filter(node => node.labels.length === 0).length"
        )
        assert nameless == 0, chapter


def test_the_module_is_small():
    assert len(MODULE.read_text("utf-8").splitlines()) < 600
