"""Checks that loaded objects are sound: arrays have the shapes and ranges that kernels rely on.

Kernels index without checks. An estimator is consistent after ``fit``; one loaded from a file, or
received from another process, may hold anything. So every estimator class lists the requirements
of its arrays, and they are checked when the state of an object is set.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

LARGEST = float(np.finfo(np.float64).max)
POINTERS = (np.int32, np.int64)
KINDS = {"f": "floats", "i": "signed integers", "fiu": "numbers", "b": "bools", "OUS": "strings"}
# Errors raised when an attribute of an object is missing or of an unexpected type.
ERRORS = (AttributeError, IndexError, KeyError, OverflowError, TypeError)


class Array(NamedTuple):
    """An array must have this shape and type, and values in this range. NaN is in no range.

    Parameters
    ----------
    name : str
        Name of the array in the error message.
    value : object
    shape : tuple of int
    least, most : float
        The smallest and the largest value allowed; by default all finite numbers.
    kind : {"f", "i", "fiu", "b", "OUS"}
        Floats in single or double precision, signed integers, numbers, bools or strings. Numbers
        and strings have no range.

    Examples
    --------
    >>> Array("begin_", np.array([0.0, np.nan]), (2,)).problem
    'has values from nan to nan, but they must be finite'
    >>> Array("begin_", np.zeros(3), (2,)).problem
    'has the shape (3,), but must have (2,)'
    """

    name: str
    value: Any
    shape: tuple[int, ...]
    least: float = -LARGEST
    most: float = LARGEST
    kind: str = "f"

    @property
    def problem(self) -> str | None:
        """The violation, for an error message; None if the condition is met."""
        value = self.value
        if not isinstance(value, np.ndarray):
            return f"must be an array, but is a {type(value).__name__}"
        is_usual = self.kind != "f" or value.dtype.itemsize in (4, 8)  # as kernels take floats
        if value.dtype.kind not in self.kind or not value.dtype.isnative or not is_usual:
            return f"must hold {KINDS[self.kind]}, but is of type {value.dtype}"
        if value.shape != self.shape:
            return f"has the shape {value.shape}, but must have {self.shape}"
        if self.kind in ("OUS", "fiu") or value.size == 0:
            return None
        # As Python's numbers: numpy would round the limits to the precision of the array.
        low, high = value.min().item(), value.max().item()
        if self.least <= low and high <= self.most:
            return None
        names = {(-LARGEST, LARGEST): "finite", (-np.inf, LARGEST): "finite or -inf"}
        wanted = names.get((self.least, self.most), f"from {self.least} to {self.most}")
        return f"has values from {low} to {high}, but they must be {wanted}"


class Fact(NamedTuple):
    """A condition must hold.

    Parameters
    ----------
    name : str
        Name of the checked attribute in the error message.
    holds : bool
    otherwise : str
        The error message, after the name.
    """

    name: str
    holds: bool
    otherwise: str

    @property
    def problem(self) -> str | None:
        """The violation, for an error message; None if the condition holds."""
        return None if self.holds else self.otherwise


# A condition that a sound object meets.
Requirement = Array | Fact


class Sound:
    """Mixin of estimators whose arrays are checked when their state is set.

    A subclass yields its requirements in ``_requirements``. Each is checked before the next is
    computed, so later requirements can rely on earlier ones.

    Examples
    --------
    >>> import pickle
    >>> from sklearn_crcrf import HMM
    >>> hmm = HMM().fit([["the", "dog"]], [["D", "N"]])
    >>> hmm.end_ = hmm.end_[:1]
    >>> pickle.loads(pickle.dumps(hmm))
    Traceback (most recent call last):
    ValueError: HMM: end_ has the shape (1,), but must have (2,)
    """

    def _requirements(self) -> Iterator[Requirement]:
        """Return the requirements of a fitted object."""
        return iter(())

    def _settle(self) -> None:
        """Compute fitted attributes that were postponed, if any."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]  # BaseEstimator has it
        check_sound(self)


