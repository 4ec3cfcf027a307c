"""What parameters, attributes and arguments mean in every estimator that has them.

Parameters
----------
sigma : float, default=1.0
    Standard deviation of the Gaussian prior of every weight, from 1e-18 to inf: the sum of the
    losses has the penalty :math:`\\lVert w \\rVert^2 / (2 \\sigma^2)`. It is ``1 / sqrt(2 c2)`` for
    the c2 of CRFsuite and ``sqrt(C)`` for the C of CRF++.
c1 : float, default=0.0
    Strength of the L1 penalty, in [0, inf), which makes many weights exactly zero.
min_freq : int, default=1
    The least number of tokens with an attribute; rarer attributes are left out.
boundaries : bool, default=False
    Whether first and last labels of sequences have weights too; in trees, roots and leaves.
edge_columns : collection of str or int, default=()
    Columns of X, or keys of feature dicts, whose attributes also have a weight for every pair
    of labels, so that the transition into a token depends on them. Token strings are the column
    "token". The types and attributes of the edges of trees need not be named.
constraints : None, {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, \
            mapping or array, default=None
    Which labels may follow each label: a scheme of segments, a mapping from a label to the
    labels that may follow, or a bool array of shape (n_labels, n_labels). All other transitions
    are impossible, in training and in prediction.
max_iter : int, default=1000
    Maximum number of iterations, or of epochs of "sgd".
tol : float, default=1e-5
    Stop when the objective falls by less than this fraction of its value over ten iterations,
    or over five epochs of "sgd".
warm_start : bool, default=False
    Start from the weights of the last fit, for the attributes and labels that it had. Labels
    that y no longer has are kept.
class_weight : None, "balanced" or dict, default=None
    Weights of labels; "balanced" gives rare labels more weight, as in scikit-learn. The weight
    of a sequence is the mean over its tokens.
validation_fraction : float, default=None
    Fraction of the sequences, in (0, 1), that are held out at random for early stopping: training
    ends after ``n_iter_no_change`` iterations without a lower loss of these sequences, and the
    best model is kept. None holds out nothing.
solver_options : dict, default=None
    The arguments ``memory``, ``period`` and ``epsilon`` of the solver
    :func:`~sklearn_crcrf.solvers.lbfgs` or :func:`~sklearn_crcrf.solvers.owlqn`.
n_iter_no_change : int, default=10
    Number of iterations without a lower validation loss after which training ends.
dtype : {"float32", "float64"} or None, default=None
    Precision of weights and scores; by default the precision of a numeric X,
    else float64.
binning : transformer, default=None
    Gives integer codes to numeric columns; by default ten bins of about equal frequency,
    or one bin per value if there are fewer values.
sample_unit : {"sequence", "token"}, default="sequence"
    The unit that scikit-learn treats as a sample. ``"token"`` is for tables whose rows are
    tokens: then string scorers and stratified splits work.
verbose : int, default=0
    Print a line after every ``verbose`` iterations; 0 for none.

Attributes
----------
classes_ : ndarray of shape (n_labels,)
    The labels, in the order of the columns of probabilities.
coef_ : ndarray of shape (n_attributes, n_labels)
    The weight of each attribute for each label.
transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
    The weight of each pair of a label and the next one.
edge_coef_ : ndarray of shape (n_edge_attributes, n_labels, n_labels)
    A table of weights of transitions for each of ``edge_attribute_names_``.
begin_, end_ : ndarray of shape (n_labels,)
    Weights of the first and last labels; zero unless there are ``boundaries``.
attribute_names_ : ndarray of shape (n_attributes,)
    The attribute of each row of ``coef_``.
edge_attribute_names_ : ndarray of shape (n_edge_attributes,)
    The attribute of each table of ``edge_coef_``; ``"edge=left"`` is the type "left" of the
    edges of trees, and ``"edge0"`` the first of their attributes.
state_features_ : dict
    The weights of pairs of attribute and label that are not zero.
transition_features_ : dict
    The weights of pairs of labels that are not zero.
counts_ : Counts
    The sufficient statistics.
receipt_ : Receipt
    What ``forget(..., purge=True)`` removed; only there after that call, and in no model file.
tabulator_ : Tabulator
    Turns X into columns of symbols.
encoder_ : Encoder
    Numbers the symbols of all columns.
loss_curve_ : list of float
    The objective, with the penalty, after each iteration.
validation_curve_ : list of float
    The mean loss of the held-out sequences, without the penalty, after each iteration; empty
    if no sequence is held out.
n_iter_ : int
    Number of iterations, and of values in ``loss_curve_``.
converged_ : bool
    Whether training ended by itself: it was neither interrupted nor ended by ``max_iter``.
n_features_in_ : int
    Number of columns of X, if it has columns.
feature_names_in_ : ndarray of str objects
    Names of the columns of X, if it is a data frame.

Arguments of methods
--------------------
X : list of sequences, SequenceArray, GraphArray, 2-D array, CSR or DataFrame
    Sequences of token strings, of feature dicts, or of rows of numbers; the rows of a
    2-D array are sequences of one token, and a DataFrame with the index
    (sequence, position) has a token in each row. The samples of a GraphArray are trees.
sample_weight : array-like of shape (n_samples,), nested list or SequenceArray, optional
    One weight for each sequence, or for each row of a table, or for each token; the weight
    of a sequence is then the mean over its tokens.
labels : array-like of shape (n_labels,), optional
    The label of each column of y, if y has probabilities. Sorted, they become the classes, also
    those whose probability is always 0.
pair_marginals : list of arrays of shape (n_tokens - 1, n_labels, n_labels), optional
    If y has probabilities: the joint probabilities of the labels of neighbouring tokens, with
    the label of the first token in the rows. Their sums must be the probabilities in y. By
    default the labels of neighbours are independent.
classes : array-like of labels, optional
    In the first call: all labels that will ever occur. By default later calls may bring new
    labels, as they may bring new attributes.
allowed : list of lists or SequenceArray, optional
    Known labels: for each token its label, a set of labels that it may have, or None if
    any is possible.
subject_to : list of constraints, optional
    Constraints on the labels of whole sequences, such as
    :class:`~sklearn_crcrf.labels.AtMost`. Where the best path breaks one, the best path that
    satisfies all is found: by a search if all constraints are on segments, such as
    :class:`~sklearn_crcrf.labels.OneSegment`, else by integer programming.
"""

from typing import Any, TypeVar

from ..utils.docstrings import entries_of, filling
from .parameters import SHARED

Estimator = TypeVar("Estimator", bound=Any)

fill = filling(entries_of(__doc__ or ""))


def documented(kind: type[Estimator]) -> type[Estimator]:
    """Give a class of estimators what it shares with others.

    ``{sigma}`` at the beginning of a line of a docstring stands for its entry here, and the
    constraints of shared parameters are added to ``_parameter_constraints``.

    Examples
    --------
    >>> from sklearn_crcrf import HMM
    >>> HMM._parameter_constraints["n_jobs"]
    [<class 'numbers.Integral'>, None]
    """
    if hasattr(kind, "_parameter_constraints"):
        known = SHARED | kind._parameter_constraints
        kind._parameter_constraints = {name: known[name] for name in kind._get_param_names()}
    return fill(kind)
