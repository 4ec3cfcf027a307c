"""The training objective of linear chains on a device of torch, and its minimum."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.optimize import OptimizeResult

from ..criteria import Criterion, LogLoss, Piecewise, PseudoLikelihood, SoftmaxMargin
from ..criteria.piecewise import WITH_TOKENS
from ..solvers import lbfgs
from ..structures import Chain, ScoreGradient, Scores
from ..structures.chain.on_device import DeviceChain, Expected, Memory, TimeMajor, as_doubles
from .corpus import Chunk
from .problem import Problem
from .terms import Terms

# The number of scores of a batch on a device that does not say how much memory is free, and the
# number of tensors of that size.
N_SCORES, N_TENSORS = 2**26, 7
Loss = Callable[[torch.Tensor, np.ndarray], Expected]
"""A function of the state scores in time-major order, which it may change, and transition scores.

It returns the loss of all sequences and its derivatives.
"""


def check_on_device(problem: Problem, solver: str, device: Any) -> torch.device:
    """Return the device of torch, if it can be trained on.

    Raises
    ------
    ValueError
        If there is no such device, or the problem needs what is not there on a device.
    """
    missing = {
        f'solver="{solver}"': solver != "lbfgs",
        f"criterion={problem.criterion}": type(problem.criterion) not in LOSSES,
        "data in parts": problem.parts is not None,
        "edge_columns": len(problem.edge_attributes) > 0,
        "labels with probabilities": problem.corpus.soft is not None,
        "other structures than chains": not problem.corpus.structure.is_sequential(),
        "bounds of weights": problem.are_not_negative,
    }
    for what, is_needed in missing.items():
        if is_needed:
            raise ValueError(
                f"device={str(device)!r} does not have {what}; leave device=None, or take "
                'solver="lbfgs", c1=0 and one of the criteria log_loss, softmax_margin, '
                "pseudo_likelihood and piecewise, with linear chains"
            )
    X = problem.corpus.X
    is_sparse = sp.issparse(X) or isinstance(problem.criterion, Piecewise)
    try:
        memory = Memory(1, X.dtype, torch.empty(0, device=device).device)
        one = np.ones((1, 1))
        with _full_precision(memory.device):
            float(_both(sp.csr_array(one) if is_sparse else one, memory)[0] @ memory.tensor(one))
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(
            f"device={str(device)!r} is not there, or has no {'sparse ' * is_sparse}products of "
            f"{X.dtype}: {str(error).partition('. ')[0]}"
        ) from None
    return memory.device


def minimise(
    problem: Problem,
    x0: np.ndarray,
    device: Any,
    *,
    callback: Callable[[OptimizeResult], None],
    **options: Any,
) -> OptimizeResult:
    """Minimise the objective of a problem by L-BFGS on a device.

    Parameters
    ----------
    problem : Problem
    x0 : ndarray of shape (n_weights,)
    device : as ``torch.device`` takes it
    callback : as in :func:`~sklearn_crcrf.solvers.lbfgs`
        What the callback is told is copied from the device if it is looked at.
    **options
        As of :func:`~sklearn_crcrf.solvers.lbfgs`.

    Returns
    -------
    OptimizeResult
        With arrays.
    """

    def tell(result: OptimizeResult) -> None:
        told = {**result, "x": OnDevice(result.x), "jac": OnDevice(result.jac)}
        callback(OptimizeResult(told))

    objective = DeviceObjective(problem, check_on_device(problem, "lbfgs", device))
    x = torch.tensor(x0, device=objective.device)
    options["overwrite_x0"] = True
    with _full_precision(objective.device):
        result = lbfgs(objective, x, callback=tell, **options)
    result.update(x=np.array(OnDevice(result.x)), jac=np.array(OnDevice(result.jac)))
    return result


@contextmanager
def _full_precision(device: torch.device) -> Iterator[None]:
    """Let products have the precision of their numbers, which settings of torch may lower."""
    settings = torch.backends.cuda.matmul
    # Torch refuses to read by its older name what was set by the newer one.
    is_new = hasattr(settings, "fp32_precision")
    name, full = ("fp32_precision", "ieee") if is_new else ("allow_tf32", False)
    before = getattr(settings, name)
    setattr(settings, name, full)
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        setattr(settings, name, before)


class OnDevice:
    """A tensor that is copied to the host when it is asked for as an array."""

    def __init__(self, tensor: torch.Tensor):
        self._tensor = tensor

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._tensor.cpu().numpy(), dtype=dtype)

    def copy(self) -> np.ndarray:
        """Return an array of its own."""
        return np.array(self)


class DeviceObjective:
    """The sum of the losses of all sequences, plus the Gaussian penalty, on a device.

    The weights of attributes and labels stay on the device; the few others are arranged, tied and
    forbidden by the terms on the host, in double precision.

    Parameters
    ----------
    problem : Problem
    device : torch.device

    Attributes
    ----------
    parts : list of Part
        As many as it takes that the scores of each fit into the memory.
    """

    def __init__(self, problem: Problem, device: torch.device):
        X, n_labels = problem.corpus.X, problem.n_labels
        self.device, self._precision = device, problem.sigma**-2.0
        self._memory = Memory(n_labels, X.dtype, device)
        self._n_node = problem.terms().n_node_weights
        self._terms = Terms(0, problem.shared_terms(), n_labels, problem.forbidden)
        self._shape, self._place = (X.shape[1], n_labels), None
        if problem.pairs is not None:
            pairs = problem.pairs.tocoo()
            self._place = self._memory.tensor(pairs.row * np.int64(n_labels) + pairs.col)
            size = X.shape[1] * n_labels
            self._rows = torch.zeros(size, dtype=self._memory.dtype, device=device)
        offsets, most = problem.corpus.offsets, self._most_tokens(n_labels)
        wanted = np.arange(most, offsets[-1] + most, most)
        ends = np.unique(np.searchsorted(offsets, wanted, side="right") - 1)
        ends = np.unique(np.append(ends[ends > 0], len(offsets) - 1)).tolist()
        chunks = problem.corpus.cut(ends)
        self.parts = [Part(chunk, X, problem.criterion, self._memory) for chunk in chunks]

    def _most_tokens(self, n_labels: int) -> int:
        """Return how many tokens a batch may have."""
        n_scores = N_SCORES
        if self.device.type == "cuda":
            free, _ = torch.cuda.mem_get_info(self.device)
            free += torch.cuda.memory_reserved(self.device)
            free -= torch.cuda.memory_allocated(self.device)
            # Libraries count the numbers of a matrix in 32 bits.
            n_scores = min(free // (2 * N_TENSORS * self._memory.dtype.itemsize), 2**31 - 1)
        return max(n_scores // n_labels, 1)

    def __call__(self, w: torch.Tensor) -> tuple[float, torch.Tensor]:
        """Return the objective and its gradient.

        Parameters
        ----------
        w : tensor of shape (n_weights,)
        """
        node, n = w[: self._n_node], self._n_node
        weights = self._terms.split(as_doubles(w[n:]))
        if self._place is None:
            rows = node.view(self._shape)
        else:
            self._rows[self._place] = node
            rows = self._rows.view(self._shape)
        value, total = 0.0, [np.zeros_like(array) for array in weights.shared]
        of_rows = torch.zeros_like(rows)
        for part in self.parts:
            scores = self._terms.scores(np.zeros(0), weights.shared, part.chunk)
            loss, gradient = part.add(rows, scores, of_rows)
            value += loss
            self._terms.add_gradient(part.chunk, gradient, total)
        gradient = w * self._precision
        flat = of_rows.view(-1)
        gradient[:n] += flat if self._place is None else flat[self._place]
        of_terms = self._terms.join_shared(weights._replace(shared=total))
        gradient[n:] += self._memory.tensor(of_terms)
        squares = float(torch.linalg.vector_norm(w, dtype=self._memory.widest)) ** 2
        return value + 0.5 * self._precision * squares, gradient


class Part:
    """Some of the sequences, whose scores are in memory together.

    Parameters
    ----------
    chunk : Chunk
    X : CSR or ndarray of shape (n_tokens, n_attributes)
        The attributes of all sequences.
    criterion : Criterion
    memory : Memory

    Attributes
    ----------
    X, transposed : tensor
        The attributes in time-major order, and their transpose.
    loss : callable
    """

    def __init__(self, chunk: Chunk, X: Any, criterion: Criterion, memory: Memory):
        order, n_labels = TimeMajor(chunk.structure.offsets), memory.n_labels
        n = int(order.offsets[1])
        nothing = Scores.of(np.zeros((n, n_labels)), np.zeros((n_labels, n_labels)))
        # The criterion checks its parameters and labels itself.
        criterion(chunk.structure.take(slice(0, 1)), nothing, chunk.y[:n])
        self.chunk, self._memory, self._n_first = chunk, memory, int(order.bounds[1])
        self._last = memory.tensor(order.last)
        self.X, self.transposed = _both(X[chunk.start : chunk.stop][order.tokens], memory)
        self.loss = LOSSES[type(criterion)](criterion, order, chunk, memory)

    def add(
        self, rows: torch.Tensor, scores: Scores, out: torch.Tensor
    ) -> tuple[float, ScoreGradient]:
        """Return the loss, and its derivatives by the scores that all sequences share.

        Parameters
        ----------
        rows : tensor of shape (n_attributes, n_labels)
        scores : Scores
            Without state scores.
        out : tensor of shape (n_attributes, n_labels)
            The derivatives by the rows are added to it.
        """
        state = self.X @ rows
        state[: self._n_first] += self._memory.tensor(scores.begin)
        state[self._last] += self._memory.tensor(scores.end)
        loss, found, transition = self.loss(state, scores.transition)
        out += self.transposed @ found
        ends = torch.stack([found[: self._n_first].sum(0), found[self._last].sum(0)])
        begin, end = as_doubles(ends)
        return loss, ScoreGradient(np.zeros(0), transition, begin, end, np.zeros(0))


def _both(matrix: Any, memory: Memory) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a matrix on the device, and its transpose; sparse ones as CSR."""
    if not sp.issparse(matrix):
        tensor = memory.tensor(matrix)
        return tensor, tensor.T
    return _sparse(matrix, memory), _sparse(matrix.T, memory)


