"""The original format of each corpus."""

import io
import re
import tomllib
from pathlib import Path
from typing import Any

from ._fetch import CorpusSource, Part
from ._readers import read_conll


def _parse_columns(text: str) -> tuple[list, list | None]:
    """Read the columns word, part of speech and label."""
    return read_conll(io.StringIO(text), ("word", "pos", "label"))


def _parse_brown(text: str) -> tuple[list, list]:
    """Read one sentence per line; a tag follows the last slash of each token."""
    sentences = [line.split() for line in text.splitlines() if line.strip()]
    X = [[token.rpartition("/")[0] for token in sentence] for sentence in sentences]
    return X, [[token.rpartition("/")[2] for token in sentence] for sentence in sentences]


def undo_latin1(text: str) -> str:
    """Repair a text whose UTF-8 was once read as Latin-1; return any other text unchanged.

    A Latin-1 reader takes the second byte of à and Å for white space. At the end of a word this
    byte is lost; within a word, the word is split there.
    """
    text = text.replace("Ã\trst\t", "Ã\x85rst\t")  # the only word with Å; all others have à
    within, at_end = r"\t(?=[^\t\n]*\t[^\t\n]*\t[^\t\n]*$)", r"(?=\t)"
    text = re.sub(f"Ã(?:{within}|{at_end})", "Ã\xa0", text, flags=re.MULTILINE)
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _source(name: str, *functions: Any) -> CorpusSource:
    """Find what the file of corpora says of one of them."""
    path = Path(__file__).with_name("corpora.toml")
    about = tomllib.loads(path.read_text(encoding="utf-8"))[name]
    parts = {part: Part(**given) for part, given in about["parts"].items()}
    return CorpusSource(name, about["description"], tuple(about["columns"]), parts, *functions)


CONLL2000 = _source("conll2000", _parse_columns)
CONLL2002 = _source("conll2002", _parse_columns, undo_latin1)
BROWN = _source("brown", _parse_brown)
