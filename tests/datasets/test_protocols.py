import os
import re

import pytest

from sklearn_crcrf.datasets import (
    BROWN_SPLITS,
    _corpora,
    fetch_brown,
    load_brown_splits,
    load_dutch_ner,
)

data = pytest.mark.data
needs_data = pytest.mark.skipif(
    not os.environ.get("SKLEARN_CRCRF_DATA"), reason="SKLEARN_CRCRF_DATA is not set"
)


def strip_suffixes(tag):
    while tag.endswith(("-hl", "-tl", "-nc")):
        tag = tag[:-3]
    return tag


def test_unknown_split():
    with pytest.raises(ValueError, match="name must be one of"):
        load_brown_splits("10-10")


@pytest.mark.parametrize(
    ("tag", "stripped"),
    [("nn", "nn"), ("nn-tl-hl", "nn"), ("fw-nn-nc", "fw-nn"), ("---hl", "--"), ("-hl", "-hl")],
)
def test_suffixes_of_tags(tag, stripped):
    assert _corpora.bare(tag) == stripped


@pytest.fixture(scope="module")
def brown():
    return fetch_brown(download_if_missing=False)


@data
@needs_data
def test_real_brown(brown):
    assert len(brown.data) == 57340
    assert sum(map(len, brown.data)) == 1161192
    assert len(brown.target_names) == 472


@data
@needs_data
def test_brown_splits(brown, monkeypatch):
    corpus = brown.data, brown.target
    monkeypatch.setattr(_corpora, "fetch_brown", lambda **options: corpus)
    splits = {name: load_brown_splits(name) for name in BROWN_SPLITS}
    assert {name: [len(X) for X, _ in parts] for name, parts in splits.items()} == {
        "1000-4000": [1000, 1000, 4000],
        "2500-2500": [2500, 1000, 2500],
        "4000-1000": [4000, 1000, 1000],
        "17311-16312": [17311, 1000, 16312],
        "32623-1000": [32623, 1000, 1000],
    }
    small, large = splits["4000-1000"], splits["32623-1000"]
    assert small.tuning == large.tuning
    assert small.train[0] + small.test[0] == large.train[0][:5000]
    X, y = large.train
    assert all(words[-1] in (".", "?", "!") for words in X)
    tags = {tag for labels in y for tag in labels}
    assert not any(re.search(r"-(hl|tl|nc)$", tag) for tag in tags)
    sample = set(map(tuple, X[:100]))
    originals = {
        (tuple(words), tuple(map(strip_suffixes, labels)))
        for words, labels in zip(*corpus, strict=True)
        if tuple(words) in sample
    }
    found = {(tuple(a), tuple(b)) for a, b in zip(X[:100], y[:100], strict=True)}
    assert found <= originals


@data
@needs_data
def test_brown_splits_with_raw_tags(brown, monkeypatch):
    corpus = brown.data, brown.target
    monkeypatch.setattr(_corpora, "fetch_brown", lambda **options: corpus)
    stripped, raw = (load_brown_splits("32623-1000", raw_tags=raw) for raw in (False, True))
    assert raw.train[0] == stripped.train[0]
    tags = [{tag for _, y in parts for labels in y for tag in labels} for parts in (stripped, raw)]
    assert [*map(len, tags)] == [208, 401]
    assert {*map(strip_suffixes, tags[1])} == tags[0]


@data
@needs_data
def test_brown_splits_in_the_order_of_the_corpus(brown, monkeypatch):
    corpus = brown.data, brown.target
    monkeypatch.setattr(_corpora, "fetch_brown", lambda **options: corpus)
    shuffled, ordered = (load_brown_splits("32623-1000", shuffle=k) for k in (True, False))

    def sentences(splits):
        return [tuple(words) for X, _ in (splits.tuning, splits.train, splits.test) for words in X]

    assert sorted(sentences(shuffled)) == sorted(sentences(ordered))
    of_corpus = iter(brown.data)
    assert all(list(words) in of_corpus for words in sentences(ordered))  # a subsequence


@data
@needs_data
def test_dutch_ner():
    splits = load_dutch_ner()
    assert [len(X) for X, _ in splits] == [13221, 2306, 4211]
    for X, y in splits:
        assert list(map(len, X)) == list(map(len, y))
        assert min(map(len, X)) == 2
        assert isinstance(X[0][0], str)
