"""Classes of scikit-learn in a model file: what does not fit together is not read."""

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from damage import Path, changed, damages, found_in_fork
from forks import needs_fork
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from written_models import read, write

from sklearn_crcrf import CRF, HMM, BoostedCRF, GraphArray, PerToken, SeparateCRF
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.model_files.foreign import REQUIREMENTS, check_foreign
from sklearn_crcrf.utils.soundness import check_sound

pytestmark = pytest.mark.filterwarnings("ignore")

rng = np.random.default_rng(0)
ROWS = [rng.random((3, 4)) for _ in range(6)]
HOLES = [np.where(rows < 0.2, 0.0, rows) for rows in ROWS]
WORDS = [["the", "dog", "dog"], ["a", "cat", "the"]] * 3
DICTS = [[{"w": word, "n": float(len(word))} for word in words] for words in WORDS]
y = [["D", "N", "N"], ["D", "N", "V"]] * 3
GRAPHS = GraphArray.from_edges(ROWS, [[(0, 1), (1, 2)]] * 6)

TRANSFORMERS: list[tuple[Any, list]] = [
    (Binarizer(threshold=0.5), ROWS),
    (
        ColumnTransformer(
            [
                ("a", StandardScaler(), [0, 1]),
                ("b", KBinsDiscretizer(3), slice(2, 3)),
                ("c", "drop", [False, True, False, False]),
            ],
            remainder="passthrough",
            transformer_weights={"a": 2.0},
        ),
        ROWS,
    ),
    (DictVectorizer(), DICTS),
    (
        FeatureUnion([("a", MinMaxScaler()), ("b", "passthrough")], transformer_weights={"a": 2}),
        ROWS,
    ),
    (FunctionTransformer(np.log1p), ROWS),
    (KBinsDiscretizer(3), ROWS),
    (KBinsDiscretizer(3, encode="ordinal"), ROWS),
    (MaxAbsScaler(), ROWS),
    (MinMaxScaler(), ROWS),
    (MissingIndicator(missing_values=0.0, features="missing-only"), HOLES),
    (Normalizer(), ROWS),
    (OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=4), WORDS),
    (OneHotEncoder(drop="first", max_categories=3, sparse_output=False), WORDS),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, min_frequency=4), WORDS),
    (OrdinalEncoder(), [np.round(rows) for rows in ROWS]),
    (OneHotEncoder(), [[{"w": "a", "v": "x"}, {"w": "b"}, {"w": "a", "v": "y"}]] * 6),
    (PCA(2, whiten=True), ROWS),
    (Pipeline([("scale", RobustScaler()), ("poly", PolynomialFeatures((1, 2)))]), ROWS),
    (PowerTransformer(), ROWS),
    (QuantileTransformer(n_quantiles=5), ROWS),
    (SimpleImputer(missing_values=0.0, add_indicator=True), HOLES),
    (SimpleImputer(strategy="most_frequent"), WORDS),
    (StandardScaler(), ROWS),
    (make_pipeline(DictVectorizer(), TfidfTransformer()), DICTS),
    (TruncatedSVD(2), ROWS),
    (VarianceThreshold(0.01), ROWS),
]
MODELS = {
    f"{number} {transformer!r:.40}": (make_pipeline(PerToken(transformer), HMM()), X)
    for number, (transformer, X) in enumerate(TRANSFORMERS)
} | {
    "StandardScaler sparse": (
        make_pipeline(PerToken(StandardScaler(with_mean=False)), CRF(max_iter=2)),
        [sp.csr_array(rows) for rows in ROWS],
    ),
    "binning": (HMM(binning=KBinsDiscretizer(3, encode="ordinal")), ROWS),
    "LogisticRegression": (SeparateCRF(exponent=0.5), GRAPHS),
    "DecisionTreeRegressor": (BoostedCRF(max_iter=2), ROWS),
}
# Their values are limited where nodes are read, before there is an object.
LIMITED = {"memory", "n_jobs"}
# Damages of a model that are tried; to try all of them takes minutes.
MOST = 60
# What may stand for any attribute, or member of one.
OTHERS: list[Any] = [
    None,
    True,
    -1,
    2**40,
    1e300,
    "text",
    [],
    {},
    (),
    {"a": np.ones(2)},
    np.zeros(0),
    np.ones((2, 3), order="F"),
    np.array([None, "x", 1.0], dtype=object),
    sp.csr_array(np.eye(3)),
    slice(0, 2**40),
    StandardScaler(),
    np.float32,
    np.log,
]


def members(value: Any) -> list[tuple[Any, Any]]:
    """What is directly in a container or an object."""
    if isinstance(value, dict):
        return [*value.items()]
    if isinstance(value, (list, tuple)):
        return [*enumerate(value)]
    is_object = hasattr(value, "__dict__") and not isinstance(value, (type, np.ufunc))
    return [*vars(value).items()] if is_object else []


def foreign_parts(value: Any, path: Path = (), inside: bool = False) -> Iterator[tuple[Path, Any]]:
    """All attributes of objects of scikit-learn, and what is in them, with how to get there."""
    if inside:
        yield path, value
    if isinstance(value, BaseEstimator):
        inside = bool(path) and type(value).__module__.startswith("sklearn.")
    for key, part in members(value):
        yield from foreign_parts(part, (*path, key), inside)


