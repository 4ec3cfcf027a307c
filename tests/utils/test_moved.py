import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

from sklearn_crcrf.utils.moved import MOVED, ROOT


@pytest.fixture
def without_old_names():
    """No old name has been imported before, nor is afterwards."""

    def forget():
        for name in [name for name in sys.modules if name.split(".")[1:2] and _is_old(name)]:
            del sys.modules[name]

    def _is_old(name):
        root, inner, *_ = name.split(".")
        return root == ROOT and inner in MOVED

    forget()
    yield
    forget()


@pytest.mark.parametrize("old", MOVED)
def test_old_names_are_the_same_modules(old, without_old_names):
    names = {}
    with pytest.warns(FutureWarning, match=f"{ROOT}.{old} is now {ROOT}.{MOVED[old]}") as caught:
        exec(f"import {ROOT}.{old} as found", names)
    assert [warning.filename for warning in caught] == ["<string>"]
    new = import_module(f"{ROOT}.{MOVED[old]}")
    assert names["found"] is new
    assert new.__spec__.name == new.__name__ == f"{ROOT}.{MOVED[old]}"


@pytest.mark.filterwarnings("ignore:.* is now:FutureWarning")
def test_modules_in_moved_packages_are_not_loaded_twice(without_old_names):
    old, new = (import_module(f"{ROOT}.{name}.pool") for name in ("annotation", "apps.annotation"))
    assert old is new


def test_other_names_are_not_found(without_old_names):
    assert find_spec(f"{ROOT}.nonsense") is None
    with pytest.warns(FutureWarning), pytest.raises(ModuleNotFoundError, match="nonsense"):
        import_module(f"{ROOT}.segments.nonsense")


def test_names_are_found_in_a_new_process():
    code = (
        "from sklearn_crcrf.segments import Segments, segments_to_labels; import sklearn_crcrf.web"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error::ImportWarning", "-c", code], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
