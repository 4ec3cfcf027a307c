"""The terms of the scores of empirical models: logarithms of rates times exponents."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...base.contributions import Contributions, entries_at, transition_names
from ...counts.observations import Encoder
from ...counts.prepared import Prepared
from ...counts.rows import FLOOR, StateWeights
from ...structures import Structure
from .model import Symbols

Blocks = Sequence[tuple[Symbols, np.ndarray]]
"""For each block of rows: the symbols of its attributes, and their ids (n_rows, n_symbols)."""


def attribute_names(
    blocks: Blocks, encoder: Encoder, rows: np.ndarray | None = None, linked: bool = False
) -> np.ndarray:
    """Names such as ``"token[-1]=the|token[0]=dog"`` of rows, by default of all rows.

    Parameters
    ----------
    blocks : sequence of (Symbols, ndarray)
    encoder : Encoder
    rows : int ndarray, optional
        Row numbers, counted through all blocks.
    linked : bool
        Whether the offsets of the symbols are along links.

    Returns
    -------
    object ndarray of the shape of the rows
        None for rows below 0.
    """
    starts = np.cumsum([0, *(len(keys) for _, keys in blocks)])
    rows = np.arange(starts[-1]) if rows is None else rows
    block_of_row = np.where(rows < 0, -1, np.searchsorted(starts[1:], rows, side="right"))
    symbols_of, places = {}, {0: "0", -1: "parent"} if linked else {0: "0"}
    names = np.empty(rows.shape, dtype=object)
    for block, (symbols, keys) in enumerate(blocks):
        chosen = np.nonzero(block_of_row == block)
        ids = keys[rows[chosen] - starts[block]]
        parts = []
        for (column, offset), of_column in zip(symbols, ids.T, strict=True):
            where = f"{column}[{places.get(offset, f'{offset:+d}')}]"
            if column not in symbols_of:
                known = [*encoder.symbols(column), "<boundary>"]  # the last one is of id -1
                symbols_of[column] = np.array(known, dtype=object)
            parts.append([f"{where}={symbol}" for symbol in symbols_of[column][of_column]])
        names[chosen] = ["|".join(p) for p in zip(*parts, strict=True)] if parts else ""
    return names


def state_contributions(
    state: StateWeights,
    prepared: Prepared,
    y: np.ndarray,
    blocks: Blocks,
    encoder: Encoder,
    floored: np.ndarray | None = None,
) -> Contributions:
    """Contributions to state scores: weights of rows, times the exponents of their slots.

    Parameters
    ----------
    state : StateWeights
    prepared : Prepared
    y : ndarray of shape (n_tokens,)
    blocks : sequence of (Symbols, ndarray)
    encoder : Encoder
    floored : bool ndarray of shape (n_kinds,), optional
        The kinds of words whose weights are stored minus the floor, the logarithm of zero.

    Returns
    -------
    Contributions
    """
    factor = state.exponents[prepared.kind]
    zero = np.zeros(len(y)) if floored is None else FLOOR * floored[prepared.kind]
    used = (factor != 0) & ((prepared.rows >= 0) | (zero != 0)[:, None])
    token, slot = np.nonzero(used)
    row = prepared.rows[token, slot]
    above = np.where(row < 0, 0.0, entries_at(state.coef, np.maximum(row, 0), y[token]))
    names = attribute_names(blocks, encoder, row)
    names[row < 0] = "never seen"
    names[names == ""] = "label prior"
    entries = Contributions.of("attribute", token, names, above + zero[token], factor[token, slot])
    # A label without a weight above the floor is impossible.
    score = np.bincount(token, above * factor[token, slot], len(y))
    impossible = np.flatnonzero((score == 0.0) & (zero * factor.sum(axis=1) < 0.0))
    never = ["never seen with this label"] * len(impossible)
    never_seen = Contributions.of("attribute", impossible, never, -np.inf)
    return Contributions.join([entries.take(~np.isin(token, impossible)), never_seen])


def edge_contributions(
    coef: sp.csr_array,
    rows: np.ndarray,
    names: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    structure: Structure,
    factor: float,
    exponents: Any = (1.0,),
) -> Contributions:
    """Contributions of the transitions that depend on symbols, or on types of links.

    Parameters
    ----------
    coef : CSR of shape (n_rows, n_labels ** 2)
        Logarithms of rates times exponents; column ``j * n_labels + i`` is for label i before
        label j.
    rows : int ndarray of shape (n_rows, n_slots)
        By row of transitions; -1 if a link has no row in a slot.
    names : object ndarray of shape (n_rows, n_slots)
        Names of the attributes of the rows.
    y : ndarray of shape (n_tokens,)
    classes : ndarray of shape (n_labels,)
    structure : Structure
    factor : float
        Multiplies all exponents.
    exponents : array-like of shape (n_slots,)

    Returns
    -------
    Contributions
    """
    previous, current = structure.links()
    of_links = structure.rows_of_links()
    link, slot = np.nonzero(rows[of_links] >= 0)
    token, before, row = current[link], previous[link], of_links[link]
    pair = y[token].astype(np.int64) * len(classes) + y[before]
    exponent = np.asarray(exponents)[slot]
    weight = entries_at(coef, rows[row, slot], pair) / exponent
    pairs = transition_names(y[before], y[token], classes)
    named = [f"{pair} | {name}" for pair, name in zip(pairs, names[row, slot], strict=True)]
    return Contributions.of("transition", token, named, weight, factor * exponent)
