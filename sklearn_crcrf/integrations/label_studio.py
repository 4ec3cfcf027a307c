"""A machine learning backend of Label Studio: a TextTagger that proposes spans, and learns."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

try:
    from label_studio_ml.model import LabelStudioMLBase
except ImportError as error:
    raise ImportError(
        "sklearn_crcrf.integrations.label_studio needs Label Studio's ML backend: "
        "pip install git+https://github.com/HumanSignal/label-studio-ml-backend.git"
    ) from error
try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from ..model_files import load_model, save_model
from ..text.formats.label_studio import regions_of, spans_of
from ..utils.replacing import replacing

LEARNED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")
FORGOTTEN = ("ANNOTATION_UPDATED", "ANNOTATION_DELETED")


class SpanBackend(LabelStudioMLBase):
    """Proposes spans in Label Studio, and learns from each annotation when it is submitted.

    A subclass names the model: ``model_file`` is the path of a
    :class:`~sklearn_crcrf.TextTagger` that :func:`~sklearn_crcrf.model_files.save_model` has
    written. It is written again after each annotation.

    Notes
    -----
    An annotation is learned by :meth:`TextTagger.partial_fit`. If it is changed or deleted, what it
    said before is forgotten: a file beside the model, whose name ends in ``.learned.json``, has the
    spans that each task has taught.
    """

    model_file: str | Path
    _loaded: ClassVar[tuple[tuple, Any]] = (), None
    _lock: ClassVar[Lock] = Lock()

    def predict(self, tasks: list[dict], *args: Any, **kwargs: Any) -> list[dict]:
        """Return the regions of each task; the score of a task is that of its least sure span."""
        from_name, to_name, key, labels = self._tags()
        texts, predictions = [task["data"][key] for task in tasks], []
        for text, found in zip(texts, self._tagger().predict(texts), strict=True):
            spans = [span for span in found if span.label in labels]
            score = min((span.probability for span in spans), default=1.0)
            result = regions_of(text, spans, from_name, to_name)
            predictions.append({"result": result, "score": score})
        return predictions

    def fit(self, *args: Any, event: str = "", data: Any = None, **kwargs: Any) -> dict:
        """Learn the annotation of an event of Label Studio, and forget what it replaces."""
        if not event:  # the arguments are named in older versions of the package only
            event, data = args[:2]
        if event not in {*LEARNED, *FORGOTTEN}:
            return {}
        key, task = self._tags()[2], data["task"]
        text, number, spans = task["data"][key], str(task["id"]), None
        if event in LEARNED:
            found = spans_of(text, data["annotation"]["result"], f"task {number}")
            spans = [span[:3] for span in found]
        with self._alone():
            self._learn(text, number, spans)
        return {}

    def _learn(self, text: str, number: str, spans: list | None) -> None:
        """Learn the spans of a task in place of those that it has taught before."""
        tagger, file = self._tagger(), Path(f"{self.model_file}.learned.json")
        learned = json.loads(file.read_text("utf-8")) if file.exists() else {}
        before = learned.pop(number, None)
        type(self)._loaded = (), None  # the file is read again, should anything fail
        if before is not None:
            tagger.forget([text], [before])
        if spans is not None:
            tagger.partial_fit([text], [spans])
            learned[number] = spans
        save_model(tagger, self.model_file)
        with replacing(file) as stream:
            stream.write(json.dumps(learned).encode())
        type(self)._loaded = self._stamp(), tagger

    def _tagger(self) -> Any:
        """Return the model, read again if its file has changed."""
        stamp, (loaded, tagger) = self._stamp(), self._loaded
        if stamp != loaded:
            tagger = load_model(self.model_file).estimator
            type(self)._loaded = stamp, tagger
        return tagger

    def _stamp(self) -> tuple:
        """Return what tells one model file from another."""
        path = Path(self.model_file)
        return path, path.stat().st_mtime_ns

    def _tags(self) -> tuple[str, str, str, list[str]]:
        """Return the names of the tags of labels and text, the key of the text, and the labels."""
        for name, tag in self.parsed_label_config.items():
            if tag["type"] == "Labels" and tag["inputs"][0]["type"] in ("Text", "HyperText"):
                return name, tag["to_name"][0], tag["inputs"][0]["value"], tag["labels"]
        raise ValueError("the labeling configuration has no <Labels> for a <Text>")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until no other thread or process trains the model."""
        with self._lock, open(f"{self.model_file}.lock", "w") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
