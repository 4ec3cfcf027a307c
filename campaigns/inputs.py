"""Hostile input of estimators, transformers, metrics and displays."""

import sys

from _classifiers import CAMPAIGN as CLASSIFIERS
from _command import main
from _displays import CAMPAIGN as DISPLAYS
from _metrics import CAMPAIGN as METRICS
from _transformers import CAMPAIGN as TRANSFORMERS

CAMPAIGNS = [CLASSIFIERS, TRANSFORMERS, METRICS, DISPLAYS]

if __name__ == "__main__":
    sys.exit(main(__doc__, CAMPAIGNS))
