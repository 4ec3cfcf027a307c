"""The description, checksums and original format of each corpus."""

import io
import re
from collections.abc import Callable

from ._conll_reader import read_conll
from ._fetch import CorpusSource, Part

__all__ = ["BROWN", "CONLL2000", "CONLL2002", "undo_latin1"]

_DESCR_CONLL2000 = """\
Text chunking, the shared task of CoNLL-2000: English newspaper text (Wall Street Journal
sections 15-18 and 20) with part-of-speech tags, labelled with base phrases in IOB2.

========  =========  =======
part      sentences  tokens
========  =========  =======
train     8,936      211,727
test      2,012      47,377
========  =========  =======

Source: E. F. Tjong Kim Sang and S. Buchholz, "Introduction to the CoNLL-2000 Shared Task:
Chunking", Proceedings of CoNLL-2000, as distributed with NLTK.
"""

_DESCR_CONLL2002 = """\
Named entities, the Dutch part of the shared task of CoNLL-2002: articles of the newspaper
De Morgen (2000) with part-of-speech tags, labelled with persons, organisations, locations and
miscellaneous names in IOB2. A token ``-DOCSTART-`` begins each article.

========  =========  =======
part      sentences  tokens
========  =========  =======
train     15,806     202,931
testa     2,895      37,761
testb     5,195      68,994
========  =========  =======

Source: E. F. Tjong Kim Sang, "Introduction to the CoNLL-2002 Shared Task: Language-Independent
Named Entity Recognition", Proceedings of CoNLL-2002, as distributed with NLTK.
"""

_DESCR_BROWN = """\
Part-of-speech tagging: the Brown corpus, 500 samples of edited American English printed in
1961, 57,340 sentences and 1,161,192 tokens with 472 distinct tags, among them tags with the
suffixes -hl (headline), -tl (title) and -nc (cited word).

Source: W. N. Francis and H. Kucera, "A Standard Corpus of Present-Day Edited American English,
for use with Digital Computers", Brown University, 1964, revised 1971, revised and amplified
1979, as distributed with NLTK. For non-commercial use.
"""


def _parse_columns(*columns: str) -> Callable[[str], tuple[list, list | None]]:
    return lambda text: read_conll(io.StringIO(text), columns)


def _parse_brown(text: str) -> tuple[list, list]:
    """One sentence per line; a tag follows the last slash of each token."""
    sentences = [line.split() for line in text.splitlines() if line.strip()]
    pairs = [[token.rpartition("/") for token in sentence] for sentence in sentences]
    X = [[word for word, _, _ in sentence] for sentence in pairs]
    y = [[tag for _, _, tag in sentence] for sentence in pairs]
    return X, y


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
    name="conll2000",
    description=_DESCR_CONLL2000,
    columns=("word", "pos", "label"),
    parts={
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
    parse=_parse_columns("word", "pos", "label"),
)

CONLL2002 = CorpusSource(
    name="conll2002",
    description=_DESCR_CONLL2002,
    columns=("word", "pos", "label"),
    parts={
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
    parse=_parse_columns("word", "pos", "label"),
    repair=undo_latin1,
)

BROWN = CorpusSource(
    name="brown",
    description=_DESCR_BROWN,
    columns=("word", "label"),
    parts={
        "all": Part(
            "brown.tsv.gz",
            r"brown/c[a-r]\d\d",
            "2e918fff0fc9a67525f69276f4d9235708eba3cdd0f38f53b6f3e57fca1f64bf",
        ),
    },
    parse=_parse_brown,
)
