"""The environment variable that fixes the instruction set, in processes of their own."""

import json
import os
import re
import subprocess
import sys

import pytest
from sklearn_crcrf._kernels.machine import instruction_sets, sets_of_processor

from sklearn_crcrf._kernels import INSTRUCTIONS, SETS, VARIABLE, choose

PROGRAM = """
import json
import numpy as np
from sklearn_crcrf._kernels import INSTRUCTIONS
from sklearn_crcrf import PassiveAggressiveCRF, SequenceArray
from sklearn_crcrf.structures import Chain, Scores

rng, chain = np.random.default_rng(0), Chain(np.arange(0, 601, 6))
scores = Scores.of(rng.normal(size=(600, 9)), rng.normal(size=(9, 9)))
marginals, labels = chain.marginals(scores)[1], chain.maximum(scores)[1]
X, y = (SequenceArray(data, chain.offsets) for data in (scores.state, rng.integers(9, size=600)))
trained = PassiveAggressiveCRF(max_iter=2, random_state=0).fit(X, y)
weights = trained.coef_.tobytes().hex(), trained.transitions_.tobytes().hex()
print(json.dumps([INSTRUCTIONS, marginals.tobytes().hex(), labels.tolist(), weights]))
"""


def run(instructions, program=PROGRAM):
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if instructions is not None:
        environment[VARIABLE] = instructions
    options = {"capture_output": True, "text": True, "timeout": 120, "env": environment}
    return subprocess.run([sys.executable, "-W", "ignore", "-c", program], **options)


def test_the_widest_is_the_default(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert choose(["avx2", "baseline"]) == "avx2"


def test_kernels_are_of_the_set_and_bits_are_the_same_each_time(capsys):
    answers = {name: json.loads(run(name).stdout) for name in instruction_sets()}
    exec(PROGRAM, {})
    assert json.loads(capsys.readouterr().out) == answers[INSTRUCTIONS]
    for name, answer in answers.items():
        assert answer[0] == name
    _, bits, labels, weights = zip(*answers.values(), strict=True)
    for same in labels, weights:
        assert all(of_one == same[0] for of_one in same)
    # Where bits did not differ, the variable would not be seen to do anything.
    assert len(set(bits)) > 1 or len(answers) == 1


def test_an_unknown_set_ends_the_import():
    done = run("AVX2", "from sklearn_crcrf._kernels.chain import viterbi")
    assert done.returncode
    message = f"ValueError: {VARIABLE} must be one of {', '.join(SETS)}, but is 'AVX2'"
    assert done.stderr.strip().endswith(message)


def test_an_unknown_set_is_an_error(monkeypatch):
    monkeypatch.setenv(VARIABLE, "../_avx2")
    message = f"{VARIABLE} must be one of {', '.join(SETS)}, but is '../_avx2'"
    with pytest.raises(ValueError, match=re.escape(message)):
        choose(["baseline"])


def test_a_set_that_the_processor_lacks_is_an_error(monkeypatch):
    monkeypatch.setenv(VARIABLE, "avx512")
    message = f"{VARIABLE} is 'avx512', but this processor, or this installation, has only "
    with pytest.raises(ValueError, match=message + "baseline, avx2"):
        choose(["avx2", "baseline"])


def test_kernels_for_another_processor_say_what_to_do():
    with pytest.raises(ImportError, match='compile them here, with "pip install -e'):
        choose([])


def test_what_was_built_can_run_here():
    assert set(instruction_sets()) <= set(sets_of_processor()) <= set(SETS)
