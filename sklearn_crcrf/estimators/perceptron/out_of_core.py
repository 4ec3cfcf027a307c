"""Epochs over a corpus folder, one shard of which is in memory at a time."""

from copy import deepcopy
from typing import Any

import numpy as np

from ...labels.constraints.constraints import forbidden_scores
from ...linear.examples import Coefficients, Examples
from ...linear.folder_shards import FolderShards
from ...linear.parts import OwnCorpus
from ...out_of_core.corpus_folder import refuse_what_needs_all
from .learning import LastWeights, Rows


def check_out_of_core(perceptron: Any, y: Any, sample_weight: Any) -> None:
    """Check, before any work, that an online trainer can be trained on a corpus folder.

    Raises
    ------
    ValueError
        If a parameter needs all of the data at once; the message names it.
    """
    given = perceptron.get_params()
    averaging, fraction = given.get("averaging"), perceptron.validation_fraction
    needs_all = {
        f"averaging={averaging!r}": averaging == "vote",
        f"class_weight={perceptron.class_weight!r}": perceptron.class_weight is not None,
        f"validation_fraction={fraction}": fraction is not None,
    }
    refuse_what_needs_all(y, sample_weight, needs_all)


class FolderExamples:
    """The labelled sequences of a corpus folder, as examples of one shard after another.

    Parameters
    ----------
    shards : FolderShards
    boundaries : bool
        Whether begin and end have weights.
    """

    def __init__(self, shards: FolderShards, boundaries: bool):
        self._shape, self._corpora, self._boundaries = shards.shape, shards.corpora(), boundaries

    def zeros(self) -> Coefficients:
        """Weights that are all zero."""
        encoder, n = self._shape.encoder, len(self._shape.classes)
        n_rows = len(encoder.names) + 2 * self._boundaries
        pairs = np.zeros((1 + len(encoder.edge_attributes), n * n))
        return Coefficients(np.zeros((n_rows, n), dtype=self._shape.dtype), pairs)

    def learn(self, learner: LastWeights, rng: np.random.RandomState) -> float:
        """Correct the weights by all sequences, the shards in random order.

        An interrupt leaves the learner as it was.

        Returns
        -------
        float
            The weighted fraction of tokens that were labelled wrongly before their correction.
        """
        working, shape = deepcopy(learner), self._shape
        forbidden = forbidden_scores(shape.constraints, len(shape.classes))
        ends = len(shape.encoder.names) + np.arange(2 * self._boundaries)
        wrong = total = 0.0
        for number in rng.permutation(len(self._corpora)):
            own: OwnCorpus = self._corpora[number]
            examples = Examples.of(
                own.corpus, own.edge_attributes, self._boundaries, forbidden, own.only_edges
            )
            # Where the weights of the shard stand among all weights.
            edges = own.attributes[own.edge_attributes]
            edges = np.searchsorted(shape.encoder.edge_attributes, edges)
            rows = Rows(np.concatenate([own.attributes, ends]), np.append(0, 1 + edges))
            part = working.part(rows)
            found = part.learn(examples, rng.permutation(examples.n_sequences))
            working.put(rows, part)
            weight = np.repeat(examples.weight, np.diff(examples.offsets))
            wrong += float(weight @ (found != examples.y))
            total += float(weight.sum())
        vars(learner).update(vars(working))
        return wrong / total
