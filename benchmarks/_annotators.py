"""Made-up annotators of names, whose reliabilities are known, and what is learned from them."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from _common import cpu_seconds, yes_or_no
from _report import Report

from sklearn_crcrf import EmpiricalCRF, SequenceLabelModel
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_f1

RIGHT = (0.6, 0.6875, 0.775, 0.8625, 0.95)
"""How many of the names each annotator finds, with the right type and the right ends."""

# Labels that the model of annotators predicts weigh this power of their probability.
SURE = 3
# How many tokens tell the reliability of a label.
OFTEN = 200

Labels = list[list[str]]
Corpus = tuple[Labels, Labels]
Name = tuple[int, int, str]


class Mistakes(NamedTuple):
    """How people err.

    Parameters
    ----------
    difficulty : float
        How much some names are harder than others, for all annotators: the standard deviation of
        the log-odds of a name.
    bias : float
        How much some types are harder than others, for one annotator: as ``difficulty``.
    per_sentence : int
        Of the five annotators, how many label a sentence.
    """

    difficulty: float
    bias: float
    per_sentence: int


CAMPAIGNS = {
    "all five label each, mistakes are independent": Mistakes(0.0, 0.0, 5),
    "all five label each, hard names and types": Mistakes(1.5, 1.0, 5),
    "three of five label each, hard names and types": Mistakes(1.5, 1.0, 3),
    "two of five label each, hard names and types": Mistakes(1.5, 1.0, 2),
}


def made_up(X: Labels, y: Labels, mistakes: Mistakes, seed: int) -> list[list[list[str] | None]]:
    """Labellings by five annotators, None for a sentence that one did not label."""
    rng = np.random.default_rng(seed)
    names: list[list[Name]] = [[] for _ in y]
    for i, *name in zip(*(column.tolist() for column in to_segments(y)), strict=True):
        names[i].append(tuple(name))
    types = sorted({kind for own in names for *_, kind in own})
    ease = [mistakes.difficulty * rng.normal(size=len(own)) for own in names]
    who = np.array([rng.permutation(len(RIGHT)) < mistakes.per_sentence for _ in y])
    return [
        Annotator.made(right, types, mistakes, rng).label(X, names, ease, who[:, j], rng)
        for j, right in enumerate(RIGHT)
    ]


class Annotator(NamedTuple):
    """Somebody with habits.

    Parameters
    ----------
    odds : dict
        The log-odds of a name of each type to be right.
    confused : dict
        The probabilities of the other types for each type.
    favoured : ndarray of shape (n_types,)
        The probabilities of the types of names that are none.
    kinds : ndarray of shape (3,)
        The shares of missed names, wrong types and wrong ends among the mistakes.
    n_spurious : float
        Names that are none, for each name.
    """

    types: list[str]
    odds: dict[str, float]
    confused: dict[str, np.ndarray]
    favoured: np.ndarray
    kinds: np.ndarray
    n_spurious: float

    @classmethod
    def made(
        cls, right: float, types: list[str], mistakes: Mistakes, rng: np.random.Generator
    ) -> "Annotator":
        """An annotator with random habits."""
        # The logistic function of a normal variate has about this mean again.
        scale = np.sqrt(1 + 0.35 * (mistakes.difficulty**2 + mistakes.bias**2))
        odds = np.log(right / (1 - right)) * scale + mistakes.bias * rng.normal(size=len(types))
        return cls(
            types,
            dict(zip(types, odds.tolist(), strict=True)),
            {kind: rng.dirichlet(np.full(len(types) - 1, 0.5)) for kind in types},
            rng.dirichlet(np.ones(len(types))),
            rng.dirichlet([4, 3, 3]),
            (1 - right) / 2 * rng.uniform(0.5, 1.5),
        )

    def label(
        self,
        X: Labels,
        names: list[list[Name]],
        ease: list[np.ndarray],
        sees: np.ndarray,
        rng: np.random.Generator,
    ) -> list[list[str] | None]:
        """Label the sentences that the annotator sees."""
        spurious = self._spurious(X, names, rng)
        found: list[list[str] | None] = []
        for i, words in enumerate(X):
            given = [
                self._seen(name, easy, len(words), rng)
                for name, easy in zip(names[i], ease[i], strict=True)
            ]
            marks = sorted([name for name in given if name is not None] + spurious.get(i, []))
            found.append(spelled(marks, len(words)) if sees[i] else None)
        return found

    def _seen(self, name: Name, easy: float, n: int, rng: np.random.Generator) -> Name | None:
        start, end, kind = name
        if rng.random() < 1 / (1 + np.exp(-self.odds[kind] - easy)):
            return name
        how = rng.choice(3, p=self.kinds)
        if how == 0:
            return None
        if how == 1:
            others = [other for other in self.types if other != kind]
            return start, end, others[rng.choice(len(others), p=self.confused[kind])]
        if end - start > 1 and rng.random() < 0.5:
            return (start + 1, end, kind) if rng.random() < 0.5 else (start, end - 1, kind)
        return (start, end + 1, kind) if end < n else (max(0, start - 1), end, kind)

    def _spurious(
        self, X: Labels, names: list[list[Name]], rng: np.random.Generator
    ) -> dict[int, list[Name]]:
        """Names that are none, of one token each; every second one is a capitalised word."""
        free = [
            (i, t)
            for i, words in enumerate(X)
            for t in range(len(words))
            if not any(start <= t < end for start, end, _ in names[i])
        ]
        upper = [(i, t) for i, t in free if X[i][t][:1].isupper()]
        found: dict[int, list[Name]] = {}
        for _ in range(round(self.n_spurious * sum(map(len, names)))):
            places = upper if upper and rng.random() < 0.5 else free
            i, t = places[rng.integers(len(places))]
            kind = self.types[rng.choice(len(self.types), p=self.favoured)]
            found.setdefault(i, []).append((t, t + 1, kind))
        return found


def spelled(marks: list[Name], n: int) -> list[str]:
    """Names in IOB2; of those that overlap the first one counts."""
    labels, end = ["O"] * n, 0
    for start, stop, kind in marks:
        if start >= end:
            labels[start:stop] = [f"B-{kind}", *[f"I-{kind}"] * (stop - start - 1)]
            end = stop
    return labels


def majority(votes: list[list[list[str] | None]], seed: int) -> Labels:
    """The label that most annotators gave to each token; of several, one at random."""
    rng, found = np.random.default_rng(seed), []
    for labellings in zip(*votes, strict=True):
        seen = [labels for labels in labellings if labels is not None]
        labels = []
        for given in zip(*seen, strict=True):
            counts = {label: given.count(label) for label in sorted(set(given))}
            most = [label for label, n in counts.items() if n == max(counts.values())]
            labels.append(most[rng.integers(len(most))])
        found.append(labels)
    return found


def compare(report: Report, parts: dict[str, tuple[Corpus, Corpus]]) -> None:
    """Labels of five annotators: by majority, and by what is learned of the annotators.

    Parameters
    ----------
    report : Report
    parts : dict
        The training part and the test part of each corpus.
    """
    for language, (train, test) in parts.items():
        of_labels, of_models = [], []
        for name, mistakes in CAMPAIGNS.items():
            votes = made_up(*train, mistakes, seed=0)
            seconds, model = cpu_seconds(partial(SequenceLabelModel().fit, votes))
            tokens = SequenceLabelModel(scheme=None).fit(votes)
            y = {
                "majority": majority(votes, seed=0),
                "model": model.predict(votes).tolist(),
                "tokens": tokens.predict(votes).tolist(),
            }
            alone = ", ".join(f"{100 * f1_of_seen(train[1], own):.0f}" for own in votes)
            scores = [f"{100 * segment_f1(train[1], y[by]):.2f}" for by in y]
            of_labels.append(
                [name, alone, *scores, *errors(model, votes, train[1]), f"{seconds:.1f}"]
            )
            of_models.append([name, *trained_on(y, model, votes, train, test)])
        title = f"{language}: {len(train[0]):,} sentences labelled by five annotators"
        columns = ["campaign", "F1 of each annotator", "majority", "SequenceLabelModel"]
        columns += ["without segments", "mean error of reliability_", "largest", "CPU s"]
        report.table(title, columns, of_labels)
        columns = ["campaign", "majority", "labels of SequenceLabelModel"]
        columns += ["weighted by probability ** 3", "its probabilities", "gain", "target: +2"]
        title = f"{language}: F1 on test data of EmpiricalCRF, by what it was trained on"
        report.table(title, columns, of_models)
        most = f1_on(test, EmpiricalCRF().fit(*train))
        report.remark(f"Trained on the true labels, EmpiricalCRF has an F1 of {most:.2f} there.")


def trained_on(
    y: dict[str, Labels],
    model: SequenceLabelModel,
    votes: list,
    train: Corpus,
    test: Corpus,
) -> list[str]:
    """A row: the F1 of models that are trained on different labels."""
    probabilities = model.predict_proba(votes)
    sure = [(own.max(axis=1, initial=0.0) ** SURE).tolist() for own in probabilities]
    fits = {
        "majority": partial(EmpiricalCRF().fit, train[0], y["majority"]),
        "labels": partial(EmpiricalCRF().fit, train[0], y["model"]),
        "weighted": partial(EmpiricalCRF().fit, train[0], y["model"], sample_weight=sure),
        "soft": partial(EmpiricalCRF().fit, train[0], probabilities, labels=model.classes_),
    }
    f1 = {by: f1_on(test, fit()) for by, fit in fits.items()}
    gain = f1["weighted"] - f1["majority"]
    return [*(f"{value:.2f}" for value in f1.values()), f"{gain:+.2f}", yes_or_no(gain >= 2.0)]


def f1_of_seen(y: Labels, labelling: Sequence) -> float:
    """The F1 of the sentences that an annotator labelled."""
    seen = [i for i, labels in enumerate(labelling) if labels is not None]
    return segment_f1([y[i] for i in seen], [labelling[i] for i in seen])


def f1_on(test: Corpus, model: EmpiricalCRF) -> float:
    """The F1 of a model, in per cent."""
    return 100 * segment_f1(test[1], model.predict(test[0]))


def errors(model: SequenceLabelModel, votes: list, y: Labels) -> list[str]:
    """How far reliabilities of labels at the beginning of names are from the truth.

    The mean is over the true labels; the largest is of labels that an annotator saw often.
    """
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    right, seen = np.zeros((2, len(votes), len(place)))
    for j, labelling in enumerate(votes):
        for true, given in zip(y, labelling, strict=True):
            for label, said in zip(true, given, strict=True) if given is not None else ():
                seen[j, place[label]] += 1
                right[j, place[label]] += label == said
    wrong = np.abs(model.reliability_ - right / np.maximum(seen, 1))
    begins = np.array([label.startswith("B-") for label in place])
    mean = np.average(wrong[:, begins], weights=seen[:, begins])
    return [f"{mean:.3f}", f"{wrong[(seen >= OFTEN) & begins].max(initial=0.0):.3f}"]
