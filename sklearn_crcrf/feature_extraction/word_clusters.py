"""The clusters of words as columns of symbols."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.symbols import SymbolTable, table_of
from ..data.vocabulary import Vocabulary
from ..serving.columns import cluster_of
from ..utils.names import check_several
from ._base import SymbolTransformer
from .word_column import HasWordColumn, column_number


@dataclass(eq=False, repr=False)
class WordClusters(HasWordColumn, SymbolTransformer):
    """Make columns of the clusters that words belong to.

    Brown clusters [1]_ are the leaves of a tree, named by the path from the root, such as
    ``"0010"``. Prefixes of a path are broader clusters. The columns of X are not part of the
    output: join them with it by ``make_union(TokenFeatures(), WordClusters(...))``.

    Parameters
    ----------
    clusters : mapping from str to str
        The cluster of each word. Words without a cluster have no symbols.
    prefixes : sequence of int, default=(4, 6, 10, 20)
        Lengths of prefixes of cluster names; each makes one column. With None there is one column
        of whole names.
    ignore_case : bool, default=False
        Whether a word that is not found is looked up again in lower case.
    name : str, default="cluster"
        Name of the column; with prefixes, the columns are ``"cluster:4"``, ``"cluster:6"``, ...
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
    WordVectors : Columns of numbers.

    References
    ----------
    .. [1] Brown et al., "Class-Based n-gram Models of Natural Language", Computational Linguistics
       18, 1992.

    Examples
    --------
    >>> from sklearn_crcrf.feature_extraction import WordClusters
    >>> clusters = WordClusters({"monday": "0010", "friday": "0011"}, (3, 4), ignore_case=True)
    >>> X = clusters.transform([["Monday", "rains"]])
    >>> for name in X.data.names:
    ...     print(name, X.data.column(name).tolist())
    cluster:3 ['001', None]
    cluster:4 ['0010', None]
    """

    clusters: Mapping[str, str]
    prefixes: Sequence[int] | None = (4, 6, 10, 20)
    ignore_case: bool = False
    name: str = "cluster"
    column: str | None = None

    def _names_out(self, names: tuple[str, ...]) -> list[str]:
        column_number(self.column, names)
        if not isinstance(self.clusters, Mapping):
            raise ValueError(
                "clusters must be a mapping from words to clusters, "
                f"got a {type(self.clusters).__name__}"
            )
        if self.prefixes is None:
            return [self.name]
        check_several(self.prefixes, "prefixes")
        for length in self.prefixes:
            if not isinstance(length, (int, np.integer)) or length < 1:
                raise ValueError(f"prefixes must be positive integers, got {length!r}")
        return [f"{self.name}:{length}" for length in self.prefixes]

    def _transform(self, table: SymbolTable, lengths: np.ndarray) -> SymbolTable:
        names = self._names_out(table.names)
        j = self._place_of_column(table, lengths)
        found = [cluster_of(s, self.clusters, self.ignore_case) for s in table.categories[j]]
        paths = [None if cluster is None else str(cluster) for cluster in found]
        known = np.array([path is not None for path in paths], dtype=bool)
        columns = []
        for length in [None] if self.prefixes is None else self.prefixes:
            vocabulary = Vocabulary()
            ids = np.full(len(paths) + 1, -1, dtype=np.int32)  # the last is for code -1
            ids[:-1][known] = vocabulary.add([p[:length] for p in paths if p is not None])
            columns.append((ids[table.codes[:, j]], vocabulary.symbols))
        return table_of(columns, len(table), names)

    def tagger_step(self, names: tuple[str, ...]) -> list:
        """As in :class:`SymbolTransformer`."""
        lengths = [None] if self.prefixes is None else [int(n) for n in self.prefixes]
        made = dict(zip(self._names_out(names), lengths, strict=True))
        clusters = {word: str(cluster) for word, cluster in self.clusters.items()}
        column = names[column_number(self._known_column(names), names)]
        return ["clusters", column, clusters, made, self.ignore_case]
