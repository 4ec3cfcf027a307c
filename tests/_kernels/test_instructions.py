"""The environment variable that fixes the instruction set, in processes of their own."""

import json
import os
import re
import subprocess
import sys
from runpy import run_module
from types import ModuleType

import pytest
from sklearn_crcrf._kernels._cpu import instruction_sets

from sklearn_crcrf._kernels.vectorized import INSTRUCTIONS, SETS, VARIABLE

PROGRAM = """
import json
import numpy as np
from sklearn_crcrf._kernels import vectorized as kernels
from sklearn_crcrf import PassiveAggressiveCRF, SequenceArray
from sklearn_crcrf.structures import Chain, Scores

rng, chain = np.random.default_rng(0), Chain(np.arange(0, 601, 6))
scores = Scores.of(rng.normal(size=(600, 9)), rng.normal(size=(9, 9)))
marginals, labels = chain.marginals(scores)[1], chain.maximum(scores)[1]
X, y = (SequenceArray(data, chain.offsets) for data in (scores.state, rng.integers(9, size=600)))
trained = PassiveAggressiveCRF(max_iter=2, random_state=0).fit(X, y)
weights = trained.coef_.tobytes().hex(), trained.transitions_.tobytes().hex()
modules = [kernels.lock_step, kernels.learning, kernels.row_sums, kernels.viterbi, kernels.history]
names = sorted({module.__name__.split(".")[2] for module in modules})
answers = marginals.tobytes().hex(), labels.tolist(), weights
print(json.dumps([kernels.INSTRUCTIONS, names, *answers]))
"""


def run(instructions, program=PROGRAM):
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if instructions is not None:
        environment[VARIABLE] = instructions
    options = {"capture_output": True, "text": True, "timeout": 120, "env": environment}
    return subprocess.run([sys.executable, "-W", "ignore", "-c", program], **options)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_widest_is_the_default(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert chosen_again()["INSTRUCTIONS"] == instruction_sets()[0]


def test_all_kernels_are_of_the_set_and_bits_are_the_same_each_time(capsys):
    answers = {name: json.loads(run(name).stdout) for name in instruction_sets()}
    exec(PROGRAM, {})
    assert json.loads(capsys.readouterr().out) == answers[INSTRUCTIONS]
    for name, answer in answers.items():
        assert answer[:2] == [name, [f"_{name}"]]
    _, _, bits, labels, weights = zip(*answers.values(), strict=True)
    for same in labels, weights:
        assert all(of_one == same[0] for of_one in same)
    # Where bits did not differ, the variable would not be seen to do anything.
    assert len(set(bits)) > 1 or len(answers) == 1


def chosen_again():
    """What the module that chooses does when it is imported, with the variable as it is now."""
    return run_module("sklearn_crcrf._kernels.vectorized")


def test_an_unknown_set_ends_the_import():
    done = run("AVX2", "from sklearn_crcrf._kernels.vectorized import viterbi")
    assert done.returncode
    message = f"ValueError: {VARIABLE} must be one of {', '.join(SETS)}, but is 'AVX2'"
    assert done.stderr.strip().endswith(message)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_an_unknown_set_is_an_error(monkeypatch):
    monkeypatch.setenv(VARIABLE, "../_avx2")
    message = f"{VARIABLE} must be one of {', '.join(SETS)}, but is '../_avx2'"
    with pytest.raises(ValueError, match=re.escape(message)):
        chosen_again()


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_a_set_that_the_processor_lacks_is_an_error(monkeypatch):
    monkeypatch.setenv(VARIABLE, "avx512")
    cpu = ModuleType("sklearn_crcrf._kernels._cpu")
    cpu.instruction_sets = lambda: ["avx2", "baseline"]
    monkeypatch.setitem(sys.modules, "sklearn_crcrf._kernels._cpu", cpu)
    message = f"{VARIABLE} is 'avx512', but this processor, or this installation, has only "
    with pytest.raises(ValueError, match=message + ".*baseline"):
        chosen_again()