def all_parts(value: Any) -> Iterator[Any]:
    yield value
    for _, part in members(value):
        yield from all_parts(part)


def changes(part: Any) -> Iterator[Callable[[Any], Any]]:
    if isinstance(part, np.ndarray):
        yield from damages(part).values()
        yield lambda array: array[::-1]
        yield sp.coo_array if part.dtype.kind in "fiu" and part.ndim else str
    for other in OTHERS:
        yield lambda _, other=other: other
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        yield from (lambda n: n + 1, lambda n: n - 1)


def as_read(value: Any) -> None:
    """Check all objects as they are checked when a file is read: what is inside of one first."""
    for _, part in members(value):
        as_read(part)
    check_foreign(value)
    check_sound(value)


def outcomes(name: str) -> list:
    """What becomes of each damage, but for those that end as they should."""
    model, X = MODELS[name]
    stored, wrong = pickle.dumps(model.fit(X, y)), []
    parts = [it for it in foreign_parts(pickle.loads(stored)) if it[0][-1] not in LIMITED]
    tried = [(path, change) for path, part in parts for change in changes(part)]
    for path, change in tried[:: 1 + len(tried) // MOST]:
        found = outcome(stored, path, change, X)
        if found is not None:
            wrong.append((path, found))
    return wrong


def outcome(stored: bytes, path: Path, change: Callable, X: Any) -> str | None:
    model = pickle.loads(stored)
    try:
        model = changed(model, path, change)
        as_read(model)
        model.predict(X)
    except ValueError:
        return None
    except Exception as error:
        return repr(error)
    return None


@needs_fork
@pytest.mark.parametrize("names", [[*MODELS][k::4] for k in range(4)], ids=range(4))
def test_damaged_attributes_are_refused(names):
    found, status = found_in_fork({name: partial(outcomes, name) for name in names})
    assert found == {name: [] for name in names}
    assert status == 0


def test_every_listed_class_is_damaged():
    tried = [model.fit(X, y) for model, X in MODELS.values()]
    found = {type(part).__name__ for model in tried for part in all_parts(model)}
    assert {*REQUIREMENTS} <= found


@for_each("number", range(len(TRANSFORMERS)))
def test_what_is_fitted_is_stored(number, tmp_path):
    transformer, X = TRANSFORMERS[number]
    model = make_pipeline(PerToken(transformer), HMM()).fit(X, y)
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").estimator.predict(X).tolist() == model.predict(X).tolist()


@for_each(
    ("transformer", "X", "change", "message"),
    [
        (
            OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=4),
            WORDS,
            lambda encoder: encoder._default_to_infrequent_mappings[0].fill(10**9),
            r"OneHotEncoder: _default_to_infrequent_mappings\[0\] has values from 1000000000",
        ),
        (
            DictVectorizer(),
            DICTS,
            lambda vectorizer: vectorizer.vocabulary_.update(n=2**30),
            "DictVectorizer: vocabulary_ must number the feature_names_ from 0 on",
        ),
        (
            KBinsDiscretizer(3),
            ROWS,
            lambda bins: setattr(bins._encoder, "_n_features_outs", [1, 1, 1, 1]),
            r"OneHotEncoder: _n_features_outs must be \[3, 3, 3, 3\]",
        ),
        (
            TruncatedSVD(2),
            ROWS,
            lambda svd: setattr(svd, "components_", sp.csr_array(svd.components_)),
            "TruncatedSVD: components_ must be an array, but is a csr_array",
        ),
        (
            PolynomialFeatures(),
            ROWS,
            lambda poly: setattr(poly, "_n_out_full", 10**6),
            "PolynomialFeatures: _n_out_full must be 15",
        ),
        (
            StandardScaler(),
            ROWS,
            lambda scaler: setattr(scaler, "anything", np.ones(3)),
            "StandardScaler: anything is a ndarray, which StandardScaler does not have",
        ),
        (
            StandardScaler(),
            ROWS,
            lambda scaler: setattr(scaler, "copy", np.ones(3)),
            "The 'copy' parameter of StandardScaler must be",
        ),
        (
            FunctionTransformer(np.log1p),
            ROWS,
            lambda transformer: setattr(transformer, "kw_args", {"out": np.zeros(3)}),
            "FunctionTransformer: kw_args must be empty",
        ),
    ],
)
def test_errors_name_the_class_and_the_attribute(transformer, X, change, message, tmp_path):
    model = make_pipeline(PerToken(transformer), HMM()).fit(X, y)
    change(model[0].transformer_)
    with pytest.raises(ValueError, match=message):
        save_model(model, tmp_path / "model")
    write(tmp_path / "model", model)
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "model")


@for_each("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_matrices_are_sound_wherever_they_stand(form):
    matrix = form(np.eye(3))
    assert read([matrix])[0].toarray().tolist() == np.eye(3).tolist()
    for name in ("indices", "indptr", "coords"):
        if hasattr(matrix, name):
            other = matrix.copy()
            np.asarray(getattr(other, name))[..., 1] = 2**30
            if name == "coords":
                other.coords = tuple(np.array(c) for c in other.coords)
                other.coords[0][0] = 2**30
            with pytest.raises(ValueError):
                read([other])


def test_classes_without_requirements_are_named():
    with pytest.raises(ValueError, match=r"it holds sklearn\.feature_extraction\.text\.CountV"):
        read(CountVectorizer())