def check_sound(fitted: Any) -> None:
    """Check a fitted object; unfitted objects and those without requirements pass.

    Raises
    ------
    ValueError
        If a requirement is not met; the message names the class and the violation.
    """
    if isinstance(fitted, Sound) and is_fitted(fitted):
        require(type(fitted).__name__, type(fitted)._requirements(fitted))


def require(owner: str, requirements: Iterable[Requirement]) -> None:
    """Check requirements in order.

    Parameters
    ----------
    owner : str
        Name of the checked object in the error message.
    requirements : iterable of Requirement

    Raises
    ------
    ValueError
        If a requirement is not met, or an attribute is missing or of an unexpected type.
    """
    with setting_state(owner):
        for requirement in requirements:
            problem = requirement.problem
            if problem is not None:
                raise ValueError(f"{owner}: {requirement.name} {problem}")


@contextmanager
def setting_state(owner: str) -> Iterator[None]:
    """Turn errors from missing attributes or unexpected types into a ValueError."""
    try:
        yield
    except ERRORS as error:
        raise ValueError(f"{owner}: its state is damaged: {error!r}") from error


def is_fitted(estimator: Any) -> bool:
    return any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))


def below(prefix: str, requirements: Iterable[Requirement]) -> Iterator[Requirement]:
    """Return the requirements of an attribute, with its name ``prefix`` before their names."""
    for requirement in requirements:
        yield requirement._replace(name=f"{prefix}.{requirement.name}")


def labels(name: str, value: Any) -> Iterator[Requirement]:
    """Require an array of different labels, not empty."""
    yield Fact(name, isinstance(value, np.ndarray) and value.ndim == 1, "must be a 1-D array")
    # A list of numbers would take many times the memory of the array.
    different = set(value.tolist()) if value.dtype.kind in "OUS" else np.unique(value)
    yield Fact(name, 0 < len(value) == len(different), "must hold different labels")


def indices(name: str, value: Any, shape: tuple[int, ...], stop: int, start: int = 0) -> Array:
    """Require integers from ``start`` to before ``stop``."""
    return Array(name, value, shape, start, stop - 1, "i")


def pointers(name: str, value: Any, n_rows: int, n_entries: int) -> Iterator[Requirement]:
    """Require an indptr: the first entry of each row, then the end of the last row."""
    yield indices(name, value, (n_rows + 1,), n_entries + 1)
    yield Fact(name, value.dtype in POINTERS, f"must hold int32 or int64, but is {value.dtype}")
    rises = value[0] == 0 and value[-1] == n_entries and not (value[1:] < value[:-1]).any()
    yield Fact(name, bool(rises), f"must rise from 0 to {n_entries}")


def matrix(name: str, value: Any, shape: tuple[int, int]) -> Iterator[Requirement]:
    """Require a dense or CSR matrix of finite numbers."""
    if sp.issparse(value):
        yield from sparse(name, value, shape)
    else:
        yield Array(name, value, shape)


def sparse(
    name: str,
    value: Any,
    shape: tuple[int, int],
    least: float = -LARGEST,
    has_order: bool = False,
) -> Iterator[Requirement]:
    """Require a CSR matrix of finite values, not below ``least``.

    Parameters
    ----------
    name : str
    value : object
    shape : (int, int)
    least : float
    has_order : bool
        Whether the column indices of every row must increase.
    """
    is_csr = isinstance(value, sp.csr_array) and value.ndim == 2
    yield Fact(name, is_csr, f"must be a csr_array, but is a {type(value).__name__}")
    yield Fact(name, value.shape == shape, f"has the shape {value.shape}, but must have {shape}")
    n_entries = len(value.indices)
    yield indices(f"{name}.indices", value.indices, (n_entries,), shape[1])
    yield Array(f"{name}.data", value.data, (n_entries,), least)
    yield from pointers(f"{name}.indptr", value.indptr, shape[0], n_entries)
    if has_order:
        # A new matrix of the same arrays, which has no cached flag for its order.
        twin = sp.csr_array((value.data, value.indices, value.indptr), shape=shape)
        yield Fact(name, bool(twin.has_canonical_format), "must have rising columns in every row")
