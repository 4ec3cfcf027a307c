"""Taggers of models that are trained by counting."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs

from ...base.batches import Batch
from ...counts import BOUNDARY, Template
from ...counts.lexicon import UNKNOWN
from ...counts.rows import WEAKEST, label_counts, pair_counts, place_rows
from ...counts.tabulator import MOST_KEYS
from ...data.csr import csr_arrays
from ...data.graphs import GraphArray
from ...data.ragged import SequenceArray
from ...serving import Tagger
from ...serving.content import Content, pack_rows, string_arrays
from ...serving.counted import FEATURES, MOST_EDGE_SLOTS
from ...structures import Scores, TokenTransitions
from ...utils.spelling import SIMPLE
from .experts import given_templates
from .model import SELDOM_SEEN, word_kinds_of
from .product_spelling import EXPERTS, EXPONENTS, RARE, ProductSpelling, rare_counts
from .smoothed import SmoothedModel
from .smoothing import CONTEXT_STRENGTH, WORD_STRENGTH
from .transitions import linked_labels

# Number of words whose sums over the first slots are kept.
N_COMMON = 2000
# Chains of higher order: of more sequences than this, the general way, which takes all at once
# through each kernel, is faster. Both find the same labels.
FEW = 16


class PreparedWords(NamedTuple):
    """Sequences of words as they are, and the tagger whose kernel computes their scores.

    Parameters
    ----------
    tagger : Tagger
    sequences : list of list of str
    """

    tagger: Tagger
    sequences: list[list[str]]

    @classmethod
    def of(cls, estimator: Any, X: SequenceArray) -> "PreparedWords | None":
        """Return the words of X; None if X has others than strings, or the model has no tagger.

        Parameters
        ----------
        estimator : EmpiricalCRF
            Fitted, and a copy: another thread may go on training the original.
        X : SequenceArray
        """
        if X.kind != "words" or isinstance(X, GraphArray):
            return None
        words, tagger = X.data.tolist(), _tagger_of_words(estimator)
        if tagger is None or not {*map(type, words)} <= {str}:
            return None  # the general way says what is wrong
        return cls(tagger, [words[start:stop] for start, stop in pairwise(X.offsets.tolist())])

    def scores(self, batch: Batch) -> Scores:
        """Return the scores of a batch, to the last bit as in the general way."""
        own = self.sequences[batch.first : batch.first + batch.structure.n_units]
        state, transition, begin, end, edges = self.tagger.scores_of_many(own)
        return Scores(state, transition, begin, end, TokenTransitions(*edges))


def labels_of_words(estimator: Any, X: Any) -> Any:
    """Return the labels of sequences of words; None if the kernel of taggers does not apply.

    Parameters
    ----------
    estimator : EmpiricalCRF
        Fitted, and a copy: another thread may go on training the original.
    X : as in :meth:`EmpiricalCRF.fit`

    Returns
    -------
    labels in the layout of X, or None
    """
    are_few = hasattr(X, "__len__") and not sp.issparse(X) and len(X) <= FEW
    if (estimator._run_rates and not are_few) or _tagger_of_words(estimator) is None:
        return None
    sequences = estimator._check_X(X)
    words = PreparedWords.of(estimator, sequences.X)
    if words is None:
        return None
    tagger, units = words
    n_threads = effective_n_jobs(estimator.n_jobs)
    size = max(-(-len(units) // n_threads), 1)
    try:
        if size >= len(units):
            ids = tagger.label_ids(units)
        else:
            shares = [units[start : start + size] for start in range(0, len(units), size)]
            parallel = Parallel(n_jobs=n_threads, prefer="threads")
            ids = np.concatenate(parallel(delayed(tagger.label_ids)(share) for share in shares))
    except ValueError:
        return None  # the general way says what is wrong
    return sequences.mirror(estimator.classes_[ids])


def counted_tagger_of(
    estimator: Any, columns: Mapping[str, list] | None = None, counts: bool = False
) -> Tagger:
    """Return a tagger of a fitted estimator.

    Parameters
    ----------
    estimator : EmpiricalCRF
    columns : mapping, optional
        The settings "input" and "steps" of the tagger of a pipeline, see
        :func:`~sklearn_crcrf.serving.columns.reader_of`.
    counts : bool
        Whether its content has the counts, of which weights can be made again.

    Raises
    ------
    ValueError
        If X had numbers or no sequences, zeros, spelling or segments are not the defaults, an
        expert has more than three symbols, or there are counts that a tagger cannot hold.
    """
    model, encoder = estimator.model_, estimator.encoder_
    _check_kind(estimator)
    places = _Places(model, encoder.names)
    if columns is None and encoder.names != ("token",):
        columns = {"input": list(estimator.tabulator_.columns or encoder.names), "steps": []}
    settings = {
        "kind": "counted",
        "labels": estimator.classes_.tolist(),
        "decoding": "viterbi",
        "first_word_row": int(model.state.starts[1]),
        "reach": places.reach,
        "edge_exponent": float(model._link_exponents()[1]),
        "columns": list(encoder.names),
        **(columns or {}),
        "n_edge_slots": len(model._edges),
    }
    begin, end = model.boundaries()
    indptr, label, data = csr_arrays(model.state.coef)
    dtype = np.uint8 if model.statistics.n_labels <= 2**8 else np.uint16
    arrays = {
        **pack_rows("state", indptr, label.astype(dtype), data),
        **_edge_weights(model),
        "transition": model.common_transitions(),
        "begin": begin,
        "end": end,
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
    if counts:
        learning, counted = _counts_of(estimator)
        settings, arrays = {**settings, "learning": learning}, arrays | counted
    copied = {name: np.array(array, order="C") for name, array in arrays.items()}
    return Tagger(Content(settings, copied))


def _tagger_of_words(estimator: Any) -> Tagger | None:
    """Make the tagger that predicts token strings, once; None if there is none."""
    model = estimator.model_
    if not isinstance(model, SmoothedModel) or estimator.encoder_.names != ("token",):
        return None
    if model.word_tagger is None:
        try:
            model.word_tagger = counted_tagger_of(estimator)
        except ValueError:
            model.word_tagger = False
    return model.word_tagger or None


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
    if missing := [name for name, holds in reasons.items() if not holds]:
        raise ValueError(f"tagger() needs {' and '.join(missing)}")
    if (n := len(model._edges)) > MOST_EDGE_SLOTS:
        raise ValueError(
            f"tagger() needs at most {MOST_EDGE_SLOTS} kinds of rates of two labels, but the "
            f"columns of X make {n}: leave some out, or name experts, which leave those of words"
        )


def _edge_weights(model: SmoothedModel) -> dict[str, np.ndarray]:
    """Pack the weights of edges; the current label is in the upper half of a column."""
    coef = model.edge_coef.copy()
    coef.sort_indices()
    indptr, columns, data = csr_arrays(coef)
    current, previous = np.divmod(columns, model.statistics.n_labels)
    is_short = model.statistics.n_labels <= 2**8
    bits, dtype = (8, np.uint16) if is_short else (16, np.int32)
    return pack_rows("edge", indptr, (current << bits | previous).astype(dtype), data)


def _counts_of(estimator: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what weights were made of: how, as settings, and the counts of their entries.

    A slot has the strength of its prior, and the slot whose estimate is the prior, -1 for none; an
    edge its strength and exponent, and the slots that estimate its labels alone. Spelling features
    that only do this are slots after those of edges.
    """
    model, word = estimator.model_, estimator.encoder_.names[0]
    stats, n_labels = model.statistics, model.statistics.n_labels
    tables = {Template(((word, 0),)): len(EXPERTS) + 1}
    tables |= {template: len(EXPERTS) + 2 + k for k, (template, _) in enumerate(model._contexts)}
    edges = model._edge_experts()
    given = [t for t in given_templates(edges) if t not in tables]
    tables |= {
        t: len(model._contexts) + len(EXPERTS) + 2 + len(edges) + k for k, t in enumerate(given)
    }
    spelled = {f"{word}:{feature}": k for k, feature in enumerate(FEATURES)}
    of_spelling = all(t.symbols[0] in {(column, 0) for column in spelled} for t in given)
    if not of_spelling or estimator.min_count * estimator.order > 1:
        raise ValueError(
            "tagger(counts=True) needs the expert 'token[+1]', min_count=1 and order=1"
        )
    names = [expert.feature for expert in EXPERTS]
    slots = [[1.0, names.index(e.shorter) + 1 if e.shorter else -1] for e in EXPERTS]
    broader = {expert.template: expert.broader for expert in estimator._experts().contexts}
    above = [tables.get(broader[template], -1) for template, _ in model._contexts]
    transition, *_ = model._link_exponents()
    learning = {
        "strength": max(estimator._strength, WEAKEST),
        "slots": [[0.0, -1], *slots, [WORD_STRENGTH, -1], *([CONTEXT_STRENGTH, k] for k in above)],
        "edges": [
            [e.strength, e.exponent, *(tables[template] for template, _ in (e.before, e.here))]
            for e in edges
        ],
        "given": [[CONTEXT_STRENGTH, spelled[t.symbols[0][0]]] for t in given],
        "spelling": EXPONENTS.tolist(),
        "rare": RARE,
        "seldom": SELDOM_SEEN,
        "transition": transition,
        "boundary": model.exponents["boundary"],
    }
    labelled = [rare_counts(stats)[0].weights, stats.by_word.data]
    labelled += [stats.counts[template].weights for template, _ in model._contexts]
    labelled.insert(0, np.zeros(np.diff(model.state.coef.indptr[:2])))  # of the label alone
    pairs = [pair_counts(stats.counts[e.template], n_labels)[1].data for e in edges]
    ends = stats.counts[Template(((word, 1),))]
    linked = linked_labels(stats.counts[Template(((word, 0),), (-1, 0))], ends, n_labels)
    counts = {"state.counts": np.concatenate(labelled), "edge.counts": np.concatenate(pairs)}
    for k, template in enumerate(given):
        index, rows = label_counts(stats.counts[template], n_labels)
        n_symbols = len(estimator.encoder_.symbols(template.symbols[0][0]))
        counts[f"given{k}.counts"] = place_rows(rows, index, n_symbols).csr().toarray()
    counts |= dict(zip(("pairs.counts", "first.counts", "last.counts"), linked, strict=True))
    return learning, {name: _in_few_bytes(array) for name, array in counts.items()}


