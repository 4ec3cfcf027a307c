"""Settings that must hold before numpy and scipy are imported."""

import gc
import os
import signal
import sys

# Without it scikit-learn leaves one of its common tests out.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Several processes test at once. Tests of threads say how many they use.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# What one of the many processes that tests start has compiled, the others need not compile.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What is started in the background of a shell ignores Ctrl-C, which some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# How long an example takes says more about the machine than about the code.
settings.register_profile("tests", deadline=None, max_examples=15)
settings.load_profile("tests")


def pytest_configure(config):
    # pyproject.toml is read before this file, and the name of the class imports scikit-learn.
    config.addinivalue_line("filterwarnings", "error::sklearn.exceptions.ConvergenceWarning")
    # Numbers of epochs and of trees are chosen, here so that tests are fast.
    for reason in ("labels were still corrected", "the loss may still fall"):
        config.addinivalue_line("filterwarnings", f"ignore:training did not converge. {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    # Tests have no examples in their docstrings, which pytest would look for in each.
    return [found for found in (yield) if type(found) is pytest.Module]


def pytest_collection_finish():
    # Tests and modules stay until the end: no garbage need be looked for among them.
    gc.collect()
    gc.freeze()
