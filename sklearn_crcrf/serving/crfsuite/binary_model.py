"""The binary model files of CRFsuite.

A file is a header, the features with their weights, the names of labels and of attributes as quark
databases, and for each label and attribute the numbers of its features, from which CRFsuite reads
the weights. Everything is little-endian; offsets are counted from the beginning of the file.
"""

from typing import NamedTuple

import numpy as np

from .quarks import read_quarks, write_quarks

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
    if not data.startswith(MAGIC):
        raise ValueError("this is not a binary model of CRFsuite: it must begin with 'lCRF'")
    if len(data) < HEADER.itemsize:
        raise ValueError("the model is not complete: its header is cut off")
    header = np.frombuffer(data, HEADER, 1)[0]
    if header["kind"] != KIND or header["version"] != VERSION:
        raise ValueError(
            f"the model is of kind {header['kind'].decode('latin-1')}, version "
            f"{header['version']}; only {KIND.decode()}, version {VERSION}, is known"
        )
    if header["size"] > len(data):
        raise ValueError(f"the model is not complete: it has {len(data)} of {header['size']} bytes")
    data = data[: int(header["size"])]  # python-crfsuite may leave the end of a longer old file
    n_labels, n_attributes = int(header["n_labels"]), int(header["n_attributes"])
    labels = read_quarks(data[int(header["labels"]) :], n_labels, "labels")
    attributes = read_quarks(data[int(header["attributes"]) :], n_attributes, "attributes")
    if not labels:
        raise ValueError("the model has no labels")
    for names, what in ((labels, "labels"), (attributes, "attributes")):
        if len(set(names)) < len(names):
            raise ValueError(f"names of {what} are repeated")
    features = _features(data, int(header["features"]))
    return CRFsuiteModel(
        labels,
        attributes,
        _weights(features, STATE, (n_attributes, n_labels)),
        _weights(features, TRANSITION, (n_labels, n_labels)),
    )


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


def _features(data: bytes, start: int) -> np.ndarray:
    """Return the features, each with its weight."""
    damaged = ValueError("the features of the model are damaged")
    if start + CHUNK.itemsize > len(data):
        raise damaged
    chunk = np.frombuffer(data, CHUNK, 1, start)[0]
    start, n = start + CHUNK.itemsize, int(chunk["n"])
    if chunk["magic"] != b"FEAT" or start + n * FEATURE.itemsize > len(data):
        raise damaged
    features = np.frombuffer(data, FEATURE, n, start)
    if (features["kind"] > TRANSITION).any():
        raise damaged
    if not np.isfinite(features["weight"]).all():
        raise ValueError("a weight of the model is not finite")
    return features


def _weights(features: np.ndarray, kind: int, shape: tuple[int, int]) -> Entries:
    chosen = features[features["kind"] == kind]
    row, column = (chosen[name].astype(np.int64) for name in ("source", "label"))
    if len(chosen) and (row.max() >= shape[0] or column.max() >= shape[1]):
        raise ValueError("a feature of the model is of a label or an attribute that has no name")
    if len(np.unique(row * shape[1] + column)) < len(chosen):
        raise ValueError("a feature of the model is repeated")
    return chosen["weight"].astype(float), (row, column)


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
