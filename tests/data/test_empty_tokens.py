"""A warning where a list has replaced the words."""

import warnings

import pytest
from sklearn.pipeline import make_pipeline, make_union

from sklearn_crcrf import CRF, HMM, EmpiricalCRF, Gazetteer, SequenceVectorizer, TokenFeatures

X = [["to", "York"], ["to", "Hull"], ["Hull", "is", "there"]]
y = [["O", "C"], ["O", "C"], ["C", "O", "O"]]
ONLY_THE_LIST = Gazetteer({"city": ["York"]})
LIST_AND_WORDS = make_union(TokenFeatures(), ONLY_THE_LIST)


@pytest.mark.parametrize(
    "steps", [[CRF()], [EmpiricalCRF()], [HMM()], [SequenceVectorizer(), CRF()]], ids=str
)
def test_words_that_a_list_replaces(steps):
    with pytest.warns(UserWarning, match=r"6 of 7 tokens have no symbol .*\['city'\]") as caught:
        make_pipeline(ONLY_THE_LIST, *steps).fit(X, y)
    assert len(caught) == 1
    with warnings.catch_warnings(action="error"):
        make_pipeline(LIST_AND_WORDS, *steps).fit(X, y)


def test_most_tokens_have_a_symbol():
    with warnings.catch_warnings(action="error"):
        make_pipeline(Gazetteer({"city": ["York", "Hull", "is"]}), CRF()).fit(X, y)


def test_passing_on_what_came_in():
    with pytest.raises(TypeError, match="TokenFeatures"):
        make_union("passthrough", ONLY_THE_LIST).fit_transform(X)
