"""Paths with few segments, against the enumeration of all paths."""

import math
import pickle
import re
from itertools import chain, product

import numpy as np
import pytest
from cases import for_each
from starlette.testclient import TestClient

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.apps.cli import main
from sklearn_crcrf.apps.web import tagging_app
from sklearn_crcrf.labels import AtMost, AtMostSegments, Exactly, OneSegment, to_segments
from sklearn_crcrf.model_files import load_model
from sklearn_crcrf.serving import Tagger, load_tagger, segment_limits
from sklearn_crcrf.serving.segment_limits import LimitedPaths, Limits
from sklearn_crcrf.structures import Chain, Scores, TokenTransitions

SCHEMES = {
    "IO": ["X", "Y", "O"],
    "IOB1": ["B-X", "I-X", "I-Y", "O"],
    "IOB2": ["B-X", "I-X", "B-Y", "I-Y", "O"],
    "IOBES": ["B-X", "I-X", "E-X", "S-X", "O", "S-Y"],
    "BILOU": ["B-X", "L-X", "U-X", "O"],
}


def drawn_scores(rng, n_tokens, n_labels):
    scores = Scores.of(*(rng.normal(size=(n, n_labels)) * 2 for n in (n_tokens, n_labels)))
    begin, end = rng.normal(size=(2, n_labels))
    state = np.where(rng.random(scores.state.shape) < 0.1, -np.inf, scores.state)
    transition = np.where(rng.random((n_labels, n_labels)) < 0.1, -np.inf, scores.transition)
    scores = scores._replace(state=state, transition=transition, begin=begin, end=end)
    if rng.random() < 0.5:
        return scores
    pairs = np.sort(rng.choice(n_labels**2, n_labels, replace=False)).astype(np.int32)
    current, previous = np.divmod(pairs, n_labels)
    finite = np.where(transition > -np.inf, transition, 0.0)
    gain = finite[previous, current] + rng.random(n_labels) * 3
    row = np.where(rng.random(n_tokens) < 0.5, 0, -1)
    edges = TokenTransitions(row, np.array([0, n_labels]), previous, current, gain)
    return scores._replace(token_transitions=edges)


def enumerated(scores, labels, constraints, scheme):
    """The scores of all paths that satisfy the constraints, by path."""
    n_tokens = len(scores.state)
    links, found = Chain(np.array([0, n_tokens])), {}
    for path in product(range(len(labels)), repeat=n_tokens):
        kinds = to_segments([[labels[i] for i in path]], scheme).type.tolist()
        if all(satisfies(one, kinds) for one in constraints):
            value = links.score(scores, np.array(path))[0][0]
            if value > -np.inf:
                found[path] = value
    return found


def satisfies(constraint, kinds):
    kinds = [kind for kind in kinds if constraint.types is None or kind in constraint.types]
    if constraint.per == "sample":
        return len(kinds) <= constraint.k
    return all(kinds.count(kind) <= constraint.k for kind in kinds)


CONSTRAINTS = [
    [OneSegment()],
    [OneSegment(per="sample")],
    [AtMostSegments("X", 2)],
    [AtMostSegments("X", 0), AtMostSegments(None, 2, per="sample")],
    [AtMostSegments(["X"], 1)],
    [OneSegment(), AtMostSegments(None, 2)],
]


@for_each(
    ("scheme", "constraints", "seed"),
    [(scheme, each, seed) for scheme in SCHEMES for each in CONSTRAINTS for seed in range(2)],
)
def test_best_paths_and_their_sum(scheme, constraints, seed):
    rng, labels = np.random.default_rng(seed), SCHEMES[scheme]
    n_tokens = int(rng.integers(1, {3: 6, 4: 5, 5: 5}.get(len(labels), 4)))
    for constraint in constraints:
        constraint.scheme = scheme
    scores = drawn_scores(rng, n_tokens, len(labels))
    limits = Limits.join(one.limits(np.array(labels), "c") for one in constraints)
    expected = enumerated(scores, labels, constraints, scheme)
    paths = LimitedPaths(scores, limits)
    best = sorted(expected.values(), reverse=True)
    for k in (1, 4, 10_000):
        found = paths.best(k)
        np.testing.assert_allclose([value for value, _ in found], best[:k], atol=1e-9)
        for value, y in found:
            assert expected[tuple(y)] == pytest.approx(value)
        assert len({tuple(y) for _, y in found}) == len(found)
    log_z = math.log(sum(map(math.exp, best))) if best else -math.inf
    assert paths.log_partition() == pytest.approx(log_z, abs=1e-9)


