"""What programs for python-crfsuite expect of a tagger, and of predicted labels."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...data.ragged import object_array
from ...data.sequences import as_sequences
from ...serving.crfsuite.tagger import SequenceTagger
from .attribute_lists import attribute_rows, listed


class LabelLists(list):
    """A list of lists, one for each sequence; numpy makes an array of dtype object of it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.estimators.crfsuite.tagger import LabelLists
    >>> y = LabelLists([["D", "N"], ["N", "V"]])
    >>> y == [["D", "N"], ["N", "V"]], np.asarray(y).shape
    (True, (2,))
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return object_array(list(self))

    def tolist(self) -> list:
        """Return the same as a plain list, as arrays have it."""
        return list(self)


class CRFsuiteTagger(SequenceTagger):
    """The methods of ``pycrfsuite.Tagger`` for a fitted model.

    Parameters
    ----------
    crf : CRFsuiteCRF
        The fitted model.

    Notes
    -----
    Weights are copied for the first sequence, and again after a new fit; a weight that is changed
    in place is not noticed.

    Examples
    --------
    >>> from sklearn_crcrf import CRFsuiteCRF
    >>> tagger = CRFsuiteCRF().fit([[["w=the"], ["w=dog"]]], [["D", "N"]]).tagger_
    >>> tagger.labels(), tagger.tag([["w=dog"]])
    (['D', 'N'], ['N'])
    """

    def __init__(self, crf: Any):
        self._crf = crf

    def info(self) -> SimpleNamespace:
        """Return labels and attributes with their numbers, and weights, as ``pycrfsuite`` does."""
        crf = self._crf
        return SimpleNamespace(
            header={"type": "FOMC"},
            labels={label: str(i) for i, label in enumerate(crf.classes_)},
            attributes={name: str(i) for i, name in enumerate(crf.attributes_)},
            state_features=crf.state_features_,
            transitions=crf.transition_features_,
        )

    def _opened(self) -> Any:
        return self._crf._kept_tagger()

    def _read(self, xseq: Any) -> list:
        tokens = as_sequences(listed([xseq])).X.data.tolist()
        tokens = [list(token) if isinstance(token, Iterator) else token for token in tokens]
        attribute_rows(self._crf.vectorizer_, [tokens])  # its errors name the token
        return tokens
