"""The trainer of python-crfsuite, over CRFsuiteCRF."""

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ...estimators.crfsuite import CRFsuiteCRF
from ...estimators.crfsuite.weights import as_crfsuite_model
from ...serving.crfsuite.binary_model import CRFsuiteModel, crfsuite_bytes
from ...training.monitor import Iteration, listening
from ...utils.replacing import replacing
from ._logparser import TrainLogParser
from .items import ItemSequence

LBFGS, SGD, AROW = "lbfgs", "l2sgd", "arow"
AP, PA = "averaged-perceptron", "passive-aggressive"
ONLINE, ALGORITHMS = (AP, PA, AROW), (LBFGS, SGD, AP, PA, AROW)

# The defaults of all parameters by algorithm, in the order in which they are listed, and help.
PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    "feature.minfreq": (
        dict.fromkeys(ALGORITHMS, 0.0),
        "Features that occur less often are left out.",
    ),
    "feature.possible_states": (
        dict.fromkeys(ALGORITHMS, False),
        "Whether all states are features.",
    ),
    "feature.possible_transitions": (dict.fromkeys(ALGORITHMS, False), "Or all pairs of labels."),
    "type": ({PA: 1}, "0 for no limit of the steps, 1 for PA-I, 2 for PA-II."),
    "c": ({PA: 1.0}, "Limit of the steps."),
    "error_sensitive": ({PA: True}, "Whether the margin grows with the number of wrong labels."),
    "averaging": ({PA: True}, "Whether the mean of the weights after all steps is taken."),
    "variance": ({AROW: 1.0}, "Variance of the weights before training."),
    "gamma": ({AROW: 1.0}, "Counterweight of the steps."),
    "c1": ({LBFGS: 0.0}, "Strength of the L1 penalty."),
    "c2": ({LBFGS: 1.0, SGD: 1.0}, "Strength of the L2 penalty."),
    "max_iterations": (
        {LBFGS: 2**31 - 1, SGD: 1000, **dict.fromkeys(ONLINE, 100)},
        "Number of iterations.",
    ),
    "num_memories": ({LBFGS: 6}, "Number of steps that are kept."),
    "epsilon": (
        {LBFGS: 1e-5, **dict.fromkeys(ONLINE, 0.0)},
        "Where the gradient or the loss ends it.",
    ),
    "period": ({LBFGS: 10, SGD: 10}, "Over how many iterations the objective must fall by delta."),
    "delta": (
        {LBFGS: 1e-5, SGD: 1e-6},
        "Training ends when the objective falls by a smaller part.",
    ),
    "linesearch": ({LBFGS: "MoreThuente"}, "Name of the line search."),
    "max_linesearch": ({LBFGS: 20}, "Number of trials of a line search."),
    "calibration.eta": ({SGD: 0.1}, "First step size that is tried."),
    "calibration.rate": ({SGD: 2.0}, "Factor between two of them."),
    "calibration.samples": ({SGD: 1000.0}, "Number of sequences that they are tried on."),
    "calibration.candidates": ({SGD: 10}, "Number of step sizes that are good enough."),
    "calibration.max_trials": ({SGD: 20}, "Number of trials."),
}
N_FEATURES = 3
OUR_NAMES = {"type": "pa_type", "feature.minfreq": "min_freq"}
SHORT_NAMES = {"ap": AP, "pa": PA}


class CRFSuiteError(Exception):
    """What CRFsuite reports; nothing here raises it."""


