"""The file of the model of an estimator, as sklearn-crfsuite has one."""

import os
import tempfile
from typing import Any
from weakref import ReferenceType, finalize

from ...serving.crfsuite.binary_model import crfsuite_bytes
from .weights import as_crfsuite_model


class ModelFile:
    """A file with the model of an estimator, which is written when its name is asked for.

    Parameters
    ----------
    owner : weak reference to a CRFsuiteCRF

    Examples
    --------
    >>> from sklearn_crcrf import CRFsuiteCRF
    >>> crf = CRFsuiteCRF().fit([[["a"], ["b"]]], [["x", "y"]])
    >>> open(crf.modelfile.name, "rb").read(4)
    b'lCRF'
    """

    def __init__(self, owner: "ReferenceType[Any]"):
        self._owner: Any = owner
        self._written: tuple[Any, str | None] = None, None

    @property
    def name(self) -> str | None:
        """Name of the file; None before fit. A temporary file goes with the estimator."""
        owner = self._owner()
        if owner is None:
            return None
        if owner.model_filename is not None:
            return os.fspath(owner.model_filename)
        crf, name = self._written
        if owner._trained() is not crf:
            handle, name = tempfile.mkstemp(".crfsuite", "model")
            with open(handle, "wb") as file:
                file.write(crfsuite_bytes(as_crfsuite_model(owner.crf_)))
            finalize(owner, os.unlink, name)
            self._written = owner.crf_, name
        return name

    def refresh(self) -> None:
        """Let the next question for the name write a new file."""
        self._written = None, None