def _sparse(matrix: Any, memory: Memory) -> torch.Tensor:
    matrix = sp.csr_array(matrix)
    kind = np.int32 if matrix.nnz < 2**31 else np.int64
    places = (
        torch.tensor(a.astype(kind), device=memory.device) for a in (matrix.indptr, matrix.indices)
    )
    with warnings.catch_warnings(action="ignore"):  # that it is in beta
        return torch.sparse_csr_tensor(
            *places,
            memory.tensor(matrix.data),
            size=matrix.shape,
            device=memory.device,
            check_invariants=False,
        )


class _LogLoss:
    """Log losses of chains, with a cost of wrong labels; see :class:`LogLoss`.

    Parameters
    ----------
    order : TimeMajor
    y, weight : as in Chunk
    memory : Memory
    cost : float, default=0.0
    """

    def __init__(
        self, order: TimeMajor, y: np.ndarray, weight: np.ndarray, memory: Memory, cost: float = 0.0
    ):
        self.chain, self._cost, self._partial = (
            DeviceChain(order, weight, memory),
            cost,
            y.ndim > 1,
        )
        self._widest = memory.widest
        if self._partial:
            self._wrong = torch.as_tensor(~y[order.tokens], device=memory.device)
            return
        self._y = memory.tensor(y[order.tokens])[:, None]
        _, current = (chain := Chain(order.offsets)).links()
        self._counts = np.zeros((memory.n_labels, memory.n_labels))
        np.add.at(self._counts, (y[current - 1], y[current]), weight[chain.units_of(current)])

    def __call__(self, state: torch.Tensor, transition: np.ndarray) -> Expected:
        scores = self.chain.scores
        if self._cost and self._partial:
            state = torch.where(self._wrong, state + self._cost, state)
        elif self._cost:
            state += self._cost
            state.scatter_add_(1, self._y, torch.full_like(state[:, :1], -self._cost))
        scores.copy_(state)
        free = self.chain.expected(transition)
        if self._partial:
            free = free._replace(state=free.state.clone())
            scores.masked_fill_(self._wrong, -torch.inf)
            given = self.chain.expected(transition)
            return Expected(*(a - b for a, b in zip(free, given, strict=True)))
        weight, used = self.chain.row_weight, self._counts > 0
        gold = float((scores.gather(1, self._y).to(self._widest) * weight).sum())
        gold += float(self._counts[used] @ transition[used])
        free.state.scatter_add_(1, self._y, -weight)
        return Expected(free.value - gold, free.state, free.transition - self._counts)


