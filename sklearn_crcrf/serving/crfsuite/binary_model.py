"""The binary model files of CRFsuite.

A file is a header, the features with their weights, the names of labels and of attributes as quark
databases, and for each label and attribute the numbers of its features, from which CRFsuite reads
the weights. Everything is little-endian; offsets are counted from the beginning of the file.
"""

import io
import os
from typing import IO, Any, NamedTuple

import numpy as np

from .quarks import Quarks, write_quarks

MAGIC, KIND, VERSION = b"lCRF", b"FOMC", 100
HEADER = np.dtype(
    [
        ("magic", "S4"),
        ("size", "<u4"),
        ("kind", "S4"),
        *((name, "<u4") for name in ("version", "n_features", "n_labels", "n_attributes")),
        *((name, "<u4") for name in ("features", "labels", "attributes")),
        *((name, "<u4") for name in ("features_of_labels", "features_of_attributes")),
    ]
)
CHUNK = np.dtype([("magic", "S4"), ("size", "<u4"), ("n", "<u4")])
FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
STATE, TRANSITION = 0, 1
# CRFsuite reserves two more labels, for the beginning and the end of sequences.
N_MORE_LABELS = 2
LARGEST = 2**32


Entries = tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]
"""Weights, and their rows and columns, as a COO matrix takes them."""


class CRFsuiteModel(NamedTuple):
    """Labels, attributes and weights.

    Attributes
    ----------
    labels : list of n_labels str
    attributes : list of n_attributes str
    states : Entries, row = attribute, column = label
    transitions : Entries, row = previous label, column = label
    """

    labels: list[str]
    attributes: list[str]
    states: Entries
    transitions: Entries


def parse_crfsuite_model(data: bytes) -> CRFsuiteModel:
    """Read a binary model.

    Raises
    ------
    ValueError
        If it is not a complete model of this kind; the message says what is wrong.
    """
    parts = ModelParts(io.BytesIO(data))
    labels, attributes = parts.labels(), parts.attributes().strings()
    states, transitions = (
        (weight, (row.astype(np.int64), column.astype(np.int64)))
        for weight, (row, column) in parts.weights()
    )
    return CRFsuiteModel(labels, attributes, states, transitions)


class ModelParts:
    """The file of a binary model, of which only what is asked for is in memory.

    Errors are as in :func:`parse_crfsuite_model`.

    Attributes
    ----------
    header : tuple
        The fields of its header.
    n_labels, n_attributes : int
    """

    def __init__(self, file: IO[bytes]):
        self._file, self._size = file, file.seek(0, os.SEEK_END)
        data = self._read(0, HEADER.itemsize)
        if not data.startswith(MAGIC):
            raise ValueError("this is not a binary model of CRFsuite: it must begin with 'lCRF'")
        if len(data) < HEADER.itemsize:
            raise ValueError("the model is not complete: its header is cut off")
        self.header = np.frombuffer(data, HEADER)[0].item()
        _, size, kind, version, _, self.n_labels, self.n_attributes, *self._starts = self.header
        if kind != KIND or version != VERSION:
            raise ValueError(
                f"the model is of kind {kind.decode('latin-1')}, version {version}; only "
                f"{KIND.decode()}, version {VERSION}, is known"
            )
        if size > self._size:
            raise ValueError(f"the model is not complete: it has {self._size} of {size} bytes")
        self._size = size  # python-crfsuite may leave the end of a longer old file

    def labels(self) -> list[str]:
        """Return the labels, of which there is at least one."""
        labels = self._quarks(self._starts[1], self.n_labels, "labels").strings()
        if not labels:
            raise ValueError("the model has no labels")
        return labels

    def attributes(self) -> Quarks:
        """Return the attributes."""
        return self._quarks(self._starts[2], self.n_attributes, "attributes")

    def weights(self) -> tuple[Entries, Entries]:
        """Return the weights of states, and of transitions, row by row."""
        features = self._features()
        return self._entries(features, STATE), self._entries(features, TRANSITION)

    def _read(self, start: int, n_bytes: int) -> bytes:
        """Read some bytes, or all that there are."""
        self._file.seek(start)
        return self._file.read(max(0, min(n_bytes, self._size - start)))

    def _quarks(self, start: int, n: int, what: str) -> Quarks:
        size = int.from_bytes(self._read(start + 4, 4), "little")
        return Quarks(self._read(start, size), n, what)

    def _features(self) -> np.ndarray:
        damaged = ValueError("the features of the model are damaged")
        data = self._read(self._starts[0], CHUNK.itemsize)
        if len(data) < CHUNK.itemsize:
            raise damaged
        magic, _, n = np.frombuffer(data, CHUNK)[0].item()
        data = self._read(self._starts[0] + CHUNK.itemsize, n * FEATURE.itemsize)
        if magic != b"FEAT" or len(data) < n * FEATURE.itemsize:
            raise damaged
        features = np.frombuffer(data, FEATURE)
        if (features["kind"] > TRANSITION).any():
            raise damaged
        if not np.isfinite(features["weight"]).all():
            raise ValueError("a weight of the model is not finite")
        return features

    def _entries(self, features: np.ndarray, kind: int) -> Entries:
        """Return the weights of a kind; large arrays do not stay longer than they are needed."""
        chosen = features["kind"] == kind
        row, column = features["source"][chosen], features["label"][chosen]
        n_rows = self.n_attributes if kind == STATE else self.n_labels
        if len(row) and (row.max() >= n_rows or column.max() >= self.n_labels):
            raise ValueError(
                "a feature of the model is of a label or an attribute that has no name"
            )
        key = row.astype(np.int64)
        key *= self.n_labels
        key += column
        order: Any = slice(None)
        if not (key[:-1] < key[1:]).all():
            order = key.argsort()
            key = key[order]
            if not (key[:-1] < key[1:]).all():
                raise ValueError("a feature of the model is repeated")
        del key
        weight = np.asarray(features["weight"][chosen][order], dtype=float)
        return weight, (row[order], column[order])


