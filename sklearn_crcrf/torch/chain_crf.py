"""A linear-chain CRF as the last layer of a network."""

from typing import Any

import numpy as np
import torch

from ..criteria import Criterion
from ..labels import as_constraints
from ..labels.constraints.constraints import forbidden_scores
from ..structures import Chain, ScoreGradient
from .batch import Batch
from .host import on_device, uncompiled, wide
from .loss import StructuredLoss

NAMES = ("transitions", "begin", "end")


class ChainCRF(torch.nn.Module):
    r"""A linear-chain CRF over the scores that a network gives to the labels of tokens [1]_.

    The probability of a labelling y of the scores s is

    .. math::

       p(y) \propto \exp\Big(b_{y_1} + \sum_t s_{t, y_t} + \sum_{t > 1} a_{y_{t-1}, y_t} +
       e_{y_n}\Big),

    where the transitions a, begin scores b and end scores e are parameters of this module. All
    methods take scores, mask and lengths as :meth:`forward` does.

    Parameters
    ----------
    n_labels : int
    constraints : str, mapping, array-like or Constraints, optional
        Which labels may follow each other, as in :class:`~sklearn_crcrf.CRF`; a scheme such as
        "IOB2" needs ``classes``. What they forbid has no probability.
    classes : sequence of n_labels labels, optional
        What the labels are called; by default their numbers.
    criterion : str or Criterion, default="log_loss"
        The training loss.
    reduction : {"none", "sum", "mean", "token_mean"}, default="mean"
        As in :class:`StructuredLoss`.

    Attributes
    ----------
    transitions : Parameter of shape (n_labels, n_labels)
        Row = previous label.
    begin, end : Parameter of shape (n_labels,)

    References
    ----------
    .. [1] Lample, Ballesteros, Subramanian, Kawakami, Dyer, "Neural Architectures for Named Entity
       Recognition", NAACL 2016.

    Examples
    --------
    >>> import torch
    >>> from sklearn_crcrf.torch import ChainCRF
    >>> crf = ChainCRF(3, constraints="IOB2", classes=["O", "B-X", "I-X"])
    >>> scores = torch.tensor([[[0.0, 1.0, 3.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.0]]])
    >>> crf(scores, torch.tensor([[1, 2, 0]])).item()
    1.419...
    >>> crf.decode(scores, mask=torch.tensor([[1, 1, 0]]))
    tensor([[ 1,  2, -1]])
    """

    def __init__(
        self,
        n_labels: int,
        constraints: Any = None,
        *,
        classes: Any = None,
        criterion: str | Criterion = "log_loss",
        reduction: str = "mean",
    ):
        super().__init__()
        if n_labels < 1:
            raise ValueError(f"n_labels must be positive, but is {n_labels}")
        names = np.asarray(range(n_labels) if classes is None else classes)
        if names.shape != (n_labels,):
            raise ValueError(f"classes must be {n_labels} labels, but has the shape {names.shape}")
        self.loss = StructuredLoss(criterion, reduction=reduction, classes=classes)
        allowed = as_constraints(constraints, names)
        for name, forbidden in zip(NAMES, forbidden_scores(allowed, n_labels), strict=True):
            setattr(self, name, torch.nn.Parameter(torch.zeros(forbidden.shape)))
            scores = torch.from_numpy(forbidden).float()
            self.register_buffer(f"_{name}", scores, persistent=False)

    def _shared(self) -> list[torch.Tensor]:
        return [getattr(self, name) + getattr(self, f"_{name}") for name in NAMES]

    def _batch(self, scores: torch.Tensor, mask: Any, lengths: Any) -> Batch:
        return Batch(Chain, scores, (*self._shared(), None), mask, lengths)

    def forward(
        self, scores: torch.Tensor, labels: torch.Tensor, mask: Any = None, *, lengths: Any = None
    ) -> torch.Tensor:
        """Return the loss, with arguments as in :meth:`StructuredLoss.forward`."""
        return self.loss(scores, labels, mask, *self._shared(), lengths=lengths)

    @uncompiled
    def decode(self, scores: Any, mask: Any = None, *, lengths: Any = None) -> torch.Tensor:
        """Return the best labelling of each sequence.

        Returns
        -------
        Tensor of shape (n_sequences, longest), int64
            Label ids, -1 where no token is.

        Raises
        ------
        ValueError
            If no labelling of a sequence is possible, or a score is NaN or inf.
        """
        batch = self._batch(scores, mask, lengths)
        value, y = batch.structure.maximum(batch.scores)
        batch.check(value)
        return batch.of_tokens(y)

    @uncompiled
    def marginals(self, scores: Any, mask: Any = None, *, lengths: Any = None) -> torch.Tensor:
        """Return the probability of each label of each token, as a function of the scores.

        Returns
        -------
        Tensor of shape (n_sequences, longest, n_labels)
            Zero where no token is.
        """
        batch = self._batch(scores, mask, lengths)
        marginals, pull = batch.structure.token_marginals(batch.scores)
        value = np.ones(batch.structure.n_units)
        value[batch.structure.units_of(np.flatnonzero(~(marginals.sum(axis=1) > 0)))] = np.nan
        batch.check(value)
        layout = batch.layout
        return batch.computed(
            layout.unpack(marginals), lambda weight: pull(layout.pack("marginals", weight))
        )

    @uncompiled
    def k_best(
        self, scores: torch.Tensor, k: int, mask: Any = None, *, lengths: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the k best labellings of each sequence, best first.

        Returns
        -------
        value : Tensor of shape (n_sequences, k)
            Their scores, -inf where fewer labellings are possible; float64 if the scores of labels
            are, else float32.
        labels : Tensor of shape (n_sequences, k, longest), int64
            Label ids, -1 where no token or no labelling is.
        """
        if k < 1:
            raise ValueError(f"k must be positive, but is {k}")
        batch = self._batch(scores, mask, lengths)
        batch.check_numbers()
        offsets = batch.structure.offsets
        value = np.full((batch.structure.n_units, k), -np.inf)
        rows = np.full((batch.structure.n_tokens, k), -1)
        for i, (found, paths) in enumerate(batch.structure.k_best(batch.scores, k)):
            value[i, : len(found)] = found
            rows[offsets[i] : offsets[i + 1], : len(found)] = paths.T
        values = on_device(value, scores.device, wide(scores))
        return values, batch.of_tokens(rows).movedim(-1, -2)

    @uncompiled
    def entropy(self, scores: Any, mask: Any = None, *, lengths: Any = None) -> torch.Tensor:
        """Return the entropy of the labellings of each sequence, as a function of the scores.

        Returns
        -------
        Tensor of shape (n_sequences,)
            In nats.
        """
        batch = self._batch(scores, mask, lengths)
        entropy = batch.structure.entropy(batch.scores)
        batch.check(entropy)

        # H = log Z - E[s(y)], whose derivative by the scores is minus the covariance of the score
        # s(y) and of how often y uses each score.
        def pullback(weight: np.ndarray) -> ScoreGradient:
            finite = (np.where(np.isneginf(part), 0.0, part) for part in batch.scores[:4])
            state, transition, begin, end = finite
            direction = ScoreGradient(state, transition, begin, end, np.empty(0))
            return batch.structure.covariance(batch.scores, direction)[1](-weight)

        return batch.computed(entropy, pullback)

    @uncompiled
    def sample(
        self,
        scores: torch.Tensor,
        n_samples: int = 1,
        mask: Any = None,
        *,
        lengths: Any = None,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor:
        """Draw labellings of each sequence from their distribution.

        Parameters
        ----------
        scores, mask, lengths : as in :meth:`forward`
        n_samples : int, default=1
        generator : Generator, optional
            By default that of torch, which ``torch.manual_seed`` sets.

        Returns
        -------
        Tensor of shape (n_samples, n_sequences, longest), int64
            Label ids, -1 where no token is.
        """
        batch = self._batch(scores, mask, lengths)
        batch.check_numbers()
        device = None if generator is None else generator.device
        seed = torch.randint(2**63 - 1, (), generator=generator, device=device).item()
        y = batch.structure.sample(batch.scores, n_samples, np.random.default_rng(seed))
        return batch.of_tokens(y.T).movedim(-1, 0)
