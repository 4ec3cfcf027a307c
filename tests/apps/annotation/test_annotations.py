"""What a log amounts to."""

import pytest
from cases import for_each

from sklearn_crcrf.apps.annotation import Annotations

SENTENCES = [["a", "dog"], ["cats"], ["dogs"]]


def accept(sentence, *labels, by="ann"):
    tokens = SENTENCES[sentence]
    return {"do": "accept", "sentence": sentence, "tokens": tokens, "labels": [*labels], "by": by}


def undo(entry, by="ann"):
    return {"do": "undo", "entry": entry, "by": by}


def annotations_of(*entries):
    """Entries named "0", "1", ..."""
    return Annotations([{**entry, "id": str(k)} for k, entry in enumerate(entries)], SENTENCES)


def take_up(annotations, entry):
    return annotations.apply({**entry, "id": str(annotations.n_entries)})


def standing(annotations):
    return [(a.sentence, a.labels, a.by) for a in annotations.standing]


def test_the_last_annotation_stands_until_it_is_undone():
    annotations = annotations_of(accept(0, "D", "N"), accept(1, "N"))
    change = take_up(annotations, accept(0, "D", "V"))
    assert change.before.labels == ("D", "N") and change.after.labels == ("D", "V")
    assert standing(annotations) == [(1, ("N",), "ann"), (0, ("D", "V"), "ann")]
    change = take_up(annotations, undo("2"))
    assert change.before.labels == ("D", "V") and change.after.labels == ("D", "N")
    assert take_up(annotations, undo("0")).after is None
    assert standing(annotations) == [(1, ("N",), "ann")]


def test_undoing_what_no_longer_stands_changes_nothing():
    annotations = annotations_of(accept(1, "N"), accept(1, "V", by="bob"))
    assert take_up(annotations, undo("0")) == (None, None)
    assert standing(annotations) == [(1, ("V",), "bob")]


def test_conflicts_are_kept_with_both_labels():
    annotations = annotations_of(accept(1, "N"), accept(1, "V", by="bob"))
    assert [a.labels for a in annotations.conflicts[1]] == [("N",), ("V",)]
    same = annotations_of(accept(1, "N"), accept(1, "N", by="bob"))
    assert same.conflicts == {}


def test_skips_and_flags_can_be_undone():
    skip = {"do": "skip", "sentence": 2, "by": "ann"}
    annotations = annotations_of(skip, {**skip, "do": "flag", "sentence": 1})
    assert (annotations.marked("skip"), annotations.marked("flag")) == ([2], [1])
    assert annotations.last_act("ann") == "1" and annotations.last_act("bob") is None
    take_up(annotations, undo(annotations.last_act("ann")))
    assert annotations.marked("flag") == [] and annotations.last_act("ann") == "0"


@for_each(
    ("entry", "problem"),
    [
        ({"do": "dance", "by": "ann"}, '"do" must be one of'),
        ({"do": "skip", "sentence": 0}, '"by" must be a string'),
        ({"do": "skip", "sentence": 3, "by": "ann"}, "there is no sentence 3"),
        ({"do": "skip", "sentence": True, "by": "ann"}, "there is no sentence True"),
        (accept(0, "D"), "of the same length"),
        ({**accept(1, "N"), "tokens": ["x"]}, "of another text"),
        ({**accept(1, "N"), "labels": [1]}, "lists of strings"),
        (undo("7"), "no entry '7'"),
        (undo(0), "no entry 0"),
        (undo("1"), "entry '1' cannot be undone"),
        ({"do": "label", "name": "a b", "by": "ann"}, "must be a word"),
        ({"do": "label", "name": "X", "by": "ann"}, "is known"),
    ],
)
def test_an_entry_that_is_not_valid_is_named(entry, problem):
    annotations = annotations_of(accept(0, "D", "N"), {"do": "label", "name": "X", "by": "ann"})
    with pytest.raises(ValueError, match=f"entry 2 of the log: .*{problem}"):
        take_up(annotations, entry)
    assert annotations.n_entries == 2
