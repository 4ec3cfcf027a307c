"""Random and hostile X, y, weights and allowed labels, in every layout."""

import datetime
import decimal
import fractions
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sklearn_crcrf import GraphArray, SequenceArray, as_sequences

try:
    import pandas as pd
except ImportError:  # there are no frames then
    pd = None

WORDS = ["the", "dog", "a", "cat", "Dogs", "x-1", "Zürich", "1.5"]
STRANGE_WORDS = ["", "\0", "\ud83d\ude00", "\ud800", "\u202eab", "x" * 1000, "e\u0301", " ", "="]
ATOMS = [
    *(None, float("nan"), float("inf"), "", "a", "the", 0, 1, -1, 2**70, 1.5, True, b"bytes"),
    *(("t", 1), (), [], {}, {"a": 1}, {"w": "x", "n": 2.5}, {"n": float("nan")}, {"a": None}),
    *({"a": ["x", "y"]}, {"a": {"b": "c"}}, {1: 2}, {"": ""}, {"s": {"x"}}, object(), range(2)),
    *(np.str_("np"), np.int64(3), np.float32(1), np.datetime64("2020-01-01"), np.array([1.0, 2.0])),
    *(datetime.date(2020, 1, 1), decimal.Decimal("1.5"), fractions.Fraction(1, 3), 1j),
    *(frozenset({"q"}), np.array("z"), "O", "B-X", np.array([], dtype=object)),
    *(() if pd is None else (pd.NA, pd.Timestamp(0), pd.NaT)),
]
SCALES = [1, 1, 1, 1, 1, 1e-300, 1e30, 1e160, 1e300]
LABELS = [
    *(["O", "B-X", "I-X"], ["N", "V", "D"], ["O", "B-X", "I-X", "B-Y", "I-Y"], ["N", "V"]),
    *(["N"], [0, 1, 2], [0.5, 1.5], [True, False], [("a", 1), ("b", 2)], ["é", "\0", "x" * 99]),
]
STRANGE_LABELS = [
    *(["a", 1, ("x",)], [None, "N"], [{"N"}, {"N", "V"}, "N", None], [None], ATOMS, [[], {}]),
    *([float("nan"), "a"], [np.float32(1), 1], [2**70, 1], [set(), "N"], ["", " "], [b"a", "a"]),
]


class Sample(NamedTuple):
    """An input, the number of tokens of each sequence, and whether it is a table of rows."""

    kind: str
    X: Any
    lengths: list[int]
    is_table: bool = False


def sample(rng: Random, kind: str | None = None) -> Sample:
    """An input of some kind, most often one that some estimator accepts."""
    if kind not in KINDS:
        kind = rng.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    _, make = KINDS[kind]
    lengths = [rng.choice([1, 1, 2, 3, 5]) for _ in range(rng.choice([1, 2, 3, 6, 10]))]
    if rng.random() < 0.15:
        lengths[rng.randrange(len(lengths))] = rng.choice([0, 0, 40])
    if kind in TABLES:
        lengths = [max(1, sum(lengths))]
    return Sample(kind, make(rng, lengths), lengths, kind in TABLES)


def _generator(rng: Random) -> np.random.Generator:
    return np.random.default_rng(rng.getrandbits(32))


def _words(rng: Random, lengths: list[int]) -> list:
    pool = WORDS if rng.random() < 0.7 else WORDS + STRANGE_WORDS
    return [rng.choices(pool, k=n) for n in lengths]


def _dicts(rng: Random, lengths: list[int]) -> list:
    def token() -> dict:
        keys = rng.sample(["w", "n", "tags", "flag"], rng.randrange(5))
        values = {"w": rng.choice(WORDS + STRANGE_WORDS[:3]), "n": rng.choice([1.5, -2, 0, 1e300])}
        values |= {"tags": rng.sample(WORDS, 2), "flag": rng.random() < 0.5}
        return {key: values[key] for key in keys}

    return [[token() for _ in range(n)] for n in lengths]


def _arrays(rng: Random, lengths: list[int]) -> list:
    generator, width, scale = _generator(rng), rng.choice([1, 2, 4]), rng.choice(SCALES)
    arrays = [generator.normal(size=(n, width)) for n in lengths]
    if rng.random() < 0.5:
        arrays = [array.round() for array in arrays]
    kind = rng.choice(["float64", "float64", "float32", "int64", "bool", "float16", "O"])
    with np.errstate(all="ignore"):
        return [(array * scale).astype(kind) for array in arrays]


