"""Models of all training data but some sequences, by rows of counts without these."""

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np

from ...base.batches import Batch
from ...counts import Counts
from ...counts.counter import LabelledObservations
from ...counts.observations import ATTRIBUTES
from ...counts.renumbering import renumber
from ...counts.rows import WEAKEST
from ...data.ragged import SequenceArray, joined_ranges
from ...structures import Structure
from .changed_sums import ChangedSums
from .product_spelling import ProductSpelling
from .row_model import RowModel, ScoredRows
from .run_rates import RUNS, RunRates
from .segment_rates import segment_roles
from .smoothed import SmoothedModel

# About how many tokens are left out at a time: their counts and weights fit in the cache.
N_TOKENS = 2500
# From this number of folds on, rows are faster than to estimate all weights for each fold.
MANY_FOLDS = 20
# With more labels, the transition scores of each fold are used by themselves: a table for each link
# would take more memory than it saves time.
FEW_LABELS = 32
# Most entries of the tables of transitions of all folds at a time.
MOST_ENTRIES = 2**21

Part = tuple[int, Any, Any, Structure, np.ndarray]


def has_rows(estimator: Any) -> bool:
    """Tell whether a fitted estimator has a model whose rows can be estimated one by one.

    Others have weights that depend on all counts at once: exponential models of spelling, rates
    whose direction is tested, and exponents that follow from the number of attributes.
    """
    model = estimator.model_
    return (
        estimator.zeros == "smoothed"
        and isinstance(model, SmoothedModel)
        and isinstance(model.spelling, ProductSpelling)
        and model.statistics.encoder.links != "any"
        and ATTRIBUTES not in model.statistics.counts
    )


def changed_sums(estimator: Any, counts: Counts) -> ChangedSums:
    """Return the sums of a fitted estimator; labels of the counts have the ids of its counter."""
    roles = None if estimator.segments is None else segment_roles(estimator.classes_)
    known = renumber(counts, estimator._rank)
    least = dict.fromkeys(estimator._pruned_templates(), float(estimator.min_count))
    model = estimator.model_
    contexts = [e for e in estimator._experts_for_labels().contexts if e.template in known]
    return ChangedSums(model.statistics, known, least, roles, contexts, model._edge_experts())


def as_set(estimator: Any) -> Any:
    """Return a fitted estimator whose model has the ``mu_oov`` that it has now."""
    twin = copy(estimator)
    twin.model_ = estimator.model_.with_mu_oov(estimator.mu_oov)
    return twin


def row_model(estimator: Any, sums: ChangedSums) -> RowModel:
    """Return the model of changed counts, with the exponents and strength of a fitted estimator."""
    return RowModel(estimator.model_, sums, max(estimator._strength, WEAKEST))


def run_rates(estimator: Any, sums: ChangedSums, fold: int) -> list[RunRates]:
    """Return the rates of several labels in a row of one fold."""
    if estimator.order == 1:
        return []
    shared = sums.n_labels, estimator._strength, estimator._transition_exponent()
    tables = (sums.label_tables[template][fold] for template in RUNS[: estimator.order - 1])
    return [RunRates(table, *shared) for table in tables]


def left_out_by_rows(
    estimators: Sequence[Any],
    X: SequenceArray,
    corpus: LabelledObservations,
    counts: Counts,
    fold: np.ndarray,
    chosen: np.ndarray,
) -> Iterator[Part]:
    """Yield the sequences of some folds, with what each estimator says that has not seen them.

    Parameters
    ----------
    estimators : sequence of EmpiricalCRF
        Fitted to the counts, which :func:`has_rows`; they differ in ``sigma``, ``mu_oov`` and
        ``order`` at most.
    X : SequenceArray
    corpus : LabelledObservations
    counts : Counts
        Of the corpus.
    fold : int64 ndarray of shape (n_sequences,)
    chosen : int64 ndarray
        Numbers of folds, without which all labels still occur.

    Yields
    ------
    number : int
        Which estimator.
    estimator : EmpiricalCRF
        A copy, which has the model of the counts without the sequences.
    prepared : Prepared
    structure : Structure
    sequences : int64 ndarray
    """
    first, n_tokens = estimators[0], np.diff(corpus.offsets)
    sums, labels = changed_sums(first, counts), first._rank[corpus.labels]
    n_at_most = max(1, MOST_ENTRIES // sums.n_labels**2)
    apart = [e.order > 1 or sums.n_labels > FEW_LABELS for e in estimators]
    if any(apart) and (np.diff(fold) < 0).any():
        n_at_most = 1  # the sequences of a fold must be neighbours
    for numbers in _blocks(chosen, np.bincount(fold, n_tokens), n_at_most):
        sequences = np.flatnonzero((fold >= numbers[0]) & (fold <= numbers[-1]))
        sequences = sequences[np.isin(fold[sequences], numbers)]
        tokens = joined_ranges(corpus.offsets[sequences], n_tokens[sequences])
        own = np.searchsorted(numbers, fold[sequences]).astype(np.int32)
        observations, folds = (
            corpus.observations.take(sequences),
            np.repeat(own, n_tokens[sequences]),
        )
        block = LabelledObservations(observations, labels[tokens], corpus.weights[tokens])
        sums.reset(len(numbers))
        sums.add(block, folds, -1.0)
        read, prepared, of_sequences = None, dict[float, tuple[RowModel, Any]](), X[sequences]
        for number, estimator in enumerate(estimators):
            twin = copy(estimator)
            if estimator.sigma not in prepared:
                model = row_model(estimator, sums)
                read = model.read(observations, folds) if read is None else read
                of_tokens: Any = model.weighted(read)
                if len(numbers) > 1 and not any(apart):
                    of_tokens = ScoredRows(of_tokens, model.scores(of_tokens))
                prepared[estimator.sigma] = model, of_tokens
            model, of_tokens = prepared[estimator.sigma]
            twin.model_ = model.with_exponents_of(estimator.model_)
            if not apart[number]:
                yield number, twin, of_tokens, twin._structure(of_sequences), sequences
                continue
            bounds = np.searchsorted(own, np.arange(len(numbers) + 1))
            for k, (begin, end) in enumerate(pairwise(bounds.tolist())):
                twin = copy(twin)
                twin._run_rates = run_rates(estimator, sums, k)
                structure = twin._structure(of_sequences[begin:end])
                start, stop = observations.structure.offsets[[begin, end]].tolist()
                batch = Batch(start, stop, structure, begin)
                yield number, twin, of_tokens.take(batch), structure, sequences[begin:end]


def _blocks(chosen: np.ndarray, n_tokens: np.ndarray, n_at_most: int) -> Iterator[np.ndarray]:
    """Cut folds into blocks of about N_TOKENS tokens."""
    before = 0
    ends = np.cumsum(n_tokens[chosen])
    while before < len(chosen):
        used = ends[before - 1] if before else 0
        after = max(before + 1, int(np.searchsorted(ends, used + N_TOKENS, "right")))
        after = min(after, before + n_at_most)
        yield chosen[before:after]
        before = after
