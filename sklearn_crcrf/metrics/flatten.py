"""Inputs of all metrics in one flat form, and division by zero."""

from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from ..data.missing import unusual_types
from ..data.ragged import SequenceArray
from ..labels.partial import completed
from ..labels.segments.label_sequences import is_nested, label_sequences, naming_unhashable
from ..utils.names import check_several
from ..utils.real_numbers import real_numbers
from ..utils.warning import warn_caller

ZeroDivision = float | Literal["warn"]
LARGEST_SUM = 1e307  # of weights, so that a few sums can be added without overflow


class Pair(NamedTuple):
    """True and predicted values token by token, and the weight of every token.

    Partial true labels are completed so that they agree with predictions wherever they can;
    ``is_known`` is False for tokens whose true label is unknown, which metrics leave out.
    """

    true: SequenceArray
    pred: SequenceArray
    weight: np.ndarray  # (n_tokens,)
    is_known: np.ndarray  # (n_tokens,), bool


def flatten(y_true: Any, y_pred: Any, sample_weight: Any = None) -> Pair:
    """Flatten labels and check that they fit together."""
    true, pred = label_sequences(y_true, "y_true"), label_sequences(y_pred, "y_pred")
    check_same_layout(true, pred, "y_pred")
    weight = token_weights(sample_weight, y_true, true)
    with naming_unhashable(y_pred=pred):
        true, is_known = completed(true, pred, "y_true")
    return Pair(true, pred, weight, is_known)


def label_list(labels: Any, name: str) -> np.ndarray:
    """Return a list of labels passed by the user, as a 1-D array."""
    check_several(labels, name)
    listed = label_sequences([list(labels)], name)
    with naming_unhashable(**{name: listed}):
        set(listed.data.tolist())
    return listed.data


def are_equal(pair: Pair) -> np.ndarray:
    """Return whether the true and the predicted label of each token are equal."""
    with naming_unhashable(y_true=pair.true, y_pred=pair.pred):
        try:
            same = pair.true.data == pair.pred.data
            if pair.pred.data.dtype == object:
                wrong = pair.pred.data[~same]
                if unusual_types(wrong):
                    set(wrong.tolist())  # TypeError if a label is not hashable
            return same
        except ValueError:  # a numpy number compares with each entry of a tuple
            true, pred = pair.true.data.tolist(), pair.pred.data.tolist()
            set(chain(true, pred))  # TypeError if a label is not hashable
            same = [a == b for a, b in zip(true, pred, strict=True)]
            return np.array([np.ndim(it) == 0 and bool(it) for it in same], dtype=bool)


def chosen(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the values where the mask is True; not a copy if it is so everywhere."""
    return values if mask.all() else values[mask]


def sample_lengths(y: Any, labels: SequenceArray) -> np.ndarray:
    """Return tokens in each sample: a sequence, or in one-dimensional ``y`` a single token."""
    return labels.lengths if is_nested(y) else np.ones(len(labels.data), dtype=np.int64)


def check_same_layout(true: SequenceArray, other: SequenceArray, name: str) -> None:
    """Check that ``other`` has one entry for every label in ``y_true``."""
    if len(true) != len(other):
        raise ValueError(f"y_true has {len(true)} sequences, but {name} has {len(other)}")
    if not np.array_equal(true.offsets, other.offsets):
        i = int(np.argmax(true.lengths != other.lengths))
        raise ValueError(
            f"sequence {i} has {true.lengths[i]} labels in y_true, but {other.lengths[i]} in {name}"
        )


def token_weights(sample_weight: Any, y: Any, labels: SequenceArray) -> np.ndarray:
    """Spread the weights of samples over their tokens; ``labels`` are the labels in y."""
    if sample_weight is None:
        return np.ones(len(labels.data))
    lengths = sample_lengths(y, labels)
    return _summable(np.repeat(sample_weights(sample_weight, len(lengths)), lengths))


def sample_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """One weight per sample, all one by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = real_numbers(sample_weight, "sample_weight must hold one number per sample")
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight per sample, "
            f"got {weight.shape}"
        )
    return _summable(weight)


def _summable(weight: np.ndarray) -> np.ndarray:
    if not np.abs(weight).sum() <= LARGEST_SUM:
        raise ValueError(f"sample_weight must be finite, and its sum at most {LARGEST_SUM:g}")
    return weight


def divide(numerator: Any, denominator: Any, zero_division: ZeroDivision, metric: str) -> Any:
    """``numerator / denominator``, or ``zero_division`` where the denominator is zero."""
    denominator = np.asarray(denominator, dtype=np.float64)
    defined = denominator != 0
    if isinstance(zero_division, str):
        if zero_division != "warn":
            raise ValueError(f"zero_division must be 'warn', 0, 1 or np.nan, got {zero_division!r}")
        if not defined.all():
            warn_caller(
                f"{metric} is undefined, because there is nothing to count, and set to 0.0; "
                f"the parameter zero_division controls this",
                UndefinedMetricWarning,
            )
        zero_division = 0.0
    out = np.full(denominator.shape, zero_division, dtype=np.float64)
    np.divide(numerator, denominator, out=out, where=defined)
    return out if out.ndim else float(out)
