"""The pages in a real browser, by keyboard and by mouse."""

import re
import shutil
from contextlib import contextmanager

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("playwright")
pytest.importorskip("axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from served_apps import served

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.apps.annotation import Log, Pool, SegmentMarks, TagMarks, Workbench
from sklearn_crcrf.apps.web import annotation_app, tagging_app
from sklearn_crcrf.apps.web.serving import _opened
from sklearn_crcrf.display import TaggedSequence

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

SCRIPT = "<img src=x onerror=document.title='hacked'>"
LINES = ["Ann Lee sings", "the dog walks", "Ann walks in Rome"]
NAMES = ["PER", "LOC"]


@contextmanager
def annotating(folder, pool, marks):
    with (
        Log(folder / "log.jsonl") as log,
        Workbench(pool, log, marks, measure=None) as bench,
        served(annotation_app(bench)) as host,
    ):
        yield bench, f"http://{host}/"


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as driver:
        args = ["--no-sandbox", "--disable-gpu"]
        yield driver.chromium.launch(executable_path=CHROMIUM, args=args)


@contextmanager
def opened(browser, address, width=1400):
    """A page without errors."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.goto(address)
    yield page
    assert errors == []
    context.close()


def test_segments_by_keyboard(browser, tmp_path):
    with (
        annotating(tmp_path, Pool.of_lines(LINES), SegmentMarks(NAMES)) as (bench, address),
        opened(browser, address) as page,
    ):
        page.wait_for_selector(".token")
        for key in ("Shift+ArrowRight", "1", "Enter"):
            page.keyboard.press(key)
        page.wait_for_selector("text=1 accepted")
        assert bench.annotations.of(0).labels == ("B-PER", "I-PER", "O")
        for key in ("2", "0", "Enter"):  # a mark that is removed again
            page.keyboard.press(key)
        page.wait_for_selector("text=2 accepted")
        assert bench.annotations.of(1).labels == ("O", "O", "O")
        page.keyboard.press("u")
        page.wait_for_selector("text=Undone")
        assert bench.annotations.of(1) is None
        page.keyboard.press("f")
        page.wait_for_selector("text=1 flagged")
        page.keyboard.press("ArrowDown")
        assert page.locator(".labellings button[aria-pressed=true]").count() == 1
        page.keyboard.press("s")
        page.wait_for_selector("text=Nothing waits")
        page.keyboard.press("u")
        page.wait_for_selector("text=Undone")


def test_tab_goes_to_marks_and_doubtful_words(browser, tmp_path):
    sure, doubtful = [["O", 0.9]], [["O", 0.7]]
    view = {
        "sentence": 0,
        "tokens": ["the", "Ann", "Lee", "of", "New", "York", "sings"],
        "labellings": [{"marks": [[1, 3, "PER"]], "share": 0.4}],
        "likeliest": [sure, doubtful, sure, sure, doubtful, doubtful, sure],
        "given": None,
        "accepted": None,
        "flagged": False,
    }
    with (
        annotating(tmp_path, Pool([view["tokens"]]), SegmentMarks(NAMES)) as (bench, address),
        opened(browser, address) as page,
    ):
        page.wait_for_selector("text=No proposals yet: mark one sentence")
        answer = {"next": view, "state": bench.state()}
        page.route("**/api/next", lambda route: route.fulfill(json=answer))
        page.reload()
        page.wait_for_selector("mark")

        def selected(*keys):
            for key in keys:
                page.keyboard.press(key)
            found = page.locator(".token.selected")
            return found.evaluate_all("all => all.map((one) => Number(one.dataset.t))")

        assert selected() == [1, 2]
        assert selected("Tab") == [4, 5]
        assert selected("Shift+Tab") == [1, 2]
        assert selected("Home") == [0] and selected("End") == [6]
        assert selected("Shift+Home") == [*range(7)]
        assert selected("Home", "Tab", "Tab", "2") == [5]
        assert selected("Tab") == [5]  # there is no other: so it leaves the sentence
        assert "name" in page.evaluate("document.activeElement.className")
        assert selected("Shift+Tab", "Shift+Tab") == [1, 2]
        selected("Enter")
        page.wait_for_selector("text=1 accepted")
        assert bench.annotations.of(0).labels == ("O", "B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O")


def test_labels_have_one_colour_on_both_pages_and_in_displays(browser, tmp_path):
    X, y = [["Ann", "in", "Rome"]], [["B-PER", "O", "B-LOC"]]
    model, found = EmpiricalCRF().fit(X, y), []
    read = "all => all.map((one) => [one.innerText, one.style.getPropertyValue('--h')])"
    with (
        annotating(tmp_path, Pool(X, y), SegmentMarks(NAMES)) as (_, annotate),
        served(tagging_app(model)) as host,
    ):
        for address in annotate, f"http://{host}/":
            with opened(browser, address) as page:
                if address != annotate:
                    page.fill("#text", "Ann in Rome")
                    page.get_by_role("button", name="Label").click()
                page.wait_for_selector("mark")
                found.append(page.locator("mark").evaluate_all(read))
    html = TaggedSequence(X[0], y[0], classes=["B-LOC", "B-PER", "O"])._repr_html_()
    assert found[0] == found[1] and len(found[0]) == 2 and found[0][0][1] != found[0][1][1]
    assert re.findall(r"--h:(\d+)", html) == [hue for _, hue in found[0]]


def test_tokens_of_several_columns(browser):
    X = [[{"word": "Ann", "pos": "N"}, {"word": "sings", "pos": "V"}]]
    model = EmpiricalCRF().fit(X, [["B-PER", "O"]])
    app = tagging_app(model, columns=["word", "pos"])
    with served(app) as host, opened(browser, f"http://{host}/") as page:
        page.wait_for_selector("text=with the columns word, pos")
        page.fill("#text", "Ann N\nsings\tV\n\nAnn N")
        page.get_by_role("button", name="Label").click()
        page.wait_for_selector("text=2 sentences")
        assert page.locator("mark").all_inner_texts() == ["AnnPER", "AnnPER"]
        page.get_by_role("button", name="Why?").first.click()
        page.wait_for_selector("table")


@pytest.mark.parametrize("marks", [SegmentMarks(NAMES), TagMarks(NAMES)])
def test_only_what_changes_is_drawn(browser, tmp_path, marks):
    tokens = [f"w{t}" for t in range(400)]
    count = """() => {
      const seen = new MutationObserver(() => {});
      seen.observe(document.getElementById("sentence"),
        { childList: true, subtree: true, attributes: true });
      window.changes = () => seen.takeRecords().map((one) =>
        one.addedNodes.length + one.removedNodes.length + (one.type === "attributes"));
    }"""
    with (
        annotating(tmp_path, Pool([tokens]), marks) as (bench, address),
        opened(browser, address) as page,
    ):
        page.wait_for_selector(".token")
        page.evaluate(count)
        for key in ("ArrowRight", "Shift+ArrowRight", "1", "ArrowRight", "2", "End", "1", "Home"):
            page.keyboard.press(key)
            assert sum(page.evaluate("changes()")) < 40, key
        assert page.locator(".token bdi").all_inner_texts() == tokens
        page.keyboard.press("Enter")
        page.wait_for_selector("text=1 accepted")
        labels = bench.annotations.of(0).labels
    if isinstance(marks, SegmentMarks):
        assert labels[:5] == ("O", "B-PER", "I-PER", "B-LOC", "O") and labels[-1] == "B-PER"
    else:
        assert labels[1:3] == ("PER", "PER") and "LOC" in labels[3:5] and labels[-1] == "PER"


def test_segments_by_mouse(browser, tmp_path):
    with (
        annotating(tmp_path, Pool.of_lines(LINES[2:]), SegmentMarks(NAMES)) as (bench, address),
        opened(browser, address) as page,
    ):
        first, last = (page.locator(f"[data-t='{t}']") for t in (0, 3))
        first.click()
        page.get_by_role("button", name="PER").click()
        start, end = first.bounding_box(), last.bounding_box()
        last.hover()
        page.mouse.down()
        page.locator("[data-t='2']").hover()
        page.mouse.up()
        assert page.locator(".token.selected").count() == 2 and start["x"] < end["x"]
        page.get_by_role("button", name="LOC").click()
        page.fill("#name", "ORG")
        page.get_by_role("button", name="Add").click()
        page.get_by_role("button", name="ORG").wait_for()
        page.get_by_role("button", name="Accept").click()
        page.wait_for_selector("text=1 accepted")
        assert bench.annotations.of(0).labels == ("B-PER", "O", "B-LOC", "I-LOC")


def test_many_tags_long_and_right_to_left_text(browser, tmp_path):
    tags = [f"T{k}" for k in range(60)]
    sentences = [["שלום", "עולם", "🙂"], [SCRIPT, "cafe\u0301", *["word"] * 498]]
    with (
        annotating(tmp_path, Pool(sentences), TagMarks(tags)) as (bench, address),
        opened(browser, address) as page,
    ):
        page.wait_for_selector(".token")
        page.keyboard.press("ArrowLeft")  # the next token, as the text runs to the left
        page.keyboard.press("t")
        page.fill("#chosen", "T59")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-t='1'] >> text=T59")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=1 accepted")
        assert bench.annotations.of(0).labels == ("T0", "T59", "T0")
        assert page.locator(".token").count() == 500
        assert page.title() == "Annotate"
        page.fill("#text", "café".replace("é", "e\u0301"))
        page.keyboard.press("Enter")
        page.locator("#found button").wait_for()
        assert page.title() == "Annotate"


def test_a_page_is_opened_by_a_file_that_hides_the_token(browser, tmp_path, monkeypatch):
    opened_urls = []
    monkeypatch.setattr("webbrowser.open", opened_urls.append)
    with (
        Log(tmp_path / "log.jsonl") as log,
        Workbench(Pool.of_lines(LINES), log, SegmentMarks(NAMES), measure=None) as bench,
        served(annotation_app(bench), "geheim", 10**6) as host,
        _opened(f"http://{host}/?token=geheim", "geheim"),
    ):
        (url,) = opened_urls
        assert "geheim" not in url
        context = browser.new_context()
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector(".token")
        assert page.url == f"http://{host}/"
        context.close()


def test_pages_are_accessible_and_fit(browser, tmp_path):
    model = EmpiricalCRF().fit([["Ann", "sings"], ["the", "dog"]], [["B-PER", "O"], ["O", "O"]])
    with (
        annotating(tmp_path, Pool.of_lines(LINES), SegmentMarks(NAMES)) as (_, annotate),
        served(tagging_app(model)) as host,
    ):
        tag = f"http://{host}/"
        for address, width in [(a, w) for a in (annotate, tag) for w in (1400, 390)]:
            with opened(browser, address, width) as page:
                if address == tag:
                    page.fill("#text", f"Ann sings\n{SCRIPT}")
                    page.get_by_role("button", name="Label").click()
                    page.get_by_role("button", name="Why?").first.click()
                    page.wait_for_selector("table")
                else:
                    page.wait_for_selector(".token")
                    page.keyboard.press("1")
                assert_accessible(page)
                page.emulate_media(color_scheme="dark")
                assert_accessible(page, runOnly=["color-contrast"])
                assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
                assert page.title() != "hacked"


def assert_accessible(page, **options):
    report = Axe().run(page, options=options)
    assert report.violations_count == 0, report.generate_report()
