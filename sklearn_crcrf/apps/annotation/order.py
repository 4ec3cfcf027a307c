"""Which sentence a person is given next."""

import time
from collections.abc import Sequence

import numpy as np

# Seconds after which a sentence that was handed out is handed out again.
PATIENCE = 1800.0
# Among this number of sentences at the front, one is chosen that differs from the last ones.
N_FRONT, N_LAST = 30, 8


class Order:
    """The order in which sentences are handed out, each to one person only.

    Parameters
    ----------
    sentences : sequence of token lists
    """

    def __init__(self, sentences: Sequence[list[str]]):
        self._sentences = sentences
        self._done = np.zeros(len(sentences), dtype=bool)
        self._handed: dict[int, tuple[str, float]] = {}
        self._last: list[set[str]] = []
        # Measures are not negative: what is not measured yet comes last, as it stands in the text.
        self.values = -np.arange(1.0, len(sentences) + 1.0)

    def set_done(self, sentence: int, is_done: bool) -> None:
        """Take a sentence out of the order, or put it in again."""
        self._done[sentence] = is_done
        self._handed.pop(sentence, None)

    @property
    def waiting(self) -> np.ndarray:
        """The sentences that wait, first the ones with the greatest values."""
        waiting = np.flatnonzero(~self._done)
        return waiting[np.argsort(-self.values[waiting], kind="stable")]

    @property
    def n_waiting(self) -> int:
        """Number of sentences that wait."""
        return int((~self._done).sum())

    def hand_out(self, by: str) -> int | None:
        """Choose a sentence of great value for a person, those like the last ones a little later.

        None is returned if none waits.
        """
        free = self._front(by, time.monotonic())
        if not free:
            return None
        chosen = max(free, key=self._differing)
        self._last = [*self._last[1 - N_LAST :], set(self._sentences[chosen])]
        return self.take(by, chosen)

    def hand_out_first(self, by: str) -> int | None:
        """Choose the first sentence of the text that waits; None if none does."""
        now, waiting = time.monotonic(), np.flatnonzero(~self._done)
        found = next((i for i in waiting.tolist() if self._is_free(i, by, now)), None)
        return None if found is None else self.take(by, found)

    def take(self, by: str, sentence: int) -> int:
        """Hand out a certain sentence, and return it."""
        self._handed[sentence] = by, time.monotonic()
        return sentence

    def _front(self, by: str, now: float) -> list[int]:
        """Find the first sentences that no other person has."""
        n_taken = len(self._handed)
        n = N_FRONT + n_taken
        waiting = np.flatnonzero(~self._done)
        if len(waiting) > n:
            waiting = waiting[np.argpartition(-self.values[waiting], n)[:n]]
        waiting = waiting[np.lexsort((waiting, -self.values[waiting]))]
        return [int(i) for i in waiting if self._is_free(int(i), by, now)][:N_FRONT]

    def _is_free(self, sentence: int, by: str, now: float) -> bool:
        holder, since = self._handed.get(sentence, (by, now))
        return holder == by or now - since > PATIENCE

    def _differing(self, sentence: int) -> float:
        """Return the value of a sentence, less if it has the words of one of the last sentences."""
        words = set(self._sentences[sentence])
        both = ((words & other, words | other) for other in self._last)
        shared = max((len(same) / max(len(either), 1) for same, either in both), default=0.0)
        return self.values[sentence] * (1.0 - 0.5 * shared)
