"""The engines of inference by name."""

from .auto import Auto
from .base import Inference
from .cut import Cut
from .exact import Exact
from .ilp import IntegerProgram
from .loopy import Loopy
from .tree_reweighted import TreeReweighted

ENGINES = Auto, Exact, Loopy, TreeReweighted, Cut, IntegerProgram
INFERENCE: dict[str, type[Inference]] = {engine.name: engine for engine in ENGINES}
"""The class of each engine, by its name."""


def as_inference(inference: str | Inference) -> Inference:
    """Return the engine of a name, with its defaults; or the given engine.

    Parameters
    ----------
    inference : str or Inference

    Returns
    -------
    Inference

    Raises
    ------
    ValueError
        If the name is not known.

    Examples
    --------
    >>> from sklearn_crcrf.structures.inference import as_inference
    >>> as_inference("exact").max_table
    1000000
    """
    if isinstance(inference, Inference):
        return inference
    if inference not in INFERENCE:
        known = ", ".join(f'"{name}"' for name in INFERENCE)
        raise ValueError(f"inference must be one of {known}, or an Inference, got {inference!r}")
    return INFERENCE[inference]()
