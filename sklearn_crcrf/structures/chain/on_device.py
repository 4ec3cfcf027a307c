"""Sums over all paths of chains on a device of torch: one step for a token of every sequence.

The tokens are in time-major order: first the first tokens of all sequences, the longest first, then
the second tokens, so that the tokens of a step are a slice of rows. With S the state scores, in
which begin and end scores are, m the greatest score of each token, P = exp(S - m), and
E = exp(T - max T) of the transition scores T (Rabiner 1989, section V.A),

    A_t = (A_{t-1} E) * P_t / C_t,   C_t the sums of the rows,   log Z = sum_t (log C_t + m_t) + ...
    Q_t = (P_t / C_t) * B_t,         B_{t-1} = Q_t E',           B = 1 at the last tokens,
    p(y_t) = A_t * B_t,              E[transitions] = E * sum_t A_{t-1}' Q_t.

A product of these is lost if it is below the least number. It counts at most B_t / C_t times that
number, relative to Z, so where B / C is large, or C is 0, a sequence is summed on the host.
"""

from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from ...data.ragged import joined_ranges, longest_first
from ..scores import Scores
from .chain import Chain

# How much a product that is lost may count at most, relative to Z.
LOST = 1e-14
# A graph of a GPU has about six kernels for each step, which take up memory.
MOST_STEPS = 10_000


class TimeMajor:
    """The order of the tokens of sequences.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,)
        No sequence is empty.

    Attributes
    ----------
    tokens : ndarray of shape (n_tokens,)
        The token of each row.
    sequence : ndarray of shape (n_tokens,)
        The sequence of each row.
    bounds : ndarray of shape (n_steps + 1,)
        Where the rows of each step are.
    before : ndarray of shape (n_tokens - n_sequences,)
        The row before each row that is not of a first token; these rows come after all of those.
    last : ndarray of shape (n_sequences,)
        The rows of the last tokens.
    """

    def __init__(self, offsets: np.ndarray):
        self.offsets, lengths = offsets, np.diff(offsets)
        rank = np.empty(len(lengths), dtype=np.int64)
        rank[longest_first(offsets)] = np.arange(len(lengths))
        position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        self.tokens = np.lexsort((np.repeat(rank, lengths), position))
        self.sequence = np.repeat(np.arange(len(lengths)), lengths)[self.tokens]
        self.bounds = np.append(0, np.cumsum(np.bincount(position)))
        row = np.empty(len(position), dtype=np.int64)
        row[self.tokens] = np.arange(len(position))
        self.before = row[self.tokens[self.bounds[1] :] - 1]
        self.last = row[offsets[1:] - 1]


class Expected(NamedTuple):
    """A weighted sum of log-partitions, and its derivatives by the scores.

    Parameters
    ----------
    value : float
    state : tensor of shape (n_tokens, n_labels)
        In time-major order; the next call overwrites it.
    transition : float64 ndarray of shape (n_labels, n_labels)
    """

    value: float
    state: torch.Tensor
    transition: np.ndarray


class Memory:
    """The tensors that are filled anew for each batch, as large as the largest batch needs.

    Parameters
    ----------
    n_labels : int
    numbers : dtype of numpy
        float32 or float64.
    device : torch.device

    Attributes
    ----------
    dtype : torch.dtype
        The same in torch.
    """

    def __init__(self, n_labels: int, numbers: Any, device: torch.device):
        self.n_labels, self._numbers, self.device = n_labels, np.dtype(numbers), device
        self.dtype: torch.dtype = getattr(torch, self._numbers.name)
        self._size, self._rows = 0, dict[str, torch.Tensor]()

    @property
    def widest(self) -> torch.dtype:
        """The widest precision that the device has."""
        return torch.float32 if self.device.type == "mps" else torch.float64

    def need(self, n_tokens: int) -> None:
        """Say that a batch has this number of tokens, before the first one is asked for."""
        self._size = max(self._size, n_tokens)

    def rows(self, name: str, n_tokens: int, width: int | None = None) -> torch.Tensor:
        """Return the rows of a tensor, by its name."""
        if name not in self._rows:
            shape = self._size, width or self.n_labels
            self._rows[name] = torch.empty(shape, dtype=self.dtype, device=self.device)
        return self._rows[name][:n_tokens]

    def tensor(self, array: np.ndarray) -> torch.Tensor:
        """Return an array on the device: integers as int64, others in the common precision."""
        numbers = np.dtype(np.int64) if array.dtype.kind == "i" else self._numbers
        return torch.as_tensor(np.ascontiguousarray(array, numbers), device=self.device)

    @cached_property
    def stream(self) -> torch.cuda.Stream:
        """The stream of a GPU on which work is captured."""
        return torch.cuda.Stream(self.device)


def as_doubles(tensor: torch.Tensor) -> np.ndarray:
    """Return a tensor as float64 array; its device need not have that type."""
    return np.asarray(tensor.cpu(), dtype=float)


