"""The trainer of python-crfsuite, over CRFsuiteCRF."""

import os
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from ...data.ragged import SequenceArray, object_array
from ...data.vocabulary import Vocabulary
from ...estimators.crfsuite import CRFsuiteCRF
from ...estimators.crfsuite.algorithms import estimator_of
from ...estimators.crfsuite.weights import as_crfsuite_model
from ...feature_extraction import SequenceVectorizer
from ...feature_extraction.vectorizer import Attributes, matrix_of, read_attributes
from ...linear.corpus import Corpus
from ...serving.crfsuite.binary_model import CRFsuiteModel, crfsuite_bytes
from ...structures import Chain
from ...training.monitor import Iteration, listening
from ...utils.replacing import replacing
from ._logparser import TrainLogParser
from .items import SEPARATOR, ItemSequence, text

LBFGS, SGD, AROW = "lbfgs", "l2sgd", "arow"
AP, PA = "averaged-perceptron", "passive-aggressive"
ONLINE, ALGORITHMS = (AP, PA, AROW), (LBFGS, SGD, AP, PA, AROW)

# As the log of CRFsuite calls them.
TITLES = {
    LBFGS: "L-BFGS optimization",
    SGD: "Stochastic Gradient Descent (SGD)",
    AP: "Averaged perceptron",
    PA: "Passive Aggressive",
    AROW: "Adaptive Regularization of Weights (AROW)",
}

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
        # All attributes, one sequence after the other, and all labels, as numbers of these.
        self._attributes, self._labels = Vocabulary(), Vocabulary()
        self._ids, self._values, self._starts = array("i"), array("d"), array("q", [0])
        self._y, self._offsets, self._groups = array("i"), array("q", [0]), array("q")

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
        tokens = xseq._items if isinstance(xseq, ItemSequence) else list(xseq)
        labels = [text(label, "a label") for label in yseq]
        if len(tokens) != len(labels):
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {len(tokens)}, |y| = {len(labels)}"
            )
        ids, values, starts = self._read(tokens)
        before = self._starts[-1]
        for kept, more in (
            (self._ids, ids),
            (self._values, np.ones(len(ids)) if values is None else values),
            (self._starts, starts[1:] + before),
            (self._y, self._labels.add(labels)),
            (self._offsets, np.array([self._offsets[-1] + len(labels)])),
            (self._groups, np.array([int(group)])),
        ):
            kept.frombytes(more.tobytes())

    def _read(self, tokens: list) -> Attributes:
        """Number the attributes of tokens."""

        def number(tokens: list) -> Attributes:
            X = SequenceArray(object_array(tokens), [0, len(tokens)])
            return read_attributes(X, self._attributes, SEPARATOR, learn=True, lists=True)

        if {*map(type, tokens)} <= {dict, list, set}:
            with suppress(ValueError):
                return number(tokens)
        return number(ItemSequence(tokens)._items)

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose an algorithm, with its default parameters."""
        name = SHORT_NAMES.get(algorithm.lower(), algorithm.lower())
        if name not in ALGORITHMS or type != "crf1d":
            raise ValueError(f"Bad arguments: algorithm={algorithm!r}, type={type!r}")
        self._algorithm = name
        self._parameters = self._defaults()

    def params(self) -> list[str]:
        """List the names of all parameters of the algorithm."""
        return list(self._parameters)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Return all parameters."""
        return dict(self._parameters)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        kind = type(self.get(name))
        self._parameters[name] = value if kind is str else kind(float(value))

    def get(self, name: str) -> Any:
        """Return a parameter."""
        if name not in self._parameters:
            raise ValueError(f"Parameter not found: {name}")
        return self._parameters[name]

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
            Training leaves out the sequences of this group, but the model has their labels; the log
            says how well they are labelled after each iteration. -1 for none.
        """
        self.logparser = TrainLogParser()
        rows, y = self._rows()
        trains = np.array(self._groups) != holdout
        n_features = self._n_features(rows, trains)
        self._log(self._lines_before(holdout, n_features))
        start, crf = time.perf_counter(), None
        unit = "Epoch" if self._algorithm == SGD else "Iteration"
        before = Iteration(0, 0.0, 0.0, n_evaluations=1)

        def tell(told: Iteration) -> None:
            nonlocal before
            self._log(_lines_of(told, before, n_features, unit))
            if not trains.all():
                held_out = rows[~trains], y[~trains]
                self._log(_evaluation(told.model(), self._labels.symbols, *held_out))
            self._log(["\n"])
            before = told

        if (rows.lengths * trains).any():
            crf = self._estimator()
            crf._validate_params()
            crf.crf_, crf.vectorizer_ = estimator_of(crf), SequenceVectorizer(separator=SEPARATOR)
            crf.vectorizer_.vocabulary_ = self._attributes
            with listening(tell):
                crf._fit_rows(rows, y, trains.astype(float))
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
        changed = self._parameters.items() - self._defaults().items()
        ours = (
            (OUR_NAMES.get(key, key.replace("feature.", "all_")), value) for key, value in changed
        )
        given = {key.replace(".", "_"): value for key, value in ours}
        if given.get("max_iterations") == 0:  # of "lbfgs" it is no limit
            if self._algorithm != LBFGS:
                raise ValueError(f"max_iterations must be at least 1 for {self._algorithm}")
            del given["max_iterations"]
        return CRFsuiteCRF(self._algorithm, **given)

    def _model(self, crf: CRFsuiteCRF | None) -> CRFsuiteModel:
        """Return the model, whose labels are in the order of their occurrence, as CRFsuite's."""
        nothing: Any = np.empty(0), (np.empty(0, dtype=np.int64),) * 2
        if crf is None:
            return CRFsuiteModel([], [], nothing, nothing)
        model = as_crfsuite_model(crf.crf_)
        order = self._labels.symbols
        place = {label: i for i, label in enumerate(order)}
        number = np.array([place[label] for label in model.labels])
        (state, (attribute, label)), (weight, (previous, current)) = model[2:]
        states, transitions = (attribute, number[label]), (number[previous], number[current])
        return CRFsuiteModel(order, model.attributes, (state, states), (weight, transitions))

    def _rows(self) -> tuple[SequenceArray, SequenceArray]:
        """Return the rows of all sequences, and their labels."""
        offsets, labels = np.array(self._offsets), object_array(self._labels.symbols)
        attributes = Attributes(np.array(self._ids), np.array(self._values), np.array(self._starts))
        X = matrix_of(attributes, len(self._attributes), float, offsets)
        return SequenceArray(X, offsets), SequenceArray(labels[np.array(self._y)], offsets)

    def _n_features(self, rows: SequenceArray, trains: np.ndarray) -> int:
        """Count the features of the sequences that train."""
        is_known = np.repeat(trains, rows.lengths)
        y = np.where(is_known, np.array(self._y), -1).astype(np.int32)
        corpus = Corpus(rows.data, y, Chain(rows.offsets), np.ones(len(trains)))
        names = "min_freq", "all_possible_states", "all_possible_transitions"
        values = (self._parameters[name] for name in [*PARAMETERS][:N_FEATURES])
        chosen: Any = estimator_of(CRFsuiteCRF(**dict(zip(names, values, strict=True)))).features
        pairs, transitions, *_ = chosen(corpus, len(self._labels))
        n_pairs = len(self._attributes) * len(self._labels) if pairs is None else pairs.nnz
        return int(n_pairs + transitions.sum())

    def _lines_before(self, holdout: int, n_features: int) -> Iterator[str]:
        settings = [f"{name}: {_shown(value)}\n" for name, value in self._parameters.items()]
        if holdout >= 0:
            yield from (f"Holdout group: {holdout + 1}\n", "\n")
        yield from ("Feature generation\n", "type: CRF1d\n", *settings[:N_FEATURES])
        for i in range(10):
            yield from (str(i), *"....")
        yield from ("10", "\n", f"Number of features: {n_features}\n", "Seconds required: 0.000\n")
        yield from ("\n", f"{TITLES[self._algorithm]}\n")
        yield from (*settings[N_FEATURES:], "\n")


