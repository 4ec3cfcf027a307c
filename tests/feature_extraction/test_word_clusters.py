import pytest

from sklearn_crcrf import CRF, SequenceVectorizer, make_sequence_pipeline
from sklearn_crcrf.feature_extraction import WordClusters

X = [["Monday", "rains"], [], ["monday", "Friday"]]
PATHS = {"monday": "0010", "Friday": "0011", "rains": "1"}


def clusters(X=X, **params):
    table = WordClusters(PATHS, **params).transform(X).data
    return {name: table.column(name).tolist() for name in table.names}


def test_prefixes():
    assert clusters(prefixes=[3, 20]) == {
        "cluster:3": [None, "1", "001", "001"],
        "cluster:20": [None, "1", "0010", "0011"],
    }
    table = WordClusters(PATHS, prefixes=[3]).transform(X).data
    assert table.categories[0].tolist() == ["1", "001"]


def test_whole_names_case_and_a_name():
    assert clusters(prefixes=None, ignore_case=True, name="brown") == {
        "brown": ["0010", "1", "0010", "0011"]
    }
    assert clusters(prefixes=[], name="brown") == {}


def test_clusters_that_are_numbers():
    table = WordClusters({"a": 3, "b": 12}, None).transform([["b", "a"]]).data
    assert table.column("cluster").tolist() == ["12", "3"]


def test_a_cluster_that_is_missing_is_none_in_the_tagger_too():
    words, labels = [["a", "b"], ["c", "b"]], [["X", "Y"], ["Z", "Y"]]
    clusters = WordClusters({"a": None, "b": "None"}, None)
    model = make_sequence_pipeline(clusters, SequenceVectorizer(), CRF()).fit(words, labels)
    tagger = model.tagger()
    assert [tagger(tokens) for tokens in words] == [list(found) for found in model.predict(words)]


@pytest.mark.parametrize("cluster", [float("nan"), 3.0, b"10", ["10"], {"a": "10"}])
def test_clusters_that_are_neither_names_nor_numbers(cluster):
    with pytest.raises(ValueError, match="a cluster must be a str or an int, but is"):
        WordClusters({"a": cluster}, None).transform([["b", "a"]])


def test_a_named_column_and_missing_tokens():
    tokens = [[{"t": "rains", "w": "Friday"}, {"t": "rains"}]]
    assert clusters(tokens, prefixes=None, column="w") == {"cluster": ["0011", None]}
    with pytest.raises(ValueError, match="no column 'v'"):
        WordClusters(PATHS, column="v").fit(tokens)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"clusters": [1]}, "clusters must be a mapping"),
        ({"clusters": {}, "prefixes": [0]}, "prefixes must be positive"),
        ({"clusters": {}, "prefixes": ["4"]}, "prefixes must be positive"),
    ],
)
def test_wrong_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        WordClusters(**params).fit(X)
