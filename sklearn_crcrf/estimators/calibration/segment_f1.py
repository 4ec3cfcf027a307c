"""SegmentF1Classifier: a cost of the label "O", chosen for the F1 of segments."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from ...base.docstrings import documented
from ...data.ragged import SequenceArray, joined_ranges
from ...labels.segments.schemes import SCHEMES, check_option, read_labels
from ...metrics import segment_f1
from ...structures import Scores, Structure
from ...utils.soundness import Array, Requirement
from ..opinion_pool.expert import Samples
from .base import HeldOutBatch, HeldOutChoice

OUTSIDE = "O"
# Costs below zero gained little on text like the training text, and lost much on other text.
COSTS = np.arange(0.0, 4.25, 0.25)


@documented
@dataclass(eq=False, repr=False)
class SegmentF1Classifier(HeldOutChoice):
    """A classifier that lowers the score of "O", for the best F1 of segments.

    Where segments are hard to tell, the most probable labelling has too few of them: "O" is the
    likeliest label of a token although other labels together are likelier. This classifier lowers
    the score of "O" at every token by a cost, before the best path is found. The cost is the one of
    0, 0.25, ..., 4 with the best F1 of held-out segments: each fold is labelled by a model of the
    others. The estimator itself is fitted to all sequences. Probabilities stay as the estimator has
    them.

    Parameters
    ----------
    estimator : estimator
        A first-order sequence classifier, or a pipeline or search that ends in one.
    cv : int, splitter or iterable of splits, default=5
        The folds of the training sequences; by default they are contiguous, so that few documents
        are divided.
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
        How labels spell segments. A label that the scheme does not know is a segment of one token.
    {sample_unit}
    n_jobs : int, default=None
        Number of threads that predict.

    Attributes
    ----------
    {classes_}
    estimator_ : estimator
        Fitted to all sequences.
    outside_cost_ : float
        What the score of "O" is lowered by, from 0 to 4.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    CalibratedSequenceClassifier : Calibrated probabilities.

    Examples
    --------
    >>> from sklearn_crcrf import CRF, SegmentF1Classifier
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> X, y = make_addresses(60, random_state=0)
    >>> model = SegmentF1Classifier(CRF(), cv=2).fit(X, y)
    >>> 0 <= model.outside_cost_ <= 4
    True
    """

    _: KW_ONLY
    scheme: str = "IOB2"
    sample_unit: str = "sequence"
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict] = {"scheme": [str]}

    def _fit(self, samples: Samples) -> None:
        check_option("scheme", self.scheme, SCHEMES)
        super()._fit(samples)

    def _choose(self, batches: Sequence[HeldOutBatch]) -> None:
        lengths, gold = [], []
        found: list[list[np.ndarray]] = [[] for _ in COSTS]
        for batch in batches:
            tokens, n_tokens = _complete_sequences(batch)
            spelled, y = (
                _spelled(batch.classes, self.scheme),
                np.zeros(len(batch.scores.state), int),
            )
            y[batch.tokens] = batch.y
            lengths.append(n_tokens)
            gold.append(spelled[y[tokens]])
            for labels, cost in zip(found, COSTS, strict=True):
                lowered = with_outside_cost(batch.scores, batch.classes, cost)
                labels.append(spelled[batch.structure.maximum(lowered)[1][tokens]])
        if not any(map(len, lengths)):
            raise ValueError("no held-out sequence has labels that the other folds know")

        def joined(labels: list[np.ndarray]) -> SequenceArray:
            return SequenceArray.from_lengths(np.concatenate(labels), np.concatenate(lengths))

        values = [
            segment_f1(joined(gold), joined(labels), scheme=self.scheme, zero_division=0.0)
            for labels in found
        ]
        self.outside_cost_ = float(COSTS[np.argmax(values)])

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        yield Array("outside_cost_", np.asarray(self.outside_cost_), (), 0.0)

    def _decode(self, structure: Structure, scores: Scores, first: int) -> np.ndarray:
        lowered = with_outside_cost(scores, self.classes_, self.outside_cost_)
        return super()._decode(structure, lowered, first)


def with_outside_cost(scores: Scores, classes: np.ndarray, cost: float) -> Scores:
    """Return the same scores, but with the score of "O" lowered by a cost at every token.

    Parameters
    ----------
    scores : Scores
    classes : ndarray of shape (n_labels,)
    cost : float

    Returns
    -------
    Scores
    """
    state = scores.state.copy()
    state[:, [label == OUTSIDE for label in classes.tolist()]] -= cost
    return scores.with_state(state)


def _complete_sequences(batch: HeldOutBatch) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens and the lengths of sequences that have weight and only known labels."""
    is_usable = np.zeros(len(batch.scores.state) + 1, dtype=np.int64)
    is_usable[1 + batch.tokens[batch.weight > 0]] = 1
    offsets = batch.structure.offsets
    lengths = np.diff(offsets)
    complete = (np.diff(np.cumsum(is_usable)[offsets]) == lengths) & (lengths > 0)
    return joined_ranges(offsets[:-1][complete], lengths[complete]), lengths[complete]


def _spelled(classes: np.ndarray, scheme: str) -> np.ndarray:
    """Return the labels in a scheme: a label that it does not know is a segment of one token."""
    single = "S" if scheme == "IOBES" else "B"
    spelled = []
    for label in classes.tolist():
        try:
            read_labels([label], scheme)
        except ValueError:
            label = f"{single}-{label}"
        spelled.append(label)
    return np.array(spelled, dtype=object)
