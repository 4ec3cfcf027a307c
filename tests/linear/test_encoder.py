"""Tokens of another kind than in training."""

import warnings

import pytest
from sklearn.pipeline import make_pipeline, make_union

from sklearn_crcrf import CRF, Gazetteer, TokenFeatures

WORDS, LABELS = [["the", "dog"], ["dogs", "sleep"]], [["D", "N"], ["N", "V"]]
DICTS = [[{"word": word} for word in words] for words in WORDS]


@pytest.mark.parametrize(
    ("learned", "given", "message"),
    [
        (DICTS, WORDS, "tokens were feature dicts or columns, but X holds token strings"),
        (WORDS, DICTS, "tokens were token strings; make the tokens of X as"),
        (DICTS, [[{"form": "the"}]], "tokens were feature dicts or columns; make"),
    ],
)
def test_tokens_of_another_kind(learned, given, message):
    crf = CRF().fit(learned, LABELS)
    with pytest.warns(UserWarning, match=f"no attribute of any token .* {message}"):
        crf.predict(given)


def test_unknown_words_and_no_tokens():
    with warnings.catch_warnings(action="error"):
        CRF().fit(WORDS, LABELS).predict([["cats", "run"], []])
        CRF().fit(DICTS, LABELS).predict([[{"word": "cats"}, {"word": "sleep"}]])
        CRF().fit(DICTS, LABELS).predict([[]])
        CRF().fit(DICTS, LABELS).predict([[{"word": "cats"}]])
        union = make_union(TokenFeatures([]), Gazetteer({"animals": ["dog"]}))
        make_pipeline(union, CRF()).fit(WORDS, LABELS).predict([["cats", "run"]])