class Trainer:
    """Trains models of CRFsuite, as ``pycrfsuite.Trainer``, and tells what its log says.

    Its methods ``on_start``, ``on_featgen_progress``, ``on_featgen_end``, ``on_prepared``,
    ``on_prepare_error``, ``on_iteration``, ``on_optimization_end`` and ``on_end`` get the lines of
    a part of the log when it ends, and print them; a subclass may do something else.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, default=None
        None is "lbfgs".
    params : dict, optional
        As for ``set_params``.
    verbose : bool, default=True
        Whether these methods are called, and so the log is printed.

    Attributes
    ----------
    logparser : TrainLogParser or None
        The log, and the figures in it; None before training.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn_crcrf.compat import pycrfsuite
    >>> trainer = pycrfsuite.Trainer("lbfgs", {"c2": 0.1}, verbose=False)
    >>> trainer.append([{"word": "the"}, {"word": "dog"}], ["D", "N"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trainer.train(f"{folder}/model.crfsuite")
    >>> trainer.get("c2"), round(trainer.logparser.last_iteration["loss"], 1)
    (0.1, 0.6)
    """

    logparser: TrainLogParser | None = None
    verbose: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> "Trainer":
        """Make a trainer that is ready, even if a subclass does not call our constructor."""
        self = super().__new__(cls)
        self.clear()
        self.select("lbfgs")
        return self

    def __init__(
        self, algorithm: str | None = None, params: Mapping | None = None, verbose: Any = True
    ):
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def clear(self) -> None:
        """Remove all sequences."""
        self._sequences: list[tuple[list[dict], list[str], int]] = []

    def append(self, xseq: Any, yseq: Sequence[str], group: int = 0) -> None:
        """Add a sequence.

        Parameters
        ----------
        xseq : list of tokens, or ItemSequence
            As :class:`ItemSequence` takes them.
        yseq : list of str
        group : int
            Number of the part of the data that it belongs to.

        Raises
        ------
        ValueError
            If there are not as many labels as tokens.
        TypeError
            If a token is of another type, or a label is not a str.
        """
        items, labels = ItemSequence(xseq)._items, list(yseq)
        for label in labels:
            if not isinstance(label, str):
                raise TypeError(f"a label must be a str, got {label!r}")
        if len(items) != len(labels):
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {len(items)}, |y| = {len(labels)}"
            )
        self._sequences.append((items, labels, int(group)))

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose an algorithm, with its default parameters."""
        name = SHORT_NAMES.get(algorithm.lower(), algorithm.lower())
        if name not in ALGORITHMS or type != "crf1d":
            raise ValueError(f"Bad arguments: algorithm={algorithm!r}, type={type!r}")
        self._algorithm = name
        self._values = self._defaults()

    def params(self) -> list[str]:
        """List the names of all parameters of the algorithm."""
        return list(self._values)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Return all parameters."""
        return dict(self._values)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        kind = type(self.get(name))
        self._values[name] = value if kind is str else kind(float(value))

    def get(self, name: str) -> Any:
        """Return a parameter."""
        if name not in self._values:
            raise ValueError(f"Parameter not found: {name}")
        return self._values[name]

    def help(self, name: str) -> str:
        """Say what a parameter is."""
        self.get(name)
        return PARAMETERS[name][1]

    def train(self, model: str | os.PathLike, holdout: int = -1) -> None:
        """Train on all sequences, and write the model.

        Parameters
        ----------
        model : str or path-like
            Name of the file; none is written if it is empty.
        holdout : int, default=-1
            The sequences of this group are left out; the log says how well they are labelled after
            the last iteration. -1 for none.
        """
        self.logparser = TrainLogParser()
        self._log(self._lines_before(holdout))
        start, crf = time.perf_counter(), None
        # The last iteration; how well labels are found is known after it.
        iteration: list[str] = []

        def tell(told: Iteration) -> None:
            if iteration:
                self._log([*iteration, "\n"])
            iteration[:] = _lines_of(told, told.seconds - seconds.pop())
            seconds.append(told.seconds)

        seconds = [0.0]
        data = [(x, y) for x, y, group in self._sequences if group != holdout]
        if any(y for _, y in data):
            with listening(tell):
                crf = self._estimator().fit(*zip(*data, strict=True))
            held_out = [(x, y) for x, y, group in self._sequences if group == holdout]
            self._log([*iteration, *_evaluation(crf, held_out), "\n"])
        self._log(_lines_after(time.perf_counter() - start, crf))
        if model:
            content = crfsuite_bytes(self._model(crf))
            with replacing(model) as file:
                file.write(content)

    def message(self, message: str) -> None:
        """Take a line of the log, and tell what ends with it."""
        parser = self.logparser or TrainLogParser()
        event = parser.feed(message)
        if event is None or not self.verbose:
            return
        more = {"featgen_progress": parser.featgen_percent, "iteration": parser.last_iteration}
        given = [parser.last_log, more[event]] if event in more else [parser.last_log]
        getattr(self, f"on_{event}")(*given)

    def on_start(self, log: str) -> None:
        """Take the first line."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Take a sign of progress."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict) -> None:
        """Take the lines of an iteration, and its figures."""
        print(log, end="")

    on_featgen_end = on_prepared = on_prepare_error = on_optimization_end = on_end = on_start

    def _log(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.message(line)

    def _defaults(self) -> dict[str, Any]:
        name = self._algorithm
        return {
            key: defaults[name] for key, (defaults, _) in PARAMETERS.items() if name in defaults
        }

    def _estimator(self) -> CRFsuiteCRF:
        changed = self._values.items() - self._defaults().items()
        ours = (
            (OUR_NAMES.get(key, key.replace("feature.", "all_")), value) for key, value in changed
        )
        given = {key.replace(".", "_"): value for key, value in ours}
        return CRFsuiteCRF(self._algorithm, **given)

    def _model(self, crf: CRFsuiteCRF | None) -> CRFsuiteModel:
        """Return the model, whose labels are in the order of their occurrence, as CRFsuite's."""
        nothing: Any = np.empty(0), (np.empty(0, dtype=np.int64),) * 2
        if crf is None:
            return CRFsuiteModel([], [], nothing, nothing)
        model = as_crfsuite_model(crf.crf_)
        found = dict.fromkeys(label for _, labels, _ in self._sequences for label in labels)
        order = [label for label in found if label in {*model.labels}]
        place = {label: i for i, label in enumerate(order)}
        number = np.array([place[label] for label in model.labels])
        (state, (attribute, label)), (weight, (previous, current)) = model[2:]
        states, transitions = (attribute, number[label]), (number[previous], number[current])
        return CRFsuiteModel(order, model.attributes, (state, states), (weight, transitions))

    def _lines_before(self, holdout: int) -> Iterator[str]:
        settings = [f"{name}: {_shown(value)}\n" for name, value in self._values.items()]
        if holdout >= 0:
            yield from (f"Holdout group: {holdout + 1}\n", "\n")
        yield from ("Feature generation\n", "type: CRF1d\n", *settings[:N_FEATURES])
        for i in range(10):
            yield from (str(i), *"....")
        yield from ("10", "\n", "Seconds required: 0.000\n", "\n", f"{self._algorithm}\n")
        yield from (*settings[N_FEATURES:], "\n")


