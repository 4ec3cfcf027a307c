"""Hostile files: models, text in columns, templates, dumps of other programs."""

import sys

from _command import main
from _commands import COMMANDS, PROCESSES
from _conll import CAMPAIGN as CONLL
from _dumps import CAMPAIGN as DUMPS
from _model_files import CAMPAIGN as MODELS
from _templates import EXPRESSIONS, TEMPLATES

CAMPAIGNS = [MODELS, CONLL, TEMPLATES, EXPRESSIONS, DUMPS, COMMANDS, PROCESSES]

if __name__ == "__main__":
    sys.exit(main(__doc__, CAMPAIGNS))
