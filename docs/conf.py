"""Configuration of the documentation: sphinx-build docs docs/_build/html."""

import ast
import html
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from numpydoc.docscrape_sphinx import SphinxDocString
from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle
from sphinx.addnodes import desc_content, pending_xref
from sphinx.directives.other import Include
from sphinx.ext.autosummary import autosummary_table

import sklearn_crcrf
from sklearn_crcrf.datasets import load_brown_splits, load_dutch_ner

project = "sklearn_crcrf"
author = "the sklearn_crcrf developers"
copyright = f"2026, {author}"
release = version = sklearn_crcrf.__version__

# What is above docs/, also if docs/ is a copy beside which there is nothing else.
DOCS = Path(__file__).parent
ROOTS = (DOCS.parent, Path(sklearn_crcrf.__file__).parents[1])
ROOT = next(root for root in ROOTS if (root / "CHANGELOG.md").exists())

sys.path[:0] = [str(DOCS), str(DOCS / "user_guide" / "figures")]
from benchmark_pages import open_page  # noqa: E402
from gallery import SECTIONS  # noqa: E402
from interactive import InteractiveFigure  # noqa: E402
from labelled import Labelled  # noqa: E402
from live import LiveTagger  # noqa: E402
from references_to_parameters import write_out  # noqa: E402
from shown import Shown  # noqa: E402

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "auto_examples/**.ipynb", "auto_examples/**.py"]
templates_path = ["_templates"]
nitpicky = True  # every reference must have a target
# Properties of scikit-learn's Pipeline, whose members are left out, and a default in a signature.
nitpick_ignore = [("py:obj", "n_features_in_"), ("py:obj", "feature_names_in_")]
nitpick_ignore += [("py:class", "numpy.float64")]
smartquotes = False  # most quotes enclose values of parameters

