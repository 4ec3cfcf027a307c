"""A component of spaCy that finds spans by a :class:`~sklearn_crcrf.text.TextTagger`.

``nlp.add_pipe("crcrf", config={"model": path})`` adds it; spaCy finds this factory by itself.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

try:
    from spacy.language import Language
    from spacy.scorer import get_ner_prf
    from spacy.tokens import Doc, SpanGroup
    from spacy.util import filter_spans, minibatch
except ImportError as error:
    raise ImportError("sklearn_crcrf.integrations.spacy needs spacy: pip install spacy") from error

from ..model_files import load_model, save_model
from ..text import Span

FILE = "model"


@Language.factory(
    "crcrf",
    assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
    default_config={"model": None, "spans_key": "crcrf", "overwrite_ents": False},
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0},
)
class SpanFinder:
    """Finds spans of documents of spaCy, with their probabilities.

    Parameters
    ----------
    nlp : Language
        The pipeline.
    name : str
        Of this component in the pipeline.
    model : str or None
        The file of a :class:`~sklearn_crcrf.text.TextTagger`, as
        :func:`~sklearn_crcrf.model_files.save_model` writes it. It is read when the first document
        comes. ``nlp.to_disk`` stores the model with the pipeline, where ``spacy.load`` finds it.
    spans_key : str, default="crcrf"
        ``doc.spans[spans_key]`` has all spans, and ``doc.spans[spans_key].attrs["scores"]`` their
        probabilities, in the same order.
    overwrite_ents : bool, default=False
        Whether these spans replace entities of earlier components with which they overlap.

    Notes
    -----
    A span takes all tokens of spaCy that it touches. ``doc.ents`` has no overlaps: of spans that
    share a token it has the longest.
    """

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: str | None,
        spans_key: str,
        overwrite_ents: bool,
    ):
        self.name, self.model, self.spans_key = name, model, spans_key
        self.overwrite_ents = overwrite_ents
        self._tagger: Any = None

    @property
    def tagger(self) -> Any:
        """The TextTagger."""
        if self._tagger is None:
            if self.model is None:
                raise ValueError(
                    f'the component {self.name!r} has no model: config={{"model": path}} names its '
                    "file"
                )
            self._tagger = load_model(self.model).estimator
        return self._tagger

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of spans, once the model is read."""
        return () if self._tagger is None else tuple(self._tagger.labels_)

    def __call__(self, doc: Doc) -> Doc:
        """Find the spans of a document."""
        self._set(doc, *self.tagger.predict([doc.text]))
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Find the spans of many documents, of ``batch_size`` at a time."""
        for docs in minibatch(stream, batch_size):
            for doc, spans in zip(
                docs, self.tagger.predict([doc.text for doc in docs]), strict=True
            ):
                self._set(doc, spans)
                yield doc

    def _set(self, doc: Doc, spans: list[Span]) -> None:
        """Write spans into a document."""
        own = [doc.char_span(*span[:3], alignment_mode="expand") for span in spans]
        scores = np.array([span.probability for span in spans], dtype=np.float32)
        group = SpanGroup(doc, name=self.spans_key, spans=own, attrs={"scores": scores})
        doc.spans[self.spans_key] = group
        first, then = (own, doc.ents) if self.overwrite_ents else (doc.ents, own)
        taken = {token.i for span in first for token in span}
        free = (span for span in then if taken.isdisjoint(range(span.start, span.end)))
        doc.set_ents(filter_spans([*first, *free]))

    def score(self, examples: Iterable, **kwargs: Any) -> dict[str, Any]:
        """Return precision, recall and F1 of entities, for ``nlp.evaluate``."""
        return get_ner_prf(examples, **kwargs)

    def to_disk(self, path: Any, exclude: Iterable[str] = ()) -> None:
        """Store the model in a folder."""
        Path(path).mkdir(parents=True, exist_ok=True)
        save_model(self.tagger, Path(path) / FILE)

    def from_disk(self, path: Any, exclude: Iterable[str] = ()) -> "SpanFinder":
        """Read the model from a folder."""
        self._tagger = load_model(Path(path) / FILE).estimator
        return self
