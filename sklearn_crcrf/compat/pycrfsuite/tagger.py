"""The tagger of python-crfsuite, over our compiled tagger."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import IO, Any

from ...serving import Tagger as CompiledTagger
from ...serving.crfsuite.binary_model import CRFsuiteModel, ModelParts
from ...serving.crfsuite.content import crfsuite_content, model_of
from ...serving.crfsuite.tagger import SequenceTagger
from ...utils.unpacking import MAX_BYTES, Budget
from .items import SEPARATOR, ItemSequence

# The fields of the header of a model, as the text of a model names them.
NAMES = ["magic", "size", "type", "version", "num_features", "num_labels", "num_attrs"]
OFFSETS = ["off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs"]


class ParsedDump:
    """What a model consists of.

    Attributes
    ----------
    header : dict of str
    labels, attributes : dict from str to str
        The numbers of labels and attributes.
    transitions : dict ``{(from_label, to_label): weight}``
    state_features : dict ``{(attribute, label): weight}``
        Weights are rounded to six decimals, as in the text of a model.
    """

    def __init__(self, header: tuple, model: CRFsuiteModel):
        shown = [str(f.decode() if isinstance(f, bytes) else f) for f in header[: len(NAMES)]]
        offsets = [f"0x{offset:X}" for offset in header[len(NAMES) :]]
        self.header = dict(zip(NAMES + OFFSETS, shown + offsets, strict=True))
        self.labels, self.attributes = (
            {name: str(i) for i, name in enumerate(of)} for of in (model.labels, model.attributes)
        )
        self.transitions, self.state_features = (
            {
                (sources[i], model.labels[j]): round(w, 6)
                for w, i, j in zip(weight.tolist(), *(k.tolist() for k in place), strict=True)
            }
            for sources, (weight, place) in (
                (model.labels, model.transitions),
                (model.attributes, model.states),
            )
        )

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text of the model, as ``crfsuite dump`` writes it."""
        parts = {
            "FILEHEADER": (f"  {name}: {value}" for name, value in self.header.items()),
            "LABELS": (f"  {i:>5}: {name}" for name, i in self.labels.items()),
            "ATTRIBUTES": (f"  {i:>5}: {name}" for name, i in self.attributes.items()),
            "TRANSITIONS": (f"  (1) {a} --> {b}: {w:f}" for (a, b), w in self.transitions.items()),
            "STATE_FEATURES": (
                f"  (0) {a} --> {b}: {w:f}" for (a, b), w in self.state_features.items()
            ),
        }
        for name, lines in parts.items():
            yield from (f"{name} = {{", *lines, "}", "")


class Tagger(SequenceTagger):
    """Labels sequences, as ``pycrfsuite.Tagger``, with a model of CRFsuite.

    Tokens are as :class:`ItemSequence` takes them.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn_crcrf.compat import pycrfsuite
    >>> trainer, tagger = pycrfsuite.Trainer(verbose=False), pycrfsuite.Tagger()
    >>> trainer.append([{"word": "the"}, {"word": "dog"}], ["D", "N"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trainer.train(f"{folder}/model.crfsuite")
    ...     context = tagger.open(f"{folder}/model.crfsuite")
    >>> tagger.tag([{"word": "the"}]), round(tagger.marginal("D", 0), 2)
    (['D'], 0.55)
    """

    _others = str  # its characters are attributes
    _tagger: CompiledTagger | None

    def __init__(self) -> None:
        self.close()

    def open(self, name: str | os.PathLike) -> closing:
        """Open the file of a model; return a context manager that closes it.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If it is not a complete model.
        """
        try:
            with open(name, "rb") as file:
                return self._open(file)
        except ValueError as error:
            raise ValueError(f"{os.fspath(name)}: {error}") from error

    def open_inmemory(self, value: bytes) -> closing:
        """Open a model, the content of such a file.

        Raises
        ------
        ValueError
            If it is not a complete model.
        TypeError
            If it is not bytes.
        """
        if not isinstance(value, bytes):
            raise TypeError(f"value must be bytes, got {type(value).__name__}")
        return self._open(io.BytesIO(value))

    def _open(self, file: IO[bytes]) -> closing:
        parts = ModelParts(file)
        content = crfsuite_content(parts, SEPARATOR, Budget(MAX_BYTES))
        self.close()
        self._tagger, self._header = CompiledTagger(content), parts.header
        return closing(self)

    def close(self) -> None:
        """Close the model."""
        self._tagger, self._header = None, ()
        self._paths = None

    def info(self) -> ParsedDump:
        """Return what the model consists of."""
        if self._tagger is None:
            raise RuntimeError("Tagger is closed")
        return ParsedDump(self._header, model_of(self._tagger.content()))

    def dump(self, filename: str | os.PathLike | None = None) -> None:
        """Write the text of the model to a file, by default to the standard output."""
        lines = self.info().lines()
        if filename is None:
            sys.stdout.writelines(f"{line}\n" for line in lines)
            return
        with open(filename, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    def _opened(self) -> CompiledTagger:
        if self._tagger is None:
            raise ValueError("The tagger is not opened")
        return self._tagger

    def _read(self, xseq: Any) -> list:
        return (xseq if isinstance(xseq, ItemSequence) else ItemSequence(xseq))._items