def _sparse(rng: Random, lengths: list[int]) -> list:
    form, scale, kind = rng.choice(FORMS), rng.choice(SCALES), rng.choice(["f8", "f4", "i8", "?"])
    with np.errstate(all="ignore"):
        rows = [sparse.random_array((n, 4), density=0.4, rng=_generator(rng)) for n in lengths]
        return [getattr(sparse, form)((x * scale).astype(kind)) for x in rows]


def _sequence_array(rng: Random, lengths: list[int]) -> Any:
    make = rng.choice([_words, _dicts, _arrays, _sparse])
    try:
        return as_sequences(make(rng, lengths)).X
    except (ValueError, TypeError):
        return SequenceArray.from_lengths(np.ones((sum(lengths), 2)), lengths)


def _graph_array(rng: Random, lengths: list[int]) -> Any:
    """Forests and graphs with cycles; some of them are damaged, as after a change in place."""
    X = _sequence_array(rng, lengths)
    sizes = X.lengths.tolist()
    if rng.random() < 0.6:
        parents = [[rng.randrange(-1, k) for k in range(n)] for n in sizes]
        graphs = GraphArray.from_parents(X, parents, rng.choice([None, "direction", parents]))
    else:
        pairs = [[(a, b) for a in range(n) for b in range(a)] for n in sizes]
        edges = [rng.sample(sample, min(len(sample), 5)) for sample in pairs]
        data = [rng.choice([np.ones, sparse.csr_array])((len(sample), 2)) for sample in edges]
        graphs = GraphArray.from_edges(X, edges, rng.choice([None, data]))
    if graphs.n_edges and rng.random() < 0.2:
        part = rng.choice([graphs.edges, graphs.edge_offsets, graphs.edge_data])
        if isinstance(part, np.ndarray):
            wrong = [-1, 0, 1, 2, 100, 2**31, -(2**62)]
            part.flat[rng.randrange(part.size)] = rng.choice(wrong)
        elif part is not None:
            _damage(rng, part)
    return graphs


def _damaged_sparse(rng: Random, lengths: list[int]) -> Any:
    """Matrices with inconsistent arrays, as after a computation in place."""
    generator, form = _generator(rng), rng.choice([sparse.csr_array, sparse.csc_array])
    if rng.random() < 0.5:
        X = [form(sparse.random_array((n, 4), density=0.6, rng=generator)) for n in lengths]
        _damage(rng, rng.choice(X))
        return X
    matrix = sparse.csr_array(sparse.random_array((sum(lengths), 4), density=0.6, rng=generator))
    X = SequenceArray.from_lengths(matrix, lengths)
    _damage(rng, X.data)
    return X


def _damage(rng: Random, matrix: Any) -> None:
    n = matrix.shape[0]
    part = getattr(matrix, rng.choice(["indices", "indices", "indptr", "data"]))
    if part.dtype.kind == "f":
        part[:] = rng.choice([np.nan, np.inf, 1e308])
    elif len(part):
        wrong = [-1, 4, 5, 100, 2**31 - 1, -(2**31), n]
        part[rng.randrange(len(part))] = rng.choice(wrong)
    if rng.random() < 0.3:
        matrix.indices = matrix.indices.astype("i8")
        matrix.indptr = matrix.indptr.astype(rng.choice(["i4", "i8"]))
        if len(matrix.indices):
            matrix.indices[rng.randrange(len(matrix.indices))] = rng.choice([2**31, 2**32 + 1, -1])


def _table(rng: Random, lengths: list[int]) -> Any:
    rows = _arrays(rng, lengths)[0]
    return rng.choice([rows, np.asfortranarray(rows), sparse.csr_array(np.ones((lengths[0], 3)))])


def _frame(rng: Random, lengths: list[int]) -> Any:
    if pd is None:
        return _table(rng, lengths)
    n = lengths[0]
    columns = {
        "word": rng.choices(WORDS, k=n),
        "n": [rng.choice([0.5, 2.0, -1.0]) for _ in range(n)],
        "kind": pd.Categorical(rng.choices("ab", k=n)),
        "strange": rng.choices(ATOMS, k=n),
        "missing": [rng.choice([None, "x"]) for _ in range(n)],
    }
    names = rng.sample(list(columns), 2) if rng.random() < 0.3 else rng.sample(["word", "n"], 1)
    frame = pd.DataFrame({name: columns[name] for name in names})
    if rng.random() < 0.5:
        sequence = sorted(rng.randrange(3) for _ in range(n))
        frame.index = pd.MultiIndex.from_arrays([sequence, range(n)])
    return frame


