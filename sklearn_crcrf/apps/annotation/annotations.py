"""What the entries of a log amount to: the labels that stand, and what was undone."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

ACTS = ("accept", "skip", "flag")


class Annotation(NamedTuple):
    """The labels that a person accepted for a sentence.

    Attributes
    ----------
    entry : str
        Id of the entry in the log.
    sentence : int
        Position in the pool.
    tokens, labels : tuple of str
        The tokens of the sentence, and their labels.
    by : str
        Who accepted them.

    Examples
    --------
    >>> from sklearn_crcrf.apps.annotation import Annotation
    >>> Annotation("9f", 5, ("Ann", "sings"), ("B-PER", "O"), "bob").labels
    ('B-PER', 'O')
    """

    entry: str
    sentence: int
    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    by: str


class Change(NamedTuple):
    """What an entry changes in the data that a model is fitted to."""

    before: Annotation | None = None
    after: Annotation | None = None


class Annotations:
    """The state that the entries of a log lead to.

    An entry has the keys "id" and "do" and, according to the latter:

    - "accept": "sentence", "tokens", "labels", "by", and perhaps "predicted" and "time";
    - "skip" and "flag": "sentence", "by";
    - "undo": "entry", the id of the entry that is undone, and "by";
    - "label": "name" of a label that is added, and "by".

    Parameters
    ----------
    entries : iterable of mappings
    sentences : sequence of token lists, optional
        The pool; entries must have its tokens.

    Raises
    ------
    ValueError
        If an entry is not valid; the message names its position.

    Examples
    --------
    >>> from sklearn_crcrf.apps.annotation import Annotations
    >>> accepted = {"do": "accept", "sentence": 0, "tokens": ["a"], "labels": ["D"], "by": "ann"}
    >>> annotations = Annotations([{**accepted, "id": "9f"}])
    >>> [(a.sentence, a.labels) for a in annotations.standing]
    [(0, ('D',))]
    >>> annotations.apply({"do": "undo", "entry": "9f", "by": "ann", "id": "a0"}).after is None
    True
    >>> annotations.standing
    []
    """

    def __init__(self, entries: Iterable[Mapping[str, Any]] = (), sentences: Any = None):
        self._sentences = sentences
        self._acts: dict[str, dict[str, Any]] = {}
        self._accepted: dict[int, list[Annotation]] = {}
        self._marked: dict[str, dict[int, set[str]]] = {"skip": {}, "flag": {}}
        self.names: list[str] = []
        for entry in entries:
            self.apply(entry)

    @property
    def n_entries(self) -> int:
        """Number of entries so far."""
        return len(self._acts)

    @property
    def standing(self) -> list[Annotation]:
        """The last annotation of each sentence, in the order of the log."""
        last = {stack[-1].entry: stack[-1] for stack in self._accepted.values() if stack}
        return [last[entry] for entry in self._acts if entry in last]

    @property
    def conflicts(self) -> dict[int, list[Annotation]]:
        """The sentences to which people gave different labels."""
        return {
            sentence: stack
            for sentence, stack in self._accepted.items()
            if len({a.by for a in stack}) > 1 and len({a.labels for a in stack}) > 1
        }

    def of(self, sentence: int) -> Annotation | None:
        """Return the annotation that stands for a sentence."""
        stack = self._accepted.get(sentence)
        return stack[-1] if stack else None

    def is_marked(self, mark: str, sentence: int) -> bool:
        """Tell whether a sentence was skipped ("skip") or flagged ("flag")."""
        return bool(self._marked[mark].get(sentence))

    def marked(self, mark: str) -> list[int]:
        """Return the sentences that were skipped ("skip") or flagged ("flag")."""
        return sorted(sentence for sentence, entries in self._marked[mark].items() if entries)

    def last_act(self, by: str) -> str | None:
        """Return the id of the last entry of a person that can be undone."""
        for entry, act in reversed(self._acts.items()):
            if act["by"] == by and act["do"] in ACTS and not act.get("undone"):
                return entry
        return None

    def sentence_of(self, entry: str) -> int:
        """Return the sentence of an entry."""
        return self._acts[entry]["sentence"]

    def apply(self, entry: Mapping[str, Any]) -> Change:
        """Take up the next entry; return what it changes in the data of a model."""
        self.check(entry)
        name, do = entry["id"], entry["do"]
        self._acts[name] = dict(entry)
        if do == "label":
            self.names.append(entry["name"])
            return Change()
        if do == "undo":
            return self._undo(entry["entry"])
        sentence = entry["sentence"]
        if do != "accept":
            self._marked[do].setdefault(sentence, set()).add(name)
            return Change()
        before = self.of(sentence)
        tokens, labels = tuple(entry["tokens"]), tuple(entry["labels"])
        after = Annotation(name, sentence, tokens, labels, entry["by"])
        self._accepted.setdefault(sentence, []).append(after)
        return Change(before, after)

    def check(self, entry: Mapping[str, Any]) -> None:
        """Raise ValueError unless an entry can be the next one."""
        problem = self._problem(entry)
        if problem:
            raise ValueError(f"entry {len(self._acts)} of the log: {problem}")

    def _undo(self, entry: str) -> Change:
        act = self._acts[entry]
        act["undone"] = True
        sentence = act["sentence"]
        if act["do"] != "accept":
            self._marked[act["do"]][sentence].discard(entry)
            return Change()
        before = self.of(sentence)
        self._accepted[sentence] = [a for a in self._accepted[sentence] if a.entry != entry]
        after = self.of(sentence)
        return Change() if before == after else Change(before, after)

    def _problem(self, entry: Mapping[str, Any]) -> str | None:
        do = entry.get("do")
        if not isinstance(entry.get("by"), str):
            return '"by" must be a string'
        if do == "label":
            name = entry.get("name")
            if not isinstance(name, str) or not name.strip() or len(name.split()) > 1:
                return "the name of a label must be a word"
            return f"the label {name!r} is known" if name in self.names else None
        if do == "undo":
            undone = entry.get("entry")
            act = self._acts.get(undone) if isinstance(undone, str) else None
            if act is None:
                return f"there is no entry {undone!r} to undo"
            can_be_undone = act["do"] in ACTS and not act.get("undone")
            return None if can_be_undone else f"entry {undone!r} cannot be undone"
        if do not in ACTS:
            return f'"do" must be one of {", ".join([*ACTS, "undo", "label"])}, got {do!r}'
        sentence: Any = entry.get("sentence")
        is_whole = isinstance(sentence, int) and not isinstance(sentence, bool) and sentence >= 0
        if not is_whole or (self._sentences is not None and sentence >= len(self._sentences)):
            return f"there is no sentence {sentence!r}"
        return self._problem_of_labels(entry) if do == "accept" else None

    def _problem_of_labels(self, entry: Mapping[str, Any]) -> str | None:
        tokens: Any = entry.get("tokens")
        labels: Any = entry.get("labels")
        sentence = entry["sentence"]
        if not (_are_strings(tokens) and _are_strings(labels)) or len(tokens) != len(labels):
            return "tokens and labels must be two lists of strings of the same length"
        predicted: Any = entry.get("predicted")  # None before anything was learned
        if predicted is not None and not (_is_list(predicted) and len(predicted) == len(labels)):
            return "as many labels must be predicted as there are tokens"
        if self._sentences is not None and list(tokens) != list(self._sentences[sentence]):
            return f"sentence {sentence} has other tokens in the text; the log is of another text"
        return None


def _are_strings(values: Any) -> bool:
    return _is_list(values) and all(isinstance(v, str) for v in values)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
