"""Take the pictures of the page on annotation, with Chromium.

``python docs/user_guide/figures/annotation.py`` writes them next to this file.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MARKED = {
    "Marie Curie was born in Warsaw.": "PER PER - - - LOC -",
    "In Paris she met Pierre Curie.": "- LOC - - PER PER -",
    "Albert Einstein taught in Zurich.": "PER PER - - LOC -",
    "He moved to Berlin.": "- - - LOC -",
    "Lise Meitner was born in Vienna.": "PER PER - - - LOC -",
    "She worked in Berlin with Otto Hahn.": "- - - LOC - PER PER -",
    "Niels Bohr lived in Copenhagen.": "PER PER - - LOC -",
    "Emmy Noether taught in Bologna.": "PER PER - - LOC -",
}
PASTED = "Max Born taught in Berlin.\nShe met Lise Meitner in Copenhagen."


def main() -> None:
    """Annotate all sentences but the last one, train, and serve."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 900, "height": 660}, device_scale_factor=1.5)
        text = Path(folder, "text.txt")
        text.write_text("\n".join(MARKED), encoding="utf-8")
        with served("annotate", text, "--labels", "PER", "LOC", "ORG") as address:
            page.goto(address)
            for _ in range(len(MARKED) - 1):
                mark(page)
                page.keyboard.press("Enter")
                page.wait_for_timeout(300)
            page.screenshot(path=HERE / "annotate.png")
        labelled, model = Path(folder, "text.tsv"), Path(folder, "text.crcrf")
        run("export", f"{text}.annotations.jsonl", "--output", labelled)
        run("train", labelled, "--model", model)
        with served("serve", "--model", model) as address:
            page.goto(address)
            page.fill("#text", PASTED)
            page.get_by_role("button", name="Label").click()
            page.get_by_role("button", name="Why?").first.click()
            page.wait_for_selector("table")
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=HERE / "serve.png")


def mark(page: Any) -> None:
    """Mark the sentence that is shown, by keyboard, as a person would."""
    page.wait_for_selector(".token")
    tokens = page.locator(".token bdi").all_text_contents()
    names = next(n.split() for text, n in MARKED.items() if tokens[:3] == words(text)[:3])
    page.keyboard.press("Home")
    for t, name in enumerate(names):
        if t == 0 or name != names[t - 1] or name == "-":
            end = t
            while end + 1 < len(names) and names[end + 1] == name != "-":
                page.keyboard.press("Shift+ArrowRight")
                end += 1
            page.keyboard.press({"-": "0", "PER": "1", "LOC": "2"}[name])
        page.keyboard.press("ArrowRight")


def words(text: str) -> list[str]:
    """Words and the final point."""
    return [*text.rstrip(".").split(), "."]


def run(*command: Any) -> None:
    """Run a command of the package."""
    subprocess.run([sys.executable, "-m", "sklearn_crcrf", *map(str, command)], check=True)


@contextmanager
def served(*command: Any) -> Iterator[str]:
    """The address of a command of the package that serves pages."""
    program = [sys.executable, "-m", "sklearn_crcrf", *map(str, command)]
    process = subprocess.Popen(
        [*program, "--port", "0", "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield next(line.split()[0] for line in process.stdout if line.startswith("http"))
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
