"""Cases that are so small that a test for each of them would take longer than they do."""

import functools
import inspect

import pytest

__all__ = ["for_each"]


def for_each(names, values):
    """Try all values in one test, as ``pytest.mark.parametrize`` does in a test for each.

    An exception is told with the values it was raised with.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    cases = [dict(zip(names, _parts(value, len(names)), strict=True)) for value in values]

    def decorate(test):
        @functools.wraps(test)
        def test_all(*args, **given):
            for case in cases:
                try:
                    test(*args, **given, **case)
                except BaseException as error:
                    error.add_note(f"with {case}")
                    raise

        signature = inspect.signature(test)
        left = [part for name, part in signature.parameters.items() if name not in names]
        test_all.__signature__ = signature.replace(parameters=left)
        return test_all

    return decorate


def _parts(value, n):
    """The values of a case, which may be one of ``pytest.param``."""
    if isinstance(value, type(pytest.param())):
        return value.values
    return value if n > 1 else [value]
