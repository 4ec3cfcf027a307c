"""The labels of every scheme of segments, and the same labels in the letters of IOBES."""

LETTERS = {
    "IOB1": "BI",
    "IOB2": "BI",
    "IOBES": "BIES",
    "BIOES": "BIES",
    "BILOU": "BILU",
    "BMES": "BMES",
    "IO": "",
}
_MEANING = {"BILOU": {"L": "E", "U": "S"}, "BMES": {"M": "I"}}


def labels_of(scheme, kinds=("X", "Y-Z")):
    """ "O" and all labels of segments of these types."""
    if scheme == "IO":
        return ["O", *kinds]
    return ["O", *(f"{letter}-{kind}" for letter in LETTERS[scheme] for kind in kinds)]


def in_iobes_letters(label, scheme):
    """The label with the letters B, I, E and S; a bare type is inside of its segment."""
    if label == "O":
        return label
    if scheme == "IO":
        return f"I-{label}"
    letter, dash, kind = label.partition("-")
    return _MEANING.get(scheme, {}).get(letter, letter) + dash + kind
