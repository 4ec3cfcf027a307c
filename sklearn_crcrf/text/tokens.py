"""Tokens and sentences of a text, as places in it."""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..labels.segments.schemes import check_option
from .spans import check_text, token_offsets

# What belongs to the character before it, and the joiner of emoji, in a copy of the text.
MARK, JOINER = "\ue000", "\ue001"
# The space without width, and letters that are blank.
BLANKS = "\u200b\u2800\u115f\u1160\u3164\uffa0"
M = f"[{MARK}{JOINER}]"
# A run of marks is tried once, at its beginning: time is linear also for a text of nothing else.
LEADING = rf"(?:(?<!{M}){M}++)?"
VISIBLE = rf"[^\s{MARK}{JOINER}]"
FLAG = rf"[\U0001f1e6-\U0001f1ff]{M}*+[\U0001f1e6-\U0001f1ff]"
TONE = "[\U0001f3fb-\U0001f3ff]"
SYLLABLE = "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?"  # of Hangul, as its letters
CHARACTER = rf"(?:{FLAG}|{SYLLABLE}|{VISIBLE})(?:{JOINER}(?:{SYLLABLE}|{VISIBLE})|{TONE}|{M})*+"

LETTER, END = rf"(?:{SYLLABLE}|[^\W\d_]){M}*+", rf"(?![\w{MARK}{JOINER}])"
APOSTROPHE, BLANK = "['\u2019]", r"[^\S\n\r]"
# Words before a point within a sentence: before another word, and before a number.
BEFORE_WORDS = (
    "dr|mr|mrs|ms|prof|st|ste|sr|jr|mme|mlle|hr|fr|drs|ir|ing|mevr|dhr|gen|sen|rep|gov|lt|col|sgt|"
    "inc|ltd|co|corp|bros|tel|vs|etc|approx|bzw|bijv|resp|ca|evtl"
)
BEFORE_NUMBERS = "no|nr|vol|art|fig|pp|p|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|okt|nov|dec|dez"
ABBREVIATION = (
    rf"(?=\w[\w{MARK}{JOINER}]*+\.)(?i:(?:{LETTER}\.){{2,}}{END}"
    rf"|(?:{BEFORE_WORDS}|{LETTER})\.(?={BLANK}+\w|[,;:])|(?:{BEFORE_NUMBERS})\.(?={BLANK}+\d))"
)
ADDRESS = rf"(?:https?://|www\.)(?:[\w/]++{M}*+|[.~:?#@!$&*+,;=%-]++(?=[\w/]))++"
# "'s" and "n't" after a word; "'88" and "'t" before one; "l'" before one.
CLITIC, NEGATION = rf"(?i:s|m|d|ll|re|ve){END}", rf"(?i:n{APOSTROPHE}t){END}"
SHORTENED = (
    rf"{APOSTROPHE}(?:(?i:\d\ds?|[tnkr]|em|tis|twas|til){END}|{CLITIC})"
    rf"(?!{APOSTROPHE}(?!\w))(?!-\w)"
)
ELIDED = rf"[cdjlmnstCDJLMNST]{APOSTROPHE}(?=\w)(?!{CLITIC})"
LETTERS = rf"(?:[^\WnN]++|(?!{NEGATION})[nN]|{M}++)*+"
JOINT = (
    rf"(?:[-.@]|(?<=\d)[,:/](?=\d)|(?<=[A-Z])&(?=[A-Z](?!{M}))"
    rf"|(?<!qu)(?<!ll){APOSTROPHE}(?!{CLITIC}))"
)
JOINED = rf"\w{LETTERS}(?:{JOINT}{M}*+\w{LETTERS})*+"
# In Greek, a word that has lost its last vowel ends in a consonant that ends no other word, but for
# two prepositions and a conjunction; a capital with an apostrophe is a number. After an apostrophe,
# the second one is a closing quote.
GREEK_ELIDED = (
    rf"(?<!['\u2018\u2019])(?=[\u0370-\u03ff\u1f00-\u1fff]){JOINED}(?={APOSTROPHE}(?!\w))"
    r"(?:(?<=[βγδζθκλμπστφχ])|(?<=\b[γΓ]ι)|(?<=\b[πΠ]αρ)|(?<=\bν)|(?<=\b[Α-Ω]))"  # noqa: RUF001
    rf"{APOSTROPHE}"
)
WORD = (
    rf"(?:{APOSTROPHE}(?i:[st])-(?=\w))?{JOINED}"
    rf"(?:(?:(?<=qu)|(?<=ll)){APOSTROPHE}(?=\w)(?!{CLITIC}))?"
)
RUN = rf"([-.!?*'`~])\1+{M}*+"
RULES = ADDRESS, ABBREVIATION, NEGATION, SHORTENED, ELIDED, GREEK_ELIDED, WORD, RUN, CHARACTER

