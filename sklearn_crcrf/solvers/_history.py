"""The inverse Hessian, approximated from the last steps."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .._kernels.sparse import history
from .._kernels.threads import my_threads
from ._progress import arrays_of

# A step along which the gradient hardly changes says nothing of the curvature.
CURVATURE = 1e-10
# A longer history saves iterations, which pays while a pass over it takes less time than the
# gradient. So by default as many steps are kept as fit into N_NUMBERS, within FEWEST and MOST. If
# fewer than MOST fit, they are stored in half the precision, which is read in half the time and
# accurate enough for a direction.
N_NUMBERS, FEWEST, MOST = 2**24, 6, 100


class History:
    """The last steps s and changes of the gradient y, and the direction computed from them.

    With S = [s_1 ... s_m], Y = [y_1 ... y_m] (oldest first), R = the upper triangle of S'Y,
    D = diag(S'Y) and c = s_m'y_m / y_m'y_m, the inverse Hessian is (Byrd, Nocedal & Schnabel
    1994, eq. 2.6)

        H = c I + [S  c Y] [ R^-T (D + c Y'Y) R^-1   -R^-T ] [ S'  ]
                           [ -R^-1                     0   ] [ c Y']

    so that the direction -H v needs only inner products of S and Y with v and with the newest y.
    One pass over the history computes these, a second one the next point.

    Parameters
    ----------
    x : ndarray of shape (n_weights,), float32 or float64
        Any point; the history is empty at first.
    memory : int, at least 1, or None
        Number of steps; None for 6 to 100, the fewer the more weights there are.
    n_threads : int, at least 1
        The results do not depend on it.

    Attributes
    ----------
    gradient : ndarray of shape (n_weights,)
        Gradient at the newest point.
    steepest : ndarray of shape (n_weights,)
        The v of the next direction.
    """

    def __init__(self, x: np.ndarray, memory: int | None, n_threads: int = 1):
        most = N_NUMBERS // max(x.shape[0], 1)
        if memory is None:
            memory = min(max(FEWEST, most), MOST)
        for name, value in (("memory", memory), ("n_threads", n_threads)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self._memory, self._n_threads = memory, n_threads
        self._slots: list[int] = []  # of the pairs, oldest first
        self._sy, self._yy = np.zeros((2, memory, memory))
        self._allocate(x, np.float32 if most >= MOST else np.uint16)

    def _allocate(self, x: Any, dtype: Any) -> None:
        """Make room for all steps, in this type."""
        n_blocks = -(-x.size // history.BLOCK_SIZE)
        self.gradient = self.steepest = np.zeros_like(x)
        # Rows that are not written yet take up no memory.
        self._rows = np.empty((2 * self._memory, n_blocks, history.BLOCK_SIZE), dtype)
        self._products = np.zeros((n_blocks, 2, 2 * self._memory + 1))
        self._cuts = list(pairwise(np.linspace(0, n_blocks, self._n_threads + 1).astype(int)))

    def __len__(self) -> int:
        return len(self._slots)

    def clear(self) -> None:
        """Forget all steps."""
        self._slots = []

    def keep(
        self, x: np.ndarray, x_new: np.ndarray, gradient: np.ndarray, steepest: np.ndarray
    ) -> None:
        """Keep the step from x to x_new unless the curvature along it is not positive.

        Parameters
        ----------
        x, x_new : ndarray of shape (n_weights,)
        gradient : ndarray of shape (n_weights,)
            Gradient at x_new; it is copied.
        steepest : ndarray of shape (n_weights,)
            The gradient itself, or the pseudo-gradient that replaces it in the direction.
        """
        m = self._memory
        free = [slot for slot in range(m) if slot not in self._slots]
        slot = free[0] if free else self._slots.pop(0)
        n_slots = max([slot, *self._slots]) + 1
        self._by_steepest, by_y = self._written(slot, n_slots, x, x_new, gradient, steepest)
        self.steepest = self.gradient if steepest is gradient else steepest
        self._sy[:, slot] = by_y[:m]
        self._yy[:, slot] = self._yy[slot] = by_y[m:-1]
        if CURVATURE * self._yy[slot, slot] < self._sy[slot, slot] < np.inf:
            self._slots.append(slot)

    def move(self, x: np.ndarray, step: float, x_new: np.ndarray) -> float:
        """Compute x_new, a step from x along the direction of descent.

        Parameters
        ----------
        x : ndarray of shape (n_weights,)
            The newest point.
        step : float
            1 goes to the minimum of the quadratic model; without history it has length 1.
        x_new : ndarray of shape (n_weights,)
            Overwritten.

        Returns
        -------
        float
            The change of the objective to first order.
        """
        used, values = self._direction()
        coefficients = np.zeros(2 * self._memory + 1)
        coefficients[used] = step * values
        self._combine(coefficients, x, x_new)
        return float(step * values @ self._by_steepest[used])

    def _direction(self) -> tuple[np.ndarray, np.ndarray]:
        """-H v as a linear combination of rows and v: their indices and coefficients."""
        m, slots = self._memory, np.array(self._slots, dtype=int)
        used = np.concatenate([slots, m + slots, [2 * m]])
        if len(slots) == 0:
            return used, -1.0 / np.sqrt(self._by_steepest[used])
        sv, yv = self._by_steepest[slots], self._by_steepest[m + slots]
        grid = np.ix_(slots, slots)
        R, yy = np.triu(self._sy[grid]), self._yy[grid]
        c = R[-1, -1] / yy[-1, -1]
        u = solve_triangular(R, sv, check_finite=False)
        w = solve_triangular(R, np.diag(R) * u + c * (yy @ u - yv), trans="T", check_finite=False)
        return used, -np.concatenate([w, -c * u, [c]])

    def _written(
        self, slot: int, n_slots: int, x: Any, x_new: Any, gradient: Any, steepest: Any
    ) -> np.ndarray:
        """Write a step, and the gradient; return the products of rows with ``steepest`` and y."""
        points = (x, x_new, self.gradient, gradient, steepest)
        self._run(history.keep_step, self._rows, slot, n_slots, *points, self._products)
        return self._products.sum(axis=0)

    def _combine(self, coefficients: np.ndarray, x: Any, x_new: Any) -> None:
        """Compute x_new, x plus a linear combination of all rows and ``steepest``."""
        self._run(history.combine, self._rows, coefficients, self.steepest, x, x_new)

    def _run(self, kernel: Callable, *arguments: object) -> None:
        """Run a kernel on all blocks, shared among the threads."""
        with my_threads(self._n_threads) as threads:
            threads.map(lambda cut: kernel(*cut, *arguments), self._cuts)


class TensorHistory(History):
    """The same for tensors of torch, on their device and in their precision."""

    def _allocate(self, x: Any, dtype: Any) -> None:
        self.gradient = self.steepest = arrays_of(x).zeros_like(x)
        self._rows = x.new_zeros((2 * self._memory, len(x)))

    def _written(
        self, slot: int, n_slots: int, x: Any, x_new: Any, gradient: Any, steepest: Any
    ) -> np.ndarray:
        torch, m = arrays_of(x), self._memory
        y = self._rows[m + slot]
        torch.sub(x_new, x, out=self._rows[slot])
        torch.sub(gradient, self.gradient, out=y)
        self.gradient.copy_(gradient)
        rows = self._rows[:n_slots], self._rows[m : m + n_slots], steepest[None]
        found = [torch.cat([part @ v for part in rows]) for v in (steepest, y)]
        products = np.zeros((2, 2 * m + 1))
        products[:, np.r_[:n_slots, m : m + n_slots, 2 * m]] = torch.stack(found).cpu()
        return products

    def _combine(self, coefficients: np.ndarray, x: Any, x_new: Any) -> None:
        torch, (*of_rows, of_steepest) = arrays_of(x), coefficients
        torch.add(x, self.steepest, alpha=of_steepest, out=x_new)
        x_new.addmv_(self._rows.T, x.new_tensor(of_rows))
