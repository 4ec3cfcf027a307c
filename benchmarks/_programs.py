"""Programs that train python-crfsuite, with their data, features and settings."""

import importlib
import os
import random
import xml.etree.ElementTree as ET
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sklearn_crcrf import TemplateFeatures
from sklearn_crcrf.datasets import Splits, fetch_conll2002, read_conll

# The settings of parserator, which trains usaddress and probablepeople, and of the tutorial of
# sklearn-crfsuite.
PARSERATOR = {"c1": 0.1, "c2": 0.01, "feature.minfreq": 0}
TUTORIAL = {"c1": 0.1, "c2": 0.1, "feature.possible_transitions": True}
CRFPP = {"c2": 0.5, "feature.possible_states": True, "feature.possible_transitions": True}
# The addresses of usaddress, whose own test part is labelled by other rules than its training part.
ADDRESSES = (
    "usaddress/training/labeled.xml",
    "usaddress/training/us50_messiest_manual_label.xml",
    "usaddress/measure_performance/test_data/us50_test_tagged.xml",
)
NAMES = ("probablepeople/labeled/person_labeled.xml", "probablepeople/labeled/company_labeled.xml")

Sentence = Sequence[Any]
Features = Callable[[Sentence], list]
Part = tuple[list[Sentence], list[list[str]]]


class MissingError(Exception):
    """Data or a package is not there; the message says which."""


class Program(NamedTuple):
    """A program that trains python-crfsuite.

    Parameters
    ----------
    name : str
    load : callable
        Takes the options of the command line, returns the parts of a corpus.
    features : callable
        Returns a function from the tokens of a sequence to attributes: dicts, or lists of strings.
    params : dict
        The parameters of ``pycrfsuite.Trainer`` that it sets.
    lists : tuple of str
        The attributes that say what lists of words, which come with it, have of a token.
    """

    name: str
    load: Callable[[Namespace], Splits]
    features: Callable[[], Features]
    params: dict[str, Any]
    lists: tuple[str, ...] = ()


def programs() -> list[Program]:
    """All programs, the parsers first."""
    return [
        Program(
            "usaddress",
            partial(distinct, ADDRESSES),
            partial(of_package, "usaddress"),
            PARSERATOR,
            lists=("directional", "street_name"),
        ),
        Program(
            "probablepeople",
            partial(distinct, NAMES),
            partial(of_package, "probablepeople"),
            PARSERATOR,
            lists=("in.names", "first.name", "gender_ratio"),
        ),
        Program("Dutch names", dutch_names, lambda: tutorial_features, TUTORIAL),
        *(
            Program(
                f"CRF++ {task}", partial(crfpp_example, task), partial(of_template, task), CRFPP
            )
            for task in ("basenp", "chunking")
        ),
    ]


def distinct(files: Sequence[str], args: Namespace) -> Splits:
    """The different sequences of XML files, of which a random quarter is for tests."""
    found: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        for labelled in ET.parse(peer_file(file)).getroot():
            tokens = [(e.text.strip(), e.tag) for e in labelled if (e.text or "").strip()]
            if tokens:
                found.setdefault(tuple(text for text, _ in tokens), [tag for _, tag in tokens])
    sequences = [*found.items()]
    random.Random(0).shuffle(sequences)
    n_test = len(sequences) // 4
    return Splits(part(sequences[n_test:], args), ([], []), part(sequences[:n_test], args))


def dutch_names(args: Namespace) -> Splits:
    """Words and parts of speech; tested on testb."""
    options = {"return_X_y": True, "download_if_missing": args.download}
    parts = [
        part(zip(*fetch_conll2002(name, **options), strict=True), args)
        for name in ("train", "testb")
    ]
    return Splits(parts[0], ([], []), parts[1])


def crfpp_example(task: str, args: Namespace) -> Splits:
    """Words and parts of speech."""
    files = [peer_file(f"crfpp/example/{task}/{name}.data") for name in ("train", "test")]
    parts = [
        part(zip(*read_conll(file, ["word", "pos", "label"]), strict=True), args) for file in files
    ]
    return Splits(parts[0], ([], []), parts[1])


def part(sequences: Iterable[tuple], args: Namespace) -> Part:
    """The tokens and the labels of the first sequences."""
    chosen = [*sequences][: args.sentences]
    return [list(tokens) for tokens, _ in chosen], [list(labels) for _, labels in chosen]


def peer_file(name: str) -> Path:
    """A file in the folder named by SKLEARN_CRCRF_PEERS."""
    path = Path(os.environ.get("SKLEARN_CRCRF_PEERS", "")) / name
    if not path.is_file():
        raise MissingError(
            f"the environment variable SKLEARN_CRCRF_PEERS must name the folder of {name}"
        )
    return path


def of_package(name: str) -> Features:
    """The features of a parser that is installed."""
    try:
        return importlib.import_module(name).tokens2features
    except ImportError as error:
        raise MissingError(f"{error}: pip install {name}") from error


def of_template(task: str) -> Features:
    """The attributes that the template of an example of CRF++ describes."""
    template = TemplateFeatures(peer_file(f"crfpp/example/{task}/template").read_text())

    def features(tokens: Sentence) -> list[list[str]]:
        table = template.fit_transform([tokens]).data
        columns = [[f"{name}={s}" for s in table.column(name)] for name in table.names]
        return [list(attributes) for attributes in zip(*columns, strict=True)]

    return features


def tutorial_features(tokens: Sentence) -> list[dict[str, Any]]:
    """The features of the tutorial of sklearn-crfsuite."""
    around = [None, *tokens, None]
    return [
        {
            "bias": 1.0,
            **of_token("", here),
            "word[-3:]": here["word"][-3:],
            "word[-2:]": here["word"][-2:],
            "word.isdigit()": here["word"].isdigit(),
            **(of_token("-1:", before) if before else {"BOS": True}),
            **(of_token("+1:", after) if after else {"EOS": True}),
        }
        for before, here, after in zip(around, tokens, around[2:], strict=False)
    ]


def of_token(place: str, token: dict[str, str]) -> dict[str, Any]:
    """Features that the tutorial takes of a token and of its neighbours."""
    word, pos = token["word"], token["pos"]
    return {
        f"{place}word.lower()": word.lower(),
        f"{place}word.istitle()": word.istitle(),
        f"{place}word.isupper()": word.isupper(),
        f"{place}postag": pos,
        f"{place}postag[:2]": pos[:2],
    }
