"""Taggers from files."""

import os

from ..utils.unpacking import MAX_BYTES, Budget
from .crfsuite.binary_model import MAGIC, ModelParts
from .crfsuite.content import crfsuite_content
from .files import read_content
from .small import unpacked
from .tagger import Tagger


def load_tagger(
    file: str | os.PathLike,
    max_bytes: int | None = MAX_BYTES,
    *,
    mapped: bool | None = None,
    separator: str | None = None,
) -> Tagger:
    """Load a tagger from a file, which is read into memory, or mapped.

    The file is checked, so that a damaged file is an error. Processes that map the same file share
    its memory, but it must not be written into as long as one of them runs: then labels change, or
    the process ends. To replace a file that is mapped, save to its name again, or move another file
    there, as ``mv`` of the same disk does: that makes a new file, and the old one stays until
    nobody uses it. ``cp`` over a file writes into it.

    Parameters
    ----------
    file : str or path-like
        Written by :meth:`Tagger.save`; or a binary model of CRFsuite, whose labels are in the order
        that they have there.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, and of what is made of it; None for no limit.
    mapped : bool or None, default=None
        Whether to map a file that is not compressed; None maps files of more than 256 MiB, and
        reads smaller ones into memory. A model of CRFsuite is never mapped.
    separator : {":", "="}, default=None
        Of a model of CRFsuite: joins keys and values of feature dicts. None is ``=`` if most
        attributes contain it, else ``:``, as python-crfsuite joins them.

    Returns
    -------
    Tagger

    Raises
    ------
    ValueError
        If this is not a file of a tagger or of CRFsuite, or it is damaged, too large, or of a later
        version.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.serving import load_tagger
    >>> crf = CRF().fit([["a", "dog"], ["dogs"]], [["D", "N"], ["N"]])
    >>> with TemporaryDirectory() as folder:
    ...     crf.tagger().save(Path(folder, "dogs.tagger"))
    ...     tagger = load_tagger(Path(folder, "dogs.tagger"))
    >>> tagger(["a", "dog"])
    ['D', 'N']
    """
    try:
        with open(file, "rb") as opened:
            if opened.read(len(MAGIC)) == MAGIC:
                Budget(max_bytes).take(os.fstat(opened.fileno()).st_size)
                budget = Budget(max_bytes)
                return Tagger(crfsuite_content(ModelParts(opened), separator, budget))
        return Tagger(unpacked(read_content(file, max_bytes, mapped)))
    except ValueError as error:
        raise ValueError(f"{os.fspath(file)}: {error}") from error
