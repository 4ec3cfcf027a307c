"""Made-up postal addresses, labelled word by word."""

import random
import string
from functools import cache

from sklearn.utils import check_random_state

from ._address_grammar import RULES, SEGMENTS, vocabulary
from ._label_bias import check_n_samples, check_probability

__all__ = ["make_addresses"]

_SKEW = 3  # The first k of n words have the total probability (k / n) ** (1 / _SKEW).


def make_addresses(
    n_samples: int = 1000, *, noise: float = 0.1, random_state=None
) -> tuple[list[list[str]], list[list[str]]]:
    """Make labelled postal addresses of five countries, which are hard to segment.

    The order of the parts differs by country, parts may be missing, and single words say little:
    people, streets and cities share names, "St" is a street or a saint, and a number may belong
    to a house, a flat or a postcode. Names are composed of syllables, so about a tenth of the
    words in new addresses are unknown. Noise adds misspellings, missing commas and addresses in a
    single case.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of addresses.
    noise : float in [0, 1], default=0.1
        Probability that an address is in a single case, and that it lacks its commas; a word is
        misspelled with a fifth of this probability.
    random_state : int, RandomState instance or None, default=None
        Determines the addresses.

    Returns
    -------
    X : list of n_samples lists of str
        Words, numbers and punctuation marks.
    y : list of n_samples lists of str
        Labels in IOB2 of the types RECIPIENT, NUMBER, STREET, UNIT, CITY, REGION, POSTCODE and
        COUNTRY.

    Examples
    --------
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> X, y = make_addresses(2, random_state=0)
    >>> len(X), len(X[0]) == len(y[0])
    (2, True)
    """
    n_samples = check_n_samples(n_samples)
    noise = check_probability(noise, "noise")
    rng = random.Random(int(check_random_state(random_state).randint(2**31 - 1)))
    X, y = [], []
    for _ in range(n_samples):
        tokens: list[str] = []
        labels: list[str] = []
        _expand("$address", None, tokens, labels, rng)
        tokens, labels = _disturb(tokens, labels, noise, rng)
        X.append(tokens)
        y.append(labels)
    return X, y


def _expand(
    symbol: str, label: str | None, tokens: list[str], labels: list[str], rng: random.Random
) -> None:
    """Append the words of an expansion of ``symbol``, and their labels."""
    rules, words, types = _grammar()
    start = len(labels)
    label = types.get(symbol, label)
    alternatives = rules[symbol]
    for part in alternatives[int(rng.random() * len(alternatives))]:
        if part in rules:
            _expand(part, label, tokens, labels, rng)
        elif part[0] == "+":
            tokens[-1] += part[1:]
        else:
            choices = words.get(part)
            if choices is not None:
                part = choices[int(rng.random() ** _SKEW * len(choices))]
            tokens.append(part)
            labels.append("O" if label is None else "I-" + label)
    if symbol in types:
        labels[start] = "B-" + types[symbol]


@cache
def _grammar() -> tuple[dict, dict, dict]:
    rules = {symbol: [rule.split() for rule in options] for symbol, options in RULES.items()}
    types = {s: s.partition(".")[2].upper() for s in rules if s.partition(".")[2] in SEGMENTS}
    return rules, vocabulary(), types


def _disturb(
    tokens: list[str], labels: list[str], noise: float, rng: random.Random
) -> tuple[list[str], list[str]]:
    tokens = [_misspell(t, rng) if rng.random() < noise / 5 else t for t in tokens]
    if rng.random() < noise:
        tokens = [t.upper() for t in tokens] if rng.random() < 0.5 else [t.lower() for t in tokens]
    if rng.random() < noise:
        kept = [i for i, token in enumerate(tokens) if token != ","]
        tokens, labels = [tokens[i] for i in kept], [labels[i] for i in kept]
    return tokens, labels


def _misspell(word: str, rng: random.Random) -> str:
    """Swap, drop, double or replace a letter other than the first."""
    if len(word) < 4 or not word.isalpha():
        return word
    i = rng.randrange(1, len(word) - 1)
    replacement = rng.choice(
        (
            word[i + 1] + word[i],
            word[i + 1],
            word[i] + word[i] + word[i + 1],
            rng.choice(string.ascii_lowercase) + word[i + 1],
        )
    )
    return word[:i] + replacement + word[i + 2 :]
