"""A tagger: an immutable object that labels one sequence in one compiled call."""

import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .._kernels.text.tagging import ChainTables, LinearTagger, SequencePaths
from .content import Content
from .counted import counted_tagger
from .files import LEVEL, read_content, write_content
from .linear import linear_tagger
from .segment_limits import LimitedPaths, Limits
from .small import small, unpacked
from .sums import (
    MOST_CERTAIN,
    ChainScores,
    Edges,
    PathSum,
    RunTables,
    SequenceLattice,
    too_large,
)

# What makes the compiled tagger of each kind of model, and what reads its input.
KINDS: dict[str, Callable[[Content, list, Any], tuple[Any, Callable | None]]] = {
    "counted": counted_tagger,
    "linear": linear_tagger,
}

# How many arrays of the size of the transitions are made of them.
COPIES = 9
# The arrays that may be of single precision.
WEIGHTS = {"coef", "coef.data", "state.data", "edge.data"}


class Saved(NamedTuple):
    """What :meth:`Tagger.save` wrote.

    Parameters
    ----------
    n_bytes : int
        The size of the file.
    n_changed, n_tokens : int
        How many tokens of the check set have another label, and how many there are.
    """

    n_bytes: int
    n_changed: int
    n_tokens: int


class Tagger:
    """Labels one sequence at a time, for services: ``tagger(tokens)``.

    ``estimator.tagger()`` makes one of a fitted estimator, and
    :func:`~sklearn_crcrf.serving.load_tagger` of a file. It gives the labels that ``predict`` of
    the estimator gives, and never changes, even if the estimator is trained again. Any number of
    threads may call it at once, and it can be pickled. Only numpy is needed.

    Parameters
    ----------
    content : Content
        What it consists of; it is checked.

    Raises
    ------
    ValueError
        If the content is not the content of a tagger.

    Examples
    --------
    >>> from sklearn_crcrf import CRF
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> tagger = CRF(sigma=2.0).fit(X, y).tagger()
    >>> tagger(["the", "cat", "walks"])
    ['D', 'N', 'V']
    >>> tagger.probabilities(["dogs", "sleep"]).round(2)
    array([[0.1 , 0.84, 0.06],
           [0.06, 0.09, 0.85]])
    >>> tagger.labels, round(tagger.confidence(["dogs", "sleep"]), 2)
    (('D', 'N', 'V'), 0.79)
    """

    __slots__ = (
        *("_chain", "_compiled", "_content", "_in_one_call", "_largest", "_limits", "_read"),
        *("_runs", "_tables"),
    )

    def __init__(self, content: Content):
        content = content._replace(
            arrays={name: _read_only(array) for name, array in content.arrays.items()}
        )
        kind = content.setting("kind", str)
        labels = content.setting("labels", list)
        if kind not in KINDS or not labels:
            raise ValueError(f"there is no tagger of the kind {kind!r} with {len(labels)} labels")
        n = len(labels)
        transition = content.array("transition", "d", n, n)
        content.budget.take(COPIES * transition.nbytes)
        begin, end = (content.array(name, "d", n) for name in ("begin", "end"))
        self._chain = transition, begin, end
        largest = [scores.max() for scores in self._chain]
        for name, score in zip(("transition", "begin", "end"), largest, strict=True):
            if not score < np.inf:
                raise ValueError(f"the {name} scores are not finite: weights are too large")
        self._content = content
        columns = content.settings.get("training_columns")
        if columns is not None and not (
            isinstance(columns, list) and all(isinstance(c, str | None) for c in columns)
        ):
            raise ValueError("the setting 'training_columns' is not valid")
        if not isinstance(content.settings.get("training_separator"), str | None):
            raise ValueError("the setting 'training_separator' is not valid")
        self._tables = ChainTables(*self._chain)
        self._compiled, self._read = KINDS[kind](content, labels, self._tables)
        self._runs = RunTables(content, n)
        limits = content.settings.get("limits")
        self._limits = None if limits is None else Limits.of(limits, n)
        if self._limits is not None and self.run_tables:
            raise ValueError("there are no limits on segments with labels of higher order")
        self._in_one_call = (
            content.setting("decoding", str) != "marginal"
            and not self.run_tables
            and self._limits is None
        )
        tables = (part for *_, score, unseen in self.run_tables for part in (score, unseen))
        self._largest = max(0.0, *largest, *(part.max(initial=0.0) for part in tables))

    def __reduce__(self):
        arrays = {name: np.array(array) for name, array in self._content.arrays.items()}
        return Tagger, (Content(dict(self._content.settings), arrays),)

    def __repr__(self) -> str:
        return f"<Tagger of {len(self.labels)} labels>"

    @property
    def labels(self) -> tuple:
        """All labels, in the order of the columns of :meth:`probabilities`."""
        return tuple(self._content.settings["labels"])

    @property
    def training_columns(self) -> list[str | None] | None:
        """The columns of the training file, if there was one."""
        return self._content.settings.get("training_columns")

    @property
    def training_separator(self) -> str | None:
        """What separated them, if it is known."""
        return self._content.settings.get("training_separator")

    @property
    def run_tables(self) -> list[tuple]:
        """The scores of three and more labels in a row; none if the chain is of first order."""
        return self._runs.tables

    @property
    def decoding(self) -> str:
        """How labels are found: "viterbi" or "marginal"."""
        return "marginal" if self._content.settings["decoding"] == "marginal" else "viterbi"

    def subject_to(self, constraints: Iterable[Any]) -> "Tagger":
        """Return a tagger of labels that satisfy constraints on segments.

        Parameters
        ----------
        constraints : iterable of constraints
            :class:`~sklearn_crcrf.labels.OneSegment` and
            :class:`~sklearn_crcrf.labels.AtMostSegments`; they are saved with the tagger, and hold
            for its labels and their :meth:`confidence`, but not for :meth:`probabilities`.

        Returns
        -------
        Tagger

        Raises
        ------
        ValueError
            If a constraint is of another kind, does not fit the labels, or the scores are of more
            than two labels in a row.

        Examples
        --------
        >>> from sklearn_crcrf import CRF
        >>> from sklearn_crcrf.labels import OneSegment
        >>> X = [["12", "Oak", "St", "Reno"], ["3", "Elm", "St", "Boise"]]
        >>> tagger = CRF().fit(X, [["Number", "Street", "Street", "City"]] * 2).tagger()
        >>> tagger(["12", "Oak", "Reno", "St"])
        ['Number', 'Street', 'City', 'Street']
        >>> tagger.subject_to([OneSegment()])(["12", "Oak", "Reno", "St"])
        ['Number', 'Street', 'Street', 'Street']
        """
        limits = [] if self._limits is None else [self._limits]
        for i, constraint in enumerate(constraints):
            if not hasattr(constraint, "limits"):
                raise ValueError(f"a tagger takes constraints on segments, not {constraint!r}")
            classes = np.array(self.labels, dtype=object)
            limits.append(constraint.limits(classes, f"constraints[{i}]"))
        if not limits:
            return self
        settings = {**self._content.settings, "limits": Limits.join(limits).setting()}
        return Tagger(self._content._replace(settings=settings))

    def __call__(self, tokens: Iterable) -> list:
        """Return the labels of one sequence.

        Parameters
        ----------
        tokens : list of str or dict
            As one sequence of X in ``predict`` of the estimator. If it reads columns, also tuples,
            in the order of the columns in ``fit``.

        Returns
        -------
        list of labels

        Raises
        ------
        TypeError
            If a token is of another kind; the message names its position.
        ValueError
            If a number is not finite, or no path is possible.
        """
        if self._in_one_call:
            return self._compiled(tokens if self._read is None else self._read(tokens))
        labels = self._content.settings["labels"]
        return [labels[i] for i in self._path(tokens).tolist()]

    def many(self, sequences: Iterable[Iterable]) -> list[list]:
        """Get the labels of many sequences, faster than one by one, and on several threads at once.

        Parameters
        ----------
        sequences : list of sequences
            Each as :meth:`__call__` takes it.

        Returns
        -------
        list of lists of labels

        Raises
        ------
        TypeError, ValueError
            As a call; the message names the sequence.

        Examples
        --------
        >>> from sklearn_crcrf import EmpiricalCRF
        >>> tagger = EmpiricalCRF().fit([["the", "dog"], ["dogs"]], [["D", "N"], ["N"]]).tagger()
        >>> tagger.many([["dogs"], ["the", "dogs"]])
        [['N'], ['D', 'N']]
        """
        if self._in_one_call:
            return self._compiled.many(self._inputs(sequences))
        return [self(tokens) for tokens in sequences]

    def label_ids(self, sequences: Iterable[Iterable]) -> np.ndarray:
        """Return the numbers of the labels of :meth:`many`, in one array for all tokens.

        Parameters
        ----------
        sequences : as in :meth:`many`

        Returns
        -------
        int32 ndarray of shape (n_tokens,)
        """
        if not self._in_one_call:
            return np.concatenate([np.empty(0, dtype=np.int32), *map(self._path, sequences)])
        inputs = self._inputs(sequences)
        return self._compiled.paths(inputs, np.empty(len(inputs), dtype=np.int64))

    def probabilities(self, tokens: Iterable) -> np.ndarray:
        """Return the probabilities of the labels of each token, as ``predict_proba`` does.

        Parameters
        ----------
        tokens : as for :meth:`__call__`

        Returns
        -------
        ndarray of shape (n_tokens, n_labels)
            Columns are in the order of :attr:`labels`.
        """
        scores = self.scores(tokens)
        if len(scores.state) == 0:
            return scores.state
        log_z, marginals = self._paths(scores).marginals
        self._check_size(log_z, scores)
        return marginals

    def confidence(self, tokens: Iterable) -> float:
        """Return the probability of the best path.

        Parameters
        ----------
        tokens : as for :meth:`__call__`

        Returns
        -------
        float
            In [0, 1]: 1 for no tokens, 0 if no path is possible.
        """
        scores = self.scores(tokens)
        if len(scores.state) == 0:
            return 1.0
        paths = self._paths(scores)
        log_z, _ = paths.marginals
        if np.isneginf(log_z):
            return 0.0
        self._check_size(log_z, scores)
        if self._limits is not None:
            limited = LimitedPaths(scores, self._limits)
            found = limited.found(1)
            return float(np.exp(min(found[0][0] - limited.log_partition(), 0.0))) if found else 0.0
        return float(np.exp(min(paths.best[0] - log_z, 0.0)))

    def scores(self, tokens: Iterable) -> ChainScores:
        """Return the scores of the labels of one sequence, and of pairs of labels in a row.

        Parameters
        ----------
        tokens : as for :meth:`__call__`

        Returns
        -------
        ChainScores
        """
        return self.scores_of_many([tokens])

    def scores_of_many(self, sequences: Iterable[Iterable]) -> ChainScores:
        """Return the scores of many sequences, one after another; there are no edges between them.

        Parameters
        ----------
        sequences : as in :meth:`many`

        Returns
        -------
        ChainScores
        """
        state, edges = self._compiled.scores_of(self._inputs(sequences))
        edges = Edges.none(len(state)) if edges is None else Edges(*edges)
        return ChainScores(state, *self._chain, edges)

    def paths(self, tokens: Iterable) -> SequencePaths | None:
        """Read one sequence once, to ask for its labels and for probabilities.

        What does not depend on the sequence is computed before, so that a short sequence takes a
        small part of the time; probabilities differ from those of the estimator by rounding.

        Parameters
        ----------
        tokens : as for :meth:`__call__`

        Returns
        -------
        SequencePaths or None
            None for no tokens.

        Raises
        ------
        ValueError
            If scores are not linear in attributes, or there are constraints.
        """
        if self._limits is not None or not isinstance(self._compiled, LinearTagger):
            raise ValueError("scores are not linear in attributes, or there are constraints")
        tokens = tokens if self._read is None else self._read(tokens)
        return self._compiled.paths_of(tokens, self._sum_otherwise)

    def _sum_otherwise(self, state: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-partition and the marginals where probabilities could be rounded to 0."""
        return PathSum(ChainScores(state, *self._chain, Edges.none(len(state)))).marginals

    def in_single_precision(self) -> "Tagger":
        """Return the same tagger with weights in single precision, which take half the memory."""
        arrays = {
            name: array.astype(np.float32) if name in WEIGHTS else array
            for name, array in self._content.arrays.items()
        }
        return Tagger(Content(self._content.settings, arrays))

    def save(
        self,
        file: str | os.PathLike,
        *,
        bits: int | None = None,
        max_bytes: int | None = None,
        check: Iterable[Iterable] | None = None,
    ) -> "Saved | None":
        """Write a file that :func:`~sklearn_crcrf.serving.load_tagger` reads.

        A file of this name is replaced by the new file, whole, once it is on disk; processes that
        have mapped the old file keep it.

        Parameters
        ----------
        file : str or path-like
            If the name ends in ".gz", the file is compressed: it is smaller, and unpacked into
            memory, and never mapped.
        bits : {8, 16}, optional
            Rounds weights to so many bits. Such a file is always compressed, whatever its name.
        max_bytes : int, optional
            The largest size of the file, which is always compressed then. Weights that change
            scores least are left out: of two and three symbols if they were counted, else of whole
            attributes.
        check : list of sequences, optional
            As in :meth:`many`. Their labels are compared with those of a tagger read from the file.

        Returns
        -------
        Saved or None
            The size of the file, and how many labels of ``check`` changed; None without these.

        Raises
        ------
        TypeError
            If a label is neither str, int, float, bool nor None.
        ValueError
            If the file would be larger than ``max_bytes`` without all weights that may be left out.

        Examples
        --------
        >>> import os, tempfile
        >>> from sklearn_crcrf import EmpiricalCRF
        >>> from sklearn_crcrf.datasets import make_addresses
        >>> X, y = make_addresses(400, random_state=0)
        >>> tagger = EmpiricalCRF().fit(X[:300], y[:300]).tagger()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "small.tagger")
        ...     saved = tagger.save(path, bits=8, max_bytes=120_000, check=X[300:])
        >>> saved.n_bytes <= 120_000, saved.n_changed < 0.003 * saved.n_tokens
        (True, True)
        """
        sequences = None if check is None else list(check)
        before = None if sequences is None else self.label_ids(sequences)
        if bits is None and max_bytes is None:
            write_content(file, self._content)
        else:
            write_content(file, small(self._content, bits, max_bytes), level=LEVEL)
        if sequences is None or before is None:
            return None
        after = Tagger(unpacked(read_content(file))).label_ids(sequences)
        return Saved(os.path.getsize(file), int((before != after).sum()), len(before))

    def content(self) -> Content:
        """Return what the tagger consists of."""
        return self._content

    def _inputs(self, sequences: Iterable[Iterable]) -> list:
        """What the compiled tagger takes of each sequence."""
        return list(sequences if self._read is None else map(self._read, sequences))

    def _paths(self, scores: ChainScores) -> PathSum | SequenceLattice:
        """Return the paths of a sequence of at least one token."""
        return self._runs.lattice(scores) if self.run_tables else PathSum(scores)

    def _check_size(self, log_z: float, scores: ChainScores) -> None:
        """Raise ValueError if scores are so large that rounding makes their probabilities wrong."""
        _check(log_z)
        largest = max(self._largest, scores.state.max())
        if len(scores.token_transitions.score):
            largest = max(largest, scores.token_transitions.score.max())
        for score in (largest, log_z):
            if abs(score) > MOST_CERTAIN:
                raise ValueError(too_large(score))

    def _path(self, tokens: Iterable) -> np.ndarray:
        """Find the numbers of the labels of one sequence, if no compiled call finds them."""
        if self.decoding == "marginal":
            tokens = list(tokens)
            y = self.probabilities(tokens).argmax(axis=1).astype(np.int32)
        elif self.run_tables:
            scores = self.scores(tokens)
            if len(scores.state) == 0:
                return np.empty(0, dtype=np.int32)
            value, y = self._paths(scores).best
            _check(value)
        else:
            tokens = list(tokens)
            y = self._compiled.paths(self._inputs([tokens]), np.empty(1, dtype=np.int64))
        if self._limits is None or not self._limits.exceeded(y).any():
            return y
        found = LimitedPaths(self.scores(tokens), self._limits).found(1)
        if not found:
            raise ValueError("no possible labels satisfy the constraints of the tagger")
        return found[0][1].astype(np.int32)


def _check(log_z: float) -> None:
    if not log_z < np.inf:
        raise ValueError(
            "the scores of labels are not finite, since the values of attributes or the weights of "
            "the model are too large; scale the attributes"
        )
    if np.isneginf(log_z):
        raise ValueError("no path of the tokens is possible")


def _read_only(array: np.ndarray) -> np.ndarray:
    """Return an array that cannot be written through; kernels follow its indices."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
