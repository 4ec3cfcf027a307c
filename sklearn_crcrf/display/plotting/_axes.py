"""Axes to draw on, and text made safe for matplotlib."""

from typing import Any

import numpy as np

from ...base.unwrap import unwrap
from ...utils.replaced_parts import check_fitted


def classifier_with(estimator: Any, *attributes: str) -> Any:
    """Return the fitted classifier inside an estimator, which must have the attributes to draw.

    Raises
    ------
    NotFittedError
        If the classifier is not fitted.
    ValueError
        If it lacks one of the attributes.
    """
    classifier, _ = unwrap(estimator)
    check_fitted(classifier)
    missing = [name for name in attributes if not hasattr(classifier, name)]
    if missing:
        raise ValueError(
            f"{type(classifier).__name__} has no {' and no '.join(missing)}, so there is nothing "
            "to draw; sklearn_crcrf.explain shows the contributions to its scores"
        )
    return classifier


def new_axes(display: Any, ax: Any, figsize: tuple[float, float]) -> Any:
    """Set ``ax_`` and ``figure_`` of a display: the given axes, or the axes of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed; the message says how to install it.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} needs matplotlib: pip install matplotlib"
        ) from error
    ax = plt.subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def grid_in(ax: Any, n_rows: int, n_columns: int, **options: Any) -> np.ndarray:
    """Make a grid of axes in place of ``ax``, which becomes invisible; options are for the grid."""
    ax.set_axis_off()
    grid = ax.get_subplotspec().subgridspec(n_rows, n_columns, **options)
    return grid.subplots(squeeze=False)


def plain(text: Any, most: int | None = None) -> str:
    """Return text with escaped dollar signs, cut to at most ``most`` characters.

    Lone surrogates, which fonts refuse, are written as numbers.
    """
    text = str(text).encode(errors="backslashreplace").decode()
    if most is not None and len(text) > most:
        text = f"{text[: most - 1]}…"
    return text.replace("$", r"\$")
