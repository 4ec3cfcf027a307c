"""Reading labelled text: columns, treebanks, and the data files of CRFsuite."""

import os
import re
from collections.abc import Sequence
from itertools import groupby
from math import isfinite
from typing import IO

import numpy as np

from ..utils.lines import lines_of
from ..utils.names import check_no_string
from ..utils.unpacking import MAX_BYTES, read_text
from .columns import (
    CONLLU,
    NO_HEADER,
    SPACES,
    TABS,
    Reading,
    Rows,
    as_tokens,
    check_separator,
    checked_columns,
    cut,
    prefixes,
    words_of,
)


def read_conll(
    path_or_file: str | os.PathLike | IO,
    columns: Sequence[str | None] | None = None,
    *,
    sep: str | None = None,
    comment: str | Sequence[str] | None = None,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
) -> tuple[list, list | None]:
    r"""Read a CoNLL-style file: one token per line, a blank line between sequences.

    Every line that is not blank becomes a token, ``-DOCSTART-`` and comments too unless ``comment``
    names them. Only ``\n``, ``\r\n`` and ``\r`` end a line, and only tabs and spaces are white
    space, so that a token may hold a no-break space or any other character.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        Text or bytes; bytes may be gzip-compressed.
    columns : sequence of str or None, optional
        A name for each column of the file; None leaves a column out. The column called "label"
        becomes y; without one there are no labels. By default the first column is "word" and,
        where there are several, the last is "label".
    sep : {"tab", "space"} or str of length 1, optional
        Separator of the columns: ``"space"`` is any run of spaces and tabs; ``"tab"`` are tabs, so
        that words may hold spaces, and spaces around a column are left out; a character is taken
        as it is. By default ``"tab"`` if there is a tab in every line, else ``"space"``.
    comment : str or sequence of str, optional
        Lines that begin with it, or with one of these, are left out, such as ``"#"`` or
        ``"-DOCSTART-"``.
    encoding : str, default="utf-8"
        Encoding of bytes. A byte order mark is left out.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, or None for no limit: a small compressed
        file can become huge. For a text file object, characters are counted.

    Returns
    -------
    X : list of lists
        The tokens of each sequence: strings if there is one column besides the label, else
        dicts ``{name: string}``.
    y : list of lists of str, or None
        The labels of each sequence, or None if no column is called "label".

    Raises
    ------
    ValueError
        If a line does not have the number of columns of the first line or of ``columns``, has no
        label between its tabs, or cannot be unpacked or decoded; the message names the line. If
        there are more than ``max_bytes``.

    See Also
    --------
    write_conll : The inverse.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.datasets import read_conll
    >>> X, y = read_conll(io.StringIO("The D\ndog N\n\nBark V\n"))
    >>> X, y
    ([['The', 'dog'], ['Bark']], [['D', 'N'], ['V']])

    Text to be labelled has no label column:

    >>> read_conll(io.StringIO("Good\nmorning\n"), columns=["word"])
    ([['Good', 'morning']], None)
    """
    check_separator(sep, (TABS, SPACES))
    reading = Reading(sep, prefixes(comment))
    rows = reading.rows(lines_of(read_text(path_or_file, encoding, max_bytes)))
    return rows.sequences(checked_columns(columns, rows.width))


