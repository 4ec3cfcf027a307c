"""What the log of CRFsuite's training says; imports nothing of this package, for any name of it."""

import re
from fractions import Fraction
from typing import Any, NamedTuple

# The figures of an iteration: their names, their lines, and their types.
FIGURES = {
    "loss": ("Loss", float),
    "feature_norm": ("Feature norm", float),
    "error_norm": ("Error norm", float),
    "active_features": ("Active features", int),
    "linesearch_trials": ("Line search trials", int),
    "linesearch_step": ("Line search step", float),
    "time": ("Seconds required for this iteration", float),
}
HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}")
SCORES = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \(([\d.*]+), ([\d.*]+), ([\d.*]+)\)")
MEANS = re.compile(r"Macro-average precision, recall, F1: \(([\d.*]+), ([\d.*]+), ([\d.*]+)\)")
ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")


class LabelScore(NamedTuple):
    """How well a label was found in the sequences that are held out."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainLogParser:
    """Reads the log of a training, line by line.

    Attributes
    ----------
    log : list of str
        All lines.
    iterations : list of dict
        Of each iteration its number ``num`` and its figures, such as ``loss`` and ``time``; with
        sequences that are held out also ``avg_f1``, ``item_accuracy``, ``instance_accuracy``, and
        ``scores``, a :class:`LabelScore` for each label.
    last_iteration : dict or None
    last_log : str
        The lines of the last event.
    featgen_percent, featgen_num_features, featgen_seconds, training_seconds, storing_seconds
        Figures of the other parts of the training; None if they are not known.
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self._part = "start"

    @property
    def last_log(self) -> str:
        """The lines of the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def feed(self, line: str) -> str | None:
        """Read one more line; return the event that it ends, or None.

        Events are "start", "featgen_progress", "featgen_end", "prepared", "prepare_error",
        "iteration", "optimization_end" and "end".
        """
        self.log.append(line)
        event = getattr(self, f"_read_{self._part}")(line)
        if event is not None:
            start = self.events[-1][2] if self.events else 0
            # These end before the line that shows it.
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, start, end))
        return event

    def _read_start(self, line: str) -> str:
        self._part = "features"
        return "start"

    def _read_features(self, line: str) -> str | None:
        if line.strip() and line in "0123456789.10":
            self.featgen_percent += 2
            return "featgen_progress"
        if self._finds("featgen_num_features", "Number of features", line, int):
            return None
        if not self._finds("featgen_seconds", "Seconds required", line):
            return None
        self._part = "settings"
        return "featgen_end"

    def _read_settings(self, line: str) -> str | None:
        if "terminated with error" in line:
            self._part = "end"
            return "prepare_error"
        return "prepared" if self._begins(line) else None

    def _begins(self, line: str) -> bool:
        """Whether the line begins an iteration."""
        if head := HEAD.match(line):
            self.last_iteration = {"num": int(head[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
            self._part = "iteration"
        return head is not None

    def _read_iteration(self, line: str) -> str | None:
        if line == "\n":
            self._part = "end"
            return "iteration"
        found = self.last_iteration or {}
        for name, (title, kind) in FIGURES.items():
            if number := _number(title, line):
                found[name] = kind(number)
        if means := MEANS.match(line):
            names = "avg_precision", "avg_recall", "avg_f1"
            found.update(zip(names, map(float, means.groups()), strict=True))
        if match := ACCURACY.match(line):
            name, rate = f"{match[1].lower()}_accuracy", Fraction(int(match[2]), int(match[3]))
            found |= {name: rate, f"{name}_float": float(rate)}
        if match := SCORES.match(line):
            rates = (None if "*" in rate else float(rate) for rate in match.groups()[4:])
            found["scores"][match[1]] = LabelScore(*map(int, match.groups()[1:4]), *rates)
        return None

    def _read_end(self, line: str) -> str | None:
        self._finds("training_seconds", "Total seconds required for training", line)
        if self._begins(line) or not line.startswith("Storing the model"):
            return None
        self._part = "storing"
        return "optimization_end"

    def _read_storing(self, line: str) -> str | None:
        self._finds("storing_seconds", "Seconds required", line)
        return "end" if line == "\n" else None

    def _finds(self, name: str, title: str, line: str, kind: type = float) -> bool:
        """Set an attribute if the line has this title."""
        number = _number(title, line)
        if number:
            setattr(self, name, kind(number))
        return number is not None


def _number(title: str, line: str) -> str | None:
    """Return the number in a line with this title, None for another line."""
    match = re.match(rf"{title}: (\d+(?:\.\d+)?)\b", line)
    return match[1] if match else None
