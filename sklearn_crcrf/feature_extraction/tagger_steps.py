"""What taggers do in place of transformers."""

from collections.abc import Sequence
from typing import Any


def tagger_steps(transformers: Sequence[Any]) -> dict[str, list]:
    """Return the settings of a tagger that takes the steps of fitted transformers.

    Parameters
    ----------
    transformers : sequence of transformers from columns to columns
        The first takes the tokens.

    Returns
    -------
    dict
        The settings "input" and "steps", see
        :func:`~sklearn_crcrf.serving.columns.reader_of`.

    Raises
    ------
    ValueError
        If taggers cannot do what one of them does; the message names it.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import Window
    >>> from sklearn_crcrf.feature_extraction.tagger_steps import tagger_steps
    >>> tagger_steps([Window((-1,)).fit([["a"]])])
    {'input': ['token'], 'steps': [['window', [[['token', -1]]], ['token[-1]']]]}
    """
    for transformer in transformers:
        if not hasattr(transformer, "tagger_step"):
            raise ValueError(f"a tagger cannot do what {transformer!r} does")
    names = [tuple(map(str, one.feature_names_in_)) for one in transformers]
    steps = [one.tagger_step(of) for one, of in zip(transformers, names, strict=True)]
    return {"input": list(names[0]), "steps": steps}
