"""Files of models, taggers and corpora: small ones of every kind, damaged or forged, then asked."""

import io
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from _answers import check_answers
from _campaign import Campaign, Wrong, show
from _formats import FORMATS, Parts, array_bytes
from _guard import guarded
from _models import classifiers, examples, kinds_for, make, transformers
from _mutations import forge, mutated_array, mutated_bytes, mutated_numbers
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import HMM, CRFsuiteCRF, PerToken
from sklearn_crcrf.datasets import write_conll
from sklearn_crcrf.model_files import load_model, save_model, trust
from sklearn_crcrf.model_files.conversion import read_crfsuite_model, write_crfsuite_model
from sklearn_crcrf.out_of_core import CorpusFolder, write_corpus

N_SEQUENCES = 3
ARRAY = b"\x93NUMPY"
X = {"words": [["the", "dog"], ["zzz"]], "dicts": [[{"w": "the"}, {"w": "dog", "n": 2.0}], [{}]]}


class Stored(NamedTuple):
    """A file: its format, its parts, and some input for the model in it."""

    format: str
    name: str
    parts: Parts
    X: Any = None


stored: list[Stored] = []


def prepare() -> None:
    """Store models and corpora of all kinds, once for all campaigns that need them."""
    warnings.simplefilter("ignore")
    if not stored:
        stored.extend(_corpora())
        for name, estimator, X in _fitted():
            stored.extend(_files_of(name, estimator, X))


def _fitted() -> Iterator[tuple[str, Any, Any]]:
    """Every classifier on every kind of input, and a pipeline with every transformer."""
    kinds, y = examples(N_SEQUENCES)
    for public in classifiers():
        for kind in kinds_for(public):
            fitted = make(public).fit(kinds[kind], y)
            yield f"{public.__name__} {kind}", fitted, kinds[kind][:2]
    for transformer in [*map(make, transformers()), *map(PerToken, foreign())]:
        for kind in ("words", "dicts", "numbers"):
            try:
                pipeline = make_pipeline(transformer, HMM()).fit(kinds[kind], y)
                pipeline.predict(kinds[kind])
            except (ValueError, TypeError, AttributeError):
                continue
            yield f"{transformer}, HMM", pipeline, kinds[kind][:2]
            break


def foreign() -> Iterator[Any]:
    """Every class of scikit-learn that a model file may name, and that can transform."""
    for module, names in trust.SCIKIT_LEARN.items():
        for name in names:
            public = getattr(import_module(module), name)
            if hasattr(public, "transform") and name not in ("ColumnTransformer", "FeatureUnion"):
                try:
                    yield public()
                except TypeError:  # Pipeline
                    continue


def _files_of(name: str, estimator: Any, X: Any) -> Iterator[Stored]:
    path, kinds = Path("stored"), ["models", "taggers"]
    for kind in [*kinds, *(["crfsuite"] if isinstance(estimator, CRFsuiteCRF) else [])]:
        try:
            if kind == "crfsuite":
                write_crfsuite_model(estimator, path)
            else:
                is_compact = kind == "taggers"
                # The key of the tables of strings is drawn by chance.
                with patch("os.urandom", bytes) if is_compact else nullcontext():
                    save_model(estimator, path, compact=is_compact)
        except (ValueError, TypeError, AttributeError):  # it has no tagger
            continue
        yield Stored(kind, name, FORMATS[kind].take(path), X)
        if kind == "taggers":
            load_model(path).estimator.tagger.save(path, bits=8)
            yield Stored(kind, f"{name}, small", FORMATS[kind].take(path), X)
        path.unlink()


def _corpora() -> Iterator[Stored]:
    """Folders of words, and of dicts without labels and in several parts."""
    kinds, y = examples(N_SEQUENCES)
    dicts = [[{"w": word, "p": word[:1]} for word in sequence] for sequence in kinds["words"]]
    for name, X, labels in (("words", kinds["words"], y), ("dicts", dicts, None)):
        write_conll("text", X, labels)
        os.utime("text", (0, 0))  # a corpus knows the time of its text
        columns = ["w", "p"] if labels is None else None
        write_corpus(["text"], "corpus", columns, lines_per_part=5)
        yield Stored("folders", name, FORMATS["folders"].take(Path("corpus")))
        shutil.rmtree("corpus")


def write_stored(it: Stored, path: Path, rng: Random | None = None) -> None:
    """Write the file, damaged if there is chance."""
    parts = it.parts if rng is None else damaged(rng, it.parts)
    FORMATS[it.format].make(parts, path)
    if rng is not None and path.is_file() and rng.random() < 0.2:
        path.write_bytes(mutated_bytes(rng, path.read_bytes()))


