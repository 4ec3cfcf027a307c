"""LatticeCRF: a CRF of any order, over the labels that a fast model finds likely."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import _fit_context, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ..._kernels.lattice.runs import add_rows_to_candidates
from ...base.batches import Batch
from ...base.classifier import BaseSequenceClassifier
from ...base.contributions import Contributions, attribute_contributions
from ...base.docstrings import documented
from ...base.sample_weight import sequence_weights
from ...criteria import LogLoss, as_criterion
from ...data.csr import csr_arrays
from ...data.ragged import SequenceArray
from ...data.sequences import as_sequences
from ...labels.partial import encode_partial_labels
from ...linear.classifier import DECODERS, LinearClassifier
from ...linear.corpus import Corpus, check_magnitude
from ...linear.encoder import AttributeEncoder
from ...solvers import adagrad
from ...structures import Candidates, Lattice, LatticeScores, Structure, structure_of
from ...training.loop import CallbackSupportMixin, FitProgress, train
from ...utils.soundness import Array, Fact, Requirement
from ..crf.solving import check_supported, solve
from ..empirical import EmpiricalCRF
from .candidates import Proposals
from .design import (
    choose_features,
    end_runs,
    keys_of_runs,
    labels_of_key,
    positions,
    run_key,
)
from .problem import LatticeLearning, LatticeProblem

# Solvers of an objective over all sequences.
SOLVERS = ("lbfgs", "newton-cg", "cg", "rprop", "quickprop", "bundle")
# Criteria that need no more than sums and maxima over paths.
CRITERIA = {"log_loss", "max_margin", "softmax_margin"}
# The fraction of gold labels that a threshold leaves out in the sample on which it is found.
OUTSIDE = 0.0015
# Epochs of "adagrad", and iterations of the other solvers.
EPOCHS, ITERATIONS = 5, 1000


@documented
@dataclass(eq=False, repr=False)
class LatticeCRF(CallbackSupportMixin, LinearClassifier):
    """CRF of first, second or third order, over the labels that a fast model finds likely [1]_.

    A model that is fitted by counting proposes a few candidate labels for each token, mostly one
    or two of hundreds. Training and prediction sum over the paths of candidates only, exactly. So
    the time hardly depends on the number of labels, and scores of three or four labels in a row
    are affordable. In training, the candidates of a sequence come from a model that has not seen
    it, and the gold label is always one of them.

    The log-probability of a candidate is a feature with a weight for each label, so training starts
    from the first model. Half of the attributes of each token, chosen at random, are left out
    during training, so that this feature is not ignored among thousands of attributes.

    Parameters
    ----------
    order : {1, 2, 3}, default=2
        The number of labels before a label on which its score depends.
    candidates : "empirical" or estimator, default="empirical"
        The model that proposes candidates: a classifier of this package with probabilities;
        "empirical" is ``EmpiricalCRF(order=min(order, 2))``.
    threshold : float or "auto", default="auto"
        The least probability of a candidate. "auto" is the greatest value from 1e-10 to 1e-4 that
        leaves out at most about 0.15 % of the gold labels of the folds, and lets tokens have about
        four candidates at most on average.
    cv : int, default=5
        Number of folds, or of sequences if there are fewer. The candidates of the sequences of a
        fold are proposed by a model that is fitted to the other folds. A fold has up to ten blocks
        of consecutive sequences, spread over the data, so that data may be sorted.
    candidate_scores : bool, default=True
        Whether the log-probability of a candidate is a feature.
    transformer : transformer, default=None
        Makes the attributes of tokens, such as :func:`text_features`. The model that proposes
        candidates sees X itself. By default both see X.
    dropout : float, default=0.5
        Probability, in [0, 1), that an attribute of a token is left out in training. The values of
        the others are divided by the probability of staying. "adagrad" draws anew in each epoch,
        other solvers draw once.
    criterion : {"log_loss", "max_margin", "softmax_margin"} or callable, default="log_loss"
        The loss of a sequence: a name or an object of :mod:`sklearn_crcrf.criteria` that needs no
        more than sums and maxima over paths. "adagrad" is for the log loss.
    {sigma}
    features : {"all", "observed"}, default="all"
        Whether there is a weight for every pair of attribute and candidate, and for every run of
        candidates, or only for pairs and runs with gold labels.
    {min_freq}
    solver : {"adagrad", "lbfgs", "newton-cg", "cg", "rprop", "quickprop", "bundle"}, \