def test_many_types_and_long_sequences():
    """Every label has its own best tokens, alternating, so that all limits are exceeded."""
    n_labels, n_tokens = 12, 60
    labels = np.array([f"T{i:02}" for i in range(n_labels)])
    rng = np.random.default_rng(0)
    state = rng.normal(size=(n_tokens, n_labels))
    state[np.arange(n_tokens), np.arange(n_tokens) // 10] += 4.0
    scores = Scores.of(state, 2.0 * np.eye(n_labels))
    paths = LimitedPaths(scores, OneSegment().limits(labels, "c"))
    (value, y), second = paths.best(2)
    assert (np.diff(y) != 0).sum() + 1 == len(set(y.tolist()))
    assert second[0] <= value
    assert paths.log_partition() >= value


def test_what_takes_too_long(monkeypatch):
    rng = np.random.default_rng(0)
    labels = np.array(list("ABCDEFGH"))
    limits = OneSegment().limits(labels, "c")
    paths = LimitedPaths(Scores.of(rng.normal(size=(12, 8)) * 3, np.zeros((8, 8))), limits)
    assert paths.best() is not None
    monkeypatch.setattr(segment_limits, "MOST_STEPS", 20)
    assert paths.best() is None
    monkeypatch.setattr(segment_limits, "MOST_COUNTS", 20)
    with pytest.raises(ValueError, match="too many types"):
        paths.log_partition()


X = [["12", "Oak", "St", "Reno"], ["3", "Elm", "St", "Boise"]]
LABELS = [["Number", "Street", "Street", "City"]] * 2
BROKEN = ["12", "Oak", "Reno", "St"]


@pytest.mark.parametrize(
    "estimator",
    [
        CRF(),
        CRF(decoding="marginal"),
        EmpiricalCRF(),
    ],
)
def test_taggers_under_limits(estimator, tmp_path):
    estimator.fit(X, LABELS)
    one, sequences = [OneSegment()], [BROKEN, *X, ["Oak", "Reno"] * 3]
    expected = [list(y) for y in estimator.predict(sequences, subject_to=one)]
    assert expected[0] != list(estimator.predict([BROKEN])[0])
    tagger = estimator.tagger().subject_to(one)
    tagger.save(tmp_path / "tagger")
    for each in (tagger, load_tagger(tmp_path / "tagger"), pickle.loads(pickle.dumps(tagger))):
        assert [each(tokens) for tokens in sequences] == expected
        assert each(iter(BROKEN)) == expected[0]
        assert each.many(sequences) == expected
        assert [tagger.labels[i] for i in each.label_ids(sequences)] == [*chain(*expected)]
        assert each([]) == [] and each.confidence([]) == 1.0
    found = [tagger.confidence(tokens) for tokens in sequences]
    np.testing.assert_allclose(found, estimator.confidence(sequences, subject_to=one))
    paths = estimator.predict_k_best(sequences, k=1, subject_to=one)
    np.testing.assert_allclose(found, [p for ((_, p),) in paths])
    assert estimator.predict_k_best(sequences, k=2, subject_to=[]) == (
        estimator.predict_k_best(sequences, k=2)
    )


def test_what_taggers_cannot_do(tmp_path):
    tagger = CRF().fit(X, LABELS).tagger()
    assert tagger.subject_to([]) is tagger
    with pytest.raises(ValueError, match="takes constraints on segments, not AtMost"):
        tagger.subject_to([AtMost("City", 1)])
    with pytest.raises(ValueError, match=r"constraints\[0\]: the type 'Q' is not among the types"):
        tagger.subject_to([OneSegment("Q")])
    with pytest.raises(ValueError, match="no limits on segments with labels of higher order"):
        EmpiricalCRF(order=2).fit(X, LABELS).tagger().subject_to([OneSegment()])
    none = tagger.subject_to([AtMostSegments(k=0)])
    with pytest.raises(ValueError, match="no possible labels satisfy the constraints"):
        none(BROKEN)
    assert none.confidence(BROKEN) == 0.0
    content = tagger.subject_to([OneSegment("City")]).content()
    for limits in (1, [], [1, 2, 3, 4], [[[1]], [[1]], [[1]], [1]], [[[1, 0, 0]]] * 3 + [[-1]]):
        with pytest.raises(ValueError, match="'limits' is not valid"):
            Tagger(content._replace(settings={**content.settings, "limits": limits}))


def test_the_command_tag_under_limits(tmp_path, capsys):
    for name, file in (("train.txt", zip(X, LABELS, strict=True)), ("new.txt", None)):
        rows = [BROKEN] if file is None else [map("\t".join, zip(*s, strict=True)) for s in file]
        (tmp_path / name).write_text("\n\n".join(map("\n".join, rows)) + "\n")
    model, train, new = (str(tmp_path / name) for name in ("model", "train.txt", "new.txt"))
    assert main(["train", train, "--model", model, "--estimator", "CRF"]) == 0
    capsys.readouterr()
    tag = ["tag", new, "--model", model]
    written = []
    for more in ([], ["--one-segment", "all"], ["--one-segment", "Street,City", "--n-best", "1"]):
        assert main([*tag, *more]) == 0
        written.append(re.findall(r"\t(\w+)\n", capsys.readouterr().out))
    one = ["Number", "Street", "Street", "Street"]
    assert written == [["Number", "Street", "City", "Street"], one, one]
    tagger = str(tmp_path / "tagger")
    load_model(model).estimator.tagger().save(tagger)
    assert main(["tag", new, "--model", tagger, "--one-segment", "all"]) == 0
    assert re.findall(r"\t(\w+)\n", capsys.readouterr().out) == one
    for more, message in (
        (["--one-segment", "Q"], "--one-segment: the type 'Q' is not among the types"),
        (["--one-segment", "all", "--marginals"], "--one-segment is for columns, and without"),
        (["--one-segment", "all", "--text"], "--one-segment is for columns, and without"),
    ):
        assert main([*tag, *more]) == 2
        assert message in capsys.readouterr().err


def test_the_page_tags_under_limits():
    crf = CRF().fit(X, LABELS)
    for subject_to, labels in (
        (None, ["Number", "Street", "City", "Street"]),
        ([OneSegment()], ["Number", "Street", "Street", "Street"]),
        ([Exactly("City", 0)], ["Number", "Street", "Street", "Street"]),
    ):
        client = TestClient(tagging_app(crf, subject_to))
        (found,) = client.post("/tag", json={"tokens": BROKEN}).json()["sentences"]
        assert found["labels"] == labels