def read_table(
    path_or_file: str | os.PathLike | IO,
    *,
    sep: str | None = None,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
) -> tuple[list, list | None, list[str] | None]:
    r"""Read a table whose header says what the columns are, such as ``Sentence #,Word,POS,Tag``.

    A column "Word" or "Token" is needed; "Tag" or "Label", "Sentence #" and "Document" are read if
    they are there, in any spelling. Only the first row of a sentence or document need name it.
    Without a column of sentences, these end at a blank line, and where another document begins.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        Text or bytes; bytes may be gzip-compressed.
    sep : {"tab"} or str of length 1, optional
        Separator of the columns; by default a comma, a semicolon, a tab or a bar, as the header
        shows.
    encoding : str, default="utf-8"
        Encoding of bytes. A byte order mark is left out.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file; None for no limit.

    Returns
    -------
    X : list of lists
        The tokens of each sentence: dicts of the words and all other columns, under the names in
        the header, or strings if there are only words.
    y : list of lists of str, or None
        The labels, None if there is no column of them.
    groups : list of str, or None
        The document of each sentence, None if there is no column of them.

    Raises
    ------
    ValueError
        If there is no such header, two columns have one name, a row has other columns or lacks a
        word or a label, a sentence begins twice, or the file cannot be unpacked or decoded; the
        message names the line. If there are more than ``max_bytes``.

    See Also
    --------
    read_frame : Reads frames of pandas or polars, whose columns may have any names.
    sklearn_crcrf.text.read_spans : Reads the words and labels of a table as texts with spans.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.datasets import read_table
    >>> table = "Sentence #,Word,POS,Tag\n1,Ann,NNP,B-PER\n,sings,VBZ,O\n2,Go,VB,O\n"
    >>> X, y, groups = read_table(io.StringIO(table))
    >>> X[0]
    [{'Word': 'Ann', 'POS': 'NNP'}, {'Word': 'sings', 'POS': 'VBZ'}]
    >>> y, groups
    ([['B-PER', 'O'], ['O']], None)
    """
    check_separator(sep, (TABS,))
    rows = Reading(sep, conventions=True).rows(
        lines_of(read_text(path_or_file, encoding, max_bytes))
    )
    if rows.header is None:
        raise ValueError(NO_HEADER)
    names = rows.header.names
    for name in names:
        if name is not None and names.count(name) > 1:
            raise ValueError(f"the header has two columns that are called {name!r}")
    return *rows.sequences(names), rows.documents


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
    """Return the names of the columns that are read."""
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


# A name, in which colons are written ``\:``, and perhaps a value.
# Python reads 1_0 and digits of other scripts as numbers, too; CRFsuite does not.
_ITEM = re.compile(r"((?:\\.|[^:\\])*)(?::([^_\u0080-\U0010ffff]*))?", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def read_crfsuite_items(
    path_or_file: str | os.PathLike | IO,
    *,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
) -> tuple[list[list[dict[str, float]]], list[list[str]]]:
    r"""Read sequences and labels from a data file of CRFsuite.

    Each line is a token: its label, and its attributes after tabs. An attribute is a name, or a
    name, a colon and its value; in names, ``\:`` stands for a colon and ``\\`` for a backslash. A
    blank line, which may hold spaces, ends a sequence.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        Bytes may be gzip-compressed.
    encoding : str, default="utf-8"
        Encoding of bytes. A byte order mark is left out.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file; None for no limit.

    Returns
    -------
    X : list of lists of dicts
        The values of the attributes of each token; an attribute without a value has 1.0. Values
        of an attribute that occurs several times are added.
    y : list of lists of str

    Raises
    ------
    ValueError
        If a line has no label, or a space but no tab, or a value is not a finite number; the
        message names the line.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.datasets import read_crfsuite_items
    >>> read_crfsuite_items(io.StringIO("D\tw=the\nN\tw=dog\tn:0.5\n\nV\tw=sleep\n"))
    ([[{'w=the': 1.0}, {'w=dog': 1.0, 'n': 0.5}], [{'w=sleep': 1.0}]], [['D', 'N'], ['V']])
    """
    lines = lines_of(read_text(path_or_file, encoding, max_bytes))
    by_sequence = groupby(enumerate(lines, start=1), key=lambda line: bool(line[1]))
    read = [[_token(*line) for line in group] for is_filled, group in by_sequence if is_filled]
    X = [[token for _, token in tokens] for tokens in read]
    return X, [[label for label, _ in tokens] for tokens in read]


def _token(number: int, line: str) -> tuple[str, dict[str, float]]:
    """Read the label and the attributes of a token from its line."""
    label, *items = line.split("\t")
    label = label.strip(" ")
    if not label.strip():  # white space of any kind
        raise ValueError(f"line {number} has no label: {line[:80]!r}")
    if " " in label and not any(items):
        raise ValueError(
            f"line {number} has no tab: {line[:80]!r}; tabs, not spaces, separate the label "
            "and the attributes"
        )
    token: dict[str, float] = {}
    for item in filter(None, items):
        found = _ITEM.fullmatch(item)
        try:
            if found is None:
                raise ValueError
            value = 1.0 if found[2] is None else float(found[2])
            if not isfinite(value):
                raise ValueError
        except ValueError:
            raise ValueError(f"line {number}: not an attribute: {item[:80]!r}") from None
        name = _ESCAPED.sub(r"\1", found[1])
        token[name] = token.get(name, 0.0) + value
    return label, token