default="adagrad"
        "adagrad" moves the weights after each sequence, at a rate of their own, and takes the mean
        of these weights.
    max_iter : int, default=None
        Number of epochs of "adagrad", by default 5; maximum number of iterations of the other
        solvers, by default 1000.
    tol : float, default=1e-5
        Solvers but "adagrad" stop when the objective falls by less than this fraction of its value
        over ten iterations.
    decoding : {"viterbi", "marginal"}, default="viterbi"
        Whether :meth:`predict` finds the best path, or the best label of each token.
    {dtype}
    {sample_unit}
    n_jobs : int, default=None
        Number of threads.
    random_state : int, RandomState or None, default=None
        Orders the sequences of "adagrad", and chooses the attributes that are left out.
    {verbose}

    Attributes
    ----------
    {classes_}
    candidates_ : CandidateStatistics
        ``mean_number`` of candidates per token, the fraction of tokens whose gold label was
        not proposed, ``gold_outside``, and of labels but "O" that were ``found``, on training data.
    threshold_ : float
        The threshold in use.
    candidate_model_ : estimator
        The model that proposes candidates, fitted to all data.
    transformer_ : transformer or None
        The fitted transformer.
    coef_ : CSR of shape (n_attributes, n_labels)
        The weight of each attribute for each label.
    candidate_coef_ : ndarray of shape (n_labels,)
        The weights of log-probabilities; zero without ``candidate_scores``.
    label_runs_ : dict
        The weights of tuples of labels that follow each other; None stands for the begin or the
        end of a sequence.
    transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
        The weights of the pairs in ``label_runs_``.
    begin_, end_ : ndarray of shape (n_labels,)
        The weights of the first and the last labels of sequences.
    {attribute_names_}
    {state_features_}
    {transition_features_}
    {loss_curve_}
    {n_iter_}
    {converged_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    CRF : All labels of every token.
    EmpiricalCRF : The model that finds the likely labels.

    References
    ----------
    .. [1] Müller, Schmid, Schütze, "Efficient Higher-Order CRFs for Morphological Tagging",
       EMNLP 2013.

    Examples
    --------
    >>> from sklearn_crcrf import LatticeCRF
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["the", "cat", "walks"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"]]
    >>> crf = LatticeCRF(random_state=0).fit(X, y)
    >>> crf.predict([["a", "dog", "sleeps"]])
    array([list(['D', 'N', 'V'])], dtype=object)
    >>> crf.candidates_.gold_outside
    0.0
    """

    order: int = 2
    candidates: str = "empirical"
    _: KW_ONLY
    threshold: str = "auto"
    cv: Any = 5
    candidate_scores: bool = True
    transformer: Any = None
    dropout: float = 0.5
    criterion: Any = "log_loss"
    sigma: float = 1.0
    features: Any = "all"
    min_freq: int = 1
    solver: str = "adagrad"
    max_iter: int | None = None
    tol: float = 1e-5
    decoding: str = "viterbi"
    dtype: Any = None
    sample_unit: str = "sequence"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "order": [Interval(Integral, 1, 3, closed="both")],
        "candidates": [StrOptions({"empirical"}), BaseSequenceClassifier],
        "threshold": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "candidate_scores": ["boolean"],
        "transformer": [HasMethods(["fit_transform", "transform"]), None],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "criterion": [StrOptions(CRITERIA), callable],
        "features": [StrOptions({"all", "observed"})],
        "solver": [StrOptions({"adagrad", *SOLVERS})],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "decoding": [StrOptions(set(DECODERS))],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LatticeCRF":
        """Fit the model that proposes candidates, then train over their paths.

        Parameters
        ----------
        X : list of sequences, SequenceArray, 2-D array, CSR or DataFrame
            Sequences of token strings, of feature dicts, or of rows of numbers; a DataFrame with
            the index (sequence, position) has a token in each row.
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels; partial labels are not accepted.
        {sample_weight}

        Returns
        -------
        LatticeCRF
            Itself. If training fails, it stays as it was; if it is interrupted, it
            has the weights of the last iteration.

        Raises
        ------
        ValueError
            If a label is unknown, X has other links than sequences, there is one sequence only, or
            input is not valid; the message says where.
        """
        progress = FitProgress(self, self._max_iter(), X, y, sample_weight)
        rng = check_random_state(self.random_state)
        with self._replaced_by(self._unfitted()) as twin:
            corpus, raw = twin._read_all(X, y, sample_weight)
            problem = twin._problem(corpus, raw, rng)
            train(
                twin,
                lambda callback: twin._solve(problem, rng, callback),
                lambda fitted, x: fitted._set_weights(problem, x),
                progress=progress,
            )
        return self

    def _max_iter(self) -> int:
        default = EPOCHS if self.solver == "adagrad" else ITERATIONS
        return default if self.max_iter is None else self.max_iter

    def _read_all(self, X: Any, y: Any, sample_weight: Any) -> tuple[Corpus, SequenceArray]:
        """Encode and check the training data; also returns X as sequences."""
        sequences, weights = self._check_training(X, y, sample_weight, reset=True)
        structure = self._sequences(sequences.X)
        self.classes_, ids, _ = encode_partial_labels(sequences.y)
        if (len(self.classes_) + 2.0) ** (self.order + 1) >= 2.0**63:
            raise ValueError(f"order={self.order} is too high for {len(self.classes_)} labels")
        self.transformer_ = None if self.transformer is None else clone(self.transformer)
        tokens = sequences.X
        if self.transformer_ is not None:
            tokens = as_sequences(self.transformer_.fit_transform(sequences.X)).X
            self._n_transformed = tokens.data.shape[1] if tokens.data.ndim == 2 else None
        self._encoder = AttributeEncoder(self.min_freq, self.dtype, ())
        attributes = sorted_rows(self._encoder.fit_transform(tokens))
        check_magnitude(attributes, sequences.X.offsets)
        self.attribute_names_ = self._encoder.names
        weight = sequence_weights(weights, sequences.X.offsets)
        corpus = Corpus(attributes, ids, structure, weight)
        corpus.require_labels()
        return corpus, sequences.X

    def _sequences(self, X: SequenceArray) -> Structure:
        """Return the structure of X, which must be sequences."""
        structure = structure_of(X)
        self._check_structure(structure, X)
        return structure

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        if not structure.is_sequential() and not structure.own_scores:
            raise ValueError(
                "LatticeCRF needs sequences, in which each token is linked to the next one, but X "
                "has other links"
            )

    def _proposals(self) -> Proposals:
        given = self.candidates
        estimator = EmpiricalCRF(order=min(self.order, 2)) if isinstance(given, str) else given
        return Proposals(estimator, self.classes_)

    def _problem(
        self, corpus: Corpus, X: SequenceArray, rng: np.random.RandomState
    ) -> LatticeProblem:
        """Propose candidates, and choose what has a weight."""
        proposals, offsets = self._proposals(), corpus.offsets
        folds = proposals.folds(X, corpus.y, corpus.weight, self.cv)
        given = self.threshold
        self.threshold_ = proposals.threshold(folds, OUTSIDE) if given == "auto" else float(given)
        candidates, self.candidates_ = proposals.out_of_fold(folds, self.threshold_)
        self.candidate_model_ = proposals.fit(
            X, SequenceArray(self.classes_[corpus.y], offsets), corpus.weight
        )
        shown = lattice = Lattice(offsets, candidates, self.order)
        if self.features == "observed":
            is_gold = candidates.label == corpus.y[candidates.token]
            shown = Lattice(offsets, candidates.where(is_gold), self.order)
        features = choose_features(corpus.X, lattice, shown, self.candidate_scores)
        attributes = corpus.X
        if self.solver != "adagrad" and self.dropout > 0.0:
            attributes = attributes.copy()
            kept = rng.random_sample(attributes.nnz) >= self.dropout
            attributes.data *= (kept / (1.0 - self.dropout)).astype(attributes.dtype)
        return LatticeProblem(
            corpus._replace(X=attributes, structure=lattice),
            features,
            as_criterion(self.criterion).for_labels(self.classes_),
            self.sigma,
            self.dropout,
            effective_n_jobs(self.n_jobs),
        )

    def _solve(self, problem: LatticeProblem, rng: np.random.RandomState, callback: Any) -> Any:
        options: dict[str, Any] = {"max_iter": self._max_iter(), "callback": callback}
        if self.solver == "adagrad":
            if not isinstance(problem.criterion, LogLoss):
                raise ValueError(f'solver="adagrad" is for the log loss, not {problem.criterion}')
            return adagrad(LatticeLearning(problem), problem.start(), rng=rng, **options)
        target: Any = problem
        check_supported(self.solver, target)
        start, options = problem.start(), {**options, "tol": self.tol, "c1": 0.0}
        return solve(self.solver, target, start, stochastic=None, **options)

    def _set_weights(self, problem: LatticeProblem, x: np.ndarray) -> None:
        features = problem.features
        if features.has_known and self.candidates_.found < 1.0:
            # Where few names are found, the greatest likelihood finds fewer still. So weights move
            # only a share of their way, a smaller one if they know nothing but what X says.
            share = self.candidates_.found ** (2 if self.transformer_ is None else 1)
            start = problem.start()
            x = start + x.dtype.type(share) * (x - start)
        of_pairs, of_runs, of_known = features.split(x.copy())
        pairs = features.pairs
        self.coef_ = sp.csr_array((of_pairs, pairs.indices, pairs.indptr), shape=pairs.shape)
        self._run_keys, self._run_weights = features.runs, of_runs
        self.candidate_coef_ = (
            of_known if features.has_known else np.zeros(len(self.classes_), x.dtype)
        )

    @property
    def label_runs_(self) -> dict[tuple, float]:
        """The weights of labels in a row; None stands for the begin or end of a sequence."""
        n, names = len(self.classes_), [*self.classes_.tolist(), None]
        runs = (labels_of_key(key, n) for key in self._run_keys.tolist())
        weights = self._run_weights.tolist()
        return {tuple(names[i] for i in ids): w for ids, w in zip(runs, weights, strict=True)}

    @property
    def transitions_(self) -> np.ndarray:
        """The weights of pairs of labels, of shape (n_labels, n_labels); row = previous."""
        return self._pair_weights()[:-1, :-1]

    @property
    def begin_(self) -> np.ndarray:
        """The weights of the first labels of sequences."""
        return self._pair_weights()[-1, :-1]

    @property
    def end_(self) -> np.ndarray:
        """The weights of the last labels of sequences."""
        return self._pair_weights()[:-1, -1]

    def _pair_weights(self) -> np.ndarray:
        """Return the weights of pairs, (n_labels + 1, n_labels + 1); the last is the mark."""
        n = len(self.classes_)
        digits = np.indices((n + 1, n + 1)).reshape(2, -1).T + 1
        weights = np.append(self._run_weights, 0.0)
        return weights[positions(run_key(digits, n), self._run_keys)].reshape(n + 1, n + 1)

    def _requirements(self) -> Iterator[Requirement]:
        yield from super()._requirements()
        yield Array("_run_keys", self._run_keys, (len(self._run_keys),), kind="i")
        yield Fact("_run_keys", bool((np.diff(self._run_keys) > 0).all()), "must rise")
        yield Array("_run_weights", self._run_weights, self._run_keys.shape)
        yield Array("candidate_coef_", self.candidate_coef_, (len(self.classes_),))
        model = self.candidate_model_
        yield Fact(
            "candidate_model_", isinstance(model, BaseSequenceClassifier), "must be a classifier"
        )
        known = set(model.classes_.tolist()) <= set(self.classes_.tolist())
        yield Fact("threshold_", 0.0 < self.threshold_ < 1.0, "must be in (0, 1)")
        yield Fact("candidate_model_", known, "must have labels among classes_")

    def _width(self) -> int | None:
        return super()._width() if self.transformer_ is None else self._n_transformed

    def _structure(self, X: SequenceArray) -> Structure:
        offsets = self._sequences(X).offsets
        candidates, _ = self._proposals().of(self.candidate_model_, X, self.threshold_)
        return Lattice(offsets, candidates, self.order)

    def _prepare(self, X: SequenceArray) -> sp.csr_array:
        if self.transformer_ is not None:
            X = as_sequences(self.transformer_.transform(X)).X
        return sorted_rows(self._encoder.transform(X))

    def _scores(self, prepared: sp.csr_array, batch: Batch) -> Any:
        lattice: Any = batch.structure
        candidates: Candidates = lattice.candidates
        keys, weights = keys_of_runs(lattice), np.append(self._run_weights, 0)
        runs = weights[positions(keys, self._run_keys)].astype(self.coef_.dtype)
        ends = end_runs(lattice, keys)
        np.add.at(runs, ends.place, weights[positions(ends.key, self._run_keys)])
        state = runs[: len(candidates.label)]
        state += self.candidate_coef_[candidates.label] * candidates.log_probability
        rows = prepared[batch.start : batch.stop].astype(self.coef_.dtype)
        entries = *csr_arrays(rows), *csr_arrays(self.coef_)
        add_rows_to_candidates(*entries, candidates.indptr, candidates.label, state)
        return LatticeScores(runs, candidates)

    def _contributions(self, prepared: sp.csr_array, batch: Batch, y: np.ndarray) -> Contributions:
        lattice: Any = batch.structure
        candidates: Candidates = lattice.candidates
        place = candidates.indptr[:-1] + candidates.find(y)
        is_candidate = place >= candidates.indptr[:-1]
        log_probability = np.full(len(y), -np.inf)
        log_probability[is_candidate] = candidates.log_probability[place[is_candidate]]
        weight = np.where(is_candidate, self.candidate_coef_[y], 1.0)
        # The runs of the path are the runs of a lattice that has no other candidates.
        path = Lattice(
            lattice.offsets, candidates.where(candidates.label == y[candidates.token]), self.order
        )
        keys = keys_of_runs(path)
        ends = end_runs(path, keys)
        token = np.concatenate([path.runs(n)[0] for n in range(self.order + 1)])
        keys, token = np.append(keys, ends.key), np.append(token, token[ends.place])
        runs = np.append(self._run_weights, 0)[positions(keys, self._run_keys)]
        return Contributions.join(
            [
                attribute_contributions(
                    prepared[batch.start : batch.stop], self.coef_, y, self.attribute_names_
                ),
                Contributions.of(
                    "attribute", np.arange(len(y)), ["candidate"] * len(y), weight, log_probability
                ),
                Contributions.of("transition", token, self._names_of_runs(keys), runs),
            ]
        )

    def _names_of_runs(self, keys: np.ndarray) -> list[str]:
        """Return names such as ``"start → D → N"`` of the runs of labels with given keys."""
        n, labels = len(self.classes_), self.classes_.tolist()
        runs = (labels_of_key(key, n) for key in keys.tolist())
        return [
            " → ".join(
                str(labels[i]) if i >= 0 else "end" if place else "start"
                for place, i in enumerate(run)
            )
            for run in runs
        ]

    def _decode(self, structure: Structure, scores: Any, first: int) -> np.ndarray:
        return DECODERS[self.decoding](self, structure, scores, first)


def sorted_rows(X: Any) -> sp.csr_array:
    """Return attributes as CSR with sorted indices."""
    X = sp.csr_array(X)
    X.sort_indices()
    return X
