"""The sentences that wait for labels."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from ...text import split_tokens


class Pool(NamedTuple):
    """The sentences that wait for labels.

    Attributes
    ----------
    sentences : sequence of token lists
        The tokens of each sentence.
    gold : sequence of label lists, or None
        Given labels to check.
    separator : str
        What stands between tokens when a sentence is shown.
    proposed : sequence of label lists or None, or None
        Labels to show first; they are learned only when they are accepted.

    Examples
    --------
    >>> from sklearn_crcrf.apps.annotation import Pool
    >>> Pool.of_lines(["Ann sings.", "", "Rex barks"]).sentences
    [['Ann', 'sings', '.'], ['Rex', 'barks']]
    >>> Pool.of_lines(["猫睡"], characters=True).sentences
    [['猫', '睡']]
    """

    sentences: Sequence[list[str]]
    gold: Sequence[list[str]] | None = None
    separator: str = " "
    proposed: Sequence[list[str] | None] | None = None

    @classmethod
    def of_lines(cls, lines: Sequence[str], characters: bool = False) -> "Pool":
        """Take a sentence from each line that has tokens.

        Parameters
        ----------
        lines : sequence of str
            The text.
        characters : bool, default=False
            Whether tokens are single characters instead of words, see
            :func:`~sklearn_crcrf.text.find_tokens`.

        Returns
        -------
        Pool
        """
        tokenizer = "characters" if characters else "words"
        found = (split_tokens(line, tokenizer) for line in lines)
        sentences = [tokens for tokens in found if tokens]
        return cls(sentences, None, "" if characters else " ")

    def search(self, text: str, limit: int = 50, among: range | None = None) -> list[int]:
        """Find the first sentences that contain a text, in upper or lower case.

        Parameters
        ----------
        text : str
        limit : int, default=50
            Maximum number of sentences.
        among : range, optional
            The sentences to look at; by default all.

        Returns
        -------
        list of int
            Numbers of sentences.
        """
        wanted, join = text.casefold(), self.separator.join
        among = range(len(self.sentences)) if among is None else among
        found = (k for k in among if wanted in join(self.sentences[k]).casefold())
        return [*islice(found, limit)]
