"""Why a sequence was labelled as it was: the contributions of attributes and transitions."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...base.batch_values import check_shared_scores, log_partition
from ...base.batches import Batch
from ...base.classifier import BaseSequenceClassifier
from ...base.contributions import Contributions
from ...base.unwrap import steps_of
from ...data.ragged import SequenceArray
from ._labels import places_of_labels
from ._markup import Markup, NotebookDisplay, element
from .examples import Decision, TrainingExamples
from .single import single

# Number of contributions listed for each token, largest first.
TOP = 5


def explain(
    estimator: Any,
    sequence: Any,
    labels: Sequence[Any] | None = None,
    *,
    against: Sequence[Any] | None = None,
    tokens: Sequence[str] | None = None,
) -> "Explanation":
    """Explain the labels of a sequence by its attributes and transitions.

    The score of a labelling is a sum over attributes, transitions, and the ends of the sequence.
    Each term is a contribution, a weight times a factor. The factor is the value of the attribute;
    for :class:`~sklearn_crcrf.EmpiricalCRF`, the weight is the logarithm of a co-occurrence rate,
    up to a constant that is the same for all labels, and the factor its exponent. For
    :class:`~sklearn_crcrf.MEMM`, the log-partition of each token is a contribution too. If a
    classifier cannot split its scores into weights, each score is one contribution.

    Parameters
    ----------
    estimator : fitted sequence classifier, or a pipeline or search that ends in one
        What predicts.
    sequence : list of tokens, 2-D array or CSR, SequenceArray or DataFrame
        One sequence.
    labels : sequence of labels, optional
        The labels to explain; by default the predicted ones.
    against : sequence of labels, optional
        Other labels of the same sequence: then contributions are differences, which sum to the
        score of ``labels`` minus the score of ``against``, the log-odds of the two labellings.
    tokens : sequence of str, optional
        Texts of the tokens; by default the word or first string of each token, or its number.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError
        If there is not exactly one sequence, labels do not fit it, or scores are not finite.

    Examples
    --------
    >>> from sklearn_crcrf import CRF, explain
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> explain(CRF().fit(X, y), ["the", "cat"])
    score 1.463, probability 0.366
    the D +0.389
      +0.389 the
    cat N +1.074
      +0.756 D → N
      +0.318 cat
    """
    classifier, X, texts = single(estimator, sequence, tokens)
    structure = classifier._structure(X)
    batch = Batch(0, structure.n_tokens, structure, 0)
    prepared = classifier._prepare(X)
    scores = classifier._scores(prepared, batch)
    check_shared_scores(scores)
    log_z = log_partition(structure, scores, 0)
    labels = classifier.predict(X).data.tolist() if labels is None else labels
    y = _label_ids(labels, "labels", classifier, len(texts))
    entries = classifier._contributions(prepared, batch, y)
    other = None
    if against is not None:
        other = _label_ids(against, "against", classifier, len(texts))
        entries = entries.less(classifier._contributions(prepared, batch, other))
    return Explanation(
        texts,
        classifier.classes_[y].tolist(),
        _named(entries, estimator, classifier),
        _log_probability(structure.score(scores, y)[0], log_z),
        None if other is None else classifier.classes_[other].tolist(),
        (estimator, X),
    )


class Explanation(NotebookDisplay):
    """The contributions to the score of a labelling, as returned by :func:`~sklearn_crcrf.explain`.

    As text, and in a notebook, it lists the largest contributions for each token, and the sum of
    the others.

    Parameters
    ----------
    tokens : list of str
        Texts of the tokens.
    labels : list of labels
        The explained labels.
    contributions : Contributions
        All contributions, by position.
    log_probability : float
        Logarithm of the probability of the labels.
    against : list of labels, optional
        If given, contributions are differences from the contributions to these labels.
    explained : (estimator, SequenceArray), optional
        What :meth:`by_examples` needs: the estimator, and the sequence as its classifier sees it.

    Attributes
    ----------
    score : float
        The sum of all contributions.
    token_scores : ndarray of shape (n_tokens,)
        The sum of the contributions of each token.

    Examples
    --------
    >>> from sklearn_crcrf import CRF, explain
    >>> crf = CRF().fit([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    >>> explanation = explain(crf, ["the", "cat"])
    >>> explanation.labels, explanation.token_scores.round(3)
    (['D', 'N'], array([0.235, 0.984]))
    """

    def __init__(
        self,
        tokens: list[str],
        labels: list,
        contributions: Contributions,
        log_probability: float,
        against: list | None = None,
        explained: tuple[Any, SequenceArray] | None = None,
    ):
        self._explained = explained
        self.tokens, self.labels, self.against = tokens, labels, against
        self.contributions, self.log_probability = contributions, log_probability
        self.score = float(contributions.value.sum())
        self.token_scores = contributions.by_token(len(tokens))

    def to_frame(self) -> Any:
        """Return all contributions as a pandas DataFrame, for each token the largest first.

        Returns
        -------
        DataFrame
            With the columns position, token, label, kind, name, weight, factor and value.
        """
        import pandas as pd

        entries = self.contributions
        entries = entries.take(np.lexsort((-np.abs(entries.value), entries.position)))
        tokens, labels = (np.empty(len(self.tokens), dtype=object) for _ in range(2))
        tokens[:], labels[:] = self.tokens, self.labels
        named = {"token": tokens[entries.position], "label": labels[entries.position]}
        columns = {"position": entries.position, **named, **entries._asdict()}
        return pd.DataFrame({**columns, "value": entries.value})

    def by_examples(
        self,
        X: Any,
        y: Any,
        k: int = 5,
        *,
        sample_weight: Any = None,
        n_candidates: int | None = 1000,
    ) -> TrainingExamples:
        """Find the training sequences without which the decision would change most.

        The effect of a sequence is exact, as its counts are subtracted: the log-odds of both
        labellings, or the log-probability of the labels if there are no others, minus what it would
        be after a fit without the sequence. Fitted exponents stay.

        Parameters
        ----------
        X, y : sequences and their labels
            The training data, or a part of it, as it was given to ``fit``.
        k : int, default=5
            How many sequences to return at most.
        sample_weight : array-like of shape (n_samples,), nested list or SequenceArray, optional
            As it was given to ``fit``.
        n_candidates : int or None, default=1000
            How many sequences are tried: those that have most attributes with a label in common
            with the tokens that are decided on and their neighbours; rare ones count more. None
            tries all.

        Returns
        -------
        TrainingExamples

        Raises
        ------
        ValueError
            If the model is not trained by counting, some of the sequences were never counted, or
            ``min_count`` is above 1.

        Examples
        --------
        >>> from sklearn_crcrf import EmpiricalCRF, explain
        >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
        >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
        >>> crf = EmpiricalCRF().fit(X, y)
        >>> explain(crf, ["a", "dog"], ["D", "N"], against=["N", "V"]).by_examples(X, y, k=2)
        log-odds +6.252, to which training sequences add most:
        +3.351 sequence 1
          a cat sleeps
          D N   V
        +2.735 sequence 0
          the dog walks
          D   N   V
        """
        if self._explained is None:
            raise ValueError("by_examples needs an explanation that sklearn_crcrf.explain made")
        estimator, sequence = self._explained
        decision = Decision(estimator, sequence, self.labels, self.against)
        return TrainingExamples.of(decision, X, y, k, sample_weight, n_candidates)

    def __str__(self) -> str:
        lines = [self._summary()]
        for t, token in enumerate(self.tokens):
            lines.append(f"{token} {self._label(t)} {self.token_scores[t]:+.3f}")
            lines += [f"  {value:+.3f} {name}{times}" for value, name, times in self._entries(t)]
        return "\n".join(lines)

    def _summary(self) -> str:
        probability = f"probability {np.exp(self.log_probability):.3g}"
        if self.against is None:
            return f"score {self.score:.3f}, {probability}"
        return f"score {self.score:+.3f} against other labels, {probability}"

    def _label(self, t: int) -> str:
        if self.against is None or self.against[t] == self.labels[t]:
            return str(self.labels[t])
        return f"{self.labels[t]}, not {self.against[t]}"

    def _entries(self, t: int) -> Iterator[tuple[float, str, str]]:
        """Value, name, and weight and factor of the contributions of a token."""
        entries = self.contributions.take(np.flatnonzero(self.contributions.position == t))
        order = np.argsort(-np.abs(entries.value), kind="stable")
        top, others = entries.take(order[:TOP]), entries.take(order[TOP:])
        columns = top.value, top.name, top.weight, top.factor
        for value, name, weight, factor in zip(*columns, strict=True):
            yield value, name, "" if factor == 1.0 else f" ({weight:.3f} * {factor:.3g})"
        if len(others.name):
            yield others.value.sum(), f"{len(others.name)} others", ""

    def _body(self) -> list[Markup]:
        entries = [list(self._entries(t)) for t in range(len(self.tokens))]
        values = np.array([value for own in entries for value, *_ in own])
        largest = np.abs(values[np.isfinite(values)]).max(initial=0.0) or 1.0
        rows = []
        for t, token in enumerate(self.tokens):
            total = element("td", f"{self.token_scores[t]:+.3f}", class_="number")
            heads = element("th", element("bdi", token)), element("th", self._label(t))
            rows.append(element("tr", *heads, total, element("td"), class_="total"))
            rows += [_row(*entry, largest) for entry in entries[t]]
        return [element("p", self._summary()), element("table", *rows)]


def _row(value: float, name: str, times: str, largest: float) -> Markup:
    share = min(abs(value) / largest, 1.0)
    bar = element("i", style=f"width:{100 * share:.1f}%", class_="minus" if value < 0 else None)
    return element(
        "tr",
        element(
            "td", element("bdi", name), element("span", times, class_="quiet times"), colspan=2
        ),
        element("td", f"{value:+.3f}", class_="number"),
        element("td", bar, class_="bar"),
    )


def _named(entries: Contributions, estimator: Any, classifier: Any) -> Contributions:
    """Entries with the names that the last step before the classifier has for its columns."""
    before, _ = steps_of(estimator)
    generic = [*getattr(classifier, "attribute_names_", ())[:1]] == ["x0"]
    if not (generic and before and hasattr(before[-1], "get_feature_names_out")):
        return entries
    names, renamed = before[-1].get_feature_names_out(), entries.name.copy()
    for i in np.flatnonzero(entries.kind == "attribute"):
        renamed[i] = names[int(renamed[i].removeprefix("x"))]
    return entries._replace(name=renamed)


def _label_ids(
    labels: Sequence[Any], name: str, classifier: BaseSequenceClassifier, n_tokens: int
) -> np.ndarray:
    """Return the ids of the labels of one sequence."""
    if len(labels) != n_tokens:
        raise ValueError(f"there are {n_tokens} tokens, but {len(labels)} {name}")
    return places_of_labels(classifier.classes_, labels, name)


def _log_probability(score: np.ndarray, log_z: np.ndarray) -> float:
    """Return the log probability of a labelling, which rounding must not make positive."""
    if np.isneginf(log_z[0]):  # no labels are possible at all
        return -np.inf
    return float(min(score[0] - log_z[0], 0.0))
