"""Rows that compare with python-crfsuite."""

from _common import yes_or_no

COLUMNS = ["what", "python-crfsuite", "CRF", "better by", "target", "met"]


def ratio_row(what: str, theirs: float, ours: float, target: float | None) -> list[str]:
    """A row of seconds, whose ratio should be large."""
    ratio = theirs / ours
    verdict = ["", ""] if target is None else [f">= {target:g} x", yes_or_no(ratio >= target)]
    return [what, f"{theirs:,.4g} s", f"{ours:,.4g} s", f"{ratio:.1f} x", *verdict]


def cost_row(what: str, theirs: float, ours: float, target: float, unit: str) -> list[str]:
    """A row of a figure that should be small."""
    cells = [what, f"{theirs:,.4g} {unit}", f"{ours:,.4g} {unit}", f"{theirs / ours:.1f} x"]
    return [*cells, f"<= {target:g} {unit}", yes_or_no(ours <= target)]


def rate_row(what: str, theirs: float | None, ours: float, target: float) -> list[str]:
    """A row of thousands of tokens per second, which should be large; the peer may have none."""
    compared = ["", ""] if theirs is None else [f"{theirs:,.0f} k/s", f"{ours / theirs:.1f} x"]
    verdict = [f">= {target:,} k/s", yes_or_no(ours >= target)]
    return [what, compared[0], f"{ours:,.0f} k/s", compared[1], *verdict]
