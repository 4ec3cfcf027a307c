"""Taggers by counted weights of words, their spelling and their contexts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._kernels.text import tagging
from .._kernels.text.tokens import CountedScores, edges_are_sound
from ..utils.spelling import marked, spelling_feature
from .columns import Columns, reader_of
from .content import Content
from .packing import packed_rows

FEATURES = (
    *(f"suffix{k}" for k in range(1, 6)),
    "prefix1",
    "prefix3",
    "prefix4",
    "shape",
    "long_shape",
    "lower",
    "simple",
)
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


def counted_tagger(content: Content, labels: list) -> tuple[Any, Callable | None]:
    """The compiled tagger, and what reads its input; content from a file is checked."""
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
    if len(state["state.columns"]) and state["state.columns"].max() >= n:
        raise ValueError("the array 'state.columns' has values out of range")
    in_range, rises = edges_are_sound(edge, n)
    if not in_range:
        raise ValueError("the array 'edge.columns' has values out of range")
    if not rises:
        raise ValueError("the array 'edge.columns' must rise in each row")
    rows = _Rows(n_state, n_edge, n_slots, n_edge_slots)
    context_features = content.indices("context_features", "i", None, 0, len(FEATURES))
    common = content.indices("common", "i", None, 0, n_words)
    content.budget.take(8 * n * (N_KINDS + len(common)))  # their sums over the first slots
    n_own = len(context_features) + 1
    n_columns = n_own + len(others)
    arrays = {
        **state,
        **edge,
        "n_edge_slots": n_edge_slots,
        "transition": content.array("transition", "d", n, n),
        "exponents": content.array("exponents", "d", N_KINDS, n_slots),
        "kinds": content.indices("kinds", "b", n_words, 0, N_KINDS),
        "common": common,
        "flags": content.indices("flags", "i", N_FLAGS, -2, features[-1][1]),
        "context_features": context_features,
        "context_ids": content.array("context_ids", "i", n_words, n_own - 1),
        "spelling_rows": _table(content, "spelling_rows", (n_words, len(FEATURES)), n_state),
        **_symbols(content, [size for _, size in features], n_state),
        **_singles(content, rows, n_columns),
        **_pairs(content, rows, n_columns),
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
    chain = tagging.ChainTables(*(content.arrays[name] for name in ("transition", "begin", "end")))
    read = None
    if "input" in content.settings:
        read = reader_of(content, partial(_symbols_of, names=columns))
    elif others:
        raise ValueError("the setting 'input' is missing")
    return tagging.CountedTagger(chain, scores, labels), read


def spell(word: str) -> list[str]:
    """The symbols of ``FEATURES`` of a word."""
    words = [word]
    lower = marked(words)
    return [feature(words, lower)[0] for feature in SPELLING]


def _symbols_of(columns: Columns, names: list[str]) -> list:
    """The symbols of all columns; of a single column alone."""
    found = [["" if s is None else s for s in columns[name]] for name in names]
    return found if len(names) > 1 else found[0]


class _Rows:
    """How many rows the weights have that a slot refers to; edges are the last slots."""

    def __init__(self, n_state: int, n_edge: int, n_slots: int, n_edge_slots: int):
        self.n_slots, self._n_all = n_slots, n_slots + n_edge_slots
        self._n_state, self._n_edge = n_state, n_edge

    def check(self, name: str, rows: np.ndarray, slot: int) -> None:
        """Check the rows that a slot refers to."""
        if not 0 < slot < self._n_all:
            raise ValueError(f"the array {name!r} has a slot that does not exist")
        stop = self._n_state if slot < self.n_slots else self._n_edge
        if rows.size and not -1 <= rows.min() <= rows.max() < stop:
            raise ValueError(f"the array {name!r} has values out of range")


def _in_range(values: np.ndarray, stop: int) -> bool:
    return not len(values) or 0 <= values.min() <= values.max() < stop


def _table(content: Content, name: str, shape: tuple, stop: int) -> np.ndarray:
    table = content.array(name, "i", *shape)
    if table.size and not -1 <= table.min() <= table.max() < stop:
        raise ValueError(f"the array {name!r} has values out of range")
    return table


def _symbols(content: Content, sizes: list[int], n_state: int) -> dict[str, np.ndarray]:
    """The rows of the symbols of spelling features."""
    starts = np.append(0, np.cumsum(sizes)).astype(np.int32)
    rows = content.indices("symbol_rows", "i", int(starts[-1]), -1, n_state)
    return {"symbol_rows": rows, "symbol_starts": starts}


def _singles(content: Content, rows: _Rows, n_columns: int) -> dict[str, np.ndarray]:
    """The slots that look up one symbol: table, column, place and slot of each."""
    slots = content.array("single_slots", "i", None, 4)
    starts = content.array("single_starts", "ql", len(slots) + 1)
    content.budget.take(LISTED * slots.nbytes)
    all_rows = content.array("single_rows", "i", int(starts[-1]) if len(starts) else None)
    if starts[0] != 0 or (np.diff(starts) < 0).any():
        raise ValueError("the array 'single_starts' has values out of range")
    for k, (table, column, _, slot) in enumerate(slots.tolist()):
        if table != k or not 0 <= column < n_columns:
            raise ValueError("the array 'single_slots' has values out of range")
        rows.check("single_rows", all_rows[starts[k] : starts[k + 1]], slot)
    return {"single_slots": slots, "single_starts": starts, "single_rows": all_rows}


def _pairs(content: Content, rows: _Rows, n_columns: int) -> dict[str, Any]:
    """The slots that look up two or three symbols: group, member, place, slot and row of each.

    The numbers of the pairs of a group may make a column, whose ids later groups pair with others.
    """
    groups = content.array("groups", "i", None, 4)
    slots = content.array("pair_slots", "i", None, 5)
    content.budget.take(LISTED * (groups.nbytes + slots.nbytes))
    if (np.diff(slots[:, 0]) < 0).any() or not _in_range(slots[:, 0], len(groups)):
        raise ValueError("the array 'pair_slots' has values out of range")
    starts = np.searchsorted(slots[:, 0], np.arange(len(groups) + 1)).tolist()
    arrays: dict[str, Any] = {"groups": groups.tolist(), "pair_slots": slots}
    n_known = n_columns
    for g, (first, second, distance, derived) in enumerate(groups.tolist()):
        is_sound = 0 <= first < n_known and 0 <= second < n_known and abs(distance) <= FARTHEST
        is_sound = is_sound and derived in (-1, n_known)
        n_known += derived == n_known
        indptr = content.array(f"pairs{g}.indptr", "i", None)
        seconds = content.array(f"pairs{g}.second", "i", None)
        if not is_sound or not len(indptr) or indptr[0] != 0 or indptr[-1] != len(seconds):
            raise ValueError(f"the pairs of group {g} are not valid")
        if (np.diff(indptr) < 0).any():
            raise ValueError(f"the array 'pairs{g}.indptr' has values out of range")
        bits = content.array(f"pairs{g}.bits", "LQ", None, len(seconds) // 64 + 1)
        content.budget.take(2 * bits.nbytes)
        n_rows = N_BITS[bits.view(np.uint8)].reshape(*bits.shape, 8).sum(axis=2, dtype=np.int32)
        rank = np.cumsum(n_rows, axis=1, dtype=np.int32) - n_rows
        sizes = n_rows.sum(axis=1).tolist()
        for _, member, _, slot, start in slots[starts[g] : starts[g + 1]].tolist():
            if not 0 <= member < len(bits):
                raise ValueError("the array 'pair_slots' has values out of range")
            n_members = sizes[member]
            rows.check(
                "pair_slots", np.array([start, start + n_members - 1] * (n_members > 0)), slot
            )
        arrays |= {
            f"pairs{g}.indptr": indptr,
            f"pairs{g}.second": seconds,
            f"pairs{g}.bits": bits,
            f"pairs{g}.rank": rank,
        }
    return arrays | {"n_derived": n_known - n_columns}
