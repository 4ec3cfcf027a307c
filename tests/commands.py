"""Commands in this process, and small data for them."""

import io
import json

from sklearn_crcrf.apps.cli import main

SENTENCES = [["Ann", "sings"], ["the", "Dogs", "bark"], ["Rex", "barks"]]
LABELS = {2: ["B-NP", "O"], 3: ["B-NP", "I-NP", "O"]}
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB\nB01:%x[0,1]\n"


def run(capsys, *argv):
    """The status, output and errors of a command."""
    status = main([str(a) for a in argv])
    return status, *capsys.readouterr()


def json_lines(out):
    return [json.loads(line) for line in out.splitlines()]


class StandardInput(io.TextIOWrapper):
    def __init__(self, data):
        super().__init__(io.BytesIO(data), encoding="utf-8")