def damaged(rng: Random, parts: Parts) -> Parts:
    """The parts of a file with changes of some of them."""
    parts = dict(parts)
    if rng.random() < 0.1:
        _rearrange(rng, parts)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        texts = [name for name, data in parts.items() if data[:1] == b"{"]
        name = rng.choice(texts if texts and rng.random() < 0.5 else list(parts))
        parts[name] = _changed(rng, parts[name])
    return parts


def _changed(rng: Random, data: bytes) -> bytes:
    """Another array, another sparse matrix, another tree of JSON, or other bytes."""
    if rng.random() < 0.15:
        return mutated_bytes(rng, data)
    try:
        if data.startswith(ARRAY):
            return array_bytes(mutated_array(rng, np.load(io.BytesIO(data), allow_pickle=False)))
        if data.startswith(b"PK"):
            return _with_other_array(rng, data)
        return forge(rng, data) if data.startswith(b"{") else mutated_numbers(rng, data)
    except Exception:  # it has been damaged before
        return mutated_bytes(rng, data)


def _with_other_array(rng: Random, data: bytes) -> bytes:
    arrays = dict(np.load(io.BytesIO(data), allow_pickle=False))
    file, name = io.BytesIO(), rng.choice(list(arrays))
    np.savez(file, **{**arrays, name: mutated_array(rng, arrays[name])})
    return file.getvalue()


def _rearrange(rng: Random, parts: Parts) -> None:
    """Leave out, exchange, inflate or rename a part."""
    change, names = rng.randrange(4), list(parts)
    if change == 0:
        del parts[rng.choice(names)]
    elif change == 1:
        one, other = rng.choice(names), rng.choice(names)
        parts[one], parts[other] = parts[other], parts[one]
    elif change == 2:  # an array that says it is larger than any memory
        header, length = io.BytesIO(), rng.choice([10**10, 2**62, 2**64, -1])
        array = {"descr": rng.choice(["<f8", "|b1", "<i4"]), "fortran_order": False}
        np.lib.format.write_array_header_1_0(header, {**array, "shape": (length,)})
        parts[rng.choice(names)] = header.getvalue() + bytes(80)
    else:
        name = rng.choice(names)
        parts[rng.choice(["../outside.npy", "/outside.npy", "", "\0", "x" * 300])] = parts.pop(name)


def _read_model(rng: Random, path: Path, X: Any) -> None:
    estimator = load_model(path).estimator
    if not hasattr(estimator, "predict"):
        raise Wrong("what is loaded cannot predict", type(estimator))
    check_answers(rng, estimator, X)


def _read_tagger(rng: Random, path: Path, X: Any) -> None:
    estimator = load_model(path).estimator
    check_answers(rng, estimator, X)
    tokens = [list(x) for x in X]
    if estimator.tagger.many(tokens) != [estimator.tagger(x) for x in tokens]:
        raise Wrong("many sequences get other labels than each alone")


def _read_crfsuite(rng: Random, path: Path, X: Any) -> None:
    model = read_crfsuite_model(path)
    model.predict_marginals(X)
    check_answers(rng, model.crf_, model.vectorizer_.transform(X))


def _read_folder(rng: Random, path: Path, X: Any) -> None:
    corpus = CorpusFolder(path)
    n_tokens = sum(sum(map(len, X)) for X, _ in corpus)
    if n_tokens != corpus.n_tokens:
        raise Wrong("a corpus has more or fewer tokens than it says", f"{n_tokens}, {corpus}")
    if all(y is not None for _, y in corpus):
        check_answers(rng, HMM().fit(corpus), [["the", "dog"]])


READERS: dict[str, Callable[[Random, Path, Any], None]] = {
    "models": _read_model,
    "taggers": _read_tagger,
    "crfsuite": _read_crfsuite,
    "folders": _read_folder,
}


def read(rng: Random, kind: str, path: Path, X: Any) -> None:
    """Read a file, and ask what is in it; a model may not write, start or unpickle anything."""
    with warnings.catch_warnings(), nullcontext() if kind == "folders" else guarded():
        READERS[kind](rng, path, X)


def read_damaged(rng: Random, number: int, kind: str) -> str:
    """Read a damaged file; if it is accepted, ask what is in it."""
    of_kind = [it for it in stored if it.format == kind]
    it = rng.choices(of_kind, [1 / sum(map(len, it.parts.values())) for it in of_kind])[0]
    show(kind, it.name)
    with TemporaryDirectory() as folder:
        write_stored(it, Path(folder, "file"), rng)
        read(rng, kind, Path(folder, "file"), it.X)
    return "read and asked"


CAMPAIGNS = [
    Campaign(
        kind,
        partial(read_damaged, kind=kind),
        prepare=prepare,
        allowed=(ValueError, OSError),
        batch=100,
    )
    for kind in FORMATS
]
