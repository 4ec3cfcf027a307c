"""The order of sections and examples in the gallery, and their colors."""

from pathlib import Path

import matplotlib.pyplot as plt
from cycler import cycler

# Okabe and Ito chose them so that people with any colour vision can tell them apart.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"]

SECTIONS = {
    "first_steps": [
        "plot_quickstart.py",
        "plot_from_crfsuite.py",
        "plot_grid_search.py",
        "plot_randomised_search.py",
    ],
    "tasks": [
        "plot_names.py",
        "plot_dutch_ner.py",
        "plot_segments.py",
        "plot_chunking.py",
        "plot_brown.py",
        "plot_numbers.py",
    ],
    "errors": [
        "plot_errors.py",
        "plot_confidence.py",
        "plot_explain.py",
        "plot_label_issues.py",
    ],
    "few_labels": [
        "plot_templates.py",
        "plot_annotation.py",
        "plot_active_learning.py",
        "plot_partial_labels.py",
        "plot_self_training.py",
        "plot_incremental.py",
    ],
    "training": [
        "plot_solvers.py",
        "plot_criteria.py",
        "plot_custom_criterion.py",
        "plot_induction.py",
        "plot_pool.py",
    ],
    "graphs": [
        "plot_dependency_relations.py",
        "plot_citations.py",
        "plot_image.py",
    ],
    "use": [
        "plot_serving.py",
        "plot_spacy.py",
        "plot_presidio.py",
        "plot_label_studio.py",
    ],
    "papers": [
        "plot_ecrn.py",
        "plot_ep.py",
        "plot_sep.py",
        "plot_mce.py",
        "plot_survey.py",
    ],
}


class InOrder:
    """Sorts the files of a section as ``SECTIONS`` lists them."""

    def __init__(self, folder: str) -> None:
        self.files = SECTIONS.get(Path(folder).name, [])

    def __call__(self, filename: str) -> int:
        return self.files.index(filename)


def use_distinct_colors(gallery_conf: dict, filename: str) -> None:
    """Lines and bars have these colors by default."""
    plt.rcParams["axes.prop_cycle"] = cycler(color=COLORS)
