"""Names and chunks in one stage, in two, and by a pool: attributes of text_features everywhere."""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from _common import begin, cpu_seconds, load_splits  # before numpy

# isort: split
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF, FoundLabels, OpinionPoolCRF, text_features
from sklearn_crcrf.datasets import fetch_conll2002
from sklearn_crcrf.metrics import segment_f1

COLUMNS = ["method", "F1, tuning part", "F1, test part", "CPU s of training"]
CORPORA = {"ner": ("Dutch named entities", "names"), "chunking": ("English chunks", "chunks")}


def methods(kind: str) -> dict[str, Any]:
    """The closed form and a CRF, alone and in a pool, and a CRF that sees what the first finds."""
    counted = {"default": {}, 'exponents="fit"': {"exponents": "fit"}}
    return {
        **{f"EmpiricalCRF, {name}": EmpiricalCRF(**more) for name, more in counted.items()},
        "CRF": _one_stage(kind),
        **{
            f"pool of CRF and EmpiricalCRF, {name}": _pool(kind, EmpiricalCRF(**more))
            for name, more in counted.items()
        },
        **{
            f"EmpiricalCRF, {name}, then CRF": _two_stages(kind, EmpiricalCRF(**more))
            for name, more in counted.items()
        },
    }


def _one_stage(kind: str) -> Pipeline:
    return make_pipeline(text_features(kind), _crf())


def _pool(kind: str, counted: EmpiricalCRF) -> OpinionPoolCRF:
    return OpinionPoolCRF([("crf", _one_stage(kind)), ("counted", counted)], random_state=0)


def _two_stages(kind: str, first: EmpiricalCRF) -> Pipeline:
    return make_pipeline(FoundLabels(first), text_features(kind), _crf())


def _crf() -> CRF:
    return CRF(features="observed", dtype="float32")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("two_stages.py", description=__doc__)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=[*CORPORA], help="all")
    args = begin(parser, argv, "all parameters but the attributes have their defaults")
    for name in args.corpora:
        title, kind = CORPORA[name]
        args.report.table(title, COLUMNS, rows(methods(kind), name, args))


def rows(named: dict[str, Any], corpus: str, args: argparse.Namespace) -> Iterator[list[str]]:
    """Train each method, and test it on both other parts, if there are any."""
    (X, y), *parts = (
        (sentences[: args.sentences], labels[: args.sentences])
        for sentences, labels in _load(corpus, args)
    )
    for name, method in named.items():
        seconds, model = cpu_seconds(partial(method.fit, X, y))
        scores = [
            f"{100 * segment_f1(gold, model.predict(S)):.2f}" if S else "" for S, gold in parts
        ]
        yield [name, *scores, f"{seconds:.1f}"]


def _load(corpus: str, args: argparse.Namespace) -> list[tuple[list, list]]:
    """The parts for training, tuning and testing; names with parts of speech, unlike the papers."""
    if corpus != "ner":
        return [*load_splits(corpus, args)]
    parts = ("train", "testa", "testb")
    return [fetch_conll2002(p, return_X_y=True, download_if_missing=args.download) for p in parts]


if __name__ == "__main__":
    main()
