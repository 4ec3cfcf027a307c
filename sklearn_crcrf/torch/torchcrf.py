"""The class of pytorch-crf, under its names: ``from sklearn_crcrf.torch.torchcrf import CRF``."""

from itertools import pairwise

import torch

from ..structures import Chain
from .batch import Batch
from .host import uncompiled
from .loss import REDUCTIONS, StructuredLoss

LOSSES = {reduction: StructuredLoss(reduction=reduction) for reduction in REDUCTIONS}


class CRF(torch.nn.Module):
    """A linear-chain CRF with the names, shapes and signs of pytorch-crf's ``torchcrf.CRF``.

    Its weights are loaded by ``load_state_dict``. Other than there, a mask may leave out tokens in
    the middle, whose neighbours then follow each other. New programs have more in
    :class:`~sklearn_crcrf.torch.ChainCRF`.

    Parameters
    ----------
    num_tags : int
        The number of labels.
    batch_first : bool, default=False
        Whether the first dimension is of sequences, not of tokens.

    Examples
    --------
    >>> import torch
    >>> from sklearn_crcrf.torch.torchcrf import CRF
    >>> crf = CRF(2, batch_first=True)
    >>> crf(torch.zeros(1, 3, 2), torch.tensor([[0, 1, 1]])).item()  # a log-likelihood
    -2...
    >>> crf.decode(torch.tensor([[[0.0, 2.0], [2.0, 0.0]]]))
    [[1, 0]]
    """

    def __init__(self, num_tags: int, batch_first: bool = False):
        if num_tags <= 0:
            raise ValueError(f"invalid number of tags: {num_tags}")
        super().__init__()
        self.num_tags = num_tags
        self.batch_first = batch_first
        self.start_transitions = torch.nn.Parameter(torch.empty(num_tags))
        self.end_transitions = torch.nn.Parameter(torch.empty(num_tags))
        self.transitions = torch.nn.Parameter(torch.empty(num_tags, num_tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniformly between -0.1 and 0.1."""
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"CRF(num_tags={self.num_tags})"

    def forward(
        self,
        emissions: torch.Tensor,
        tags: torch.Tensor,
        mask: torch.Tensor | None = None,
        reduction: str = "sum",
    ) -> torch.Tensor:
        """Return log-likelihoods of labellings.

        Parameters
        ----------
        emissions : Tensor of shape (longest, n_sequences, num_tags)
            With ``batch_first``, as all tensors here, the first two dimensions are swapped.
        tags : Tensor of shape (longest, n_sequences), int64
        mask : Tensor of shape (longest, n_sequences), optional
            Not zero where tokens are, as they are at the first step of all sequences.
        reduction : {"none", "sum", "mean", "token_mean"}, default="sum"

        Returns
        -------
        Tensor
            Of shape (n_sequences,) for the reduction "none", else of no dimension.
        """
        if reduction not in LOSSES:
            raise ValueError(f"invalid reduction: {reduction}")
        emissions, tags, mask = self._checked(emissions, tags, mask)
        return -LOSSES[reduction](emissions, tags, mask, *self._shared())

    @uncompiled
    def decode(self, emissions: torch.Tensor, mask: torch.Tensor | None = None) -> list[list[int]]:
        """Return the best labelling of each sequence, as a list of its labels."""
        emissions, _, mask = self._checked(emissions, None, mask)
        batch = Batch(Chain, emissions, (*self._shared(), None), mask)
        value, y = batch.structure.maximum(batch.scores)
        batch.check(value)
        labels = y.tolist()
        return [labels[start:stop] for start, stop in pairwise(batch.layout.offsets.tolist())]

    def _shared(self) -> tuple[torch.Tensor, ...]:
        return self.transitions, self.start_transitions, self.end_transitions

    def _checked(self, emissions, tags, mask):
        """Raise errors in the words of pytorch-crf; return sequences in the first dimension."""
        if emissions.dim() != 3:
            raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.size(2) != self.num_tags:
            raise ValueError(
                f"expected last dimension of emissions is {self.num_tags}, got {emissions.size(2)}"
            )
        shape = tuple(emissions.shape[:2])
        for name, tensor in (("tags", tags), ("mask", mask)):
            if tensor is not None and tuple(tensor.shape) != shape:
                raise ValueError(
                    f"the first two dimensions of emissions and {name} must match, "
                    f"got {shape} and {tuple(tensor.shape)}"
                )
        if not self.batch_first:
            emissions, tags, mask = (
                None if tensor is None else tensor.transpose(0, 1)
                for tensor in (emissions, tags, mask)
            )
        if mask is not None and not mask[:, :1].all():
            raise ValueError("mask of the first timestep must all be on")
        return emissions, tags, mask
