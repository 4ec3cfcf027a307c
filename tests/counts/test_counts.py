import pickle
from collections import Counter
from functools import reduce
from operator import add

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.counts import (
    BOUNDARY,
    ColumnWindow,
    Counts,
    Table,
    Template,
    count_folds,
    count_tokens,
)

WORD = Template((("word", 0),))
PAIR = Template((("word", -1), ("word", 0)), (-1, 0))
NAMES = ("word", "tag", "shape")
LARGEST = 2**31 - 1

offset = st.integers(-2, 2)
templates = st.lists(
    st.builds(
        Template,
        st.lists(st.tuples(st.sampled_from(NAMES), offset), max_size=4).map(tuple),
        st.lists(offset, min_size=1, max_size=2).map(tuple),
    ),
    max_size=3,
)
few = st.integers(0, 3)
ids = few | st.integers(0, LARGEST)


class Corpus:
    """Sequences of tokens; a token is a tuple of the ids of the columns, the label, the weight."""

    def __init__(self, sequences):
        self.sequences = sequences
        self.offsets = np.cumsum([0, *map(len, sequences)])
        tokens = [token for sequence in sequences for token in sequence]
        *columns, self.labels, self.weights = np.array(tokens, dtype=float).reshape(-1, 5).T
        self.columns = {n: c.astype(np.int64) for n, c in zip(NAMES, columns, strict=True)}
        self.labels = self.labels.astype(np.int32)

    def count(self, templates, weighted=True):
        weights = self.weights if weighted else None
        return count_tokens(self.columns, self.labels, self.offsets, templates, weights)

    def reference(self, template, weighted):
        counter = Counter()
        places = [(NAMES.index(name), k) for name, k in template.symbols]
        places += [(3, k) for k in template.labels]
        for sequence in self.sequences:
            for t in range(len(sequence)):
                event = tuple(
                    sequence[t + k][column] if 0 <= t + k < len(sequence) else BOUNDARY
                    for column, k in places
                )
                inside = [k for k in (0, *template.labels) if 0 <= t + k < len(sequence)]
                counter[event] += min(sequence[t + k][4] for k in inside) if weighted else 1
        return {event: weight for event, weight in counter.items() if weight > 0}


def corpora(weights=few):
    token = st.tuples(ids, ids, ids, st.integers(0, 2) | ids, weights)
    return st.lists(st.lists(token, max_size=6), max_size=6).map(Corpus)


def as_dict(table):
    return dict(zip(map(tuple, table.events.tolist()), table.weights.tolist(), strict=True))


def assert_close(a, b):
    assert a.keys() == b.keys()
    for template in a:
        assert np.array_equal(a[template].events, b[template].events)
        np.testing.assert_allclose(a[template].weights, b[template].weights, rtol=1e-6)


@given(corpora(), templates, st.booleans())
def test_counts_are_those_of_a_counter(corpus, templates, weighted):
    counts = corpus.count(templates, weighted)
    assert set(counts) == set(templates)
    for template, table in counts.items():
        expected = corpus.reference(template, weighted)
        assert as_dict(table) == expected
        assert table.events.tolist() == sorted(map(list, expected))
        assert table.events.dtype == np.int32
        assert table.events.shape[1] == len(template.symbols) + len(template.labels)


@given(corpora(), corpora(), templates)
def test_counts_add_up_and_are_taken_away_exactly(first, second, templates):
    a, b = first.count(templates), second.count(templates)
    both = Corpus(first.sequences + second.sequences).count(templates)
    assert a + b == both == b + a
    assert both - b == a
    assert both - a == b
    assert pickle.loads(pickle.dumps(both)) == both


@given(corpora(st.floats(1e-3, 1e3)), corpora(st.floats(1e-3, 1e3)), templates)
def test_weights_that_are_not_integers_leave_no_rests(first, second, templates):
    a, b = first.count(templates), second.count(templates)
    both = Corpus(second.sequences + first.sequences).count(templates)
    assert_close(a + b, both)
    assert_close(both - b, a)
    assert_close((both - b) + b, both)


