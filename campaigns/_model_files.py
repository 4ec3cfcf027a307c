"""Model files: small models of every kind, damaged and forged, then loaded and asked."""

import io
import json
import os
import re
import warnings
import zipfile
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np
from _answers import check_answers
from _campaign import Campaign, Wrong, show
from _forgeries import forge
from _guard import guarded
from _models import examples, make, trainers, transformers
from _mutations import mutated_bytes
from _structures import mutated_array
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import HMM
from sklearn_crcrf.model_files import load_model, save_model

__all__ = ["CAMPAIGN", "Stored", "models", "mutated", "prepare", "stored_models", "weights"]

N_SEQUENCES = 3
SCHEMA = "schema.json"
DATE = (2000, 1, 1, 0, 0, 0)


class Stored(NamedTuple):
    """A model file: its bytes, its members, and some input for the model."""

    name: str
    data: bytes
    members: dict[str, bytes]
    X: list


models: list[Stored] = []
weights: list[float] = []  # so that all kinds take about the same time


def prepare() -> None:
    """Store models of all kinds, once for all campaigns that need them."""
    if not models:
        models[:] = stored_models()
        weights[:] = [1 / len(model.data) for model in models]


def stored_models() -> Iterator[Stored]:
    """A file for every trainer, and for a pipeline with every transformer."""
    for trainer in trainers(N_SEQUENCES):
        yield _stored(trainer.name, trainer.fit(), trainer.X)
    kinds, y = examples(N_SEQUENCES)
    for public in transformers():
        pipeline = make_pipeline(make(public), HMM())
        yield _stored(f"{public.__name__}, HMM", pipeline.fit(kinds["words"], y), kinds["words"])


def _stored(name: str, estimator: Any, X: list) -> Stored:
    save_model(estimator, "model.skops", ["word", "label"])
    with zipfile.ZipFile("model.skops") as file:
        members = {member: file.read(member) for member in file.namelist()}
    os.remove("model.skops")
    members = {name: _rewritten(data) for name, data in _renumbered(members).items()}
    return Stored(name, _packed(members, zipfile.ZIP_DEFLATED), members, X[:2])


def _renumbered(members: dict[str, bytes]) -> dict[str, bytes]:
    """The file with canonical names of members and objects, which otherwise differ each time."""
    schema = json.dumps(json.loads(members[SCHEMA]))
    ids, names = {}, {SCHEMA: SCHEMA}

    def number(match: re.Match) -> str:
        return str(ids.setdefault(match[0], 1000 + len(ids)))

    def rename(match: re.Match) -> str:
        return names.setdefault(match[0], f"{len(names)}{os.path.splitext(match[0])[1]}")

    schema = re.sub(r"(?<=\"__id__\": )\d+", number, schema)
    schema = re.sub(r"(?<=\"file\": \")[^\"]*", rename, schema)
    renamed = {name: members[old] for old, name in names.items()}
    return {**renamed, SCHEMA: schema.encode()}


def _rewritten(data: bytes) -> bytes:
    """The same array, as it is written here."""
    if not data.startswith(b"\x93NUMPY"):
        return data
    return _npy(np.load(io.BytesIO(data), allow_pickle=False))


def _npy(array: np.ndarray) -> bytes:
    """The file of an array, with zeros between the fields of its entries.

    ``numpy.save`` would write arbitrary memory there.
    """
    file = io.BytesIO()
    if array.dtype.names is None:
        np.save(file, array, allow_pickle=False)
        return file.getvalue()
    data = np.zeros(array.size * array.dtype.itemsize, dtype=np.uint8)
    filled = data.view(array.dtype).reshape(array.shape)
    for name in array.dtype.names:
        filled[name] = array[name]
    header = np.lib.format.header_data_from_array_1_0(filled)
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + data.tobytes()


def _packed(members: dict[str, bytes], compression: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, DATE), data, compression)
    return file.getvalue()


def mutated(rng: Random, model: Stored) -> bytes:
    """The file with changes of its bytes, its members, its schema or its arrays."""
    kind = rng.random()
    if kind < 0.2:
        return mutated_bytes(rng, model.data)
    members = dict(model.members)
    if kind < 0.25:
        rng.choice(ARCHIVE_CHANGES)(rng, members)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        name = SCHEMA if rng.random() < 0.5 else rng.choice(list(members))
        members[name] = _mutated_member(rng, name, members.get(name, b"{}"))
    return _packed(members, zipfile.ZIP_STORED)


def _mutated_member(rng: Random, name: str, data: bytes) -> bytes:
    if rng.random() < 0.15:
        return mutated_bytes(rng, data)
    try:
        return forge(rng, data) if name == SCHEMA else _with_other_values(rng, data)
    except Exception:  # it has been damaged before
        return mutated_bytes(rng, data)


def _with_other_values(rng: Random, data: bytes) -> bytes:
    """The file of an array, or of a sparse matrix with one array changed."""
    arrays = np.load(io.BytesIO(data), allow_pickle=False)
    if isinstance(arrays, np.ndarray):
        return _npy(mutated_array(rng, arrays))
    file, part = io.BytesIO(), rng.choice(list(arrays))
    np.savez(file, **{**arrays, part: mutated_array(rng, arrays[part])})
    return file.getvalue()


def _leave_out(rng: Random, members: dict[str, bytes]) -> None:
    del members[rng.choice(list(members))]


def _exchange(rng: Random, members: dict[str, bytes]) -> None:
    one, other = rng.choice(list(members)), rng.choice(list(members))
    members[one], members[other] = members[other], members[one]


def _inflate(rng: Random, members: dict[str, bytes]) -> None:
    """An array that says it is larger than any memory."""
    header = io.BytesIO()
    length = rng.choice([10**10, 2**62, 2**64, -1])
    description = {"descr": rng.choice(["<f8", "|b1", "<i4"]), "fortran_order": False}
    np.lib.format.write_array_header_1_0(header, {**description, "shape": (length,)})
    members[rng.choice(list(members))] = header.getvalue() + bytes(80)


def _misname(rng: Random, members: dict[str, bytes]) -> None:
    name = rng.choice(list(members))
    members[rng.choice(["../outside.npy", "/outside.npy", "", "\0", "x" * 300])] = members.pop(name)


ARCHIVE_CHANGES = [_leave_out, _exchange, _inflate, _misname]


def load_and_ask(rng: Random, number: int) -> str:
    """Load a mutated file; if it is accepted, ask the model."""
    model = rng.choices(models, weights)[0]
    show("model", model.name)
    with open("model.skops", "wb") as file:
        file.write(mutated(rng, model))
    with warnings.catch_warnings(), guarded():
        estimator = load_model("model.skops").estimator
        if not hasattr(estimator, "predict"):
            raise Wrong("what is loaded cannot predict", type(estimator))
        show(estimator)
        check_answers(rng, estimator, model.X)
    return "loaded and asked"


CAMPAIGN = Campaign(
    "models", load_and_ask, prepare=prepare, allowed=(ValueError, OSError), batch=100
)
