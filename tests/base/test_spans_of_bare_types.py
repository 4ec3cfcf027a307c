"""Segments of labels without prefixes, in every way to ask for them."""

import numpy as np
import pytest

from sklearn_crcrf import CRF, ConformalSequenceClassifier, EmpiricalCRF
from sklearn_crcrf.labels import convert_scheme

X = [["12", "Oak", "St", "Reno"], ["3", "Elm", "St", "Boise"], ["of", "Reno"]]
BARE = [["Number", "Street", "Street", "City"]] * 2 + [["O", "City"]]


@pytest.mark.parametrize("kind", [CRF, EmpiricalCRF])
def test_the_scheme_is_found(kind):
    crf = kind().fit(X, BARE)
    (spans, _, last), given = crf.predict_spans(X), crf.predict_spans(X, "IO")
    assert [span[:3] for span in spans] == [(0, 1, "Number"), (1, 3, "Street"), (3, 4, "City")]
    assert [span[:3] for span in last] == [(1, 2, "City")]
    assert given[0] == spans
    for scheme in ("IOB2", "IOBES"):
        crf = kind().fit(X, convert_scheme(BARE, "IO", scheme))
        assert [span[:3] for span in crf.predict_spans(X)[0]] == [span[:3] for span in spans]
    with pytest.raises(ValueError, match="scheme must be one of"):
        crf.predict_spans(X, "BIO")
    with pytest.raises(ValueError, match="label 'City' does not fit the scheme IOB2"):
        kind().fit(X, BARE).predict_spans(X, "IOB2")


def test_probabilities_of_runs_are_of_runs():
    crf = EmpiricalCRF().fit(X, BARE)
    (kinds,), paths = crf.predict_spans(X[:1]), crf.predict_k_best(X[:1], k=256)[0]
    for start, end, kind, probability in kinds:
        total = 0.0
        for labels, p in paths:
            run = labels[start:end] == [kind] * (end - start)
            whole = labels[start - 1 : start] != [kind] and labels[end : end + 1] != [kind]
            total += p * (run and whole)
        assert probability == pytest.approx(total)


def test_spans_that_keep_a_promise():
    model = ConformalSequenceClassifier(EmpiricalCRF(), target="recall", cv=2, confidence_level=0.5)
    model.fit(X * 4, BARE * 4)
    assert all(kind in {"Number", "Street", "City"} for _, _, kind, _ in model.predict_spans(X)[0])


def test_counted_segments_say_how():
    with pytest.raises(ValueError, match=r'convert_scheme\(y, "IO", "IOB2"\) makes them'):
        EmpiricalCRF(segments="counted").fit(X, BARE)
    crf = EmpiricalCRF(segments="counted").fit(X, convert_scheme(BARE, "IO", "IOB2"))
    assert np.array(convert_scheme(crf.predict(X), "IOB2", "IO"), dtype=object).tolist() == BARE
