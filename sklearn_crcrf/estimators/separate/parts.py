"""The two parts of a model, trained apart, and the exponent that joins them."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ..._kernels.threads import my_threads
from ...base.batches import Batch, batches_of
from ...training import Stop, nested_fits
from .held_out import Fold, HeldOut, HeldOutTokens, are_of_use, is_lower
from .nodes import Nodes, log_probabilities
from .pairs import LinkedScores, PairAttributes, PairClassifier, fit_pairs, start_of_pairs
from .rates import LinkEvidence, LinkRates, TypedLinks
from .row_crf import roughly


class Parts(NamedTuple):
    """What is trained apart.

    Parameters
    ----------
    nodes : classifier
        u(y | x) of single tokens.
    pairs : PairClassifier or None
        v(y, y' | x, x') of linked tokens; None if too few pairs of labels occur.
    """

    nodes: Any
    pairs: PairClassifier | None


class TrainingData(NamedTuple):
    """Encoded tokens and links, of which both parts learn.

    Parameters
    ----------
    nodes : Nodes
    links : TypedLinks
    attributes : PairAttributes
    seen : ndarray of int or None
        The attributes of a node that pairs see; None for all.
    """

    nodes: Nodes
    links: TypedLinks
    attributes: PairAttributes
    seen: np.ndarray | None

    def fit(
        self,
        estimators: tuple[Any, Any],
        ids: np.ndarray,
        is_symmetric: bool,
        n_jobs: int | None,
        start: Parts | None = None,
    ) -> Parts:
        """Train both parts, if there are two jobs at once.

        The rows of pairs are made while nodes are trained, from whose weights pairs may start.

        Parameters
        ----------
        estimators : (classifier, classifier)
            Of nodes and of pairs.
        ids : ndarray of shape (n_tokens,)
            The labels to train on, -1 for those that are not.
        is_symmetric : bool
            Whether each link counts in both orders.
        n_jobs : int or None
        start : Parts, optional
            A ``RowCRF`` starts from these weights; without them, pairs start from the nodes.

        Returns
        -------
        Parts
        """
        nodes, pairs = estimators
        before = Parts(None, None) if start is None else start
        weights, n_threads = self.nodes.weights, effective_n_jobs(n_jobs)
        trained: Future = Future()
        of_links = pairs, self.attributes, self.links, ids, weights, is_symmetric
        where = before.pairs, trained.result, self.seen, self.attributes.n_columns
        tasks = [
            (promised, trained, self.nodes.fitted, nodes, ids >= 0, before.nodes),
            (fit_pairs, *of_links, lambda labels: start_of_pairs(labels, *where), n_threads),
        ]
        return Parts(*at_once(tasks, n_threads))

    def best_exponent(
        self,
        estimators: tuple[Any, Any],
        exponents: Sequence[float],
        symmetric: Sequence[bool],
        sigma: float,
        held_out: HeldOut,
        n_jobs: int | None,
    ) -> tuple[float, bool, Parts | None]:
        """Choose the settings with the least loss of the labels of one fold.

        On graphs with cycles, links must lower the loss by more than chance would, and so must
        their direction. The models for it are trained roughly.

        Parameters
        ----------
        estimators, n_jobs : as in :meth:`fit`
        exponents : sequence of float
            In increasing order.
        symmetric : sequence of bool
            Whether rates may have no direction; True first, if both.
        sigma : float
            Width of the priors of the counted rates.
        held_out : HeldOut

        Returns
        -------
        exponent : float
        is_symmetric : bool
        parts : Parts or None
            Trained on the labels that were not held out; None if nothing had to be chosen.
        """
        fold = None
        if len(exponents) * len(symmetric) > 1:
            fold = held_out.first_fold()
        if fold is None:
            return float(exponents[0]), symmetric[0], None
        best: Any = None
        rough = roughly(estimators[0]), roughly(estimators[1])
        for is_symmetric in symmetric:
            parts = self.fit(rough, fold.trained, is_symmetric, n_jobs)
            losses = self._losses(parts, fold, exponents, is_symmetric, sigma, n_jobs)
            e = int(np.argmin(losses.sum(axis=1)))
            if best is None or is_lower(losses[e], best[0]):
                best = losses[e], losses[0], float(exponents[e]), is_symmetric, parts
        least, alone, exponent, is_symmetric, parts = best
        if exponents[0] == 0.0 and not are_of_use(self.links.structure, least, alone):
            exponent = 0.0
        return exponent, is_symmetric, parts

    def _losses(
        self,
        parts: Parts,
        fold: Fold,
        exponents: Sequence[float],
        is_symmetric: bool,
        sigma: float,
        n_jobs: int | None,
    ) -> np.ndarray:
        """Return the losses of the labels of a fold, by rates estimated without them."""
        every = log_probabilities(parts.nodes, self.nodes.attributes, self.nodes.n_labels)
        evidence = LinkEvidence(self.links, fold.trained, every)
        all_rates = evidence.rates(exponents, sigma, is_symmetric)
        return self.losses(parts.pairs, every, fold, all_rates, exponents, n_jobs)

    def losses(
        self,
        pairs: PairClassifier | None,
        every: np.ndarray,
        fold: Fold,
        all_rates: Sequence[LinkRates],
        exponents: Sequence[float],
        n_jobs: int | None = 1,
    ) -> np.ndarray:
        """Return the losses of held-out labels with each exponent.

        Parameters
        ----------
        pairs : PairClassifier or None
        every : ndarray of shape (n_tokens, n_labels)
            Log-probabilities of the labels of all tokens.
        fold : Fold
        all_rates : sequence of LinkRates
            The counted rates that belong to each exponent.
        exponents : sequence of float
        n_jobs : int or None, default=1

        Returns
        -------
        ndarray of shape (n_exponents, n_losses)
            As :meth:`HeldOutTokens.losses`.
        """
        (_, ids, weights, _), (trained, is_held_out, units, is_partial) = self.nodes, fold
        links, tokens, numbers = self.links.take(units)
        model = LinkedScores(pairs, every[tokens], links, self.attributes, tokens, numbers)

        def of_batch(batch: Batch) -> np.ndarray:
            here = tokens[batch.start : batch.stop]
            given = trained[here] if is_partial else np.full(len(here), -1)
            held_out = HeldOutTokens(ids[here], weights[here], given, is_held_out[here])
            every = model.scores(batch, all_rates, exponents)
            return np.array([held_out.losses(batch.structure, scores) for scores in every])

        with my_threads(effective_n_jobs(n_jobs)) as threads:
            batches = batches_of(links.structure, model.scores_per_token)
            return np.concatenate(threads.map(of_batch, batches), axis=1)


def at_once(tasks: Sequence[tuple], n_jobs: int) -> list[Any]:
    """Return the results of tasks, a function and its arguments each, in at most n_jobs threads."""
    with nested_fits() as stop:
        parallel = Parallel(n_jobs=min(len(tasks), n_jobs), require="sharedmem")
        return parallel(delayed(_run_nested)(stop, *task) for task in tasks)


def promised(future: Future, function: Callable, *args: Any) -> Any:
    """Call a function; the future has its result, too."""
    try:
        future.set_result(function(*args))
    except BaseException as error:
        future.set_exception(error)
    return future.result()


def _run_nested(stop: Stop, function: Callable, *args: Any) -> Any:
    """Call a function in a thread that ends when the fit around it is interrupted."""
    with nested_fits(stop):
        return function(*args)