class _PseudoLikelihood:
    """Log losses of tokens, given their neighbours; see :class:`PseudoLikelihood`."""

    def __init__(self, criterion: Any, order: TimeMajor, chunk: Chunk, memory: Memory):
        self._memory, self._n_first = memory, int(order.bounds[1])
        memory.need(len(order.tokens))
        self._weight = memory.tensor(chunk.weight[order.sequence])[:, None]
        self._y, self._before = (memory.tensor(a) for a in (chunk.y[order.tokens], order.before))

    def __call__(self, state: torch.Tensor, transition: np.ndarray) -> Expected:
        y, before, first = self._y, self._before, self._n_first
        T, gold = self._memory.tensor(transition), y[:, None]
        state[first:] += T[y[before]]
        state[before] += T.T[y[first:]]
        log_z = torch.logsumexp(state, 1, keepdim=True)
        loss = (log_z.to(self._memory.widest) - state.gather(1, gold)) * self._weight
        state.sub_(log_z).exp_().mul_(self._weight)
        state.scatter_add_(1, gold, -self._weight)
        is_gold = self._memory.rows("P", len(y)).zero_().scatter_(1, gold, 1.0)
        counts = is_gold[before].T @ state[first:] + state[before].T @ is_gold[first:]
        return Expected(float(loss.sum()), state, as_doubles(counts))