@given(st.data(), corpora(few | st.floats(0, 1e6)), templates)
def test_folds_are_counted_as_if_alone(data, corpus, templates):
    n = len(corpus.sequences)
    fold = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    args = corpus.columns, corpus.labels, corpus.offsets, templates, fold, corpus.weights
    folds = count_folds(*args)
    assert len(folds) == max(fold, default=-1) + 1
    for k, counts in enumerate(folds):
        alone = Corpus([s for s, f in zip(corpus.sequences, fold, strict=True) if f == k])
        assert counts == alone.count(templates)
    if folds:
        assert_close(reduce(add, folds), corpus.count(templates))


def test_rows_of_more_than_64_bits():
    template = Template((("word", 0), ("tag", 0), ("shape", 0), ("word", -1)), (-1, 0))
    rng = np.random.default_rng(0)
    tokens = rng.choice([0, 1, 5, LARGEST - 1, LARGEST], size=(300, 4)).tolist()
    corpus = Corpus([[(*token, 1) for token in tokens]])
    assert as_dict(corpus.count([template])[template]) == corpus.reference(template, True)


@for_each("offsets", [[0], [0, 0, 0], [0, 0, 1, 1, 1, 3, 3], [0, 3], [0, 1, 2, 3]])
def test_empty_input_and_empty_sequences(offsets):
    n = offsets[-1]
    words, labels = np.arange(n), np.zeros(n, dtype=int)
    counts = count_tokens({"word": words}, labels, offsets, [WORD, PAIR])
    assert as_dict(counts[WORD]) == {(i, 0): 1.0 for i in range(n)}
    starts = set(offsets)
    assert as_dict(counts[PAIR]) == {
        (BOUNDARY, i, BOUNDARY, 0) if i in starts else (i - 1, i, 0, 0): 1.0 for i in range(n)
    }
    assert counts - counts == count_tokens({"word": words[:0]}, labels[:0], [0], [WORD, PAIR])


@pytest.mark.parametrize("weights", [[2.5], np.array([2.5]), np.float32([2.5])])
def test_the_weight_of_one_token(weights):
    counts = count_tokens({"word": np.array([4])}, np.array([1]), [0, 1], [WORD], weights)
    assert as_dict(counts[WORD]) == {(4, 1): 2.5}


def test_one_weight_for_all_tokens():
    words = np.array([4, 4, 5])
    counts = count_tokens({"word": words}, np.zeros(3, int), [0, 3], [WORD], [0.5])
    assert as_dict(counts[WORD]) == {(4, 0): 1.0, (5, 0): 0.5}


def test_what_weighs_nothing_is_not_there():
    words, labels = np.array([4, 5, 4]), np.array([0, 0, 0])
    counts = count_tokens({"word": words}, labels, [0, 2, 3], [WORD], [0.0, 0.0, 2.0])
    assert as_dict(counts[WORD]) == {(4, 0): 2.0}
    [fold, other] = count_folds({"word": words}, labels, [0, 2, 3], [WORD], [1, 0], [0, 0, 2.0])
    assert fold == counts
    assert len(other[WORD].weights) == 0


def test_removing_what_was_never_counted():
    def count(words, weights=None):
        words = np.array(words)
        return count_tokens({"word": words}, np.zeros_like(words), [0, len(words)], [WORD], weights)

    for a, b in [
        (count([1, 2]), count([3])),
        (count([1, 2]), count([1, 1])),
        (count([]), count([1])),
        (count([1], [1e-12]), count([1], [2e-12])),
    ]:
        with pytest.raises(ValueError, match="never counted"):
            a - b


def test_small_weights_are_not_taken_for_rounding():
    template = Template((), (0,))

    def table(weight):
        return Counts({template: Table(np.array([[0]], dtype=np.int32), np.array([weight]))})

    assert table(3e-12) - table(2e-12) != Counts({template: Table(np.empty((0, 1)), np.empty(0))})
    assert len((table(0.1 + 0.2) - table(0.3))[template].weights) == 0
    assert (table(1e8) - table(1e8 - 1))[template].weights.tolist() == [1.0]


