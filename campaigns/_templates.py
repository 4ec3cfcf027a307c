"""Templates of CRF++ and Wapiti."""

from random import Random

from _campaign import Campaign, Wrong, show
from _mutations import mutated_bytes

from sklearn_crcrf import SequenceVectorizer, TemplateFeatures
from sklearn_crcrf.feature_extraction.template_syntax import SYNTAXES

TEXTS = {
    "crf++": [
        b"# Unigram\nU00:%x[-1,0]\nU01:%x[0,0]/%x[1,0]\nB\n",
        b"U:%x[-2,1]%x[2,0]\nB01:%x[0,0]\n",
        b"U05:%x[-1,0]/%x[0,0]/%x[1,0]\nU05:%x[0,1]\n",
    ],
    "wapiti": [
        b'u:end=%M[0,0,".?.?$"]\nu:cap=%t[0,0,"^\\u"]\n',
        b"*:a=%x[@1,0]%x[@-1,1]\nb\n",
        b'u:%m[0,0,"\\a*\\d?.*$"]\nb:%T[-1,1,"^a*b*c*\\s*"] # comment\n',
    ],
}
TEXTS["wapiti-bytes"] = TEXTS["wapiti"]
STRINGS = [
    *(b"%x[0,0]", b"%x[-1,1]", b'%m[0,0,"a*"]', b"@", b"\\a", b"\\D", b"*", b"?", b"%x[99,0]"),
    *(b"%x[-999999999,0]", b"%x[0,7]", b"U", b"B", b"u", b"b", b"%", b"[", b"]", b","),
]
PLACES = [b"[0,0]", b"[-1,0]", b"[ 1 , 1]", b"[99,0]", b"[-999999999,1]", b"[0,2]"]
EXPRESSIONS_IN_PLACES = [b'[0,0,".?.?$"]', b'[@-1,0,"^\\u\\l*"]', b'[2,1,""]', b'[-1,0,"\\D*a"]']
TEXT = [b"", b"/", b"x", b"=", b":", "é".encode(), b"\xff", b" "]
PIECES = {
    "crf++": ([b"U", b"U00:", b"U00=", b"B", b"B01:", b"# "], [b"%x" + place for place in PLACES]),
    "wapiti": (
        [b"u", b"u:a=", b"U:b", b"b", b"*", b"*:c=", b"#"],
        [b"%" + command + place for command in (b"x", b"X") for place in PLACES]
        + [b"%" + command + end for command in (b"m", b"T") for end in EXPRESSIONS_IN_PLACES],
    ),
}
PIECES["wapiti-bytes"] = PIECES["wapiti"]
X = [[{"w": "The", "p": "D"}, {"w": "dog-1é", "p": ""}], [{"w": "x\0y", "p": "\ud800"}], []]


def mutated(rng: Random) -> tuple[str, str]:
    """The text of a template, in most cases with some changes, and its syntax."""
    syntax = rng.choice(list(SYNTAXES))
    data = rng.choice(TEXTS[syntax]) if rng.random() < 0.5 else _composed(rng, syntax)
    if rng.random() < 0.7:
        data = mutated_bytes(rng, data, STRINGS)
    return data.decode("utf-8", "surrogateescape"), syntax


def _composed(rng: Random, syntax: str) -> bytes:
    """Lines of macros and other text."""
    starts, macros = PIECES[syntax]
    lines = []
    for _ in range(rng.randrange(6)):
        parts = [rng.choice(rng.choice([macros, TEXT])) for _ in range(rng.randrange(5))]
        lines.append(rng.choice(starts) + b"".join(parts))
    return b"\n".join(lines)


def transform(rng: Random, number: int) -> str:
    """Apply a template to some sequences."""
    text, syntax = mutated(rng)
    show("template", repr(text), syntax)
    features = TemplateFeatures(text, syntax)
    table = features.fit_transform(X)
    if len(table.data) != 3 or list(table.lengths) != [2, 1, 0]:
        raise Wrong("lengths differ from the lengths of X", table.lengths)
    names = table.data.names
    if len(set(names)) < len(names) or list(features.get_feature_names_out()) != list(names):
        raise Wrong("the names of the columns are not right", names)
    if not set(features.edge_columns) <= set(names):
        raise Wrong("a column of transitions is none of the columns", features.edge_columns)
    if len(names):
        SequenceVectorizer().fit_transform(table)
    return "transformed"


CAMPAIGNS = [Campaign("templates", transform, batch=2000)]