class _Piecewise:
    """Log losses of pieces; see :class:`Piecewise`."""

    def __init__(self, criterion: Piecewise, order: TimeMajor, chunk: Chunk, memory: Memory):
        nothing = Scores.of(np.zeros((len(order.tokens), 1)), np.zeros((1, 1)))
        pieces = chunk.structure.pieces(nothing, WITH_TOKENS[criterion.pieces])
        of_pieces = TimeMajor(pieces.structure.offsets)
        shares = pieces.share[order.tokens][:, of_pieces.tokens]
        self._of_tokens, self._of_pieces = _both(shares, memory)
        given = chunk.y[pieces.tokens], chunk.weight[pieces.sequence], memory
        self.loss = _LogLoss(of_pieces, *given)

    def __call__(self, state: torch.Tensor, transition: np.ndarray) -> Expected:
        found = self.loss(self._of_pieces @ state, transition)
        return found._replace(state=self._of_tokens @ found.state)


def _log_loss(criterion: Any, order: TimeMajor, chunk: Chunk, memory: Memory) -> Loss:
    return _LogLoss(order, chunk.y, chunk.weight, memory, getattr(criterion, "cost", 0.0))


LOSSES: dict[type[Criterion], Callable[..., Loss]] = {
    LogLoss: _log_loss,
    SoftmaxMargin: _log_loss,
    PseudoLikelihood: _PseudoLikelihood,
    Piecewise: _Piecewise,
}
"""What stands for each criterion on a device."""
