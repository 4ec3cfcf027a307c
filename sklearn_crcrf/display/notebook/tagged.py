"""TaggedSequence: a sequence with its labels or segments."""

from collections.abc import Sequence
from typing import Any

from ._labels import colours, find_scheme, kind_of_label, runs_of_segments
from ._marginals import SURE, TaggedTokens
from ._markup import Markup, element
from .aligned import aligned


class TaggedSequence(TaggedTokens):
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

    unsure = "dotted"

    def __init__(
        self,
        tokens: Sequence[str],
        labels: Sequence[Any],
        *,
        marginals: Any = None,
        classes: Any = None,
        scheme: str | None = "auto",
    ):
        super().__init__(tokens, labels, marginals, classes)
        self.scheme = find_scheme(scheme, self.classes or self.labels)

    @classmethod
    def from_estimator(
        cls, estimator: Any, sequence: Any, *, tokens: Any = None, scheme: str | None = "auto"
    ) -> "TaggedSequence":
        """Show the labels that a fitted estimator predicts, with their marginals.

        Parameters
        ----------
        estimator : fitted sequence classifier, or a pipeline or search that ends in one
        sequence : one sequence, such as a list of tokens
        tokens : sequence of str, optional
            Texts of the tokens; by default the word or first string of each token.
        scheme : as in :class:`TaggedSequence`

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
        return cls._of(estimator, sequence, tokens, scheme=scheme)

    def __str__(self) -> str:
        if self.scheme is None:
            return "\n\n".join(aligned([self.tokens, [*map(str, self.labels)]]))
        pieces = []
        for start, end, kind in runs_of_segments(self.labels, self.scheme):
            words = " ".join(self.tokens[start:end])
            pieces.append(words if kind is None else f"[{words} {kind}]")
        return " ".join(pieces)

    def _main(self) -> Markup:
        text = self._words() if self.scheme is None else self._segments(self.scheme)
        return element("p", *[piece for part in text for piece in (part, " ")])

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
        """Make a token, and the tip that is shown when it is pointed at."""
        text = element("bdi", self.tokens[t])
        if self.marginals is None:
            return element("span", text, class_="token")
        unsure = " unsure" if self._probability(t) < SURE else ""
        lines = [
            element("span", _bar(p), f"{label} {p:.2f}", class_="share")
            for label, p in self._likeliest(t)
        ]
        tip = element("span", element("b", text), *lines, class_="tip")
        return element("span", text, tip, class_=f"token{unsure}", tabindex="0")


def _bar(share: float) -> Markup:
    return element("i", style=f"width:{4 * min(max(share, 0.0), 1.0):.2f}em")
