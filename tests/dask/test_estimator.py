"""Dask estimators are estimators: parameters, clones, pickles, and searches on a cluster."""

import pickle
from inspect import signature

import joblib
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_crcrf import CRF, HMM, EmpiricalCRF, SeparateCRF
from sklearn_crcrf.dask import DaskCRF, DaskEmpiricalCRF, DaskHMM, DaskSeparateCRF

ADDED = [
    (DaskEmpiricalCRF, EmpiricalCRF, ["client"]),
    (DaskHMM, HMM, ["client"]),
    (DaskCRF, CRF, ["wire_dtype", "client"]),
    (DaskSeparateCRF, SeparateCRF, ["client"]),
]


@pytest.mark.parametrize("estimator, local, added", ADDED)
def test_parameters_are_those_of_the_namesake_and_a_client(estimator, local, added):
    mine, theirs = signature(estimator).parameters, signature(local).parameters
    assert list(mine) == [*theirs, *added]
    assert all(mine[name] == theirs[name] for name in theirs)
    assert estimator().get_params() == {**local().get_params(), **dict.fromkeys(added)}
    assert issubclass(estimator, local)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sigmas'"):
        estimator(sigmas=1)


def test_a_clone_has_the_same_client(client):
    with config_context(enable_metadata_routing=True):
        crf = DaskCRF(sigma=2.0, client=client).set_fit_request(sample_weight=True)
        twin = clone(crf)
        assert twin.get_metadata_routing().fit.requests["sample_weight"] is True
    assert twin.client is client and twin.client_ is client and twin.sigma == 2.0
    assert clone(DaskHMM()).client_ is None


def test_a_pickle_has_no_client(client, corpus, in_parts):
    X, y = corpus
    hmm = DaskHMM(client=client).fit(in_parts(X), in_parts(y))
    stored = pickle.loads(pickle.dumps(hmm))
    assert stored.client is None and hmm.client is client
    assert stored.predict(X).tolist() == hmm.predict(X).tolist()
    local = pickle.loads(pickle.dumps(hmm.to_local()))
    assert type(local) is HMM and local.predict(X).tolist() == hmm.predict(X).tolist()


def test_the_current_client_is_used(client, corpus, in_parts):
    assert DaskHMM().client_ is None
    with client.as_current():
        assert DaskHMM().client_ is client
        assert DaskHMM().fit(in_parts(corpus[0]), in_parts(corpus[1])).score(*corpus) > 0.5


def test_later_batches_in_memory(corpus, in_parts, client):
    X, y = corpus
    crf = DaskEmpiricalCRF(client=client)
    crf.fit(in_parts(X[:24], [0, 9, 24]), in_parts(y[:24], [0, 9, 24]))
    crf.partial_fit(X[24:], y[24:])
    local = pickle.loads(pickle.dumps(crf.to_local()))
    assert type(local) is EmpiricalCRF and not hasattr(local, "client")
    assert local.counts_ == crf.counts_ == EmpiricalCRF().fit(X, y).counts_


@pytest.mark.parametrize("estimator", [EmpiricalCRF(), CRF(tol=1e-2)])
def test_a_search_on_a_cluster_is_the_same(estimator, corpus, client):
    X, y = corpus
    search = GridSearchCV(estimator, {"sigma": [0.5, 2.0]}, cv=2)
    here = clone(search).fit(X, y)
    with client.as_current(), joblib.parallel_config("dask"):
        there = clone(search).fit(X, y)
    assert there.best_params_ == here.best_params_
    names = ["split0_test_score", "split1_test_score"]
    assert all(np.array_equal(there.cv_results_[n], here.cv_results_[n]) for n in names)
    assert there.best_estimator_.predict(X).tolist() == here.best_estimator_.predict(X).tolist()
