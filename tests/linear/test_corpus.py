import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sklearn_crcrf.linear import corpus
from sklearn_crcrf.linear.corpus import Corpus, transition_counts
from sklearn_crcrf.structures import Chain

LENGTHS = np.array([2, 0, 3, 1, 3, 0, 2])
OFFSETS = np.append(0, np.cumsum(LENGTHS))
N_TOKENS = OFFSETS[-1]


def example(**changes):
    """Every token is a row of its own, and its label is its number."""
    X = sp.csr_array(np.arange(1.0, N_TOKENS + 1)[:, None])
    weight = np.array([1.0, 2.0, 3.0, 0.0, 5.0, 6.0, 7.0])
    return Corpus(X, np.arange(N_TOKENS, dtype=np.int32), Chain(OFFSETS), weight)._replace(
        **changes
    )


def tokens(*sequences):
    return np.concatenate([np.arange(OFFSETS[s], OFFSETS[s + 1]) for s in sequences])


def test_take_sequences_in_any_order():
    allowed = np.eye(N_TOKENS, dtype=bool)
    taken = example(allowed=allowed).take(np.array([4, 1, 0]))
    assert_array_equal(taken.X.toarray().ravel() - 1, tokens(4, 1, 0))
    assert_array_equal(taken.y, tokens(4, 1, 0))
    assert_array_equal(taken.offsets, [0, 3, 3, 5])
    assert_array_equal(taken.weight, [5.0, 2.0, 1.0])
    assert_array_equal(taken.allowed, allowed[tokens(4, 1, 0)])
    assert example().take(np.array([0])).allowed is None


def test_take_nothing():
    taken = example().take(np.array([], dtype=int))
    assert taken.X.shape == (0, 1)
    assert_array_equal(taken.offsets, [0])


def test_longest_first_without_what_does_not_count():
    ordered = example().longest_first()
    assert_array_equal(ordered.y, tokens(2, 4, 0, 6))
    assert_array_equal(ordered.weight, [3.0, 5.0, 1.0, 7.0])


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of about 4 tokens, blocks of at most 8."""
    for name, size in {"CHUNK": 8, "BLOCK": 16, "SMALLEST_CHUNK": 4}.items():
        monkeypatch.setattr(corpus, name, size)


def check_chunks(whole, chunks):
    """They are the whole, in order."""
    assert [chunk.start for chunk in chunks] == [0, *(chunk.stop for chunk in chunks[:-1])]
    assert chunks[-1].stop == whole.offsets[-1]
    assert_array_equal(np.concatenate([chunk.weight for chunk in chunks]), whole.weight)
    lengths = [np.diff(chunk.structure.offsets) for chunk in chunks]
    assert_array_equal(np.concatenate(lengths), np.diff(whole.offsets))
    for chunk in chunks:
        assert_array_equal(chunk.y, whole.y[chunk.start : chunk.stop])
        assert chunk.structure.offsets[-1] == chunk.stop - chunk.start


def test_blocks_of_chunks(small_chunks):
    whole = example().longest_first()
    blocks = whole.chunks(n_labels=2)
    check_chunks(whole, [chunk for block in blocks for chunk in block])
    assert [[chunk.stop - chunk.start for chunk in block] for block in blocks] == [[3, 3, 2], [2]]


def test_a_sequence_may_be_longer_than_a_chunk_and_a_block(small_chunks):
    offsets = np.array([0, 30, 31, 32])
    whole = Corpus(np.zeros((32, 1)), np.zeros(32, dtype=np.int32), Chain(offsets), np.ones(3))
    blocks = whole.chunks(n_labels=2)
    check_chunks(whole, [chunk for block in blocks for chunk in block])
    assert [[chunk.stop - chunk.start for chunk in block] for block in blocks] == [[30], [2]]


@pytest.mark.parametrize(
    "n_sequences, n_chunks", [(1, 1), (4, 1), (5, 2), (9, 4), (16, 4), (17, 6)]
)
def test_several_chunks_are_an_even_number_of_equal_ones(small_chunks, n_sequences, n_chunks):
    offsets, ones = np.arange(n_sequences + 1), np.ones(n_sequences)
    whole = Corpus(ones[:, None], ones.astype(np.int32), Chain(offsets), ones)
    chunks = [chunk for block in whole.chunks(n_labels=2) for chunk in block]
    check_chunks(whole, chunks)
    sizes = [chunk.stop - chunk.start for chunk in chunks]
    assert len(sizes) == n_chunks and max(sizes) - min(sizes) <= 1


def test_a_small_corpus_is_one_chunk():
    whole = example().longest_first()
    ((chunk,),) = whole.chunks(n_labels=2)
    check_chunks(whole, [chunk])


@pytest.mark.parametrize("size, lengths", [(1, [3, 3, 2, 2]), (2, [6, 4]), (3, [8, 2]), (9, [10])])
def test_batches(size, lengths):
    whole = example().longest_first()
    batches = whole.batches(size)
    check_chunks(whole, batches)
    assert [batch.stop - batch.start for batch in batches] == lengths


def test_chunks_of_partial_labels(small_chunks):
    whole = example().longest_first()
    allowed = np.random.default_rng(0).random((len(whole.y), 2)) < 0.7
    y = np.where(np.arange(len(whole.y)) == 4, -1, 0).astype(np.int32)
    ((first, second, third), (fourth,)) = whole._replace(y=y, allowed=allowed).chunks(n_labels=2)
    assert_array_equal(first.y, [0, 0, 0])
    assert_array_equal(second.y, allowed[3:6])
    assert_array_equal(third.y, [0, 0])
    assert_array_equal(fourth.y, [0, 0])


def test_transitions_are_counted_inside_of_sequences():
    y = np.array([0, 1, 1, 0, 1, 2, -1, 0, 1, 0, 1], dtype=np.int32)
    counts = transition_counts(example(y=y), n_labels=3)
    expected = np.zeros((3, 3))
    expected[0, 1] = 4
    expected[1, 0] = 1
    assert_array_equal(counts, expected)


def test_no_transitions():
    single = Corpus(np.zeros((3, 1)), np.zeros(3, dtype=np.int32), Chain(np.arange(4)), np.ones(3))
    assert not transition_counts(single, n_labels=2).any()
    nothing = Corpus(
        np.zeros((0, 1)), np.zeros(0, dtype=np.int32), Chain(np.zeros(2, int)), np.ones(1)
    )
    assert not transition_counts(nothing, n_labels=2).any()
