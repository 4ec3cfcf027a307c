"""JavaScript modules of the documentation, in Node and in Chromium."""

import json
import shutil
import subprocess

import pytest

NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


def run_in_node(module, program, given):
    """What a function of the module in a file, and of something, returns in Node."""
    source = f"""
    import * as module from "{module.as_uri()}";
    let text = "";
    for await (const part of process.stdin) text += part;
    const answer = await ({program})(module, JSON.parse(text));
    console.log(JSON.stringify(answer));
    """
    command = [NODE, "--no-warnings", "--input-type=module", "--eval", source]
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def page():
    """A page of Chromium, in which no script may fail."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as driver:
        args = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=args)
        page, errors = browser.new_page(), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        assert errors == []
        browser.close()
