"""Attributes that suit names, chunks and parts of speech."""

from collections.abc import Sequence

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline

from ..utils.names import check_several
from .presets import SPELLING, preset_templates
from .spelling import TokenFeatures
from .vectorizer import SequenceVectorizer
from .window import Window


def text_features(kind: str = "names", columns: Sequence[str] | None = None) -> Pipeline:
    """Return a pipeline from tokens to attributes that suit a kind of labels.

    Its steps are transformers that can be printed, changed and exchanged: the spelling of the
    token, windows of neighbouring words, spellings and other columns, and a sparse matrix.

    Parameters
    ----------
    kind : {"names", "chunks", "tags"}, default="names"
        Names of persons, places and the like; phrases; or parts of speech.
    columns : sequence of str, optional
        The columns, or keys of feature dicts, to use; the first holds the token. Default: all
        columns, among them the columns that :class:`FoundLabels` adds.

    Returns
    -------
    Pipeline of TokenFeatures, Window and SequenceVectorizer

    Raises
    ------
    ValueError
        If there are no attributes for this kind of labels, or ``columns`` is empty.

    See Also
    --------
    FoundLabels : Columns of the labels that a first model finds.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import text_features
    >>> attributes = text_features("tags").fit([["Ann", "sings"], ["Ann", "sleeps"]])
    >>> print(attributes)
    Pipeline(steps=[('tokenfeatures', TokenFeatures(features='tags')),
                    ('window', Window(templates='tags')),
                    ('sequencevectorizer',
                     SequenceVectorizer(dtype=<class 'numpy.float32'>, min_freq=2))])
    >>> [str(name) for name in attributes.get_feature_names_out()][:3]
    ['token[-2]=<boundary-2>', 'token[-2]=<boundary-1>', 'token[-1]=<boundary-1>']
    """
    if kind not in SPELLING:
        raise ValueError(f"kind must be one of {[*SPELLING]}, got {kind!r}")
    vectorizer = SequenceVectorizer(min_freq=2 if kind == "tags" else 1, dtype=np.float32)
    if columns is None:
        return make_pipeline(TokenFeatures(kind), Window(kind), vectorizer)
    check_several(columns, "columns")
    if not len(columns):
        raise ValueError("columns must name the column of the token, but is empty")
    token, *_ = columns
    templates = preset_templates(kind, [*columns, *SPELLING[kind]])
    return make_pipeline(TokenFeatures(kind, column=token), Window(templates), vectorizer)
