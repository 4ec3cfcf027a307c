"""Configuration of the documentation: sphinx-build docs docs/_build/html."""

import os

import sklearn_crcrf
from sklearn_crcrf.datasets import load_dutch_ner

project = "sklearn_crcrf"
author = "the sklearn_crcrf developers"
copyright = f"2026, {author}"
release = version = sklearn_crcrf.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "auto_examples/**.ipynb", "auto_examples/**.py"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Sequence labelling as scikit-learn estimators",
    "page_width": "70rem",
    "fixed_sidebar": True,
}

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings have the types
numpydoc_show_class_members = False  # the template of classes shows them
templates_path = ["_templates"]


def _has_dutch_ner() -> bool:
    try:
        load_dutch_ner(download_if_missing=False)
    except OSError:
        return False
    return True


# Examples whose data are missing are shown, but not run.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": os.sep + ("plot_" if _has_dutch_ner() else "plot_(?!dutch_ner)"),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "reference_url": {"sklearn_crcrf": None},
}