PATTERNS = {
    "words": re.compile(f"{LEADING}(?:{'|'.join(RULES)})"),
    "characters": re.compile(LEADING + CHARACTER),
}

TOKENIZERS, SENTENCES = ("words", "characters"), ("lines", "rule")
LINES = re.compile(r"[^\n\r]+")
# The last mark of a sentence, and what closes with it; or a paragraph.
ENDS = re.compile(
    r"(?<![.!?\u2026])([.!?\u2026]++)[\"'\u2019\u201d\u00bb)\]]*+(?=\s)|[\u3002\uff01\uff1f][\u201d\u300d\u300f\uff09]*"
    r"|(?>\r\n?|\n)[^\S\r\n]*[\r\n]"
)
NEXT = re.compile(r"\s+(\S)")
# The letters, digits and points before a point, and how many characters are looked at.
BEFORE, LONGEST = re.compile(rf"\w(?:\w|\.(?=\w)|{M})*+\Z"), 20
SHORT = re.compile(ABBREVIATION)


def find_tokens(text: str, tokenizer: str | Callable = "words") -> np.ndarray:
    r"""Find the tokens of a text.

    Parameters
    ----------
    text : str
    tokenizer : {"words", "characters"} or callable, default="words"
        "words" follows these rules, the first that fits:

        - characters without a place of their own (accents, joiners, soft hyphens, marks of
          direction) are in the token of the character before them, or after them at the beginning
          of a token; emoji that are shown as one, and flags, are one token;
        - web addresses are tokens;
        - abbreviations have their point: letters with a point each ("U.S.", "z.B."); single letters
          and words such as "Dr.", "vs." and "bzw." before a comma, a colon, a semicolon, or another
          word in the line; "No.", "p." and months if a number follows;
        - "'s", "'m", "'d", "'ll", "'re", "'ve" and "n't" at the end of a word are tokens, and so
          are the elided words "c'", "d'", "j'", "l'", "m'", "n'", "s'", "t'" and those that end
          in "qu'" or "ll'" before a word, and elided Greek words ("απ'");
        - an apostrophe before two digits ("'88") or a shortened word ("'t", "'em") is in its token;
        - letters and digits that touch are a word, also around a hyphen, an apostrophe, a point
          or "@" ("well-behaved", "O'Brien", "ann@example.org"), digits also around a comma, a
          colon or a slash ("8,44", "10:30"), and ASCII capitals around "&" ("AT&T");
        - runs of one of the marks ``- . ! ? * ' ` ~`` are a token ("...", "--");
        - every other character that can be seen is a token.

        "characters" takes every character that can be seen, with its marks, for languages
        that write no spaces. A callable takes the text, and returns tokens as
        (start, end) or as strings.

    Returns
    -------
    ndarray of int64 of shape (n_tokens, 2)
        The first character of each token, and the character after its last.

    Raises
    ------
    ValueError
        If the tokens of a callable are empty, overlap, or are not in the text.

    Examples
    --------
    >>> from sklearn_crcrf.text import find_tokens
    >>> find_tokens("Ann sings.").tolist()
    [[0, 3], [4, 9], [9, 10]]
    >>> find_tokens("\u732b \u7761", "characters").tolist()
    [[0, 1], [2, 3]]
    """
    return _found(text, tokenizer, "tokenizer", TOKENIZERS, _tokens)


