"""A check that no part of a fitted estimator was replaced by one that does not fit the others.

Kernels index without checks, so the arrays of an estimator must fit each other. After training and
loading they do; but anybody may assign another array to an attribute. So the parts of an estimator
are remembered, and before they are used it is looked whether they are still the same objects: that
takes microseconds. Only if one was replaced, all requirements are checked again.
"""

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._kernels.text.strings import have_members
from .soundness import Sound, check_sound

PACKAGES = {"sklearn_crcrf", "sklearn"}
SCALARS = (str, bytes, int, float, bool, type(None))


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
    known = _unchanged(estimator)
    if known is not None and known.is_fitted:
        return
    check_is_fitted(estimator, attributes)
    check_parts(estimator)
    known = _unchanged(estimator)
    if known is not None:
        known.is_fitted = attributes is None


def check_parts(estimator: Any) -> None:
    """Check the same of an estimator that may not be fitted, and then has no requirements."""
    if not isinstance(estimator, Sound) or _unchanged(estimator) is not None:
        return
    found = _Parts(estimator)
    for part in [*reversed(found.inner), estimator]:
        check_sound(part)
    _KNOWN[estimator] = _Parts(estimator)  # reading attributes may have made more of them


def remember_parts(estimator: Any) -> None:
    """Remember the parts of an estimator, which are known to fit each other."""
    if isinstance(estimator, Sound):
        _KNOWN[estimator] = _Parts(estimator)


def _unchanged(estimator: Any) -> "_Parts | None":
    """Return the parts of an estimator, if they are known, and none was replaced."""
    if not isinstance(estimator, Sound):
        return None
    estimator._settle()
    known = _KNOWN.get(estimator)
    return known if known is not None and known.are_all(estimator) else None


class _Parts:
    """All that an object consists of; it does not keep the object itself.

    Attributes
    ----------
    is_fitted : bool
        Whether the object is known to be a fitted estimator.
    inner : list of Sound
        All estimators in it, from outside to inside.
    """

    def __init__(self, whole: Any):
        self.is_fitted = False
        self.inner: list[Sound] = []
        self._objects: list[Any] = []
        self._containers: list[Iterable] = []
        left, seen = [whole], set()
        while left:
            part = left.pop()
            if type(part) in SCALARS:
                continue
            if isinstance(part, np.ndarray):
                if part.dtype.kind in "iu":  # kernels follow them
                    part.flags.writeable = False
            elif id(part) not in seen:
                seen.add(id(part))
                left.extend(self._add(part))
                if isinstance(part, Sound) and part is not whole:
                    self.inner.append(part)
        self._names = [(*part.__dict__,) for part in self._objects]
        self._members = [(*part.__dict__.values(),) for part in self._objects]
        self._elements = [[*members] for members in self._containers]
        del self._objects[0]  # the whole
        self._arrays = [
            name for name, part in whole.__dict__.items() if isinstance(part, np.ndarray)
        ]
        self._shapes = self._all_shapes(whole)

    def are_all(self, whole: Any) -> bool:
        """Say whether the parts are still these objects, and its arrays have the same shapes."""
        if not have_members([whole, *self._objects], self._names, self._members):
            return False
        try:
            elements = [[*members] for members in self._containers]
            # Equal lists of the same objects compare these by identity alone.
            return elements == self._elements and self._all_shapes(whole) == self._shapes
        except Exception:  # another thread adds one, or one is an array, which has no truth value
            return False

    def _add(self, part: Any) -> Iterable:
        """Add an object, and return its members; the members of a tuple cannot be replaced."""
        if isinstance(part, (dict, list, tuple)):
            members = part.values() if isinstance(part, dict) else part
            if not hasattr(part, "_fields") and isinstance(next(iter(members), None), SCALARS):
                return ()
            if not isinstance(part, tuple):
                self._containers.append(members)
            return members
        names = getattr(part, "__dict__", None)
        is_ours = type(part).__module__.partition(".")[0] in PACKAGES
        if not names or not (isinstance(part, Sound) or sp.issparse(part) or is_ours):
            return ()
        self._objects.append(part)
        if not isinstance(part, BaseEstimator):
            return names.values()
        # Parameters belong to the user, and so do labels, which may be renamed.
        given = parameter_names(type(part)) | {"classes_"}
        return [names[name] for name in names if name not in given]

    def _all_shapes(self, whole: Any) -> list[tuple[int, ...]]:
        return [whole.__dict__[name].shape for name in self._arrays]


def parameter_names(kind: Any) -> frozenset[str]:
    """Return the names of the parameters of a class of estimators."""
    if kind not in _PARAMETERS:
        _PARAMETERS[kind] = frozenset(kind._get_param_names())
    return _PARAMETERS[kind]


_KNOWN: WeakKeyDictionary[Sound, _Parts] = WeakKeyDictionary()
_PARAMETERS: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()
