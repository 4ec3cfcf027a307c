"""How EmpiricalCRF is trained: the events that are counted, and the estimates from the counts."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Self

import numpy as np
from sklearn.model_selection import check_cv

from ...base.sample_weight import sequence_weights
from ...counts import Counts, Template
from ...counts.classifier import CountingClassifier
from ...counts.labelled import LabelledObservations, count_folds_of_corpus
from ...counts.links import KINDS_OF_LINKS, kind_of_links
from ...counts.observations import Encoder
from ...counts.renumbering import relabel
from ...counts.rows import FLOOR
from ...counts.tabulator import Tabulator
from ...counts.triangles import TRIANGLES
from ...data.graphs import GraphArray
from ...data.layout import Sequences
from ...data.ragged import SequenceArray
from ...labels.encoding import LabelIds
from ...labels.partial import label_columns
from ...labels.segments.schemes import are_segments
from ...structures import Graph, Structure, structure_of
from ...structures.inference import as_inference
from ...structures.inference.base import warn_unless_converged
from ...training.monitor import Training
from ...utils.warning import warn_caller
from .experts import Experts, all_experts, chosen_experts
from .fit_exponents import (
    MAX_ITER,
    HeldOut,
    fit_exponents,
    fit_segment_exponents,
    fit_temperature,
    held_out_folds,
    share_found,
)
from .frequencies import FrequencyModel
from .model import Statistics
from .product_spelling import ProductSpelling
from .run_rates import RUNS, RunRates
from .segment_rates import check_segmentations, segment_roles, segment_templates, segmented
from .signature_spelling import JointSpelling, MaxEntSpelling, MeanSpelling
from .smoothed import SmoothedModel

__all__ = ["SPELLINGS", "EmpiricalTraining"]

SPELLINGS: dict[str, Any] = {
    "product": ProductSpelling,
    "joint": JointSpelling,
    "mean": MeanSpelling,
    "maxent": MaxEntSpelling,
}
# Least width of a prior: under a narrower one, no counts would change the estimates.
NARROWEST = 1e-6
# How far exponents are moved at most from their initial values to the values of greatest
# likelihood, which make good probabilities, but sometimes worse labels. Where most labels are "O"
# and few others are found, greatest likelihood finds fewer still; so exponents move no further than
# the share of them that is found.
FITTED_SHARE = 0.7
NOTHING_COMPLETE = (
    "exponents keep their defaults: every sequence that could be held out has unknown labels"
)


class EmpiricalTraining(CountingClassifier):
    """The training of :class:`EmpiricalCRF`, which has the parameters and predicts.

    Attributes
    ----------
    model_ : SmoothedModel or FrequencyModel
    exponents_ : dict
    loss_curve_, n_iter_, converged_
        Only if exponents were fitted.
    """

    mu_oov: float
    sigma: float
    spelling: str
    zeros: str
    experts: Any
    exponents: Any
    validation_fraction: float
    inference: Any
    order: int
    segments: str | None
    min_count: int
    observation: str | None
    binning: Any
    model_: Any
    _run_rates: list[RunRates]  # of three and of four labels in a row, as far as order goes
    _kept_from = 1  # the min_count of the estimates
    _private_estimates = (
        "_label_ids",
        "_exponents",
        "_rank",
        "_run_rates",
        "_kept_from",
    )

    def _unfitted(self) -> Self:
        twin = super()._unfitted()
        twin._exponents = dict(self.exponents) if isinstance(self.exponents, Mapping) else {}
        return twin

    def _new_tabulator(self) -> Tabulator:
        return Tabulator(self.observation, self.binning)

    def _new_encoder(
        self, names: Sequence[str], n_attributes: int | None, links: str, has_types: bool
    ) -> Encoder:
        spelling = SPELLINGS[self.spelling]
        given = names, spelling.features, spelling.symbols, n_attributes, links, has_types
        return Encoder(*given, self.tabulator_.has_bag)

    def _templates(self) -> list[Template]:
        """The templates of the events that are counted."""
        if self.zeros == "smoothed":
            given = None if self.exponents == "fit" else self._exponents
            templates = SmoothedModel.templates(self.encoder_, given, self._experts())
        elif self.encoder_.n_attributes is None:
            templates = FrequencyModel.templates(self.encoder_)
        else:
            raise ValueError(f'a sparse X needs zeros="smoothed", got {self.zeros!r}')
        if self.segments is not None:
            templates += segment_templates(self.encoder_.names[0])
        return templates + RUNS[: self.order - 1]

    def _joint_templates(self) -> list[Template]:
        """The templates of several symbols, without whole segments and triangles."""
        others = [*segment_templates(self.encoder_.names[0]), TRIANGLES]
        templates = [t for t in self._templates() if t not in others]
        return [template for template in templates if len(template.symbols) > 1]

    def _experts(self) -> Experts:
        """The experts that may take part."""
        encoder = self.encoder_
        given = encoder.names, encoder.lexicon.features, encoder.links
        if self.experts is not None:
            return chosen_experts(self.experts, *given)
        return all_experts(*given, has_words=encoder.n_attributes is None)

    def _fit_to(self, corpus: LabelledObservations) -> None:
        if self.exponents == "fit":
            self._fit_with_exponents(corpus)
        else:
            super()._fit_to(corpus)

    def _estimate(self, counts: Counts, more_labels: Any = ()) -> None:
        """Compute the fitted attributes from the counts."""
        self._kept_from = self.min_count
        if self.min_count > 1:
            counts = counts.without_rare(self._joint_templates(), self.min_count)
        seen = counts[Template(((self.encoder_.names[0], 0),))].events[:, -1]
        self._rank = self._set_classes(seen, more_labels)
        statistics = Statistics(self.encoder_, relabel(counts, self._rank), len(self.classes_))
        strength = (1.0 / max(self.sigma, NARROWEST)) ** 2
        options: dict[str, Any] = {
            "strength": strength,
            "mu_oov": self.mu_oov,
            "exponents": self._exponents,
        }
        spelling = SPELLINGS[self.spelling]
        if self.zeros == "smoothed":
            self.model_ = SmoothedModel(
                statistics,
                spelling,
                experts=self._experts(),
                are_segments=are_segments(self.classes_.tolist()),
                roles=None if self.segments is None else segment_roles(self.classes_),
                **options,
            )
        else:
            floor = FLOOR if self.zeros == "floored" else -np.inf
            self.model_ = FrequencyModel(statistics, spelling, floor=floor, **options)
        given = len(self.classes_), strength, self._transition_exponent()
        runs = [statistics.counts[template] for template in RUNS[: self.order - 1]]
        self._run_rates = [RunRates(table, *given) for table in runs]
        self.exponents_ = self.model_.exponents.asdict()
        self.counts_ = counts

    def _transition_exponent(self) -> float:
        """The exponent of the rates of two labels in a row; 1 without smoothing."""
        return self.model_.exponents.asdict().get("transition", 1.0)

    def _fit_with_exponents(self, corpus: LabelledObservations) -> None:
        """Count once, fit the exponents by cross-validation, and estimate from all counts."""
        fold = held_out_folds(
            corpus.offsets, self.validation_fraction, len(np.unique(corpus.labels))
        )
        n_folds = int(fold.max(initial=-1)) + 1
        counts = count_folds_of_corpus(corpus, self._templates(), np.where(fold < 0, n_folds, fold))
        total, parts = reduce(Counts.__add__, counts), []
        weight = sequence_weights(corpus.weights, corpus.offsets)
        # The likelihood of a sequence needs all labels; tokens of unknown labels have no weight.
        is_complete = sequence_weights((corpus.weights == 0).astype(float), corpus.offsets) == 0
        for number in range(n_folds):
            held_out = is_complete & (fold == number)
            if weight[held_out].any() and weight[fold != number].any():
                self._estimate(total - counts[number], more_labels=corpus.labels)
                parts.append(self._held_out(corpus.take(held_out), weight[held_out]))
        if parts:
            self._fit_exponents(parts)
        elif is_complete.all() or np.count_nonzero(weight) < 2:
            raise ValueError('exponents="fit" needs tokens in two sequences')
        else:
            warn_caller(NOTHING_COMPLETE)
            self.n_iter_, self.converged_ = 0, True
            self.loss_curve_ = list[float]()
        self._estimate(total)

    def _held_out(self, part: LabelledObservations, weight: np.ndarray) -> HeldOut:
        structure = part.structure
        if self.encoder_.links == "any":
            structure = self.model_.structure(structure, part.observations.edge_types)
        prepared = self.model_.prepare(part.observations, structure)
        return HeldOut(self.model_, prepared, self._rank[part.labels], structure, weight)

    def _fit_exponents(self, parts: list[HeldOut]) -> None:
        """Move the exponents towards the greatest likelihood of the labels."""
        training = Training(0, None, MAX_ITER, notify=lambda _, x: False)
        fitted, self.converged_ = fit_exponents(parts, sigma=self.sigma, callback=training)
        start = parts[0].model.exponents.asdict()
        share = min(FITTED_SHARE, share_found(parts))
        moved = {
            name: start[name] + share * (value - start[name]) for name, value in fitted.items()
        }
        temperature = fit_temperature(parts, moved)
        self._exponents = {name: value / temperature for name, value in moved.items()}
        if self.segments is not None:
            structures = [segmented(part.structure.offsets, self.classes_) for part in parts]
            of_segments, converged = fit_segment_exponents(
                parts, structures, self._exponents, sigma=self.sigma, callback=training
            )
            self._exponents |= of_segments
            self.converged_ = self.converged_ and converged
        self.loss_curve_, self.n_iter_ = training.losses, training.n_iter

    def _fit_exponents_to(self, X: Any, y: Any, sample_weight: Any) -> None:
        sequences, weights = self._check_training(X, y, sample_weight, reset=False)
        if self.zeros != "smoothed":
            raise ValueError(f'exponents are fitted only if zeros="smoothed", not {self.zeros!r}')
        ids = label_columns(sequences.y, self.classes_)
        sequence = np.repeat(np.arange(len(sequences.X)), sequences.X.lengths)
        usable = np.setdiff1d(np.arange(len(sequences.X)), sequence[ids < 0])
        if len(usable) == 0:
            raise ValueError(
                f"every sequence has labels that are unknown, or not among {self.classes_.tolist()}"
            )
        X = sequences.X[usable]
        ids = SequenceArray(ids, sequences.X.offsets)[usable].data
        weight = sequence_weights(weights, sequences.X.offsets)[usable]
        structure = self._linked(X) if self._run_rates else self._structure(X)
        self._fit_exponents([HeldOut(self.model_, self._prepare(X), ids, structure, weight)])
        self.model_, self.exponents_ = self.model_.copy(), self._exponents
        self.model_.set_exponents(np.array(list(self._exponents.values())))
        exponent = self._transition_exponent()
        self._run_rates = [rates.following(exponent) for rates in self._run_rates]

    def _predict_out_of_fold(self, X: Any, y: Any, cv: Any, sample_weight: Any, method: str) -> Any:
        sequences, weights = self._check_training(X, y, sample_weight, reset=True)
        corpus = self._start(sequences, weights, LabelIds())
        X = sequences.X
        tests = [test for _, test in check_cv(cv).split(np.empty(len(X)))]
        fold_of_sequence = np.empty(len(X), dtype=np.int64)
        for fold, test in enumerate(tests):
            fold_of_sequence[test] = fold
        if not np.array_equal(np.sort(np.concatenate(tests)), np.arange(len(X))):
            raise ValueError("cv must put every sequence into exactly one test set")
        folds = count_folds_of_corpus(corpus, self._templates(), fold_of_sequence)
        total = reduce(Counts.__add__, folds)
        classes = self._label_ids.classes(corpus.labels)[0]
        shape = (len(corpus.labels), *([len(classes)] if method == "predict_proba" else []))
        predicted = np.zeros(shape, dtype=float if method == "predict_proba" else classes.dtype)
        fold_of_token = np.repeat(fold_of_sequence, X.lengths)
        for fold, counts in enumerate(folds):
            self._estimate(total - counts)
            found = getattr(self, method)(X[fold_of_sequence == fold]).data
            if method == "predict":
                predicted[fold_of_token == fold] = found
            else:
                columns = np.flatnonzero(np.isin(classes, self.classes_))
                predicted[np.ix_(fold_of_token == fold, columns)] = found
        return sequences.mirror(predicted)

    def _linked(self, X: SequenceArray) -> Structure:
        if isinstance(X, GraphArray) and not X.is_forest:
            engine = as_inference(self.inference).reporting(warn_unless_converged)
            return Graph(X.offsets, X.token_edges, engine)
        return structure_of(X)

    def _check_needs_no_corpus(self) -> None:
        if self.exponents == "fit":
            raise ValueError(
                'exponents="fit" needs all data at once; call fit_exponents afterwards'
            )

    def _check_can_change(self) -> None:
        kept_from = max(self.min_count, self._kept_from)
        if kept_from > 1:
            raise ValueError(
                f"min_count={kept_from}: the counts of what is rarer are dropped, so they cannot "
                "change any more; fit or fit_parts take all data at once, and min_count=1 keeps all"
            )

    def _check_same_features(self) -> None:
        if not isinstance(self.model_.spelling, SPELLINGS[self.spelling]):
            raise ValueError(f"spelling={self.spelling!r}, but the model was fitted with another")

    def _check_labelled(self, X, y, sample_weight, reset) -> tuple[Sequences, np.ndarray]:
        if self.exponents == "fit" and self.zeros != "smoothed":
            raise ValueError(f'exponents="fit" needs zeros="smoothed", got {self.zeros!r}')
        if self.experts is not None and self.zeros != "smoothed":
            raise ValueError(f'experts need zeros="smoothed", got {self.zeros!r}')
        if self.min_count > 1 and self.zeros != "smoothed":
            raise ValueError(f'min_count needs zeros="smoothed", got {self.zeros!r}')
        if self.segments is not None:
            self._check_segments()
        sequences, weights = super()._check_labelled(X, y, sample_weight, reset)
        if self.segments is not None:
            check_segmentations(sequences.y)
        self._check_links(sequences.X, KINDS_OF_LINKS[-1] if reset else self.encoder_.links)
        return sequences, weights

    def _check_segments(self) -> None:
        """Raise ValueError if other parameters do not allow to count segments."""
        needed = {"zeros": "smoothed", "spelling": "product", "order": 1}
        for name, value in needed.items():
            if (given := getattr(self, name)) != value:
                raise ValueError(f'segments="counted" needs {name}={value!r}, got {given!r}')

    def _check_links(self, X: SequenceArray, known: str) -> None:
        """Raise ValueError if tokens have links of a kind that is not supported, or not known."""
        structure = self._linked(X)
        self._check_structure(structure, X)
        kind = "next" if structure.is_sequential() else kind_of_links(structure)
        if self.zeros != "smoothed" and kind == "any":
            raise ValueError(f'graphs with cycles need zeros="smoothed", got {self.zeros!r}')
        if KINDS_OF_LINKS.index(kind) > KINDS_OF_LINKS.index(known):
            fitted = {"next": "sequences", "children": "forests"}[known]
            raise ValueError(f"X has other links than the {fitted} that the model was fitted to")

    def _check_structure(self, structure: Structure, X: SequenceArray) -> None:
        reason = 'segments="counted"' if self.order == 1 else f"order={self.order}"
        if (self.order, self.segments) != (1, None) and not structure.is_sequential():
            raise ValueError(
                f"{reason} needs sequences, in which each token is linked to the next one, but X "
                "has other links"
            )