def split_tokens(text: str, tokenizer: str | Callable = "words") -> list[str]:
    """Split a text into tokens.

    Parameters
    ----------
    text : str
    tokenizer : {"words", "characters"} or callable, default="words"
        As in :func:`find_tokens`.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        As in :func:`find_tokens`.

    Examples
    --------
    >>> from sklearn_crcrf.text import split_tokens
    >>> split_tokens("Ann's dog, aged 3.5, isn't well-behaved!")
    ['Ann', "'s", 'dog', ',', 'aged', '3.5', ',', 'is', "n't", 'well-behaved', '!']
    """
    return [text[start:end] for start, end in find_tokens(text, tokenizer).tolist()]


def find_sentences(text: str, sentences: str | Callable = "lines") -> np.ndarray:
    r"""Find the sentences of a text.

    Parameters
    ----------
    text : str
    sentences : {"lines", "rule"} or callable, default="lines"
        "lines": each line is a sentence. "rule": a sentence ends at ``.``, ``!``, ``?`` or an
        ellipsis, with the quotes and brackets that close there, if a space and no lower-case letter
        follow, and the point follows neither an abbreviation, see :func:`find_tokens`, nor a
        number of one or two digits; at the marks of Chinese and Japanese; and at an empty line. A
        callable takes the text, and returns sentences as (start, end) or as strings.

    Returns
    -------
    ndarray of int64 of shape (n_sentences, 2)
        The first character of each sentence, and the character after its last; spaces may be
        between or at the ends of sentences.

    Raises
    ------
    ValueError
        If the sentences of a callable are empty, overlap, or are not in the text.

    Examples
    --------
    >>> from sklearn_crcrf.text import find_sentences
    >>> text = "Dr. No met\nJ. Bond. They left."
    >>> [text[start:end] for start, end in find_sentences(text, "rule").tolist()]
    ['Dr. No met\nJ. Bond.', ' They left.']
    """
    return _found(text, sentences, "sentences", SENTENCES, _sentences)


def _found(text: str, how: Any, name: str, options: tuple, find: Callable) -> np.ndarray:
    """Find the parts of a text by a rule of this name, or by a callable."""
    check_text(text)
    if callable(how):
        return token_offsets(text, how(text), name)
    check_option(name, how, options)
    return np.array(find(text, how), dtype=np.int64).reshape(-1, 2)


def _tokens(text: str, how: str) -> list[tuple[int, int]]:
    return [found.span() for found in PATTERNS[how].finditer(_shadow(text))]


def _sentences(text: str, how: str) -> list[tuple[int, int]]:
    if how == "lines":
        return [found.span() for found in LINES.finditer(text)]
    shadow = _shadow(text)
    ends = (found.end() for found in ENDS.finditer(shadow) if not _goes_on(shadow, found))
    bounds = [0, *ends, len(text)]
    return [(start, end) for start, end in pairwise(bounds) if start < end]


def _goes_on(shadow: str, found: re.Match[str]) -> bool:
    """Say whether a sentence goes on after marks that may end it."""
    point = found.end(1)
    if point < 0:
        return False
    rest = NEXT.match(shadow, found.end())
    if rest is not None and rest.group(1).islower():
        return True
    if found.group(1) != ".":
        return False
    before = BEFORE.search(shadow[max(0, point - LONGEST) : point - 1])
    word = "" if before is None else before.group()
    short = SHORT.match(shadow, point - 1 - len(word))
    return (word.isdecimal() and len(word) < 3) or (short is not None and short.end() == point)


def _shadow(text: str) -> str:
    """Return a text of the same length in which marks can be told by their character."""
    kinds = {character: _kind(character) for character in set(text)}
    table = {ord(character): kind for character, kind in kinds.items() if kind != character}
    return text.translate(table) if table else text


@lru_cache(maxsize=2**14)
def _kind(character: str) -> str:
    """Return the character itself, unless it cannot be seen, or not without its neighbour."""
    category = unicodedata.category(character)
    if character == "\u200d":
        return JOINER
    if category == "Cc":
        return character if character in "\r\n" else " "
    if character in BLANKS:
        return " "
    if category in ("Mn", "Mc", "Me", "Cf"):
        return MARK
    return "\ufffd" if character in (MARK, JOINER) else character
