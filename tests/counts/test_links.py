"""Counts along links, against an enumeration of all walks."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.counts import (
    BOUNDARY,
    ColumnWindow,
    Links,
    Template,
    count_folds,
    count_tokens,
)

NAMES = ("word", "tag")
offset = st.integers(-2, 2)
templates = st.builds(
    Template,
    st.lists(st.tuples(st.sampled_from(NAMES), offset), max_size=3).map(tuple),
    st.lists(offset, min_size=1, max_size=2).map(tuple),
    st.booleans(),
)


@st.composite
def corpora(draw, is_forest=False):
    """Offsets, any links within sequences (or at most one into each token), columns, weights."""
    lengths = draw(st.lists(st.integers(0, 4), max_size=3))
    offsets = np.cumsum([0, *lengths])
    links = []
    for start, stop in pairwise(offsets.tolist()):
        for token in range(start, stop):
            others = st.sampled_from([t for t in range(start, stop) if t < token] or [-1])
            several = st.lists(others, max_size=1 if is_forest else 3, unique=True)
            links += [(previous, token) for previous in draw(several) if previous >= 0]
    previous, current = np.array(links, dtype=np.int64).reshape(-1, 2).T
    n = int(offsets[-1])
    ids = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    columns = {name: np.array(draw(ids), dtype=np.int64) for name in NAMES}
    labels, weights = np.array(draw(ids), dtype=np.int64), np.array(draw(ids), dtype=float)
    return offsets, previous, current, columns, labels, weights


def walks_of(token, first, last, previous, current):
    """All walks from offset ``first`` to ``last`` through a token: the token at each offset."""
    walks = [{0: token}]
    for steps, own, other in (
        (range(-1, first - 1, -1), current, previous),
        (range(1, last + 1), previous, current),
    ):
        for k in steps:
            nearer = k + 1 if k < 0 else k - 1
            longer = []
            for walk in walks:
                ends = [o for w, o in zip(own, other, strict=True) if w == walk[nearer]]
                longer += [{**walk, k: end} for end in ends or [-1]]
            walks = longer
    return walks


def reference(template, offsets, previous, current, columns, labels, weights):
    counter = Counter()
    linked = [0, *template.labels]
    if template.linked:
        linked += [k for _, k in template.symbols]
    for start, stop in pairwise(offsets.tolist()):
        for token in range(start, stop):
            for walk in walks_of(token, min(linked), max(linked), previous, current):
                event = []
                for name, k in template.symbols:
                    at = walk[k] if template.linked else token + k
                    inside = at >= 0 if template.linked else start <= at < stop
                    event.append(int(columns[name][at]) if inside else BOUNDARY)
                event += [
                    int(labels[walk[k]]) if walk[k] >= 0 else BOUNDARY for k in template.labels
                ]
                own = [walk[k] for k in (0, *template.labels) if walk[k] >= 0]
                counter[tuple(event)] += min(weights[t] for t in own)
    return {event: weight for event, weight in counter.items() if weight > 0}


def as_dict(table):
    return dict(zip(map(tuple, table.events.tolist()), table.weights.tolist(), strict=True))


@given(corpora(), templates)
def test_an_event_for_every_walk(corpus, template):
    offsets, previous, current, columns, labels, weights = corpus
    links = Links(previous, current, int(offsets[-1]))
    counts = count_tokens(columns, labels, offsets, [template], weights, links)
    assert as_dict(counts[template]) == reference(template, *corpus)


@given(corpora(), templates, st.data())
def test_folds(corpus, template, data):
    offsets, previous, current, columns, labels, weights = corpus
    links, n = Links(previous, current, int(offsets[-1])), len(offsets) - 1
    fold = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    folds = count_folds(columns, labels, offsets, [template], fold, weights, links)
    for k, counts in enumerate(folds):
        of_fold = weights * (np.repeat(np.array(fold, dtype=int), np.diff(offsets)) == k)
        alone = count_tokens(columns, labels, offsets, [template], of_fold, links)
        assert counts == alone


@given(corpora(), templates)
def test_links_to_the_next_token_are_the_default(corpus, template):
    offsets, _, _, columns, labels, weights = corpus
    n = int(offsets[-1])
    current = np.setdiff1d(np.arange(n), offsets)
    links = Links(current - 1, current, n)
    both = [template, template._replace(linked=not template.linked)]
    default, given_ = (
        count_tokens(columns, labels, offsets, both, weights, which) for which in (None, links)
    )
    assert default == given_
    assert as_dict(default[both[0]]) == as_dict(default[both[1]])


@given(corpora(is_forest=True))
def test_symbols_of_the_parent(corpus):
    offsets, previous, current, columns, *_ = corpus
    window = ColumnWindow(columns, None, offsets, Links(previous, current, int(offsets[-1])))
    [symbols] = window.symbols(Template((("word", -1),), linked=True))
    parent = dict(zip(current.tolist(), previous.tolist(), strict=True))
    assert symbols.dtype == np.int32
    assert symbols.tolist() == [
        int(columns["word"][parent[t]]) if t in parent else BOUNDARY for t in range(offsets[-1])
    ]


@pytest.mark.parametrize("n_tokens", [0, 1, 3])
def test_no_links(n_tokens):
    none = np.empty(0, dtype=np.int64)
    walks = Links(none, none, n_tokens).walks(-1, 1)
    assert {k: tokens.tolist() for k, tokens in walks.tokens.items()} == {
        0: [*range(n_tokens)],
        -1: [-1] * n_tokens,
        1: [-1] * n_tokens,
    }
