"""What may go wrong has a clear outcome, and what is large is only large."""

import _thread
import copy
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict

from sklearn_crcrf import EmpiricalCRF, SequenceArray
from sklearn_crcrf.base import batches
from sklearn_crcrf.counts import classifier as base_module
from sklearn_crcrf.counts.changed import ChangedCounts
from sklearn_crcrf.data.vocabulary import Vocabulary
from sklearn_crcrf.estimators.empirical import estimator as estimator_module
from sklearn_crcrf.estimators.empirical.changed_sums import ChangedSums

X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], [], ["dogs", "sleep"]]
y = [["D", "N", "V"], ["D", "N", "V"], [], ["N", "V"]]
NEW = [["the", "zebra"], [], ["a", "dogs", "walks"]]

MODES = [EmpiricalCRF(), EmpiricalCRF(order=2), EmpiricalCRF.ecrn(), EmpiricalCRF.maxent()]
modes = pytest.mark.parametrize("crf", MODES, ids=repr)

PREDICTIONS = ["predict", "predict_proba", "predict_log_proba", "predict_k_best", "confidence"]


def large_corpus(n_tokens, n_words, n_labels, length=20, seed=0):
    rng = np.random.default_rng(seed)
    words = rng.integers(n_words, size=n_tokens)
    labels = np.where(rng.random(n_tokens) < 0.9, words, words + 1) % n_labels
    offsets = np.append(np.arange(0, n_tokens, length), n_tokens)
    symbols = np.array([f"w{i}" for i in range(n_words)], dtype=object)
    return SequenceArray(symbols[words], offsets), SequenceArray(labels, offsets)


# Nothing, or too little


@modes
def test_nothing_to_fit(crf):
    for X_empty, y_empty in [([], []), ([[]], [[]]), ([[], []], [[], []])]:
        with pytest.raises(ValueError, match="X has no tokens"):
            clone(crf).fit(X_empty, y_empty)
    with pytest.raises(ValueError, match="sample_weight is zero for all tokens"):
        clone(crf).fit(X, y, sample_weight=[0, 0, 1, 0])
    with pytest.raises(ValueError, match="requires y to be passed"):
        clone(crf).fit(X, None)


@modes
@for_each("method", [*PREDICTIONS, "known_tokens"])
def test_nothing_to_predict(crf, method):
    crf = clone(crf)
    with pytest.raises(NotFittedError):
        getattr(crf, method)(X)
    crf.fit(X, y)
    assert len(getattr(crf, method)([])) == 0
    for empty in ([[]], [[], []], SequenceArray.from_sequences([[], []])):
        assert len(getattr(crf, method)(empty)) == len(empty)


@modes
def test_empty_sequences_change_nothing(crf):
    gaps = [[], *(s for sequence in X for s in (sequence, []))]
    of_gaps = [[], *(s for sequence in y for s in (sequence, []))]
    one, two = clone(crf).fit(X, y), clone(crf).fit(gaps, of_gaps)
    assert one.counts_ == two.counts_
    assert two.predict([[], *NEW, []]).tolist() == [[], *one.predict(NEW), []]


@modes
def test_a_single_token(crf):
    crf = clone(crf).fit([["a"]], [["N"]])
    assert crf.predict([["a"], ["b", "a"], []]).tolist() == [["N"], ["N", "N"], []]
    assert crf.predict_proba([["b"]])[0].tolist() == [[1.0]]


@modes
def test_one_label(crf):
    one = [["N"] * len(s) for s in X]
    crf = clone(crf).fit(X, one)
    assert crf.classes_.tolist() == ["N"]
    assert crf.predict([*X, ["oh", "the"]]).tolist() == [*one, ["N", "N"]]
    np.testing.assert_allclose(np.vstack(crf.predict_proba(X)), 1)
    assert crf.predict_k_best(X, k=3)[0] == [(["N", "N", "N"], pytest.approx(1.0))]


def test_one_label_with_fitted_exponents():
    one = [["N"] * len(s) for s in X]
    assert EmpiricalCRF(exponents="fit").fit(X, one).predict(X).tolist() == one


