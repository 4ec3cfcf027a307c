"""The classes of scikit-learn that a model file may hold, and what must hold for their attributes.

They trust the arrays that ``fit`` has left in them: an encoder writes to whatever column its
private tables name. So each class has requirements here, which are checked for every object that is
read, wherever it stands. An attribute that no requirement names may only be a number, a string or
None.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from numbers import Integral, Number
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..utils.soundness import Array, Fact, Requirement, indices, is_fitted, labels, require

SCALARS = str | bytes | Number | np.generic | None
# Of polynomials; scikit-learn counts their terms one degree after the other.
HIGHEST_DEGREE = 32
# Parameters without which an attribute is None, or missing.
NEEDED_FOR = {
    "center_": "with_centering",
    "idf_": "use_idf",
    "mean_": "with_mean",
    "scale_": "with_std",
    "var_": "with_std",
}


def check_foreign(estimator: Any) -> None:
    """Check an object of a class of scikit-learn; all others pass.

    Raises
    ------
    ValueError
        If a parameter is not valid or a requirement is not met; the message names the class and
        the attribute.
    """
    for cls in type(estimator).__mro__:
        if cls.__module__.startswith("sklearn.") and cls.__name__ in REQUIREMENTS:
            require(cls.__name__, _all_requirements(estimator, cls.__name__))


def _all_requirements(estimator: Any, name: str) -> Iterator[Requirement]:
    """Yield the requirements of a class, and of all attributes that these do not name."""
    named = {"_sklearn_output_config"}
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
        named |= _parameters_of(estimator.__class__)
    if is_fitted(estimator) or name in CONTAINERS:
        for requirement in REQUIREMENTS[name](estimator):
            yield requirement
            named.add(requirement.name.partition("[")[0].partition(".")[0])
    config = getattr(estimator, "_sklearn_output_config", {}).values()
    yield Fact("_sklearn_output_config", _are(str | None, config), "must be names of containers")
    for attribute, value in vars(estimator).items():
        if attribute not in named and not isinstance(value, SCALARS):
            yield Fact(attribute, False, f"is a {type(value).__name__}, which {name} does not have")


@cache
def _parameters_of(cls: type) -> frozenset[str]:
    return frozenset(cls._get_param_names())  # type: ignore[attr-defined]


def _are(kind: Any, values: Iterable) -> bool:
    """Whether these are strings in a dict, or members of a list, of the kind."""
    return all(isinstance(value, kind) for value in values)


def _is_plain(values: np.ndarray) -> bool:
    """Whether an array of objects holds numbers, strings and None."""
    return values.dtype.kind != "O" or _are(SCALARS, values.tolist())


def _width(estimator: Any) -> Iterator[Requirement]:
    """Require the number of columns, and their names if they have some."""
    n = estimator.n_features_in_
    is_number = isinstance(n, Integral) and 0 <= int(n) < 2**31
    yield Fact("n_features_in_", is_number, "must be a number of columns")
    if hasattr(estimator, "feature_names_in_"):
        names = estimator.feature_names_in_
        yield Array("feature_names_in_", names, (int(n),), kind="OUS")
        yield Fact("feature_names_in_", _are(str, names.tolist()), "must be strings")


def _arrays(shapes: Mapping[str, str], kind: str, estimator: Any) -> Iterator[Requirement]:
    """Require arrays with a letter for each dimension, n for the number of columns of X."""
    yield from _width(estimator)
    sizes = {"n": int(estimator.n_features_in_)}
    for name, letters in shapes.items():
        value: Any = getattr(estimator, name, None)
        if value is None and not getattr(estimator, NEEDED_FOR.get(name, ""), True):
            yield Fact(name, True, "")
            continue
        shape = np.shape(value)
        if len(shape) == len(letters):
            for letter, size in zip(letters, shape, strict=True):
                sizes.setdefault(letter, size)
        yield Array(name, value, tuple(sizes.get(letter, 0) for letter in letters), kind=kind)


def _finite(**shapes: str) -> Callable[[Any], Iterator[Requirement]]:
    return partial(_arrays, shapes, "f")


def _numbers(**shapes: str) -> Callable[[Any], Iterator[Requirement]]:
    """Require arrays that may have NaN, as columns of X may."""
    return partial(_arrays, shapes, "fiu")


def _standard_scaler(scaler: Any) -> Iterator[Requirement]:
    yield from _numbers(mean_="n", var_="n", scale_="n")(scaler)
    seen = scaler.n_samples_seen_
    if not isinstance(seen, SCALARS):
        yield Array("n_samples_seen_", seen, (int(scaler.n_features_in_),), kind="fiu")


def _robust_scaler(scaler: Any) -> Iterator[Requirement]:
    shapes = {"center_": "n"} | ({"scale_": "n"} if scaler.with_scaling else {})
    yield from _numbers(**shapes)(scaler)


def _power_transformer(transformer: Any) -> Iterator[Requirement]:
    yield from _numbers(lambdas_="n")(transformer)
    if transformer.standardize:
        yield _part("_scaler", transformer._scaler, "StandardScaler", transformer.n_features_in_)


def _part(name: str, value: Any, cls: str, n: int) -> Fact:
    """Require an attribute that is an estimator of this class for n columns."""
    is_one = type(value).__name__ == cls and value.n_features_in_ == n
    return Fact(name, is_one, f"must be a {cls} of {n} columns")


def _polynomial_features(transformer: Any) -> Iterator[Requirement]:
    yield from _width(transformer)
    highest = np.max(transformer.degree)
    yield Fact("degree", 0 <= highest <= HIGHEST_DEGREE, f"is above {HIGHEST_DEGREE}")
    twin = type(transformer)(**transformer.get_params(deep=False))
    twin.fit(sp.csr_array((1, int(transformer.n_features_in_))))
    for name in ("_min_degree", "_max_degree", "_n_out_full", "n_output_features_"):
        known = getattr(twin, name)
        yield Fact(name, getattr(transformer, name) == known, f"must be {known}")


def _numeric_dtype(estimator: Any, kinds: Any = type | np.dtype | str) -> Fact:
    dtype = estimator.dtype
    is_numeric = isinstance(dtype, kinds) and np.dtype(dtype).kind in "biuf"
    return Fact("dtype", is_numeric, "must be a type of numbers")


def _categories(encoder: Any) -> Iterator[Requirement]:
    """Different values, in order if they are numbers, of which NaN is the last."""
    yield from _width(encoder)
    yield _numeric_dtype(encoder)
    found = encoder.categories_
    yield Fact("categories_", isinstance(found, list), "must be a list")
    yield Fact("categories_", len(found) == encoder.n_features_in_, "must be one for each column")
    for j, values in enumerate(found):
        name = f"categories_[{j}]"
        is_array = isinstance(values, np.ndarray) and values.ndim == 1 and len(values) > 0
        yield Fact(name, is_array and values.dtype.kind in "biufOUS", "must be an array of values")
        if values.dtype.kind in "OUS":
            listed = values.tolist()
            known = [value for value in listed if value is not None and value == value]
            are_strings = {isinstance(value, str) for value in known}
            is_sound = _are(SCALARS, listed) and len(set(listed)) == len(listed)
            is_sound = is_sound and len(are_strings) < 2  # else numbers could be asked for
        else:
            numbers = values[:-1] if values[-1] != values[-1] else values
            is_sound = bool((numbers[1:] > numbers[:-1]).all())
        yield Fact(name, is_sound, "must hold different values, in order")


def _grouped(encoder: Any, sizes: list[int]) -> Iterator[Requirement]:
    """Which categories are infrequent, and the number of each once these are one; ``sizes`` is
    how many categories each column has, and has later.
    """
    enabled = encoder._infrequent_enabled
    yield Fact("_infrequent_enabled", isinstance(enabled, bool), "must be a bool")
    if not enabled:
        return
    rare, numbers = encoder._infrequent_indices, encoder._default_to_infrequent_mappings
    for name, parts in (
        ("_infrequent_indices", rare),
        ("_default_to_infrequent_mappings", numbers),
    ):
        has_all = isinstance(parts, list) and len(parts) == len(sizes)
        yield Fact(name, has_all, "must be a list with one for each column")
    for j, (indexes, mapping) in enumerate(zip(rare, numbers, strict=True)):
        name = f"_infrequent_indices[{j}]"
        yield Fact(name, (indexes is None) == (mapping is None), "has no mapping")
        if indexes is None:
            continue
        n = sizes[j]
        yield indices(name, indexes, (len(indexes),), n)
        yield Fact(name, 0 < len(set(indexes.tolist())) == len(indexes), "must be different")
        sizes[j] = n - len(indexes) + 1
        yield indices(f"_default_to_infrequent_mappings[{j}]", mapping, (n,), sizes[j])


def _one_hot_encoder(encoder: Any) -> Iterator[Requirement]:
    yield from _categories(encoder)
    combiner = encoder.feature_name_combiner
    yield Fact("feature_name_combiner", isinstance(combiner, str), "must be a string")
    sizes = [len(values) for values in encoder.categories_]
    yield from _grouped(encoder, sizes)
    for name in ("drop_idx_", "_drop_idx_after_grouping"):
        dropped = getattr(encoder, name)
        if dropped is not None:
            yield Array(name, dropped.astype(object), (len(sizes),), kind="OUS")
            for index, values, size in zip(dropped, encoder.categories_, sizes, strict=True):
                stop = len(values) if name == "drop_idx_" else size
                holds = index is None or (isinstance(index, Integral) and 0 <= int(index) < stop)
                yield Fact(name, holds, f"has values that are not from 0 to {stop - 1}")
    if dropped is not None:
        sizes = [n - (index is not None) for n, index in zip(sizes, dropped, strict=True)]
    yield Fact("_n_features_outs", encoder._n_features_outs == sizes, f"must be {sizes!r:.80}")


def _ordinal_encoder(encoder: Any) -> Iterator[Requirement]:
    yield from _categories(encoder)
    yield from _grouped(encoder, [len(values) for values in encoder.categories_])
    missing = encoder._missing_indices
    yield Fact("_missing_indices", isinstance(missing, dict), "must be a dict")
    for j, index in missing.items():
        in_range = isinstance(j, Integral) and 0 <= int(j) < len(encoder.categories_)
        in_range = in_range and isinstance(index, Integral)
        in_range = in_range and 0 <= int(index) < len(encoder.categories_[int(j)])
        yield Fact("_missing_indices", in_range, "has values out of range")
    value = np.zeros(1, dtype=encoder.dtype)
    if encoder.handle_unknown == "use_encoded_value":
        value[:] = encoder.unknown_value  # raises if it cannot be
    if missing:
        value[:] = encoder.encoded_missing_value


def _k_bins_discretizer(bins: Any) -> Iterator[Requirement]:
    yield from _width(bins)
    n = int(bins.n_features_in_)
    yield Array("bin_edges_", bins.bin_edges_, (n,), kind="OUS")
    yield indices("n_bins_", bins.n_bins_, (n,), 2**31, 1)
    for j, (n_bins, edges) in enumerate(zip(bins.n_bins_.tolist(), bins.bin_edges_, strict=True)):
        name = f"bin_edges_[{j}]"
        yield Array(name, edges, (n_bins + 1,), -np.inf, np.inf)
        yield Fact(name, not (edges[1:] < edges[:-1]).any(), "must rise")
    if bins.encode != "ordinal":
        yield _part("_encoder", bins._encoder, "OneHotEncoder", n)
        are_numbers = all(values.dtype.kind in "iuf" for values in bins._encoder.categories_)
        yield Fact("_encoder.categories_", are_numbers, "must be numbers")


def _dict_vectorizer(vectorizer: Any) -> Iterator[Requirement]:
    yield _numeric_dtype(vectorizer, type)  # which is called
    names = vectorizer.feature_names_
    yield Fact("feature_names_", isinstance(names, list) and _are(SCALARS, names), "must be names")
    number = {name: j for j, name in enumerate(names)}
    holds = len(number) == len(names) and vectorizer.vocabulary_ == number
    yield Fact("vocabulary_", holds, "must number the feature_names_ from 0 on")
    # 1.0 and True are equal to 1.
    types = {*map(type, vectorizer.vocabulary_.values())}
    yield Fact("vocabulary_", types <= {int}, "must hold integers")


def _missing_indicator(indicator: Any) -> Iterator[Requirement]:
    yield from _width(indicator)
    n = int(indicator.n_features_in_)
    yield Fact("_n_features", indicator._n_features == n, f"must be {n}")
    yield indices("features_", indicator.features_, (len(indicator.features_),), n)


def _simple_imputer(imputer: Any) -> Iterator[Requirement]:
    yield from _width(imputer)
    n, values = int(imputer.n_features_in_), imputer.statistics_
    kind = "OUS" if getattr(values, "dtype", None) == np.dtype(object) else "fiu"
    yield Array("statistics_", values, (n,), kind=kind)
    yield Fact("statistics_", _is_plain(values), "must be values")
    for name in ("_fit_dtype", "_fill_dtype"):
        dtype = getattr(imputer, name, np.dtype(float))  # of the release that has it
        is_known = isinstance(dtype, np.dtype) and dtype.kind in "biufOUS"
        yield Fact(name, is_known, "must be a type of values")
    if imputer.add_indicator:
        yield _part("indicator_", imputer.indicator_, "MissingIndicator", n)
    else:
        yield Fact("indicator_", imputer.indicator_ is None, "must be None")


def _logistic_regression(classifier: Any) -> Iterator[Requirement]:
    yield from _width(classifier)
    classes, n = classifier.classes_, int(classifier.n_features_in_)
    yield from labels("classes_", classes)
    yield Fact("classes_", _is_plain(classes) and len(classes) > 1, "must be labels")
    n_rows = 1 if len(classes) == 2 else len(classes)
    yield Array("coef_", classifier.coef_, (n_rows, n))
    yield Array("intercept_", classifier.intercept_, (n_rows,))
    yield Array("n_iter_", classifier.n_iter_, (len(classifier.n_iter_),), kind="i")


def _function_transformer(transformer: Any) -> Iterator[Requirement]:
    for name in ("func", "inverse_func"):
        function = getattr(transformer, name)
        is_listed = function is None or isinstance(function, np.ufunc) or _is_of_scipy(function)
        yield Fact(name, is_listed, "must be an elementwise function of NumPy or SciPy")
    for name in ("kw_args", "inv_kw_args"):
        yield Fact(name, not getattr(transformer, name), "must be empty: it could name arrays")
    names_out = transformer.feature_names_out
    yield Fact("feature_names_out", names_out is None or isinstance(names_out, str), "is not known")
    if hasattr(transformer, "n_features_in_"):
        yield from _width(transformer)


def _is_of_scipy(function: Any) -> bool:
    # SciPy may wrap its functions, such that they take arrays of other libraries.
    return str(getattr(function, "__module__", "")).startswith("scipy.special")


def _tree(tree: Any) -> Iterator[Requirement]:
    from ..estimators.boosting.trees import (
        tree_requirements,  # imports trees, which few models have
    )

    yield from _width(tree)
    n_outputs = tree.n_outputs_
    yield Fact("n_outputs_", isinstance(n_outputs, Integral) and int(n_outputs) > 0, "is not valid")
    yield from tree_requirements(tree, tree.n_features_in_, n_outputs)


def _steps(name: str, others: tuple, estimator: Any) -> Iterator[Requirement]:
    """Require pairs of names and transformers, the last of which may be another estimator."""
    steps = getattr(estimator, name)
    are_pairs = _are_named(steps, 2) and len(steps) > 0
    yield Fact(name, are_pairs, "must be pairs of names and estimators")
    transformers = [step for _, step in (steps[:-1] if name == "steps" else steps)]
    yield Fact(name, all(_transforms(step, others) for step in transformers), "must transform")
    yield from _weights(estimator)
    input_names = getattr(estimator, "transform_input", None)
    yield Fact("transform_input", _are(str, input_names or []), "must be names")


def _are_named(parts: Any, n: int) -> bool:
    """Whether this is a list of tuples of n parts, the first of which is a name."""
    return isinstance(parts, list) and all(
        isinstance(part, tuple) and len(part) == n and isinstance(part[0], str) for part in parts
    )


def _transforms(step: Any, others: tuple) -> bool:
    is_word = step is None or isinstance(step, str)
    return step in others if is_word else hasattr(step, "transform")


def _weights(estimator: Any) -> Iterator[Requirement]:
    weights = getattr(estimator, "transformer_weights", None) or {}
    yield Fact("transformer_weights", _are(Number, weights.values()), "must be numbers")


def _column_transformer(columns: Any) -> Iterator[Requirement]:
    yield from _weights(columns)
    names_out = columns.verbose_feature_names_out
    yield Fact("verbose_feature_names_out", isinstance(names_out, bool | str), "is not known")
    if not hasattr(columns, "transformers_"):
        return
    yield from _width(columns)
    for attribute in ("transformers", "transformers_"):
        are_parts = _are_named(getattr(columns, attribute), 3)
        yield Fact(attribute, are_parts, "must be names, transformers and columns")
    n, parts = int(columns.n_features_in_), columns.transformers_
    known = {*getattr(columns, "feature_names_in_", ())}
    given = {name: transformer for name, transformer, _ in columns.transformers}
    for name, transformer, selected in parts:
        holds = _transforms(transformer, ("drop",)) and _selects(selected, n, known)
        holds = holds and (given.get(name) != "drop" or transformer == "drop")
        yield Fact("transformers_", holds, f"has {name!r}, which does not transform columns of X")
    inputs = columns._transformer_to_input_indices
    names = {name for name, transformer, _ in parts if not isinstance(transformer, str)}
    has_names = isinstance(inputs, dict) and names <= {*inputs}
    has_names = has_names and all(isinstance(part, list) for part in inputs.values())
    yield Fact("_transformer_to_input_indices", has_names, "must be lists of columns")
    in_range = all(
        isinstance(column, int) and not isinstance(column, bool) and 0 <= column < n
        for part in inputs.values()
        for column in part
    )
    yield Fact("_transformer_to_input_indices", in_range, f"must be from 0 to {n - 1}")
    # What follows is only read by fit, or for people.
    for name, kind in (("_columns", list), ("_remainder", tuple), ("output_indices_", dict)):
        value = getattr(columns, name)
        yield Fact(name, isinstance(value, kind), f"must be a {kind.__name__}")


def _selects(columns: Any, n: int, known: set[Any]) -> bool:
    """Whether this selects some of n columns: numbers, names, a mask of all or a slice."""
    if isinstance(columns, slice):
        ends = columns.start, columns.stop, columns.step
        names = {end for end in ends if isinstance(end, str)}
        return columns.step != 0 and _are(int | str | None, ends) and names <= known
    if isinstance(columns, np.ndarray):
        if columns.ndim == 1 and columns.dtype.kind in "iu":
            return not len(columns) or -n <= columns.min() <= columns.max() < n
        if columns.dtype.kind == "b":
            return columns.shape == (n,)
        columns = columns.tolist() if columns.dtype.kind in "OUS" else None
    values = columns if isinstance(columns, list) else [columns]
    if values and _are(bool | np.bool_, values):
        return len(values) == n
    return (_are(str, values) and known.issuperset(values)) or (
        _are(Integral, values) and all(-n <= int(value) < n for value in values)
    )


# By the module that exports them. Transformers that open files by name (CountVectorizer), or that
# index arrays in ways of their own (neighbours), are left out.
SCIKIT_LEARN: dict[str, dict[str, Callable[[Any], Iterator[Requirement]]]] = {
    "sklearn.compose": {"ColumnTransformer": _column_transformer},
    "sklearn.decomposition": {
        "PCA": _finite(
            components_="kn",
            mean_="n",
            explained_variance_="k",
            explained_variance_ratio_="k",
            singular_values_="k",
        ),
        "TruncatedSVD": _finite(
            components_="kn",
            explained_variance_="k",
            explained_variance_ratio_="k",
            singular_values_="k",
        ),
    },
    "sklearn.feature_extraction": {"DictVectorizer": _dict_vectorizer},
    "sklearn.feature_extraction.text": {"TfidfTransformer": _finite(idf_="n")},
    "sklearn.feature_selection": {"VarianceThreshold": _numbers(variances_="n")},
    "sklearn.impute": {"MissingIndicator": _missing_indicator, "SimpleImputer": _simple_imputer},
    "sklearn.linear_model": {"LogisticRegression": _logistic_regression},
    "sklearn.pipeline": {
        "FeatureUnion": partial(_steps, "transformer_list", ("drop", "passthrough")),
        "Pipeline": partial(_steps, "steps", ("passthrough", None)),
    },
    "sklearn.preprocessing": {
        "Binarizer": _width,
        "FunctionTransformer": _function_transformer,
        "KBinsDiscretizer": _k_bins_discretizer,
        "MaxAbsScaler": _numbers(max_abs_="n", scale_="n"),
        "MinMaxScaler": _numbers(
            min_="n", scale_="n", data_min_="n", data_max_="n", data_range_="n"
        ),
        "Normalizer": _width,
        "OneHotEncoder": _one_hot_encoder,
        "OrdinalEncoder": _ordinal_encoder,
        "PolynomialFeatures": _polynomial_features,
        "PowerTransformer": _power_transformer,
        "QuantileTransformer": _numbers(quantiles_="qn", references_="q"),
        "RobustScaler": _robust_scaler,
        "StandardScaler": _standard_scaler,
    },
    # For BoostedCRF.
    "sklearn.tree": {"DecisionTreeRegressor": _tree},
}
REQUIREMENTS = {name: check for checks in SCIKIT_LEARN.values() for name, check in checks.items()}
# They have requirements before they are fitted.
CONTAINERS = {"ColumnTransformer", "FeatureUnion", "FunctionTransformer", "Pipeline"}
