"""The present names of modules that earlier releases had under other names."""

import sys

__all__ = ["MOVED", "keep_importable"]

# Modules of release 0.1 that its reference documents, or whose classes model files name. Only the
# names of the modules have changed, not those of their classes and functions.
MOVED = {
    "_tables": "counts.tables",
    "constraints": "constraints.constraints",
    "contributions": "base.contributions",
    "counts": "counts.counts",
    "crf.encoder": "linear.encoder",
    "empirical.binning": "counts.binning",
    "empirical.lexicon": "counts.lexicon",
    "empirical.observations": "counts.observations",
    "empirical.rows": "counts.rows",
    "empirical.storage": "counts.storage",
    "empirical.tabulate": "counts.tabulator",
    "empirical.weights": "counts.state_weights",
    "explanation": "notebook.explanation",
    "hmm": "counts.hmm",
    "labels": "labels.encoding",
    "memm": "crf.memm",
    "spelling": "feature_extraction.spelling",
    "vocabulary": "data.vocabulary",
}


def keep_importable(package: str) -> None:
    """Make the modules importable under their old names; they must have been imported before.

    Parameters
    ----------
    package : str
        The name of this package. A present module or package with an old name is kept.
    """
    for old, new in MOVED.items():
        sys.modules.setdefault(f"{package}.{old}", sys.modules[f"{package}.{new}"])
