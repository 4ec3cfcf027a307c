"""The spelling of tokens as columns of symbols."""

from collections.abc import Sequence

import numpy as np

from ..data.symbols import SymbolTable, join_columns, table_of
from ..utils.names import check_several
from ._base import SymbolTransformer
from .presets import SPELLING
from .spelling import DEFAULT_FEATURES, SIMPLE_FEATURES, spelling_columns
from .word_column import HasWordColumn, column_number

_PRESETS = {"default": DEFAULT_FEATURES, "simple": SIMPLE_FEATURES, **SPELLING}


class TokenFeatures(HasWordColumn, SymbolTransformer):
    """Add columns that describe how the tokens are spelled.

    Features are computed once for every unique token. Only ``column_`` is learned in fit.

    Parameters
    ----------
    features : {"default", "simple", "names", "chunks", "tags"} or sequence, default="default"
        Which columns to add. ``"default"``: lower case, shape, prefixes of 1 to 3 and suffixes of
        1 to 5 characters, capitalisation, and the part after a hyphen. ``"simple"``: the eleven
        binary features of [1]_ (digit or upper case first, hyphen, nine English suffixes).
        ``"names"``, ``"chunks"``, ``"tags"``: the columns of
        :func:`~sklearn_crcrf.text_features`. Or names that
        :func:`~sklearn_crcrf.feature_extraction.spelling.spelling_table` knows.
    column : str, optional
        The column, or key of feature dicts, that holds the token. Default: the one with the
        most different words, whatever the order; if the choice is close, there is a warning.

    Attributes
    ----------
    column_ : str
        The column that holds the token.
    feature_names_in_ : ndarray of str objects
        Names of the columns seen in fit; token strings are one column ``"token"``.

    See Also
    --------
    Window : Columns of neighbouring tokens.
    SequenceVectorizer : From columns of symbols to a sparse matrix.

    References
    ----------
    .. [1] Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence Labeling", ICMLA 2013.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import TokenFeatures
    >>> X = TokenFeatures(["shape", "suffix2"]).transform([["Ann", "sings"], ["Why"]])
    >>> X.data.names
    ('token', 'shape', 'suffix2')
    >>> X.data.column("suffix2").tolist()
    ['nn', 'gs', 'hy']
    """

    def __init__(self, features: str | Sequence[str] = "default", column: str | None = None):
        self.features = features
        self.column = column

    def _names_out(self, names: tuple[str, ...]) -> list[str]:
        column_number(self.column, names)
        return [*names, *self._features()]

    def _transform(self, table: SymbolTable, lengths: np.ndarray) -> SymbolTable:
        j = self._place_of_column(table, lengths)
        features, words = self._features(), table.categories[j].tolist()
        # The last code is for tokens without a symbol, whose code is -1.
        columns = [
            (np.append(codes, -1)[table.codes[:, j]], symbols)
            for codes, symbols in spelling_columns(words, features)
        ]
        return join_columns([table, table_of(columns, len(table), features)])

    def tagger_step(self, names: tuple[str, ...]) -> list:
        """As in :class:`SymbolTransformer`."""
        column = names[column_number(self._known_column(names), names)]
        return ["spelling", column, [*self._features()]]

    def _features(self) -> Sequence[str]:
        if isinstance(self.features, str):
            if self.features not in _PRESETS:
                raise ValueError(
                    f"features must be one of {[*_PRESETS]} or a sequence of names, "
                    f"got {self.features!r}"
                )
            return _PRESETS[self.features]
        check_several(self.features, "features")
        return tuple(self.features)