def _in_few_bytes(counts: np.ndarray) -> np.ndarray:
    """Return the counts as integers of the shortest type, if they are whole."""
    whole = np.rint(counts)
    return (
        whole.astype(np.min_scalar_type(int(whole.max(initial=0))))
        if (np.array_equal(whole, counts))
        else counts
    )


def _words(model: SmoothedModel, encoder, places: "_Places") -> dict[str, np.ndarray]:
    """Pack the words, and their spelling."""
    lexicon, n_seen = encoder.lexicon, model.statistics.n_seen
    symbols = [lexicon.vocabulary(feature).symbols for feature in FEATURES]
    arrays = string_arrays("words", lexicon.words.symbols)
    symbol_rows = []
    for j, (feature, known) in enumerate(zip(FEATURES, symbols, strict=True)):
        arrays |= string_arrays(feature, known)
        symbol_rows.append(model.spelling.symbol_rows(j, len(known)))
    flags = np.full(2 ** len(SIMPLE), UNKNOWN, dtype=np.int32)
    for i, symbol in enumerate(symbols[-1]):
        held = [] if symbol == "none" else symbol.split("+")
        flags[sum(1 << SIMPLE.index(name) for name in held)] = i
    for k, name in enumerate(encoder.names[1:], 1):
        arrays |= string_arrays(f"column{k}", encoder.symbols(name))
    common = np.argsort(-n_seen, kind="stable")[:N_COMMON]
    return arrays | {
        "symbol_rows": np.concatenate(symbol_rows),
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
        self._found: list[tuple] = []
        self.reach = 0
        for slot, template, index, start in found:
            places = [(self._column(column), offset) for column, offset in template.symbols]
            if len(places) > 3:
                raise ValueError("tagger() needs experts of at most three symbols")
            self.reach = max(self.reach, *(abs(offset) for _, offset in places))
            self._found.append((slot, places, index.keys, int(start)))

    def _feature(self, column: str) -> int:
        """Number a spelling feature."""
        return FEATURES.index(column.removeprefix(f"{self._names[0]}:"))

    def _column(self, name: str) -> int:
        """Number a column: 0 for words, then the spelling features in use, then others."""
        if name == self._names[0]:
            return 0
        if name in self._names:
            return len(self.features) + self._names.index(name)
        return self.features.index(self._feature(name)) + 1

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of all look-ups."""
        singles: list[tuple] = []
        tables = [np.empty(0, dtype=np.int32)]
        for slot, places, keys, start in self._found:
            if len(places) == 1:
                (column, offset), ids = places[0], keys[:, 0] - BOUNDARY
                singles.append((len(singles), column, offset + self.reach, slot))
                rows = np.full(int(ids.max(initial=0)) + 1, -1, dtype=np.int32)
                rows[ids] = start + np.arange(len(ids))  # -1 of other ids
                tables.append(rows)
        groups, pairs, arrays = self._groups()
        return arrays | {
            "single_slots": np.array(singles, dtype=np.int32).reshape(-1, 4),
            "single_starts": np.cumsum([*map(len, tables)]),
            "single_rows": np.concatenate(tables),
            "groups": np.array(groups, dtype=np.int32).reshape(-1, 4),
            "pair_slots": np.array(pairs, dtype=np.int32).reshape(-1, 5),
        }

    def _groups(self) -> tuple[list[tuple], list[tuple], dict[str, np.ndarray]]:
        """Group pairs with one distance; return the groups, their slots, and their tables.

        Three symbols are a pair of the number of a pair, and the third symbol.
        """
        members: dict[tuple, list[tuple]] = {}
        triples: dict[tuple, list[tuple]] = {}
        for slot, places, keys, start in self._found:
            if len(places) > 1:
                (first, offset), (second, other), *third = places
                key = first, second, other - offset
                pair = (None, offset, keys[:, :2], 0) if third else (slot, offset, keys, start)
                members.setdefault(key, []).append(pair)
                triples.setdefault(key, []).extend((slot, offset, *t, keys, start) for t in third)
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
            derived = n_columns if triples[key] else -1
            n_columns += bool(triples[key])
            every = add(key, found, derived)
            later += [(derived, every, *triple) for triple in triples[key]]
        for derived, every, slot, offset, third, place, keys, start in later:
            of_two = np.searchsorted(every, _packed(keys[:, :2]))
            of_three = np.column_stack([of_two, keys[:, 2]]).astype(np.int32)
            add((derived, third, place - offset), [(slot, offset, of_three, start)], -1)
        return groups, slots, arrays


def _packed(keys: np.ndarray) -> np.ndarray:
    """Pack pairs of ids into one number each, in the same order."""
    return (keys[:, 0].astype(np.int64) - BOUNDARY) << 32 | (keys[:, 1] - BOUNDARY)


def _joined_pairs(
    all_keys: list[np.ndarray], members: list[np.ndarray]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Join several lists of pairs in rising order, and mark which pairs each member has."""
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
