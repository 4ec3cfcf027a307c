"""Rates of the labels of two neighbours of which one is unknown, given the known word itself."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from ...counts.lexicon import Lexicon
from ...counts.rows import KeyIndex, Rows, Storable
from ...utils.soundness import Fact, Requirement, below, sparse
from .model import entry_values
from .signature_spelling import N_SIGNATURES, SignatureSpelling, normalise


class HalfKnownRates(Storable):
    """CR(y; y' | x, f(x')) of a known word x and an unknown word x', in either order.

    The rate is p(y, y' | x, f) / (p(y | x) p(y' | f)), of frequencies that are given the same
    observations ([ECRN], III-D). If the spelling model takes the mean over the features that hold
    for x', p(y, y' | x, f) is the mean over those of them that occurred next to x.

    Parameters
    ----------
    spelling : JointSpelling or MeanSpelling
    lexicon : Lexicon
    words : int ndarray of shape (n_pairs, 2)
        Words that are neighbours.
    counts : CSR of shape (n_pairs, n_labels ** 2)
        How often each pair of words has each pair of labels.
    by_word : Rows of shape (n_words, n_labels)
        How often each word has each label.
    frequency : ndarray of shape (n_entries,)
        p(y | x) of each entry of ``by_word``.
    """

    def __init__(
        self,
        spelling: SignatureSpelling,
        lexicon: Lexicon,
        words: np.ndarray,
        counts: sp.csr_array,
        by_word: Rows,
        frequency: np.ndarray,
    ):
        self.spelling, self._n_words = spelling, len(lexicon)
        sides, pairs = [], []
        for known in (0, 1):
            holds = spelling.parts[lexicon.spelling[words[:, 1 - known], 0]]
            pair = np.repeat(np.arange(len(words)), np.diff(holds.indptr))
            side = np.full(len(pair), known)
            sides.append(np.stack([side, words[pair, known], holds.indices], axis=1))
            pairs.append(pair)
        keys, pair = np.concatenate(sides), np.concatenate(pairs)
        order = np.lexsort(keys.T[::-1])
        keys, pair = keys[order].astype(np.int32), pair[order]
        # p(y, y' | x, f) / p(y | x) of each side, word and feature.
        self._index, starts = KeyIndex.of_runs(keys)
        shape = len(starts) - 1, len(words)
        self._ratios = normalise(sp.csr_array((np.ones(len(pair)), pair, starts), shape) @ counts)
        side, word, _ = keys[starts[:-1]].T
        ratios = Rows.of(self._ratios)
        current, previous = np.divmod(ratios.indices, by_word.shape[1])
        label = np.where(ratios.repeat(side) == 0, previous, current)
        ratios.data[:] /= entry_values(by_word, frequency, ratios.repeat(word), label)

    @property
    def n_codes(self) -> int:
        """The number of codes that :meth:`codes` may return."""
        return 2 * self._n_words * N_SIGNATURES

    def codes(self, words: np.ndarray, signatures: np.ndarray) -> np.ndarray:
        """Code pairs of neighbours; -1 unless just one of them is known, and has such a neighbour.

        Parameters
        ----------
        words : int ndarray of shape (2, n_pairs)
            Ids of both words, -1 if unknown.
        signatures : int ndarray of shape (2, n_pairs)
        """
        known = words >= 0
        pair = np.flatnonzero(known[0] != known[1])
        side = np.where(known[0, pair], 0, 1)
        word, other = words[side, pair], signatures[1 - side, pair]
        codes = np.full(words.shape[1], -1, dtype=np.int64)
        code = (side * self._n_words + word) * N_SIGNATURES + other
        codes[pair] = np.where(np.diff(self._means(code).indptr) > 0, code, -1)
        return codes

    def co_occurrence(self, codes: np.ndarray) -> sp.csr_array:
        """Return the rates of label pairs, CSR of shape (n_codes, n_labels ** 2)."""
        rates = self._means(codes) @ self._ratios
        row = np.repeat(np.arange(len(codes)), np.diff(rates.indptr))
        current, previous = np.divmod(rates.indices, self.spelling.probability.shape[1])
        side, _, other = self._parts_of(codes)
        label = np.where(side[row] == 0, current, previous)
        rates.data /= self.spelling.probability[other[row], label]
        return rates

    def requirements(self, spelling: SignatureSpelling, n_words: int) -> Iterator[Requirement]:
        """Yield the requirements; ``spelling`` is the spelling model."""
        has_parts = self.spelling is spelling and hasattr(spelling, "parts")
        yield Fact("spelling", has_parts, "must be the spelling of the model, with parts")
        yield Fact("_n_words", self._n_words == n_words, f"must be {n_words}")
        yield from below("_index", self._index.requirements([2, n_words, spelling.parts.shape[1]]))
        shape = len(self._index), spelling.probability.shape[1] ** 2
        yield from sparse("_ratios", self._ratios, shape, 0.0)

    def _parts_of(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Find the place of the known word, the word, and the signature of its neighbour."""
        word, signature = np.divmod(codes, N_SIGNATURES)
        return (*np.divmod(word, self._n_words), signature)

    def _means(self, codes: np.ndarray) -> sp.csr_array:
        """Return the weights of rows in the mean of each code, CSR of shape (n_codes, n_rows)."""
        side, word, signature = self._parts_of(codes)
        holds = self.spelling.parts[signature]
        code = np.repeat(np.arange(len(codes)), np.diff(holds.indptr))
        rows = self._index.rows([side[code], word[code], holds.indices])
        code, rows = code[rows >= 0], rows[rows >= 0]
        weight = 1.0 / np.bincount(code, minlength=len(codes))[code]
        shape = len(codes), len(self._index)
        return sp.csr_array((weight, (code, rows)), shape=shape)
