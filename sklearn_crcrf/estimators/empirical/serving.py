"""Taggers of models that are trained by counting."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...counts import BOUNDARY, Template
from ...counts.lexicon import UNKNOWN
from ...counts.rows import KeyIndex
from ...counts.tabulator import MOST_KEYS
from ...data.csr import csr_arrays
from ...serving import Tagger
from ...serving.content import Content, pack_rows, string_arrays
from ...serving.counted import FEATURES
from ...utils.spelling import SIMPLE
from .model import word_kinds_of
from .product_spelling import ProductSpelling
from .smoothed import SmoothedModel

__all__ = ["counted_tagger_of", "tagger_of_words"]

# Number of words whose sums over the first slots are kept.
N_COMMON = 2000


def counted_tagger_of(estimator: Any, columns: Mapping[str, list] | None = None) -> Tagger:
    """A tagger of a fitted estimator.

    Parameters
    ----------
    estimator : EmpiricalCRF
    columns : mapping, optional
        The settings "input" and "steps" of the tagger of a pipeline, see
        :func:`~sklearn_crcrf.serving.columns.reader_of`.

    Raises
    ------
    ValueError
        If X had numbers or no sequences, zeros, spelling or segments are not the defaults, or an
        expert has more than three symbols.
    """
    model, encoder = estimator.model_, estimator.encoder_
    _check_kind(estimator)
    places = _Places(model, encoder.names)
    shared = dict(zip(("begin", "end"), model.boundaries(), strict=True))
    of_edges = float(model._link_exponents()[1])
    settings = {
        "kind": "counted",
        "labels": estimator.classes_.tolist(),
        "decoding": "viterbi",
        "first_word_row": int(model.state.starts[1]),
        "reach": places.reach,
        "edge_exponent": of_edges,
    }
    settings["columns"] = list(encoder.names)
    if columns is None and encoder.names != ("token",):
        columns = {"input": list(estimator.tabulator_.columns or encoder.names), "steps": []}
    settings |= columns or {}
    settings["n_edge_slots"] = len(model._edges)
    arrays = {
        **_state_weights(model),
        **_edge_weights(model),
        "transition": model.common_transitions(),
        **shared,
        "exponents": model.state.exponents,
        **_words(model, encoder, places),
        **places.arrays(),
    }
    if estimator._run_rates:
        arrays |= estimator._run_rates[0].by_pairs()
    if len(estimator._run_rates) > 1:
        _, *parts = estimator._run_rates[1].table()
        names = ("contexts", "starts", "last", "score", "unseen")
        arrays |= {f"fourgrams.{name}": part for name, part in zip(names, parts, strict=True)}
    copied = {name: np.array(array, order="C") for name, array in arrays.items()}
    return Tagger(Content(settings, copied))


def tagger_of_words(estimator: Any) -> Tagger | None:
    """The tagger that predicts token strings in place of the general way; None if there is none.

    To make it takes about as long as to estimate, so a model that predicts once does without.
    """
    model, encoder = estimator.model_, estimator.encoder_
    if not isinstance(model, SmoothedModel) or encoder.names != ("token",):
        return None
    if model.word_tagger is None and model.has_predicted and model.may_have_tagger:
        try:
            model.word_tagger = counted_tagger_of(estimator)
        except ValueError:
            model.may_have_tagger = False
    model.has_predicted = True
    return model.word_tagger


def _check_kind(estimator: Any) -> None:
    encoder, model, tabulator = estimator.encoder_, estimator.model_, estimator.tabulator_
    reasons = {
        'zeros="smoothed"': isinstance(model, SmoothedModel),
        'spelling="product"': isinstance(model.spelling, ProductSpelling),
        "segments=None": model.segments is None,
        "columns of strings": tabulator.has_words and not tabulator.has_numbers,
        f"at most {MOST_KEYS} keys": not tabulator.has_bag,
        "sequences": encoder.links == "next" and encoder.edge_types is None,
    }
    missing = [name for name, holds in reasons.items() if not holds]
    if missing:
        raise ValueError(f"tagger() needs {' and '.join(missing)}")


def _state_weights(model: SmoothedModel) -> dict[str, np.ndarray]:
    indptr, columns, data = csr_arrays(model.state.coef)
    dtype = np.uint8 if model.statistics.n_labels <= 2**8 else np.uint16
    return pack_rows("state", indptr, columns.astype(dtype), data)


def _edge_weights(model: SmoothedModel) -> dict[str, np.ndarray]:
    """The weights of edges; the current label is in the upper half of a column."""
    coef = model.edge_coef.copy()
    coef.sort_indices()
    indptr, columns, data = csr_arrays(coef)
    current, previous = np.divmod(columns, model.statistics.n_labels)
    is_short = model.statistics.n_labels <= 2**8
    bits, dtype = (8, np.uint16) if is_short else (16, np.int32)
    return pack_rows("edge", indptr, (current << bits | previous).astype(dtype), data)


def _words(model: SmoothedModel, encoder, places: "_Places") -> dict[str, np.ndarray]:
    """The words, and their spelling."""
    lexicon, n_seen = encoder.lexicon, model.statistics.n_seen
    symbols = [lexicon.symbols(feature) for feature in FEATURES]
    arrays = string_arrays("words", lexicon.words.symbols)
    symbol_rows = []
    for j, (feature, known) in enumerate(zip(FEATURES, symbols, strict=True)):
        arrays |= string_arrays(feature, known)
        ids = np.full((len(known), len(FEATURES)), UNKNOWN)
        ids[:, j] = np.arange(len(known))
        symbol_rows.append(model.spelling.rows(ids)[:, j + 1])
    flags = np.full(2 ** len(SIMPLE), UNKNOWN, dtype=np.int32)
    for i, symbol in enumerate(symbols[-1]):
        held = [] if symbol == "none" else symbol.split("+")
        flags[sum(1 << SIMPLE.index(name) for name in held)] = i
    for k, name in enumerate(encoder.names[1:], 1):
        arrays |= string_arrays(f"column{k}", encoder.symbols(name))
    common = np.argsort(-n_seen, kind="stable")[:N_COMMON]
    return arrays | {
        "symbol_rows": np.concatenate(symbol_rows).astype(np.int32),
        "spelling_rows": model.spelling.rows(lexicon.spelling)[:, 1:],
        "kinds": word_kinds_of(n_seen),
        "flags": flags,
        "common": np.sort(common[n_seen[common] > 0]).astype(np.int32),
        "context_features": np.array(places.features, dtype=np.int32),
        "context_ids": lexicon.spelling[:, places.features],
    }


class _Places:
    """Where the rows of contexts and of edges are looked up.

    Parameters
    ----------
    model : SmoothedModel
    names : sequence of str
        The columns, words first.
    """

    def __init__(self, model: SmoothedModel, names: Sequence[str]):
        n_first = len(model.spelling.names) + 1
        n_slots = model.state.exponents.shape[1]
        contexts = zip(model._contexts, model.state.starts[2:], strict=True)
        edges = zip(model._edges, model._edge_starts, strict=True)
        found = [(n_first + k, *known, start) for k, (known, start) in enumerate(contexts)]
        found += [(n_slots + k, *known, start) for k, (known, start) in enumerate(edges)]
        self._names = names
        used = {column for _, template, *_ in found for column, _ in template.symbols}
        self.features = sorted(map(self._feature, used - {*names}))
        self.n_columns = len(names) + len(self.features)
        self._singles: list[tuple] = []
        self._found: list[tuple] = []
        self.reach = 0
        for slot, template, index, start in found:
            self._add(slot, template, index, int(start))

    def _add(self, slot: int, template: Template, index: KeyIndex, start: int) -> None:
        places = [(self._column(column), offset) for column, offset in template.symbols]
        self.reach = max(self.reach, *(abs(offset) for _, offset in places))
        if len(places) == 1:
            self._singles.append((slot, *places[0], index, start))
        elif len(places) <= 3:
            self._found.append((slot, places, index.keys, start))
        else:
            raise ValueError("tagger() needs experts of at most three symbols")

    def _feature(self, column: str) -> int:
        """The number of a spelling feature."""
        return FEATURES.index(column.removeprefix(f"{self._names[0]}:"))

    def _column(self, name: str) -> int:
        """The number of a column: 0 of words, then of the spelling features in use, then others."""
        if name == self._names[0]:
            return 0
        if name in self._names:
            return len(self.features) + self._names.index(name)
        return self.features.index(self._feature(name)) + 1

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of all look-ups."""
        singles, tables = [], []
        for k, (slot, column, offset, index, start) in enumerate(self._singles):
            singles.append((k, column, offset + self.reach, slot))
            tables.append(_single_rows(index, start))
        groups, pairs, arrays = self._groups()
        return arrays | {
            "single_slots": np.array(singles, dtype=np.int32).reshape(-1, 4),
            "single_starts": np.cumsum([0, *map(len, tables)]),
            "single_rows": np.concatenate([*tables, np.empty(0, dtype=np.int32)]),
            "groups": np.array(groups, dtype=np.int32).reshape(-1, 4),
            "pair_slots": np.array(pairs, dtype=np.int32).reshape(-1, 5),
        }

    def _groups(self) -> tuple[list[tuple], list[tuple], dict[str, np.ndarray]]:
        """The groups of pairs with one distance, their slots, and their tables.

        Three symbols are a pair of the number of a pair, and the third symbol.
        """
        members: dict[tuple, list[tuple]] = {}
        triples: dict[tuple, list[tuple]] = {}
        for slot, places, keys, start in self._found:
            (first, offset), (second, other) = places[:2]
            key = first, second, other - offset
            if len(places) == 2:
                members.setdefault(key, []).append((slot, offset, keys, start))
            else:
                members.setdefault(key, []).append((None, offset, keys[:, :2], 0))
                triples.setdefault(key, []).append((slot, offset, places[2], keys, start))
        groups: list[tuple] = []
        slots: list[tuple] = []
        arrays: dict[str, np.ndarray] = {}
        n_columns = self.n_columns

        def add(key: tuple, found: list[tuple], derived: int) -> np.ndarray:
            g = len(groups)
            groups.append((*key, derived))
            kept = [member for member in found if member[0] is not None]
            slots.extend((g, k, m[1] + self.reach, m[0], m[3]) for k, m in enumerate(kept))
            every, tables = _joined_pairs([m[2] for m in found], [m[2] for m in kept])
            arrays.update({f"pairs{g}.{name}": table for name, table in tables.items()})
            return every

        later = []
        for key, found in members.items():
            derived = n_columns if key in triples else -1
            n_columns += key in triples
            every = add(key, found, derived)
            later += [(derived, every, *triple) for triple in triples.get(key, ())]
        for derived, every, slot, offset, (third, place), keys, start in later:
            pair = np.searchsorted(every, _packed(keys[:, :2]))
            of_three = np.column_stack([pair, keys[:, 2]]).astype(np.int32)
            add((derived, third, place - offset), [(slot, offset, of_three, start)], -1)
        return groups, slots, arrays


