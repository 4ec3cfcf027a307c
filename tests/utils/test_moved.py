import subprocess
import sys
from importlib import import_module
from types import FunctionType

import pytest

from sklearn_crcrf.utils.moved import MOVED, ROOT


@pytest.mark.parametrize("old", MOVED)
def test_old_names_have_what_the_new_ones_have(old):
    new = import_module(f"{ROOT}.{MOVED[old]}")
    own = (it for it, value in vars(new).items() if value.__class__ in (FunctionType, type))
    name = next(iter([*getattr(new, "__all__", []), *own]))
    names = {}
    told = f"{ROOT}.{old} is now {ROOT}.{MOVED[old]}; its old name will go"
    with pytest.warns(FutureWarning, match=told) as caught:
        exec(f"from {ROOT}.{old} import {name} as found", names)
    assert names["found"] is getattr(new, name)
    assert {warning.filename for warning in caught} == {"<string>"}


def test_attributes_stars_and_missing_names():
    names = {}
    with pytest.warns(FutureWarning):
        exec(f"import {ROOT}.segments\nfound = {ROOT}.segments.Segments", names)
        exec(f"from {ROOT}.segments import *", names)
        assert names["Segments"] is names["found"]
        with pytest.raises(ImportError, match="nonsense"):
            exec(f"from {ROOT}.segments import nonsense")
    with pytest.raises(ModuleNotFoundError):
        import_module(f"{ROOT}.segments.nonsense")


def test_nothing_is_imported_before_it_is_used():
    code = "import sys, sklearn_crcrf.segments; print('numpy' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert run.stdout == "False\n", run.stderr
