"""The sentences that wait for labels."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

# Characters that belong to the one before them, and the joiner of emoji, in a copy of the text.
MARK, JOINER = "\ue000", "\ue001"
# The space without width, and letters that are blank.
BLANKS = "\u200b\u2800\u3164\uffa0"
INVISIBLE = f"[{MARK}{JOINER}]"
VISIBLE = rf"[^\s{MARK}{JOINER}]"
# A run of marks is tried once, at its beginning: time is linear also for a text of nothing else.
LEADING, MARKS = f"(?:(?<!{INVISIBLE}){INVISIBLE}++)?", f"{INVISIBLE}*+"
FLAG = f"[\U0001f1e6-\U0001f1ff]{MARKS}[\U0001f1e6-\U0001f1ff]"
CHARACTER = f"{LEADING}(?:{FLAG}|{VISIBLE})(?:{JOINER}{VISIBLE}|{INVISIBLE})*"
CHARACTERS = re.compile(CHARACTER)
# A word with inner hyphens, apostrophes and points, or one other character that is not space.
WORDS = re.compile(rf"{LEADING}\w{MARKS}(?:(?:[-'\u2019.]{MARKS})?\w{MARKS})*|{CHARACTER}")


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
    >>> from sklearn_crcrf.apps.annotation import Pool
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
        """Take a sentence from each line that is not empty.

        Parameters
        ----------
        lines : sequence of str
        characters : bool, default=False
            Whether tokens are single characters.
        """
        split = _characters if characters else split_words
        sentences = [tokens for tokens in map(split, lines) if tokens]
        return cls(sentences, None, "" if characters else " ")

    def search(self, text: str, limit: int = 50, among: range | None = None) -> list[int]:
        """Find the first sentences that have a text, whatever the case.

        Parameters
        ----------
        text : str
        limit : int, default=50
            Maximum number of sentences.
        among : range, optional
            The sentences to look at; by default all.
        """
        wanted, join = text.casefold(), self.separator.join
        among = range(len(self.sentences)) if among is None else among
        found = (k for k in among if wanted in join(self.sentences[k]).casefold())
        return [*islice(found, limit)]


def split_words(text: str) -> list[str]:
    """Split a text into words and punctuation marks.

    Letters and digits that touch are a word, also around a hyphen, an apostrophe or a point; every
    other character that can be seen is a token, and so is a sequence of emoji that is shown as one.
    Characters without a place of their own (accents, joiners, soft hyphens, marks of direction) are
    in the token of the character before them, or after them at the beginning of a token.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> from sklearn_crcrf.apps.annotation.pool import split_words
    >>> split_words("Ann's dog, aged 3.5, well-behaved!")
    ["Ann's", 'dog', ',', 'aged', '3.5', ',', 'well-behaved', '!']
    """
    return _split(WORDS, text)


def _characters(text: str) -> list[str]:
    """Split off all characters but space, each with the marks that combine with it."""
    return _split(CHARACTERS, text)


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    shadow = text if text.isascii() and text.isprintable() else "".join(map(_shadow, text))
    return [text[slice(*found.span())] for found in pattern.finditer(shadow)]


@lru_cache(maxsize=2**14)
def _shadow(character: str) -> str:
    """Return the character itself, unless it cannot be seen, or not without its neighbour."""
    category = unicodedata.category(character)
    if character == "\u200d":
        return JOINER
    if category == "Cc" or character in BLANKS:
        return " "
    if category in ("Mn", "Mc", "Me", "Cf") or "\U0001f3fb" <= character <= "\U0001f3ff":
        return MARK
    return "\ufffd" if character in (MARK, JOINER) else character
