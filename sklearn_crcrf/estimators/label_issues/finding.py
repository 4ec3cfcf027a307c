"""find_label_issues: labels that models which have not seen them find improbable."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, LeaveOneOut

from ...base.classifier import BaseSequenceClassifier
from ...base.unwrap import steps_of, unwrap
from ...base.weights import places_of
from ...data.layout import Sequences
from ...data.ragged import joined_ranges
from ...data.sequences import as_sequences
from ...labels.encoding import sort_labels
from ...labels.partial import encode_partial_labels
from ...labels.segments.schemes import SCHEMES, check_option, detect_scheme
from ...training import nested_fits
from ..empirical import EmpiricalCRF
from ..empirical.left_out import has_rows
from ..empirical.out_of_fold import Probabilities, folds_of, left_out, read_corpus
from ..opinion_pool.expert import Samples, fit_expert
from .disagreements import disagreements
from .issues import LabelIssues

METHODS = ("auto", "left_out", "folds", "given")


def find_label_issues(
    estimator: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    method: str = "auto",
    *,
    scheme: str | None = "auto",
    cv: Any = 5,
) -> LabelIssues:
    """Find labels in y that are probably wrong.

    A label is an issue if a model that was not trained on its sequence finds another one likelier.
    The less probable it is, the more suspicious. Labels that spell segments are compared as
    segments: a segment of y may be none, or have another type or other tokens, and a segment may
    be missing in y. This finds slips. Errors that are made again and again are learned like
    everything else.

    Parameters
    ----------
    estimator : sequence classifier, or a pipeline or search that ends in one
        It does not change, and need not be fitted unless ``method="given"``.
    X : list of sequences, SequenceArray, or another input that the estimator takes
    y : list of label lists, SequenceArray or 1-D array
        The labels, in the layout of X. An unknown label, None, is no issue; the probability of a
        set of possible labels is the sum of their probabilities.
    groups : array-like of shape (n_samples,), optional
        The group of each sequence, such as its document, or of each row of a table. Whole groups
        are left out, so that an error that is repeated in a document does not support itself.
    method : {"auto", "left_out", "folds", "given"}, default="auto"
        Which model judges the labels of a sequence.

        - "left_out": an :class:`EmpiricalCRF` of all other sequences, or groups, exactly.
        - "folds": a clone of the estimator, fitted to the sequences of the other folds.
        - "given": the estimator as it is. It must have been fitted to other data: a model that was
          trained on a wrong label finds it probable.
        - "auto": "left_out" for an :class:`EmpiricalCRF` of symbols with smoothed estimates and
          product spelling, its defaults, unless exponents are fitted: then leaving out a sequence
          costs little more than labelling it. Else "folds".
    scheme : {"auto", "IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"} or None, \
            default="auto"
        How labels spell segments; "auto" detects it, None compares the labels of single tokens.
    cv : int or splitter, default=5
        The folds of ``method="folds"``: their number, or a splitter that tests every sequence
        exactly once. A number makes folds of random sequences, the same ones in every call, or of
        whole groups.

    Returns
    -------
    LabelIssues
        A table, the least probable label first.

    Raises
    ------
    ValueError
        If an argument is not valid, or the estimator cannot do what ``method`` says.

    See Also
    --------
    EmpiricalCRF.predict_out_of_fold : The probabilities of "left_out".

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF, find_label_issues
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> X, y = make_addresses(60, random_state=0)
    >>> X[3][3:5], y[3][3:5]
    (['Gilaford', 'Road'], ['B-STREET', 'I-STREET'])
    >>> y[3][3:5] = "O", "O"
    >>> find_label_issues(EmpiricalCRF(), X, y)[:2]
    2 issues
    sequence  tokens  given   suggested  tokens  probability
    3         3:5     O       STREET     3:5     8e-06
    34        6:8     STREET  CITY       6:8     0.00043
    """
    check_option("method", method, METHODS)
    if scheme is not None:
        check_option("scheme", scheme, ["auto", *SCHEMES])
    _, last = steps_of(estimator)
    if not isinstance(last, BaseSequenceClassifier):
        raise ValueError(
            "estimator must be a sequence classifier of sklearn_crcrf, or a pipeline or a search "
            f"that ends in one, but is {estimator!r}"
        )
    if y is None:
        raise ValueError("y is None: it has the labels that are to be checked")
    sequences = as_sequences(X, y)
    classes, *_ = encode_partial_labels(sequences.y)
    if method == "auto":
        method = "left_out" if _leaves_out_quickly(estimator, X, y) else "folds"
    if method == "given":
        if groups is not None:
            raise ValueError("groups are left out, but method='given' leaves nothing out")
        known, found = _predicted(estimator, X)
        classes, _ = sort_labels([*dict.fromkeys([*classes.tolist(), *known.tolist()])])
        proba = np.zeros((len(found), len(classes)))
        proba[:, places_of(known, classes)] = found
    elif method == "folds":
        fold = folds_of(_splitter(cv, groups), sequences, groups)
        proba = _by_folds(estimator, Samples(X, y, None), sequences, fold, classes)
    else:
        proba = _left_out(estimator, sequences, groups)
    scheme = detect_scheme(classes.tolist()) if scheme == "auto" else scheme
    return disagreements(sequences.y, proba, classes, scheme)


def _left_out(estimator: Any, sequences: Sequences, groups: Any) -> np.ndarray:
    """Return the probabilities of the labels of y, by models of all other sequences or groups."""
    if not isinstance(estimator, EmpiricalCRF):
        raise ValueError(
            "method='left_out' needs an EmpiricalCRF, which can subtract what it has counted, but "
            f"estimator is a {type(estimator).__name__}; method='folds' takes any classifier"
        )
    cv: Any = LeaveOneOut()
    if groups is not None:
        cv = LeaveOneGroupOut()
        groups = folds_of(cv, sequences, groups)
    X, y = sequences.X, sequences.y
    return estimator.predict_out_of_fold(X, y, cv=cv, groups=groups, method="predict_proba").data


def _leaves_out_quickly(estimator: Any, X: Any, y: Any) -> bool:
    """Return whether there is no need to estimate all weights for each sequence left out."""
    if not isinstance(estimator, EmpiricalCRF) or estimator.exponents == "fit":
        return False
    return has_rows(clone(estimator).fit(X, y))


def left_out_issues(
    estimator: EmpiricalCRF, X: Any, y: Any, fold: np.ndarray
) -> Iterator[tuple[np.ndarray, LabelIssues]]:
    """Yield what :func:`find_label_issues` finds by leaving out sequences, some at a time.

    Parameters
    ----------
    estimator : EmpiricalCRF
    X, y : as in :func:`find_label_issues`
    fold : ndarray of shape (n_sequences,), int
        Sequences of one fold, numbered from 0 on, are left out together.

    Yields
    ------
    sequences : int ndarray of shape (n,)
    issues : LabelIssues
        The sequences are numbered from 0 to n - 1.
    """
    twin = clone(estimator)._unfitted()
    sequences, weights = twin._check_training(X, y, None, reset=True)
    corpus = read_corpus(twin, sequences, weights)
    answer, classes = Probabilities(corpus), corpus.y.classes
    for _, part in left_out([twin], corpus, fold):
        answer.add(part)
        proba = answer.found[part.tokens(corpus)]
        y = sequences.y[part.sequences]
        yield part.sequences, disagreements(y, proba, classes, detect_scheme(classes.tolist()))


def _splitter(cv: Any, groups: Any) -> Any:
    """Return what makes a number of folds; a splitter stays as it is."""
    if not isinstance(cv, Integral):
        return cv
    return KFold(cv, shuffle=True, random_state=0) if groups is None else GroupKFold(cv)


def _by_folds(
    estimator: Any, samples: Samples, sequences: Sequences, fold: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    """Return the probabilities of the labels of y, by clones trained on the other folds."""
    X = sequences.X
    proba = np.zeros((X.offsets[-1], len(classes)))
    for number in range(fold.max() + 1):
        own = fold == number
        with nested_fits():
            fitted = fit_expert(clone(estimator), *samples.take(sequences, ~own))
        known, found = _predicted(fitted, samples.take(sequences, own).X)
        tokens = joined_ranges(X.offsets[:-1][own], X.lengths[own])
        proba[np.ix_(tokens, places_of(known, classes))] = found
    return proba


def _predicted(estimator: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels that a fitted estimator knows, and their probabilities at all tokens."""
    classifier, X = unwrap(estimator, X)
    proba = classifier.predict_proba(as_sequences(X).X).data
    return classifier.classes_, proba
