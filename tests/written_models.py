"""Model files with any content: what save_model would not write, load_model must refuse."""

import json

from sklearn_crcrf.model_files.objects import Reader, Writer, check_names
from sklearn_crcrf.serving.content import Content
from sklearn_crcrf.serving.files import MODEL, write_content
from sklearn_crcrf.utils.unpacking import Budget


def write(path, estimator, change=None, **settings):
    """Write an estimator without a check; ``change`` of its tree returns another one."""
    writer = Writer()
    tree = writer.write(estimator)
    tree = tree if change is None else change(tree)
    known = {"version": 1, "columns": None, "separator": None, "estimator": tree}
    write_content(path, Content({**known, **settings}, writer.arrays), MODEL, 1)


def read(value, change=None, max_bytes=None):
    """What is read of a value that was written, after a change of its tree."""
    writer = Writer()
    tree = json.loads(json.dumps(writer.write(value)))
    tree = tree if change is None else change(tree)
    check_names(tree)
    arrays = {name: array.copy() for name, array in writer.arrays.items()}
    return Reader(arrays, Budget(max_bytes)).read(tree)


def attributes(tree) -> list:
    """The tree of the attributes of an estimator: names, each followed by the tree of its value."""
    kind, _, state = tree
    assert kind == "object"
    return state


def place_of(tree, name: str) -> int:
    """Where the value of an attribute stands among the attributes."""
    return attributes(tree).index(name) + 1
