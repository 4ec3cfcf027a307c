"""Default exponents, chosen by ``benchmarks/exponents.py``.

They depend on what data look like: whether labels are labels of segments, in a scheme such as IOB2,
and whether tokens are words alone or have other columns.
"""

from collections.abc import Iterable, Mapping, Sequence

from ...feature_extraction.window import places_name

# Exponents of the rates of labels with the beginning and the end of a sequence.
BOUNDARY = 0.33
# Default exponent of the rates in graphs with cycles, where evidence comes around.
GRAPH = 0.5
# Names of the exponents of known words.
WORDS = ("word", "word/seldom", "spelling", "spelling/seldom")

# For words alone, labels of segments and other labels; for words with other columns, the same. The
# words are the column "token", any other column is "column".
TABLE: dict[str, tuple[float, float, float, float]] = {
    "label/unseen": (0.49, 0.47, 0.43, 0.38),
    "suffix1/unseen": (0.3, 0.33, 0.24, 0.19),
    "suffix2/unseen": (0.22, 0.3, 0.19, 0.16),
    "suffix3/unseen": (0.2, 0.29, 0.18, 0.17),
    "suffix4/unseen": (0.28, 0.32, 0.23, 0.18),
    "suffix5/unseen": (0.36, 0.37, 0.32, 0.27),
    "prefix1/unseen": (0.09, 0.17, 0.08, 0.07),
    "prefix3/unseen": (0.13, 0.15, 0.1, 0.07),
    "prefix4/unseen": (0.24, 0.17, 0.19, 0.14),
    "shape/unseen": (0.21, 0.24, 0.24, 0.27),
    "long_shape/unseen": (0.16, 0.16, 0.11, 0.07),
    "lower/unseen": (0.52, 0.51, 0.36, 0.2),
    "simple/unseen": (0.15, 0.16, 0.12, 0.09),
    "word": (0.53, 0.57, 0.41, 0.3),
    "spelling": (0.53, 0.56, 0.42, 0.31),
    "token[-1]": (0.09, 0.08, 0.08, 0.06),
    "token[+1]": (0.03, 0.06, 0.04, 0.05),
    "token[-2]": (0.03, 0.05, 0.05, 0.08),
    "token[-1]|token[+1]": (0.05, 0.1, 0.05, 0.06),
    "token[+2]": (0.09, 0.06, 0.07, 0.05),
    "token[-2]|token[-1]": (0.06, 0.09, 0.07, 0.09),
    "token[+1]|token[+2]": (0.01, 0.03, 0.02, 0.03),
    "token[-1]|token[0]": (0.21, 0.14, 0.15, 0.1),
    "token[0]|token[+1]": (0.05, 0.16, 0.06, 0.07),
    "token:suffix3[-1]": (0.01, 0.0, 0.0, 0.0),
    "token:suffix3[+1]": (0.05, 0.04, 0.03, 0.01),
    "token:suffix3[-1]|token:suffix3[+1]": (0.12, 0.07, 0.08, 0.04),
    "token[-1]|token:suffix3[0]": (0.0, 0.03, 0.0, 0.0),
    "token:suffix3[0]|token[+1]": (0.14, 0.1, 0.09, 0.04),
    "token:shape[-1]|token:shape[0]": (0.03, 0.06, 0.04, 0.04),
    "token:shape[0]|token:shape[+1]": (0.02, 0.04, 0.02, 0.03),
    "token:shape[-1]|token:shape[0]|token:shape[+1]": (0.08, 0.07, 0.04, 0.01),
    "word/seldom": (0.47, 0.5, 0.39, 0.3),
    "spelling/seldom": (0.39, 0.47, 0.34, 0.29),
    "token[-1]/seldom": (0.13, 0.09, 0.08, 0.04),
    "token[+1]/seldom": (0.03, 0.06, 0.04, 0.04),
    "token[-2]/seldom": (0.12, 0.05, 0.11, 0.11),
    "token[-1]|token[+1]/seldom": (0.04, 0.09, 0.05, 0.06),
    "token[+2]/seldom": (0.1, 0.05, 0.08, 0.06),
    "token[-2]|token[-1]/seldom": (0.04, 0.03, 0.05, 0.06),
    "token[+1]|token[+2]/seldom": (0.02, 0.04, 0.03, 0.04),
    "token[-1]|token[0]/seldom": (0.71, 0.19, 0.53, 0.35),
    "token[0]|token[+1]/seldom": (0.09, 0.24, 0.08, 0.07),
    "token:suffix3[-1]/seldom": (0.08, 0.04, 0.06, 0.04),
    "token:suffix3[+1]/seldom": (0.03, 0.02, 0.02, 0.02),
    "token:suffix3[-1]|token:suffix3[+1]/seldom": (0.14, 0.09, 0.09, 0.04),
    "token[-1]|token:suffix3[0]/seldom": (0.03, 0.01, 0.03, 0.02),
    "token:suffix3[0]|token[+1]/seldom": (0.12, 0.07, 0.08, 0.03),
    "token:shape[-1]|token:shape[0]/seldom": (0.08, 0.09, 0.08, 0.09),
    "token:shape[0]|token:shape[+1]/seldom": (0.02, 0.04, 0.02, 0.03),
    "token:shape[-1]|token:shape[0]|token:shape[+1]/seldom": (0.09, 0.02, 0.07, 0.05),
    "token[-1]/unseen": (0.1, 0.15, 0.1, 0.11),
    "token[+1]/unseen": (0.06, 0.12, 0.07, 0.08),
    "token[-2]/unseen": (0.11, 0.1, 0.12, 0.12),
    "token[-1]|token[+1]/unseen": (0.08, 0.1, 0.07, 0.06),
    "token[+2]/unseen": (0.03, 0.03, 0.03, 0.03),
    "token[-2]|token[-1]/unseen": (0.07, 0.04, 0.06, 0.06),
    "token[+1]|token[+2]/unseen": (0.14, 0.1, 0.1, 0.07),
    "token:suffix3[-1]/unseen": (0.07, 0.03, 0.05, 0.02),
    "token:suffix3[+1]/unseen": (0.0, 0.01, 0.0, 0.0),
    "token:suffix3[-1]|token:suffix3[+1]/unseen": (0.09, 0.07, 0.06, 0.03),
    "token[-1]|token:suffix3[0]/unseen": (0.12, 0.08, 0.08, 0.04),
    "token:suffix3[0]|token[+1]/unseen": (0.11, 0.09, 0.07, 0.03),
    "token:shape[-1]|token:shape[0]/unseen": (0.14, 0.11, 0.1, 0.07),
    "token:shape[0]|token:shape[+1]/unseen": (0.02, 0.03, 0.02, 0.02),
    "token:shape[-1]|token:shape[0]|token:shape[+1]/unseen": (0.1, 0.05, 0.08, 0.06),
    "transition": (0.64, 0.55, 0.52, 0.4),
    "boundary": (0.05, 0.1, 0.06, 0.07),
    "edges": (0.63, 0.55, 0.5, 0.37),
    "column[0]": (0.0, 0.0, 0.25, 0.25),
    "column[0]|column[+1]": (0.0, 0.0, 0.19, 0.19),
    "column[-1]|column[0]|column[+1]": (0.0, 0.0, 0.19, 0.19),
    "column[0]/seldom": (0.0, 0.0, 0.24, 0.24),
    "column[0]|column[+1]/seldom": (0.0, 0.0, 0.16, 0.16),
    "column[-1]|column[0]|column[+1]/seldom": (0.0, 0.0, 0.2, 0.2),
    "column[0]/unseen": (0.0, 0.0, 0.29, 0.29),
    "column[0]|column[+1]/unseen": (0.0, 0.0, 0.15, 0.15),
    "column[-1]|column[0]|column[+1]/unseen": (0.0, 0.0, 0.17, 0.17),
}

