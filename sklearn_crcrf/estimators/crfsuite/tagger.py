"""What programs for python-crfsuite expect of a tagger, and of predicted labels."""

from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...data.ragged import object_array
from ...structures import Scores, Structure


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


class CRFsuiteTagger:
    """The methods of ``pycrfsuite.Tagger`` for a fitted model.

    Parameters
    ----------
    crf : CRFsuiteCRF

    Notes
    -----
    Its weights are copied for the first sequence, and again when other arrays take their place; a
    weight that is changed in place is not noticed.

    Examples
    --------
    >>> from sklearn_crcrf import CRFsuiteCRF
    >>> tagger = CRFsuiteCRF().fit([[["w=the"], ["w=dog"]]], [["D", "N"]]).tagger_
    >>> tagger.labels(), tagger.tag([["w=dog"]])
    (['D', 'N'], ['N'])
    """

    def __init__(self, crf: Any):
        self._crf = crf
        self._xseq: Any = None
        self._marginals: list[list[float]] = []
        self._number: dict = {}

    def labels(self) -> list:
        """Return all labels."""
        return self._crf.classes_ or []

    def set(self, xseq: Any) -> None:
        """Set the sequence that the other methods are about."""
        self._xseq, self._marginals = list(xseq) if isinstance(xseq, Iterator) else xseq, []

    def tag(self, xseq: Any = None) -> list:
        """Return the labels of the best path of a sequence, by default of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        self._require_sequence()
        if isinstance(self._xseq, list):
            with suppress(TypeError, ValueError):
                return self._crf._kept_tagger()(self._xseq)
        # This takes bytes too, and its errors name the token.
        return self._crf.predict_single(self._xseq)

    def marginal(self, y: Any, pos: int) -> float:
        """Return the probability of the label y at a position of the sequence that was set."""
        self._require_sequence()
        if not self._marginals:
            crf = self._crf
            self._number = {label: i for i, label in enumerate(crf.classes_)}
            if isinstance(self._xseq, list):
                with suppress(TypeError, ValueError):
                    self._marginals = crf._kept_tagger().probabilities(self._xseq).tolist()
            if not self._marginals:
                tokens = crf.predict_marginals_single(self._xseq)
                self._marginals = [list(token.values()) for token in tokens]
        return self._marginals[pos][self._number[y]]

    def probability(self, yseq: Any) -> float:
        """Return the probability of labels of the sequence that was set.

        Raises
        ------
        ValueError
            If they are not as many as the tokens, or a label is unknown.
        """
        self._require_sequence()
        rows, crf = self._crf._rows([self._xseq]), self._crf.crf_
        number = {label: i for i, label in enumerate(crf.classes_.tolist())}
        yseq = list(yseq)
        if len(yseq) != rows.data.shape[0] or not set(yseq) <= set(number):
            raise ValueError(
                f"yseq must be {rows.data.shape[0]} labels out of {[*number]}, got {yseq!r}"
            )
        path = np.array([number[label] for label in yseq], dtype=np.int32)

        def log_probability(structure: Structure, scores: Scores, first: int) -> np.ndarray:
            return structure.score(scores, path)[0] - structure.log_partition(scores)[0]

        (found,), _ = crf._map(rows, log_probability)
        return float(np.exp(found)[0])

    def info(self) -> SimpleNamespace:
        """Labels and attributes with their numbers, and weights, as ``pycrfsuite`` has them."""
        crf = self._crf
        return SimpleNamespace(
            header={"type": "FOMC"},
            labels={label: str(i) for i, label in enumerate(crf.classes_)},
            attributes={name: str(i) for i, name in enumerate(crf.attributes_)},
            state_features=crf.state_features_,
            transitions=crf.transition_features_,
        )

    def _require_sequence(self) -> None:
        if self._xseq is None:
            raise ValueError("no sequence is set: call set(xseq) first")