@pytest.mark.parametrize("n, weights", [(1, None), (4, [1, 0, 0, 0])])
def test_fitted_exponents_need_two_sequences(n, weights):
    with pytest.raises(ValueError, match="needs tokens in two sequences"):
        EmpiricalCRF(exponents="fit").fit(X[:n], y[:n], sample_weight=weights)
    with pytest.raises(ValueError, match="needs tokens in two sequences"):
        EmpiricalCRF(exponents="fit").fit([*X[:1], []], [*y[:1], []])
    fitted = EmpiricalCRF(exponents="fit").fit([["a", "b"], ["b"]], [["A", "B"], ["B"]])
    assert fitted.predict([["a", "b"]]).tolist() == [["A", "B"]]


@modes
def test_labels_unseen_at_fit(crf):
    crf = clone(crf).fit(X, y)
    assert crf.score(X[:1], [["D", "N", "Q"]]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match=r"every sequence has labels|exponents are fitted only"):
        crf.fit_exponents(X[:1], [["D", "N", "Q"]])


def test_exponents_are_fitted_without_sequences_of_unseen_labels():
    with_unseen, without = EmpiricalCRF().fit(X, y), EmpiricalCRF().fit(X, y)
    with_unseen.fit_exponents([*X[:2], X[0]], [*y[:2], ["D", "N", "Q"]])
    without.fit_exponents(X[:2], y[:2])
    assert with_unseen.exponents_ == without.exponents_ != EmpiricalCRF().fit(X, y).exponents_


# What is not as it should be is named


@modes
@for_each("token", [None, float("nan"), 3, b"dog", ["dog"], {"w": "dog"}])
def test_tokens_that_are_none(crf, token):
    wrong = [["the", "dog"], [], ["a", token, token]]
    with pytest.raises(ValueError, match=r"X, sequence 2, position 1: the token must be a str"):
        clone(crf).fit(wrong, [["D", "N"], [], ["D", "N", "N"]])
    crf = clone(crf).fit(X, y)
    for method in PREDICTIONS:
        with pytest.raises(ValueError, match="sequence 2, position 1"):
            getattr(crf, method)(wrong)
    with pytest.raises(ValueError, match="sequence 0, position 1"):
        crf.partial_fit([["a", token]], [["D", "N"]])


def test_values_that_are_none():
    dicts = [[{"w": "a", "p": "b"}], [{"w": "b", "p": "c"}, {"w": "c", "p": None}]]
    with pytest.raises(ValueError, match=r"sequence 1, position 1: 'p' must be .* but is None"):
        EmpiricalCRF().fit(dicts, [["A"], ["B", "C"]])
    with pytest.raises(ValueError, match="sequence 1, position 0: the token must be a dict"):
        EmpiricalCRF().fit([[{"w": "a"}], ["b"]], [["A"], ["B"]])


def test_lengths_that_differ():
    for crf in (EmpiricalCRF(), EmpiricalCRF().fit(X, y)):
        with pytest.raises(ValueError, match="X has 4 sequences, but y has 3"):
            crf.fit(X, y[:3])
        with pytest.raises(ValueError, match="sequence 3 has 2 tokens in X, but 1 in y"):
            crf.fit(X, [*y[:3], ["N"]])
    with pytest.raises(ValueError, match="sequence 2 has 0 tokens in X, but 1 in y"):
        crf.partial_fit(X, [*y[:2], ["N"], y[3]])
    with pytest.raises(ValueError, match="sequence 0 has 3 tokens in X, but 2 in y"):
        crf.score(X, [y[0][:2], *y[1:]])


def test_a_sequence_instead_of_sequences():
    with pytest.raises(ValueError, match=r"put it into a list: \[X\]"):
        EmpiricalCRF().fit(X[0], y[0])
    with pytest.raises(ValueError, match=r"put it into a list: \[X\]"):
        EmpiricalCRF().fit(X, y).predict(X[0])


