"""Files name nothing but what is listed, and what is listed does nothing but compute."""

from functools import partial
from importlib import import_module

import numpy as np
import pytest
from scipy import special
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
)
from sklearn.preprocessing import StandardScaler as Scaler
from sklearn.tree import DecisionTreeClassifier
from written_models import attributes, place_of, write

import sklearn_crcrf
from sklearn_crcrf import (
    CRF,
    HMM,
    BoostedCRF,
    FeatureInduction,
    OpinionPoolCRF,
    SequencePipeline,
)
from sklearn_crcrf.criteria import MCE, LogLoss, log_loss
from sklearn_crcrf.estimators.crf.features import observed_features
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.model_files.objects import UntrustedError, check_names
from sklearn_crcrf.model_files.trust import SCIKIT_LEARN, is_trusted, trusted_names
from sklearn_crcrf.structures.inference import Loopy
from sklearn_crcrf.utils.soundness import Sound

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, y = [["the", "dog"], ["a", "cat"]] * 3, [["D", "N"], ["D", "N"]] * 3
ROWS, LABELS = np.random.default_rng(0).random((30, 4)), np.arange(30) % 3


def named(name):
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def test_every_listed_name_is_there_and_what_it_should_be():
    names = trusted_names()
    for name in names["object"] | names["named tuple"] | names["sparse"]:
        assert isinstance(named(name), type)
    for module, classes in SCIKIT_LEARN.items():
        for attribute in classes:
            cls = getattr(import_module(module), attribute)
            assert is_trusted("object", f"{cls.__module__}.{attribute}")
            assert not is_trusted("object", f"sklearn.elsewhere.{attribute}")
            assert not is_trusted("name", f"{cls.__module__}.{attribute}")
    for name in names["name"]:
        if name.startswith("sklearn_crcrf."):
            assert f"{named(name).__module__}.{named(name).__name__}" == name
        elif not name.startswith("builtins.") and (name != "numpy.bool_"):
            is_type = isinstance(named(name), type) and issubclass(named(name), np.generic)
            assert is_type or isinstance(named(name), np.ufunc) or hasattr(special, name[14:])


def test_public_estimators_are_trusted_and_nothing_else_that_is_public():
    public = [getattr(sklearn_crcrf, name) for name in sklearn_crcrf.__all__]
    estimators = [c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)]
    estimators.remove(SequencePipeline)  # its steps are checked
    assert len(estimators) > 10
    for cls in estimators:
        assert is_trusted("object", f"{cls.__module__}.{cls.__name__}")
        assert not is_trusted("object", f"sklearn_crcrf.elsewhere.{cls.__name__}")
        assert issubclass(cls, Sound)
    for cls in (MCE, LogLoss, Loopy):
        assert is_trusted("object", f"{cls.__module__}.{cls.__name__}")
        assert not is_trusted("name", f"{cls.__module__}.{cls.__name__}")
    for container in (sklearn_crcrf.SequenceArray, sklearn_crcrf.explain):
        assert not is_trusted("object", f"{container.__module__}.{container.__name__}")


def test_the_file_that_overwrote_another(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    overwrite = FunctionTransformer(save_model, kw_args={"path": str(victim)}, validate=False)
    pipeline = make_pipeline(overwrite, HMM().fit(X, y))
    with pytest.raises(ValueError, match=r"cannot hold .*model_files\.saving\.save_model"):
        save_model(pipeline, tmp_path / "m")
    write(tmp_path / "m", pipeline)
    with pytest.raises(
        ValueError, match=r"is not trusted: it holds .*model_files\.saving\.save_model"
    ):
        load_model(tmp_path / "m")
    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    "function",
    [
        import_module("os").system,
        import_module("sklearn_crcrf.datasets").fetch_conll2000,
        import_module("sklearn_crcrf.datasets").read_conll,
        partial(print, "x"),
        HMM().fit,
        np.save,
        np.frompyfunc(print, 1, 1),
        eval,
        open,
    ],
    ids=range(9),
)
def test_functions_that_are_not_listed(function, tmp_path):
    pipeline = make_pipeline(FunctionTransformer(function), HMM().fit(X, y))
    with pytest.raises(ValueError, match="cannot hold"):
        save_model(pipeline, tmp_path / "m")
    write(tmp_path / "m", pipeline)
    with pytest.raises(ValueError, match="is not trusted"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(CountVectorizer(input="filename"), HMM()),
        make_pipeline(DecisionTreeClassifier(), HMM()),
        Pipeline([("hmm", HMM())], memory="folder"),
        make_pipeline(FeatureUnion([("a", Scaler())], n_jobs=10**6), HMM()),
        CRF(random_state=np.random.default_rng(0)),
    ],
    ids=range(5),
)
def test_estimators_that_open_files_or_start_processes(estimator, tmp_path):
    write(tmp_path / "m", estimator)
    with pytest.raises(ValueError, match="is not trusted"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(Scaler(), FunctionTransformer(np.absolute), CRF(max_iter=2)),
        make_pipeline(FunctionTransformer(expit), FunctionTransformer(np.sqrt), HMM()),
        make_pipeline(FunctionTransformer(None), CRF(log_loss, features=observed_features)),
        make_pipeline(
            ColumnTransformer(
                [("a", Scaler(), [0, 1]), ("b", KBinsDiscretizer(3), slice(2, 4))],
                remainder="passthrough",
            ),
            CRF(MCE(), max_iter=2),
        ),
        make_pipeline(FeatureUnion([("a", MinMaxScaler()), ("b", OneHotEncoder())]), HMM()),
        OpinionPoolCRF([("a", make_pipeline(Scaler(), CRF(max_iter=2))), ("b", HMM())], [1, 2]),
        CRF(random_state=np.random.RandomState(0), max_iter=2),
        FeatureInduction(CRF(max_iter=2), max_proba=1.0, min_gain=0.01),
    ],
    ids=range(8),
)
def test_pipelines_that_are_stored(estimator, tmp_path):
    estimator.fit(ROWS, LABELS)
    save_model(estimator, tmp_path / "m")
    loaded = load_model(tmp_path / "m").estimator
    assert loaded.predict(ROWS).tolist() == estimator.predict(ROWS).tolist()


