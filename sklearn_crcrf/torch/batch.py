"""A batch of scores in tensors, as a structure and its scores."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from ..labels import Constraints
from ..structures import Lattice, LatticeScores, Pullback, Scores, Structure
from .host import computed, on_device, on_host

SHARED = ("transitions", "begin", "end")


class Layout(NamedTuple):
    """Where the tokens of sequences are in tensors.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,)
    shape : tuple of int
        Of tensors with one element for each token: (n_sequences, longest), or (n_tokens,).
    places : ndarray of shape (n_tokens,), or None
        The places of the tokens in flat tensors; None if all places are tokens, in their order.
    """

    offsets: np.ndarray
    shape: tuple[int, ...]
    places: np.ndarray | None = None

    @classmethod
    def of(cls, shape: tuple[int, ...], mask: Any, lengths: Any, structure: Any) -> "Layout":
        """Return the layout that a mask, lengths or a structure say; arrays are on the host."""
        if mask is not None and lengths is not None:
            raise ValueError("pass mask or lengths, not both")
        if lengths is not None:
            longest = shape[1] if len(shape) == 2 else shape[0]
            wrong = np.flatnonzero((lengths < 0) | (lengths > longest))
            if lengths.ndim != 1 or (len(shape) == 2 and len(lengths) != shape[0]):
                raise ValueError(f"lengths has the shape {lengths.shape}, but scores {shape}")
            if len(wrong):
                raise ValueError(
                    f"lengths: sequence {wrong[0]} has {lengths[wrong[0]]} tokens, but scores have "
                    f"{longest}"
                )
        if len(shape) == 1:
            return cls._of_joined_tokens(shape, lengths, structure)
        if lengths is not None:
            mask = np.arange(shape[1]) < lengths[:, None]
        if mask is None:
            return cls(np.arange(shape[0] + 1) * shape[1], shape)
        if mask.shape != shape:
            raise ValueError(f"mask has the shape {mask.shape}, but scores {shape}")
        offsets = np.append(0, np.count_nonzero(mask, axis=1).cumsum())
        return cls(offsets, shape, np.flatnonzero(mask) if offsets[-1] < mask.size else None)

    @classmethod
    def _of_joined_tokens(cls, shape: tuple[int, ...], lengths: Any, structure: Any) -> "Layout":
        if lengths is None and structure is None:
            raise ValueError("scores without a dimension of sequences need lengths or structure")
        offsets = structure.offsets if lengths is None else np.append(0, lengths.cumsum())
        if offsets[-1] != shape[0]:
            raise ValueError(f"scores have {shape[0]} tokens, but the sequences {offsets[-1]}")
        return cls(offsets, shape)

    def pack(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return the rows of the tokens, (n_tokens, ...), of an array that is called ``name``."""
        if array.shape[: len(self.shape)] != self.shape:
            raise ValueError(f"{name} has the shape {array.shape}, but scores {self.shape}")
        rows = array.reshape(-1, *array.shape[len(self.shape) :])
        return rows if self.places is None else rows[self.places]

    def unpack(self, rows: np.ndarray, fill: float = 0) -> np.ndarray:
        """Return the inverse of :meth:`pack`, with ``fill`` where no token is."""
        shape = self.shape + rows.shape[1:]
        if self.places is None:
            return rows.reshape(shape)
        array = np.full(shape, fill, dtype=rows.dtype)
        array.reshape(-1, *rows.shape[1:])[self.places] = rows
        return array

    def name(self, token: int) -> str:
        """Name a token in an error message, by its position in the tensors."""
        sequence = int(np.searchsorted(self.offsets, token, side="right")) - 1
        first = self.offsets[sequence]
        if self.places is not None:
            token, first = self.places[token], sequence * self.shape[1]
        return f"sequence {sequence}, position {token - first}"


