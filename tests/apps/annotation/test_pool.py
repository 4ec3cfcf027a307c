"""The sentences that wait for labels."""

from sklearn_crcrf.apps.annotation import Pool


def test_characters_keep_the_marks_that_combine_with_them():
    pool = Pool.of_lines(["e\u0301 👩\u200d💻猫"], characters=True)
    assert pool.sentences == [["e\u0301", "👩\u200d💻", "猫"]]
    assert pool.search("👩\u200d💻猫") == [0]


def test_search_ignores_case_and_stops_at_the_limit():
    pool = Pool.of_lines(["The dog", "a Dog", "cats"])
    assert pool.search("DOG") == [0, 1]
    assert pool.search("dog", limit=1) == [0]
    assert pool.search("dog", among=range(1, 2)) == [1]
