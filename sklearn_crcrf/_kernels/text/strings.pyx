"""Strings to numbers: tables that grow, tables that are mapped."""

import os

import numpy as np

from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
)
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memchr, memcmp, memcpy

from sklearn_crcrf._kernels.text.texts cimport (
    Key, PyUnicode_Check, PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, Slot, Text,
    hash_text, text_of, widen
)
from sklearn_crcrf._kernels.vectors cimport prefetch

include "interning.pxi"
include "frozen_strings.pxi"
include "same_members.pxi"
