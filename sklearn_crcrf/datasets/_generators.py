"""Making labelled sequences: noisy words with a label bias, and postal addresses."""

import random
import string
import tomllib
from functools import cache
from numbers import Integral, Real
from pathlib import Path

import numpy as np
from sklearn.utils import check_random_state


def check_n_samples(n_samples: int) -> int:
    """Return ``n_samples`` as an int, or raise ValueError unless it is a whole number >= 0."""
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 0:
        raise ValueError(f"n_samples must be a whole number >= 0, got {n_samples!r}")
    return int(n_samples)


def check_probability(value: float, name: str) -> float:
    """Return ``value`` as a float, or raise ValueError unless it lies in [0, 1]."""
    if not isinstance(value, Real) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number in [0, 1], got {value!r}")
    return float(value)


_SYMBOLS = np.array(["r", "i", "o", "b"], dtype=object)
_PATHS = np.array([["R1", "I", "B"], ["R2", "O", "B"]], dtype=object)
_DESIGNATED = np.array([[0, 1, 3], [0, 2, 3]])


def make_label_bias(
    n_samples: int = 2000, *, noise: float = 3 / 32, random_state=None
) -> tuple[list[list[str]], list[list[str]]]:
    """Make the noisy words "rib" and "rob" of the label bias problem.

    One half of the sequences is labelled R1 I B, the other R2 O B. Each label emits its
    designated symbol (r, r, i, o, b) or, by noise, one of the three others. The first symbol
    does not distinguish R1 from R2, so a model that is normalised at each position cannot use
    the second symbol to choose between the two paths.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of sequences; if odd, the first path gets one more.
    noise : float in [0, 1], default=3/32
        Probability that a symbol is not the designated one; the three others are equally likely.
    random_state : int, RandomState instance or None, default=None
        Determines symbols and order.

    Returns
    -------
    X : list of n_samples lists of 3 str
        Symbols.
    y : list of n_samples lists of 3 str
        Labels.

    References
    ----------
    .. [1] J. Lafferty, A. McCallum, F. Pereira, "Conditional Random Fields: Probabilistic
       Models for Segmenting and Labeling Sequence Data", ICML 2001.
    .. [2] Z. Zhu, D. Hiemstra, P. Apers, A. Wombacher, "Closed Form Maximum Likelihood
       Estimator of Conditional Random Fields", 2013, section 4.4, hdl:2066/227018.

    Examples
    --------
    >>> from sklearn_crcrf.datasets import make_label_bias
    >>> X, y = make_label_bias(2, noise=0, random_state=0)
    >>> sorted(map("".join, X)), sorted(y)
    (['rib', 'rob'], [['R1', 'I', 'B'], ['R2', 'O', 'B']])
    """
    n_samples = check_n_samples(n_samples)
    noise = check_probability(noise, "noise")
    rng = check_random_state(random_state)
    path = rng.permutation(np.arange(n_samples) % 2)
    wrong = rng.uniform(size=(n_samples, 3)) < noise
    shift = np.where(wrong, rng.randint(1, 4, size=(n_samples, 3)), 0)
    symbols = _SYMBOLS[(_DESIGNATED[path] + shift) % 4]
    return symbols.tolist(), _PATHS[path].tolist()


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
            if part in words:
                part = words[part][int(rng.random() ** _SKEW * len(words[part]))]
            tokens.append(part)
            labels.append("O" if label is None else "I-" + label)
    if symbol in types:
        labels[start] = "B-" + types[symbol]


@cache
def _grammar() -> tuple[dict, dict, dict]:
    """Read the rules, the words of other symbols, and the labels, by symbol."""
    path = Path(__file__).with_name("address_grammar.toml")
    grammar = tomllib.loads(path.read_text(encoding="utf-8"))
    rules = {s: [rule.split() for rule in options] for s, options in grammar["rules"].items()}
    ends = {symbol: symbol.partition(".")[2] for symbol in rules}
    types = {symbol: end.upper() for symbol, end in ends.items() if end in grammar["segments"]}
    return rules, _vocabulary(grammar), types


def _vocabulary(grammar: dict) -> dict[str, list[str]]:
    """List the words of each symbol without a rule; the first are meant to be the most frequent.

    People, roads and towns of one language share many names, with different frequencies.
    """
    rng = random.Random(0)
    names = {}
    for language, parts in grammar["syllables"].items():
        pool = _names(rng, grammar["n_long_names"], *map(str.split, parts))
        for use in ("name", "road", "town"):
            names[f"${language}.{use}"] = rng.sample(pool, len(pool) // 2)
    return (
        {symbol: words.split() for symbol, words in grammar["words"].items()}
        | {symbol: [*map(str, range(*bounds))] for symbol, bounds in grammar["numbers"].items()}
        | {"$ordinal": [_ordinal(n) for n in range(1, 60)]}
        | {symbol: _codes(rng, pattern, n) for symbol, (pattern, n) in grammar["codes"].items()}
        | names
    )


def _ordinal(n: int) -> str:
    suffix = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def _codes(rng: random.Random, pattern: str, n: int) -> list[str]:
    alphabets = {"9": string.digits, "A": string.ascii_uppercase}
    return list({"".join(rng.choice(alphabets.get(c, c)) for c in pattern): None for _ in range(n)})


def _names(
    rng: random.Random, n_long: int, heads: list[str], links: list[str], tails: list[str]
) -> list[str]:
    short = [head + tail for head in heads for tail in tails]
    long = [head + link + tail for head in heads for link in links for tail in tails]
    return [name.capitalize() for name in short + rng.sample(long, n_long)]


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
    this, following = word[i], word[i + 1]
    other = rng.choice(string.ascii_lowercase)
    replacement = rng.choice(
        (following + this, following, this + this + following, other + following)
    )
    return word[:i] + replacement + word[i + 2 :]
