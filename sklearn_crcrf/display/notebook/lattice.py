"""Lattice: the labels of each token with their probabilities, and the best paths through them."""

from collections.abc import Sequence
from itertools import chain, product
from typing import Any

import numpy as np

from ._labels import colours
from ._marginals import checked_marginals
from ._markup import Markup, NotebookDisplay, drawing, element, line, text
from .aligned import aligned
from .single import single

# A label that is on no path is shown if its probability at some token is at least LEAST, up to
# MOST_LABELS labels in all.
LEAST, MOST_LABELS = 0.01, 15
# Sizes in pixels: height of a row, width of a letter, least and largest width of a column, largest
# radius, and distance of parallel paths.
ROW, LETTER, NARROWEST, WIDEST, RADIUS, GAP = 34, 8, 64, 150, 11, 4
DASHES = (None, "7 4", "2 4", "10 3 2 3", "1 5")


class Lattice(NotebookDisplay):
    """The labels of each token with their probabilities, and the best paths through them.

    A notebook draws a circle for each label of each token, the larger the likelier, and a line
    for each path. Rows are the labels of the paths, and other labels that are likely somewhere.

    Parameters
    ----------
    tokens : sequence of str
        Texts of the tokens.
    classes : array-like of shape (n_labels,)
        The labels of the columns of ``marginals``.
    marginals : array-like of shape (n_tokens, n_labels)
        Probabilities of the labels of each token.
    paths : list of (labels, probability)
        Best first, as returned by :meth:`~sklearn_crcrf.CRF.predict_k_best` for a sequence.

    Raises
    ------
    ValueError
        If the shapes do not agree.

    Examples
    --------
    >>> from sklearn_crcrf.display import Lattice
    >>> marginals = [[0.9, 0.1], [0.2, 0.8]]
    >>> Lattice(["the", "dog"], ["D", "N"], marginals, [(["D", "N"], 0.7), (["D", "D"], 0.2)])
             the dog
    1. 0.700 D   N
    2. 0.200 D   D
    """

    def __init__(
        self,
        tokens: Sequence[str],
        classes: Any,
        marginals: Any,
        paths: Sequence[tuple[Sequence[Any], float]],
    ):
        self.tokens, self.classes = [str(token) for token in tokens], np.asarray(classes).tolist()
        self.marginals = checked_marginals(marginals, self.tokens, self.classes)
        self.paths = [(list(labels), float(probability)) for labels, probability in paths]
        n = len(self.tokens)
        for labels, _ in self.paths:
            if len(labels) != n:
                raise ValueError(f"a path has {len(labels)} labels, but there are {n} tokens")

    @classmethod
    def from_estimator(
        cls, estimator: Any, sequence: Any, k: int = 3, *, tokens: Sequence[str] | None = None
    ) -> "Lattice":
        """Make the lattice of a fitted estimator.

        Parameters
        ----------
        estimator : fitted sequence classifier, or a pipeline or search that ends in one
        sequence : one sequence, such as a list of tokens
        k : int, default=3
            Number of paths.
        tokens : sequence of str, optional
            Texts of the tokens; by default the word or first string of each token.

        Returns
        -------
        Lattice

        Examples
        --------
        >>> from sklearn_crcrf import CRF
        >>> from sklearn_crcrf.display import Lattice
        >>> X, y = [["the", "dog"], ["a", "cat"], ["cat"]], [["D", "N"], ["D", "N"], ["N"]]
        >>> crf = CRF().fit(X, y)
        >>> Lattice.from_estimator(crf, ["a", "dog"], k=2)
                 a dog
        1. 0.614 D N
        2. 0.144 D D
        """
        classifier, X, texts = single(estimator, sequence, tokens)
        (paths,) = classifier.predict_k_best(X, k)
        return cls(texts, classifier.classes_, classifier.predict_proba(X).data, paths)

    def __str__(self) -> str:
        heads = [
            f"{rank}. {probability:.3f}" for rank, (_, probability) in enumerate(self.paths, 1)
        ]
        rows = [self.tokens, *([*map(str, labels)] for labels, _ in self.paths)]
        return "\n\n".join(aligned(rows, ["", *heads]))

    def _body(self) -> list[Markup]:
        said = "Circles: probabilities of labels. Lines: the best paths."
        legend = []
        for rank, (labels, probability) in enumerate(self.paths):
            stroke = line("path", 0, 5, 40, 5, **self._stroke(rank))
            swatch = element("svg", stroke, width=40, height=10)
            names = [(" ", element("span", label, class_="whole")) for label in labels]
            legend.append(element("li", swatch, f"{probability:.3f} ", *chain(*names)))
        return [
            element("div", self._drawing(), class_="scroll"),
            element("ol", *legend),
            element("p", said, class_="quiet"),
        ]

    def _shown(self) -> list[int]:
        """Return the labels that have a row."""
        on_paths = {label for labels, _ in self.paths for label in labels}
        largest = self.marginals.max(axis=0, initial=0.0)
        likely = [j for j in np.argsort(-largest, kind="stable") if largest[j] >= LEAST]
        shown = [j for j, label in enumerate(self.classes) if label in on_paths]
        others = [int(j) for j in likely if j not in shown]
        return sorted(shown + others[: max(0, MOST_LABELS - len(shown))])

    def _drawing(self) -> Markup:
        shown = self._shown()
        longest = max((len(str(self.classes[j])) for j in shown), default=0)
        left = LETTER * min(longest, 24) + 24
        size = LETTER * max(map(len, self.tokens), default=0) + 16
        column = min(max(size, NARROWEST), WIDEST)
        width, height = left + column * len(self.tokens), ROW * (len(shown) + 1)
        x = left + column * (np.arange(len(self.tokens)) + 0.5)
        y = {self.classes[j]: ROW * (row + 1.5) for row, j in enumerate(shown)}
        lines = [line("grid", left, at, width, at, stroke_dasharray="1 4") for at in y.values()]
        names = [text(left - 12, at, label, 24, "end") for label, at in y.items()]
        letters = int(column / LETTER)
        heads = [text(x[t], ROW / 2, self.tokens[t], letters, "middle") for t in range(len(x))]
        paths = [self._path(rank, x, y, column) for rank in reversed(range(len(self.paths)))]
        circles = []
        for t, j in product(range(len(x)), shown):
            p, label = self.marginals[t, j], self.classes[j]
            if p >= LEAST / 10:
                title = element("title", f"{self.tokens[t]}: {label} {p:.3f}")
                place = {
                    "cx": f"{x[t]:.1f}",
                    "cy": f"{y[label]:.1f}",
                    "r": f"{RADIUS * p**0.5:.1f}",
                }
                circles.append(element("circle", title, **place, fill_opacity=0.75))
        parts = *lines, *paths, *circles, *names, *heads
        return drawing(width, height, "lattice of labels", *parts)

    def _path(self, rank: int, x: np.ndarray, y: dict[Any, float], column: float) -> Markup:
        """Draw the line of a path, a little apart from the others."""
        labels, _ = self.paths[rank]
        shift = GAP * (rank - (len(self.paths) - 1) / 2)
        half = column / 6  # so that even a path of one token is a line
        points = [
            f"{at + side:.1f},{y[label] + shift:.1f}"
            for at, label in zip(x, labels, strict=True)
            for side in (-half, half)
        ]
        return element("polyline", class_="path", points=" ".join(points), **self._stroke(rank))

    def _stroke(self, rank: int) -> dict[str, Any]:
        style = colours(range(len(self.paths)))[rank]
        dashes = DASHES[rank % len(DASHES)]
        return {"style": style, "stroke_width": 3 if rank == 0 else 2, "stroke_dasharray": dashes}