BaseTrainer = Trainer
"""The name of what python-crfsuite's trainer is made of."""


def _lines_of(iteration: Iteration, before: Iteration, n_features: int, unit: str) -> Iterator[str]:
    """Say what an iteration did, after the one before it."""
    yield from (f"***** {unit} #{iteration.number} *****\n", f"Loss: {iteration.loss:f}\n")
    weights = iteration.weights
    if weights is not None:
        yield f"Feature norm: {np.linalg.norm(weights):f}\n"
    if iteration.gradient_norm is not None:
        yield f"Error norm: {iteration.gradient_norm:f}\n"
    if weights is not None:
        if len(weights) < n_features:  # equal features are merged
            crf = iteration.model()
            weights = np.append(crf.coef_.data, crf.transitions_)
        yield f"Active features: {np.count_nonzero(weights)}\n"
    if iteration.step is not None:
        yield f"Line search trials: {iteration.n_evaluations - before.n_evaluations}\n"
        yield f"Line search step: {iteration.step:f}\n"
    yield f"Seconds required for this iteration: {iteration.seconds - before.seconds:.3f}\n"


def _evaluation(
    crf: Any, labels: list[str], rows: SequenceArray, held_out: SequenceArray
) -> Iterator[str]:
    """Say how well sequences that are held out are labelled."""
    y, predicted = ([s.tolist() for s in of] for of in (held_out, crf.predict(rows)))
    pairs = Counter(zip(chain(*y), chain(*predicted), strict=True))
    rates = []
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
    for label in labels:
        model, ref = (sum(n for p, n in pairs.items() if p[k] == label) for k in (1, 0))
        match = pairs[label, label]
        rates.append([match / max(model, 1), match / max(ref, 1), 2 * match / max(model + ref, 1)])
        shown = ", ".join(f"{rate:.4f}" if ref else "******" for rate in rates[-1])
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
