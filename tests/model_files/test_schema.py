"""Files name nothing but what is listed, and what is listed does nothing but compute."""

import io
import json
import zipfile
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

import sklearn_crcrf
from sklearn_crcrf import (
    CRF,
    HMM,
    BoostedCRF,
    FeatureInduction,
    OpinionPoolCRF,
    SequencePipeline,
)
from sklearn_crcrf.criteria import MCE, log_loss
from sklearn_crcrf.estimators.crf.features import observed_features
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.model_files.schema import UntrustedError, check_schema
from sklearn_crcrf.model_files.trust import SCIKIT_LEARN, is_trusted, trusted_names
from sklearn_crcrf.utils.soundness import Sound

skops = pytest.importorskip("skops.io")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, y = [["the", "dog"], ["a", "cat"]] * 3, [["D", "N"], ["D", "N"]] * 3
ROWS, LABELS = np.random.default_rng(0).random((30, 4)), np.arange(30) % 3


def dumped(estimator) -> bytes:
    content = {"format": "sklearn-crcrf model", "version": 1, "columns": None}
    return skops.dumps({**content, "estimator": estimator})


def with_schema(data: bytes, change) -> bytes:
    """The same archive with a changed schema."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                content = json.dumps(change(json.loads(content)))
            new.writestr(name, content)
    return file.getvalue()


def attributes_of(schema) -> dict:
    """Those of the estimator."""
    return schema["content"]["estimator"]["content"]["content"]


def test_every_listed_name_is_there_and_what_it_should_be():
    names = trusted_names()
    for name in names["ObjectNode"] | names["TupleNode"]:
        module, _, attribute = name.rpartition(".")
        assert isinstance(getattr(import_module(module), attribute), type)
    for module, attributes in SCIKIT_LEARN.items():
        for attribute in attributes:
            cls = getattr(import_module(module), attribute)
            assert is_trusted("ObjectNode", cls.__module__, attribute)
            assert not is_trusted("ObjectNode", "sklearn.elsewhere", attribute)
            assert not is_trusted("TypeNode", cls.__module__, attribute)
    own = {name for name in names["FunctionNode"] if name.startswith("sklearn_crcrf.")}
    for name in own:
        module, _, attribute = name.rpartition(".")
        assert getattr(import_module(module), attribute).__module__ == module
    for name in names["FunctionNode"] - own:
        attribute = name.rpartition(".")[2]
        # SciPy may wrap its functions, such that they take arrays of other libraries.
        assert isinstance(getattr(np, attribute, None), np.ufunc) or hasattr(special, attribute)


def test_public_estimators_are_trusted_and_nothing_else_that_is_public():
    public = [getattr(sklearn_crcrf, name) for name in sklearn_crcrf.__all__]
    estimators = [c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)]
    estimators.remove(SequencePipeline)  # its steps are checked
    assert len(estimators) > 10
    for cls in estimators:
        assert is_trusted("ObjectNode", cls.__module__, cls.__name__)
        assert not is_trusted("ObjectNode", "sklearn_crcrf.elsewhere", cls.__name__)
        assert issubclass(cls, Sound)
    for container in (sklearn_crcrf.SequenceArray, sklearn_crcrf.explain):
        assert not is_trusted("ObjectNode", container.__module__, container.__name__)


def test_the_file_that_overwrote_another(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    overwrite = FunctionTransformer(save_model, kw_args={"path": str(victim)}, validate=False)
    pipeline = make_pipeline(overwrite, HMM().fit(X, y))
    with pytest.raises(ValueError, match=r"cannot hold .*model_files\.saving\.save_model"):
        save_model(pipeline, tmp_path / "m")
    (tmp_path / "m").write_bytes(dumped(pipeline))
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
    (tmp_path / "m").write_bytes(dumped(pipeline))
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
    (tmp_path / "m").write_bytes(dumped(estimator))
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
    (tmp_path / "m").write_bytes(dumped(hmm))
    with pytest.raises(ValueError, match=r"HMM\._requirements is a method"):
        load_model(tmp_path / "m")


def test_attributes_are_listed_where_they_are_checked(tmp_path):
    def change(schema):
        text = json.dumps({"transformer_list": [], "n_jobs": 10**6})
        node = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
        schema["content"]["estimator"]["content"] = {**node, "content": text, "is_json": True}
        return schema

    (tmp_path / "m").write_bytes(with_schema(dumped(FeatureUnion([("a", Scaler())])), change))
    with pytest.raises(ValueError, match="the attributes of FeatureUnion are a JsonNode"):
        load_model(tmp_path / "m")


def test_no_attribute_hides_what_a_class_says_of_its_parameters(tmp_path):
    crf = CRF(max_iter=2).fit(X, y)
    crf._parameter_constraints = {}
    (tmp_path / "m").write_bytes(dumped(crf))
    with pytest.raises(ValueError, match=r"CRF\._parameter_constraints is of the class"):
        load_model(tmp_path / "m")


def test_random_numbers_that_are_all_zero(tmp_path):
    crf = CRF(random_state=np.random.RandomState(0), max_iter=2).fit(X, y)
    crf.random_state.set_state(("MT19937", np.zeros(624, dtype=np.uint32), 0))
    (tmp_path / "m").write_bytes(dumped(crf))
    with pytest.raises(ValueError, match="the key of a RandomState is zero"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("position", [-1, 625, 10**6, None])
def test_positions_of_random_states(position, tmp_path):
    def change(schema):
        state = attributes_of(schema)["random_state"]["content"]["content"]["state"]
        state["content"]["pos"]["content"] = json.dumps(position)
        return schema

    crf = CRF(random_state=np.random.RandomState(0), max_iter=2).fit(X, y)
    (tmp_path / "m").write_bytes(with_schema(dumped(crf), change))
    with pytest.raises(ValueError, match="the position of a RandomState"):
        load_model(tmp_path / "m")


def number(schema, nodes):
    """An array of no dimension."""
    return {**nodes, "file": attributes_of(schema)["learning_rate"]["file"]}


def nothing(schema, nodes):
    return {**nodes, "__loader__": "JsonNode", "__class__": "str", "__module__": "builtins"} | {
        "content": "null",
        "is_json": True,
    }


@pytest.mark.parametrize("instead", [number, nothing])
def test_nodes_of_trees(instead, tmp_path):
    # scikit-learn asks for their length without asking whether they have one.
    def change(schema):
        tree = attributes_of(schema)["estimators_"]["content"][0]["content"]["content"]["tree_"]
        of_tree = tree["content"]["content"]
        of_tree["nodes"] = instead(schema, of_tree["nodes"])
        return schema

    crf = BoostedCRF(learning_rate=np.float64(0.5), max_iter=1).fit([ROWS], [LABELS])
    (tmp_path / "m").write_bytes(with_schema(dumped(crf), change))
    with pytest.raises(ValueError, match="the nodes of a tree"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("name", ["boundaries", "criterion"])
def test_parameters_of_parts(name, tmp_path):
    pool = OpinionPoolCRF([("a", CRF(max_iter=2)), ("b", CRF(max_iter=2))], [1, 2]).fit(X, y)
    setattr(pool.estimators_[0], name, "nonsense")
    (tmp_path / "m").write_bytes(dumped(pool))
    with pytest.raises(ValueError, match=f"The '{name}' parameter of CRF must be"):
        load_model(tmp_path / "m")
    delattr(pool.estimators_[0], name)
    (tmp_path / "m").write_bytes(dumped(pool))
    with pytest.raises(ValueError, match=f"has no attribute '{name}'"):
        load_model(tmp_path / "m")


def is_refused(change, path, message):
    path.write_bytes(with_schema(dumped(HMM().fit(X, y)), change))
    with pytest.raises(ValueError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def test_parts_that_are_said_to_be_one_are_the_same(tmp_path):
    def swap(schema):
        # Whichever is read first, the other one would be taken for it.
        attributes = attributes_of(schema)
        attributes["begin_"]["__id__"] = attributes["transitions_"]["__id__"]
        return schema

    is_refused(swap, tmp_path / "m", "have the number of one object, but differ")


def test_an_object_that_holds_itself(tmp_path):
    def tie(schema):
        schema["content"]["columns"] = {**schema, "content": {}}
        return schema

    is_refused(tie, tmp_path / "m", "have the number of one object, but differ")


def test_a_few_parts_that_stand_for_very_many(tmp_path):
    def double(schema):
        part = {**schema["key_types"], "content": []}
        for number in range(1, 60):
            part = {**part, "__id__": number, "content": [part, {**part, "content": []}]}
        schema["content"]["columns"] = part
        return schema

    is_refused(double, tmp_path / "m", "have the number of one object, but differ")


@pytest.mark.parametrize("protocol", [0, 1, True, None, "2"])
def test_older_protocols(protocol, tmp_path):
    is_refused(lambda schema: {**schema, "protocol": protocol}, tmp_path / "m", "rotocol")


@pytest.mark.parametrize(
    "node",
    [
        {"__loader__": "MethodNode", "__module__": "builtins", "__class__": "str"},
        {"__loader__": "OperatorFuncNode", "__module__": "operator", "__class__": "methodcaller"},
        {"__loader__": "PartialNode", "__module__": "functools", "__class__": "partial"},
        {"__loader__": "CachedNode", "__module__": None, "__class__": None},
        {"__loader__": "TypeNode", "__module__": "builtins", "__class__": "memoryview"},
        {
            "__loader__": "DictNode",
            "__module__": "sklearn_crcrf.estimators.hmm",
            "__class__": "HMM",
        },
        {"__loader__": "ConstructorFromReduceNode", "__module__": "os", "__class__": "DirEntry"},
    ],
)
def test_kinds_of_nodes(node, tmp_path):
    def change(schema):
        schema["content"]["columns"] = {**node, "content": []}
        return schema

    is_refused(change, tmp_path / "m", "is not trusted")
    with pytest.raises(UntrustedError, match="it holds"):
        check_schema({"protocol": 2, "content": node}, {})


def test_users_words_are_no_names(tmp_path):
    words = {"__loader__": ["x"], "file": ["y"], "memory": ["z"], "n_jobs": ["w"], "__id__": ["v"]}
    hmm = HMM().fit([[{word: word} for word in words]], [["A"] * len(words)])
    save_model(hmm, tmp_path / "m")
    crf = CRF(class_weight=dict.fromkeys(words, 1.0), constraints=words, max_iter=2)
    labels = [*words, *"vwxyz"]
    crf.fit([[label] for label in labels], [[label] for label in labels])
    save_model(crf, tmp_path / "m")
    assert load_model(tmp_path / "m").estimator.constraints == words
