"""Labelled tokens with the probabilities of their labels, as displays show them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._markup import Markup, NotebookDisplay, element
from .single import single

# A label with a lower probability is marked as unsure.
SURE = 0.9
# Labels with a lower probability are not listed.
LEAST, MOST_LABELS = 0.005, 5


def checked_marginals(marginals: Any, tokens: Sequence[str], classes: Sequence[Any]) -> np.ndarray:
    """Return marginals as an array, after a check of its shape."""
    values, shape = np.asarray(marginals, dtype=float), (len(tokens), len(classes))
    if values.shape != shape:
        raise ValueError(f"marginals has shape {values.shape}, but tokens and classes are {shape}")
    return values


class TaggedTokens(NotebookDisplay):
    """Base of displays of tokens with their labels, and perhaps marginals.

    A subclass implements ``_main`` and ``__str__``, and sets ``unsure``: how a token is marked
    whose label is unsure.
    """

    unsure: str

    def __init__(self, tokens: Sequence[str], labels: Sequence[Any], marginals: Any, classes: Any):
        self.tokens, self.labels = [str(token) for token in tokens], list(labels)
        self.classes = None if classes is None else np.asarray(classes).tolist()
        if len(self.tokens) != len(self.labels):
            raise ValueError(f"there are {len(self.tokens)} tokens, but {len(self.labels)} labels")
        self.marginals = marginals
        if marginals is not None:
            self.marginals = checked_marginals(marginals, self.tokens, self.classes or [])

    @classmethod
    def _of(cls, estimator: Any, sequence: Any, tokens: Any, **options: Any) -> Any:
        """Make a display of the labels that an estimator predicts, with their marginals."""
        classifier, X, texts = single(estimator, sequence, tokens)
        options |= {"marginals": classifier.predict_proba(X).data, "classes": classifier.classes_}
        return cls(texts, classifier.predict(X).data.tolist(), **options)

    def _main(self) -> Markup:
        raise NotImplementedError

    def _body(self) -> list[Markup]:
        if self.marginals is None:
            return [self._main()]
        hint = f"Point at a token for its probabilities; {self.unsure}: below {SURE}."
        return [self._main(), element("p", hint, class_="quiet hint")]

    def _shares(self, t: int) -> dict[Any, float]:
        """Return the probabilities of all labels of token t."""
        return dict(zip(self.classes or [], self.marginals[t].tolist(), strict=True))

    def _probability(self, t: int) -> float:
        """Return the probability of the label of token t; 1 without marginals."""
        return 1.0 if self.marginals is None else self._shares(t).get(self.labels[t], 0.0)

    def _likeliest(self, t: int) -> list[tuple[Any, float]]:
        """Find the likeliest labels of token t, with their probabilities."""
        shares = sorted(self._shares(t).items(), key=lambda item: -item[1])
        return [(label, p) for label, p in shares[:MOST_LABELS] if p >= LEAST]
