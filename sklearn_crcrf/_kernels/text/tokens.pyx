"""How tokens of taggers are read, and their scores by counting."""

from collections.abc import Iterator, Mapping, Set
from numbers import Number, Real
from reprlib import repr as limited_repr

import numpy as np

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int32_t, int64_t, int8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from sklearn_crcrf._kernels.text.packed_rows cimport (
    Rows, WeightedRow, add_weighted, address_in, fetch_edges, fetch_start, fetch_weights,
    merge_gains, pair_of_labels, row_length, row_start, rows_in, weigh_row
)
from sklearn_crcrf._kernels.text.pair_tables cimport TEAM, Pairs, find_some_pairs, pair_row
from sklearn_crcrf._kernels.text.strings cimport FrozenStrings, StringTable, Strings, find_text
from sklearn_crcrf._kernels.text.texts cimport (
    PyUnicode_Check, PyUnicode_GET_LENGTH, PyUnicode_KIND, Text, hash_text, text_of, widen
)
from sklearn_crcrf._kernels.vectors cimport fetch_row, prefetch

from sklearn_crcrf._kernels import sizes

cdef int DEEPEST = sizes.DEEPEST
cdef int64_t MOST_NESTED = sizes.MOST_NESTED

include "attribute_reader.pxi"
include "letters.pxi"
include "counted_scores.pxi"
