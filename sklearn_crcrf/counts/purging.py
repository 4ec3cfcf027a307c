"""Counts without strings that were not counted, and without traces of what was forgotten."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from .counts import Counts, Template
from .links import EDGE_TYPE
from .observations import Encoder
from .parts import PartialCounts
from .renumbering import renumber
from .triangles import TRIANGLES

Given = Mapping[str, Sequence[str]]
"""Symbols of spelling features that are numbered first, and stay."""


class Receipt(NamedTuple):
    """What a model lost when it forgot data and was purged.

    A model file never contains it, since it tells what was forgotten.

    Parameters
    ----------
    strings : tuple of str
        The words, symbols, keys, and parts of words that the model does not know any more.
    n_rows : int
        The number of different events that were counted before, and are not any more.
    digest_before, digest_after : str
        :func:`digest` of the counts, before and after; hexadecimal.

    Examples
    --------
    >>> from sklearn_crcrf import HMM
    >>> X, y = [["the", "dog"], ["Rex"]], [["D", "N"], ["N"]]
    >>> hmm = HMM().fit(X, y).forget(X[1:], y[1:], purge=True)
    >>> hmm.receipt_.strings, hmm.receipt_.n_rows
    (('Rex',), 2)
    """

    strings: tuple[str, ...]
    n_rows: int
    digest_before: str
    digest_after: str

    def __repr__(self) -> str:
        removed = f"{len(self.strings)} strings and {self.n_rows} rows removed"
        return f"<Receipt: {removed}, {self.digest_before[:8]} to {self.digest_after[:8]}>"


def digest(counts: PartialCounts) -> str:
    """Return the SHA-256 of counts, and of the names of what was counted.

    It does not depend on the order in which data were counted. So the digest of a model that has
    forgotten data is the digest of counts without these data.

    Parameters
    ----------
    counts : PartialCounts

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.counts import count, digest
    >>> X, y = [["the", "dog"], ["Rex"]], [["D", "N"], ["N"]]
    >>> crf = EmpiricalCRF().fit(X, y).forget(X[1:], y[1:], purge=True)
    >>> digest(count(EmpiricalCRF(), X[:1], y[:1])) == crf.receipt_.digest_after
    True
    """
    found = sha256()

    def add(*values: object) -> None:
        found.update(repr(values).encode("utf-8", "surrogatepass"))

    if counts.plan is not None:
        counts = in_order_of_text(counts)
        add(counts.plan.names, counts.plan.links, counts.labels)
        named = {column for template in counts.counts for column, _ in template.symbols}
        for column in sorted(named.intersection(counts.encoder.columns)):
            add(column, counts.encoder.symbols(column))
        for template, (events, weights) in sorted(
            counts.counts.items(), key=lambda it: repr(it[0])
        ):
            add(template, events.shape)
            found.update(np.ascontiguousarray(events).tobytes())
            found.update(weights.tobytes())
    return found.hexdigest()


def counted_ids(counts: Counts, encoder: Encoder) -> dict[str, np.ndarray]:
    """Find the symbols that a table has, of each column but those of spelling features.

    Parameters
    ----------
    counts : Counts
    encoder : Encoder

    Returns
    -------
    dict of ndarray of int
        Ids in increasing order.
    """
    return {column: _counted(counts, encoder, column) for column in encoder.own_columns}


def without_uncounted(
    counts: Counts, encoder: Encoder, given: Given
) -> tuple[Encoder, dict[str, np.ndarray]]:
    """Leave out the symbols that no table has, such as words of data that were forgotten.

    Parameters
    ----------
    counts : Counts
    encoder : Encoder
    given : mapping from feature to list of str
        Symbols of spelling features that are numbered first, and stay.

    Returns
    -------
    encoder : Encoder
        The same one, if all of its symbols were counted.
    symbols : dict of ndarray of int32
        For each column the new id of each id, -1 of those left out; empty if there are none.
    """
    ids = counted_ids(counts, encoder)
    if all(len(known) == len(encoder.vocabulary(column)) for column, known in ids.items()):
        return encoder, {}
    return encoder.take(ids | _spelled(ids, encoder, given))


def in_order_of_text(counts: PartialCounts, given: Given = MappingProxyType({})) -> PartialCounts:
    """Return the counts without symbols that were not counted, and with ids in the order of text.

    In the order of first occurrence, the words of a forgotten sentence that occur elsewhere too
    would still be beside each other.
    """
    encoder, word = counts.encoder, counts.encoder.names[0]
    ids = counted_ids(counts.counts, encoder)
    ids |= _spelled(ids, encoder, given)
    n_given = {f"{word}:{feature}": len(symbols) for feature, symbols in given.items()}
    for column, known in ids.items():
        symbols, n = encoder.symbols(column), n_given.get(column, 0)
        others = sorted(known[n:].tolist(), key=symbols.__getitem__)
        ids[column] = np.append(known[:n], np.array(others, dtype=np.int64))
    encoder, new = encoder.take(ids)
    labels = np.arange(len(counts.label_ids), dtype=np.int32)
    tables = renumber(counts.counts, labels, new)
    return PartialCounts(counts.plan, encoder, counts.label_ids, tables)


def purged(
    before: PartialCounts, left: PartialCounts, given: Given
) -> tuple[PartialCounts, Receipt]:
    """Remove all that only the forgotten data had.

    Parameters
    ----------
    before : PartialCounts
        With the forgotten data.
    left : PartialCounts
        Without them.
    given : mapping from feature to list of str

    Returns
    -------
    left : PartialCounts
    receipt : Receipt
    """
    left = in_order_of_text(_without_lost_keys(left), given)
    strings = _strings(before) - _strings(left)
    n_rows = before.counts.n_events - left.counts.n_events
    return left, Receipt(tuple(sorted(strings)), n_rows, digest(before), digest(left))


def _strings(counts: PartialCounts) -> set[str]:
    """Collect all strings that come from observations."""
    encoder = counts.encoder
    symbols = (symbol for column in encoder.columns for symbol in encoder.symbols(column))
    return {*encoder.names, *symbols}


def _spelled(
    ids: Mapping[str, np.ndarray], encoder: Encoder, given: Given
) -> dict[str, np.ndarray]:
    """Find the spelling features of some words."""
    lexicon, word, spelled = encoder.lexicon, encoder.names[0], {}
    for feature, known in zip(lexicon.features, lexicon.spelling.T, strict=True):
        used = np.zeros(len(lexicon.vocabulary(feature)), dtype=bool)
        used[known[ids[word]]] = used[: len(given.get(feature, ()))] = True
        spelled[f"{word}:{feature}"] = np.flatnonzero(used)
    return spelled


def _counted(counts: Counts, encoder: Encoder, column: str) -> np.ndarray:
    """Find the ids of a column that occur in a table, in increasing order."""
    n = len(encoder.vocabulary(column))
    used = np.zeros(n + 1, dtype=bool)  # the last one stands for BOUNDARY, -1
    for template, (events, _) in counts.items():
        if used[:n].all():
            break
        for place, (name, _) in enumerate(template.symbols):
            if name == column:
                used[events[:, place]] = True
            elif template == TRIANGLES and column == EDGE_TYPE:
                used[events[:, place] // 2 - 1] = True
    return np.flatnonzero(used[:n])


def _without_lost_keys(counts: PartialCounts) -> PartialCounts:
    """Leave out the columns of keys that no token has any more."""
    plan = counts.plan
    keys = plan.names[1:] if plan.tabulator.has_keys else ()
    lost = {key for key in keys if _is_lost(counts, key)}
    tables = {
        template: table
        for template, table in counts.counts.items()
        if lost.isdisjoint(column for column, _ in template.symbols)
    }
    plan = plan.without(lost)
    return PartialCounts(plan, counts.encoder.following(plan), counts.label_ids, Counts(tables))


def _is_lost(counts: PartialCounts, key: str) -> bool:
    """Say whether a key was counted, but no token has it."""
    symbols = counts.encoder.symbols(key)
    ids = _counted(counts.counts, counts.encoder, key).tolist()
    return Template(((key, 0),)) in counts.counts and all(symbols[i] == "" for i in ids)
