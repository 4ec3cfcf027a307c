"""Docstrings that share entries."""

import inspect
from functools import wraps

import pytest
from sklearn.utils.metaestimators import available_if

from sklearn_crcrf.utils.docstrings import entries_of, filling

ENTRIES = entries_of("""
    X, y : array
    sigma : float, default=1.0
        Width of the prior.

        It is positive.
    n_jobs : int
        Threads.
    """)


def logged(function):
    @wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@filling(ENTRIES)
class Model:
    """A model of {n_jobs} with {"a", "b"}.

    Parameters
    ----------
    {sigma}
    kind : {"a", "b"}
    {n_jobs}
    """

    @logged
    def fit(self, X, y):
        """Train.

        Parameters
        ----------
        {X, y}
        """

    @available_if(lambda self: self.sigma)
    def predict(self, X):
        """Label.

        Parameters
        ----------
        {sigma} Or a
            function.
        """

    def undocumented(self):
        pass


def test_entries_stand_in_the_place_of_their_names():
    assert inspect.getdoc(Model) == (
        'A model of {n_jobs} with {"a", "b"}.\n\nParameters\n----------\n'
        "sigma : float, default=1.0\n    Width of the prior.\n\n    It is positive.\n"
        'kind : {"a", "b"}\nn_jobs : int\n    Threads.'
    )
    assert inspect.getdoc(Model.fit) == "Train.\n\nParameters\n----------\nX, y : array"
    assert inspect.getdoc(Model.predict).endswith("    It is positive. Or a\n    function.")
    assert Model.undocumented.__doc__ is None


def test_an_unknown_name_is_an_error():
    def function():
        """Do.

        {nothing}
        """

    with pytest.raises(KeyError, match="nothing"):
        filling(ENTRIES)(function)


def test_without_docstrings_there_is_nothing_to_fill():
    program = "@filling({})\nclass Model:\n    'A model of {X}.'\n"
    names = {"filling": filling, "__name__": __name__}
    exec(compile(program, "<-OO>", "exec", optimize=2), names)
    assert names["Model"].__doc__ is None
