"""TaggedSequence: a sequence with its labels or segments."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._labels import colours, find_scheme, kind_of_label, runs_of_segments
from ._marginals import SURE, Marginals
from ._markup import Markup, NotebookDisplay, element
from ._text import aligned
from .single import single

__all__ = ["TaggedSequence"]


class TaggedSequence(NotebookDisplay):
    """A sequence with its labels, or with its segments if labels mark segments.

    A notebook shows it in colours. With marginals, pointing at a token lists its likeliest
    labels, and tokens whose label has a probability below 0.9 are underlined by dots.

    Parameters
    ----------
    tokens : sequence of str
    labels : sequence of labels
    marginals : array-like of shape (n_tokens, n_labels), optional
        Probabilities of the labels of each token.
    classes : array-like of shape (n_labels,), optional
        The labels of the columns of ``marginals``. If given, displays with the same classes have
        the same colours.
    scheme : {"auto", "IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"} or None, \
            default="auto"
        How labels mark segments; "auto" detects it, None shows a label for each token.

    Raises
    ------
    ValueError
        If the lengths do not agree, or marginals have no classes.

    Examples
    --------
    >>> from sklearn_crcrf.display import TaggedSequence
    >>> TaggedSequence(["the", "dog", "barks"], ["D", "N", "V"])
    the dog barks
    D   N   V
    >>> TaggedSequence(["Ann", "Lee", "sings"], ["B-PER", "I-PER", "O"])
    [Ann Lee PER] sings
    """

    def __init__(
        self,
        tokens: Sequence[str],
        labels: Sequence[Any],
        *,
        marginals: Any = None,
        classes: Any = None,
        scheme: str | None = "auto",
    ):
        self.tokens, self.labels = [str(token) for token in tokens], list(labels)
        self.classes = None if classes is None else np.asarray(classes).tolist()
        if len(self.tokens) != len(self.labels):
            raise ValueError(f"there are {len(self.tokens)} tokens, but {len(self.labels)} labels")
        self._marginals = None
        if marginals is not None:
            self._marginals = Marginals(marginals, self.classes, len(self.tokens))
        self.scheme = find_scheme(scheme, self.classes or self.labels)

    @property
    def marginals(self) -> np.ndarray | None:
        """Probabilities of the labels of each token, if they are given."""
        return None if self._marginals is None else self._marginals.values

    @classmethod
    def from_estimator(
        cls, estimator: Any, sequence: Any, *, tokens: Any = None, scheme: str | None = "auto"
    ) -> "TaggedSequence":
        """The labels that a fitted estimator predicts, with their marginals.

        Parameters
        ----------
        estimator : fitted sequence classifier, or a pipeline or search that ends in one
        sequence : one sequence, such as a list of tokens
        tokens : sequence of str, optional
            Texts of the tokens; by default the word or first string of each token.
        scheme : as in the class

        Returns
        -------
        TaggedSequence

        Examples
        --------
        >>> from sklearn_crcrf import CRF
        >>> from sklearn_crcrf.display import TaggedSequence
        >>> crf = CRF().fit([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
        >>> TaggedSequence.from_estimator(crf, ["a", "dog"])
        a dog
        D N
        """
        classifier, X, texts = single(estimator, sequence, tokens)
        labels, marginals = classifier.predict(X).data.tolist(), classifier.predict_proba(X).data
        return cls(texts, labels, marginals=marginals, classes=classifier.classes_, scheme=scheme)

    def __str__(self) -> str:
        if self.scheme is None:
            return "\n\n".join(aligned([self.tokens, [*map(str, self.labels)]]))
        pieces = []
        for start, end, kind in runs_of_segments(self.labels, self.scheme):
            words = " ".join(self.tokens[start:end])
            pieces.append(words if kind is None else f"[{words} {kind}]")
        return " ".join(pieces)

    def _body(self) -> list[Markup]:
        text = self._words() if self.scheme is None else self._segments(self.scheme)
        body = [element("p", *[piece for part in text for piece in (part, " ")])]
        if self._marginals is not None:
            hint = f"Point at a token for its probabilities; dotted: below {SURE}."
            body.append(element("p", hint, class_="quiet hint"))
        return body

    def _words(self) -> list[Markup]:
        style = colours(self.classes or self.labels)
        return [
            element(
                "span",
                self._token(t),
                element("b", label, class_="label"),
                class_="word",
                style=style.get(label),
            )
            for t, label in enumerate(self.labels)
        ]

    def _segments(self, scheme: str) -> list[Markup]:
        style = colours(kind_of_label(label, scheme) for label in self.classes or self.labels)
        pieces = []
        for start, end, kind in runs_of_segments(self.labels, scheme):
            tokens: list[Any] = [self._token(start)]
            for t in range(start + 1, end):
                tokens += " ", self._token(t)
            if kind is None:
                pieces.append(tokens[0])
            else:
                name = element("b", kind or "segment", class_="label")
                # A no-break space keeps the type on the line of the last token.
                inside = *tokens, "\N{NO-BREAK SPACE}", name
                pieces.append(element("mark", *inside, style=style.get(kind)))
        return pieces

    def _token(self, t: int) -> Markup:
        """A token, and the tip that is shown when it is pointed at."""
        text = element("bdi", self.tokens[t])
        if self._marginals is None:
            return element("span", text, class_="token")
        unsure = " unsure" if self._marginals.of(t, self.labels[t]) < SURE else ""
        lines = [
            element("span", _bar(p), f"{label} {p:.2f}", class_="share")
            for label, p in self._marginals.likeliest(t)
        ]
        tip = element("span", element("b", text), *lines, class_="tip")
        return element("span", text, tip, class_=f"token{unsure}", tabindex="0")


def _bar(share: float) -> Markup:
    return element("i", style=f"width:{4 * min(max(share, 0.0), 1.0):.2f}em")