def crfsuite_bytes(model: CRFsuiteModel) -> bytes:
    """Return the content of a binary model file, with the weights and attributes that are not zero.

    Raises
    ------
    ValueError
        If a name contains a null character, or the file is larger than 4 GiB.
    """
    states, transitions = (_sorted(part) for part in (model.states, model.transitions))
    used, source = np.unique(states["source"], return_inverse=True)
    states["source"] = source
    states["kind"], transitions["kind"] = STATE, TRANSITION
    features = np.concatenate([states, transitions])
    names = write_quarks(model.labels), write_quarks([model.attributes[k] for k in used])
    state_bounds = _bounds(states, len(used), 0)
    transition_bounds = _bounds(transitions, len(model.labels), len(states))
    first = HEADER.itemsize + CHUNK.itemsize + features.nbytes
    starts = np.cumsum([first, *map(len, names)])
    padding = -int(starts[2]) % 4
    start = int(starts[2]) + padding
    label_lists = _reference_lists(b"LFRF", transition_bounds, start, N_MORE_LABELS)
    attribute_lists = _reference_lists(b"AFRF", state_bounds, start + len(label_lists), 0)
    size = start + len(label_lists) + len(attribute_lists)
    if size >= LARGEST:
        raise ValueError(f"the model has {size} bytes; a model of CRFsuite has less than {LARGEST}")
    # CRFsuite leaves the number of features out of the header.
    places = (HEADER.itemsize, *starts[:2], start, start + len(label_lists))
    sizes = (0, len(model.labels), len(used))
    header = np.array([(MAGIC, size, KIND, VERSION, *sizes, *places)], dtype=HEADER).tobytes()
    chunk = _chunk(b"FEAT", CHUNK.itemsize + features.nbytes, len(features))
    parts = [header, chunk, features.tobytes(), *names, bytes(padding), label_lists]
    return b"".join([*parts, attribute_lists])


def _sorted(entries: Entries) -> np.ndarray:
    """Return the features of the weights that are not zero, row by row."""
    weight, (row, column) = entries
    order = np.lexsort((column, row))
    order = order[weight[order] != 0]
    features = np.zeros(len(order), dtype=FEATURE)
    features["source"], features["label"], features["weight"] = (
        part[order] for part in (row, column, weight)
    )
    return features


def _bounds(features: np.ndarray, n_sources: int, first: int) -> np.ndarray:
    """Return the number of the first feature of each source, and of what follows the last one."""
    return first + np.searchsorted(features["source"], np.arange(n_sources + 1))


def _reference_lists(magic: bytes, bounds: np.ndarray, start: int, n_more: int) -> bytes:
    """For each label or attribute its number of features, and their numbers, which are ranges."""
    counts = np.diff(bounds)
    first = start + CHUNK.itemsize + 4 * (len(counts) + n_more)
    places = first + 4 * (np.cumsum(counts + 1) - (counts + 1))
    numbers = np.insert(np.arange(bounds[0], bounds[-1]), bounds[:-1] - bounds[0], counts)
    content = np.concatenate([places, np.zeros(n_more, dtype=np.int64), numbers])
    size = CHUNK.itemsize + 4 * len(content)
    return _chunk(magic, size, len(counts) + n_more) + content.astype("<u4").tobytes()


def _chunk(magic: bytes, size: int, n: int) -> bytes:
    return np.array([(magic, size, n)], dtype=CHUNK).tobytes()
