"""TaggedTree: a tree, or several, with the labels of its tokens."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...data.graphs import GraphArray
from ._labels import colours
from ._marginals import SURE, TaggedTokens
from ._markup import Markup, drawing, element, line, text

# Sizes in pixels: distance of levels, height of a box, width of a letter, least and largest width
# of a box, and distance of boxes.
LEVEL, BOX, LETTER, NARROWEST, WIDEST, GAP = 74, 42, 8, 40, 150, 8


class TaggedTree(TaggedTokens):
    """A tree with the labels of its tokens; or several trees, if there are several roots.

    A notebook draws a box for each token, with its label, in the order of the tokens; its parent
    is above it. With marginals, a bar shows the probability of the label, pointing at a box lists
    the likeliest labels, and the border is dashed if the probability is below 0.9. As text, the
    children of a token are indented below it.

    Parameters
    ----------
    tokens : sequence of str
    labels : sequence of labels
    parents : sequence of int
        The position of the parent of each token, -1 for a root.
    marginals : array-like of shape (n_tokens, n_labels), optional
        Probabilities of the labels of each token.
    classes : array-like of shape (n_labels,), optional
        The labels of the columns of ``marginals``. If given, displays with the same classes have
        the same colours.

    Raises
    ------
    ValueError
        If the lengths do not agree, marginals have no classes, or parents make no tree.

    Examples
    --------
    >>> from sklearn_crcrf.display import TaggedTree
    >>> TaggedTree(["The", "dog", "barks"], ["det", "nsubj", "root"], [1, 2, -1])
    barks root
    └─ dog nsubj
       └─ The det
    """

    unsure = "dashed"

    def __init__(
        self,
        tokens: Sequence[str],
        labels: Sequence[Any],
        parents: Sequence[int],
        *,
        marginals: Any = None,
        classes: Any = None,
    ):
        super().__init__(tokens, labels, marginals, classes)
        tree = GraphArray.from_parents([self.tokens], [list(parents)])
        self.parents: list[int] = tree.parents.tolist()

    @classmethod
    def from_estimator(cls, estimator: Any, tree: Any, *, tokens: Any = None) -> "TaggedTree":
        """Show the labels that a fitted estimator predicts, with their marginals.

        Parameters
        ----------
        estimator : fitted sequence classifier, or a pipeline or search that ends in one
        tree : GraphArray
            One sample, such as ``X[:1]``.
        tokens : sequence of str, optional
            Texts of the tokens; by default the word or first string of each token.

        Returns
        -------
        TaggedTree

        Raises
        ------
        ValueError
            If ``tree`` is not a single sample of a GraphArray, or not a forest.

        Examples
        --------
        >>> from sklearn_crcrf import CRF, GraphArray
        >>> from sklearn_crcrf.display import TaggedTree
        >>> X = GraphArray.from_parents([["the", "dog"], ["a", "cat"]], [[1, -1], [1, -1]])
        >>> crf = CRF().fit(X, [["det", "root"], ["det", "root"]])
        >>> TaggedTree.from_estimator(crf, X[1:])
        cat root 0.76
        └─ a det 0.76
        """
        if not isinstance(tree, GraphArray):
            raise ValueError(f"tree must be a GraphArray, but is a {type(tree).__name__}")
        return cls._of(estimator, tree, tokens, parents=tree.parents.tolist())

    def __str__(self) -> str:
        return "\n".join(before + self._words(t) for t, before in self._walk())

    def _words(self, t: int) -> str:
        words = f"{self.tokens[t]} {self.labels[t]}"
        return words if self.marginals is None else f"{words} {self._probability(t):.2f}"

    def _walk(self) -> Iterator[tuple[int, str]]:
        """Yield the tokens, each before its children, and the branches before it as text."""
        children: list[list[int]] = [[] for _ in range(len(self.tokens) + 1)]
        for t, parent in enumerate(self.parents):
            children[parent].append(t)  # at the end, the roots
        left = [(t, "", "") for t in reversed(children[-1])]
        while left:
            t, before, below = left.pop()
            yield t, before
            for child in reversed(children[t]):
                is_last = child == children[t][-1]
                branch, space = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
                left.append((child, below + branch, below + space))

    def _main(self) -> Markup:
        depth = np.zeros(len(self.tokens), dtype=int)
        for t, _ in self._walk():
            depth[t] = depth[self.parents[t]] + 1 if self.parents[t] >= 0 else 0
        letters = [max(len(t), len(str(y))) for t, y in zip(self.tokens, self.labels, strict=True)]
        widths = np.clip(LETTER * np.array([*letters, 0]) + 16, NARROWEST, WIDEST)[:-1]
        # A border is drawn half outside of its box.
        right = np.cumsum(widths + GAP) + 1
        middle, top = right - GAP - widths / 2, LEVEL * depth + 1
        links = [
            line("link", middle[parent], top[parent] + BOX, middle[t], top[t])
            for t, parent in enumerate(self.parents)
            if parent >= 0
        ]
        style = colours(self.classes or self.labels)
        boxes = [
            self._box(t, middle[t], top[t], widths[t], style.get(self.labels[t]))
            for t in range(len(self.tokens))
        ]
        size = right.max(initial=0), LEVEL * depth.max(initial=0) + BOX + 2
        return element("div", drawing(*size, "tree of labels", *links, *boxes), class_="scroll")

    def _box(self, t: int, middle: float, top: float, width: float, style: str | None) -> Markup:
        """Draw the box of a token, with the title that is shown when it is pointed at."""
        left, letters, share = middle - width / 2, int(width / LETTER), self._probability(t)
        said, bars = [self.tokens[t]], []
        if self.marginals is not None:
            said += [f"{label} {p:.2f}" for label, p in self._likeliest(t)]
            start, bottom = left + 5, top + BOX - 3
            bars = [line("share", start, bottom, start + share * (width - 10), bottom)]
        dashes = None if share >= SURE else "4 3"
        box = {"x": left, "y": top, "width": width, "height": BOX, "rx": 5}
        return element(
            "g",
            element("title", "\n".join(said)),
            element("rect", class_="box", stroke_dasharray=dashes, **box),
            text(middle, top + 13, self.tokens[t], letters, "middle"),
            text(middle, top + 29, self.labels[t], letters, "middle", class_="label"),
            *bars,
            style=style,
        )