def _single_rows(index: KeyIndex, start: int) -> np.ndarray:
    """The row of each id, from the outside of a sequence on; -1 for none."""
    ids = index.keys[:, 0]
    rows = np.full(int(ids.max(initial=BOUNDARY)) - BOUNDARY + 1, -1, dtype=np.int32)
    rows[ids - BOUNDARY] = start + np.arange(len(ids))
    return rows


def _packed(keys: np.ndarray) -> np.ndarray:
    """Pairs of ids as one number each, in the same order."""
    return (keys[:, 0].astype(np.int64) - BOUNDARY) << 32 | (keys[:, 1] - BOUNDARY)


def _joined_pairs(
    all_keys: list[np.ndarray], members: list[np.ndarray]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """One table of several lists of pairs in rising order, and which pairs each member has."""
    packed = [*map(_packed, all_keys)]
    every = packed[0]
    if len(packed) > 1:
        # The parts rise, so that a stable sort merges them.
        every = np.sort(np.concatenate(packed), kind="stable")
        every = every[np.append(True, every[1:] != every[:-1])[: len(every)]]
    has = np.zeros((len(members), len(every) // 64 * 64 + 64), dtype=np.uint8)
    for out, keys in zip(has, members, strict=True):
        has_all = len(keys) == len(every)
        out[slice(len(keys)) if has_all else np.searchsorted(every, _packed(keys))] = 1
    bits = np.packbits(has, axis=1, bitorder="little").view(np.uint64)
    first = every >> 32
    n_first = np.bincount(first, minlength=int(first.max(initial=-1)) + 1)
    indptr = np.append(0, np.cumsum(n_first)).astype(np.int32)
    second = ((every & 0xFFFFFFFF) + BOUNDARY).astype(np.int32)
    return every, {"indptr": indptr, "second": second, "bits": bits}
