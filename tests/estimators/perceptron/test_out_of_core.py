"""Epochs over shards against the same corrections with all weights in one place."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from sklearn_crcrf import StructuredPerceptron
from sklearn_crcrf.datasets import make_addresses, write_conll
from sklearn_crcrf.estimators.perceptron.learning import Learned, MeanWeights
from sklearn_crcrf.estimators.perceptron.out_of_core import FolderExamples
from sklearn_crcrf.labels.constraints.constraints import forbidden_scores
from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.linear.examples import Examples
from sklearn_crcrf.linear.folder_shards import FolderShards
from sklearn_crcrf.out_of_core import write_corpus
from sklearn_crcrf.structures import Chain


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("text")
    X, y = make_addresses(12, random_state=0)
    X = [[{"word": w, "upper": str(w.isupper())} for w in tokens] for tokens in X]
    write_conll(path / "text", X, y, sep="\t")
    return write_corpus(
        [path / "text"], path / "corpus", ["word", "upper", "label"], sep="\t", lines_per_part=50
    )


def whole(shards):
    """One corpus of all shards, with the attributes as the model numbers them."""
    parts = [shards.corpora()[k] for k in range(len(shards.corpora()))]
    n_attributes = len(shards.shape.encoder.names)
    rows = []
    for own in parts:
        X = sp.coo_array(own.corpus.X)
        columns = own.attributes[X.col]
        rows.append(sp.csr_array((X.data, (X.row, columns)), (X.shape[0], n_attributes)))
    lengths = np.concatenate([np.diff(own.corpus.offsets) for own in parts])
    y = np.concatenate([own.corpus.y for own in parts])
    chain = Chain(np.append(0, np.cumsum(lengths)))
    corpus = Corpus(sp.csr_array(sp.vstack(rows)), y, chain, np.ones(len(lengths)))
    return corpus, [len(own.corpus.weight) for own in parts]


@pytest.mark.parametrize("boundaries", [False, True])
def test_corrections_are_the_same(boundaries, folder):
    perceptron = StructuredPerceptron(edge_columns=["upper"])
    with FolderShards(folder, perceptron, boundaries=boundaries) as shards:
        corpus, sizes = whole(shards)
        assert len(sizes) > 1
        encoder, n = shards.shape.encoder, len(shards.shape.classes)
        forbidden = forbidden_scores(None, n)
        examples = Examples.of(corpus, encoder.edge_attributes, boundaries, forbidden)
        in_parts = FolderExamples(shards, boundaries)
        nothing = in_parts.zeros()
        assert [part.shape for part in nothing] == [part.shape for part in examples.zeros()]
        learner, expected = (MeanWeights(Learned(nothing, nothing, 0)) for _ in range(2))
        first = np.cumsum([0, *sizes])
        for epoch in range(3):
            error = in_parts.learn(learner, np.random.RandomState(epoch))
            rng = np.random.RandomState(epoch)
            shard_order = rng.permutation(len(sizes))
            order = np.concatenate([first[k] + rng.permutation(sizes[k]) for k in shard_order])
            found = expected.learn(examples, order)
            assert error == pytest.approx((found != corpus.y).mean())
    for one, two in zip(learner.learned()[:2], expected.learned()[:2], strict=True):
        for part, expected_part in zip(one, two, strict=True):
            assert_allclose(part, expected_part, atol=1e-12)


@pytest.mark.parametrize(
    "options", [{"averaging": "vote"}, {"class_weight": "balanced"}, {"validation_fraction": 0.2}]
)
def test_what_needs_all_data_is_refused(options, folder):
    with pytest.raises(ValueError, match=f"{next(iter(options))}=.* needs all of the data"):
        StructuredPerceptron(**options).fit(folder)
