"""AssociativeMarkovNetwork: linked nodes tend to have equal labels, trained for a margin."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from ...base.docstrings import documented
from ...criteria import MaxMargin
from .estimator import GraphCRF


@documented
@dataclass(eq=False, repr=False)
class AssociativeMarkovNetwork(GraphCRF):
    r"""Associative Markov network: edges reward equal labels, trained for a margin [1]_.

    It is a :class:`GraphCRF` with ``associative=True`` that minimises the structured hinge loss

    .. math::

       \max_{y'} \left[s(y') + d(y, y')\right] - s(y)

    with d the number of nodes whose labels differ, plus the penalty
    :math:`\lVert w \rVert^2 / (2 \sigma^2)`. As edges only reward equal labels, cuts find the best
    labelling for two labels exactly, and for more labels one within a factor of two of it, by
    expansion moves. It has no probabilities. For graphs whose edges join different labels, use
    :class:`GraphCRF`.

    Parameters
    ----------
    sigma : float, default=0.2
        Standard deviation of the Gaussian prior of every weight, in (0, inf): the loss has the
        penalty :math:`\lVert w \rVert^2 / (2 \sigma^2)`. ``sigma ** 2`` is the C of a support
        vector machine.
    {min_freq}
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-2
        Stop when the objective is within this fraction of its minimum.
    {warm_start}
    {dtype}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads.
    {verbose}
    inference : {"auto", "exact", "loopy", "trw", "cut", "ilp"} or Inference, default="cut"
        How the best labellings are found, as in :class:`GraphCRF`.

    Attributes
    ----------
    {classes_}
    {coef_}
    transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
        Diagonal, and not negative.
    edge_coef_ : ndarray of shape (n_edge_attributes, n_labels, n_labels)
        What each type or attribute of edges adds to it.
    edge_attribute_names_ : ndarray of shape (n_edge_attributes,)
        Such as ``"edge=vertical"``, or ``"edge0"``.
    {attribute_names_}
    begin_, end_ : ndarray of shape (n_labels,)
        Zero: nodes of graphs have no order.
    {state_features_}
    {transition_features_}
    {loss_curve_}
    validation_curve_ : list of float
        Empty, as no samples are held out.
    {n_iter_}
    {converged_}
    n_inference_iter_ : int
        The most iterations that inference took in training; 0 for cuts.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    GraphCRF : Any tables of weights on edges, and probabilities.

    References
    ----------
    .. [1] Taskar, Chatalbashev, Koller, "Learning Associative Markov Networks", ICML 2004.

    Examples
    --------
    >>> from sklearn_crcrf import AssociativeMarkovNetwork, GraphArray
    >>> words = [["red", "red", "grey", "blue"]]
    >>> ring = GraphArray.from_edges(words, [[(0, 1), (1, 2), (2, 3), (3, 0)]])
    >>> network = AssociativeMarkovNetwork(sigma=1.0).fit(ring, [["R", "R", "R", "B"]])
    >>> network.predict(ring).tolist()
    [['R', 'R', 'R', 'B']]
    """

    criterion: Any = field(init=False, default_factory=MaxMargin)
    sigma: float = 0.2
    _: KW_ONLY
    features: Any = field(init=False, default="all")
    solver: str = field(init=False, default="bundle")
    max_iter: int = 200
    tol: float = 1e-2
    init: Any = field(init=False, default="zeros")
    decoding: str = field(init=False, default="viterbi")
    random_state: Any = field(init=False, default=None)
    inference: Any = "cut"
    symmetric: bool = field(init=False, default=False)
    associative: bool = field(init=False, default=True)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "AssociativeMarkovNetwork":
        """Train on labelled graphs.

        Parameters
        ----------
        X : GraphArray
            The graphs, whose edges should join nodes of the same label more often than not.
        y : list of label lists, or SequenceArray
            The labels of the nodes; nodes with the label None are left out, with their edges.
        {sample_weight}

        Returns
        -------
        self
            If training fails, it stays as it was; if it is interrupted, it has the weights of the
            last iteration.

        Raises
        ------
        ValueError
            If no node has a label, or input is not valid; the message says where.
        """
        return super().fit(X, y, sample_weight)
