"""Predictions of a first model elsewhere in a text, as columns for a second model.

Names come again: what is a person in one sentence of an article is one in the next, where it may be
harder to tell, and a long name is followed by a short one.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from sklearn_crcrf.segments import to_segments

__all__ = ["with_found"]

KEYS = ("found", "word_in_article", "word_in_text", "name_in_article", "name_in_text", "longer")


def with_found(
    X: Sequence[Sequence[Mapping[str, str]]], found: Sequence[Sequence[str]]
) -> list[list[dict[str, str]]]:
    """The tokens, with predicted labels for them and for other tokens.

    Parameters
    ----------
    X : sequence of sentences
        Tokens with the key "word". An article begins with the word "-DOCSTART-".
    found : sequence of lists of labels
        By a model that was not trained on these sentences.

    Returns
    -------
    list of list of dict
        With more keys. "found" is the label. The others are a kind of name or "O", the most
        frequent one: "word_in_article" and "word_in_text" among the other tokens with this word;
        "name_in_article" and "name_in_text" among the other names with the words of this one;
        "longer" among the longer names of the article that contain these words. They are "none"
        where there are none.
    """
    words = [[token["word"] for token in sentence] for sentence in X]
    articles = np.cumsum([sentence[0] == "-DOCSTART-" for sentence in words]).tolist()
    kinds = [[label.rpartition("-")[2] for label in labels] for labels in found]
    names = [[] for _ in words]
    for i, start, end, kind in zip(*to_segments(found), strict=True):
        names[i].append((start, end, kind))
    votes = _votes(words, articles, kinds, names)
    more, nothing = [], dict.fromkeys(KEYS, "none")
    for i, sentence in enumerate(words):
        article = articles[i]
        columns = [
            {"found": label, **_most_others("word", votes, article, word, kind)}
            for word, label, kind in zip(sentence, found[i], kinds[i], strict=True)
        ]
        for start, end, kind in names[i]:
            name = tuple(sentence[start:end])
            said = _most_others("name", votes, article, name, kind)
            if votes["longer", article, name]:
                said["longer"] = _most(votes["longer", article, name])
            for column in columns[start:end]:
                column.update(said)
        more.append(
            [{**token, **nothing, **column} for token, column in zip(X[i], columns, strict=True)]
        )
    return more


def _votes(words: list, articles: list, kinds: list, names: list) -> dict[tuple, Counter]:
    """How often each kind was found, by article, or for the whole text, and word or words."""
    votes = defaultdict(Counter)
    for sentence, article, of_words, of_names in zip(words, articles, kinds, names, strict=True):
        items = list(zip(sentence, of_words, strict=True))
        items += [(tuple(sentence[start:end]), kind) for start, end, kind in of_names]
        for item, kind in items:
            votes[article, item][kind] += 1
            votes["text", item][kind] += 1
        for start, end, kind in of_names:
            for i in range(start, end):
                for j in range(i + 1, end + 1):
                    if j - i < end - start:
                        votes["longer", article, tuple(sentence[i:j])][kind] += 1
    return votes


def _most_others(
    what: str, votes: dict[tuple, Counter], article: int, item: str | tuple, own: str
) -> dict[str, str]:
    """The most frequent kind of the others, in the article and in the text."""
    said = {}
    for place, key in (("article", article), ("text", "text")):
        others = votes[key, item] - Counter([own])
        if others:
            said[f"{what}_in_{place}"] = _most(others)
    return said


def _most(votes: Counter) -> str:
    """The most frequent; of equally frequent ones the last in alphabetical order."""
    return max(votes, key=lambda kind: (votes[kind], kind))
