"""The sentences that wait for labels."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Pool", "split_words"]

# A word with inner hyphens, apostrophes and points, or one other character that is not space.
WORD = re.compile(r"\w+(?:[-'\u2019.]\w+)*|[^\w\s]")
JOINER = "\u200d"


class Pool(NamedTuple):
    """The sentences that wait for labels.

    Attributes
    ----------
    sentences : sequence of token lists
    gold : sequence of label lists, or None
        Labels that are to be checked.
    separator : str
        What stands between tokens when a sentence is shown.

    Examples
    --------
    >>> from sklearn_crcrf.annotation import Pool
    >>> Pool.of_lines(["Ann sings.", "", "Rex barks"]).sentences
    [['Ann', 'sings', '.'], ['Rex', 'barks']]
    >>> Pool.of_lines(["猫睡"], characters=True).sentences
    [['猫', '睡']]
    """

    sentences: Sequence[list[str]]
    gold: Sequence[list[str]] | None = None
    separator: str = " "

    @classmethod
    def of_lines(cls, lines: Sequence[str], characters: bool = False) -> "Pool":
        """A sentence from each line that is not empty.

        Parameters
        ----------
        lines : sequence of str
        characters : bool, default=False
            Whether tokens are single characters.
        """
        split = _characters if characters else split_words
        sentences = [tokens for tokens in map(split, lines) if tokens]
        return cls(sentences, None, "" if characters else " ")

    def search(self, text: str, limit: int = 50) -> list[int]:
        """The first sentences that have a text, whatever the case.

        Parameters
        ----------
        text : str
        limit : int, default=50
            Maximum number of sentences.
        """
        wanted, found = text.casefold(), []
        for number, tokens in enumerate(self.sentences):
            if wanted in self.separator.join(tokens).casefold():
                found.append(number)
                if len(found) == limit:
                    break
        return found


def split_words(text: str) -> list[str]:
    """Split a text into words and punctuation marks.

    Letters and digits that touch are a word, also around a hyphen, an apostrophe or a point; every
    other character that is not space is a token.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> from sklearn_crcrf.annotation.pool import split_words
    >>> split_words("Ann's dog, aged 3.5, well-behaved!")
    ["Ann's", 'dog', ',', 'aged', '3.5', ',', 'well-behaved', '!']
    """
    shadow = "".join("a" if _combines(c) else c for c in text)
    return [text[slice(*found.span())] for found in WORD.finditer(shadow)]


def _characters(text: str) -> list[str]:
    """All characters but space, each with the marks that combine with it."""
    found: list[str] = []
    for c in text:
        if found and (_combines(c) or found[-1].endswith(JOINER)):
            found[-1] += c
        elif not c.isspace():
            found.append(c)
    return found


def _combines(character: str) -> bool:
    """Whether a character is shown as a part of the character before it."""
    return character == JOINER or unicodedata.category(character).startswith("M")
