"""The scores of a smoothed model that depend on a single symbol, as weights with names."""

import numpy as np
import scipy.sparse as sp

from ...base.weights import NamedWeights, Weights
from ...counts.labelled import ATTRIBUTES
from ...counts.rows import FREQUENT
from .model import word_kinds_of
from .smoothed import SmoothedModel

__all__ = ["named_weights"]


def named_weights(model: SmoothedModel, classes: np.ndarray) -> NamedWeights:
    """Weights of the words, of the symbols of other columns, and of the columns of a sparse X.

    The weight of a word includes the score of its spelling. Scores that depend on neighbours or on
    pairs of words are left out.

    Parameters
    ----------
    model : SmoothedModel
    classes : ndarray of shape (n_labels,)

    Returns
    -------
    NamedWeights
        Names are like ``"token=dog"``, or ``"x3"`` for a column of a sparse X.
    """
    blocks = [_words(model), *_other_columns(model)]
    if ATTRIBUTES in model.statistics.counts:
        names = model.statistics.encoder.attribute_names
        blocks.append((names, model.exponents["attributes"] * model.attributes))
    all_names = np.array([name for block_names, _ in blocks for name in block_names], dtype=object)
    n = len(classes)
    weights = Weights(
        sp.vstack([coef for _, coef in blocks], format="csr"),
        model.common_transitions(),
        *model.boundaries(),
        np.empty((0, n, n)),
    )
    return NamedWeights(all_names, np.empty(0, dtype=object), classes, weights)


def _words(model: SmoothedModel) -> tuple[list[str], sp.csr_array]:
    """Names and scores of all words that were seen."""
    stats = model.statistics
    seen = np.flatnonzero(stats.n_seen > 0)
    lexicon = stats.encoder.lexicon
    rows = np.full((len(seen), model.state.exponents.shape[1]), -1, dtype=np.int32)
    n_spelling = len(model.spelling.names)
    rows[:, :n_spelling] = model.spelling.rows(lexicon.spelling[seen])
    rows[:, n_spelling] = model.state.starts[1] + seen
    scores = model.state.scores(rows, word_kinds_of(stats.n_seen[seen]))
    symbols = lexicon.words.symbols
    return [f"{stats.word}={symbols[i]}" for i in seen], sp.csr_array(scores)


def _other_columns(model: SmoothedModel) -> list[tuple[list[str], sp.csr_array]]:
    """Names and weights of the symbols of each column that an expert uses alone."""
    encoder, blocks = model.statistics.encoder, []
    exponents = model.state.exponents[FREQUENT]
    n_spelling = len(model.spelling.names)
    for slot, (symbols, keys) in enumerate(model.contexts()):
        (column, offset), *more = symbols
        if more or offset != 0 or column not in encoder.names[1:]:
            continue
        start, ids = model.state.starts[slot + 2], keys[:, 0]
        known = np.flatnonzero(ids >= 0)
        coef = model.state.coef[start : start + len(ids)][known]
        all_symbols = encoder.symbols(column)
        names = [f"{column}={all_symbols[i]}" for i in ids[known]]
        blocks.append((names, exponents[n_spelling + 1 + slot] * coef))
    return blocks
