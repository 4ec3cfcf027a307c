"""The templates of CRF++ and the patterns of Wapiti, read from their text."""

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from ..utils.byte_letters import as_letters
from ..utils.lines import lines_of
from ._regexp import Regexp, RegexpError, parse_regexp

# At the end of an identifier, one of these separates it from the symbols.
_SEPARATORS = (":", "=")


class Macro(NamedTuple):
    """A placeholder for a symbol in a template, such as ``%x[-1,0]``.

    Parameters
    ----------
    command : {"x", "t", "m"}
        The symbol itself, whether the regular expression matches it, or the matching part.
    lower : bool
        Whether the result is converted to lower case.
    offset : int
    absolute : bool
        Whether the offset counts from the start or end of the sequence instead of the token.
    column : int
    regexp : Regexp or None
    where : str
        The place in the text of the template, for error messages.
    """

    command: str
    lower: bool
    offset: int
    absolute: bool
    column: int
    regexp: Regexp | None
    where: str


class FeatureTemplate(NamedTuple):
    """One line of a text of templates.

    Parameters
    ----------
    kind : {"u", "b", "*"}
        Whether its attributes are for labels, pairs of labels, or both.
    key : str
        Prefix of its attributes.
    parts : tuple of str or Macro
        The rest of its attributes.
    """

    kind: str
    key: str
    parts: tuple[str | Macro, ...]

    @property
    def macros(self) -> list[Macro]:
        """The placeholders."""
        return [part for part in self.parts if isinstance(part, Macro)]


class Syntax(NamedTuple):
    """The rules of a template language.

    Parameters
    ----------
    kinds, commands : str
        The allowed letters.
    has_more : bool
        Whether upper case is allowed too, which in a command converts the result to lower case,
        and offsets that count from the ends of a sequence.
    comment : str
        A regular expression for comments.
    outside : callable
        The symbol at a distance before the first token (negative) or after the last.
    of_bytes : bool
        Whether regular expressions and lower case are of bytes in UTF-8, not of letters.
    """

    kinds: str
    commands: str
    has_more: bool
    comment: str
    outside: Callable[[int], str]
    of_bytes: bool = False


def _outside_in_wapiti(distance: int) -> str:
    return f"_x{distance:+d}" if abs(distance) < 5 else f"_x{'+' if distance > 0 else '-'}#"


SYNTAXES = {
    "crf++": Syntax("UB", "x", False, r"^\s*#.*", "_B{:+d}".format),
    "wapiti": Syntax("ub*", "xtm", True, r"#.*", _outside_in_wapiti),
    "wapiti-bytes": Syntax("ub*", "xtm", True, r"#.*", _outside_in_wapiti, of_bytes=True),
}


@lru_cache(maxsize=32)
def parse_templates(text: str, syntax: str) -> tuple[FeatureTemplate, ...]:
    """Read all templates of a text.

    Parameters
    ----------
    text : str
    syntax : key of SYNTAXES

    Returns
    -------
    tuple of FeatureTemplate

    Raises
    ------
    ValueError
        If the text is invalid; the message names the line and the column.
    """
    rules = SYNTAXES[syntax]
    lines = _without_comments(text, syntax)
    parsed = [_parse_line(_Line(line, i + 1), rules) for i, line in enumerate(lines) if line]
    # Different identifiers must not become equal without their separators.
    short = {identifier: _without_separator(identifier) for _, identifier, _ in parsed}
    times = Counter(short.values())
    keys = {full: full if times[key] > 1 else key for full, key in short.items()}
    return tuple(FeatureTemplate(kind, keys[full], parts) for kind, full, parts in parsed)


def template_lines(text: str, syntax: str) -> list[str]:
    """Return the lines of a text that are templates, without comments."""
    return [line for line in _without_comments(text, syntax) if line]


def _without_comments(text: str, syntax: str) -> list[str]:
    return [re.sub(SYNTAXES[syntax].comment, "", line).rstrip() for line in lines_of(text)]


def _without_separator(identifier: str) -> str:
    return identifier[:-1] if identifier.endswith(_SEPARATORS) else identifier


class _Line:
    """A line that is read from left to right."""

    def __init__(self, text: str, number: int):
        self.text = text
        self.number = number
        self.at = len(text) - len(text.lstrip())

    def where(self, at: int) -> str:
        """Return the name of a place in an error message."""
        return f"template, line {self.number}, column {at + 1}"

    def skip(self, pattern: str) -> str | None:
        """Read the text that matches; None if nothing does."""
        match = re.compile(pattern).match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[0]

    def read(self, pattern: str, what: str) -> str:
        """Read the text that matches; ValueError if nothing does."""
        text = self.skip(pattern)
        if text is None:
            found = repr(self.text[self.at]) if self.at < len(self.text) else "the end of the line"
            raise ValueError(f"{self.where(self.at)}: expected {what}, found {found}")
        return text


def _parse_line(line: _Line, rules: Syntax) -> tuple[str, str, tuple[str | Macro, ...]]:
    """Return the kind of a template, its identifier, and its parts."""
    kind = _read_letter(line, rules.kinds, rules.has_more)
    if rules.has_more:
        kind = kind.lower()
    identifier = kind + (line.skip("[^%]+") or "")
    parts: list[str | Macro] = []
    while line.at < len(line.text):
        parts.append(line.skip("[^%]+") or _parse_macro(line, rules))
    return kind.lower(), identifier, tuple(parts)


def _read_letter(line: _Line, letters: str, any_case: bool) -> str:
    allowed = letters + letters.upper() if any_case else letters
    return line.read(f"[{allowed}]", " or ".join(letters))


def _parse_macro(line: _Line, rules: Syntax) -> Macro:
    where = line.where(line.at)
    line.read("%", "%")
    command = _read_letter(line, rules.commands, rules.has_more)
    line.read(r"\[", "[")
    absolute = rules.has_more and line.skip("@") is not None
    offset = int(line.read(r"\s*[+-]?[0-9]{1,9}", "an offset"))
    line.read(r"\s*,", "a comma")
    column = int(line.read(r"\s*[0-9]{1,9}", "the number of a column"))
    regexp = None
    if command in "tTmM":
        line.read(r"\s*,", "a comma")
        regexp = _parse_regexp(line, rules.of_bytes)
    line.read(r"\s*\]", "]")
    return Macro(command.lower(), command.isupper(), offset, absolute, column, regexp, where)


def _parse_regexp(line: _Line, of_bytes: bool) -> Regexp:
    line.read(r'\s*"', "a regular expression in double quotes")
    start = line.at
    text = line.read(r'(?:[^"\\]|\\.)*', "a regular expression")
    line.read('"', "closing quotes")
    try:
        return parse_regexp(as_letters(text) if of_bytes else text)
    except RegexpError as error:
        raise ValueError(f"{line.where(start + error.at)}: {error}") from None
