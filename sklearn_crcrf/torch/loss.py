"""Structured losses as modules of torch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..criteria import CRITERIA, Criterion, as_criterion
from ..labels.segments.schemes import check_option
from ..structures import Chain, Pullback, ScoreGradient, Structure
from .batch import Batch
from .host import uncompiled

REDUCTIONS = ("none", "sum", "mean", "token_mean")


class StructuredLoss(torch.nn.Module):
    """A training loss of labelled sequences, as a function of their scores.

    Every criterion of :mod:`sklearn_crcrf.criteria` and every structure of
    :mod:`sklearn_crcrf.structures` can be at the end of a network.

    Parameters
    ----------
    criterion : str or Criterion, default="log_loss"
        As in :class:`~sklearn_crcrf.CRF`.
    structure : "chain" or callable, default="chain"
        Makes the structure of a batch from the offsets of its sequences, an int64 ndarray of shape
        (n_sequences + 1,), such as ``functools.partial(SemiMarkovChain, roles=roles,
        max_length=4)``.
    reduction : {"none", "sum", "mean", "token_mean"}, default="mean"
        One loss for each sequence, their sum, their mean, or their sum by the number of tokens.
    classes : sequence of str, optional
        What labels are called, for criteria that depend on it, such as "mce_f1".

    Examples
    --------
    >>> import torch
    >>> from sklearn_crcrf.torch import StructuredLoss
    >>> scores = torch.zeros(1, 2, 2, requires_grad=True)
    >>> loss = StructuredLoss()(scores, torch.tensor([[0, 1]]), transitions=torch.eye(2))
    >>> loss.backward()
    >>> scores.grad
    tensor([[[-0.5000,  0.5000],
             [ 0.5000, -0.5000]]])
    >>> StructuredLoss("max_margin")(scores, torch.tensor([[0, 1]])).item()
    2.0
    """

    def __init__(
        self,
        criterion: str | Criterion | Callable = "log_loss",
        structure: str | Callable[[np.ndarray], Structure] = "chain",
        reduction: str = "mean",
        classes: Any = None,
    ):
        super().__init__()
        check_option("reduction", reduction, REDUCTIONS)
        if isinstance(criterion, str):
            check_option("criterion", criterion, CRITERIA)
        if isinstance(structure, str):
            check_option("structure", structure, ["chain"])
        self.criterion = as_criterion(criterion)
        if classes is not None:
            self.criterion = self.criterion.for_labels(classes)
        if reduction == "none" and not self.criterion.is_sum:
            raise ValueError(f"reduction: {criterion} is one loss of a batch, not of each sequence")
        self.structure: Any = Chain if structure == "chain" else structure
        self.reduction = reduction

    def extra_repr(self) -> str:
        """Return what the representation of the module says of it."""
        return f"{self.criterion}, reduction={self.reduction!r}"

    @uncompiled
    def forward(
        self,
        scores: torch.Tensor,
        labels: torch.Tensor,
        mask: Any = None,
        transitions: torch.Tensor | None = None,
        begin: torch.Tensor | None = None,
        end: torch.Tensor | None = None,
        *,
        own: torch.Tensor | None = None,
        lengths: Any = None,
        structure: Structure | None = None,
    ) -> torch.Tensor:
        """Return the loss.

        Parameters
        ----------
        scores : Tensor of shape (n_sequences, longest, n_labels) or (n_tokens, n_labels)
            Of each label of each token; or, with ``lengths`` or ``structure``, of the tokens of
            all sequences, one sequence after another. For a lattice, of shape (n_runs,) as in
            ``LatticeScores.runs``.
            Float64 is computed in double precision, all other types in float32.
        labels : Tensor of shape (n_sequences, longest) or (n_tokens,)
            Label ids; or bool, with one more dimension of n_labels: partial labels, which say which
            labels each token may have.
        mask : Tensor of shape (n_sequences, longest), optional
            What is zero is no token. It may also leave out tokens in the middle, such as pieces of
            words: then the tokens around them are neighbours.
        transitions : Tensor of shape (n_labels, n_labels), optional
            Scores of two labels in a row, the first in the rows; zero if not given.
        begin, end : Tensor of shape (n_labels,), optional
            Scores of the first and of the last label of a sequence; zero if not given.
        own : Tensor of shape (n_own,), optional
            Scores of parts that only one structure has, as in ``Scores.own``.
        lengths : Tensor or array-like of shape (n_sequences,), optional
            Instead of a mask, how many tokens each sequence has.
        structure : Structure, optional
            Of this batch, where offsets do not say it all: forests, graphs, lattices. Its tokens
            are those of the mask, in the order of their sequences.

        Returns
        -------
        Tensor
            Of shape (n_sequences,) for the reduction "none", else of no dimension; of type float64
            if the scores are, else float32.

        Raises
        ------
        ValueError
            If an argument does not fit, a score is NaN or inf, or the labels are impossible.
        """
        shared = transitions, begin, end, own
        batch = Batch(self.structure, scores, shared, mask, lengths, structure, labels)
        whole, criterion = batch.structure, self.criterion
        if not all(map(whole.can, criterion.requires)):
            whole.require(criterion.requires, f"criterion={criterion}")
        given = whole, batch.scores, batch.labels
        count = {"mean": whole.n_units, "token_mean": whole.n_tokens}.get(self.reduction, 1) or 1
        at_once = self.reduction != "none" and criterion.is_sum and batch.needs_gradient
        with np.errstate(invalid="ignore"):  # inf - inf, where no labelling is possible
            if at_once:
                weight = np.full(whole.n_units, 1.0 / count)
                loss, gradient = criterion.value_and_gradient(*given, weight)
            else:
                loss, pullback = criterion.checked(*given)
        batch.check(loss)
        if at_once:
            return batch.summed(loss @ weight, gradient)
        if not criterion.is_sum:
            loss, pullback = self._combined(loss, pullback)
        value = batch.computed(loss, pullback)
        return value if self.reduction == "none" else value.sum() / count

    def _combined(self, rows: np.ndarray, pull_rows: Pullback) -> tuple[np.ndarray, Pullback]:
        """Return the loss of a batch that is no sum over sequences, given the rows of all."""
        loss, derivatives = self.criterion.combine(rows.sum(axis=0))

        def pullback(weight: np.ndarray) -> ScoreGradient:
            return pull_rows(np.broadcast_to(weight * derivatives, rows.shape))

        return np.array(loss), pullback
