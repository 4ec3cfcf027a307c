"""SequenceLabelModel: the true labels behind labellings by several annotators."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from ...base.docstrings import documented
from ...data.layout import Lists
from ...data.ragged import token_name
from ...labels.segments.roles import Roles, roles_of
from ...labels.segments.schemes import ONE_TO_ONE, are_segments, check_option, detect_scheme
from ...training import FittedState
from ...utils.names import shown
from ...utils.replaced_parts import check_fitted
from ...utils.soundness import Array, Fact, Requirement, Sound, labels
from ...utils.warning import warn_caller
from .expectation import Rates, VotedTokens
from .reports import Reporting
from .votes import Votes, whose


@documented
@dataclass(eq=False, repr=False)
class SequenceLabelModel(FittedState, Sound, BaseEstimator):
    r"""Estimate the true labels behind labellings by several people, rules or language models.

    The true labels :math:`z_t` are a Markov chain, and each annotator j who labelled token t
    reported a label with probability :math:`\pi_j(z_t, l)` [1]_, independently of all others:

    .. math::

       p(z, l) = p(z_1)\, p(\mathrm{end} \mid z_n) \prod_{t > 1} p(z_t \mid z_{t-1})
       \prod_t \prod_j \pi_j(z_t, l_{tj}).

    Expectation maximisation finds all probabilities, without a single true label [2]_. Its
    expectations are sums over all labellings, by forward-backward; its maximisation divides
    expected counts, to which ``smoothing`` events are added. It starts from the share of the votes
    that each label has. So an annotator who often agrees with the others weighs more.

    If labels spell segments, annotators begin a segment of some type, go on with the segment that
    they have begun, or stay outside, with probabilities that depend on the true label *and* on the
    open segment, if any [3]_. So a name that was missed, or has a wrong type, is one mistake, and
    not one at each of its tokens. Transitions that the scheme does not have are impossible.

    Parameters
    ----------
    n_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-6
        Stop when the objective rises by less than this fraction of its value.
    smoothing : float, default=1.0
        Number of events, in (0, inf), added to the counts behind each distribution: of reports of
        an annotator, as all annotators together report by the votes at the start; of labels after
        a label, of each that is possible the same. The more, the more alike annotators seem.
    scheme : {"auto", "IOB2", "IOBES", "BIOES", "BILOU", "BMES"} or None, default="auto"
        How labels spell segments; None if they do not. By default it is detected, and used if all
        votes keep it. If you name a scheme that votes break, a label that continues nothing
        begins a segment.

    Attributes
    ----------
    {classes_}
    annotators_ : list of n_annotators names
        In the order of the votes.
    reliability_ : ndarray of shape (n_annotators, n_labels)
        Probability that an annotator reports a true label right.
    confusion_ : ndarray of shape (n_annotators, n_labels, n_labels), row = true label
        Probability of each reported label, averaged over what the annotator reported before.
    begin_, end_ : ndarray of shape (n_labels,)
        :math:`\log p(z_1)`, and :math:`\log p(\mathrm{end} \mid z_n)`.
    transitions_ : ndarray of shape (n_labels, n_labels), row = previous label
        :math:`\log p(z_t \mid z_{t-1})`.
    report_rates_ : ndarray of shape (n_annotators, n_rates)
        The probabilities of all reports that differ in probability; rows of a confusion matrix
        one after the other if there is no scheme.
    scheme_ : str or None
        The scheme of segments.
    log_likelihood_curve_ : list of float
        The objective after each iteration: the log-likelihood of the votes, plus the log-density
        of the Dirichlet prior that stands for the events added. It never falls.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the objective rose by less than ``tol`` at the end.

    See Also
    --------
    EmpiricalCRF : Trained on the probabilities: ``fit(X, predict_proba(votes), labels=classes_)``.

    Notes
    -----
    Annotators who make the same mistakes, such as two rules from one list or two versions of a
    language model, count as two opinions: give one of them. With two annotators, only the
    chain tells who is right. A label that nobody reported at a token is true there only if
    little else is possible: its probability has the factor 0.001.

    References
    ----------
    .. [1] Dawid, Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM
       Algorithm", Applied Statistics 28 (1979).
    .. [2] Nguyen, Wallace, Li, Nenkova, Lease, "Aggregating and Predicting Sequence Labels from
       Crowd Annotations", ACL 2017.
    .. [3] Simpson, Gurevych, "A Bayesian Approach for Sequence Tagging with Crowds", EMNLP 2019.

    Examples
    --------
    >>> from sklearn_crcrf import SequenceLabelModel
    >>> votes = {
    ...     "Ann": [["B-PER", "I-PER", "O"], ["O", "B-LOC"], ["B-LOC", "O"]],
    ...     "Ben": [["B-PER", "I-PER", "O"], ["O", "B-LOC"], None],
    ...     "rule": [["O", "B-PER", "O"], ["O", "B-PER"], ["B-PER", None]],
    ... }
    >>> model = SequenceLabelModel().fit(votes)
    >>> model.predict(votes).tolist()
    [['B-PER', 'I-PER', 'O'], ['O', 'B-LOC'], ['B-LOC', 'O']]
    >>> model.predict_proba(votes)[2].round(2)
    array([[0.98, 0.02, 0.  , 0.  ],
           [0.  , 0.  , 0.  , 1.  ]])
    >>> model.annotators_, model.reliability_[:, 0].round(2)  # of the label "B-LOC"
    (['Ann', 'Ben', 'rule'], array([0.81, 0.72, 0.15]))
    """

    n_iter: int = 100
    _: KW_ONLY
    tol: float = 1e-6
    smoothing: float = 1.0
    scheme: str | None = "auto"

    _parameter_constraints: ClassVar[dict] = {
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "scheme": [str, None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, votes: Any, y: None = None) -> Self:
        """Learn how reliable each annotator is, from votes alone.

        Parameters
        ----------
        votes : mapping, DataFrame or list
            The labellings of all annotators. A mapping from the name of an annotator to labels in
            any layout of ``y``: a list of label lists, or a SequenceArray. None is a label, or a
            whole sequence, that the annotator did not give. Or a DataFrame with a column for each
            annotator, and the index (sequence, position); or a list of labellings, of annotators
            0, 1, ...
        y : None
            Ignored; for the conventions of scikit-learn.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If labellings differ in their lengths, nobody saw a sequence, no label is given, a
            label is not valid, or labels do not fit the scheme.

        Warns
        -----
        UserWarning
            If labels look like a scheme that some votes break.
        ConvergenceWarning
            If ``n_iter`` iterations were too few.
        """
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit(Votes.read(votes))
        return self

    def predict(self, votes: Any) -> Any:
        """Return the most probable labels of each sequence, as a whole.

        Parameters
        ----------
        votes : as in :meth:`fit`
            Other votes, or the same; annotators may be missing.

        Returns
        -------
        labels
            In the layout of the votes: a SequenceArray if all labellings are, an object array of
            lists for lists, and a 1-D array for a DataFrame.

        Raises
        ------
        ValueError
            If an annotator or a label is unknown, or votes are not valid.
        """
        votes, tokens, rates = self._tokens(votes)
        paths = [batch.structure.maximum(scores)[1] for batch, scores in tokens.scored(rates)]
        return votes.mirror(self.classes_[np.concatenate(paths)])

    def predict_proba(self, votes: Any) -> Any:
        """Return the probability of each true label of each token, by forward-backward.

        Parameters
        ----------
        votes : as in :meth:`predict`

        Returns
        -------
        probabilities
            Columns as in ``classes_``: a list of arrays of shape (n_tokens, n_labels) for lists, a
            SequenceArray for SequenceArrays, and a 2-D array for a DataFrame. ``fit`` of
            :class:`EmpiricalCRF`, :class:`HMM` and :class:`CRF` takes them as ``y``, with
            ``labels=classes_``.

        Raises
        ------
        ValueError
            As of :meth:`predict`.
        """
        votes, tokens, rates = self._tokens(votes)
        proba = votes.mirror(tokens.marginals(rates))
        return list(proba) if isinstance(votes.mirror, Lists) else proba

    def _tokens(self, votes: Any) -> tuple[Votes, VotedTokens, Rates]:
        """Read votes by the annotators and labels that were learned."""
        check_fitted(self)
        votes = Votes.read(votes)
        ids = votes.of_model(self.annotators_, self.classes_)
        reporting = Reporting.of(self.classes_, self.scheme_)
        following = np.exp(np.column_stack([self.transitions_, self.end_]))
        rates = Rates(self.report_rates_, following, np.exp(self.begin_))
        return votes, VotedTokens.of(ids, votes.mirror.offsets, reporting), rates

    def _fit(self, votes: Votes) -> None:
        self.classes_, self.annotators_ = votes.classes, votes.annotators
        offsets = votes.mirror.offsets
        self.scheme_ = _scheme_of(votes, self.scheme)
        reporting = Reporting.of(self.classes_, self.scheme_)
        tokens = VotedTokens.of(votes.ids, offsets, reporting)
        roles = None if self.scheme_ is None else roles_of(self.classes_, self.scheme_)
        counts, prior = tokens.counts_of_shares(roles)
        curve: list[float] = []
        self.converged_ = False
        while not self.converged_ and len(curve) < self.n_iter:
            rates = counts.plus(self.smoothing, prior).normalised(reporting)
            log_likelihood, counts = tokens.expected(rates)
            curve.append(log_likelihood + rates.log_density(self.smoothing, prior))
            self.converged_ = len(curve) > 1 and curve[-1] - curve[-2] <= self.tol * abs(curve[-1])
        self.log_likelihood_curve_, self.n_iter_ = curve, len(curve)
        with np.errstate(divide="ignore"):
            following, self.begin_ = np.log(rates.following), np.log(rates.begin)
        self.transitions_, self.end_ = following[:, :-1].copy(), following[:, -1].copy()
        self.report_rates_ = rates.reports
        self.confusion_ = tokens.confusion(votes.ids, rates, self.smoothing)
        if not self.converged_:
            warn_caller(
                f"SequenceLabelModel did not converge in {self.n_iter} iterations: the objective "
                "still rises; increase n_iter or tol",
                ConvergenceWarning,
            )

    @property
    def reliability_(self) -> np.ndarray:
        """Probability that each annotator reports each true label right."""
        return np.diagonal(self.confusion_, axis1=1, axis2=2).copy()

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        n, n_annotators = len(self.classes_), len(self.annotators_)
        known = self.scheme_ is None or self.scheme_ in ONE_TO_ONE
        yield Fact("scheme_", known, f"must be None or one of {ONE_TO_ONE}")
        names = isinstance(self.annotators_, list) and len(set(self.annotators_)) == n_annotators
        yield Fact("annotators_", names and n_annotators > 0, "must be a list of different names")
        n_rates = len(Reporting.of(self.classes_, self.scheme_).row)
        yield Array("report_rates_", self.report_rates_, (n_annotators, n_rates), 0.0, 1.0)
        yield Array("confusion_", self.confusion_, (n_annotators, n, n), 0.0, 1.0)
        yield Array("transitions_", self.transitions_, (n, n), -np.inf, 0.0)
        for name in ("begin_", "end_"):
            yield Array(name, getattr(self, name), (n,), -np.inf, 0.0)


def _scheme_of(votes: Votes, scheme: str | None) -> str | None:
    """Return the scheme of the votes, if it is asked for and they keep it.

    Raises
    ------
    ValueError
        If the scheme is not known, or a label that goes on with a segment can follow no other.

    Warns
    -----
    UserWarning
        If a scheme was detected that some votes break.
    """
    if scheme is None or (scheme == "auto" and not are_segments(votes.classes.tolist())):
        return None
    is_detected = scheme == "auto"
    found = detect_scheme(votes.classes.tolist()) if is_detected else scheme
    check_option("scheme", found, ("auto", *ONE_TO_ONE))
    roles = roles_of(votes.classes, str(found))
    broken = _first_broken(votes, roles)
    if broken is not None and is_detected:
        annotator, token = broken
        label = votes.classes.tolist()[votes.ids[annotator, token]]
        where = token_name(whose(votes.annotators[annotator]), votes.mirror.offsets, token)
        warn_caller(
            f"{where}: the label {shown(label)} breaks the scheme {found}, so labels are not taken "
            f"for labels of segments; with scheme={found!r} they are, and a label that continues "
            "no segment begins one"
        )
        return None
    joins = roles.continues() & ~np.eye(len(votes.classes), dtype=bool)
    alone = ~(roles.begins() | joins.any(axis=0)) | ~(roles.ends() | joins.any(axis=1))
    if alone.any():
        raise ValueError(
            f"votes have the label {shown(votes.classes.tolist()[int(alone.argmax())])}, but not "
            f"the labels that are before or after it in each segment of the scheme {found}"
        )
    return found


def _first_broken(votes: Votes, roles: Roles) -> tuple[int, int] | None:
    """Find the first annotator and token whose label cannot be there in a scheme."""
    # A row and a column for no label, which is at the ends of sequences, too.
    allowed = np.pad(roles.allowed(), (0, 1), constant_values=True)
    outside = np.flatnonzero(np.diff(votes.mirror.offsets) > 0)
    first, last = votes.mirror.offsets[outside], votes.mirror.offsets[outside + 1] - 1
    for annotator, given in enumerate(votes.ids):
        wrong = ~allowed[np.append(-1, given[:-1]), given]
        wrong[first] = ~np.append(roles.begins(), True)[given[first]]
        wrong[last] |= ~np.append(roles.ends(), True)[given[last]]
        if wrong.any():
            return annotator, int(wrong.argmax())
    return None
