"""Partial true labels, completed where predictions are compared with them."""

import numpy as np

from ..data.missing import are_missing, unhashable, unusual_types
from ..data.ragged import SequenceArray, token_name
from ..utils.names import shown
from .checking import refuse_ignored
from .encoding import as_python, sort_labels


def completed(
    true: SequenceArray, pred: SequenceArray, name: str = "y"
) -> tuple[SequenceArray, np.ndarray]:
    """Complete partial labels so that they agree with predictions wherever they can.

    Parameters
    ----------
    true, pred : SequenceArray of 1-D data, with the same offsets
        In ``true``, None and missing values mark unknown labels, and a set or frozenset lists the
        possible ones.
    name : str
        Name of ``true`` in error messages.

    Returns
    -------
    completed : SequenceArray
        A set becomes the predicted label if it holds it, or is that label itself, else its first
        label in increasing order; an unknown label becomes the predicted label.
    is_known : ndarray of shape (n_tokens,), bool
        False for unknown labels.

    Raises
    ------
    ValueError
        If a set is empty, a label is not hashable, or -100 is among labels from 0 on.
    TypeError
        If a label that is looked for in a set is not hashable.

    Examples
    --------
    >>> true = SequenceArray.from_sequences([["N", None, {"N", "V"}, {"N", "V"}]])
    >>> pred = SequenceArray.from_sequences([["V", "V", "V", "D"]])
    >>> labels, is_known = completed(true, pred)
    >>> labels.tolist(), is_known
    ([['N', 'V', 'V', 'N']], array([ True, False,  True,  True]))
    """
    if not unusual_types(true.data):
        return true, np.ones(len(true.data), dtype=bool)
    items = true.data.tolist()
    labels = [None if isinstance(item, set) else item for item in items]
    token = unhashable(labels)
    if token is not None:
        where = token_name(name, true.offsets, token)
        raise ValueError(f"{where}: the label {shown(labels[token])} is not hashable")
    refuse_ignored(set(labels), true, name)
    is_known = ~are_missing(true.data)
    sets = [(t, item) for t, item in enumerate(items) if isinstance(item, (set, frozenset))]
    if is_known.all() and not sets:
        return true, is_known
    data = true.data.astype(object)
    data[~is_known] = pred.data[~is_known]
    predicted = pred.data.tolist()
    for token, options in sets:
        if not options:
            where = token_name(name, true.offsets, token)
            raise ValueError(f"{where}: the set of possible labels is empty")
        if predicted[token] in options or predicted[token] == options:
            data[token] = predicted[token]
        else:
            data[token] = sort_labels([as_python(label) for label in options])[0].tolist()[0]
    return true.with_data(data), is_known
