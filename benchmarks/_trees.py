"""The English Web Treebank: words with their heads, which are given, and their relations."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from _common import corpus_file

from sklearn_crcrf import GraphArray, SequenceArray
from sklearn_crcrf.datasets import read_conll

# The attributes of a word in CRF: the word, its head, and the words next to it.
ATTRIBUTES = [
    "lower[0]",
    "tag[0]",
    "head_form[0]",
    "head_tag[0]",
    "tag[0]|head_tag[0]|side[0]",
    "tag[0]|side[0]|distance[0]",
    "tag[0]|tag[-1]",
    "tag[0]|tag[1]",
    "lower[0]|head_tag[0]|side[0]",
    "tag[0]|head_form[0]|side[0]",
    "tag[0]|children[0]",
    "tag[0]|ending[0]",
    "tag[0]|head_tag[0]|tag[-1]|side[0]",
]
# The experts of EmpiricalCRF. They were added and removed
# one by one, as long as default exponents labelled the dev part better.
EXPERTS = [
    "tag[0]",
    "head_form[0]",
    "head_tag[0]",
    "tag[0]|tag[-1]",
    "tag[0]|tag[1]",
    "tag[-1]|tag[0]|tag[1]",
    "head_form[0]|side[0]",
    "tag[0]|head_form[0]",
    "tag[0]|head_form[0]|side[0]",
    "tag[0]|head_tag[0]|side[0]",
    "tag[0]|head_tag[0]|tag[-1]|side[0]",
    "tag[0]|side[0]|distance[0]",
    "tag[0]|head_tag[0]|side[0]|distance[0]",
    "tag[0]|children[0]",
    "tag[0]|head_tag[0]|children[0]",
    "tag[0]|head_tag[0]|side[0]|children[0]",
    "tag[0]|sibling_before[0]",
    "tag[0]|sibling_after[0]",
]
# Longer distances of words and heads are one value, as are more tags of children.
MAX_DISTANCE, MAX_CHILDREN, ENDING = 6, 4, 3
STRUCTURES = ("single words", "chain", "tree", "tree, two tables")


class Treebank(NamedTuple):
    """Sentences, the heads of their words, and the relations of words to heads.

    Parameters
    ----------
    words : list of lists of dict
        The attributes of each word.
    parents : list of lists of int
        The position of the head of each word, -1 for a root.
    tags, y : list of lists of str
        The part of speech of each word, and its relation to its head.
    """

    words: list[list[dict[str, str]]]
    parents: list[list[int]]
    tags: list[list[str]]
    y: list[list[str]]

    @classmethod
    def load(cls, part: str, n_sentences: int | None = None) -> "Treebank":
        """The first sentences of "train", "dev" or "test"."""
        return cls.read(corpus_file(f"ud-en_ewt-{part}.tsv.gz")).take(n_sentences)

    @classmethod
    def read(cls, path_or_file: Any) -> "Treebank":
        """The sentences of a file; subtypes of relations, after a colon, are left out."""
        X, y = read_conll(path_or_file, ["form", "tag", "head", "label"])
        return cls(
            [with_attributes(sentence) for sentence in X],
            [[int(word["head"]) - 1 for word in sentence] for sentence in X],
            [[word["tag"] for word in sentence] for sentence in X],
            [[relation.split(":")[0] for relation in relations] for relations in y],
        )

    def take(self, n_sentences: int | None) -> "Treebank":
        """The first sentences, all for None."""
        return Treebank(*(column[:n_sentences] for column in self))

    @property
    def n_words(self) -> int:
        return sum(map(len, self.words))

    def n_broken(self, y: Iterable[list], labels: list[str]) -> int:
        """The number of sentences in which a head has one of these labels more than once."""
        count = 0
        for relations, parents in zip(y, self.parents, strict=True):
            pairs = zip(relations, parents, strict=True)
            found = [pair for pair in pairs if pair[0] in labels and pair[1] >= 0]
            count += len(found) > len(set(found))
        return count

    def linked(self, structure: str) -> SequenceArray:
        """The sentences as one of the STRUCTURES."""
        if structure == "single words":
            return GraphArray.from_edges(self.words, [[]] * len(self.words))
        if structure == "chain":
            return SequenceArray.from_sequences(self.words)
        types = "direction" if structure == "tree, two tables" else None
        return GraphArray.from_parents(self.words, self.parents, types)


def with_attributes(sentence: list[dict[str, str]]) -> list[dict[str, str]]:
    """The words of a sentence with attributes of their heads, siblings and children."""
    tags = [word["tag"] for word in sentence]
    heads = [int(word["head"]) - 1 for word in sentence]
    children: dict[int, list[int]] = {}
    for position, head in enumerate(heads):
        children.setdefault(head, []).append(position)
    root = {"form": "root", "tag": "ROOT"}
    described = []
    for position, (word, head) in enumerate(zip(sentence, heads, strict=True)):
        parent = sentence[head] if head >= 0 else root
        siblings = children[head]
        place = siblings.index(position)
        own = sorted({tags[child] for child in children.get(position, [])})
        described.append(
            {
                "form": word["form"],
                "tag": word["tag"],
                "lower": word["form"].lower(),
                "ending": word["form"].lower()[-ENDING:],
                "head_form": parent["form"].lower(),
                "head_tag": parent["tag"],
                "side": "root" if head < 0 else "after" if head > position else "before",
                "distance": str(min(abs(head - position), MAX_DISTANCE) if head >= 0 else 0),
                "children": "+".join(own[:MAX_CHILDREN]),
                "sibling_before": tags[siblings[place - 1]] if place else "NONE",
                "sibling_after": ([*(tags[k] for k in siblings[place + 1 :]), "NONE"])[0],
            }
        )
    return described
