"""Spelling features of tokens, and of unique words, as columns of symbols."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.symbols import SymbolTable, join_columns, table_of
from ..data.vocabulary import Vocabulary
from ..utils.names import check_several
from ..utils.spelling import CAPITALISATION, SIMPLE, marked, spelling_feature
from ._base import SymbolTransformer
from .presets import SPELLING
from .word_column import HasWordColumn, column_number

_JOINED = {"simple": SIMPLE, "capitalisation": CAPITALISATION}

#: Spelling features for languages with and without upper case and inflection.
DEFAULT_FEATURES = (
    "lower",
    "shape",
    *(f"prefix{k}" for k in range(1, 4)),
    *(f"suffix{k}" for k in range(1, 6)),
    "capitalisation",
    "hyphen_part",
)

#: The eleven binary features of the papers on empirical training.
SIMPLE_FEATURES = tuple(f"simple:{flag}" for flag in SIMPLE)


def spelling_table(words: Iterable[str], features: Sequence[str] = DEFAULT_FEATURES) -> SymbolTable:
    """Compute spelling features of words, one column of symbols per feature.

    Parameters
    ----------
    words : iterable of n_words str
        Usually unique.
    features : sequence of str, default=DEFAULT_FEATURES
        Names of the columns to make:

        - ``"lower"``: the word in lower case.
        - ``"shape"``: upper case as X, lower case as x, letters without case as c, digits as d,
          runs of these collapsed, everything else kept, and cut to 8 characters.
        - ``"long_shape"``: like ``"shape"``, but with runs kept, and cut to 12 characters.
        - ``"prefix1"``, ``"prefix2"``, ...: the first characters.
        - ``"suffix1"``, ``"suffix2"``, ...: the last characters in lower case; a shorter word is
          marked as whole, ``"^word"``.
        - ``"capitalisation"``: which of these hold: first character upper case, all upper case,
          first character a digit, contains a hyphen.
        - ``"hyphen_part"``: the part after the last hyphen inside the word, in lower case; else
          empty.
        - ``"simple"``: which of the eleven binary features of [1]_ hold: starts with a digit or
          upper case; contains a hyphen; ends in -ing, -ogy, -ed, -s, -ly, -ion, -tion, -ity or
          -ies.
        - ``"simple:capital_or_digit"``, ``"simple:hyphen"``, ``"simple:-ing"``, ...: each of the
          eleven features alone, ``"True"`` or ``"False"``.

    Returns
    -------
    SymbolTable
        With n_words rows and the features as columns.

    Raises
    ------
    ValueError
        If a feature is unknown.

    References
    ----------
    .. [1] Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence Labeling", ICMLA 2013,
       doi:10.1109/ICMLA.2013.23.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction.spelling import spelling_table
    >>> table = spelling_table(["McDonald-like", "of"], ["shape", "suffix3", "hyphen_part"])
    >>> for name in table.names:
    ...     print(name, table.column(name).tolist())
    shape ['XxXx-x', 'x']
    suffix3 ['ike', '^of']
    hyphen_part ['like', '']
    """
    words = list(words)
    return table_of(spelling_columns(words, features), len(words), list(features))


def spelling_columns(words: list[str], features: Sequence[str]) -> list[tuple[np.ndarray, list]]:
    """For each feature the number of the symbol of each word, and the symbols."""
    lower = marked(words)
    return [_column(name, spelling_feature(name)(words, lower)) for name in features]


def _column(name: str, symbols: list[str]) -> tuple[np.ndarray, list[str]]:
    """Return the symbols of one feature, and the number of the symbol of each word."""
    vocabulary = Vocabulary(["False", "True"] if name in SIMPLE_FEATURES else ())
    if name in _JOINED:
        flags = {flag: number for number, flag in enumerate(("none", *_JOINED[name]))}
        vocabulary.add(
            sorted(set(symbols), key=lambda joined: [flags[f] for f in joined.split("+")][::-1])
        )
    return vocabulary.add(symbols), vocabulary.symbols


_PRESETS = {"default": DEFAULT_FEATURES, "simple": SIMPLE_FEATURES, **SPELLING}


@dataclass(eq=False, repr=False)
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
        most different words; if the choice is close, there is a warning.

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
    .. [1] Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence Labeling", ICMLA 2013,
       doi:10.1109/ICMLA.2013.23.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import TokenFeatures
    >>> X = TokenFeatures(["shape", "suffix2"]).transform([["Ann", "sings"], ["Why"]])
    >>> X.data.names
    ('token', 'shape', 'suffix2')
    >>> X.data.column("suffix2").tolist()
    ['nn', 'gs', 'hy']
    """

    features: str | Sequence[str] = "default"
    column: str | None = None

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
