"""Online exponentiated gradient over chain distributions."""

import numpy as np

from ...linear.examples import Coefficients
from .block import Block
from .problem import MarginProblem, Pass

# Initial log-odds of each gold label against any other label.
GOLD = 3.0
# The first rate, its factor after a step that lowers the dual, and after one that does not.
RATE, SLOWER, FASTER = 1.0, 0.5, 1.05
# Number of steps tried before a sequence is skipped.
TRIALS = 30
# Changes of the dual below this are rounding errors.
ROUNDING = 1e-14


class ExponentiatedGradient:
    """Take steps of the online exponentiated gradient (Bartlett et al. 2004; Collins et al. 2008).

    The distribution over labellings of a sequence is a chain, p(y) ~ exp(theta(y)), with scores
    theta. A step multiplies probabilities by the exponential of the gradient of the dual,

        theta <- theta + rate * (score + d),

    which needs marginals, by forward-backward, but no best paths; the weights follow from the
    marginals. Every sequence has its own rate: it is halved if the dual would fall, and grows by
    5 % otherwise. As no probability ever becomes zero, the gap closes slowly at the end. The
    scores theta of all sequences are stored, and the loop over sequences is in Python.

    Parameters
    ----------
    problem : MarginProblem
    """

    def __init__(self, problem: MarginProblem):
        examples = problem.examples
        self._weights, self._wrong = examples.zeros(), np.zeros(examples.n_sequences)
        self._chains = {
            s: _Chain(Block(examples, s), problem.bound[s]) for s in problem.sequences.tolist()
        }
        for chain in self._chains.values():
            chain.start(self._weights)

    def take_pass(self, order: np.ndarray) -> Pass:
        """Take a step on each sequence, in this order."""
        for s in order:
            self._chains[s].ascend(self._weights)
            self._wrong[s] = self._chains[s].wrong
        return Pass(self._weights, self._weights, self._wrong)


class _Chain:
    """The distribution over labellings of a sequence; initially concentrated on the gold path."""

    def __init__(self, block: Block, bound: float):
        self._block, self._bound, self._rate = block, bound, RATE
        self._theta = block.gold._replace(
            state=GOLD * block.gold.state, pairs=np.zeros_like(block.gold.pairs)
        )
        self._used = block.expected(self._theta)

    @property
    def wrong(self) -> float:
        """The mean number of wrong labels."""
        return self._used.dot(self._block.cost)

    def start(self, weights: Coefficients) -> None:
        """Add the contribution of this sequence to the weights."""
        self._block.add_to(weights, self._bound, self._block.gold.plus(-1.0, self._used))

    def ascend(self, weights: Coefficients) -> None:
        """Take one step, and update the weights."""
        gradient = self._block.scores(weights).plus(1.0, self._block.cost)
        for _ in range(TRIALS):
            theta = self._theta.plus(self._rate, gradient)
            used = self._block.expected(theta)
            change = used.plus(-1.0, self._used)
            gain = gradient.dot(change)
            loss = 0.5 * self._bound * self._block.squared_norm(change)
            if gain >= loss or max(gain, loss) < ROUNDING:
                self._theta, self._used = theta, used
                self._block.add_to(weights, -self._bound, change)
                self._rate *= FASTER
                return
            self._rate *= SLOWER
