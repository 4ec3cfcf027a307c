"""A check that no part of a fitted estimator was replaced by one that does not fit the others.

Kernels index without checks, so the arrays of an estimator must fit each other. After training and
loading they do; but anybody may assign another array to an attribute. So the parts of an estimator
are remembered, and before they are used it is looked whether they are still the same objects: that
takes microseconds. Only if one was replaced, all requirements are checked again.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cache
from itertools import chain
from operator import is_, itemgetter
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .soundness import Sound, check_sound

__all__ = ["check_fitted", "check_parts", "remember_parts"]

PACKAGES = {"sklearn_crcrf", "sklearn"}
SCALARS = (str, bytes, int, float, type(None))


def check_fitted(estimator: Any, attributes: Any = None) -> None:
    """Check that an estimator is fitted, and that its parts still fit each other.

    Parameters
    ----------
    estimator : estimator
    attributes : as in scikit-learn's ``check_is_fitted``

    Raises
    ------
    NotFittedError
        If it is not fitted.
    ValueError
        If a part was replaced, and does not meet its requirements.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> crf = CRF().fit([["the", "dog"]], [["D", "N"]])
    >>> crf.coef_ = crf.coef_[:1]
    >>> crf.predict([["the", "dog"]])
    Traceback (most recent call last):
    ValueError: CRF: coef_ has the shape (1, 2), but must have (2, 2)
    """
    check_is_fitted(estimator, attributes)
    check_parts(estimator)


def check_parts(estimator: Any) -> None:
    """The same for an estimator that may not be fitted, which has no requirements."""
    if not isinstance(estimator, Sound):
        return
    estimator._settle()
    known = _KNOWN.get(estimator)
    if known is not None and known.are_all(estimator):
        return
    found = _Parts(estimator)
    for part in [*reversed(found.inner), estimator]:
        check_sound(part)
    _KNOWN[estimator] = _Parts(estimator)  # reading attributes may have made more of them


def remember_parts(estimator: Any) -> None:
    """Remember the parts of an estimator, which are known to fit each other."""
    if isinstance(estimator, Sound):
        _KNOWN[estimator] = _Parts(estimator)


class _Parts:
    """All that an object consists of; it does not keep the object itself.

    Attributes
    ----------
    inner : list of Sound
        All estimators in it, from outside to inside.
    """

    def __init__(self, whole: Any):
        self.inner: list[Sound] = []
        self._objects: list[tuple[Any, Callable[[dict], tuple]]] = []
        self._containers: list[Iterable] = []
        self._arrays: list[np.ndarray] = []
        left, seen = [whole], set()
        while left:
            part = left.pop()
            if isinstance(part, np.ndarray):
                self._arrays.append(part)
                if part.dtype.kind in "iu":  # kernels follow them
                    part.flags.writeable = False
            elif id(part) not in seen:
                seen.add(id(part))
                left.extend(self._add(part))
                if isinstance(part, Sound) and part is not whole:
                    self.inner.append(part)
        _, self._own = self._objects.pop(0)
        self._members, self._shapes = [*self._all_members(whole)], self._all_shapes()

    def are_all(self, whole: Any) -> bool:
        """Whether the parts are still these objects, and the arrays have the same shapes."""
        try:
            now = [*self._all_members(whole)]
        except (KeyError, RuntimeError):  # one is missing, or another thread adds one
            return False
        known = len(now) == len(self._members) and all(map(is_, now, self._members))
        return known and self._all_shapes() == self._shapes

    def _add(self, part: Any) -> Iterable:
        """Add an object, and return its members; those of tuples cannot be replaced."""
        if isinstance(part, (dict, list, tuple)):
            members = part.values() if isinstance(part, dict) else part
            if not hasattr(part, "_fields") and isinstance(next(iter(members), None), SCALARS):
                return ()
            if not isinstance(part, tuple):
                self._containers.append(members)
            return members
        names = getattr(part, "__dict__", None)
        if not names or not (isinstance(part, Sound) or sp.issparse(part) or _is_known(type(part))):
            return ()
        names = [*names]
        self._objects.append((part, itemgetter(*names, names[0])))  # of one name it makes no tuple
        given = _given(cast(Hashable, type(part))) if isinstance(part, BaseEstimator) else ()
        return [part.__dict__[name] for name in names if name not in given]

    def _all_members(self, whole: Any) -> Iterator[Any]:
        states = [members(part.__dict__) for part, members in self._objects]
        states.append(self._own(whole.__dict__))
        return chain(chain.from_iterable(states), chain.from_iterable(self._containers))

    def _all_shapes(self) -> list[tuple[int, ...]]:
        return [array.shape for array in self._arrays]


def _is_known(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in PACKAGES


@cache
def _given(kind: Hashable) -> set[str]:
    """Attributes of estimators that belong to the user: parameters, and labels to be renamed."""
    return {*cast(Any, kind)._get_param_names(), "classes_"}


_KNOWN: WeakKeyDictionary[Sound, _Parts] = WeakKeyDictionary()
