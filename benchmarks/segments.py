"""Chains of segments, trained and counted, compared with chains of tokens."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from _common import begin, cpu_seconds, yes_or_no  # before numpy

# isort: split
import numpy as np
from _exponents import KeptParts, mean_of
from _features import CHUNK_TEMPLATES
from exponents import TAGGED, WORDS
from sklearn.pipeline import make_pipeline, make_union

from sklearn_crcrf import CRF, EmpiricalCRF, SemiMarkovCRF, text_features
from sklearn_crcrf.datasets import fetch_conll2000, fetch_conll2002
from sklearn_crcrf.estimators.empirical.fit_exponents import fit_segment_exponents
from sklearn_crcrf.estimators.empirical.segment_rates import segmented
from sklearn_crcrf.estimators.semi_markov import SegmentFeatures, SegmentGazetteer, WithSegments
from sklearn_crcrf.feature_extraction import Gazetteer, SequenceVectorizer, Window
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_f1

# The same for all models. The number of iterations is limited, so they warn.
SETTINGS = {"dtype": "float32", "max_iter": 60, "tol": 3e-4, "boundaries": True}
SENTENCES = 4000  # the others have the names of the dictionary
GAIN, LOSS, CHUNK_F1 = 0.6, 0.3, 93.9
TIMES = {"ner": 2.0, "chunking": 3.0}
KINDS = ["string", "shape", "pos", "around"]
LONGEST = {"ner": 8, "chunking": 12}
# The share of the exponents of counted segments of greatest likelihood that is their default.
SHARE = 0.6
N_SENTENCES = 5000  # to which they are fitted
Part = tuple[Sequence, Sequence]


class Task(NamedTuple):
    """A corpus, and the attributes of its tokens.

    Parameters
    ----------
    train, test : tuple of (X, y)
    tokens : transformer
    max_length : int
    """

    train: Part
    test: Part
    tokens: Any
    max_length: int

    def crf(self, criterion: str = "log_loss") -> CRF:
        return CRF(criterion, features="observed", constraints="IOB2", **SETTINGS)

    def semi_markov(self, criterion: str = "log_loss") -> SemiMarkovCRF:
        return SemiMarkovCRF(criterion, max_length=self.max_length, **SETTINGS)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("segments.py", description=__doc__)
    tables = {
        "dictionary": dictionary_table,
        "plain": plain_table,
        "time": time_table,
        "counted": counted_table,
    }
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    args = begin(parser, argv)
    for name in args.tables:
        args.report.table(*tables[name](args))


def read(name: str, args: argparse.Namespace) -> Task:
    """Dutch names, or English chunks."""
    options = {"return_X_y": True, "download_if_missing": args.download}
    fetch = fetch_conll2002 if name == "ner" else fetch_conll2000
    test = "testb" if name == "ner" else "test"
    train, test = (fetch(part, **options) for part in ("train", test))
    tokens = text_features("names")
    if name != "ner":
        tokens = make_pipeline(Window(CHUNK_TEMPLATES), SequenceVectorizer(dtype=np.float32))
    train, test = (([*X], [*y]) for X, y in (train, test))
    train, test = ((X[: args.sentences], y[: args.sentences]) for X, y in (train, test))
    return Task(train, test, tokens, LONGEST[name])


def f1(task: Task, features: Any, model: CRF, train: Part) -> tuple[float, float]:
    """F1 in per cent, and CPU time of training with encoded sentences."""
    X = features.fit_transform(*train)
    seconds, _ = cpu_seconds(lambda: model.fit(X, train[1]))
    predicted = model.predict(features.transform(task.test[0]))
    return 100 * segment_f1(task.test[1], predicted.tolist()), seconds


def dictionary_table(args: argparse.Namespace) -> tuple[str, list[str], Iterator[list[str]]]:
    title = f"Dutch names of testb: {SENTENCES:,} sentences, and a dictionary of the others"
    return title, ["model", "features of segments", "F1", "CPU s", "target", "met"], names(args)


def names(args: argparse.Namespace) -> Iterator[list[str]]:
    task = read("ner", args)
    X, y = task.train
    n = min(SENTENCES, len(X) // 2)
    lists = dictionary(X[n:], y[n:])
    marks = make_pipeline(
        Gazetteer(lists, ignore_case=True), Window(range(-1, 2)), SequenceVectorizer()
    )
    marked = make_union(task.tokens, marks)
    exact = SegmentGazetteer(lists)
    soft = SegmentGazetteer(lists, similarity="jaccard")
    ways = [
        ("CRF", "", task.tokens, task.crf()),
        ("CRF, marks of matches", "", marked, task.crf()),
        ("SemiMarkovCRF", "exact", WithSegments(task.tokens, exact), task.semi_markov()),
        ("SemiMarkovCRF", "jaccard", WithSegments(task.tokens, soft), task.semi_markov()),
        (
            "SemiMarkovCRF, marks",
            "jaccard",
            WithSegments(marked, soft),
            task.semi_markov(),
        ),
    ]
    marks_f1 = np.inf
    for model, segments, features, crf in ways:
        found, seconds = f1(task, features, crf, (X[:n], y[:n]))
        if model == "CRF, marks of matches":
            marks_f1 = found
        verdict = ["", ""]
        if segments == "jaccard":
            verdict = [f">= {GAIN} more than marks", yes_or_no(found >= marks_f1 + GAIN)]
        yield [model, segments, f"{found:.2f}", f"{seconds:.1f}", *verdict]


def dictionary(X: Sequence, y: Sequence) -> dict[str, list[tuple[str, ...]]]:
    """The names of each type."""
    lists: dict[str, list[tuple[str, ...]]] = {}
    for sequence, start, end, kind in zip(*to_segments(y), strict=True):
        tokens = X[sequence][start:end]
        lists.setdefault(kind, []).append(tuple(token["word"] for token in tokens))
    return lists


def plain_table(args: argparse.Namespace) -> tuple[str, list[str], Iterator[list[str]]]:
    title = "Without a dictionary: all training sentences"
    return (
        title,
        ["corpus", "model", "criterion", "features of segments", "F1", "CPU s", "target", "met"],
        plain(args),
    )


def plain(args: argparse.Namespace) -> Iterator[list[str]]:
    for corpus in ("ner", "chunking"):
        task = read(corpus, args)
        four = SegmentFeatures(KINDS, task.max_length)
        six = SegmentFeatures([*KINDS, last_word, ends], task.max_length)
        with_four, with_six = (WithSegments(task.tokens, kinds) for kinds in (four, six))
        margin = "softmax_margin"
        ways = [
            ("CRF", "log_loss", "", task.tokens, task.crf()),
            ("SemiMarkovCRF", "log_loss", "", task.tokens, task.semi_markov()),
            ("SemiMarkovCRF", "log_loss", "four kinds", with_four, task.semi_markov()),
            ("CRF", margin, "", task.tokens, task.crf(margin)),
            ("SemiMarkovCRF", margin, "four kinds", with_four, task.semi_markov(margin)),
            ("SemiMarkovCRF", margin, "six kinds", with_six, task.semi_markov(margin)),
        ]
        # What helps chunks was found with 7,000 training sentences, on the other ones.
        ways = ways if corpus == "chunking" else ways[:3]
        least = np.inf
        for model, criterion, segments, features, crf in ways:
            found, seconds = f1(task, features, crf, task.train)
            verdict = ["", ""]
            if model != "CRF":
                verdict = [f">= {least:.2f}", yes_or_no(found >= least)]
            elif criterion == "log_loss":
                least = CHUNK_F1 if corpus == "chunking" else found - LOSS
            yield [corpus, model, criterion, segments, f"{found:.2f}", f"{seconds:.1f}", *verdict]


def last_word(sentence: Sequence[dict]) -> Callable[[int, int], str]:
    """The last word of a span, and the part of speech after it."""
    words, tags = [token["word"].lower() for token in sentence], _tags(sentence)
    return lambda start, end: f"{words[end - 1]} {tags[end + 1]}"


def ends(sentence: Sequence[dict]) -> Callable[[int, int], str]:
    """The parts of speech at both ends of a span and around it, and its length up to 4."""
    tags = _tags(sentence)
    return lambda start, end: " ".join(
        [tags[start], tags[start + 1], tags[end], tags[end + 1], str(min(end - start, 4))]
    )


def _tags(sentence: Sequence[dict]) -> list[str]:
    """Parts of speech; the first is at place 1."""
    return ["^", *(token["pos"] for token in sentence), "$"]


def time_table(args: argparse.Namespace) -> tuple[str, list[str], Iterator[list[str]]]:
    title = "CPU seconds of an iteration of training"
    return (
        title,
        ["corpus", "max_length", "CRF", "SemiMarkovCRF", "times", "target", "met"],
        times(args),
    )


def times(args: argparse.Namespace) -> Iterator[list[str]]:
    for corpus, target in TIMES.items():
        task = read(corpus, args)
        X = task.tokens.fit_transform(*task.train)
        seconds = [
            _per_iteration(model, X, task.train[1]) for model in (task.crf(), task.semi_markov())
        ]
        ratio = seconds[1] / seconds[0]
        cells = [f"{second:.3f}" for second in seconds]
        verdict = [f"<= {target:g} times", yes_or_no(ratio <= target)]
        yield [corpus, str(task.max_length), *cells, f"{ratio:.2f}", *verdict]


def _per_iteration(model: CRF, X: Any, y: Sequence) -> float:
    """CPU seconds of an iteration, without what is done once."""
    few, many = (
        cpu_seconds(lambda n=n: model.set_params(max_iter=n, tol=0.0).fit(X, y))[0] for n in (1, 21)
    )
    return (many - few) / 20


def counted_table(args: argparse.Namespace) -> tuple[str, list[str], Iterator[list[str]]]:
    title = (
        "EmpiricalCRF: F1 without and with counted segments, and how many times longer a fit takes"
    )
    columns = ["corpus", "sentences", "exponents", "tokens", "segments", "times", "target", "met"]
    return title, columns, counted(args)


def counted(args: argparse.Namespace) -> Iterator[list[str]]:
    corpora = {
        name: corpus.load(args) for name, corpus in (WORDS | TAGGED).items() if corpus.segments
    }
    fitted = {
        name: fitted_exponents(*(part[:N_SENTENCES] for part in train))
        for name, (train, _) in corpora.items()
        if name in WORDS
    }
    for name, ((X, y), test) in corpora.items():
        others = mean_of(e for other, e in fitted.items() if other != name.split(",")[0])
        chosen = {key: SHARE * value for key, value in others.items()}
        for n in (len(X), len(X) // 10):
            ways = {"default": (None, None), "chosen on the others": (None, chosen)}
            ways |= {"fit": ("fit", "fit")} if n == len(X) else {}
            for title, exponents in ways.items():
                found = [
                    counted_f1(segments, given, (X[:n], y[:n]), test)
                    for segments, given in zip((None, "counted"), exponents, strict=True)
                ]
                (tokens, seconds), (segments, more) = found
                cells = [f"{tokens:.2f}", f"{segments:.2f}", f"{more / seconds:.1f}"]
                yield [name, f"{n:,}", title, *cells, "more", yes_or_no(segments > tokens)]


def counted_f1(
    segments: str | None, exponents: Any, train: Part, test: Part
) -> tuple[float, float]:
    """F1 in per cent, and CPU time of training."""
    model = EmpiricalCRF(segments=segments, exponents=exponents)
    seconds, _ = cpu_seconds(lambda: model.fit(*train))
    return 100 * segment_f1(test[1], model.predict(test[0]).tolist()), seconds


def fitted_exponents(X: Sequence, y: Sequence) -> dict[str, float]:
    """The exponents of counted segments of greatest likelihood, if all others are the defaults."""
    model = KeptParts(exponents="fit", segments="counted").fit(X, y)
    structures = [segmented(part.structure.offsets, model.classes_) for part in model.parts]
    default = model.parts[0].model.exponents.asdict()
    return fit_segment_exponents(model.parts, structures, default, sigma=10.0)[0]


if __name__ == "__main__":
    main()
