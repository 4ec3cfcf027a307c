"""Reading and writing labelled text, fetching corpora, and making labelled sequences."""

from ._addresses import make_addresses
from ._conll_reader import read_conll
from ._conll_writer import write_conll
from ._conllu_reader import read_conllu
from ._corpora import fetch_brown, fetch_conll2000, fetch_conll2002
from ._label_bias import make_label_bias
from ._protocols import BROWN_SPLITS, Splits, load_brown_splits, load_dutch_ner

__all__ = [
    "BROWN_SPLITS",
    "Splits",
    "fetch_brown",
    "fetch_conll2000",
    "fetch_conll2002",
    "load_brown_splits",
    "load_dutch_ner",
    "make_addresses",
    "make_label_bias",
    "read_conll",
    "read_conllu",
    "write_conll",
]
