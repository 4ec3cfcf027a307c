"""The examples in the docstrings of the modules that need torch."""

import doctest
from importlib import import_module

import pytest

pytest.importorskip("torch")

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("module", ["chain_crf", "loss", "torchcrf"])
def test_examples(module):
    found = doctest.testmod(import_module(f"sklearn_crcrf.torch.{module}"), optionflags=FLAGS)
    assert found.attempted > 0 and found.failed == 0
