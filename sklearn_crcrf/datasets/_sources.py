"""The checksums and the original format of each corpus."""

import io
import re

from ._conll_reader import read_conll
from ._fetch import CorpusSource, Part


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


CONLL2000 = CorpusSource(
    "conll2000",
    {
        "train": Part(
            "conll2000-train.tsv.gz",
            r"conll2000/train\.txt",
            "cb734f7b5c2af984c9f894e712484334f94c49402ccff88680787c3600edb841",
        ),
        "test": Part(
            "conll2000-test.tsv.gz",
            r"conll2000/test\.txt",
            "14fd8054b70ebf33ce671b7426a3d74e49bf72b9daf3e4214edb05d3497425bc",
        ),
    },
    ("word", "pos", "label"),
    _parse_columns,
)

CONLL2002 = CorpusSource(
    "conll2002",
    {
        "train": Part(
            "conll2002-ned-train.tsv.gz",
            r"conll2002/ned\.train",
            "f2e401495a4cbd9fd0823fc90cd2e0c98d303ac989e3380fcca45cd34e3acaa1",
        ),
        "testa": Part(
            "conll2002-ned-testa.tsv.gz",
            r"conll2002/ned\.testa",
            "86d9ad3d05ad2c84855e04125670dc66ab8f4282e909ec65a1d1b6a94ee0ddba",
        ),
        "testb": Part(
            "conll2002-ned-testb.tsv.gz",
            r"conll2002/ned\.testb",
            "f31ec2bc84788e7b8cd050efd4988c39e71e96d795947579714930962d09dd9f",
        ),
    },
    ("word", "pos", "label"),
    _parse_columns,
    repair=undo_latin1,
)

BROWN = CorpusSource(
    "brown",
    {
        "all": Part(
            "brown.tsv.gz",
            r"brown/c[a-r]\d\d",
            "2e918fff0fc9a67525f69276f4d9235708eba3cdd0f38f53b6f3e57fca1f64bf",
        ),
    },
    ("word", "label"),
    _parse_brown,
)
