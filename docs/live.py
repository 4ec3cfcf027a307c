"""The live page: a model, and the modules that use it, all in one page.

Browsers load no module from a page that was opened as a file, so all of it is in the page itself.
"""

import base64
import tempfile
from functools import cache
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.datasets import make_addresses

FOLDER = Path(__file__).parent / "_static" / "live"
N_ADDRESSES = 300
IMPORT = 'import { Tagger } from "./tagger.js";\n'


@cache
def model() -> bytes:
    """The file of a tagger of made-up addresses, with its counts."""
    X, y = make_addresses(N_ADDRESSES, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "addresses.tagger"
        EmpiricalCRF().fit(X, y).tagger(counts=True).save(path, bits=8)
        return path.read_bytes()


def page() -> str:
    """The live page, as HTML that needs no other file."""
    parts = {name: (FOLDER / name).read_text(encoding="utf-8") for name in NAMES}
    script = parts["tagger.js"] + parts["page.js"].replace(IMPORT, "")
    return f"""<style>{parts["page.css"]}</style>
{parts["page.html"]}
<script type="text/plain" id="live-model">{base64.b64encode(model()).decode()}</script>
<script type="module">
{script}</script>
"""


NAMES = ("tagger.js", "page.js", "page.css", "page.html")


class LiveTagger(Directive):
    """``live-tagger::`` includes the live page."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", page(), format="html")]