class DeviceChain:
    """Linear chains on a device of torch.

    Parameters
    ----------
    order : TimeMajor
    weight : ndarray of shape (n_sequences,)
    memory : Memory
    """

    def __init__(self, order: TimeMajor, weight: np.ndarray, memory: Memory):
        self.order, self.weight, self._memory = order, weight, memory
        self.n_tokens = len(order.tokens)
        memory.need(self.n_tokens)
        self.row_weight = memory.tensor(weight[order.sequence])[:, None]
        self._before = memory.tensor(order.before)
        self._E = memory.tensor(np.zeros((memory.n_labels, memory.n_labels)))
        self._graph: torch.cuda.CUDAGraph | None = None

    @property
    def scores(self) -> torch.Tensor:
        """The state scores, to be filled in before :meth:`expected` is called."""
        return self._rows("S")

    def expected(self, transition: np.ndarray) -> Expected:
        """Sum over all paths.

        Parameters
        ----------
        transition : float64 ndarray of shape (n_labels, n_labels)
        """
        top = transition.max()
        top = top if np.isfinite(top) else 0.0
        self._E.copy_(self._memory.tensor(np.exp(transition - top)))
        A, B, C, m, Q = map(self._rows, "ABCmP")  # before a GPU captures where they are
        self.run()
        n_first = self.order.bounds[1]
        reach = B.amax(dim=1, keepdim=True) / C
        limit, weight = LOST / torch.finfo(B.dtype).tiny, self.row_weight
        inexact = np.empty(0, dtype=np.int64)
        if not bool((reach <= limit).all()):  # also NaN
            wrong = ~(reach[:, 0] <= limit).cpu().numpy()
            inexact = np.unique(self.order.sequence[wrong])
            is_exact = ~np.isin(self.order.sequence, inexact)
            weight = weight * self._memory.tensor(is_exact.astype(float))[:, None]
            lost = self._memory.tensor(np.flatnonzero(~is_exact))
            for rows, number in ((A, 0.0), (B, 0.0), (Q, 0.0), (C, 1.0)):
                rows[lost] = number
        exact = C.to(self._memory.widest).log() + m
        exact[n_first:] += top
        value = float((exact * weight).sum())
        pairs = (A[self._before] * weight[n_first:]).T @ Q[n_first:]
        torch.mul(A, B, out=A)
        A.mul_(weight)
        found = Expected(value, A, as_doubles(pairs * self._E))
        return found if len(inexact) == 0 else self._with(found, inexact, transition)

    def _with(self, found: Expected, units: np.ndarray, transition: np.ndarray) -> Expected:
        """Add the sums over some of the sequences, in double precision or in logarithms."""
        offsets = self.order.offsets
        tokens = joined_ranges(offsets[units], np.diff(offsets)[units])
        row = np.empty(self.n_tokens, dtype=np.int64)
        row[self.order.tokens] = np.arange(self.n_tokens)
        rows = self._memory.tensor(row[tokens])
        scores = Scores.of(as_doubles(self.scores[rows]), transition)
        chain = Chain(np.append(0, np.cumsum(np.diff(offsets)[units])))
        log_z, gradient = chain.log_partition_and_gradient(scores, self.weight[units])
        found.state[rows] = self._memory.tensor(gradient.state)
        value = found.value + float(self.weight[units] @ log_z)
        return Expected(value, found.state, found.transition + gradient.transition)

    def _rows(self, name: str) -> torch.Tensor:
        width = 1 if name in "Cm" else None
        return self._memory.rows(name, self.n_tokens, width)

    def run(self) -> None:
        """Run the recursions; on a GPU they are captured once, and replayed."""
        if self._memory.device.type != "cuda" or len(self.order.bounds) > MOST_STEPS:
            self._recursions()
            return
        if self._graph is None:
            self._graph = self._captured()
        self._graph.replay()

    def _captured(self) -> torch.cuda.CUDAGraph:
        """Return the recursions as a graph of their device, which need not be the current one."""
        graph, stream = torch.cuda.CUDAGraph(), self._memory.stream
        with torch.cuda.device(self._memory.device):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self._recursions()  # once before, so that libraries allocate what they need
            torch.cuda.current_stream().wait_stream(stream)
            with torch.cuda.graph(graph, stream=stream):
                self._recursions()
        return graph

    def _recursions(self) -> None:
        """Fill in A, B, C, m and Q, which is in P, from the scores."""
        S, A, B, C, m, P = map(self._rows, "SABCmP")
        torch.amax(S, 1, keepdim=True, out=m)
        m.masked_fill_(m == -torch.inf, 0.0)
        torch.sub(S, m, out=P)
        P.exp_()
        bounds = self.order.bounds.tolist()
        steps = [slice(a, b) for a, b in pairwise(bounds)]
        A[steps[0]].copy_(P[steps[0]])
        self._scale(A[steps[0]], C[steps[0]])
        for before, here in pairwise(steps):
            n = here.stop - here.start
            torch.mm(A[before][:n], self._E, out=A[here])
            A[here].mul_(P[here])
            self._scale(A[here], C[here])
        P.div_(C)
        B.fill_(1.0)
        for before, here in reversed(list(pairwise(steps))):
            P[here].mul_(B[here])
            torch.mm(P[here], self._E.T, out=B[before][: here.stop - here.start])

    @staticmethod
    def _scale(A: torch.Tensor, C: torch.Tensor) -> None:
        torch.sum(A, 1, keepdim=True, out=C)
        A.div_(C)
