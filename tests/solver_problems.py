"""Functions with known minima, with products with their Hessians where these are needed."""

import numpy as np
from scipy.special import expit


class quadratic:
    """1/2 (x - m)'A(x - m) + 1 with a rotated A."""

    def __init__(self, n, condition=1.0, dtype=np.float64):
        rng = np.random.default_rng(0)
        rotation = np.linalg.qr(rng.normal(size=(n, n)))[0]
        self.A = ((rotation * np.geomspace(1.0, condition, n)) @ rotation.T).astype(dtype)
        self.minimum = rng.normal(size=n).astype(dtype)

    def __call__(self, x):
        gradient = self.A @ (x - self.minimum)
        return 0.5 * float((x - self.minimum) @ gradient) + 1.0, gradient

    def hessp(self, x, v):
        return self.A @ v


class count_calls:
    """The same function, counting."""

    def __init__(self, fun):
        self.fun, self.hessp, self.n_calls = fun, fun.hessp, 0

    def __call__(self, x):
        self.n_calls += 1
        return self.fun(x)


def logistic(sigma=np.inf, n_samples=200, n_weights=12, seed=0):
    """Samples, labels in {-1, 1}, and their logistic loss with a Gaussian prior."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_weights)) * np.geomspace(0.2, 3.0, n_weights)
    y = np.where(X @ rng.normal(size=n_weights) + rng.logistic(size=n_samples) > 0, 1, -1)

    def fun(x):
        margin = y * (X @ x)
        loss = np.logaddexp(0.0, -margin).sum() + x @ x / (2 * sigma**2)
        return float(loss), x / sigma**2 - X.T @ (y * expit(-margin))

    def hessp(x, v):
        p = expit(X @ x)
        return X.T @ (p * (1 - p) * (X @ v)) + v / sigma**2

    fun.hessp = hessp
    return X, y, fun
