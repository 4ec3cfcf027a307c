"""Three ways to make experts that differ."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state

from ...feature_extraction import Window
from .merged_labels import MergedLabels
from .random_attributes import RandomAttributes

OFFSETS = {"before": (-2, -1), "here": (0,), "after": (1, 2)}


def random_experts(
    estimator: Any, n_experts: int = 4, fraction: float = 0.5, random_state: Any = None
) -> list[tuple[str, Any]]:
    """Make experts that each see a random fraction of the attributes.

    Parameters
    ----------
    estimator : estimator
        Takes rows of numbers; for strings or feature dicts, put a
        :class:`~sklearn_crcrf.SequenceVectorizer` before the pool.
    n_experts : int, default=4
        Number of experts.
    fraction : float, default=0.5
        Fraction of the attributes that each expert sees.
    random_state : int, RandomState or None, default=None
        Chooses the attributes.

    Returns
    -------
    list of (str, Pipeline)
        For :class:`~sklearn_crcrf.OpinionPoolCRF`, alone or with other experts.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_crcrf import CRF, OpinionPoolCRF, SequenceVectorizer
    >>> from sklearn_crcrf.estimators.opinion_pool import random_experts
    >>> experts = [("all", CRF(sigma=10.0)), *random_experts(CRF(sigma=10.0), 2)]
    >>> [name for name, _ in experts]
    ['all', 'random0', 'random1']
    >>> pool = make_pipeline(SequenceVectorizer(), OpinionPoolCRF(experts))
    """
    rng = check_random_state(random_state)
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_experts)
    return [
        (
            f"random{k}",
            make_pipeline(RandomAttributes(fraction, random_state=int(seed)), clone(estimator)),
        )
        for k, seed in enumerate(seeds)
    ]


def positional_experts(
    estimator: Any, offsets: Mapping[str, Collection[int]] = OFFSETS
) -> list[tuple[str, Any]]:
    """Make experts that see the symbols before, at, or after a token.

    Parameters
    ----------
    estimator : estimator
        Takes columns of symbols.
    offsets : mapping from str to collection of int
        The offsets that each expert sees, as templates of :class:`~sklearn_crcrf.Window`.

    Returns
    -------
    list of (str, Pipeline)
        For token strings, feature dicts or columns of symbols.

    Examples
    --------
    >>> from sklearn_crcrf import CRF, OpinionPoolCRF
    >>> from sklearn_crcrf.estimators.opinion_pool import positional_experts
    >>> pool = OpinionPoolCRF(positional_experts(CRF(sigma=10.0)))
    >>> [name for name, _ in pool.estimators]
    ['before', 'here', 'after']
    """
    return [
        (name, make_pipeline(Window(list(templates)), clone(estimator)))
        for name, templates in offsets.items()
    ]


def label_experts(estimator: Any, labels: Mapping[str, Collection]) -> list[tuple[str, Any]]:
    """Make experts that each distinguish some labels and merge all others.

    Parameters
    ----------
    estimator : estimator
    labels : mapping from str to collection
        The labels that each expert distinguishes.

    Returns
    -------
    list of (str, MergedLabels)

    Examples
    --------
    >>> from sklearn_crcrf import CRF, OpinionPoolCRF
    >>> from sklearn_crcrf.estimators.opinion_pool import label_experts
    >>> kinds = {kind: [f"B-{kind}", f"I-{kind}"] for kind in ("PER", "LOC")}
    >>> pool = OpinionPoolCRF([("all", CRF()), *label_experts(CRF(), kinds)])
    >>> [name for name, _ in pool.estimators]
    ['all', 'PER', 'LOC']
    """
    return [
        (name, MergedLabels(clone(estimator), list(distinguished)))
        for name, distinguished in labels.items()
    ]
