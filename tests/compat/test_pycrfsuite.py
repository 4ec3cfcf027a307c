"""The interface of python-crfsuite, compared with python-crfsuite."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout

import numpy as np
import pycrfsuite as theirs
import pytest
from cases import for_each
from hypothesis import HealthCheck, settings
from hypothesis import given as given_any
from hypothesis import strategies as st

from sklearn_crcrf.compat import pycrfsuite as ours
from sklearn_crcrf.compat.pycrfsuite._logparser import TrainLogParser
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.serving import load_tagger

WORDS, Y = make_addresses(60, random_state=0)
Y = [list(labels) for labels in Y]
X = [
    [{"w": w, "title": w.istitle(), "n": len(w), "next": {"w": s[-1], "l": [w[-1]]}} for w in s]
    for s in WORDS
]
FORMS = [
    [["foo", "bar"], ["bar", "baz"]],
    [{"foo": True, "bar": {"foo": -1, "baz": False}}, {"n": np.float32(0.5)}],
    [{b"k\xc3\xa9": b"v", "ключ": "мир"}, [b"a"], ()],
    [{"a": {"b": {"c": {"x", "y"}}, "d": ["e"]}}],
    "Marie",
    ["Marie", {"a": "b"}.keys(), (name for name in "ab")],
    [],
]
ALGORITHMS = "lbfgs", "l2sgd", "ap", "averaged-perceptron", "pa", "passive-aggressive", "arow"


def trained(module, path, *, n=60, **options):
    trainer = module.Trainer(verbose=False, **options)
    for i, (tokens, labels) in enumerate(zip(X[:n], Y[:n], strict=True)):
        trainer.append(tokens, labels, i % 3)
    trainer.train(str(path))
    return trainer


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.crfsuite"
    trained(theirs, path, params={"c1": 0.1, "c2": 0.1, "max_iterations": 30})
    return str(path)


def opened(module, path):
    tagger = module.Tagger()
    tagger.open(path)
    return tagger


def outcome(function):
    """What a function returns, or the type of what it raises."""
    try:
        return function()
    except Exception as error:
        return type(error)


@for_each("given", FORMS)
def test_items(given):
    given = [[*token] if hasattr(token, "send") else token for token in given]
    sequence = ours.ItemSequence(given)
    assert sequence.items() == theirs.ItemSequence(given).items()
    assert ours.ItemSequence(sequence).items() == sequence.items()
    assert (len(sequence), repr(sequence)) == (len(given), f"<ItemSequence of size {len(given)}>")


@for_each("given", [None, [None], [1], [[1]], [{1: 2.0}], [{"a": None}], [{"a": "b", "c": 1j}]])
def test_what_is_no_item(given):
    with pytest.raises(TypeError):
        ours.ItemSequence(given)


def test_labels_and_probabilities(path):
    a, b = opened(theirs, path), opened(ours, path)
    assert a.labels() == b.labels()
    for tokens in X:
        labels = b.tag(tokens)
        assert labels == a.tag(tokens) == b.tag()
        assert b.probability(labels) == pytest.approx(a.probability(labels), abs=1e-9)
        for t in range(len(tokens)):
            for label in a.labels():
                assert b.marginal(label, t) == pytest.approx(a.marginal(label, t), abs=1e-9)


def test_all_forms_of_tokens_are_tagged(path):
    a, b = opened(theirs, path), opened(ours, path)
    more = [*FORMS[:5], *FORMS[6:], [["w:Main", "w:Main"]], [{"w": b"Main"}, {"n": 10**400 % 7}]]
    for given in more:
        assert b.tag(given) == a.tag(given) == b.tag(ours.ItemSequence(given))
        if given:
            expected = [a.marginal(label, 0) for label in a.labels()]
            assert [b.marginal(label, 0) for label in b.labels()] == pytest.approx(expected)
    assert b.tag(dict(token).keys() for token in X[0]) == a.tag([[*token] for token in X[0]])


NAMES = st.sampled_from(["w:Main", "title", "next:w:St", "w", "é:日", b"w:Oak"]) | st.text(
    "abé:日", max_size=20
)
VALUES = st.booleans() | st.floats(-3, 3) | st.integers(-3, 3) | st.sampled_from(["St", b"Main"])
ATTRIBUTES = st.recursive(
    st.dictionaries(NAMES, VALUES | st.lists(NAMES, max_size=3), max_size=5),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=4,
)
TOKENS = ATTRIBUTES | st.lists(NAMES, max_size=30) | st.tuples(NAMES, NAMES) | st.sets(NAMES)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given_any(st.lists(TOKENS, min_size=1, max_size=5))
def test_any_tokens_have_their_labels_and_probabilities(path, tokens):
    a, b, tagger = opened(theirs, path), opened(ours, path), load_tagger(path)
    labels = a.tag(tokens)
    assert labels == b.tag(tokens) == b.tag(ours.ItemSequence(tokens))
    assert labels == tagger(tokens) == tagger(ours.ItemSequence(tokens))
    assert b.probability(labels) == pytest.approx(a.probability(labels), abs=1e-9)
    for t in range(len(tokens)):
        for label in a.labels():
            assert b.marginal(label, t) == pytest.approx(a.marginal(label, t), abs=1e-9)


def test_errors_of_taggers(path, tmp_path):
    (tmp_path / "small").write_bytes(b"lCRFfoo")
    for module in (theirs, ours):
        tagger = module.Tagger()
        with pytest.raises(OSError, match="no such"):
            tagger.open("no such file")
        for name in (__file__, str(tmp_path / "small")):
            with pytest.raises(ValueError):
                tagger.open(name)
        found = [
            outcome(function)
            for function in (
                tagger.labels,
                lambda t=tagger: t.set([["a"]]),
                tagger.info,
                lambda t=tagger: t.open_inmemory(b""),
            )
        ]
        assert found == [ValueError, ValueError, RuntimeError, ValueError]
        tagger.open(path)
        label = tagger.labels()[0]
        assert (tagger.tag(), tagger.probability([]), tagger.marginal(label, 0)) == ([], 0.0, 0.0)
        assert tagger.tag([]) == []
        tagger.set([["a"]])
        assert tagger.probability([label.encode()]) == tagger.probability([label])
        assert tagger.marginal(label.encode(), 0) == tagger.marginal(label, 0)
        found = [
            outcome(lambda t=tagger, y=y: t.probability(y))
            for y in ([label] * 2, ["no label"], [b"no label"], [1], [None])
        ]
        assert found == [ValueError, RuntimeError, RuntimeError, TypeError, TypeError]
        found = [
            outcome(lambda t=tagger, given=given: t.marginal(*given))
            for given in ((label, 1), (label, -1), ("no label", 0), (1, 0), (label, "0"))
        ]
        assert found == [ValueError, ValueError, RuntimeError, TypeError, TypeError]
        with pytest.raises(TypeError, match="bytes"):
            tagger.open_inmemory("text")
        with tagger.open(path) as same:
            assert same is tagger
        assert outcome(tagger.tag) is ValueError


def test_models_in_memory_and_their_text(path, tmp_path, capfd):
    with open(path, "rb") as file:
        content = file.read()
    a, b = theirs.Tagger(), ours.Tagger()
    assert a.open_inmemory(content) is not b.open_inmemory(content)
    assert vars(a.info()) == vars(b.info())
    a.dump(str(tmp_path / "a"))
    b.dump(str(tmp_path / "b"))
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    b.dump()
    assert capfd.readouterr().out == (tmp_path / "a").read_text()


@for_each("algorithm", ALGORITHMS)
def test_parameters(algorithm):
    a, b = theirs.Trainer(algorithm), ours.Trainer(algorithm)
    assert b.params() == a.params()
    assert b.get_params() == a.get_params()
    b.set_params(a.get_params())
    assert b.get_params() == a.get_params()
    assert all(b.help(name) for name in b.params())
    for trainer in (a, b):
        trainer.set("feature.possible_states", True)
        trainer.set("feature.minfreq", "2")
        trainer.set("max_iterations", 7.0)
    assert b.get_params() == a.get_params()
    for trainer in (a, b):
        for call in (
            lambda t: t.set("foo", 1),
            lambda t: t.get("foo"),
            lambda t: t.help("foo"),
            lambda t: t.select("foo"),
        ):
            assert outcome(lambda t=trainer, call=call: call(t)) is ValueError


def test_errors_of_append():
    for module in (theirs, ours):
        trainer = module.Trainer(verbose=False)
        assert outcome(lambda t=trainer: t.append([["a"]], ["x", "y"])) is ValueError
        assert outcome(lambda t=trainer: t.append([["a"]], [1])) is TypeError


@for_each("c1", [0.0, 0.2])
def test_trained_models_are_the_same(c1, tmp_path):
    params = {"c1": c1, "c2": 0.05, "feature.possible_transitions": True, "delta": 1e-9}
    for module in (theirs, ours):
        trained(module, tmp_path / module.__name__, params=params)
    a, b = (opened(theirs, str(tmp_path / module.__name__)) for module in (theirs, ours))
    assert a.labels() == b.labels()
    assert [a.tag(tokens) for tokens in X] == [b.tag(tokens) for tokens in X]
    assert b.info().transitions == pytest.approx(a.info().transitions, abs=0.02)


def test_nothing_to_train_on(tmp_path):
    for module in (theirs, ours):
        module.Trainer(verbose=False).train(str(tmp_path / module.__name__))
    assert (tmp_path / ours.__name__).exists()
    trainer = trained(ours, "", n=6)
    trainer.clear()
    assert trainer.logparser.last_iteration
    trainer.train("")
    assert trainer.logparser.last_iteration is None


def test_the_log_as_it_is_told(tmp_path):
    class Telling(ours.Trainer):
        def __init__(self):  # and no call of ours
            self.told = []

        def on_iteration(self, log, info):
            assert log.startswith(f"***** Iteration #{info['num']} *****\n")
            self.told.append(info["loss"])

    trainer = Telling()
    trainer.verbose = True
    trainer.append(X[0], Y[0])
    trainer.append(X[1], Y[1], 1)
    out = io.StringIO()
    with redirect_stdout(out):
        trainer.train(tmp_path / "model", holdout=1)
    parser = trainer.logparser
    assert trainer.told == [info["loss"] for info in parser.iterations]
    assert len(trainer.told) > 3
    assert trainer.told == sorted(trainer.told, reverse=True)
    last = parser.last_iteration
    tagged = opened(ours, tmp_path / "model").tag(X[1])
    right = np.mean([a == b for a, b in zip(tagged, Y[1], strict=True)])
    assert last["item_accuracy_float"] == pytest.approx(right)
    assert last["instance_accuracy"] == (right == 1)
    assert sum(score.ref for score in last["scores"].values()) == len(Y[1])
    assert last["avg_f1"] == pytest.approx(
        np.mean([score.f1 or 0 for score in last["scores"].values()]), abs=1e-4
    )
    for line in ("Holdout group: 2\n", "type: CRF1d\n", "c2: 1.000000\n", "Storing the model\n"):
        assert line in parser.log
        assert line in out.getvalue()
    assert parser.training_seconds is not None


@for_each("c1", [0.0, 0.1])
def test_the_figures_of_the_log(c1, tmp_path):
    parsers = []
    for module in (theirs, ours):
        params = {"c1": c1, "c2": 0.1, "max_iterations": 4}
        trainer = module.Trainer(params=params, verbose=False)
        for i, (tokens, labels) in enumerate(zip(X[:20], Y[:20], strict=True)):
            trainer.append(tokens, labels, i % 2)
        trainer.append([["a"], ["b"]], ["own", "own"], 1)
        trainer.train(str(tmp_path / module.__name__), holdout=1)
        parsers.append(trainer.logparser)
    a, b = parsers
    assert b.featgen_num_features == a.featgen_num_features
    assert opened(ours, str(tmp_path / ours.__name__)).labels() == (
        opened(theirs, str(tmp_path / theirs.__name__)).labels()
    )
    for theirs_, ours_ in zip(a.iterations, b.iterations, strict=True):
        for name in ("loss", "feature_norm", "error_norm"):
            assert ours_[name] == pytest.approx(theirs_[name], rel=1e-3)
        assert ours_["active_features"] == pytest.approx(theirs_["active_features"], rel=0.01)
        for name in ("avg_f1", "item_accuracy_float", "instance_accuracy_float"):
            assert ours_[name] == pytest.approx(theirs_[name], abs=1e-3)
        assert ours_["linesearch_trials"] >= 1
        assert 0 < ours_["linesearch_step"] <= 1
        assert ours_.keys() == theirs_.keys()


@for_each("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_titles_and_the_order_of_labels_in_the_log(algorithm, tmp_path):
    logs = []
    for module in (theirs, ours):
        trainer = module.Trainer(algorithm, {"max_iterations": 2}, verbose=False)
        for i, (tokens, labels) in enumerate(zip(X[:20], Y[:20], strict=True)):
            trainer.append(tokens, labels, i % 2)
        trainer.train(str(tmp_path / "model"), holdout=1)
        log = trainer.logparser.log
        title = log[3 + next(i for i, line in enumerate(log) if line.startswith("Number of "))]
        head = next(line for line in log if line.startswith("***** "))
        shown = [line for line in log if line.startswith("    ")]
        never = {line.partition(":")[0] for line in shown if "******" in line}
        logs.append(
            (title, head, [*dict.fromkeys(line.partition(":")[0] for line in shown)], never)
        )
    assert logs[0] == logs[1]


def test_labels_of_bytes_and_no_limit_of_iterations(tmp_path):
    models = []
    for module in (theirs, ours):
        trainer = module.Trainer(params={"max_iterations": 0}, verbose=False)
        for tokens, labels in zip(X[:20], Y[:20], strict=True):
            trainer.append(tokens, [label.encode() for label in labels])
        trainer.train(str(tmp_path / module.__name__))
        models.append(opened(ours, str(tmp_path / module.__name__)))
    assert [models[1].tag(tokens) for tokens in X] == [models[0].tag(tokens) for tokens in X]
    trainer = ours.Trainer("ap", {"max_iterations": 0}, verbose=False)
    trainer.append(X[0], Y[0])
    with pytest.raises(ValueError, match="max_iterations must be at least 1"):
        trainer.train("")


@for_each("given", FORMS)
def test_trainers_read_all_forms_of_tokens(given, tmp_path):
    given = [[*token] if hasattr(token, "send") else token for token in given]
    found = []
    for module, tokens in ((theirs, given), (ours, given), (ours, ours.ItemSequence(given))):
        trainer = module.Trainer(params={"c2": 0.1}, verbose=False)
        trainer.append(tokens, [f"y{i % 2}" for i in range(len(given))])
        trainer.append([["other"]], ["y2"])
        trainer.train(str(tmp_path / "model"))
        found.append(opened(theirs, str(tmp_path / "model")).info().state_features)
    for other in found[1:]:
        assert other == pytest.approx(found[0], abs=1e-3)


def test_errors_in_messages_end_training(tmp_path):
    class Failing(ours.Trainer):
        def message(self, message):
            raise KeyError(message)

    trainer = Failing()
    trainer.append(X[0], Y[0])
    with pytest.raises(KeyError):
        trainer.train(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@for_each("algorithm", ["lbfgs", "l2sgd", "ap"])
def test_logs_of_crfsuite_are_read(algorithm, tmp_path):
    trainer = theirs.Trainer(algorithm, verbose=False, params={"max_iterations": 4})
    for i, (tokens, labels) in enumerate(zip(X[:20], Y[:20], strict=True)):
        trainer.append(tokens, labels, i % 2)
    trainer.train(str(tmp_path / "model"), holdout=1)
    parser = TrainLogParser()
    told = [parser.feed(line) for line in trainer.logparser.log]
    assert told[0] == "start"
    for a, b in zip(parser.iterations, trainer.logparser.iterations, strict=True):
        # They leave out labels that are predicted, but do not occur.
        a["scores"] = {label: a["scores"][label] for label in b["scores"]}
    names = "iterations last_log events log featgen_percent featgen_num_features training_seconds"
    for name in names.split():
        assert getattr(parser, name) == getattr(trainer.logparser, name)


def test_programs_that_import_pycrfsuite(path):
    program = f"""
import sys
import sklearn_crcrf.compat.pycrfsuite as module
sys.modules["pycrfsuite"] = module
import pycrfsuite
from pycrfsuite import BaseTrainer, Trainer, Tagger, ItemSequence
from pycrfsuite import CRFSuiteError, CRFSUITE_VERSION
from pycrfsuite._logparser import TrainLogParser
tagger = Tagger()
tagger.open({path!r})
print(len(tagger.tag([["a"]])), pycrfsuite.Tagger is module.Tagger)
"""
    env = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout == "1 True\n"


def test_taggers_need_no_scikit_learn(path):
    program = f"""
import sys
from sklearn_crcrf.compat import pycrfsuite
tagger = pycrfsuite.Tagger()
tagger.open({path!r})
tagger.tag([["a"]])
print({{"scipy", "sklearn", "joblib"}} & {{*sys.modules}})
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
