"""Best labellings by integer programs."""

import numpy as np

from ..programs.integer_program import best_labelling
from ..scores import Scores
from .base import Inference
from .linked import Linked


class IntegerProgram(Inference):
    """Best labellings by integer programming, with ``scipy.optimize.milp``.

    It is exact for any links, and the time that it takes is not bounded: some hundred tokens are
    quick where the linear program is tight, which is often so on sparse graphs. It has no
    log-partition.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Graph, Scores
    >>> ring = Graph(np.array([0, 3]), np.array([[0, 1], [1, 2], [0, 2]]), "ilp")
    >>> value, _ = ring.maximum(Scores.of(np.zeros((3, 2)), 1 - np.eye(2)))
    >>> value  # two of the labels must be equal
    array([2.])
    """

    name = "ilp"

    def takes_triangles(self, n_labels: int) -> bool:
        return True

    def maximum(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        return best_labelling(graph, scores)
