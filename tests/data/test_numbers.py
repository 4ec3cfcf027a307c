"""Rows of numbers of any type, and what is none."""

from decimal import Decimal
from itertools import chain, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_array_equal

from sklearn_crcrf import CRF, HMM, BoostedCRF, EmpiricalCRF, SequenceArray, as_sequences
from sklearn_crcrf.data.numbers import as_numbers
from sklearn_crcrf.data.symbols import SymbolTable

OFFSETS = [0, 1, 1, 3]
Y = [["a"], [], ["b", "a"]]
ROWS = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, 1.0]])


def lists(rows):
    return [rows[start:stop] for start, stop in pairwise(OFFSETS)]


TYPES = [bool, np.uint8, np.int64, np.float16, np.longdouble, object, "U3", ">f4", ">f8", ">i4"]


@for_each("dtype", [np.float32, np.float64])
@for_each("given", TYPES)
def test_types_of_numbers(given, dtype):
    rows = (ROWS > 0 if given is bool else ROWS).astype(given)
    found = as_numbers(SequenceArray(rows, OFFSETS), dtype)
    assert found.dtype == dtype
    assert found.dtype.isnative
    assert_array_equal(found, ROWS > 0 if given is bool else ROWS)


@for_each("given", TYPES)
def test_estimators_take_types_of_numbers(given):
    rows = (ROWS > 0 if given is bool else ROWS).astype(given)
    for estimator in (CRF(), HMM(), EmpiricalCRF(), BoostedCRF(max_iter=2)):
        if not (given == "U3" and not isinstance(estimator, (CRF, BoostedCRF))):
            X = SequenceArray(rows, OFFSETS)
            expected = estimator.fit(X.data.astype(float), [*chain.from_iterable(Y)]).predict(
                rows.astype(float)
            )
            assert_array_equal(estimator.fit(X, Y).predict(X).data, expected)


def test_numbers_of_the_type_are_not_copied():
    assert as_numbers(SequenceArray(ROWS, OFFSETS), float) is ROWS
    rows = sp.csr_array(ROWS)
    assert as_numbers(SequenceArray(rows, OFFSETS), float) is rows


@for_each(
    ("value", "error"),
    [
        ("x", ValueError),
        ("", ValueError),
        ("nan", ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        (10**400, ValueError),
        (Decimal("NaN"), ValueError),
        (np.longdouble("1e4000"), ValueError),
        (None, (TypeError, ValueError)),
        ({"a": 1}, TypeError),
        ([1, 2], (TypeError, ValueError)),
        (object(), TypeError),
        (1j, TypeError),
    ],
)
def test_what_is_no_number_is_refused_with_its_place(value, error):
    rows = ROWS.astype(object)
    rows[2, 1] = value
    for estimator in (CRF(), BoostedCRF(max_iter=2)):
        for X in (lists(rows), SequenceArray(rows, OFFSETS)):
            with pytest.raises(error, match="X, sequence 2, position 1: "):
                estimator.fit(X, Y)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_what_overflows_is_refused_with_its_place(make):
    rows = ROWS.copy()
    rows[1, 0] = 1e39
    X = SequenceArray(make(rows), OFFSETS)
    CRF(max_iter=1, tol=1e9).fit(X[:1], Y[:1])
    for estimator in (CRF(dtype=np.float32), BoostedCRF(max_iter=2)):
        message = r"X, sequence 2, position 0: 1e\+39 is not a finite number of type float32"
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, Y)


def test_numbers_whose_sum_is_not_finite():
    rows = np.full((3, 2), 1.7e308)
    assert as_sequences(SequenceArray(rows, OFFSETS)).X.data is rows
    rows[2] = -np.inf
    rows[0] = np.inf
    with pytest.raises(ValueError, match="X, sequence 0, position 0: inf is not finite"):
        as_sequences(SequenceArray(rows, OFFSETS))


@for_each("y", [5, 1.5, None, object(), len, np.float32(1)])
def test_labels_that_are_no_list_are_refused_by_name(y):
    message = "y must be a list of sequences, but is of type|requires y"
    with pytest.raises(ValueError, match=message):
        CRF().fit([["a"]], y)


@for_each("y", [[{"a"}, "b", 1], [("a",), 1j, "b"], [[1], "b", {}], [[["x"]], 1, 2]])
def test_labels_of_a_table_that_are_none_are_refused(y):
    with pytest.raises(ValueError, match=r"\by\b|[Ll]abel"):
        CRF().fit(ROWS, y)


def test_arrays_that_were_changed_since_are_checked_again():
    for change in (
        lambda a: setattr(a, "data", a.data[:1]),
        lambda a: a.offsets.__setitem__(2, 99),
    ):
        for which in ("X", "y"):
            arrays = {
                "X": SequenceArray(ROWS, OFFSETS),
                "y": SequenceArray(np.array(["a", "b", "a"]), OFFSETS),
            }
            change(arrays[which])
            with pytest.raises(ValueError, match="offsets"):
                CRF().fit(**arrays)


@for_each("code", [2, -2, 2**31 - 1, 2**40, 2**32, 0.5])
def test_codes_without_a_symbol_are_refused(code):
    with pytest.raises(ValueError, match="code"):
        SymbolTable(np.array([[0], [code]]), [["a", "b"]], ["word"])


@for_each(
    "weight",
    [
        "x",
        ["x"] * 3,
        [["a"], [], ["b", "c"]],
        [None, 1, 1j],
        object(),
        {"a": 1},
        np.array("z"),
        10**400,
        [1, [2], 3],
        [10**400, 1, 1],
        [[1], [], [1, 10**400]],
    ],
)
def test_sample_weight_that_is_no_number_is_refused_by_name(weight):
    with pytest.raises(ValueError, match="sample_weight must hold a number"):
        HMM().fit([["a"], [], ["b", "a"]], Y, sample_weight=weight)


def test_rows_of_a_table_that_hold_lists_are_refused_by_name():
    with pytest.raises(ValueError, match="X is not a table: its rows must hold numbers"):
        CRF().fit([[1, [2]], [3, [4, 5]]], ["a", "b"])
