"""Every accepted input, and how predictions mirror it."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

from sklearn_crcrf import HMM, EmpiricalCRF, SequenceArray
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures, Window

pd = pytest.importorskip("pandas")

X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], [], ["dogs", "sleep"], ["the", "cats"]]
y = [["D", "N", "V"], ["D", "N", "V"], [], ["N", "V"], ["D", "N"]]
NEW = [["the", "cat"], [], ["a", "zebra", "walks"]]
WORDS = [w for s in X for w in s]
LABELS = [label for s in y for label in s]


def frame(X):
    rows = [(i, t, word) for i, s in enumerate(X) for t, word in enumerate(s)]
    columns = pd.DataFrame(rows, columns=["sequence", "position", "word"])
    return columns.set_index(["sequence", "position"])


def dicts(X, **more):
    return [[{"word": w, **{k: f(w) for k, f in more.items()}} for w in s] for s in X]


def flat(X):
    return SequenceArray.from_sequences(X)


@pytest.mark.parametrize(
    "crf",
    [EmpiricalCRF(), EmpiricalCRF(order=2), EmpiricalCRF.ecrn(), EmpiricalCRF.maxent()],
    ids=repr,
)
def test_the_same_words_have_the_same_labels_in_any_container(crf):
    lists = crf.fit(X, y).predict(NEW)
    probability = crf.predict_proba(NEW)
    strings = SequenceArray(np.array(WORDS), flat(X).offsets)
    labels = SequenceArray(np.array(LABELS), flat(y).offsets)
    for X_fit, y_fit, X_new in [
        (flat(X), flat(y), flat(NEW)),
        (strings, labels, NEW),
        (X, labels, flat(NEW)),
        (dicts(X), y, dicts(NEW)),
        ([tuple(s) for s in X], [np.array(s) for s in y], [np.array(s) for s in NEW]),
        (np.array([*X, None], dtype=object)[:-1], y, NEW),
        (Window(["token[0]"]).fit_transform(X), y, Window(["token[0]"]).fit_transform(NEW)),
    ]:
        crf.fit(X_fit, y_fit)
        assert [list(s) for s in crf.predict(X_new)] == lists.tolist()
        for p, q in zip(crf.predict_proba(X_new), probability, strict=True):
            assert np.array_equal(p, q)
    crf.set_params(sample_unit="token").fit(frame(X), LABELS)
    assert crf.predict(frame(NEW)).tolist() == [label for s in lists for label in s]
    assert np.array_equal(crf.predict_proba(frame(NEW)), np.vstack(probability))


def test_lists_are_mirrored():
    crf = EmpiricalCRF().fit(X, y)
    lengths = [2, 0, 3]
    for mirrored, dtype in [(crf.predict(NEW), str), (crf.known_tokens(NEW), bool)]:
        assert isinstance(mirrored, np.ndarray)
        assert mirrored.dtype == object
        assert [len(s) for s in mirrored] == lengths
        assert {type(s) for s in mirrored} == {list}
        assert {type(value) for s in mirrored for value in s} == {dtype}
    for mirrored in (crf.predict_proba(NEW), crf.predict_log_proba(NEW)):
        assert isinstance(mirrored, list)
        assert [p.shape for p in mirrored] == [(n, 3) for n in lengths]
    best = crf.predict_k_best(NEW, k=2)
    assert [len(paths) for paths in best] == [2, 1, 2]
    assert best[0][0][0] == crf.predict(NEW)[0]
    assert best[1] == [([], 1.0)]
    assert crf.confidence(NEW).shape == (3,)
    np.testing.assert_allclose(crf.confidence(NEW), [paths[0][1] for paths in best])
    assert crf.known_tokens(NEW).tolist() == [[True, True], [], [True, False, True]]
    equal_lengths = crf.predict([["a", "b"], ["c", "d"]])
    assert equal_lengths.shape == (2,)


def test_sequence_arrays_are_mirrored():
    crf = EmpiricalCRF().fit(X, y)
    new = flat(NEW)
    for method, shape in [
        (crf.predict, (3,)),
        (crf.known_tokens, (3,)),
        (crf.predict_proba, (3, 3)),
        (crf.predict_log_proba, (3, 3)),
    ]:
        mirrored = method(new)
        assert isinstance(mirrored, SequenceArray)
        assert mirrored.shape == shape
        assert np.array_equal(mirrored.offsets, new.offsets)
    assert crf.predict(new).data.dtype == crf.classes_.dtype
    assert crf.known_tokens(new).data.dtype == bool
    assert crf.predict_k_best(new) == crf.predict_k_best(NEW)


def test_probabilities():
    crf = EmpiricalCRF().fit(X, y)
    proba, logs = crf.predict_proba(flat(NEW)).data, crf.predict_log_proba(flat(NEW)).data
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(logs), proba)
    assert proba.dtype == np.float64


def test_tables_are_mirrored():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 3))
    labels = np.where(table[:, 1] > 0, "up", "down")
    for rows in (table, table.tolist(), table.astype(np.float32), pd.DataFrame(table)):
        crf = EmpiricalCRF(sample_unit="token").fit(rows, labels)
        assert crf.predict(rows).shape == (40,)
        assert crf.predict_proba(rows).shape == (40, 2)
        assert crf.known_tokens(rows).tolist() == [True] * 40
        assert crf.confidence(rows).shape == (40,)
        assert [paths[0][0] for paths in crf.predict_k_best(rows, k=1)] == (
            crf.predict(rows)[:, None].tolist()
        )
        assert crf.score(rows, labels) > 0.9


def test_rows_of_numbers_in_sequences():
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(n, 2)) for n in (5, 0, 30, 5)]
    labels = [["up" if a > 0 else "down" for a, _ in s] for s in rows]
    crf = EmpiricalCRF().fit(rows, labels)
    assert [len(s) for s in crf.predict(rows)] == [5, 0, 30, 5]
    assert crf.score(rows, labels) > 0.9
    assert crf.predict([[], []]).tolist() == [[], []]
    assert crf.predict(flat(rows)).tolist() == crf.predict(rows).tolist()


def test_rows_of_a_frame_keep_their_order():
    crf = EmpiricalCRF(sample_unit="token").fit(frame(X), LABELS)
    new = frame(NEW)
    expected = pd.Series(crf.predict(new), index=new.index)
    shuffled = new.sample(frac=1, random_state=0)
    assert crf.predict(shuffled).tolist() == expected[shuffled.index].tolist()
    shuffled_fit = frame(X).assign(y=LABELS).sample(frac=1, random_state=1)
    again = EmpiricalCRF(sample_unit="token").fit(shuffled_fit[["word"]], shuffled_fit["y"])
    assert again.predict(new).tolist() == expected.tolist()
    assert crf.feature_names_in_.tolist() == ["word"]
    with pytest.raises(ValueError, match="feature names"):
        crf.predict(new.rename(columns={"word": "other"}))


def test_a_series_of_words_is_a_column():
    series = frame(X)["word"]
    crf = EmpiricalCRF(sample_unit="token").fit(series, LABELS)
    assert crf.predict(frame(NEW)["word"]).shape == (5,)


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        ({"D": 2, "N": 0, "V": 1}, np.int64),
        ({"D": True, "N": False, "V": True}, bool),
        ({"D": 0.5, "N": -1.5, "V": 2.0}, float),
        ({"D": ("D", 1), "N": ("N", 2), "V": ("V",)}, object),
        ({"D": "D", "N": 1, "V": (0, "x")}, object),
        ({"D": frozenset("D"), "N": b"N", "V": "длинное слово"}, object),
    ],
)
def test_labels_of_any_kind(labels, dtype):
    translated = [[labels[label] for label in s] for s in y]
    crf = EmpiricalCRF().fit(X, translated)
    assert crf.classes_.dtype == dtype
    predicted = crf.predict(X)
    assert predicted.tolist() == translated
    assert [[type(v) for v in s] for s in predicted] == [[type(v) for v in s] for s in translated]
    assert crf.score(X, translated) == 1
    assert crf.predict_k_best(X, k=1)[0][0][0] == translated[0]
    assert crf.predict(flat(X)).tolist() == translated
    again = EmpiricalCRF().fit(flat(X), flat(translated))
    assert again.predict(X).tolist() == translated


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        (float("nan"), "the label must be hashable"),
        (["N"], "the label must be hashable"),
        ({"N"}, "takes no set of possible labels"),
    ],
)
def test_what_is_no_label_is_named(label, problem):
    with pytest.raises(ValueError, match=f"y, sequence 3, position 1: .*{problem}"):
        EmpiricalCRF().fit(X, [*y[:3], ["N", label], y[4]])


def test_labels_of_a_table():
    with pytest.raises(ValueError, match="Unknown label type"):
        EmpiricalCRF().fit(np.zeros((3, 1)), [0.5, 1.5, 2.5])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        EmpiricalCRF().fit(np.zeros((3, 1)), [0, 1])


def test_observation_names_the_words():
    more = {"upper": str.isupper, "last": lambda w: w[-1], "length": len}
    last = [
        [{k: d[k] for k in ("last", "length", "upper", "word")} for d in s]
        for s in dicts(X, **more)
    ]
    first = dicts(X, **more)
    crf = EmpiricalCRF(observation="word").fit(last, y)
    assert crf.encoder_.names[0] == "word"
    assert crf.known_tokens(dicts(NEW)).tolist() == [[True, True], [], [True, False, True]]
    by_default = EmpiricalCRF().fit(first, y)
    assert by_default.predict(dicts(NEW, **more)).tolist() == (
        crf.predict(dicts(NEW, **more)).tolist()
    )
    with pytest.raises(ValueError, match=r"observation='lemma' is not among the columns of X"):
        EmpiricalCRF(observation="lemma").fit(first, y)
    for other in ([["dog"]], frame([["dog"]]).rename(columns={"word": "lemma"})):
        with pytest.raises(ValueError, match="X has no column 'word', which holds the words"):
            crf.predict(other)


def test_tokens_without_the_word_are_the_same_alone_and_beside_others():
    crf = EmpiricalCRF(observation="word").fit(dicts(X, last=lambda w: w[-1]), y)
    tagger = crf.tagger()
    for tokens in ([{"last": "s"}], [{}, {"last": "e"}], [{}]):
        with pytest.warns(UserWarning, match="no column 'word', .*: all words are unknown"):
            alone = crf.predict([tokens])
        with warnings.catch_warnings(action="error"):
            beside = crf.predict([tokens, *dicts(NEW, last=lambda w: w[-1])])
        assert alone[0] == beside[0] == tagger(tokens)


def test_the_order_of_keys_does_not_decide_what_the_words_are():
    words, labels = make_addresses(80, random_state=0)
    made = {
        "bias": lambda s, t: 1.0,
        "a_shape": lambda s, t: "Aa" if s[t].istitle() else "a",
        "number": lambda s, t: t,
        "word": lambda s, t: s[t],
        "before": lambda s, t: s[t - 1] if t else "",
    }

    def dicts_in(order, sequences):
        return [[{k: made[k](s, t) for k in order} for t in range(len(s))] for s in sequences]

    first = EmpiricalCRF().fit(dicts_in(made, words[:60]), labels[:60])
    assert first.observation_ == "word"
    assert "  words       column 'word'" in str(first).splitlines()
    new = dicts_in(made, words[60:])
    assert not np.concatenate(first.known_tokens(dicts_in(made, [["zzz"]]))).any()
    expected = np.concatenate(first.predict_proba(new))
    index = pd.MultiIndex.from_tuples([(i, t) for i, s in enumerate(words) for t in range(len(s))])
    tokens = [t for s in dicts_in(made, words) for t in s]
    n = sum(map(len, words[:60]))
    for order in (["word", "a_shape", "bias", "before", "number"], [*made][::-1]):
        crf = EmpiricalCRF().fit(dicts_in(order, words[:60]), labels[:60])
        assert np.array_equal(np.concatenate(crf.predict_proba(new)), expected)
        crf = EmpiricalCRF().partial_fit(dicts_in(order, words[:30]), labels[:30])
        crf.partial_fit(dicts_in(made, words[30:60]), labels[30:60])
        assert np.array_equal(np.concatenate(crf.predict_proba(new)), expected)
        tagger = crf.tagger()
        rows = [tuple(token[k] for k in order) for token in new[0]]
        assert tagger(rows) == tagger(new[0]) == first.predict(new[:1])[0]
        hmms = [HMM().fit(dicts_in(o, words[:60]), labels[:60]) for o in (order, made)]
        assert np.array_equal(*(np.concatenate(hmm.predict_proba(new)) for hmm in hmms))
        table = pd.DataFrame(tokens, index=index)[order].astype({"bias": str, "number": str})
        flat_labels = [label for s in labels for label in s]
        crf = EmpiricalCRF(sample_unit="token").fit(table[:n], flat_labels[:n])
        assert np.array_equal(crf.predict_proba(table[n:]), expected)
        rows = table.to_numpy()
        crf = EmpiricalCRF().fit(SequenceArray(rows[:n], flat(words[:60]).offsets), labels[:60])
        assert crf.observation_ == f"x{order.index('word')}"


def test_close_columns_are_told_of():
    tokens = [[{"x": w, "y": w[::-1]} for w in s] for s in X]
    told = r"'x' of X is taken for the words, but 'y' may .* observation='x'.* --columns.* CRF"
    with pytest.warns(UserWarning, match=told):
        EmpiricalCRF().fit(tokens, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EmpiricalCRF(observation="y").fit(tokens, y)
        HMM().fit(tokens, y)
        EmpiricalCRF().fit(dicts(X, lower=str.lower, upper=str.upper), y)


def test_keys_may_be_absent():
    some = [[{"w": "a", "at": ["start"]}, {"w": "b"}], [{"w": "b", "p": {"q": 1}}]]
    crf = EmpiricalCRF().fit(some, [["A", "B"], ["B"]])
    assert crf.predict([[{"w": "a"}], [{"w": "b", "unheard": "of"}]]).tolist() == [["A"], ["B"]]
    with pytest.raises(ValueError, match="feature dicts are empty"):
        EmpiricalCRF().fit([[{}, {}]], [["A", "B"]])


def test_columns_tell_more_than_words():
    words = [["w"] * 4] * 10
    tags = [["a", "b", "b", "a"]] * 10
    tagged = [[{"word": "w", "tag": t} for t in s] for s in tags]
    crf = EmpiricalCRF(observation="word").fit(tagged, tags)
    assert crf.predict(tagged).tolist() == tags
    union = Window(["word[0]", "tag[0]"]).fit_transform(tagged)
    assert EmpiricalCRF().fit(union, tags).predict(union).tolist() == tags
    assert len(words[0]) == 4


def test_numeric_columns_are_binned():
    rng = np.random.default_rng(1)
    table = rng.uniform(size=(300, 2))
    labels = (table[:, 0] * 4).astype(int)
    by_ten = EmpiricalCRF(sample_unit="token").fit(table, labels)
    by_two = EmpiricalCRF(
        sample_unit="token", binning=KBinsDiscretizer(2, encode="ordinal", strategy="uniform")
    ).fit(table, labels)
    one_hot = EmpiricalCRF(sample_unit="token", binning=KBinsDiscretizer(4)).fit(table, labels)
    assert by_ten.score(table, labels) > 0.85
    assert 0.4 < by_two.score(table, labels) < 0.7
    assert one_hot.score(table, labels) > 0.85
    with pytest.raises(ValueError, match="binning must give integers"):
        from sklearn.preprocessing import StandardScaler

        EmpiricalCRF(binning=StandardScaler()).fit(table, labels)


@pytest.mark.filterwarnings("error", "ignore:every row of X")
def test_columns_of_few_values_are_binned_without_a_warning():
    table = np.column_stack([np.tile([0, 1], 20), np.ones(40)])
    crf = EmpiricalCRF(sample_unit="token").fit(table, table[:, 0].astype(int))
    assert crf.score(table, table[:, 0].astype(int)) == 1


def test_frames_of_words_and_numbers():
    rng = np.random.default_rng(0)
    size = rng.uniform(size=60)
    words = rng.choice(["x", "y"], 60)
    labels = np.where(size > 0.5, words, "small")
    index = pd.MultiIndex.from_product([range(20), range(3)])
    mixed = pd.DataFrame({"size": size, "word": words, "flag": size > 0.9}, index=index)
    crf = EmpiricalCRF(sample_unit="token").fit(mixed, labels)
    assert crf.encoder_.names == ("word", "flag", "size")
    assert len(crf.encoder_.symbols("size")) == 10
    assert crf.score(mixed, labels) > 0.9
    shifted = mixed.assign(size=size + 1e-9)  # other numbers, the same bins
    assert (crf.predict(shifted) == crf.predict(mixed)).mean() > 0.95
    by_number = EmpiricalCRF(sample_unit="token", observation="size").fit(mixed, labels)
    assert by_number.encoder_.names[0] == "size"
    with pytest.raises(ValueError, match="column 'size': missing or infinite values"):
        crf.predict(mixed.assign(size=np.nan))
    with pytest.raises(ValueError, match="no numeric column 'size'"):
        crf.predict(mixed.assign(size="big"))
    missing = mixed.assign(word=[None, *words[1:]])
    assert EmpiricalCRF(sample_unit="token").fit(missing, labels).score(missing, labels) > 0.9


def test_two_dimensional_arrays_of_strings():
    table = np.array([["a", "p"], ["b", "q"], ["a", "q"]] * 5)
    labels = [0, 1, 1] * 5
    for rows in (table, table.astype(object)):
        crf = EmpiricalCRF(sample_unit="token").fit(rows, labels)
        assert crf.predict(rows).tolist() == labels
    with pytest.raises(ValueError, match="row 1, column 1: None is not a symbol"):
        EmpiricalCRF().fit(np.array([["a", "p"], ["b", None]], dtype=object), [0, 1])
    codes = OrdinalEncoder().fit_transform(table)
    assert EmpiricalCRF(sample_unit="token").fit(codes, labels).score(codes, labels) == 1


def test_attributes():
    vectorizer = SequenceVectorizer()
    features = TokenFeatures(["lower", "suffix1"])
    attributes = vectorizer.fit_transform(features.fit_transform(X))
    crf = EmpiricalCRF().fit(attributes, y)
    assert crf.predict(attributes).tolist() == y
    new = vectorizer.transform(features.transform(NEW))
    assert crf.predict(new).lengths.tolist() == [2, 0, 3]
    assert crf.predict_proba(new[1:2]).shape == (1, 3)
    assert crf.predict([]).tolist() == []
    rows = attributes.data
    table = EmpiricalCRF(sample_unit="token").fit(rows, LABELS)
    assert table.predict(rows).shape == (len(LABELS),)
    np.testing.assert_allclose(table.predict_proba(rows), table.predict_proba(rows.toarray()))
    in_list = [
        rows[a:b] for a, b in zip(*[attributes.offsets[i:][:5] for i in (0, 1)], strict=True)
    ]
    assert EmpiricalCRF().fit(in_list, y).predict(in_list).tolist() == y


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_attributes_must_not_be_negative(container):
    rows = np.array([[1.0, 0.0], [0.0, -2.0]])
    with pytest.raises(ValueError, match="Negative values in data"):
        EmpiricalCRF().fit(container(rows), [0, 1])
    crf = EmpiricalCRF().fit(container(abs(rows)), [0, 1])
    assert crf.predict(container(abs(rows))).tolist() == [0, 1]
    with pytest.raises(ValueError, match="Negative values in data"):
        crf.predict(container(rows))
    with pytest.raises(ValueError, match='sparse X needs zeros="smoothed"'):
        EmpiricalCRF.ecrn().fit(container(abs(rows)), [0, 1])


def test_one_kind_of_input_for_one_model():
    words = EmpiricalCRF().fit(X, y)
    numbers = EmpiricalCRF().fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="X holds numbers, but the model was fitted to symbols"):
        words.predict(np.eye(2))
    with pytest.raises(ValueError, match="X holds words, but the model was fitted to numbers"):
        numbers.predict(X)
    with pytest.raises(ValueError, match="no column 'token'"):
        words.predict(dicts(X))


def test_weights_of_samples():
    weights = [1, 2, 1, 0, 3]
    repeated = [i for i, w in enumerate(weights) for _ in range(w)]
    expected = EmpiricalCRF().fit([X[i] for i in repeated], [y[i] for i in repeated])
    nested = [[w] * len(s) for w, s in zip(weights, X, strict=True)]
    by_token = np.repeat(weights, [len(s) for s in X])
    for crf, new in [
        (EmpiricalCRF().fit(X, y, weights), NEW),
        (EmpiricalCRF().fit(X, y, nested), NEW),
        (EmpiricalCRF().fit(flat(X), y, flat(nested)), NEW),
        (EmpiricalCRF(sample_unit="token").fit(frame(X), LABELS, by_token), frame(NEW)),
    ]:
        proba = crf.predict_proba(new)
        proba = proba if isinstance(proba, np.ndarray) else np.vstack(proba)
        assert np.array_equal(proba, np.vstack(expected.predict_proba(NEW)))
