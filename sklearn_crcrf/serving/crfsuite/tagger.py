"""Taggers that are set to a sequence, and then asked, as those of python-crfsuite."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from math import exp
from typing import Any

from ..._kernels.text.tagging import SequencePaths


class SequenceTagger:
    """The labels of the sequence that was set last, and their probabilities.

    A subclass has :meth:`_opened`, which returns the :class:`~sklearn_crcrf.serving.Tagger`, or
    raises ValueError, and :meth:`_read`, which makes what it takes of all other input.
    """

    _paths: SequencePaths | None = None
    # Tokens of this type are read by _read.
    _others: type | None = None
    _named: tuple[Any, list] = (None, [])
    _number: dict[Any, int] = {}

    @abstractmethod
    def _opened(self) -> Any:
        """Return the tagger."""

    @abstractmethod
    def _read(self, xseq: Any) -> list:
        """Return the tokens of a sequence as the tagger takes them."""

    def labels(self) -> list:
        """Return all labels, in the order of the model."""
        return list(self._opened().labels)

    def set(self, xseq: Any) -> None:
        """Set the sequence that the other methods are about."""
        tagger = self._opened()
        if self._named[0] is not tagger:
            self._named = tagger, list(tagger.labels)
            self._number = {label: i for i, label in enumerate(tagger.labels)}
            as_bytes = [label.encode() for label in tagger.labels if isinstance(label, str)]
            self._number |= {label: self._number[label.decode()] for label in as_bytes}
        others = self._others
        if type(xseq) is not list or (others is not None and others in map(type, xseq)):
            xseq = self._read(xseq)
        try:
            self._paths = tagger.paths(xseq)
        except (TypeError, ValueError):
            if any(isinstance(token, Iterator) for token in xseq):
                raise  # they cannot be read again
            self._paths = tagger.paths(self._read(xseq))  # its errors name the token

    def tag(self, xseq: Any = None) -> list:
        """Return the labels of the best path of a sequence, by default of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        if self._paths is None:
            self._opened()
            return []
        return self._paths.best()

    def probability(self, yseq: Sequence) -> float:
        """Return the probability of labels of the sequence that was set; 0 if it is empty.

        Raises
        ------
        ValueError
            If they are not as many as the tokens.
        RuntimeError
            If a label is unknown.
        """
        if self._paths is None:
            self._opened()
            return 0.0
        yseq = list(yseq)
        length = self._paths.length
        if len(yseq) != length:
            raise ValueError(f"yseq has {len(yseq)} labels, but the sequence {length} tokens")
        try:
            y = [self._number[label] for label in yseq]
        except KeyError as error:
            raise self._unknown(error) from None
        return exp(self._paths.log_probability(y))

    def marginals(self) -> list[list[float]]:
        """Return the probabilities of all labels, in their order, of each token."""
        return [] if self._paths is None else self._paths.marginals[1].tolist()

    def marginal(self, y: Any, pos: int) -> float:
        """Return the probability of a label at a position of the sequence that was set.

        Raises
        ------
        ValueError
            If there is no such position.
        RuntimeError
            If the label is unknown.
        """
        paths = self._paths
        if paths is None:
            self._opened()
            return 0.0
        try:
            return paths.marginal(pos, self._number[y])
        except KeyError as error:
            raise self._unknown(error) from None
        except IndexError:
            raise ValueError(
                f"there is no position {pos} in a sequence of {paths.length} tokens"
            ) from None

    def _unknown(self, error: KeyError) -> Exception:
        (label,) = error.args
        if not isinstance(label, str | bytes):
            return TypeError(f"a label must be a str or bytes, got {label!r}")
        return RuntimeError(f"{label!r} is no label of the model, which has {self._named[1]}")
