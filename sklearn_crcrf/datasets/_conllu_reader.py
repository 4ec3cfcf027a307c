"""Reading treebanks in the format CoNLL-U of Universal Dependencies."""

import os
from collections.abc import Sequence
from typing import IO

import numpy as np

from ..utils.lines import lines_of
from ..utils.names import check_no_string
from ..utils.unpacking import MAX_BYTES, read_text
from .columns import CONLLU, Reading, Rows, as_tokens, cut, words_of


def read_conllu(
    path_or_file: str | os.PathLike | IO,
    columns: Sequence[str] = ("form", "upos", "xpos", "head"),
    label: str | None = "deprel",
    *,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
) -> tuple[list, list | None]:
    r"""Read a treebank in the format CoNLL-U [1]_: one word per line, in ten columns.

    Comments, ranges of words that are written as one (``1-2``) and empty nodes (``1.1``) are left
    out.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        Text or bytes; bytes may be gzip-compressed.
    columns : sequence of str, default=("form", "upos", "xpos", "head")
        The columns that make a token: "id", "form", "lemma", "upos", "xpos", "feats", "head",
        "deprel", "deps" and "misc". The head is the number of a word in its sentence, counted from
        1, and 0 for the root.
    label : str or None, default="deprel"
        The column that becomes y; None for no labels.
    encoding : str, default="utf-8"
        Encoding of bytes. A byte order mark is left out.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, or None for no limit: a small compressed
        file can become huge. For a text file object, characters are counted.

    Returns
    -------
    X : list of lists
        The words of each sentence: dicts ``{name: string}``, or strings if there is one column.
    y : list of lists of str, or None
        The labels of each sentence, or None if ``label`` is None.

    Raises
    ------
    ValueError
        If a line does not have ten columns, the words of a sentence are not numbered 1, 2, ..., a
        head that is read is not a word of its sentence, or a line cannot be unpacked or decoded;
        the message names the line. If there are more than ``max_bytes``.

    See Also
    --------
    read_conll : Reads other text in columns.
    sklearn_crcrf.GraphArray.from_heads : Makes trees of the words.

    References
    ----------
    .. [1] J. Nivre et al., "Universal Dependencies v2: An Evergrowing Multilingual Treebank
       Collection", LREC 2020.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf import GraphArray
    >>> from sklearn_crcrf.datasets import read_conllu
    >>> text = '''# text = Dogs bark
    ... 1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
    ... 2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_
    ... '''
    >>> X, y = read_conllu(io.StringIO(text), columns=["form", "upos", "head"])
    >>> X[0][0], y
    ({'form': 'Dogs', 'upos': 'NOUN', 'head': '2'}, [['nsubj', 'root']])
    >>> GraphArray.from_heads(X).parents
    array([ 1, -1])
    """
    names = _checked_names(columns, label)
    lines = lines_of(read_text(path_or_file, encoding, max_bytes))
    all_rows = Reading("\t", ["#"]).rows(lines)
    all_rows.check_width(len(CONLLU))
    rows = words_of(all_rows)
    bounds, table = rows.bounds, rows.table(CONLLU)
    _check_ids(table["id"], rows)
    if "head" in names:
        _check_heads(table["head"], rows)
    X = cut(as_tokens({name: table[name] for name in columns}), bounds)
    return X, None if label is None else cut(table[label], bounds)


def _checked_names(columns: Sequence[str], label: str | None) -> list[str]:
    """The names of the columns that are read."""
    check_no_string(columns, "columns")
    names = [*columns] if label is None else [*columns, label]
    unknown = [name for name in names if name not in CONLLU]
    if unknown:
        raise ValueError(f"the columns of CoNLL-U are {[*CONLLU]}, not {unknown[0]!r}")
    if len(set(names)) < len(names) or not len(columns):
        raise ValueError(
            f"columns must name at least one column, each once and not the label, got {names}"
        )
    return names


def _check_ids(ids: list[str], rows: Rows) -> None:
    """Raise ValueError unless the words of each sentence are numbered 1, 2, ..."""
    bounds = rows.bounds
    positions = np.arange(len(ids)) - np.repeat(bounds[:-1], np.diff(bounds))
    expected = [str(position + 1) for position in positions.tolist()]
    if ids != expected:
        i = next(i for i, (a, b) in enumerate(zip(ids, expected, strict=True)) if a != b)
        raise ValueError(f"line {rows.number(i)}: the id is {ids[i]!r}, expected {expected[i]!r}")


def _check_heads(heads: list[str], rows: Rows) -> None:
    """Raise ValueError unless each head is 0 or the number of a word of its sentence."""
    lengths = np.diff(rows.bounds)
    number = {str(k): k for k in range(lengths.max(initial=0) + 1)}
    found = np.array([number.get(head, len(number)) for head in heads])
    n_words = np.repeat(lengths, lengths)
    wrong = np.flatnonzero(found > n_words)
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"line {rows.number(i)}: the head {heads[i]!r} is neither 0 nor one of {n_words[i]} "
            "words"
        )
