"""Modules of earlier releases are found by their old names."""

import pickle
from importlib import import_module

from cases import for_each

from sklearn_crcrf import HMM
from sklearn_crcrf.utils.moved import MOVED


@for_each("old", MOVED)
def test_old_names_have_what_the_modules_define(old):
    module = import_module(f"sklearn_crcrf.{MOVED[old]}")
    former = import_module(f"sklearn_crcrf.{old}")
    public = [name for name in module.__all__ if hasattr(former, name)]
    assert public and all(getattr(former, name) is getattr(module, name) for name in public)


def test_a_pickle_names_a_class_by_its_old_module():
    data = pickle.dumps(HMM(), protocol=0)
    older = data.replace(b"sklearn_crcrf.counts.hmm", b"sklearn_crcrf.hmm")
    assert older != data
    assert isinstance(pickle.loads(older), HMM)
