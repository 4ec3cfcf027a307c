from collections import Counter, defaultdict
from itertools import chain, pairwise

import numpy as np
import pytest

from sklearn_crcrf.datasets import make_addresses, make_label_bias
from sklearn_crcrf.datasets._generators import _grammar

GENERATORS = [make_label_bias, make_addresses]


@pytest.mark.parametrize("make", GENERATORS)
def test_generators_are_deterministic(make):
    assert make(50, random_state=3) == make(50, random_state=3)
    assert make(50, random_state=3) != make(50, random_state=4)
    assert make(50, random_state=np.random.RandomState(3)) == make(50, random_state=3)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("n_samples", [0, 1, 7])
def test_generators_return_equally_long_lists(make, n_samples):
    X, y = make(n_samples, random_state=0)
    assert len(X) == len(y) == n_samples
    assert list(map(len, X)) == list(map(len, y))
    assert all(isinstance(s, str) and s for s in chain(*X, *y))


@pytest.mark.parametrize("make", GENERATORS)
def test_generators_check_parameters(make):
    with pytest.raises(ValueError, match="n_samples"):
        make(-1)
    with pytest.raises(ValueError, match="n_samples"):
        make(2.5)
    with pytest.raises(ValueError, match="noise"):
        make(2, noise=1.5)


def test_label_bias_has_two_paths_in_halves():
    _, y = make_label_bias(2000, random_state=0)
    assert Counter(map(tuple, y)) == {("R1", "I", "B"): 1000, ("R2", "O", "B"): 1000}
    assert len({tuple(labels) for labels in y[:20]}) == 2


def test_label_bias_emits_as_designed():
    X, y = make_label_bias(40_000, random_state=0)
    counts = defaultdict(Counter)
    for symbol, label in zip(chain(*X), chain(*y), strict=True):
        counts[label][symbol] += 1
    designated = {"R1": "r", "R2": "r", "I": "i", "O": "o", "B": "b"}
    for label, symbol in designated.items():
        total = counts[label].total()
        for other in "riob":
            expected = 29 / 32 if other == symbol else 1 / 32
            sigma = np.sqrt(expected * (1 - expected) / total)
            assert counts[label][other] / total == pytest.approx(expected, abs=5 * sigma)


def test_label_bias_without_noise():
    X, y = make_label_bias(10, noise=0, random_state=0)
    assert {("".join(x), *labels) for x, labels in zip(X, y, strict=True)} == {
        ("rib", "R1", "I", "B"),
        ("rob", "R2", "O", "B"),
    }


@pytest.fixture(scope="module")
def addresses():
    return make_addresses(2000, random_state=0), make_addresses(1000, random_state=1)


def test_address_labels_are_proper_iob2(addresses):
    _, y = addresses[0]
    for labels in y:
        for previous, label in pairwise(["O", *labels]):
            assert label[0] != "I" or previous[2:] == label[2:]
    types = {label[2:] for label in chain(*y)} - {""}
    assert types == {*_grammar()[2].values()}


def test_addresses_are_not_separable_by_word(addresses):
    (X, y), (X_test, y_test) = addresses
    counts = defaultdict(Counter)
    for token, label in zip(chain(*X), chain(*y), strict=True):
        counts[token][label] += 1
    majority = {token: labels.most_common(1)[0][0] for token, labels in counts.items()}
    test = list(zip(chain(*X_test), chain(*y_test), strict=True))
    hits = [majority[token] == label for token, label in test if token in majority]
    assert 0.78 < np.mean(hits) < 0.88
    assert 0.08 < 1 - len(hits) / len(test) < 0.15


def in_single_case(tokens):
    return tokens in ([t.upper() for t in tokens], [t.lower() for t in tokens])


def test_address_noise():
    clean, _ = make_addresses(500, noise=0, random_state=0)
    noisy, _ = make_addresses(500, noise=1, random_state=0)
    assert np.mean(["," in tokens for tokens in clean]) > 0.85
    assert not any("," in tokens for tokens in noisy)
    assert not any(map(in_single_case, clean))
    assert all(map(in_single_case, noisy))
    words = {word.lower() for word in chain(*clean)}
    assert np.mean([word.lower() not in words for word in chain(*noisy)]) > 0.2
