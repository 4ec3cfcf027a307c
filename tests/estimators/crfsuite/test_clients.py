"""Programs that use CRFsuite: the shape of their data, their features and settings, and figures.

The figures are labels, losses, numbers and ratios of these, but no times.
"""

from typing import NamedTuple
from unittest.mock import patch

import pytest

from sklearn_crcrf import CRFsuiteCRF, EmpiricalCRF, LatticeCRF
from sklearn_crcrf.compat import pycrfsuite
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import segment_f1, sequence_accuracy
from sklearn_crcrf.solvers._progress import Progress

WORDS, Y = make_addresses(400, random_state=0)
N_TRAIN = 250
PARSERATOR = {"c1": 0.1, "c2": 0.01, "min_freq": 0}
TUTORIAL = {"c1": 0.1, "c2": 0.1, "all_possible_transitions": True}


def address_features(words):
    """Attributes of a token, with those of both neighbours in nested dicts, as of usaddress."""
    tokens = [
        {
            "word": word.lower().strip(".,"),
            "abbrev": word.endswith("."),
            "digits": "all" if word.isdigit() else any(c.isdigit() for c in word),
            "length": f"{'d' if word.isdigit() else 'w'}:{len(word)}",
            "endsinpunc": word[-1] if not word[-1].isalnum() else False,
            "has.vowels": any(c in "aeiou" for c in word[1:]),
        }
        for word in words
    ]
    around = [{"start": True}, *tokens, {"end": True}]
    return [
        {**token, "previous": around[t], "next": around[t + 2]} for t, token in enumerate(tokens)
    ]


def name_features(words):
    """Attributes with prefixes, suffixes and parts of each word, as of probablepeople."""
    return [
        {
            "word": word.lower(),
            "comma": word.endswith(","),
            **{f"prefix_{n}": word[:n] for n in range(1, min(len(word), 5))},
            **{f"suffix_{n}": word[-n:] for n in range(1, min(len(word), 5))},
            **{word[i : i + n]: True for n in (3, 4) for i in range(len(word) - n + 1)},
        }
        for word in words
    ]


def tutorial_features(words):
    """A bias, and flat keys of neighbours, as in the tutorial of sklearn-crfsuite."""

    def of(place, word):
        names = "lower", "istitle", "isupper"
        return {f"{place}word.{name}": getattr(word, name)() for name in names}

    return [
        {
            "bias": 1.0,
            "word[-3:]": words[t][-3:],
            **of("", words[t]),
            **(of("-1:", words[t - 1]) if t else {"BOS": True}),
            **(of("+1:", words[t + 1]) if t + 1 < len(words) else {"EOS": True}),
        }
        for t in range(len(words))
    ]


CLIENTS = {
    "addresses": (address_features, PARSERATOR, 0.85),
    "names": (name_features, PARSERATOR, 0.8),
    "tutorial": (tutorial_features, TUTORIAL, 0.85),
}


class Client(NamedTuple):
    """Attributes of all sequences, a fitted model, its number of evaluations, and the program."""

    X: list
    crf: CRFsuiteCRF
    n_evaluations: int
    settings: dict
    least: float


@pytest.fixture(scope="module", params=CLIENTS)
def client(request):
    features, settings, least = CLIENTS[request.param]
    X = [features(words) for words in WORDS]
    with patch.object(
        Progress, "evaluate", autospec=True, side_effect=Progress.evaluate
    ) as counted:
        crf = CRFsuiteCRF(**settings).fit(X[:N_TRAIN], Y[:N_TRAIN])
    return Client(X, crf, counted.call_count, settings, least)


def train_peer(client, path):
    """Train python-crfsuite; returns the last line of its log, and the number of evaluations."""
    names = {
        "all_possible_transitions": "feature.possible_transitions",
        "min_freq": "feature.minfreq",
    }
    params = {names.get(name, name): value for name, value in client.settings.items()}
    trainer = pytest.importorskip("pycrfsuite").Trainer(verbose=False, params=params)
    for tokens, labels in zip(client.X[:N_TRAIN], Y[:N_TRAIN], strict=True):
        trainer.append(tokens, labels)
    trainer.train(str(path))
    steps = trainer.logparser.iterations
    return steps[-1]["loss"], 1 + sum(step["linesearch_trials"] for step in steps)


def test_segments_are_found(client):
    predicted = client.crf.predict(client.X[N_TRAIN:])
    assert segment_f1(Y[N_TRAIN:], predicted) > client.least


def test_loss_work_and_labels_are_those_of_the_peer(client, tmp_path):
    loss, n_evaluations = train_peer(client, tmp_path / "model")
    assert client.crf.loss_curve_[-1] < 1.001 * loss
    assert client.n_evaluations < 1.4 * n_evaluations
    X, read = client.X[N_TRAIN:], CRFsuiteCRF(model_filename=tmp_path / "model")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    theirs = [tagger.tag(tokens) for tokens in X]
    assert read.predict(X) == theirs
    assert [[*map(str, labels)] for labels in map(read.tagger(), X)] == theirs
    assert sequence_accuracy(theirs, client.crf.predict(X)) > 0.98
    # The penalty of absolute values leaves as many attributes.
    assert 0.9 < client.crf.num_attributes_ / read.num_attributes_ < 1.1


def test_words_alone_are_a_start():
    """The closed form, and a CRF that starts from it, find what hand-made attributes find."""
    by_hand = CLIENTS["addresses"][2]
    for model in (EmpiricalCRF(), LatticeCRF(random_state=0)):
        predicted = model.fit(WORDS[:N_TRAIN], Y[:N_TRAIN]).predict(WORDS[N_TRAIN:])
        assert segment_f1(Y[N_TRAIN:], predicted) > by_hand
