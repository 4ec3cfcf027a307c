"""Cases that are so small that a test for each of them would take longer than they do."""

import functools
import inspect

import pytest

__all__ = ["for_each"]

_tried = {}  # of each test that for_each made: the test of one case, and all its cases


def for_each(names, values):
    """Try all values in one test, as ``pytest.mark.parametrize`` does in a test for each.

    A case that fails is reported as a subtest, and the cases after it are still tried. One that
    passes is not: a subtest takes longer than many of the cases.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    given = [dict(zip(names, _parts(value, len(names)), strict=True)) for value in values]

    def decorate(test):
        one, others = _tried.get(test, (test, [{}]))
        cases = [case | other for case in given for other in others]
        signature = inspect.signature(one)
        left = {key: part for key, part in signature.parameters.items() if key not in cases[0]}
        takes_request = "request" in left

        @functools.wraps(test)
        def test_all(*args, request, **fixtures):
            if takes_request:
                fixtures["request"] = request
            for case in cases:
                try:
                    one(*args, **fixtures, **case)
                except BaseException:
                    with request.getfixturevalue("subtests").test(**case):
                        raise

        left.setdefault("request", inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY))
        test_all.__signature__ = signature.replace(parameters=[*left.values()])
        _tried[test_all] = one, cases
        return test_all

    return decorate


def _parts(value, n):
    """The values of a case, which may be one of ``pytest.param``."""
    if isinstance(value, type(pytest.param())):
        return value.values
    return value if n > 1 else [value]