Defaults = dict[str, tuple[float, float]]


def default_exponents(
    names: Sequence[str], experts: Mapping[str, Iterable[tuple[str, int]]]
) -> Defaults:
    """Default exponents by name, for labels of segments and for other labels.

    Parameters
    ----------
    names : sequence of str
        The columns, words first. Of several other columns each counts for less.
    experts : mapping from name to sequence of (column, offset)
        The symbols of the experts on context.

    Returns
    -------
    dict from name to (float, float)
    """
    first = 0 if len(names) == 1 else 2
    table = {name: (row[first], row[first + 1]) for name, row in TABLE.items()}
    chosen = {name: values for name, values in table.items() if "[" not in name}
    scale = max(1, len(names) - 1) ** -0.5

    def in_table(column: str) -> str:
        name, colon, feature = column.partition(":")
        return f"token{colon}{feature}" if name == names[0] else "column"

    for name, symbols in experts.items():
        pattern = places_name([(in_table(column), offset) for column, offset in symbols])
        factor = scale if "column" in pattern else 1.0
        for suffix in ("", "/seldom", "/unseen"):
            of_segments, of_others = table.get(pattern + suffix, (0.0, 0.0))
            chosen[name + suffix] = factor * of_segments, factor * of_others
    return chosen


def graph_exponents(names: Sequence[str]) -> Defaults:
    """Default exponents for graphs with cycles, in which there are no experts on neighbours."""
    scale = max(1, len(names) - 1) ** -0.5
    columns = [f"{column}[0]" for column in names[1:]]
    return uniform_exponents(columns, 0.7 * scale, GRAPH) | dict.fromkeys(WORDS, (1.0, 1.0))


def uniform_exponents(experts: Iterable[str], exponent: float, linked: float) -> Defaults:
    """Return the same exponent for the words, their spelling and all experts on context.

    Parameters
    ----------
    experts : iterable of str
        Names of the experts on context.
    exponent : float
    linked : float
        The exponent of the rates of linked labels, and of what symbols add to these rates.

    Returns
    -------
    dict from name to (float, float)
    """
    of_experts = [name + suffix for name in experts for suffix in ("", "/seldom", "/unseen")]
    values = dict.fromkeys([*WORDS, *of_experts], exponent)
    values |= {"transition": linked, "boundary": BOUNDARY, "edges": linked}
    return {name: (value, value) for name, value in values.items()}
