"""What docstrings of metrics say of parameters is what metrics have."""

from inspect import Parameter, isfunction, signature

import pytest
from cases import for_each
from test_docstrings import section

from sklearn_crcrf import metrics
from sklearn_crcrf.utils.docstrings import PLACE

FUNCTIONS = [f for name in metrics.__all__ if isfunction(f := getattr(metrics, name))]


@for_each("function", FUNCTIONS)
def test_every_parameter_is_documented_in_order(function):
    parameters = signature(function).parameters.values()
    named = [p.name for p in parameters if p.kind is not Parameter.VAR_KEYWORD]
    documented = [name for name in section(function, "Parameters") if not name.startswith("*")]
    assert documented == named
    assert not PLACE.search(function.__doc__)


@pytest.mark.parametrize("parameter", ["scheme", "reading"])
def test_a_parameter_has_the_default_of_its_entry(parameter):
    for function in FUNCTIONS:
        if parameter in signature(function).parameters:
            default = signature(function).parameters[parameter].default
            assert section(function, "Parameters")[parameter].kind.endswith(f'="{default}"')
