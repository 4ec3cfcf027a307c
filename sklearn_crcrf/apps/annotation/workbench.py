"""Sentences handed out to people, their labels logged, and learned at once."""

import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

from ...display.colours import hues_of
from ...estimators.empirical import EmpiricalCRF
from .annotations import Annotation, Annotations, Change
from .learner import Learner
from .log import Log
from .marks import Marks, proposals
from .order import Order
from .pool import Pool
from .worker import Worker

# Number of sentences of which a point of the curve is the mean.
WINDOW = 25


class Agreement:
    """A learning curve: the share of tokens whose proposed label was accepted.

    A proposal is made before the sentence is learned, so the curve is honest, although it is about
    the sentences that the model doubted most.

    Examples
    --------
    >>> from sklearn_crcrf.apps.annotation.workbench import Agreement
    >>> agreement = Agreement()
    >>> agreement.add(["D", "N"], ["D", "V"])
    >>> agreement.add(["D", "N"], ["D", "N"])
    >>> agreement.curve
    [0.5, 0.75]
    """

    def __init__(self):
        self._counts: list[tuple[int, int]] = []
        self.curve: list[float] = []

    def add(self, predicted: Sequence[str], accepted: Sequence[str]) -> None:
        """Take up one accepted sentence."""
        same = sum(a == b for a, b in zip(predicted, accepted, strict=True))
        self._counts = [*self._counts[1 - WINDOW :], (same, len(accepted))]
        right, total = (sum(column) for column in zip(*self._counts, strict=True))
        self.curve.append(right / total if total else 1.0)


# Seconds for which a person waits at most for the model to learn the last sentence.
HASTE = 0.05
# Scores of tokens and labels above which a sentence has no alternatives, which would take seconds.
MAX_SCORES = 500_000