def test_counts_of_other_templates_do_not_combine():
    a = Corpus([]).count([WORD])
    with pytest.raises(ValueError, match="same templates"):
        a + Corpus([]).count([PAIR])
    with pytest.raises(TypeError):
        a + 1
    assert a != Corpus([]).count([PAIR])
    assert a != "counts"


@given(corpora(), st.sampled_from(NAMES), st.integers(-8, 8))
def test_window(corpus, name, k):
    window = ColumnWindow(corpus.columns, None, corpus.offsets)
    column = NAMES.index(name)
    expected = [
        sequence[t + k][column] if 0 <= t + k < len(sequence) else BOUNDARY
        for sequence in corpus.sequences
        for t in range(len(sequence))
    ]
    [symbols] = window.symbols(Template(((name, k),)))
    assert symbols.tolist() == expected
    assert symbols.dtype == np.int32


def test_window_far_beyond_the_longest_sequence():
    window = ColumnWindow({"word": np.arange(4)}, None, [0, 1, 4])
    [before, after] = window.symbols(Template((("word", -(10**9)), ("word", 10**9))))
    assert before.tolist() == after.tolist() == [BOUNDARY] * 4


def test_input_is_left_as_it_is():
    words, labels, offsets = np.array([4, 4, 5], np.int32), np.arange(3), np.array([0, 1, 3])
    weights, fold = np.array([1.0, 2.0, 3.0]), np.array([0, 1])
    for array in (words, labels, offsets, weights, fold):
        array.setflags(write=False)
    counts = count_tokens({"word": words}, labels, offsets, [WORD, PAIR], weights)
    folds = count_folds({"word": words}, labels, offsets, [WORD, PAIR], fold, weights)
    assert folds[0] + folds[1] == counts
    assert words.tolist() == [4, 4, 5]
    table = counts[WORD]
    for array in table:
        array.setflags(write=False)
    assert (counts + counts) - counts == counts


GOOD = {
    "columns": {"word": [1, 2, 3]},
    "labels": [0, 1, 0],
    "offsets": [0, 2, 3],
    "fold_of_sequence": [0, 1],
    "weights": [1.0, 1.0, 1.0],
}


@for_each(
    ("changed", "message"),
    [
        ({"columns": {"tag": [1, 2, 3]}}, "columns has no 'word'"),
        ({"columns": {"word": [1, 2]}}, r"columns\['word'\] must hold 3 integers"),
        ({"columns": {"word": [1.0, 2.0, 3.0]}}, r"columns\['word'\] must hold 3 integers"),
        ({"columns": {"word": [1, 2, -1]}}, r"\['word'\], sequence 1, position 0: -1 is not"),
        ({"columns": {"word": [1, 2**31, 0]}}, r"sequence 0, position 1: 2147483648 is not"),
        ({"labels": [0, 1, -1]}, "labels, sequence 1, position 0: -1 is not"),
        ({"labels": [[0], [1], [0]]}, "labels must hold 3 integers"),
        ({"labels": [0, 1]}, "offsets end at 3, but data has 2 tokens"),
        ({"offsets": [1, 2, 3]}, "offsets must be one-dimensional and start at 0"),
        ({"weights": [1.0, 1.0]}, r"weights must have shape \(3,\)"),
        ({"weights": [1.0, -1.0, 1.0]}, "weights, sequence 0, position 1: -1.0 is"),
        ({"weights": [1.0, 1.0, np.nan]}, "weights, sequence 1, position 0: nan is"),
        ({"weights": [np.inf, 1.0, 1.0]}, "weights, sequence 0, position 0: inf is"),
        ({"fold_of_sequence": [0, 1, 0]}, "fold_of_sequence must hold 2 integers"),
        ({"fold_of_sequence": [0, -1]}, "fold_of_sequence, sequence 1, .*: -1 is not"),
    ],
)
def test_invalid_input(changed, message):
    args = {**GOOD, **changed}
    with pytest.raises(ValueError, match=message):
        count_folds(**args, templates=[WORD])
    if "fold_of_sequence" not in changed:
        del args["fold_of_sequence"]
        with pytest.raises(ValueError, match=message):
            count_tokens(**args, templates=[WORD])
