"""StructuredPerceptron: a linear chain with error-driven online training."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ...base.docstrings import documented
from ...data.layout import Layout
from ...labels.partial import encode_allowed
from ...linear.corpus import Corpus
from ...structures import Scores, Structure
from ...utils.replaced_parts import check_fitted
from .learning import LEARNERS, LastWeights, Learned
from .online import EPOCHS, OnlineClassifier
from .voting import WeightHistory, count_votes


@documented
@dataclass(eq=False, repr=False)
class StructuredPerceptron(OnlineClassifier):
    r"""Structured perceptron, a linear chain with error-driven online training [1]_.

    The score of a labelling is linear in the weights, as in a :class:`CRF`. The sequences are
    labelled one after another by the best path under the current weights,

    .. math::

       y' = \arg\max_y s(x, y),

    and if it is not the gold path y, the weights of the features of y are raised by 1 and the
    weights of the features of y' lowered by 1. This is a subgradient step on
    ``score(y') - score(y)``, without a penalty. Nothing is normalised, so an epoch costs little
    more than labelling all sequences. The mean of the weights over all steps labels new data
    better than the last weights, which depend on the last errors. Of paths with equal scores, the
    one with the lowest labels at its end is taken.

    Scores are not trained to be log-probabilities: :meth:`predict_proba` and similar methods
    normalise them nevertheless, and are strongly overconfident. For probabilities train a
    :class:`CRF`.

    Parameters
    ----------
    averaging : {"mean", "none", "vote"}, default="mean"
        How the weights after all steps are combined: their mean, the last of them, or, for
        :meth:`predict` and :meth:`predict_proba`, a vote of all of them on the label of each
        token [2]_; all other methods then use the mean. A vote takes one prediction per
        correction in training, often 10,000, and all corrections are stored; it is hardly better
        than the mean.
    max_iter : int, default=10
        Maximum number of epochs. Training ends earlier after an epoch without errors.
    {min_freq}
    {boundaries}
    {edge_columns}
    {constraints}
    {warm_start}
    {class_weight}
    {validation_fraction}
    n_iter_no_change : int, default=5
        Number of epochs in which the number of wrong held-out labels must fall.
    {dtype}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict; votes use one.
    random_state : int, RandomState or None, default=None
        Chooses the order of the sequences in each epoch, and the held-out sequences.
    {verbose}

    Attributes
    ----------
    {classes_}
    {coef_}
    {transitions_}
    {begin_, end_}
    {edge_coef_}
    {edge_attribute_names_}
    {attribute_names_}
    {state_features_}
    {transition_features_}
    loss_curve_ : list of float
        Fraction of tokens labelled wrongly in each epoch, each before its correction.
    validation_curve_ : list of float
        Fraction of held-out tokens labelled wrongly after each epoch.
    {n_iter_}
    {converged_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    CRF : ``CRF(MaxMargin(cost=0.0))`` minimises the same loss with a penalty.
    MaxMarginCRF : Gold paths that are best by a margin.

    References
    ----------
    .. [1] Collins, "Discriminative Training Methods for Hidden Markov Models: Theory and
       Experiments with Perceptron Algorithms", EMNLP 2002.
    .. [2] Freund, Schapire, "Large Margin Classification Using the Perceptron Algorithm",
       Machine Learning 37 (1999).

    Examples
    --------
    >>> from sklearn_crcrf import StructuredPerceptron
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> perceptron = StructuredPerceptron(random_state=0).fit(X, y)
    >>> perceptron.predict([["the", "cat", "walks"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    """

    averaging: str = "mean"
    max_iter: int = 10

    _parameter_constraints: ClassVar[dict] = {
        "averaging": [StrOptions(set(LEARNERS))],
        "max_iter": EPOCHS,
    }

    def predict(self, X: Any, allowed: Any = None, subject_to: Any = None) -> Any:
        """Return the labels of the best path of each sequence, or the labels with the most votes.

        Parameters
        ----------
        X : list of sequences, SequenceArray, GraphArray, 2-D array, CSR or DataFrame
            The sequences to label, in any form that :meth:`fit` takes.
        {allowed}
        {subject_to}

        Returns
        -------
        labels
            In the layout of X: an object array of lists for lists, a SequenceArray for a
            SequenceArray, else a 1-D array. Of labels with equally many votes the first is taken;
            the labels of a vote need not be a path that ``constraints`` allow.

        Raises
        ------
        ValueError
            If ``allowed`` or ``subject_to`` does not fit X, or no path that they allow is possible.
        """
        check_fitted(self)
        if self._history is None:
            return super().predict(X, allowed, subject_to)
        super().predict(X, allowed)  # raises an error if no path is possible
        votes, mirror = self._votes(self._history, X, allowed)
        y = votes.argmax(axis=1)
        if subject_to is None:
            return mirror(self.classes_[y])

        def most_votes(structure: Structure, scores: Scores, first: int) -> np.ndarray:
            return y[mirror.offsets[first] : mirror.offsets[first + structure.n_units]]

        results, _ = self._map(X, most_votes, allowed, subject_to=subject_to)
        return mirror(self.classes_[np.concatenate(results)])

    def _marginals(self, X: Any) -> tuple[np.ndarray, Callable]:
        """Marginals, or with ``averaging="vote"`` the fractions of votes."""
        marginals = super()._marginals(X)
        if self._history is None:
            return marginals
        votes, mirror = self._votes(self._history, X)
        return votes / self._n_seen, mirror

    def _votes(
        self, history: WeightHistory, X: Any, allowed: Any = None
    ) -> tuple[np.ndarray, Layout]:
        """Numbers of votes, (n_tokens, n_labels), and the layout of X."""
        sequences = self._check_X(X)
        offsets, masks = sequences.X.offsets, None
        if allowed is not None:
            masks = encode_allowed(sequences.mirror.labels(allowed, "allowed"), self.classes_)
        y, weight = np.zeros(offsets[-1], dtype=np.int32), np.ones(len(offsets) - 1)
        examples = self._examples(
            Corpus(self._prepare(sequences.X)[0], y, self._structure(sequences.X), weight)
        )
        return count_votes(history, examples, masks), sequences.mirror

    def _learner(self, start: Learned) -> LastWeights:
        return LEARNERS[self.averaging](start)