BaseTrainer = Trainer
"""The name of what python-crfsuite's trainer is made of."""


def _lines_of(iteration: Iteration, seconds: float) -> list[str]:
    """Return the lines of an iteration, which took so many seconds."""
    lines = [f"***** Iteration #{iteration.number} *****\n", f"Loss: {iteration.loss:f}\n"]
    if iteration.gradient_norm is not None:
        lines.append(f"Error norm: {iteration.gradient_norm:f}\n")
    return [*lines, f"Seconds required for this iteration: {seconds:.3f}\n"]


def _evaluation(crf: CRFsuiteCRF, held_out: list) -> Iterator[str]:
    """Say how well sequences that are held out are labelled."""
    if not held_out:
        return
    y = [labels for _, labels in held_out]
    predicted = crf.predict([items for items, _ in held_out])
    pairs = Counter(zip(chain(*y), chain(*predicted), strict=True))
    rates = []
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
    for label in dict.fromkeys(chain(crf.crf_.classes_, *y)):
        model, ref = (sum(n for p, n in pairs.items() if p[k] == label) for k in (1, 0))
        match = pairs[label, label]
        rates.append([match / max(model, 1), match / max(ref, 1), 2 * match / max(model + ref, 1)])
        shown = ", ".join(f"{rate:.4f}" if model or ref else "******" for rate in rates[-1])
        yield f"    {label}: ({match}, {model}, {ref}) ({shown})\n"
    means = ", ".join(f"{mean:f}" for mean in np.mean(rates, axis=0))
    yield f"Macro-average precision, recall, F1: ({means})\n"
    right, all_tokens = sum(n for (a, b), n in pairs.items() if a == b), pairs.total()
    yield f"Item accuracy: {right} / {all_tokens} ({right / max(all_tokens, 1):.4f})\n"
    whole = sum(a == b for a, b in zip(y, predicted, strict=True))
    yield f"Instance accuracy: {whole} / {len(y)} ({whole / len(y):.4f})\n"


def _lines_after(seconds: float, crf: CRFsuiteCRF | None) -> Iterator[str]:
    how = "resulted in convergence"
    if crf is None:
        how = "terminated with error: there are no sequences"
    elif not crf.converged_:
        how = "terminated with the maximum number of iterations"
    yield from (f"Training {how}\n", f"Total seconds required for training: {seconds:.3f}\n")
    yield from ("\n", "Storing the model\n")
    if crf is not None:
        n = len(crf.state_features_ or ()) + len(crf.transition_features_ or ())
        yield f"Number of active features: {n}\n"
        yield f"Number of active attributes: {crf.num_attributes_}\n"
    yield from ("Seconds required: 0.000\n", "\n")


def _shown(value: Any) -> str:
    """Write the value of a parameter as CRFsuite does."""
    if isinstance(value, str):
        return value
    return f"{value:f}" if isinstance(value, float) else f"{value:d}"