def _atoms(rng: Random, lengths: list[int]) -> list:
    return [rng.choices(ATOMS, k=n) for n in lengths]


def _nested_otherwise(rng: Random, lengths: list[int]) -> Any:
    """Words in other containers."""
    words = [rng.choices("abc", k=n) for n in lengths]
    objects = np.empty(len(words), dtype=object)
    objects[:] = words
    arrays = [np.array(x, dtype=rng.choice([object, str, "S5"])) for x in words]
    return rng.choice([tuple(map(tuple, words)), objects, arrays, [iter(x) for x in words]])


def _nonsense(rng: Random, lengths: list[int]) -> Any:
    things = [None, 5, "abc", [], {}, [[]], [[], []], [None], [["a"], None], [[["a"]]], set("ab")]
    arrays = [np.array(3), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((2, 2, 2)), np.array("a")]
    mixed = [[np.zeros((1, 2)), np.zeros((1, 3))], [["a"], np.ones((1, 1))], [[{}], ["a"]]]
    return rng.choice([*things, *arrays, *mixed, b"abc", {"a": 1}, [1, 2], object()])


FORMS = ["csr_array", "csr_array", "csc_array", "coo_array", "csr_matrix", "lil_array"]
TABLES = {"table", "frame"}
KINDS: dict[str, tuple[float, Callable[[Random, list[int]], Any]]] = {
    "words": (5, _words),
    "dicts": (3, _dicts),
    "numbers": (4, _arrays),
    "sparse": (3, _sparse),
    "SequenceArray": (2, _sequence_array),
    "GraphArray": (1, _graph_array),
    "damaged sparse": (1, _damaged_sparse),
    "table": (1, _table),
    "frame": (1, _frame),
    "atoms": (1, _atoms),
    "other containers": (1, _nested_otherwise),
    "nonsense": (0.5, _nonsense),
}


def labels(rng: Random, made: Sample) -> Any:
    """Labels that most often fit an input."""
    pool = rng.choice(LABELS if rng.random() < 0.88 else STRANGE_LABELS)
    lengths = made.lengths
    if rng.random() < 0.05:
        lengths = [max(0, n + rng.choice([-1, 0, 1])) for n in lengths]
    y = [rng.choices(pool, k=n) for n in lengths]
    if made.is_table:
        y = y[0]
    if rng.random() < 0.05:
        return rng.choice([None, 5, "NVN", [], [[]], np.zeros(3), np.array(["a", "b"]), {"a": 1}])
    if rng.random() < 0.15:
        try:
            return rng.choice([np.array, as_series, SequenceArray.from_sequences])(y)
        except (ValueError, TypeError):
            return y
    return y


def as_series(y: list) -> Any:
    """A series of pandas, if there is pandas."""
    return y if pd is None else pd.Series(y)


def weights(rng: Random, made: Sample) -> Any:
    """Weights of sequences or tokens, most often none."""
    if rng.random() < 0.7:
        return None
    values = [0.0, 0.5, 1.0, 2.0, 3.0, 1e-300, 1e6]
    if rng.random() < 0.3:
        values += [float("nan"), float("inf"), -1.0, 1e308, None, "a"]
    if rng.random() < 0.3:
        return [rng.choices(values, k=n) for n in made.lengths]
    n = made.lengths[0] if made.is_table else len(made.lengths)
    some = rng.choices(values, k=max(0, n + rng.choice([0, 0, 0, 0, 1, -1])))
    return rng.choice([*[some] * 8, rng.choice(values), "nonsense"])


def allowed_labels(rng: Random, X: Any, classes: list) -> Any:
    """Known labels of an input, for ``allowed``."""
    known = [None, None, *classes[:5], *ATOMS[:3]] if rng.random() < 0.1 else [None, *classes]

    def of_token() -> Any:
        if rng.random() < 0.3 and all(label.__hash__ is not None for label in known):
            return set(rng.sample(known[1:], rng.randrange(len(known))))
        return rng.choice(known)

    try:
        return [[of_token() for _ in range(len(x))] for x in X]
    except TypeError:
        return [[None]]
