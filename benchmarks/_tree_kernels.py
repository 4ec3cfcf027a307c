"""Speed of sums over the labellings of trees, compared with chains of the same words."""

from collections.abc import Callable, Iterator
from itertools import chain
from statistics import median

import numpy as np
from _common import cpu_seconds, yes_or_no
from _trees import Treebank

from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.structures import Scores, structure_of

COLUMNS = ["labels", "words", "chains, ns a word", "trees, ns a word", "ratio", "target", "met"]
MOST = 2.0  # times the chain
# Parts of the sentences: the time should be proportional to the number of words.
SHARES = (1 / 4, 1 / 2, 1)


def kernel_rows(treebank: Treebank, runs: int) -> Iterator[list[str]]:
    """Loss and gradient by the scores; the labels are parts of speech, then relations.

    Chains and trees take turns, so that both meet the same disturbances.
    """
    for name in ("tags", "y"):
        n_labels = len(set(chain.from_iterable(getattr(treebank, name))))
        for share in SHARES:
            part = treebank.take(round(share * len(treebank.y)))
            y = np.unique([*chain.from_iterable(getattr(part, name))], return_inverse=True)[1]
            timed = [evaluation(part, s, y, n_labels) for s in ("chain", "tree")]
            for function in timed:  # which finds the order of the words of trees, once
                function()
            seconds = [[cpu_seconds(function)[0] for function in timed] for _ in range(runs)]
            nanoseconds = 1e9 * np.median(seconds, axis=0) / part.n_words
            ratio = median(of_trees / of_chains for of_chains, of_trees in seconds)
            figures = [f"{figure:.0f}" for figure in nanoseconds]
            yield [
                *(str(n_labels), f"{part.n_words:,}", *figures, f"{ratio:.2f}"),
                *(f"<= {MOST:g}", yes_or_no(ratio <= MOST)),
            ]


def evaluation(
    treebank: Treebank, structure: str, y: np.ndarray, n_labels: int
) -> Callable[[], None]:
    """A function that computes loss and gradient by random scores, in chunks, as training does."""
    rng = np.random.default_rng(0)
    state, transition = rng.normal(size=(len(y), n_labels)), rng.normal(size=(n_labels, n_labels))
    linked = structure_of(treebank.linked(structure))
    corpus = Corpus(state, y.astype(np.int32), linked, np.ones(len(treebank.y))).longest_first()
    chunks = [chunk for block in corpus.chunks(n_labels) for chunk in block]

    def evaluate() -> None:
        for chunk in chunks:
            scores = Scores.of(corpus.X[chunk.start : chunk.stop], transition)
            log_loss.value_and_gradient(chunk.structure, scores, chunk.y, chunk.weight)

    return evaluate
