"""LabelComparison: gold labels above predicted labels."""

from collections.abc import Sequence
from typing import Any

from ...metrics.errors import KINDS, match_segments
from ...metrics.flatten import flatten
from ._labels import colours, find_scheme, kind_of_label
from ._markup import Markup, NotebookDisplay, element
from .aligned import aligned
from .single import single


class LabelComparison(NotebookDisplay):
    """Gold labels above predicted labels.

    Below each token is its gold label and, if it differs, the predicted label after a cross. If
    labels mark segments, wrong segments are listed, with the kind of error as in
    :func:`~sklearn_crcrf.metrics.segment_errors`.

    Parameters
    ----------
    tokens : sequence of str
    gold, predicted : sequence of labels
        Gold labels that are not known (None) do not count.
    classes : array-like of shape (n_labels,), optional
        All labels. If given, displays with the same classes have the same colours.
    scheme : {"auto", "IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"} or None, \
            default="auto"
        How labels mark segments; "auto" detects it, None means that they mark no segments.

    Raises
    ------
    ValueError
        If the lengths do not agree.

    Examples
    --------
    >>> from sklearn_crcrf.display import LabelComparison
    >>> tokens = ["Ann", "Lee", "sings", "in", "Rome"]
    >>> gold = ["B-PER", "I-PER", "O", "O", "B-LOC"]
    >>> LabelComparison(tokens, gold, ["B-PER", "O", "O", "O", "B-LOC"])
    4 of 5 labels are right
                Ann   Lee     sings in Rome
    gold        B-PER I-PER   O     O  B-LOC
    predicted         ✗ O
    wrong boundary: gold PER "Ann Lee", predicted PER "Ann"
    """

    def __init__(
        self,
        tokens: Sequence[str],
        gold: Sequence[Any],
        predicted: Sequence[Any],
        *,
        classes: Any = None,
        scheme: str | None = "auto",
    ):
        self.tokens = [str(token) for token in tokens]
        self.gold, self.predicted = list(gold), list(predicted)
        lengths = len(self.tokens), len(self.gold), len(self.predicted)
        if len(set(lengths)) > 1:
            raise ValueError(
                "there are {} tokens, {} gold labels and {} predicted ones".format(*lengths)
            )
        # Gold labels that are not known, or sets, as predictions complete them.
        pair = self._pair = flatten([self.gold], [self.predicted])
        self._is_right = [a == b for a, b in zip(pair.true.data, self.predicted, strict=True)]
        self.classes = list([*pair.true.data, *self.predicted] if classes is None else classes)
        self.scheme = find_scheme(scheme, [*self.classes, *pair.true.data, *self.predicted])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        sequence: Any,
        gold: Sequence[Any],
        *,
        tokens: Any = None,
        scheme: str | None = "auto",
    ) -> "LabelComparison":
        """Compare gold labels with the predictions of a fitted estimator.

        Parameters
        ----------
        estimator : fitted sequence classifier, or a pipeline or search that ends in one
        sequence : one sequence, such as a list of tokens
        gold : sequence of labels
            The labels to compare with.
        tokens : sequence of str, optional
            Texts of the tokens; by default the word or first string of each token.
        scheme : as in :class:`LabelComparison`

        Returns
        -------
        LabelComparison

        Examples
        --------
        >>> from sklearn_crcrf import CRF
        >>> from sklearn_crcrf.display import LabelComparison
        >>> crf = CRF().fit([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
        >>> LabelComparison.from_estimator(crf, ["a", "dog"], ["D", "N"])
        2 of 2 labels are right
                  a dog
        gold      D N
        predicted
        """
        classifier, X, texts = single(estimator, sequence, tokens)
        predicted, classes = classifier.predict(X).data.tolist(), classifier.classes_.tolist()
        return cls(texts, gold, predicted, classes=classes, scheme=scheme)

    def __str__(self) -> str:
        both = zip(self._is_right, self.predicted, strict=True)
        wrong = ["" if is_right else f"✗ {label}" for is_right, label in both]
        rows = [self.tokens, [*map(str, self.gold)], wrong]
        blocks = aligned(rows, ["", "gold", "predicted"])
        return "\n".join([self._summary(), *blocks, *self._wrong_segments()])

    def _summary(self) -> str:
        n_known = int(self._pair.is_known.sum())
        n_wrong = len(self.gold) - sum(self._is_right)
        return f"{n_known - n_wrong} of {n_known} labels are right"

    def _wrong_segments(self) -> list[str]:
        """Return a line for each wrong segment."""
        if self.scheme is None:
            return []
        match = match_segments(self._pair, self.scheme, "conlleval")
        lines = []
        for kind, *segments in zip(match.kind, match.of_true, match.of_pred, strict=True):
            said = [
                f'{name} {of.type[k]} "{" ".join(self.tokens[of.start[k] : of.end[k]])}"'
                for name, of, k in zip(("gold", "predicted"), match[:2], segments, strict=True)
                if k >= 0
            ]
            if kind:
                lines.append(f"{KINDS[kind]}: {', '.join(said)}")
        return lines

    def _body(self) -> list[Markup]:
        style = colours(kind_of_label(label, self.scheme) for label in self.classes)
        columns = []
        kinds = [kind_of_label(label, self.scheme) for label in self._pair.true.data]
        judged = zip(self.tokens, self.gold, self.predicted, kinds, self._is_right, strict=True)
        for token, gold, predicted, kind, is_right in judged:
            is_plain = " plain" if kind is None else ""
            labels = [element("b", gold, class_="label")]
            if not is_right:
                labels.append(element("b", f"✗ {predicted}", class_="label"))
            column_class = f"word{is_plain if is_right else ' wrong'}"
            text = element("span", element("bdi", token), class_="token")
            columns += [
                element("span", text, *labels, class_=column_class, style=style.get(kind)),
                " ",
            ]
        legend = f"{self._summary()}. Below each token its gold label; ✗ the predicted one."
        body = [element("p", legend, class_="quiet"), element("p", *columns)]
        wrong = self._wrong_segments()
        if wrong:
            body.append(element("ul", *[element("li", line) for line in wrong], class_="quiet"))
        return body