class Workbench(AbstractContextManager["Workbench"]):
    """Hands out sentences to people, logs their labels, and learns these immediately.

    Methods take ``by``, the name of a person, and ``sentence``, its number in the pool. All may be
    called by several threads, and return only when what they log is on disk.

    Parameters
    ----------
    pool : Pool
        The sentences.
    log : Log
        Where annotations are written; those that it has count.
    marks : Marks
        What can be marked in a sentence.
    start : EmpiricalCRF, default=None
        The model to start from, fitted or not; by default ``EmpiricalCRF()``. It does not change,
        unless the pool has gold labels: then it is fitted to these.
    measure : {"mixed", "entropy", "margin"} or None, default="mixed"
        The order of sentences. "entropy" and "margin" hand out the sentence of greatest doubt by
        this measure; "mixed" alternates between the one of least margin and the next of the text;
        None keeps the order of the text. Sentences with gold labels come by suspicion, unless it is
        None.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_crcrf.apps.annotation import Log, Pool, TagMarks, Workbench
    >>> pool = Pool.of_lines(["the dog walks", "a cat sleeps", "the cat walks"])
    >>> with TemporaryDirectory() as folder, Log(Path(folder, "log.jsonl")) as log:
    ...     with Workbench(pool, log, TagMarks(["D", "N", "V"])) as bench:
    ...         _ = bench.accept("ann", 0, ["D", "N", "V"])
    ...         _ = bench.accept("ann", 1, ["D", "N", "V"])
    ...         bench.settle()
    ...         bench.view(2)["labellings"][0]["marks"]
    ['D', 'N', 'V']
    """

    def __init__(
        self,
        pool: Pool,
        log: Log,
        marks: Marks,
        start: EmpiricalCRF | None = None,
        measure: str | None = "mixed",
    ):
        self.pool, self.marks, self._log, self._measure = pool, marks, log, measure
        self.annotations = Annotations(sentences=pool.sentences)
        self.agreement = Agreement()
        self.order = Order(pool.sentences)
        self._is_mixed = measure == "mixed" and pool.gold is None
        self._n_handed = Counter[str]()
        self._lock = threading.RLock()
        start = EmpiricalCRF() if start is None else start
        if pool.gold is not None:
            start = start.fit(list(pool.sentences), list(pool.gold))
        learner = Learner(start, pool.gold)
        for number, entry in enumerate(log.entries):
            change = self._take_up(entry)
            if change.after is not None:
                self._require_marks(number, change.after)
        learner.take([Change(None, annotation) for annotation in self.annotations.standing])
        self._worker = Worker(learner, pool, self.order, measure)
        self._worker.start()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread that learns."""
        self._worker.close()

    @property
    def model(self) -> EmpiricalCRF | None:
        """The latest model; None as long as nothing was learned."""
        return self._worker.model

    def settle(self) -> None:
        """Wait until everything is learned, and waiting sentences are in their new order."""
        self._worker.settle()

    def state(self) -> dict[str, Any]:
        """Say what can be marked, and how far the work is."""
        with self._lock:
            return {
                "kind": self.marks.kind,
                "names": list(self.marks.names),
                "hues": hues_of(self.marks.names),
                "separator": self.pool.separator,
                "total": len(self.pool.sentences),
                "accepted": len(self.annotations.standing),
                "waiting": self.order.n_waiting,
                "flagged": self.annotations.marked("flag"),
                "conflicts": sorted(self.annotations.conflicts),
                "checks_gold": self.pool.gold is not None,
                "curve": _thinned(self.agreement.curve),
            }

    def next(self, by: str) -> dict[str, Any] | None:
        """Hand out the next sentence to a person; None if none waits."""
        self._worker.wait(HASTE)
        with self._lock:
            self._n_handed[by] += 1
            is_first = self._measure is None or (self._is_mixed and self._n_handed[by] % 2 == 0)
            sentence = (self.order.hand_out_first if is_first else self.order.hand_out)(by)
        return None if sentence is None else self.view(sentence)

    def open(self, by: str, sentence: int) -> dict[str, Any]:
        """Hand out a given sentence, also one that was accepted."""
        with self._lock:
            self._require(sentence)
            self.order.take(by, sentence)
        return self.view(sentence)

    def accept(self, by: str, sentence: int, marks: list) -> dict[str, Any]:
        """Log and learn the marks of a sentence.

        Returns
        -------
        dict
            "conflict": the marks that another person had given to it, or None.

        Raises
        ------
        ValueError
            If the marks do not fit the sentence.
        OSError
            If the log cannot be written; then nothing has changed.
        """
        self._require(sentence)
        tokens = self.pool.sentences[sentence]
        labels = self.marks.write(marks, len(tokens))
        model = self.model
        predicted = None if model is None else list(model.predict([tokens])[0])
        entry = {"do": "accept", "sentence": sentence, "tokens": tokens, "labels": labels}
        with self._lock:
            before = self.annotations.of(sentence)
            self._write({**entry, "predicted": predicted, "by": by})
        if before is None or before.by == by or list(before.labels) == labels:
            return {"conflict": None}
        return {"conflict": self._said(before)}

    def skip(self, by: str, sentence: int) -> None:
        """Log that a person skips a sentence: it is not handed out again."""
        self._require(sentence)
        self._write({"do": "skip", "sentence": sentence, "by": by})

    def flag(self, by: str, sentence: int) -> None:
        """Log that somebody else should look at a sentence."""
        self._require(sentence)
        self._write({"do": "flag", "sentence": sentence, "by": by})

    def undo(self, by: str) -> int | None:
        """Undo the last act of a person; return its sentence, None if there was no act."""
        with self._lock:
            last = self.annotations.last_act(by)
            if last is None:
                return None
            sentence = self.annotations.sentence_of(last)
            self._write({"do": "undo", "entry": last, "by": by})
            self.order.take(by, sentence)
        self._worker.wait(HASTE)
        return sentence

    def add_name(self, by: str, name: str) -> None:
        """Add a type of segments, or a tag."""
        with self._lock:
            if name in self.marks.names:
                raise ValueError(f"the label {name!r} is known")
            self._write({"do": "label", "name": name, "by": by})

    def search(self, text: str, among: range | None = None) -> list[dict[str, Any]]:
        """Find the first sentences that contain a text, of all or of a range."""
        found = self.pool.search(text, among=among)
        return [
            {
                "sentence": i,
                "text": self.pool.separator.join(self.pool.sentences[i]),
                "is_accepted": self.annotations.of(i) is not None,
            }
            for i in found
        ]

    def view(self, sentence: int) -> dict[str, Any]:
        """Return a sentence with all that is known of it.

        Returns
        -------
        dict
            "labellings" are the best ones, as marks with their probabilities; "likeliest" the
            labels of each token; "accepted" what a person said, "given" the labels that are to be
            checked or were proposed, each None if there are none.
        """
        tokens, annotation = self.pool.sentences[sentence], self.annotations.of(sentence)
        labels = (self.pool.gold or self.pool.proposed or {sentence: None})[sentence]
        return {
            "sentence": sentence,
            "tokens": tokens,
            **self._proposal(tokens),
            "given": None if labels is None else self.marks.read(labels),
            "accepted": None if annotation is None else self._said(annotation),
            "flagged": self.annotations.is_marked("flag", sentence),
        }

    def _proposal(self, tokens: list[str]) -> dict[str, Any]:
        model = self.model  # which may be replaced at any time
        if model is not None and len(tokens) * len(model.classes_) <= MAX_SCORES:
            return proposals(model, [tokens], self.marks)[0]
        marks, share = self.marks.blank(len(tokens)), None
        if model is not None:
            marks = self.marks.read(model.predict([tokens])[0])
            share = float(model.confidence([tokens])[0])
        return {"labellings": [{"marks": marks, "share": share}], "likeliest": [[] for _ in tokens]}

    def _said(self, annotation: Annotation) -> dict[str, Any]:
        return {"by": annotation.by, "marks": self.marks.read(annotation.labels)}

    def _require_marks(self, number: int, annotation: Annotation) -> None:
        """Raise ValueError unless the labels of an entry can be shown as marks."""
        try:
            self.marks.read(annotation.labels)
        except ValueError as error:
            raise ValueError(f"entry {number} of the log: {error}") from error

    def _require(self, sentence: Any) -> None:
        if not isinstance(sentence, int) or not 0 <= sentence < len(self.pool.sentences):
            raise ValueError(f"there is no sentence {sentence!r}")

    def _write(self, entry: dict[str, Any]) -> None:
        """Log an entry, then take it up and have it learned."""
        with self._lock:
            entry = {**entry, "time": datetime.now(UTC).isoformat(timespec="seconds")}
            self.annotations.check(entry)
            change = self._take_up(self._log.append(entry))
            self._worker.give(change)

    def _take_up(self, entry: dict[str, Any]) -> Change:
        change = self.annotations.apply(entry)
        if entry["do"] == "label":
            self.marks.add(entry["name"])
            return change
        is_undo = entry["do"] == "undo"
        sentence = self.annotations.sentence_of(entry["entry"]) if is_undo else entry["sentence"]
        is_done = self.annotations.of(sentence) is not None
        is_done |= any(self.annotations.is_marked(mark, sentence) for mark in ("skip", "flag"))
        self.order.set_done(sentence, is_done)
        if entry["do"] == "accept" and entry.get("predicted") is not None:
            self.agreement.add(entry["predicted"], entry["labels"])
        return change


def _thinned(curve: Sequence[float], n: int = 200) -> list[tuple[int, float]]:
    """Return at most about n points of a curve, counted from 1, with its last one."""
    points = [(k, round(value, 4)) for k, value in enumerate(curve, 1)]
    return points[::-1][:: max(1, len(curve) // n)][::-1]
