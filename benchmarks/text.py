"""Text in, spans out: tokens, speed, and how often promises are kept."""

import argparse
from collections.abc import Callable, Sequence

from _common import begin  # before numpy

# isort: split
import _documents
import _promises

TABLES: dict[str, Callable[[argparse.Namespace], None]] = {
    "tokens": _documents.tokens,
    "spans": _documents.spans,
    "labellings": _promises.labellings,
    "sizes": _promises.sizes,
    "recall": _promises.recall,
    "other_days": _promises.other_days,
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("text.py", description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=[*TABLES], help="all")
    note = (
        "texts are sentences of corpora, written without spaces before commas and the like; the "
        "tokeniser that ours is compared with is the blank one of spaCy for the language; "
        'promises are of EmpiricalCRF(exponents="fit"); random halves of the test part calibrate, '
        "and are tested on the other half, twice in both directions, unless a row says "
        "otherwise; refused: the classifier says that it cannot keep the promise, as there are too "
        "few sequences, or the true labelling is too often not among the 100 best"
    )
    args = begin(parser, argv, note)
    for name in args.tables:
        TABLES[name](args)


if __name__ == "__main__":
    main()