def test_no_attribute_hides_a_method(tmp_path):
    hmm = HMM().fit(X, y)
    hmm._requirements = str
    write(tmp_path / "m", hmm)
    with pytest.raises(ValueError, match=r"HMM\._requirements is a method"):
        load_model(tmp_path / "m")


def test_attributes_are_a_dict(tmp_path):
    def change(tree):
        return [*tree[:2], ["list", "n_jobs", 10**6]]

    write(tmp_path / "m", FeatureUnion([("a", Scaler())]), change)
    with pytest.raises(ValueError, match="the attributes of FeatureUnion are a list"):
        load_model(tmp_path / "m")


def test_no_attribute_hides_what_a_class_says_of_its_parameters(tmp_path):
    crf = CRF(max_iter=2).fit(X, y)
    crf._parameter_constraints = {}
    write(tmp_path / "m", crf)
    with pytest.raises(ValueError, match=r"CRF\._parameter_constraints is of the class"):
        load_model(tmp_path / "m")


def test_random_numbers_that_are_all_zero(tmp_path):
    crf = CRF(random_state=np.random.RandomState(0), max_iter=2).fit(X, y)
    crf.random_state.set_state(("MT19937", np.zeros(624, dtype=np.uint32), 0))
    write(tmp_path / "m", crf)
    with pytest.raises(ValueError, match="the key of a RandomState is zero"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("position", [-1, 625, 10**6, None, 1.0])
def test_positions_of_random_states(position, tmp_path):
    def change(tree):
        _, state = attributes(tree)[place_of(tree, "random_state")]
        generator = state[state.index("state") + 1]
        generator[generator.index("pos") + 1] = position
        return tree

    crf = CRF(random_state=np.random.RandomState(0), max_iter=2).fit(X, y)
    write(tmp_path / "m", crf, change)
    with pytest.raises(ValueError, match="the position of a RandomState"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("instead", [["float", "inf"], None, ["objects", ["tuple", 2], 1, 1]])
def test_nodes_of_trees(instead, tmp_path):
    # scikit-learn asks for their length without asking whether they have one.
    def change(tree):
        _, trees = attributes(tree)[place_of(tree, "estimators_")][:2]
        _, _, state = attributes(trees)[place_of(trees, "tree_")]
        columns = state[state.index("nodes") + 1]
        columns[2] = instead
        return tree

    crf = BoostedCRF(learning_rate=np.float64(0.5), max_iter=1).fit([ROWS], [LABELS])
    write(tmp_path / "m", crf, change)
    with pytest.raises(ValueError, match="the nodes of a tree"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("name", ["boundaries", "criterion"])
def test_parameters_of_parts(name, tmp_path):
    pool = OpinionPoolCRF([("a", CRF(max_iter=2)), ("b", CRF(max_iter=2))], [1, 2]).fit(X, y)
    setattr(pool.estimators_[0], name, "nonsense")
    write(tmp_path / "m", pool)
    with pytest.raises(ValueError, match=f"The '{name}' parameter of CRF must be"):
        load_model(tmp_path / "m")
    delattr(pool.estimators_[0], name)
    write(tmp_path / "m", pool)
    with pytest.raises(ValueError, match=f"has no attribute '{name}'"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    "node",
    [
        ["name", "builtins.memoryview"],
        ["name", "os.system"],
        ["object", "functools.partial", None],
        ["object", "sklearn_crcrf.estimators.hmm", None],
        ["object", None, None],
        ["object", ["list"], None],
        ["object"],
        ["named tuple", "sklearn_crcrf.estimators.hmm.HMM"],
        ["sparse", "os.DirEntry"],
    ],
)
def test_names_of_nodes(node, tmp_path):
    write(tmp_path / "m", HMM().fit(X, y), lambda tree: ["list", tree, node])
    with pytest.raises(ValueError, match="is not trusted") as caught:
        load_model(tmp_path / "m")
    assert str(tmp_path / "m") in str(caught.value)
    with pytest.raises(UntrustedError, match="it holds"):
        check_names(["list", ["dict", 1, node]])


def test_users_words_are_no_names(tmp_path):
    words = {"object": ["x"], "ref": ["y"], "memory": ["z"], "n_jobs": ["w"], "array": ["v"]}
    hmm = HMM().fit([[{word: word} for word in words]], [["A"] * len(words)])
    save_model(hmm, tmp_path / "m")
    crf = CRF(class_weight=dict.fromkeys(words, 1.0), constraints=words, max_iter=2)
    labels = [*words, *"vwxyz"]
    crf.fit([[label] for label in labels], [[label] for label in labels])
    save_model(crf, tmp_path / "m")
    assert load_model(tmp_path / "m").estimator.constraints == words