html_theme = "pydata_sphinx_theme"
html_title = f"sklearn_crcrf {version}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_js_files = ["copy.js"]
html_search_scorer = str(DOCS / "scorer.js")
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_math_renderer = "mathml"  # what browsers show without a script
html_theme_options = {
    "logo": {"text": project},
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
# Pages without pages below them have nothing to show at the side.
html_sidebars = {
    page: [] for page in ("index", "live", "tutorial", "getting_started", "glossary", "faq")
}

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the docstrings have the types
maximum_signature_line_length = 80  # longer ones have a line for each parameter
numpydoc_show_class_members = False  # the template of classes shows them


process_attribute = SphinxDocString._process_param


def keep_description(self, name: str, lines: list[str], is_attribute: bool) -> tuple:
    """What a class says of its attribute, rather than the docstring of a property."""
    return process_attribute(self, name, lines, is_attribute and not lines)


SphinxDocString._process_param = keep_description


class KeysAsLabels(BaseLabelStyle):
    """A paper is called what ``references.bib`` calls it."""

    def format_labels(self, entries: list) -> Iterator[str]:
        return (entry.key for entry in entries)


class KeyStyle(Style):
    default_label_style = KeysAsLabels


register_plugin("pybtex.style.formatting", "keys", KeyStyle)
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "keys"


EXAMPLES = DOCS.parent / "examples"
CORPORA = {  # what examples cannot do without
    "plot_brown.py": load_brown_splits,
    "plot_dutch_ner.py": load_dutch_ner,
    "plot_names.py": load_dutch_ner,
}


def can_run(example: Path) -> bool:
    """Whether the packages that an example imports, and its corpus, are here."""
    for node in ast.walk(ast.parse(example.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module]
        if any(find_spec(name.partition(".")[0]) is None for name in names):
            return False
    try:
        CORPORA.get(example.name, lambda **_: None)(download_if_missing=False)
    except OSError:
        return False
    return True


# Examples whose packages or data are missing are shown, but not run.
shown_only = [path.stem for path in EXAMPLES.rglob("plot_*.py") if not can_run(path)]
sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "auto_examples",
    "filename_pattern": rf"{os.sep}(?!({'|'.join(shown_only) or '$'})\.py)plot_",
    "subsection_order": [f"../examples/{section}" for section in SECTIONS],
    "within_subsection_order": "gallery.InOrder",
    "ignore_pattern": r"serve_http\.py",
    "reset_modules": ("matplotlib", "gallery.use_distinct_colors"),
    "download_all_examples": False,
    "parallel": True,  # as many at a time as sphinx-build -j says
    "show_memory": False,
    "write_computation_times": False,  # their pages load scripts from elsewhere
    "default_thumb_file": str(DOCS / "_static" / "thumbnail.svg"),
    "reference_url": {"sklearn_crcrf": None},
    "doc_module": "sklearn_crcrf",
    "backreferences_dir": "generated/backreferences",
}


SCIKIT_LEARN = "https://scikit-learn.org/stable/modules/generated/"


def link_to_scikit_learn(app, env, node, content):
    """References to scikit-learn, without asking the network what there is."""
    target = node.get("reftarget", "")
    if target.startswith("sklearn."):
        return nodes.reference("", "", content, refuri=f"{SCIKIT_LEARN}{target}.html")


def drop_citations(app, document):
    """Summaries leave the papers to the docstrings that they begin."""
    for table in document.findall(autosummary_table):
        for reference in list(table.findall(pending_xref)):
            if reference["refdomain"] == "citation":
                before = reference.parent[reference.parent.index(reference) - 1]
                before.parent.replace(before, nodes.Text(before.astext().rstrip()))
                reference.parent.remove(reference)


def leave_out_fields(app, what, name, member, skip, options):
    """Fields of named tuples, which the docstring of the class describes."""
    return True if type(member).__name__ == "_tuplegetter" else None


def name_thumbnails(app, document):
    """A thumbnail is called what its example is called."""
    thumbnail = None
    for node in document.findall(lambda node: isinstance(node, (nodes.image, nodes.raw))):
        if isinstance(node, nodes.image):
            thumbnail = node if "/images/thumb/" in node["uri"] else None
        elif thumbnail and (title := re.search(r'thumbnail-title">(.*?)</div>', node.astext())):
            thumbnail["alt"] = title[1]


def describe(app, page, template, context, document):
    """A page without a description has its first sentences as one, for search engines."""
    if document is None or 'name="description"' in context.get("metatags", ""):
        return
    paragraphs = document.findall(nodes.paragraph)
    texts = (p.astext() for p in paragraphs if isinstance(p.parent, (nodes.section, desc_content)))
    words = " ".join(next(texts, "").split())
    if words:
        short = textwrap.shorten(words, 200, placeholder=" …")
        tag = f'<meta name="description" content="{html.escape(short)}" />'
        context["metatags"] = f"{context.get('metatags', '')}\n{tag}"


APPLIED = re.compile(r"(<mo>&ApplyFunction;</mo>)(?=\s*<m(?!o))")


def write_math(translator, node):
    """Write a formula as MathML, with the space between a function and its argument."""
    is_block = isinstance(node, nodes.math_block)
    formula = tex2mathml(node.astext(), as_block=is_block)
    formula = APPLIED.sub(r'\1<mspace width="0.17em"/>', formula)
    if is_block:  # which can be wider than the window, and is then moved
        formula = f'<div class="formula" tabindex="0">{formula}</div>'
    translator.body.append(formula)
    raise nodes.SkipNode


class FromRepository(Include):
    """``from-repository:: FILE`` includes a file that is above docs/."""

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.doc2path(self.env.docname)).parent
        self.arguments[0] = os.path.relpath(ROOT / self.arguments[0], folder)
        return super().run()


def setup(app):
    app.add_directive("from-repository", FromRepository)
    app.add_directive("live-tagger", LiveTagger)
    app.add_directive("interactive", InteractiveFigure)
    app.add_directive("labelled-text", Labelled)
    app.add_directive("shown", Shown)
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
    app.connect("source-read", open_page)
    app.connect("missing-reference", link_to_scikit_learn)
    app.connect("autodoc-process-docstring", write_out, priority=100)  # before numpydoc
    app.connect("autodoc-skip-member", leave_out_fields)
    app.connect("doctree-read", drop_citations)
    app.connect("doctree-read", name_thumbnails)
    app.connect("html-page-context", describe)