@for_each(
    "wrong",
    [
        {"mu_oov": -1},
        {"mu_oov": "much"},
        {"sigma": 0},
        {"sigma": float("nan")},
        {"spelling": "none"},
        {"zeros": "some"},
        {"order": 4},
        {"validation_fraction": 1.0},
        {"exponents": "found"},
        {"observation": 1},
        {"binning": "ten"},
        {"sample_unit": "row"},
        {"n_jobs": 1.5},
    ],
)
def test_parameters_out_of_range(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        EmpiricalCRF(**wrong).fit(X, y)


def test_exponents_that_there_are_not():
    with pytest.raises(ValueError, match="'nonsense'"):
        EmpiricalCRF(exponents={"nonsense": 1.0}).fit(X, y)


# Words of any kind

STRANGE = [
    "",
    " ",
    "\0",
    "\ud800",
    "\udfff\ud800",
    "👩‍👩‍👧‍👦",
    "e\u0301\u0301\u0301",
    "İstanbul",
    "ß",
    "ﬁ",
    "\u202eabc",
    "\U0001d518\U0001d52b",
    "١٢٣",
    "-" * 1000,
    "x" * 100_000,
    "é" * 100_000 + "👍",
]


@modes
def test_strange_spellings(crf):
    sequences = [[word, "the"] for word in STRANGE]
    labels = [["S", "D"] for _ in STRANGE]
    crf = clone(crf).fit(X, y)
    for proba in crf.predict_proba(sequences):
        np.testing.assert_allclose(proba.sum(axis=1), 1)
    crf.fit([*X, *sequences], [*y, *labels])
    assert crf.predict(sequences).tolist() == labels
    assert all(seen == [True, True] for seen in crf.known_tokens(sequences))
    assert crf.forget(sequences, labels).predict(X).tolist() == y


# Large


def test_a_long_sequence():
    n = 100_000
    words, labels = large_corpus(n, 50, 5, length=n)
    crf = EmpiricalCRF().fit(words, labels)
    predicted = crf.predict(words)
    assert predicted.lengths.tolist() == [n]
    assert (predicted.data == labels.data).mean() > 0.85
    np.testing.assert_allclose(crf.predict_proba(words).data.sum(axis=1), 1)


@pytest.mark.parametrize("crf", [EmpiricalCRF(), EmpiricalCRF.ecrn()], ids=repr)
def test_a_thousand_labels(crf):
    words, labels = large_corpus(8000, 1000, 1000)
    crf = clone(crf).fit(words, labels)
    assert len(crf.classes_) == 1000
    assert crf.score(words[:20], labels[:20]) > 0.8
    np.testing.assert_allclose(crf.predict_proba(words[:5]).data.sum(axis=1), 1)


def test_very_many_words():
    n_words = 40_000
    words = np.array([f"{i % 1009}-{i:x}" for i in range(n_words)], dtype=object)
    offsets = np.arange(0, n_words + 1, 20)
    labels = SequenceArray(np.arange(n_words) % 3, offsets)
    sequences = SequenceArray(words, offsets)
    crf = EmpiricalCRF().fit(sequences, labels)
    assert crf.known_tokens(sequences[:5]).data.all()
    assert crf.score(sequences[:5000], labels[:5000]) > 0.9


# The same, whatever the circumstances


@modes
def test_threads_do_not_matter(crf, monkeypatch):
    monkeypatch.setattr(batches, "CHUNK", 2**12)
    words, labels = large_corpus(1200, 100, 10)
    one = clone(crf).set_params(n_jobs=1).fit(words, labels)
    two = clone(crf).set_params(n_jobs=2).fit(words, labels)
    assert np.array_equal(one.predict_proba(words).data, two.predict_proba(words).data)
    assert one.predict(words) == two.predict(words)
    assert one.predict_k_best(words[:50]) == two.predict_k_best(words[:50])


@modes
def test_fits_do_not_differ(crf):
    one = clone(crf).fit(X, y)
    two = clone(crf).fit(NEW, [["N", "N"], [], ["N", "D", "V"]]).fit(X, y)
    assert one.counts_ == two.counts_
    for p, q in zip(one.predict_proba(NEW), two.predict_proba(NEW), strict=True):
        assert np.array_equal(p, q)
    assert (one.coef_ != two.coef_).nnz == 0


def test_the_seed_of_hashes_does_not_matter(capsys):
    program = f"""
import hashlib, pickle
from sklearn_crcrf import EmpiricalCRF
X, y = {X!r}, {y!r}
dicts = [[{{"w": w, "parts": set(w), "n": {{"m": len(w)}}}} for w in s] for s in X]
models = [
    EmpiricalCRF().fit(X, y),
    EmpiricalCRF(order=2, exponents="fit").fit(dicts, y),
    EmpiricalCRF.maxent().fit(X, [[(label,) for label in s] for s in y]),
]
print(hashlib.sha256(pickle.dumps(models)).hexdigest())
"""
    exec(program, {})
    seed = "0" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == capsys.readouterr().out


@modes
def test_threads_share_a_model(crf):
    words, labels = large_corpus(800, 100, 10)
    crf = clone(crf).fit(words, labels)
    parts = [words[i::8] for i in range(8)]
    expected = [crf.predict_proba(part) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(crf.predict_proba, parts)) == expected
            assert [p.tolist() for p in pool.map(crf.predict, parts)] == [
                crf.predict(part).tolist() for part in parts
            ]


def test_a_model_is_used_while_it_learns():
    crf = EmpiricalCRF().fit(X, y)
    more = [["one", "more", f"word{i}"] for i in range(5)]
    stop, errors = threading.Event(), []

    def predict():
        while not stop.is_set():
            try:
                for proba in crf.predict_proba([*NEW, *more]):
                    np.testing.assert_allclose(proba.sum(axis=1), 1)
            except Exception as error:
                errors.append(error)
                return

    thread = threading.Thread(target=predict)
    thread.start()
    for s in more * 5:
        crf.partial_fit([s], [["D", "N", "V"]])
    stop.set()
    thread.join()
    assert errors == []


@modes
def test_memory_that_cannot_be_written(crf, tmp_path):
    words, labels = large_corpus(800, 100, 10)
    as_text = SequenceArray(words.data.astype(str), words.offsets)
    expected = clone(crf).fit(words, labels)
    (file,) = joblib.dump((as_text, labels, expected), tmp_path / "all.joblib")
    mapped_words, mapped_labels, model = joblib.load(file, mmap_mode="r")
    assert not mapped_words.data.flags.writeable
    assert not model.classes_.flags.writeable
    for fitted in (model, clone(crf).fit(mapped_words, mapped_labels)):
        assert fitted.predict(mapped_words) == expected.predict(words)
        assert fitted.predict_proba(mapped_words) == expected.predict_proba(words)
        assert fitted.predict_k_best(mapped_words[:9]) == expected.predict_k_best(words[:9])
        fitted.partial_fit(mapped_words, mapped_labels).forget(mapped_words, mapped_labels)
        assert fitted.counts_ == expected.counts_
    weights = np.ones(len(words))
    weights.flags.writeable = False
    assert clone(crf).fit(words, labels, sample_weight=weights).counts_ == expected.counts_


def test_attributes_that_cannot_be_written(tmp_path):
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    rows = sp.random_array((300, 20), density=0.3, format="csr", rng=rng)
    labels = rng.integers(3, size=300)
    expected = EmpiricalCRF().fit(rows, labels)
    (file,) = joblib.dump((rows, rows.toarray(), expected), tmp_path / "rows.joblib")
    mapped_rows, mapped_table, model = joblib.load(file, mmap_mode="r")
    assert np.array_equal(model.predict_proba(mapped_rows), expected.predict_proba(rows))
    assert EmpiricalCRF().fit(mapped_rows, labels).counts_ == expected.counts_
    numbers = EmpiricalCRF().fit(mapped_table, labels)
    assert numbers.predict(mapped_table).shape == (300,)


def test_processes_share_the_data():
    crf = EmpiricalCRF()
    words, labels = large_corpus(120_000, 300, 5, length=10)
    words = SequenceArray(words.data.astype(str), words.offsets)  # larger than joblib's 1 MB
    with joblib.parallel_config(backend="loky"):
        predicted = cross_val_predict(crf, words, labels, cv=2, n_jobs=2)
    assert predicted == cross_val_predict(crf, words, labels, cv=2)


# Interrupted


COUNTING = [
    (Vocabulary, "add"),
    (base_module, "count_corpus"),
    (base_module.LabelIds, "classes"),
]
ESTIMATING = [
    (estimator_module, "renumber"),
    (estimator_module, "Statistics"),
    (estimator_module.SmoothedModel, "__init__"),
]


def state(crf):
    return {name: id(value) for name, value in vars(crf).items()}


def named(part):
    return getattr(part, "__name__", part)


@pytest.mark.parametrize(("owner", "name"), COUNTING, ids=named)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_model_stays_as_it_was(owner, name, error, monkeypatch):
    new, labels = [["an", "unheard", "of"]], [["D", "X", "P"]]
    fresh, fitted = EmpiricalCRF(), EmpiricalCRF().fit(X, y)
    expected = [fitted.predict_proba([*NEW, *new]), fitted.counts_, state(fitted)]

    def stop(*args, **kwargs):
        raise error

    monkeypatch.setattr(owner, name, stop)
    monkeypatch.setattr(EmpiricalCRF, "_room", lambda crf: 0)  # so that all is counted in bulk
    for crf in (fresh, fitted):
        before = state(crf)
        for change in (crf.fit, crf.partial_fit):
            with pytest.raises(error):
                change(new, labels)
        assert state(crf) == before
    with pytest.raises(error):
        fitted.forget(X[:1], y[:1])
    monkeypatch.undo()
    assert not hasattr(fresh, "classes_")
    for p, q in zip(fitted.predict_proba([*NEW, *new]), expected[0], strict=True):
        assert np.array_equal(p, q)
    assert [fitted.counts_, state(fitted)] == expected[1:]
    assert fitted.partial_fit(new, labels).forget(new, labels).counts_ == expected[1]
    for p, q in zip(fitted.predict_proba([*NEW, *new]), expected[0], strict=True):
        assert np.array_equal(p, q)


@pytest.mark.parametrize("owner", [ChangedCounts, ChangedSums])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_small_change_that_is_interrupted_changes_nothing(owner, error, monkeypatch):
    one = X[:1], y[:1]
    fitted = EmpiricalCRF().fit(X, y)
    learned = copy.copy(fitted).partial_fit(*one)
    expected = [crf.predict_proba(NEW) for crf in (fitted, copy.copy(learned))]
    for crf, proba in zip((fitted, learned), expected, strict=True):
        before = state(crf)
        monkeypatch.setattr(owner, "add", raising(error))
        for change in (crf.partial_fit, crf.forget):
            with pytest.raises(error):
                change(*one)
        assert state(crf) == before
        monkeypatch.undo()
        for p, q in zip(crf.predict_proba(NEW), proba, strict=True):
            assert np.array_equal(p, q)


def raising(error):
    def stop(*args, **kwargs):
        raise error

    return stop


@pytest.mark.parametrize(("owner", "name"), ESTIMATING, ids=named)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_estimate_is_made_when_somebody_looks_again(owner, name, error, monkeypatch):
    new, labels = [["an", "unheard", "of"]], [["D", "X", "P"]]
    expected = EmpiricalCRF().fit([*X, *new], [*y, *labels])
    fresh, fitted = EmpiricalCRF(), EmpiricalCRF().fit(X, y)
    before = state(fitted)
    more = copy.copy(fitted).partial_fit(new, labels)

    def stop(*args, **kwargs):
        raise error

    monkeypatch.setattr(owner, name, stop)
    for crf in (fresh, fitted):
        with pytest.raises(error):
            crf.fit(new, labels)
    with pytest.raises(error):
        more.predict(NEW)
    with pytest.raises(error):
        copy.copy(more).forget(new, labels).predict(NEW)
    monkeypatch.undo()
    assert vars(fresh).keys() == vars(EmpiricalCRF()).keys() and state(fitted) == before
    for p, q in zip(more.predict_proba(NEW), expected.predict_proba(NEW), strict=True):
        assert np.array_equal(p, q)
    assert more.counts_ == expected.counts_


def test_interrupted_fitting_of_exponents(monkeypatch):
    fitted = EmpiricalCRF().fit(X, y)
    before, weights = state(fitted), fitted.model_.state.exponents.copy()
    exponents = dict(fitted.exponents_)
    calls = []
    original = estimator_module.SmoothedModel.pullback

    def third_time(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(estimator_module.SmoothedModel, "pullback", third_time)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit_exponents(X, y)
    assert len(calls) == 3
    assert state(fitted) == before
    assert fitted.exponents_ == exponents
    assert np.array_equal(fitted.model_.state.exponents, weights)


def test_failed_changes_leave_no_trace():
    crf = EmpiricalCRF().fit(X, y)
    before = state(crf)
    for change in (crf.fit, crf.partial_fit, crf.forget, crf.fit_exponents):
        for X_wrong, y_wrong in [(X, y[:2]), ([["a", None]], [["D", "N"]])]:
            with pytest.raises(ValueError):
                change(X_wrong, y_wrong)
    with pytest.raises(ValueError):
        crf.forget([["zebra"]], [["Z"]])
    assert state(crf) == before
    assert crf.predict([["zebra"]]).shape == (1,)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1, 0.3])