class Batch:
    """Scores in tensors, as a structure and its scores on the host.

    Parameters
    ----------
    make : callable
        Makes a structure of offsets.
    scores : Tensor of shape (n_sequences, longest, n_labels), (n_tokens, n_labels) or (n_runs,)
    shared : sequence of Tensor or None
        Transitions, begin, end, and scores of the structure's own.
    mask, lengths : Tensor, array-like or None
    structure : Structure, optional
    labels : Tensor, optional

    Attributes
    ----------
    structure : Structure
    scores : Scores or LatticeScores
    layout : Layout
    labels : ndarray of shape (n_tokens,) or (n_tokens, n_labels), or None

    Raises
    ------
    ValueError
        If shapes, types or numbers do not fit; the message names the argument, and the sequence and
        position where there is one.
    """

    def __init__(
        self,
        make: Callable[[np.ndarray], Structure],
        scores: torch.Tensor,
        shared: Any = (None,) * 4,
        mask: Any = None,
        lengths: Any = None,
        structure: Structure | None = None,
        labels: torch.Tensor | None = None,
    ):
        if not scores.is_floating_point():
            raise ValueError(f"scores must be of floating point, but are of type {scores.dtype}")
        self.tensors = [scores, *shared]
        given = (None if a is None else torch.as_tensor(a) for a in (labels, mask, lengths))
        state, *parts, y, mask, lengths = on_host(*self.tensors, *given)
        lattice = structure if isinstance(structure, Lattice) else None
        if state.ndim not in ((1,) if lattice else (2, 3)):
            expected = "(n_runs,)" if lattice else "(n_sequences, longest, n_labels)"
            raise ValueError(f"scores must have the shape {expected}, but have {state.shape}")
        shape = (lattice.n_tokens,) if lattice else state.shape[:-1]
        self.layout = Layout.of(shape, mask, lengths, structure)
        if structure is None:
            structure = make(self.layout.offsets)
        elif not np.array_equal(structure.offsets, self.layout.offsets):
            raise ValueError("structure has sequences of other lengths than scores")
        self.structure = structure
        self.scores: Any = self._scores(state, *parts)
        self.labels: Any = None if y is None else self._read_labels(y)

    def _scores(self, state: np.ndarray, *parts: np.ndarray | None) -> Any:
        if isinstance(self.structure, Lattice):
            if len(state) != self.structure.n_runs:
                raise ValueError(
                    f"scores have {len(state)} runs, but structure has {self.structure.n_runs}"
                )
            if any(part is not None for part in parts):
                raise ValueError("scores of a lattice have those of its transitions and ends")
            return LatticeScores(state, self.structure.candidates)
        n = state.shape[-1]
        transition, begin, end, own = parts
        for name, part in zip(SHARED, parts[:3], strict=True):
            shape = (n, n) if name == "transitions" else (n,)
            if part is not None and part.shape != shape:
                raise ValueError(f"{name} must have the shape {shape}, but has {part.shape}")
        if own is not None and not self.structure.own_scores:
            raise ValueError(f"own: {self.structure.title} has no scores of its own")
        transition = np.zeros((n, n)) if transition is None else transition
        scores = Scores.of(self.layout.pack("scores", state), transition, begin, end)
        return scores if own is None else scores._replace(own=np.asarray(own, dtype=float))

    def _read_labels(self, y: np.ndarray) -> np.ndarray:
        """Return label ids of tokens, or which labels they may have."""
        y = self.layout.pack("labels", y)
        n = self.n_labels
        if y.dtype == bool and y.shape == (len(y), n):
            return y
        if y.dtype.kind not in "iu" or y.ndim != 1:
            raise ValueError(
                f"labels must be integers, or bool with {n} labels for each token, but are of type "
                f"{y.dtype} and shape {y.shape}"
            )
        wrong = np.flatnonzero((y < 0) | (y >= n))
        if len(wrong):
            raise ValueError(
                f"labels, {self.layout.name(wrong[0])}: there is no label {y[wrong[0]]} among {n}; "
                "a mask leaves tokens out"
            )
        return y.astype(np.int32)

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        if isinstance(self.scores, Scores):
            return self.scores.state.shape[1]
        return self.scores.candidates.n_labels

    def computed(self, value: np.ndarray, pullback: Pullback) -> torch.Tensor:
        """Return a value as a differentiable function of the tensors, given its pullback."""

        def pull(weight: np.ndarray) -> list[np.ndarray | None]:
            gradient: Any = pullback(weight)
            if isinstance(gradient, LatticeScores):
                return [gradient.runs, *[None] * 4]
            shared = gradient.transition, gradient.begin, gradient.end, gradient.own
            return [self.layout.unpack(gradient.state), *shared]

        return computed(lambda: (value, pull), self.tensors)

    def on_device(self, array: np.ndarray) -> torch.Tensor:
        """Return an array as a tensor where the scores are."""
        return on_device(array, self.tensors[0].device)

    def of_tokens(self, rows: np.ndarray, fill: float = 0) -> torch.Tensor:
        """Return what tokens have as a tensor where the scores are; ``fill`` where no token is."""
        return self.on_device(self.layout.unpack(rows, fill))

    def check(self, value: np.ndarray) -> None:
        """Raise ValueError where the value of a sequence is not finite; say where that is from."""
        wrong = np.argwhere(~np.isfinite(value))
        if len(wrong) == 0:
            return
        sequence = int(wrong[0, 0])
        start, stop = self.structure.offsets[sequence : sequence + 2]
        if isinstance(self.scores, Scores):
            for name, part in zip(SHARED, self.scores[1:4], strict=True):
                if not (part < np.inf).all():
                    raise ValueError(f"{name} has a number that is {part[~(part < np.inf)][0]}")
            state = self.scores.state[start:stop]
            improper = np.argwhere(~(state < np.inf))
            if len(improper):
                token, label = improper[0]
                raise ValueError(
                    f"scores, {self.layout.name(start + token)}: the score of label {label} is "
                    f"{state[token, label]}"
                )
            if self.labels is not None and self.labels.ndim == 1:
                allowed = Constraints(*(part > -np.inf for part in self.scores[1:4]))
                broken = allowed.violations(self.labels, *self.structure.links())
                broken = broken[(start <= broken) & (broken < stop)]
                if len(broken):
                    raise ValueError(
                        f"labels, {self.layout.name(broken[0])}: label {self.labels[broken[0]]} is "
                        "impossible here, as a transition, begin or end score is -inf"
                    )
        raise ValueError(
            f"sequence {sequence}: its labels, or all labels, are impossible: scores are -inf"
        )
