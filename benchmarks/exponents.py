"""Default exponents of EmpiricalCRF: chosen on all corpora but one, and tested on that one."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from _common import begin, corpus_file, load_splits  # before numpy

# isort: split
from _exponents import SharedFit, mean_of

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.datasets import fetch_conll2002, read_conll
from sklearn_crcrf.metrics import segment_f1, token_accuracy

Part = tuple[Sequence, Sequence]

# Sentences of a corpus that exponents are fitted to, and the smaller part of it.
N_SENTENCES, SMALL = 5000, 0.1
# What corpora of the other kind of labels weigh.
OTHER_KIND = 0.25
# Shares of the exponents of greatest likelihood; the rest are the sharp ones.
SHARES = {"segments": 0.8, "others": 0.6, "columns": 0.6}
KINDS = ("segments", "others", "segments with columns", "others with columns")
EWT, GREEK, GERMAN = "ud-en_ewt", "ud-el_gdt", "ud-de_gsd"


class Corpus(NamedTuple):
    """A corpus: what it is trained and tested on, and whether labels are labels of segments."""

    load: Callable[[argparse.Namespace], tuple[Part, Part]]
    segments: bool = False


def files(columns: Sequence[str | None], *names: str) -> Callable[..., tuple[Part, Part]]:
    """Reads a part for training and one for testing, without sentences of one token."""

    def load(args: argparse.Namespace) -> tuple[Part, Part]:
        parts = [read_conll(corpus_file(f"{name}.tsv.gz"), columns, sep="\t") for name in names]
        train, test = (_longer_than_one(X, y, args.sentences) for X, y in parts)
        return train, test

    return load


def _longer_than_one(X: list, y: list, n: int | None) -> Part:
    kept = [i for i, sentence in enumerate(X) if len(sentence) > 1][:n]
    return [X[i] for i in kept], [y[i] for i in kept]


def brown(args: argparse.Namespace) -> tuple[Part, Part]:
    """The split with 4,000 sentences for training."""
    splits = load_splits("1000-4000", args)
    return splits.train, splits.test


def dutch(*keys: str) -> Callable[..., tuple[Part, Part]]:
    """Reads Dutch names: words, or words and parts of speech."""

    def load(args: argparse.Namespace) -> tuple[Part, Part]:
        train, test = (
            fetch_conll2002(part, return_X_y=True, download_if_missing=args.download)
            for part in ("train", "testb")
        )
        columns = dict(zip(keys, ("token", "column"), strict=False))
        train, test = (
            _longer_than_one([[_renamed(t, columns) for t in x] for x in X], y, args.sentences)
            for X, y in (train, test)
        )
        return train, test

    return load


def _renamed(token: Mapping[str, str], columns: Mapping[str, str]) -> str | dict[str, str]:
    if len(columns) == 1:
        return token[next(iter(columns))]
    return {name: token[key] for key, name in columns.items()}


CHUNKS = "conll2000-train", "conll2000-test"
UD_TAGS = ["token", "label", None, None]
WORDS = {
    "Dutch names": Corpus(dutch("word"), segments=True),
    "German names": Corpus(
        files(["token", "label"], "germeval2014-dev", "germeval2014-test"), segments=True
    ),
    "chunks": Corpus(files(["token", None, "label"], *CHUNKS), segments=True),
    "English tags": Corpus(files(UD_TAGS, f"{EWT}-train", f"{EWT}-test")),
    "Greek tags": Corpus(files(UD_TAGS, f"{GREEK}-train", f"{GREEK}-test")),
    "German tags": Corpus(files(UD_TAGS, f"{GERMAN}-dev", f"{GERMAN}-test")),
    "Brown": Corpus(brown),
}
TAGGED = {
    "Dutch names, tags": Corpus(dutch("word", "pos"), segments=True),
    "chunks, tags": Corpus(files(["token", "column", "label"], *CHUNKS), segments=True),
    "relations, tags": Corpus(
        files(["token", "column", None, "label"], f"{EWT}-train", f"{EWT}-test")
    ),
}


class Choice:
    """Chooses default exponents on all corpora, or on all but one.

    Parameters
    ----------
    words, tagged : mapping from name to (X, y)
        The parts for training of all corpora, of words alone and of words with tags.

    """

    def __init__(self, words: Mapping[str, Part], tagged: Mapping[str, Part]):
        self._words, self._tagged = (SharedFit(with_small(parts)) for parts in (words, tagged))

    def exponents(self, kind: str, without: str = "") -> dict[str, float]:
        """The exponents of one of the KINDS, chosen without the corpora of this name."""
        if kind == "others with columns":
            weights = dict.fromkeys(_names(TAGGED, without), 1.0)
            return self._tagged.fit(with_small_weights(weights), SHARES["columns"])
        if kind == "segments with columns":
            kinds = ("segments", "others with columns")
            return mean_of(self.exponents(other, without) for other in kinds)
        weights = {
            name: 1.0 if WORDS[name].segments == (kind == "segments") else OTHER_KIND
            for name in _names(WORDS, without)
        }
        return self._words.fit(with_small_weights(weights), SHARES[kind])


def _names(corpora: Mapping[str, Corpus], without: str) -> list[str]:
    """Without the corpus, with or without tags."""
    return [name for name in corpora if name.split(",")[0] != without.split(",")[0]]


def with_small(parts: Mapping[str, Part]) -> dict[str, Part]:
    """Parts and their first tenths."""
    cut = {name: (X[:N_SENTENCES], y[:N_SENTENCES]) for name, (X, y) in parts.items()}
    return {**cut, **{_small(name): small(part) for name, part in cut.items()}}


def small(part: Part) -> Part:
    """The first tenth of a part."""
    n = max(1, int(SMALL * len(part[0])))
    return part[0][:n], part[1][:n]


def with_small_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """The first tenths weigh half."""
    return {**weights, **{_small(name): 0.5 * weight for name, weight in weights.items()}}


def _small(name: str) -> str:
    return f"{name}, a tenth"


def kind_of(name: str) -> str:
    """The kind of exponents that suits a corpus."""
    corpus = (WORDS | TAGGED)[name]
    kind = "segments" if corpus.segments else "others"
    return f"{kind} with columns" if name in TAGGED else kind


def rows(
    corpora: Mapping[str, tuple[Part, Part]], choice: Choice | None, fitted: bool
) -> Iterator[list[str]]:
    """Train on each corpus and on its first tenth, with each choice of exponents."""
    for name, (train, test) in corpora.items():
        chosen: dict[str, Any] = {"default": None}
        if choice is not None:
            chosen["chosen on the others"] = choice.exponents(kind_of(name), without=name)
        if fitted:
            chosen["fit"] = "fit"
        metric = segment_f1 if (WORDS | TAGGED)[name].segments else token_accuracy
        for title, exponents in chosen.items():
            scores = [
                metric(test[1], EmpiricalCRF(exponents=exponents).fit(*part).predict(test[0]))
                for part in (train, small(train))
            ]
            yield [name, title, *(f"{100 * score:.2f}" for score in scores)]


def table(choice: Choice) -> Iterator[list[str]]:
    """Default exponents of all kinds, chosen on all corpora."""
    vectors = [choice.exponents(kind) for kind in KINDS]
    for name in dict.fromkeys(name for vector in vectors for name in vector):
        values = [round(vector.get(name, 0.0), 2) for vector in vectors]
        if any(values):
            yield [f'"{name}"', *(f"{value:g}" for value in values)]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("exponents.py", description=__doc__)
    parser.add_argument("--corpora", nargs="+", choices=WORDS | TAGGED, help="to test on")
    parser.add_argument("--choose", action="store_true", help="choose exponents, too")
    args = begin(parser, argv)
    everything = {name: corpus.load(args) for name, corpus in (WORDS | TAGGED).items()}
    choice = None
    if args.choose:
        train = {name: train for name, (train, _) in everything.items()}
        choice = Choice(*({name: train[name] for name in kind} for kind in (WORDS, TAGGED)))
        args.report.table("Default exponents", ["exponent", *KINDS], table(choice))
    tested = {name: everything[name] for name in args.corpora or everything}
    columns = ["corpus", "exponents", "all sentences", "a tenth"]
    title = "F1 of segments or accuracy of tokens, on the test part"
    args.report.table(title, columns, rows(tested, choice, fitted=True))


if __name__ == "__main__":
    main()
