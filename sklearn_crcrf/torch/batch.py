"""A batch of scores in tensors, as a structure and its scores."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from ..labels import Constraints
from ..structures import Lattice, LatticeScores, Pullback, Scores, Structure
from .host import Computed, on_device, on_host, wide

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
        for name, given, ndim in (("mask", mask, 2), ("lengths", lengths, 1)):
            if given is not None and len(shape) == 2 and given.shape != shape[:ndim]:
                raise ValueError(f"{name} has the shape {given.shape}, but scores {shape}")
        if lengths is not None:
            if lengths.ndim != 1:
                raise ValueError(f"lengths must be one number for each sequence, but are {lengths}")
            wrong = ~((lengths >= 0) & (lengths <= shape[-1]) & (lengths % 1 == 0))
            if wrong.any():
                i = int(wrong.argmax())
                why = f"sequence {i} has {lengths[i]} tokens, but scores have {shape[-1]}"
                raise ValueError(f"lengths: {why}")
            lengths = lengths.astype(np.int64)
        if len(shape) == 1:
            if mask is not None:
                raise ValueError("mask: scores are of tokens only; pass lengths or a structure")
            lengths = [shape] if lengths is None else lengths
            offsets = np.append(0, np.cumsum(lengths)) if structure is None else structure.offsets
            if offsets[-1] != shape[0]:
                raise ValueError(f"scores have {shape[0]} tokens, but the sequences {offsets[-1]}")
            return cls(offsets, shape)
        if lengths is not None:
            mask = np.arange(shape[1]) < lengths[:, None]
        if mask is None or mask.all():
            return cls(np.arange(shape[0] + 1) * shape[1], shape)
        offsets = np.append(0, np.count_nonzero(mask, axis=1).cumsum())
        return cls(offsets, shape, np.flatnonzero(mask))

    def pack(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return the rows of the tokens, (n_tokens, ...), of an array that is called ``name``."""
        if array.shape[: len(self.shape)] != self.shape:
            raise ValueError(f"{name} has the shape {array.shape}, but scores {self.shape}")
        rows = array.reshape(-1, *array.shape[len(self.shape) :])
        return rows if self.places is None else rows[self.places]

    def unpack(self, rows: np.ndarray, fill: float = 0) -> np.ndarray:
        """Return the inverse of :meth:`pack`, with ``fill`` where no token is."""
        if self.places is None:
            return rows.reshape(self.shape + rows.shape[1:])
        array = np.full(self.shape + rows.shape[1:], fill, dtype=rows.dtype)
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
        shared: Any,
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
        self.structure = make(self.layout.offsets) if structure is None else structure
        if not np.array_equal(self.structure.offsets, self.layout.offsets):
            raise ValueError("structure has sequences of other lengths than scores")
        self.scores = self._lattice_scores(state, parts) if lattice else self._scores(state, *parts)
        n_labels = lattice.candidates.n_labels if lattice else state.shape[-1]
        self.labels: Any = None if y is None else self._read_labels(y, n_labels)

    def _lattice_scores(self, runs: np.ndarray, shared: list) -> Any:
        lattice: Any = self.structure
        if len(runs) != lattice.n_runs or any(part is not None for part in shared):
            raise ValueError(
                f"scores must be those of all {lattice.n_runs} runs of the lattice, with its "
                f"transitions, and no others, but are {len(runs)}"
            )
        return LatticeScores(runs, lattice.candidates)

    def _scores(self, state: np.ndarray, *shared: np.ndarray | None) -> Any:
        n = state.shape[-1]
        *parts, own = shared
        for name, part, shape in zip(SHARED, parts, ((n, n), (n,), (n,)), strict=True):
            if part is not None and part.shape != shape:
                raise ValueError(f"{name} must have the shape {shape}, but has {part.shape}")
        if own is not None and not self.structure.own_scores:
            raise ValueError(f"own: {self.structure.title} has no scores of its own")
        transition = np.zeros((n, n)) if parts[0] is None else parts[0]
        scores = Scores.of(self.layout.pack("scores", state), transition, *parts[1:])
        return scores if own is None else scores._replace(own=np.asarray(own, dtype=float))

    def _read_labels(self, y: np.ndarray, n_labels: int) -> np.ndarray:
        """Return label ids of tokens, or which labels they may have."""
        y = self.layout.pack("labels", y)
        if y.dtype == bool and y.shape[1:] == (n_labels,):
            return y
        if y.dtype.kind not in "iu" or y.ndim != 1:
            raise ValueError(
                f"labels must be integers, or bool with {n_labels} labels for each token, but are "
                f"of type {y.dtype} and shape {y.shape}"
            )
        if len(y) and not 0 <= y.min() <= y.max() < n_labels:
            token = int(((y < 0) | (y >= n_labels)).argmax())
            raise ValueError(
                f"labels, {self.layout.name(token)}: there is no label {y[token]} among "
                f"{n_labels}; a mask leaves tokens out"
            )
        return y.astype(np.int32)

    @property
    def needs_gradient(self) -> bool:
        """Whether any tensor needs one."""
        tensors = (tensor for tensor in self.tensors if tensor is not None)
        return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)

    def computed(self, value: np.ndarray, pullback: Pullback) -> torch.Tensor:
        """Return a value as a differentiable function of the tensors, given its pullback."""

        def pull(weight: torch.Tensor) -> list[torch.Tensor | None]:
            (host,) = on_host(weight)
            return self._gradients(pullback(host.astype(float)))

        return Computed.apply(value, pull, *self.tensors)

    def summed(self, value: np.ndarray, gradient: Any) -> torch.Tensor:
        """Return a number as a differentiable function of the tensors, given its derivatives."""
        gradients = self._gradients(gradient)

        def pull(weight: torch.Tensor) -> list[torch.Tensor | None]:
            return [None if one is None else one * weight.to(one.device) for one in gradients]

        return Computed.apply(value, pull, *self.tensors)

    def _gradients(self, gradient: Any) -> list[torch.Tensor | None]:
        """Return a score gradient as the gradients of the tensors that need one, in wide types."""
        if isinstance(gradient, LatticeScores):
            arrays: list[Any] = [gradient.runs, *[None] * 4]
        else:
            shared = gradient.transition, gradient.begin, gradient.end, gradient.own
            arrays = [self.layout.unpack(gradient.state), *shared]
        return [
            None if to is None or not to.requires_grad else on_device(array, to.device, wide(to))
            for array, to in zip(arrays, self.tensors, strict=True)
        ]

    def of_tokens(self, rows: np.ndarray) -> torch.Tensor:
        """Return integers of tokens as a tensor where the scores are, -1 where no token is."""
        return on_device(self.layout.unpack(rows, -1), self.tensors[0].device, torch.int64)

    def check(self, value: np.ndarray) -> None:
        """Raise ValueError where the value of a sequence is not finite; say where that is from."""
        wrong = np.argwhere(~np.isfinite(value))
        if len(wrong):
            sequence = int(wrong[0, 0])
            why = f"sequence {sequence}: its labels, or all labels, are impossible: scores are -inf"
            raise ValueError(self._reason(sequence) or why)

    def check_numbers(self) -> None:
        """Raise ValueError if a score is NaN or inf."""
        if why := self._no_number(0, self.structure.n_tokens):
            raise ValueError(why)

    def _reason(self, sequence: int) -> str | None:
        """Say which score of a sequence is no number, or which of its labels is impossible."""
        if isinstance(self.scores, LatticeScores):
            return None
        start, stop = self.structure.offsets[sequence : sequence + 2]
        if why := self._no_number(start, stop):
            return why
        if self.labels is not None and self.labels.ndim == 1:
            allowed = Constraints(*(part > -np.inf for part in self.scores[1:4]))
            broken = allowed.violations(self.labels, *self.structure.links())
            for t in broken[(start <= broken) & (broken < stop)]:
                return (
                    f"labels, {self.layout.name(t)}: label {self.labels[t]} is impossible here, as "
                    "a transition, begin or end score is -inf"
                )
        return None

    def _no_number(self, start: int, stop: int) -> str | None:
        """Say which score of these tokens, or which shared one, is NaN or inf."""
        for name, part in zip(SHARED, self.scores[1:4], strict=True):
            if not (part < np.inf).all():
                return f"{name} has a number that is {part[~(part < np.inf)][0]}"
        state = self.scores.state[start:stop]
        for t, label in np.argwhere(~(state < np.inf)):
            where = self.layout.name(start + t)
            return f"scores, {where}: the score of label {label} is {state[t, label]}"
        return None
