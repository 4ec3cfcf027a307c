"""Taggers by counted weights of words, their spelling and their contexts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._kernels.text import tagging
from .._kernels.text.tokens import CountedScores, edges_are_sound
from ..utils.spelling import marked, spelling_feature
from .columns import Columns, reader_of
from .content import Content, packed_rows

_AFFIXES = *(f"suffix{k}" for k in range(1, 6)), "prefix1", "prefix3", "prefix4"
FEATURES = (*_AFFIXES, "shape", "long_shape", "lower", "simple")
"""The spelling features of words, in the order of the kernel."""

SPELLING = [*map(spelling_feature, FEATURES)]

N_FLAGS = 2**11
N_KINDS = 3
# How many times the memory of an array of integers lists of them take.
LISTED = 16
N_BITS = np.array([k.bit_count() for k in range(256)], dtype=np.uint8)
MOST_EDGE_SLOTS = 16
MOST_COLUMNS = 64
MOST_LABELS = 2**15
# Offsets of contexts are at most this, so that a damaged file cannot ask for huge work space.
FARTHEST = 64


def counted_tagger(content: Content, labels: list, chain: Any) -> tuple[Any, Callable | None]:
    """Return the compiled tagger, and what reads its input; content from a file is checked."""
    if len(labels) > MOST_LABELS:
        raise ValueError(f"a tagger of counted weights has at most {MOST_LABELS} labels")
    words, n_words = content.strings("words")
    features = [content.strings(name) for name in FEATURES]
    columns = content.setting("columns", list)
    if not 0 < len(columns) <= MOST_COLUMNS or not all(isinstance(name, str) for name in columns):
        raise ValueError("the setting 'columns' is not valid")
    others = [content.strings(f"column{k}") for k in range(1, len(columns))]
    n, n_state = len(labels), len(content.array("state.offset", "H", None)) - 1
    n_slots = content.array("exponents", "d", N_KINDS, None).shape[1]
    if n_slots < len(FEATURES) + 2:
        raise ValueError("the array 'exponents' has too few columns")
    n_edge = len(content.array("edge.offset", "H", None)) - 1
    n_edge_slots = content.setting("n_edge_slots", int)
    if not 0 <= n_edge_slots <= MOST_EDGE_SLOTS:
        raise ValueError("the setting 'n_edge_slots' is not valid")
    state, edge = packed_rows(content, "state", "BH"), packed_rows(content, "edge", "Hi")
    in_range, rises = edges_are_sound(edge, n)
    if state["state.columns"].max(initial=0) >= n:
        raise ValueError("the array 'state.columns' has values out of range")
    if not in_range:
        raise ValueError("the array 'edge.columns' has values out of range")
    if not rises:
        raise ValueError("the array 'edge.columns' must rise in each row")
    # How many rows of weights there are for each slot; edges are the last slots.
    n_rows = np.repeat([n_state, n_edge], [n_slots, n_edge_slots])
    context_features = content.indices("context_features", "i", None, stop=len(FEATURES))
    common = content.indices("common", "i", None, stop=n_words)
    content.budget.take(8 * n * (N_KINDS + len(common)))  # their sums over the first slots
    symbol_starts = np.cumsum([0, *(size for _, size in features)]).astype(np.int32)
    n_own = len(context_features) + 1
    n_columns = n_own + len(others)
    arrays = {
        **state,
        **edge,
        "n_edge_slots": n_edge_slots,
        "transition": content.array("transition", "d", n, n),
        "exponents": content.array("exponents", "d", N_KINDS, n_slots),
        "kinds": content.indices("kinds", "b", n_words, stop=N_KINDS),
        "common": common,
        "flags": content.indices("flags", "i", N_FLAGS, least=-2, stop=features[-1][1]),
        "context_features": context_features,
        "context_ids": content.array("context_ids", "i", n_words, n_own - 1),
        "spelling_rows": content.indices(
            "spelling_rows", "i", n_words, len(FEATURES), least=-1, stop=n_state
        ),
        "symbol_starts": symbol_starts,
        "symbol_rows": content.indices(
            "symbol_rows", "i", int(symbol_starts[-1]), least=-1, stop=n_state
        ),
        **_singles(content, n_rows, n_columns),
        **_pairs(content, n_rows, n_columns),
    }
    first = content.setting("first_word_row", int)
    if not 0 <= first <= n_state - n_words or n_state == 0:
        raise ValueError("the setting 'first_word_row' is not valid")
    reach = content.setting("reach", int)
    offsets = [*arrays["single_slots"][:, 2], *arrays["pair_slots"][:, 2]]
    # Offsets are stored as places in the padded sequence, from 0 to twice the reach.
    if not 0 <= reach <= FARTHEST or any(not 0 <= k <= 2 * reach for k in offsets):
        raise ValueError("the setting 'reach' is not valid")
    arrays["reach"] = reach
    exponent = float(content.setting("edge_exponent", float))
    tables = [table for table, _ in features]
    given = [table for table, _ in others]
    scores = CountedScores(words, tables, given, spell, arrays, first, exponent)
    read = None
    if "input" in content.settings:
        read = reader_of(content, partial(_symbols_of, names=columns))
    elif others:
        raise ValueError("the setting 'input' is missing")
    return tagging.CountedTagger(chain, scores, labels), read


def spell(word: str) -> list[str]:
    """Return the symbols of ``FEATURES`` of a word."""
    words = [word]
    lower = marked(words)
    return [feature(words, lower)[0] for feature in SPELLING]


def _symbols_of(columns: Columns, names: list[str]) -> list:
    """Return the symbols of all columns; of a single column alone."""
    found = [["" if s is None else s for s in columns[name]] for name in names]
    return found if len(names) > 1 else found[0]


def _check_rows(name: str, rows: np.ndarray, slot: int, n_rows: np.ndarray) -> None:
    """Check the rows of weights that a slot refers to."""
    if not 0 < slot < len(n_rows):
        raise ValueError(f"the array {name!r} has a slot that does not exist")
    if rows.size and not -1 <= rows.min() <= rows.max() < n_rows[slot]:
        raise ValueError(f"the array {name!r} has values out of range")


def _singles(content: Content, n_rows: np.ndarray, n_columns: int) -> dict[str, np.ndarray]:
    """Check the slots that look up one symbol: table, column, place and slot of each."""
    slots = content.array("single_slots", "i", None, 4)
    content.budget.take(LISTED * slots.nbytes)
    rows = content.array("single_rows", "i", None)
    starts = content.pointers("single_starts", len(slots), len(rows))
    for k, (table, column, _, slot) in enumerate(slots.tolist()):
        if table != k or not 0 <= column < n_columns:
            raise ValueError("the array 'single_slots' has values out of range")
        _check_rows("single_rows", rows[starts[k] : starts[k + 1]], slot, n_rows)
    return {"single_slots": slots, "single_starts": starts, "single_rows": rows}


def _pairs(content: Content, n_rows: np.ndarray, n_columns: int) -> dict[str, Any]:
    """Check slots that look up two or three symbols: group, member, place, slot and row of each.

    The numbers of the pairs of a group may make a column, whose ids later groups pair with others.
    """
    groups = content.array("groups", "i", None, 4)
    slots = content.array("pair_slots", "i", None, 5)
    content.budget.take(LISTED * (groups.nbytes + slots.nbytes))
    starts = np.searchsorted(slots[:, 0], np.arange(len(groups) + 1)).tolist()
    if (np.diff(slots[:, 0]) < 0).any() or starts[0] != 0 or starts[-1] != len(slots):
        raise ValueError("the array 'pair_slots' has values out of range")
    arrays: dict[str, Any] = {"groups": groups.tolist(), "pair_slots": slots}
    n_known = n_columns
    for g, (first, second, distance, derived) in enumerate(groups.tolist()):
        is_sound = 0 <= first < n_known and 0 <= second < n_known and abs(distance) <= FARTHEST
        is_sound = is_sound and derived in (-1, n_known)
        n_known += derived == n_known
        if not is_sound:
            raise ValueError(f"the pairs of group {g} are not valid")
        seconds = content.array(f"pairs{g}.second", "i", None)
        indptr = content.pointers(f"pairs{g}.indptr", None, len(seconds), "i")
        bits = content.array(f"pairs{g}.bits", "LQ", None, len(seconds) // 64 + 1)
        content.budget.take(2 * bits.nbytes)
        n_bits = N_BITS[bits.view(np.uint8)].reshape(*bits.shape, 8).sum(axis=2, dtype=np.int32)
        rank = np.cumsum(n_bits, axis=1, dtype=np.int32) - n_bits
        sizes = n_bits.sum(axis=1).tolist()
        for _, member, _, slot, start in slots[starts[g] : starts[g + 1]].tolist():
            if not 0 <= member < len(bits):
                raise ValueError("the array 'pair_slots' has values out of range")
            ends = [start, start + sizes[member] - 1] if sizes[member] else []
            _check_rows("pair_slots", np.array(ends), slot, n_rows)
        parts = {"indptr": indptr, "second": seconds, "bits": bits, "rank": rank}
        arrays |= {f"pairs{g}.{part}": array for part, array in parts.items()}
    return arrays | {"n_derived": n_known - n_columns}
