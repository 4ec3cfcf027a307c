"""Where modules of earlier releases are now, for those who know them by their old names."""

import sys

__all__ = ["MOVED", "keep_importable"]

# Modules of release 0.1 that are in its reference, or whose classes are named in model files. What
# they define has the names that it had.
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
    """Let the old names stand for the modules, which must have been imported.

    Parameters
    ----------
    package : str
        The name of this package. Where it has a module or a package of an old name, that stays.
    """
    for old, new in MOVED.items():
        sys.modules.setdefault(f"{package}.{old}", sys.modules[f"{package}.{new}"])
