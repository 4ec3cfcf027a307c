"""The public names, and the files that define them."""

__all__: list[str]

from ._conll_writer import write_conll as write_conll
from ._corpora import BROWN_SPLITS as BROWN_SPLITS
from ._corpora import Splits as Splits
from ._corpora import fetch_brown as fetch_brown
from ._corpora import fetch_conll2000 as fetch_conll2000
from ._corpora import fetch_conll2002 as fetch_conll2002
from ._corpora import load_brown_splits as load_brown_splits
from ._corpora import load_dutch_ner as load_dutch_ner
from ._frame_reader import read_frame as read_frame
from ._generators import make_addresses as make_addresses
from ._generators import make_label_bias as make_label_bias
from ._readers import read_conll as read_conll
from ._readers import read_conllu as read_conllu
from ._readers import read_crfsuite_items as read_crfsuite_items
from ._readers import read_table as read_table
