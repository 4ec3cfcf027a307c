"""How many keys a person presses on the page for annotation who knows the right names."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.apps.annotation import Pool, SegmentMarks
from sklearn_crcrf.apps.annotation.doubt import doubts
from sklearn_crcrf.apps.annotation.marks import proposals
from sklearn_crcrf.apps.annotation.order import Order
from sklearn_crcrf.labels import to_segments

# As on the page: words below this probability are doubtful.
UNSURE = 0.8
# Sentences between two orders of the pool; the page makes a new one whenever it has time.
BATCH = 10
ORDERS = ("text", "entropy", "margin", "mixed")
Place = tuple[int, int]
"""The first and the last selected token; the cursor is at the last one."""


class Session(NamedTuple):
    """What a session has cost: keys with arrows alone and with Tab, Home and End; and the rest."""

    arrows: int
    tab: int
    n_right: int
    n_tokens: int
    model: EmpiricalCRF


def session(X: list, y: list, order_name: str, n: int) -> Session:
    """Annotate some sentences of a pool, in the order of a page."""
    marks = SegmentMarks(sorted({str(kind) for kind in to_segments(y).type}))
    pool, order, model = Pool(X), Order(X), None
    arrows = tab = n_right = n_tokens = 0
    for start in range(0, n, BATCH):
        chosen = []
        for k in range(start, start + BATCH):
            is_first = order_name == "text" or (order_name == "mixed" and k % 2)
            chosen.append((order.hand_out_first if is_first else order.hand_out)("a"))
            order.set_done(chosen[-1], True)
        found = proposals(model, [X[i] for i in chosen], marks) if model is not None else []
        for k, i in enumerate(chosen):
            gold = marks.read(y[i])
            empty = {"labellings": [{"marks": []}], "likeliest": [[]] * len(X[i])}
            shown = found[k] if found else empty
            arrows += fewest_keys(shown, gold, has_tab=False)
            tab += fewest_keys(shown, gold, has_tab=True)
            n_right += shown["labellings"][0]["marks"] == gold
            n_tokens += len(X[i])
        model = model or EmpiricalCRF()
        model.partial_fit([X[i] for i in chosen], [y[i] for i in chosen])
        if order_name != "text":
            for ids, values in doubts(model, pool, order.waiting, order_name):
                order.values[ids] = values
    return Session(arrows, tab, n_right, n_tokens, model)


def fewest_keys(shown: dict[str, Any], gold: list, has_tab: bool) -> int:
    """Keys until a sentence is accepted, from the best of the labellings that are offered."""
    best, n = shown["labellings"], len(shown["likeliest"])
    first = [*stops(best[0]["marks"], shown["likeliest"]), (0, 0)][0] if has_tab else (0, 0)
    keys = []
    for k, labelling in enumerate(best):
        at = stops(labelling["marks"], shown["likeliest"]) if has_tab else []
        page = Page(n, at, has_tab)
        keys.append(min(k, len(best) - k) + page.keys(first, labelling["marks"], gold) + 1)
    return min(keys)


def stops(marks: list, likeliest: list) -> list[Place]:
    """What Tab goes to: marked names, and runs of doubtful words between them."""
    found = [(start, end - 1) for start, end, _ in marks]
    marked = {t for start, end in found for t in range(start, end + 1)}
    runs: list[Place] = []
    for t, labels in enumerate(likeliest):
        if t not in marked and labels and labels[0][1] < UNSURE:
            if runs and runs[-1][1] == t - 1:
                runs[-1] = runs[-1][0], t
            else:
                runs.append((t, t))
    return sorted(found + runs)


class Page(NamedTuple):
    """A sentence on the page."""

    n: int
    stops: list[Place]
    has_tab: bool

    def keys(self, selected: Place, marks: list, gold: list) -> int:
        """The fewest keys that make marks right, from the left to the right."""
        shown, right = [*map(tuple, marks)], [*map(tuple, gold)]
        new = [name for name in right if name not in shown]
        wrong = [m for m in shown if m not in right and not any(overlap(m, name) for name in new)]
        costs = {selected: 0}
        for start, end, *name in sorted([*new, *(mark[:2] for mark in wrong)]):
            find = self.selections if name else self.touches
            after: dict[Place, int] = {}
            for place, cost in costs.items():
                for cursor, more in find(place, start, end - 1):
                    total = cost + more + 1
                    after[cursor, cursor] = min(total, after.get((cursor, cursor), total))
            costs = after
        return min(costs.values())

    def selections(self, at: Place, start: int, end: int) -> Iterator[Place]:
        """Ways to select all of a name: where the cursor is then, and keys."""
        if at[0] == start:
            yield end, abs(at[1] - end)
        yield end, self.moves(at, start) + end - start
        yield start, self.moves(at, end) + end - start
        for stop, tabs in self.tabs(at):
            if stop[0] == start:
                yield end, tabs + abs(stop[1] - end)

    def touches(self, at: Place, start: int, end: int) -> Iterator[Place]:
        """Ways to get into a name without touching others."""
        if start <= at[0] and at[1] <= end:
            yield at[1], 0
        for place in (start, end):
            yield place, self.moves(at, place)

    def moves(self, at: Place, place: int) -> int:
        """The fewest keys that bring the cursor to a place."""
        found = [abs(at[1] - place)]
        if self.has_tab:
            found += [1 + place, self.n - place]
            found += [tabs + abs(stop[1] - place) for stop, tabs in self.tabs(at)]
        return min(found)

    def tabs(self, at: Place) -> Iterator[tuple[Place, int]]:
        """The stops that Tab, and Shift and Tab, reach, and how often they are pressed."""
        yield from zip((s for s in self.stops if s[0] > at[1]), range(1, self.n), strict=False)
        back = (s for s in reversed(self.stops) if s[1] < at[0])
        yield from zip(back, range(1, self.n), strict=False)


def overlap(one: tuple, other: tuple) -> bool:
    return one[0] < other[1] and other[0] < one[1]