def test_a_real_interrupt(delay):
    words, labels = large_corpus(100_000, 5000, 20)
    crf = EmpiricalCRF().fit(X, y)
    before = clone(crf).fit(X, y)
    after = clone(crf).fit(X, y).partial_fit(words, labels)
    timer = threading.Timer(delay, _thread.interrupt_main)
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        while True:  # until it arrives
            clone(crf).fit(words, labels)
            crf.partial_fit(words, labels)
            crf.forget(words, labels)
    timer.join()
    expected = before if len(crf.classes_) == 3 else after
    assert crf.counts_ == expected.counts_
    for p, q in zip(crf.predict_proba(NEW), expected.predict_proba(NEW), strict=True):
        assert np.array_equal(p, q)


def test_a_signal_in_the_middle_of_a_fit(monkeypatch):
    fitted = EmpiricalCRF().fit(X, y)
    before = state(fitted)
    original = base_module.count_corpus

    def count(*args):
        signal.raise_signal(signal.SIGINT)
        return original(*args)

    monkeypatch.setattr(base_module, "count_corpus", count)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(NEW, [["D", "N"], [], ["D", "N", "V"]])
    assert state(fitted) == before


@for_each("crf", MODES)
def test_a_missing_word_is_the_empty_word(crf):
    with_both = [[{"w": ""}, {"w": "a"}, {}], [{"w": ""}, {}]]
    without = [[{"w": ""}, {"w": "a"}, {"w": ""}], [{"w": ""}, {"w": ""}]]
    labels = [["N", "V", "N"], ["V", "N"]]
    expected = clone(crf).fit(without, labels).predict_proba(without)
    found = clone(crf).fit(with_both, labels).predict_proba(with_both)
    np.testing.assert_allclose(np.vstack(found), np.vstack(expected))


@pytest.mark.parametrize("kept", [1e-300, 1e-20])
def test_counts_that_contradict_each_other_by_rounding_are_named(kept):
    crf = EmpiricalCRF(zeros="floored")
    crf.fit([["a", "b"], ["c", "b"]], [["N", "V"], ["V", "V"]], sample_weight=[1.0, kept])
    with pytest.raises(ValueError, match=r"sample_weight: the weights, .* differ so much in size"):
        crf.forget([["a", "b"]], [["N", "V"]], sample_weight=[1.0])


def test_huge_attributes_have_no_probabilities():
    X, y = [np.full((3, 2), 1e30)] * 4, [["N", "N", "N"]] * 4
    X = [sp.csr_matrix(x) for x in X]
    crf = EmpiricalCRF().fit(X, y, sample_weight=np.full(4, 1e6))
    with pytest.raises(ValueError, match="too large for probabilities"):
        crf.confidence(X + [x[:1] for x in X])
