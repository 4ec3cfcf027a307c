"""The command export."""

import argparse
import json
import warnings

from ...datasets import write_conll
from ..annotation.annotations import Annotations
from ..annotation.log import read_entries
from ._text import add_file, open_output, read_content


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(parser, "log that annotate wrote")
    parser.add_argument(
        "--output", metavar="OUT", default="-", help="file to write; default: standard output"
    )
    parser.add_argument("--json", action="store_true", help="a line of JSON for each sentence")


def run(options: argparse.Namespace) -> None:
    """Write the labels that stand, in the order of the text."""
    name, data = read_content(options.file, options.max_bytes)
    entries, _ = read_entries(data, name, lambda text: warnings.warn(text, stacklevel=2))
    rows = sorted(Annotations(entries).standing, key=lambda a: a.sentence)
    with open_output(options.output) as file:
        if options.json:
            for row in rows:
                kept = {k: v for k, v in row._asdict().items() if k != "entry"}
                file.write(json.dumps(kept, ensure_ascii=False) + "\n")
        else:
            X, y = [list(a.tokens) for a in rows], [list(a.labels) for a in rows]
            write_conll(file, X, y, sep="\t")
