"""Log-partitions and probabilities of a batch, and clear errors where scores have none."""

import numpy as np

from ..data.ragged import locate
from ..labels.segments.segments import Segments, SpelledSegments, spell_segments
from ..serving.sums import MOST_CERTAIN, too_large
from ..structures import Scores, Structure


def token_marginals(structure: Structure, scores: Scores, first: int) -> np.ndarray:
    """Return the marginal probabilities of the labels of all tokens of a batch."""
    log_z, probability = marginals(structure, scores, first)
    raise_if_impossible(log_z, first)
    return probability


def log_partition(structure: Structure, scores: Scores, first: int) -> np.ndarray:
    """Return the log-partition of each sequence of a batch, -inf where no path is possible."""
    return marginals(structure, scores, first)[0]


def best_paths(
    structure: Structure, scores: Scores, first: int, k: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the probabilities and the label ids of the k best paths of each sequence."""
    structure, found = structure.for_k_best(), []
    log_z = log_partition(structure, scores, first)
    for z, (values, paths) in zip(log_z, structure.k_best(scores, k), strict=True):
        # The rounding error of huge scores exceeds their differences.
        probability = np.exp(values - values.max(initial=z))
        found.append((probability / max(probability.sum(), 1.0), paths))
    return found


def spans_of(
    y: np.ndarray,
    structure: Structure,
    scores: Scores,
    first: int,
    classes: np.ndarray,
    scheme: str,
) -> list[list[tuple]]:
    """Return the segments of paths of a batch, with their probabilities, for each sequence."""
    spelled = spell_segments(y, structure.offsets, classes, scheme)
    best, _ = structure.score(scores, y)
    raise_if_too_large(best, structure, scores, first)
    value = span_log_probabilities(structure, scores, spelled)
    return segments_by_sequence(spelled.segments, np.exp(value), structure.n_units)


def span_log_probabilities(
    structure: Structure, scores: Scores, spelled: SpelledSegments
) -> np.ndarray:
    """Return the log-probability of each segment, that no longer one holds it, of a batch."""
    sequence, start, end, _ = spelled.segments
    origin = structure.offsets[sequence]
    labels, neighbours = spelled.labels.data, (spelled.after, spelled.before)
    return structure.span_log_probability(scores, origin + start, origin + end, labels, *neighbours)


def segments_by_sequence(segments: Segments, value: np.ndarray, n: int) -> list[list[tuple]]:
    """List (start, end, type, value) of the segments of each of n sequences."""
    found: list[list[tuple]] = [[] for _ in range(n)]
    sequence, start, end, kind = segments
    columns = start.tolist(), end.tolist(), kind, value.tolist()
    for number, *segment in zip(sequence, *columns, strict=True):
        found[number].append(tuple(segment))
    return found


def marginals(structure: Structure, scores: Scores, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both; the marginals of a sequence in which no path is possible are 0."""
    log_z, probability = structure.marginals(scores)
    raise_if_not_finite(log_z, structure, scores, first)
    raise_if_too_large(log_z, structure, scores, first)
    return log_z, probability


def raise_if_not_finite(
    value: np.ndarray, structure: Structure, scores: Scores, first: int
) -> None:
    """Raise ValueError if a score of a sequence, or the sum of its scores, is NaN or inf.

    Parameters
    ----------
    value : ndarray of shape (n_sequences,)
        Scores of the best paths, or log-partitions: NaN or inf if such a score occurs.
    structure, scores : the structure and scores of a batch
    first : int
        The number of the first sequence of the batch.
    """
    wrong = np.flatnonzero(~(value < np.inf))
    if len(wrong) == 0:
        return
    start, stop = structure.offsets[wrong[0] : wrong[0] + 2]
    tokens = np.flatnonzero(~scores.are_below(np.inf, start, stop))
    where = f", position {tokens[0]}" if len(tokens) else ""
    raise ValueError(
        f"X, sequence {first + wrong[0]}{where}: the scores of labels are not finite, since the "
        "values of attributes or the weights of the model are too large; scale the attributes"
    )


def raise_if_too_large(value: np.ndarray, structure: Structure, scores: Scores, first: int) -> None:
    """Raise ValueError if scores are so large that rounding makes their probabilities wrong.

    A large negative score does no harm, unless all paths of a sequence have one.

    Parameters
    ----------
    value : ndarray of shape (n_sequences,)
        Log-partitions, or scores of the best paths.
    structure, scores, first : as in :func:`raise_if_not_finite`
    """
    wrong = np.flatnonzero((np.abs(value) > MOST_CERTAIN) & ~np.isneginf(value))
    largest = scores.largest()
    if largest <= MOST_CERTAIN and len(wrong) == 0:
        return
    tokens = np.flatnonzero(~scores.are_below(MOST_CERTAIN, 0, structure.n_tokens))
    where, score = "", largest if largest > MOST_CERTAIN else value[wrong[0]]
    if len(tokens):
        sequence, position = locate(structure.offsets, int(tokens[0]))
        where = f"X, sequence {first + sequence}, position {position}: "
    elif len(wrong):
        where = f"X, sequence {first + wrong[0]}: "
    raise ValueError(where + too_large(score))


def raise_if_impossible(value: np.ndarray, first: int) -> None:
    """Raise ValueError if a value is -inf; ``first`` is the number of the first sequence."""
    impossible = np.flatnonzero(np.isneginf(value))
    if len(impossible):
        raise ValueError(f"no path of sequence {first + impossible[0]} is possible")


def check_shared_scores(scores: Scores) -> None:
    """Raise ValueError if scores that all tokens of a batch share are NaN or inf."""
    for name, values in scores.shared():
        if not values.max(initial=-np.inf) < np.inf:
            raise ValueError(f"the {name} scores are not finite: weights are too large")
